"""A journal in a directory: a file of JSON lines for each run, which people can read.

The first line of a file is its head: it says up to where the file is safe, and is written anew, in
its place, after each append is on the disk. A line that is cut off behind that place was never
written; before it, it is damage, and so is a file that does not reach that far. Each line names the
checksum of the one before.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple
from zlib import crc32

from attrs import evolve

from detent.adapters.journals.directory_claims import DirectoryClaims
from detent.adapters.journals.directory_folder import NAME, Folder, run_id_in
from detent.adapters.journals.directory_records import (
    entry_in,
    listing_in,
    listing_record,
    record_of,
)
from detent.adapters.journals.lines import (
    alone,
    began,
    checksum_of,
    extend,
    json_of,
    last_line,
    line_of,
    remove,
    sync_directory,
    write,
    writing,
)
from detent.adapters.journals.polling import OwnEnds, wait_for_change
from detent.adapters.journals.writer import Done, Writer
from detent.ports.journal import (
    OUTAGE_S,
    Checkpoint,
    Entry,
    JournalConflictError,
    JournalDamagedError,
    JournalError,
    listing_after,
    require_claim,
    require_next,
)
from detent.ports.listing import ALL_RUNS, NO_LISTING, RunQuery, StoredRun, page_of

if TYPE_CHECKING:
    from concurrent.futures import Future

LINES = ".jsonl"
CHECKPOINTS = ".checkpoints"
LAYOUT = 1
HEAD_BYTES = 72
WRITERS = 4
"""So many threads write at once: they mostly wait for the disk, which does fsyncs together."""
FIRST = f"{0:08x}"
"""What a line names as the checksum of the one before, when there is none."""


class _Place(NamedTuple):
    """Where a line ends: behind how many entries and bytes, and its checksum."""

    length: int
    offset: int
    checksum: str


START = _Place(0, HEAD_BYTES, FIRST)


class DirectoryJournal:
    """Keeps runs in the directory at `path`, which is made when it is not there.

    Each line of a run's file but the first is one append, with its entries. A line that a crash
    has cut off counts as never written. Every append is on the disk when it returns.

    Args:
        path: the directory.
        outage_s: for how long an append is begun again while the disk is full or away.

    Raises:
        JournalError: the directory cannot be made.
    """

    def __init__(self, path: str | Path, *, outage_s: float = OUTAGE_S) -> None:
        self._path, self.outage_s = Path(path), outage_s
        self._places: dict[str, _Place] = {}
        self._read_to: dict[
            str, tuple[int, _Place]
        ] = {}  # where the last line but one begins and ends
        self._ends = OwnEnds()
        self._writers = [Writer(self._together) for _ in range(WRITERS)]
        try:
            self._folder = Folder.opened(self._path)
        except OSError as error:
            raise JournalError(f"the journal {path} could not be made: {error}") from error
        self.claims = DirectoryClaims(self._folder)

    def __repr__(self) -> str:
        """By the whole path: a relative one is another folder in another folder."""
        return f"{type(self).__name__}({str(self._path.absolute())!r})"

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As `Journal.append` says."""
        require_next(run_id, entries, entries[0].position if entries else 0)
        records = [record_of(entry) for entry in entries]
        with self._writing(run_id, entries[0].position) as (file, path):
            end, last = _ending(file, run_id, path)
            require_next(run_id, entries, end.length)
            if entries[0].claim is not None:
                require_claim(run_id, entries, self.claims.find(run_id))
            listing = listing_after((last and last.listing) or NO_LISTING, entries)
            line = line_of({"after": end.checksum, "entries": records, **listing_record(listing)})
            text = line if end.offset else _head(HEAD_BYTES) + line
            self._ends.keep(run_id, end.offset + len(text))
            extend(file, end.offset, text)
            if last is None:
                sync_directory(self._path)
            offset = end.offset + len(text)
            with suppress(OSError):  # the entries are safe, and what follows may be lost
                write(file, 0, _head(offset))
                if checkpoint is not None:
                    self._keep(run_id, checkpoint, offset, line)

    def submit(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> Future[None]:
        """As the port `SubmittingJournal` says: what is of one run is done in its order."""
        writer = self._writers[crc32(run_id.encode(errors="replace")) % WRITERS]
        return writer.submit(lambda journal: journal.append(run_id, entries, checkpoint))

    def _together(self, jobs: Sequence[Callable[[DirectoryJournal], object]]) -> list[Done]:
        return [self._done(job) for job in jobs]

    def _done(self, job: Callable[[DirectoryJournal], object]) -> Done:
        try:
            return job(self), None
        except Exception as error:  # noqa: BLE001 - whoever submitted it is told
            return None, error

    @contextmanager
    def _writing(self, run_id: str, position: int) -> Generator[tuple[FileIO, Path], None, None]:
        """The file of a run, for this writer alone; it is made for the first entry only."""
        path = self._folder.file(run_id, LINES)
        with self._folder.errors("written", path):
            try:
                if position == 0:
                    self._folder.keep_name(run_id)
                with writing(path, create=position == 0) as file:
                    yield file, path
            except FileNotFoundError:
                if position and self._path.is_dir():
                    raise JournalConflictError(run_id, position, 0) from None
                raise

    def read(self, run_id: str, start: int = 0) -> Iterator[Entry]:
        """As `Journal.read` says. What stands before damage is given before that is raised."""
        path = self._folder.file(run_id, LINES)
        with self._folder.errors("read", path):
            if not path.exists():
                return
            with path.open("rb") as file:
                before = last = place = self._place_before(file, run_id, start)
                for now, found in _read(file, run_id, path, place):
                    before, last, place = last, place, now
                    yield from (entry for entry in found if entry.position >= start)
                if before is not last:
                    self._read_to[run_id] = before.offset, last

    def _place_before(self, file: IO[bytes], run_id: str, start: int) -> _Place:
        """From where to read: before the last line that was read, if it is the same file still."""
        begin, place = self._read_to.get(run_id, (0, START))
        if 0 < place.length <= start:
            file.seek(begin)
            if checksum_of(file.read(place.offset - begin)) == place.checksum:
                return place
        found = self._places.get(run_id)
        return START if found is None or found.length > start else found

    def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """As `Journal.checkpoints` says."""
        path = self._folder.file(run_id, CHECKPOINTS)
        self._places.pop(run_id, None)
        with self._folder.errors("read", path):
            lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        return [self._checkpoint(run_id, line) for line in lines if line.endswith(b"\n")]

    def _checkpoint(self, run_id: str, line: bytes) -> Checkpoint:
        match json_of(line) if checksum_of(line) else None:
            case {
                "position": int(position),
                "offset": int(offset),
                "after": str(after),
                "data": dict(data),
            }:
                self._places[run_id] = _Place(position, offset, after)
                return Checkpoint(position, data)
            case _:
                file = self._folder.file(run_id, CHECKPOINTS)
                raise JournalDamagedError(
                    f"the file {file} is damaged; delete it to do without, which is slower"
                )

    def _keep(self, run_id: str, checkpoint: Checkpoint, end: int, line: bytes) -> None:
        """Write down a checkpoint, and where the entries behind it begin: behind this line."""
        at = {"position": checkpoint.position, "offset": end, "after": checksum_of(line)}
        with writing(self._folder.file(run_id, CHECKPOINTS), create=True) as file:
            extend(file, last_line(file)[0], line_of({**at, "data": checkpoint.data}))

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """As `Journal.runs` says. One whose file is damaged has the status "damaged".

        The end of every file is read, for a page as well: 0.2 ms for each run.
        """
        with self._folder.errors("read", self._path):
            files = [] if query.run_id is None else [self._folder.file(query.run_id, LINES)]
            found = [self._listed(path) for path in files or self._path.glob(f"*{LINES}")]
        page = page_of(filter(None, found), query)
        return [evolve(run, began=began(self._folder.file(run.run_id, LINES))) for run in page]

    def _listed(self, path: Path) -> StoredRun | None:
        with suppress(FileNotFoundError), path.open("rb") as file:  # it may just be deleted
            run_id = self._run_id(path)
            if run_id is None:
                return StoredRun(path.stem, 0, "damaged", path.stat().st_mtime)
            try:
                _, last = _ending(file, run_id, path)
            except JournalDamagedError as damage:
                return StoredRun(run_id, damage.whole, "damaged", path.stat().st_mtime)
            if last is not None:
                listing = last.listing or NO_LISTING
                return StoredRun.listed(run_id, last.position + 1, last.status, last.at, listing)
        return None

    @staticmethod
    def _run_id(path: Path) -> str | None:
        """The id of a run. Where it is not there, it is waited for who may be deleting it."""
        if (run_id := run_id_in(path)) is None:
            with writing(path, create=False):
                run_id = run_id_in(path)
        return run_id

    def delete(self, run_id: str) -> None:
        """As `Journal.delete` says."""
        self._places.pop(run_id, None)
        self._read_to.pop(run_id, None)
        path = self._folder.file(run_id, LINES)
        with self._folder.errors("deleted", path):
            if not path.exists():
                self.claims.delete(run_id)
            # the claim first: nobody begins another run while the old one's stands
            others = (self._folder.file(run_id, ending) for ending in (CHECKPOINTS, NAME))
            remove(path, self.claims.file(run_id), *others)

    def wait(self, run_id: str, length: int, timeout_s: float) -> bool:
        """As the port `Notices` says: by the size and the time of the run's file."""
        path = self._folder.file(run_id, LINES)

        def mark() -> tuple[int, ...]:
            with suppress(FileNotFoundError):
                found = path.stat()
                return found.st_size, found.st_mtime_ns, found.st_ino
            return ()

        def has_changed() -> bool:
            run = self._listed(path)
            return (0 if run is None else run.length) != length

        with self._folder.errors("read", path):
            return wait_for_change(mark, has_changed, timeout_s)

    def from_others(
        self, run_ids: Callable[[], Collection[str]]
    ) -> Generator[Collection[str], None, None]:
        """As the port `ForeignNotices` says, four times a second, by the sizes of the files."""
        with self._folder.errors("read", self._path):
            yield from self._ends.news(run_ids, lambda run_id: self._folder.file(run_id, LINES))


def _head(end: int) -> bytes:
    return line_of({"detent": "journal", "layout": LAYOUT, "end": f"{end:012}"})


def _safe(file: IO[bytes], path: Path) -> int:
    """Up to where the file was on the disk for sure; without its head, all whole lines count."""
    file.seek(0)
    start = file.read(4 * HEAD_BYTES)
    head = start[: start.find(b"\n") + 1]  # that of a later layout may be longer
    match json_of(head) if checksum_of(head) else None:
        case {"layout": 1, "end": str(end)}:
            return int(end)
        case {"layout": int(layout)}:
            raise JournalError(
                f"the journal {path} has layout {layout}, and this Detent knows layout {LAYOUT}: "
                "use the version of Detent that wrote it"
            )
        case _:
            return last_line(file)[0]


def _ending(file: IO[bytes], run_id: str, path: Path) -> tuple[_Place, Entry | None]:
    """Where the last whole line ends, and its last entry, if there is one."""
    end, line = last_line(file)
    if end >= _safe(file, path):
        if end in {0, HEAD_BYTES}:
            return _Place(0, end, FIRST), None
        with suppress(ValueError):
            checksum, entries = _entries(line, None)
            return _Place(entries[-1].position + 1, end, checksum), entries[-1]
    *_, (place, found) = (  # something is wrong: find out what, line by line
        (START, list[Entry]()),
        *_read(file, run_id, path, START),
    )
    return place, found[-1] if found else None


def _read(
    file: IO[bytes], run_id: str, path: Path, place: _Place
) -> Iterator[tuple[_Place, list[Entry]]]:
    """The lines behind a place: where each ends, and its entries."""
    if place == START and not file.seek(0, os.SEEK_END):
        return  # a crash, or another process, has just made the file
    safe = _safe(file, path)
    file.seek(place.offset)
    for line in file:
        if not line.endswith(b"\n"):
            break
        try:
            checksum, found = _entries(line, place)
        except ValueError as why:
            file.seek(0)
            number = 1 + file.read(place.offset).count(b"\n")
            text = f"the journal {path} is damaged in line {number}: {why}"
            raise JournalDamagedError(text, run_id, place.length) from None
        place = _Place(place.length + len(found), place.offset + len(line), checksum)
        yield place, found
    _require_all(file, run_id, path, safe, place)


def _require_all(file: IO[bytes], run_id: str, path: Path, safe: int, end: _Place) -> None:
    """Raise unless what was safe is there."""
    size = file.seek(0, os.SEEK_END)
    if end.offset < safe:  # or we read the head while it was being written
        with alone(file):
            safe = _safe(file, path)
    if not safe <= end.offset <= size:
        text = f"the journal {path} is cut off: it had {max(safe, end.offset)} bytes, now {size}"
        raise JournalDamagedError(text, run_id, end.length)


def _entries(line: bytes, place: _Place | None) -> tuple[str, list[Entry]]:
    """The checksum of a line that begins at a place, which may not be known, and its entries.

    Raises:
        ValueError: there are none; the message says why.
    """
    checksum, found = checksum_of(line), json_of(line)
    if checksum is None or not isinstance(found, dict):
        raise ValueError("its checksum is not that of what stands in it")
    if place is not None and place.checksum != found.get("after"):
        raise ValueError("it does not follow the line before")
    listed = found.get("entries")
    if not isinstance(listed, list) or not listed:
        raise ValueError("it has no array of entries")
    entries = [entry_in(record) for record in listed]
    entries[-1] = evolve(entries[-1], listing=listing_in(found.get("listing")))
    if place is not None and entries[0].position != place.length:
        raise ValueError(f"entry {entries[0].position} stands where {place.length} should")
    return checksum, entries
