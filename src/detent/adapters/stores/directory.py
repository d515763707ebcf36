"""A journal in a directory: a file of JSON lines for each run, which people can read."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, unquote

from detent.ports.journal import (
    Checkpoint,
    Entry,
    JournalDamagedError,
    JournalError,
    StoredRun,
    require_next,
)

LINES = ".jsonl"
CHECKPOINTS = ".checkpoints"
BLOCK = 65536


class DirectoryJournal:
    """Keeps runs in the directory at `path`, which is made when it is not there.

    Each line of a run's file is one append: an array of entries. A line that a crash has cut off
    counts as never written. Every append is on the disk when it returns.

    Raises:
        JournalError: the directory cannot be made.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._offsets: dict[str, tuple[int, int]] = {}
        with _told("made", self._path):
            self._path.mkdir(parents=True, exist_ok=True)

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        line = _line([_shown(entry) for entry in entries])
        path = self._file(run_id, LINES)
        with _told("written", path):
            is_new = not path.exists()
            with path.open("a+b") as file, _alone(file):
                end, length = _end(file, run_id)
                require_next(run_id, entries, length)
                _extend(file, end, line)
                if checkpoint is not None:
                    self._keep(run_id, checkpoint, end + len(line))
            if is_new:
                _sync_directory(self._path)

    def read(self, run_id: str, start: int = 0) -> Iterator[Entry]:
        """As the port says."""
        path = self._file(run_id, LINES)
        with _told("read", path):
            if not path.exists():
                return
            with path.open("rb") as file:
                position, offset = self._offsets.get(run_id, (0, 0))
                position, offset = (position, offset) if position <= start else (0, 0)
                file.seek(offset)
                for line in file:
                    if not line.endswith(b"\n"):
                        return
                    for entry in _entries(run_id, line):
                        if entry.position != position:
                            raise JournalDamagedError(
                                f"the journal {path} is damaged: entry {entry.position} stands "
                                "where "
                                f"{position} should"
                            )
                        position += 1
                        if entry.position >= start:
                            yield entry

    def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """As the port says."""
        path = self._file(run_id, CHECKPOINTS)
        with _told("read", path):
            lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        return [self._checkpoint(run_id, line) for line in lines if line.endswith(b"\n")]

    def _checkpoint(self, run_id: str, line: bytes) -> Checkpoint:
        match _parsed(run_id, line):
            case {"position": int(position), "offset": int(offset), "data": dict(data)}:
                self._offsets[run_id] = (position, offset)
                return Checkpoint(position, data)
            case _:
                raise JournalDamagedError(
                    f"the file {self._file(run_id, CHECKPOINTS)} is damaged; delete it to do "
                    "without, which is slower"
                )

    def _keep(self, run_id: str, checkpoint: Checkpoint, offset: int) -> None:
        """Write down a checkpoint, and where the entries behind it begin."""
        kept = {"position": checkpoint.position, "offset": offset, "data": checkpoint.data}
        with self._file(run_id, CHECKPOINTS).open("a+b") as file:
            _extend(file, _whole(file)[0], _line(kept))

    def runs(self) -> Sequence[StoredRun]:
        """As the port says."""
        found: list[StoredRun] = []
        with _told("read", self._path):
            for path in self._path.glob(f"*{LINES}"):
                run_id = unquote(path.name.removesuffix(LINES))
                with path.open("rb") as file:
                    last = _last(file, run_id)
                if last is not None:
                    found.append(StoredRun(run_id, last.position + 1, last.status, last.at))
        return sorted(found, key=lambda run: run.at, reverse=True)

    def delete(self, run_id: str) -> None:
        """As the port says."""
        self._offsets.pop(run_id, None)
        for suffix in (CHECKPOINTS, LINES):
            path = self._file(run_id, suffix)
            with _told("deleted", path):
                path.unlink(missing_ok=True)

    def _file(self, run_id: str, suffix: str) -> Path:
        return self._path / f"{quote(run_id, safe='')}{suffix}"


@contextmanager
def _told(done: str, path: Path) -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        raise JournalError(f"the journal {path} could not be {done}: {error}") from error


@contextmanager
def _alone(file: IO[bytes]) -> Generator[None, None, None]:
    """No other process or thread writes to the file in the meantime; a crash frees it."""
    if sys.platform == "win32":
        import msvcrt

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
        try:
            yield
        finally:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX)
        yield  # closing the file frees it


def _end(file: IO[bytes], run_id: str) -> tuple[int, int]:
    """Where the last whole line ends, and how many entries there are."""
    last = _last(file, run_id)
    return file.tell(), 0 if last is None else last.position + 1


def _last(file: IO[bytes], run_id: str) -> Entry | None:
    """The last entry of the last whole line. The file then stands at that line's end."""
    end, line = _whole(file)
    file.seek(end)
    return _entries(run_id, line)[-1] if line else None


def _whole(file: IO[bytes]) -> tuple[int, bytes]:
    """Where the last whole line ends, and the line; behind it is what a crash has cut off."""
    at = file.seek(0, os.SEEK_END)
    tail = b""
    while at > 0 and tail.count(b"\n") <= 1:  # one ends the last whole line, one the line before
        step = min(BLOCK, at)
        at = file.seek(at - step)
        tail = file.read(step) + tail
    whole = tail[: tail.rfind(b"\n") + 1]
    lines = whole.splitlines()
    return at + len(whole), lines[-1] if lines else b""


def _extend(file: IO[bytes], end: int, line: bytes) -> None:
    """Write a line at `end`, in place of what a crash has cut off there; nothing when it fails."""
    file.truncate(end)
    try:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())
    except OSError:
        file.truncate(end)
        raise


def _sync_directory(path: Path) -> None:
    """Make a new file's name safe as well, where directories can be synced."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _line(data: object) -> bytes:
    """A line of JSON that people can read; half a character pair, which is no text, stays whole."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass") + b"\n"


def _shown(entry: Entry) -> dict[str, Any]:
    return {
        "position": entry.position,
        "at": entry.at,
        "kind": entry.kind,
        "status": entry.status,
        "data": entry.data,
    }


def _entries(run_id: str, line: bytes) -> list[Entry]:
    found = _parsed(run_id, line)
    if not isinstance(found, list) or not found:
        raise JournalDamagedError(f"the journal of run {run_id!r} is damaged: a line is no array")
    return [_entry(run_id, one) for one in found]


def _entry(run_id: str, found: object) -> Entry:
    match found:
        case {
            "position": int(position),
            "at": int() | float() as at,
            "kind": str(kind),
            "status": str(status),
            "data": dict(data),
        }:
            return Entry(position, at, kind, status, data)
        case _:
            raise JournalDamagedError(
                f"the journal of run {run_id!r} is damaged: something is no entry"
            )


def _parsed(run_id: str, text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise JournalDamagedError(f"the journal of run {run_id!r} is damaged: {error}") from error
