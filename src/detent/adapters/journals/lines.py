"""Lines of JSON in a file: each with a checksum, written whole by one writer at a time.

A line begins with the CRC-32 of all that follows in it. That finds accidents; who means harm can
compute a checksum as well.
"""

from __future__ import annotations

import errno
import json
import os
import re
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import IO, Any
from zlib import crc32

from detent.adapters.system.snapshot_files import OWN_FILE, OWN_FOLDER

WAIT_S = 10.0
"""How long a writer is waited for."""
FIRST_PAUSE_S, LAST_PAUSE_S = 0.001, 0.05
"""Between two looks whether it is done."""
BLOCK = 65536
START = b'{"crc32":"'
BODY = len(START) + 10
"""Where a line goes on behind its checksum and what ends that."""
BEGAN = re.compile(rb'"entries":\[\{"position":0,"at":([0-9.e+-]{1,32}),')
BEGINNING = 512
"""How the first line of entries begins, and within how many bytes of a file."""
FAR = 2**40
"""Where Windows keeps a lock on a file, which shuts readers out of what it covers."""


def line_of(data: Mapping[str, object]) -> bytes:
    """A line of JSON that people can read; half a character pair, which is no text, stays whole."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    body = text[1:].encode("utf-8", "surrogatepass")
    return b'%b%08x",%b\n' % (START, crc32(body), body)


def checksum_of(line: bytes) -> str | None:
    """The checksum of a whole line; None when it has none, or a wrong one."""
    start = b'%b%08x",' % (START, crc32(line[BODY:-1]))
    return start[len(START) : -2].decode() if line.startswith(start) else None


def json_of(line: bytes) -> Any:
    """What the line says; None when it is no JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


@contextmanager
def writing(path: Path, *, create: bool) -> Generator[FileIO, None, None]:
    """The file at `path`, for this writer alone.

    Raises:
        FileNotFoundError: it is not there, and is not to be created.
    """
    made = os.O_CREAT if create else 0

    def opened(name: str, flags: int) -> int:
        return os.open(name, flags | made, OWN_FILE)

    while True:
        with open(path, "r+b", buffering=0, opener=opened) as file, alone(file):
            if _is_at(path, file):  # or somebody has deleted it while we waited
                yield file
                return


def _is_at(path: Path, file: IO[bytes]) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    return False


@contextmanager
def alone(file: IO[bytes]) -> Generator[None, None, None]:
    """No other process or thread writes to the file in the meantime; a crash frees it.

    Raises:
        TimeoutError: somebody has it for `WAIT_S` seconds: a process that stands still, say.
    """
    if sys.platform == "win32":
        import msvcrt

        file.seek(FAR)  # what is locked there can be read by nobody else
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
        try:
            yield
        finally:
            file.seek(FAR)
            msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        end, pause_s = time.monotonic() + WAIT_S, FIRST_PAUSE_S
        while not _locked(file, fcntl.LOCK_EX | fcntl.LOCK_NB):
            if time.monotonic() > end:
                raise TimeoutError(errno.ETIMEDOUT, "another process has it, and does not go on")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, LAST_PAUSE_S)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


def _locked(file: IO[bytes], how: int) -> bool:
    """Whether it could be locked at once."""
    import fcntl

    try:
        fcntl.flock(file, how)
    except BlockingIOError:
        return False
    return True


def remove(path: Path, *others: Path) -> None:
    """Delete a file, the others before it, while nobody writes to it. It need not be there."""
    if sys.platform == "win32":  # what is open cannot be deleted there
        _unlink(*others, path)
    else:
        with suppress(FileNotFoundError), writing(path, create=False):
            _unlink(*others, path)


def _unlink(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def began(path: Path) -> float | None:
    """The time of the first entry in a file, by the beginning of its line, which may be long."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        found = BEGAN.search(file.read(BEGINNING))
        return None if found is None else float(found[1])
    return None


def last_line(file: IO[bytes]) -> tuple[int, bytes]:
    """Where the last whole line ends, and the line; behind it is what a crash has cut off."""
    at = file.seek(0, os.SEEK_END)
    blocks: list[bytes] = []  # from the end; joined once, or a long line would be copied at each
    ends = 0
    while at > 0 and ends <= 1:  # one ends the last whole line, one the line before
        step = min(BLOCK, at)
        at = file.seek(at - step)
        blocks.append(file.read(step))
        ends += blocks[-1].count(b"\n")
    tail = b"".join(reversed(blocks))
    end = tail.rfind(b"\n") + 1
    return at + end, tail[tail.rfind(b"\n", 0, max(0, end - 1)) + 1 : end]


def extend(file: FileIO, end: int, text: bytes) -> None:
    """Write at `end`, in place of what a crash has cut off there; nothing when it fails."""
    file.truncate(end)
    try:
        write(file, end, text)
        os.fsync(file.fileno())
    except OSError:
        file.truncate(end)
        raise


def write(file: FileIO, at: int, text: bytes) -> None:
    """Write all of it: a disk that fills up takes a part at first."""
    file.seek(at)
    while text:
        text = text[file.write(text) :]


def make_directory(path: Path) -> None:
    """Make it with those above it that are not there, so that a crash leaves none of them out."""
    new = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(new):
        folder.mkdir(OWN_FOLDER, exist_ok=True)
        sync_directory(folder.parent)
    path.mkdir(OWN_FOLDER, exist_ok=True)  # where it is a file, that is raised


def sync_directory(path: Path) -> None:
    """Make the names in it safe as well, where directories can be synced."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
