"""The folder of a journal in a directory: whether it is there, and what its files are called."""

from __future__ import annotations

import errno
from collections.abc import Generator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote, unquote

from attrs import frozen

from detent.adapters.journals.lines import (
    checksum_of,
    extend,
    json_of,
    last_line,
    line_of,
    make_directory,
    writing,
)
from detent.adapters.system.snapshot_files import OWN_FILE
from detent.ports.journal import JournalError, JournalUnavailableError

MARK = "detent.folder"
"""An empty file that says that this is the folder, and not a place where it is not mounted."""
NAME = ".name"
STEM_MAX = 243
"""A file's name has 255 bytes at most, and the longest ending, ".checkpoints", 12 of them."""
LONG = "="
"""How the files of a longer id begin; it stands in no other name, as `quote` writes it as %3D."""
PASSING = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOLCK),
    *(errno.ETIMEDOUT, errno.EAGAIN, errno.EBUSY, errno.ESTALE, errno.ENOENT),
}
"""What may be over in a moment: a full disk, too many open files, a folder that is away."""


@frozen
class Folder:
    """The folder of a journal.

    Attributes:
        path: where it is.
        mark: what is there as long as it is.
    """

    path: Path
    mark: Path

    @classmethod
    def opened(cls, path: Path) -> Folder:
        """Make it where it is not there, and mark it; one that may only be read is its own mark.

        Raises:
            OSError: it cannot be made.
        """
        make_directory(path)
        mark = path / MARK
        with suppress(OSError):
            if not mark.exists():
                mark.touch(OWN_FILE)
        return cls(path, mark if mark.exists() else path)

    def file(self, run_id: str, suffix: str) -> Path:
        """A file of a run."""
        return self.path / f"{stem_of(run_id)}{suffix}"

    @contextmanager
    def errors(self, done: str, path: Path) -> Generator[None, None, None]:
        """What is done with a file of it.

        RULE: a folder that is away has no runs only because nobody can see them.

        Raises:
            JournalUnavailableError: the folder is away, or something else is that may come back.
            JournalError: it cannot be done.
        """
        try:
            if not self.mark.exists():
                raise _away(self.path, done)
            yield
        except OSError as error:
            kind = JournalUnavailableError if error.errno in PASSING else JournalError
            raise kind(f"the journal {path} could not be {done}: {error}") from error

    def keep_name(self, run_id: str) -> None:
        """Write down what a run is called whose files cannot say so, before they are made."""
        path = self.file(run_id, NAME)
        if path.name.startswith(LONG) and run_id_in(path) != run_id:
            with writing(path, create=True) as file:
                extend(file, 0, line_of({"run_id": run_id}))


def _away(path: Path, done: str) -> JournalUnavailableError:
    return JournalUnavailableError(
        f"the journal {path} could not be {done}: its folder is not there any more; was it moved, "
        "or is its disk away?"
    )


def stem_of(run_id: str) -> str:
    """How the names of a run's files begin: by its id, or by a digest of one that is too long."""
    quoted = quote(run_id, safe="")
    return quoted if len(quoted) <= STEM_MAX else f"{LONG}{sha256(quoted.encode()).hexdigest()}"


def run_id_in(path: Path) -> str | None:
    """The id of the run whose file this is; None where nothing says it.

    Raises:
        OSError: it cannot be read.
    """
    if not path.name.startswith(LONG):
        return unquote(path.stem)
    with suppress(FileNotFoundError), path.with_suffix(NAME).open("rb") as file:
        _, line = last_line(file)
        match json_of(line) if checksum_of(line) else None:
            case {"run_id": str(run_id)} if stem_of(run_id) == path.stem:
                return run_id
            case _:
                return None
    return None
