"""The directory store: what crashes, full disks and meddlers leave, and that people can read it."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from threading import Barrier
from time import process_time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detent.adapters.journals import lines
from detent.adapters.journals.directory import (
    FIRST,
    HEAD_BYTES,
    DirectoryJournal,
    _head,
    _Place,
    _require_all,
)
from detent.adapters.journals.directory_folder import MARK
from detent.adapters.journals.lines import last_line, line_of
from detent.ports.journal import (
    Checkpoint,
    Entry,
    JournalConflictError,
    JournalDamagedError,
    JournalError,
    JournalUnavailableError,
)
from detent.ports.laws.journal import entries


def filled(place: Path, count: int = 3) -> tuple[DirectoryJournal, Path]:
    """A journal with some entries, each from an append of its own, and its file."""
    journal = DirectoryJournal(place)
    for position in range(count):
        journal.append("a", entries(position, 1))
    return journal, place / "a.jsonl"


def test_each_line_is_an_append(tmp_path: Path) -> None:
    """A person finds each entry where it should be, as JSON, behind a head."""
    journal, path = filled(tmp_path)
    journal.append("a", entries(3, 2))

    head, *lines = [json.loads(line) for line in path.read_text().splitlines()]

    assert head.items() >= {"detent": "journal", "layout": 1, "end": f"{size(path):012}"}.items()
    found = [[entry["position"] for entry in line["entries"]] for line in lines]
    assert found == [[0], [1], [2], [3, 4]]
    assert [line["after"] for line in lines] == [
        "00000000",
        *(line["crc32"] for line in lines[:-1]),
    ]


def size(path: Path) -> int:
    return path.stat().st_size


def torn(path: Path, cut: int) -> bytes:
    """Leave what a crash in the last append leaves: a part of its line. The file as it was."""
    whole = path.read_bytes()
    end = whole[:-1].rfind(b"\n") + 1
    path.write_bytes(_head(end) + whole[HEAD_BYTES:-cut])
    return whole


@pytest.mark.parametrize("cut", range(1, 120, 7))
def test_a_line_that_is_cut_off_was_never_written(cut: int, tmp_path: Path) -> None:
    """The next append takes its place."""
    journal, path = filled(tmp_path)
    whole = torn(path, cut)

    assert list(journal.read("a")) == entries(0, 2)
    assert journal.runs()[0].length == 2
    with pytest.raises(JournalConflictError):
        journal.append("a", entries(3, 1))
    journal.append("a", entries(2, 1))
    assert path.read_bytes() == whole


def test_a_line_is_there_before_the_head_says_so(tmp_path: Path) -> None:
    """The process may end in between."""
    journal, path = filled(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(_head(HEAD_BYTES) + whole[HEAD_BYTES:])

    assert list(journal.read("a")) == entries(0, 3)
    journal.append("a", entries(3, 1))
    assert path.read_bytes()[:HEAD_BYTES] == _head(size(path))


def test_a_first_line_that_is_cut_off_is_no_run(tmp_path: Path) -> None:
    """It can begin again."""
    journal, path = filled(tmp_path, 1)
    whole = torn(path, 9)

    assert journal.runs() == []
    assert list(journal.read("a")) == []
    journal.append("a", entries(0, 1))
    assert path.read_bytes() == whole


def test_a_long_line_takes_time_by_its_length(tmp_path: Path) -> None:
    """One entry of 32 MB: what were copied block by block would take a quarter of a minute."""
    journal = DirectoryJournal(tmp_path)
    journal.append("a", [Entry(0, 1.0, "Started", "running", {"text": "x" * 2**25})])
    path = tmp_path / "a.jsonl"

    with path.open("rb") as file:
        began = process_time()
        end, line = last_line(file)
        assert process_time() - began < 2

    assert end == size(path)
    assert line == path.read_bytes()[HEAD_BYTES:]


@given(st.lists(st.binary(max_size=9), max_size=5), st.binary(max_size=9), st.integers(1, 7))
def test_the_last_whole_line_is_found_wherever_blocks_end(
    lines: list[bytes], torn_off: bytes, block: int
) -> None:
    """As if the whole file were read."""
    whole = [line.replace(b"\n", b"") + b"\n" for line in lines]
    text = b"".join(whole)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("detent.adapters.journals.lines.BLOCK", block)
        found = last_line(BytesIO(text + torn_off.replace(b"\n", b"")))

    assert found == (len(text), whole[-1] if whole else b"")


def test_each_new_directory_is_safe_before_anything_is_kept_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name stands in the one above, which has to be on the disk for that; once is enough."""
    synced: list[int] = []
    fsync = os.fsync

    def noted(handle: int) -> None:
        synced.append(os.fstat(handle).st_ino)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    DirectoryJournal(tmp_path / "one" / "two")
    above = [tmp_path, tmp_path / "one"] if hasattr(os, "O_DIRECTORY") else []
    assert synced == [path.stat().st_ino for path in above]

    DirectoryJournal(tmp_path / "one" / "two")
    assert len(synced) == len(above)


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says so; afterwards there is room for the same entry."""
    journal, path = filled(tmp_path)
    whole = path.read_bytes()

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(JournalError, match=r"could not be written: .*No space left"):
        journal.append("a", entries(3, 1))
    assert path.read_bytes() == whole

    monkeypatch.undo()
    journal.append("a", entries(3, 1))
    assert list(journal.read("a")) == entries(0, 4)


def test_a_disk_that_takes_a_part_leaves_what_was_there(tmp_path: Path) -> None:
    """No file may be larger than this one and a few bytes: the system writes so many."""
    resource = pytest.importorskip("resource", reason="the system has no limits of this kind")
    journal, path = filled(tmp_path)
    whole = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) + 9, hard))
    try:
        with pytest.raises(JournalError, match="could not be written"):
            journal.append("a", entries(3, 1))
        assert path.read_bytes() == whole
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    journal.append("a", entries(3, 1))
    assert list(journal.read("a")) == entries(0, 4)


def test_a_checkpoint_that_cannot_be_written_is_lost(tmp_path: Path) -> None:
    """Its entries are safe by then: who hears that they failed would write them twice."""
    journal, _ = filled(tmp_path)
    (tmp_path / "a.checkpoints").mkdir()

    journal.append("a", entries(3, 1), Checkpoint(4, {}))

    assert list(journal.read("a")) == entries(0, 4)


@pytest.mark.parametrize(
    "line", [b"{}\n", b"[]\n", b"[3]\n", b"no\n", b"\xff\n", b'[{"position": 7}]\n', b"[" * 9999]
)
def test_a_damaged_line_is_an_error(line: bytes, tmp_path: Path) -> None:
    """Never a shorter run, and never anything else; also where the head is gone."""
    journal, path = filled(tmp_path)
    whole = path.read_bytes()
    for start in (b"", whole[:HEAD_BYTES]):
        path.write_bytes(start + line + b"\n" + whole[HEAD_BYTES:])

        with pytest.raises(JournalDamagedError, match="damaged in line"):
            list(journal.read("a"))


@pytest.mark.parametrize("data", [{}, {"entries": []}, {"entries": [3]}, {"entries": {}}])
def test_a_line_with_no_entries_is_an_error(data: dict[str, object], tmp_path: Path) -> None:
    """Whoever has made its checksum."""
    _, path = filled(tmp_path)
    path.write_bytes(_head(HEAD_BYTES) + line_of({"after": FIRST, **data}))

    with pytest.raises(JournalDamagedError, match="damaged in line 2"):
        list(DirectoryJournal(tmp_path).read("a"))


def test_a_missing_line_is_an_error(tmp_path: Path) -> None:
    """Each names the one before, and the entries are numbered."""
    journal, path = filled(tmp_path)
    head, first, _, third = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(head + first + third)

    with pytest.raises(JournalDamagedError, match="line 3: it does not follow the line before"):
        list(journal.read("a"))

    path.write_bytes(head + line_of({"after": FIRST, "entries": json.loads(third)["entries"]}))
    with pytest.raises(JournalDamagedError, match="entry 2 stands where 0 should"):
        list(journal.read("a"))


def test_lines_of_another_run_are_an_error(tmp_path: Path) -> None:
    """A file that has two incarnations of a run is of neither."""
    journal, path = filled(tmp_path)
    old = path.read_bytes().splitlines(keepends=True)
    journal.delete("a")
    journal.append("a", [Entry(0, 1.0, "Other", "running", {})])
    new = path.read_bytes()
    path.write_bytes(new + b"".join(old[2:]))

    with pytest.raises(JournalDamagedError, match="does not follow"):
        list(journal.read("a"))


def test_a_damaged_run_is_listed_as_such(tmp_path: Path) -> None:
    """It does not hide the others, and its file is named."""
    journal, path = filled(tmp_path)
    journal.append("b", entries(0, 1))
    whole = path.read_bytes()
    path.write_bytes(whole[:-9] + b"x" + whole[-8:])

    listed = {run.run_id: (run.status, run.length) for run in journal.runs()}

    assert listed == {"a": ("damaged", 2), "b": ("running", 1)}
    with pytest.raises(JournalDamagedError, match=r"a\.jsonl is damaged in line 4") as caught:
        journal.append("a", entries(3, 1))
    assert caught.value.whole == 2


def test_a_file_of_another_layout_is_refused(tmp_path: Path) -> None:
    """It is not damaged."""
    journal, path = filled(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(line_of({"detent": "journal", "layout": 2}) + whole[HEAD_BYTES:])

    with pytest.raises(JournalError, match=r"has layout 2, .* version of Detent that wrote it"):
        list(journal.read("a"))


def test_a_file_that_was_cut_off_before_a_checkpoint_is_damaged(tmp_path: Path) -> None:
    """The checkpoint says where the entries behind it begin, and there is nothing."""
    journal, path = filled(tmp_path)
    whole = path.read_bytes()
    journal.append("a", entries(3, 1), Checkpoint(4, {}))
    path.write_bytes(whole)

    assert journal.checkpoints("a")[-1] == Checkpoint(4, {})
    with pytest.raises(JournalDamagedError, match="cut off"):
        list(journal.read("a", 4))


def test_a_head_that_is_being_written_is_read_again(tmp_path: Path) -> None:
    """What a reader saw of it may be neither the old one nor the new one."""
    _, path = filled(tmp_path)
    with path.open("rb") as file:
        place = _Place(3, size(path), FIRST)
        _require_all(file, "a", path, 10**9, place)
        path.write_bytes(_head(10**9) + path.read_bytes()[HEAD_BYTES:])
        with pytest.raises(JournalDamagedError, match="cut off"):
            _require_all(file, "a", path, 10**9, place)


@given(data=st.binary(max_size=80))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_give_entries_or_a_typed_error(data: bytes, tmp_path: Path) -> None:
    """Stored data is not to be trusted."""
    (tmp_path / "a.jsonl").write_bytes(data)
    (tmp_path / "a.checkpoints").write_bytes(data)
    journal = DirectoryJournal(tmp_path)
    for read in (lambda: list(journal.read("a")), journal.runs, lambda: journal.checkpoints("a")):
        with suppress(JournalError):
            read()


def test_a_file_that_may_not_be_written_is_an_error(tmp_path: Path) -> None:
    """As is a directory that cannot be made."""
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match="could not be made"):
        DirectoryJournal(tmp_path / "file")
    journal, path = filled(tmp_path / "runs")
    path.unlink()
    path.mkdir()
    with pytest.raises(JournalError, match="could not be written"):
        journal.append("a", entries(3, 1))


def test_reading_goes_on_at_a_checkpoint_without_what_was_before(tmp_path: Path) -> None:
    """The lines before it are not looked at."""
    journal, path = filled(tmp_path)
    journal.append("a", entries(3, 1), Checkpoint(4, {"n": 1}))
    journal.append("a", entries(4, 1))
    whole = path.read_bytes()
    path.write_bytes(whole[:HEAD_BYTES] + b"x" * 20 + whole[HEAD_BYTES + 20 :])

    again = DirectoryJournal(tmp_path)
    assert again.checkpoints("a") == [Checkpoint(4, {"n": 1})]
    assert list(again.read("a", 4)) == entries(4, 1)


@pytest.mark.skipif(sys.platform == "win32", reason="files have no such rights there")
def test_a_file_is_for_its_user_alone(tmp_path: Path) -> None:
    """What agents know is in it. It is no program."""
    journal, path = filled(tmp_path)
    journal.append("a", entries(3, 1), Checkpoint(4, {}))

    files = (path, tmp_path / "a.checkpoints")
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_no_id_leads_out_of_the_directory(tmp_path: Path) -> None:
    """Whatever is in it."""
    journal = DirectoryJournal(tmp_path / "runs")
    ids: list[Any] = ["../x", "/etc/x", "a/b", "..", "con:1", "ü"]
    for run_id in ids:
        journal.append(run_id, [Entry(0, 1.0, "K", "running", {})])

    assert sorted(run.run_id for run in journal.runs()) == sorted(ids)
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_a_directory_that_is_gone_is_an_error_until_it_is_back(tmp_path: Path) -> None:
    """Nothing is written to a place where nobody will find it."""
    journal, _ = filled(tmp_path / "here", 1)
    (tmp_path / "here").rename(tmp_path / "away")

    with pytest.raises(JournalError, match="could not be written"):
        journal.append("a", entries(1, 1))

    (tmp_path / "away").rename(tmp_path / "here")
    journal.append("a", entries(1, 1))
    assert list(journal.read("a")) == entries(0, 2)


@pytest.mark.parametrize("line", [b"{}\n", b"no\n", b'{"position": 1, "offset": -1, "data": 3}\n'])
def test_a_damaged_checkpoint_is_an_error_that_says_what_to_do(line: bytes, tmp_path: Path) -> None:
    """Without the file the run is read from its start."""
    journal, _ = filled(tmp_path)
    journal.append("a", entries(3, 1), Checkpoint(4, {}))
    (tmp_path / "a.checkpoints").write_bytes(line)

    with pytest.raises(JournalDamagedError, match="damaged"):
        journal.checkpoints("a")


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_checkpoint_that_is_cut_off_was_never_written(cut: int, tmp_path: Path) -> None:
    """The next one takes its place."""
    journal, _ = filled(tmp_path)
    journal.append("a", entries(3, 1), Checkpoint(4, {"n": 1}))
    journal.append("a", entries(4, 1), Checkpoint(5, {"n": 2}))
    path = tmp_path / "a.checkpoints"
    path.write_bytes(path.read_bytes()[:-cut])

    assert journal.checkpoints("a") == [Checkpoint(4, {"n": 1})]
    journal.append("a", entries(5, 1), Checkpoint(6, {"n": 3}))
    assert journal.checkpoints("a") == [Checkpoint(4, {"n": 1}), Checkpoint(6, {"n": 3})]


def at_once(*works: Callable[[], object]) -> list[BaseException | None]:
    """Do these in threads that begin together; what each has raised."""
    together = Barrier(len(works))

    def work(one: Callable[[], object]) -> BaseException | None:
        together.wait()
        try:
            one()
        except JournalError as error:
            return error
        return None

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(work, works))


@pytest.mark.parametrize("round_", range(20))
def test_nothing_is_written_to_a_run_that_is_being_deleted(round_: int, tmp_path: Path) -> None:
    """It is there no more, or has been there in time: an append is never lost in silence."""
    journal, _ = filled(tmp_path)
    deleting = DirectoryJournal(tmp_path)

    late, deleted = at_once(
        lambda: journal.append("a", entries(3, 1), Checkpoint(4, {})), lambda: deleting.delete("a")
    )

    assert late is None or isinstance(late, JournalConflictError)
    assert deleted is None
    assert [path.name for path in tmp_path.iterdir()] == [MARK]
    with pytest.raises(JournalConflictError, match="has 0 entries, not 4"):
        journal.append("a", entries(4, 1))
    assert [path.name for path in tmp_path.iterdir()] == [MARK]


@pytest.mark.parametrize("round_", range(20))
def test_a_run_that_begins_while_its_old_one_is_deleted_is_kept(
    round_: int, tmp_path: Path
) -> None:
    """Or is refused, as the old one is still there."""
    journal, _ = filled(tmp_path)

    begun, _ = at_once(
        lambda: DirectoryJournal(tmp_path).append("a", entries(0, 2)), lambda: journal.delete("a")
    )

    assert list(journal.read("a")) == ([] if begun else entries(0, 2))
    assert begun is None or isinstance(begun, JournalConflictError)


def test_a_writer_that_stands_still_is_waited_for_in_vain_and_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is stopped in the middle of an append keeps its file; the others go on."""
    monkeypatch.setattr(lines, "WAIT_S", 0.05)
    journal = DirectoryJournal(tmp_path)
    journal.append("a", entries(0, 1))
    with (tmp_path / "a.jsonl").open("r+b") as held, lines.alone(held):
        with pytest.raises(JournalUnavailableError, match="and does not go on"):
            journal.append("a", entries(1, 1))
        journal.append("b", entries(0, 1))
    journal.append("a", entries(1, 1))
    assert list(journal.read("a")) == entries(0, 2)


def test_a_folder_that_is_away_may_come_back(tmp_path: Path) -> None:
    """So it is worth to try again, which a run does for a while."""
    journal = DirectoryJournal(tmp_path / "runs")
    journal.append("a", entries(0, 1))
    (tmp_path / "runs").rename(tmp_path / "away")
    with pytest.raises(JournalUnavailableError, match="could not be written"):
        journal.append("a", entries(1, 1))
    (tmp_path / "away").rename(tmp_path / "runs")
    journal.append("a", entries(1, 1))
    assert list(journal.read("a")) == entries(0, 2)
