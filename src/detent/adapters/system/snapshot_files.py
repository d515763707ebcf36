"""Snapshots in files: written whole or not at all, and never over another one."""

from __future__ import annotations

import os
from pathlib import Path

from detent.core.errors import StoredDataError
from detent.core.storage.snapshot import AgentSnapshot

OWN_FILE, OWN_FOLDER = 0o600, 0o700
"""The modes of what is made for runs: what agents know is for the user alone. One who wants others
to read it makes the folder, or changes the mode: what is there keeps its own."""

LARGEST_BYTES = 256 * 2**20
"""A file that is larger is no snapshot of ours."""


def save_snapshot(snapshot: AgentSnapshot, directory: str | Path) -> Path:
    """Write a snapshot to a new file in `directory`, which is made when it is not there.

    The file's name has the run's id and turn, and a part that no other file has. Both are for the
    user alone to read.

    Raises:
        OSError: it could not be written; there is no such file then.
    """
    folder = Path(directory)
    folder.mkdir(OWN_FOLDER, parents=True, exist_ok=True)
    run = "".join(
        character if character.isalnum() or character in "-_" else "_"
        for character in snapshot.run_id
    )[:80]
    path = folder / f"{run}_{snapshot.turn}_{os.urandom(4).hex()}.json"
    new = path.with_suffix(".new")
    try:
        with open(new, "xb", opener=_own_file) as file:
            # Half a character pair is no text, but a tool may have given it.
            file.write(snapshot.to_json().encode("utf-8", "surrogatepass"))
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
    return path


def _own_file(path: str, flags: int) -> int:
    return os.open(path, flags, OWN_FILE)


def load_snapshot(path: str | Path) -> AgentSnapshot:
    """The snapshot in a file.

    Raises:
        OSError: the file cannot be read.
        StoredDataError: it holds no snapshot, or one of another version.
    """
    if (size := Path(path).stat().st_size) > LARGEST_BYTES:
        raise StoredDataError(f"{path} has {size} bytes: no snapshot is that large")
    try:
        return AgentSnapshot.from_json(Path(path).read_bytes())
    except StoredDataError as error:
        raise StoredDataError(f"{path}: {error}") from error
