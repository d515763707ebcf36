"""The writer: it goes on whatever becomes of a job, of a thread, or of who has submitted it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event

import pytest

from detent.adapters.journals import writer as writers
from detent.adapters.journals.writer import Done, Writer


def one_by_one(jobs: Sequence[Callable[[None], object]]) -> list[Done]:
    """All that a store does."""
    return [(job(None), None) for job in jobs]


def test_nobody_can_take_back_what_was_submitted() -> None:
    """It is written, so its future says so; and the next one is written as well."""
    may_go = Event()
    writer = Writer[None](one_by_one)
    first = writer.submit(lambda _: may_go.wait(10))
    second = writer.submit(lambda _: "second")

    assert not first.cancel()
    assert not second.cancel()
    may_go.set()
    assert second.result(10) == "second"
    assert writer.submit(lambda _: "third").result(10) == "third"


def test_where_there_is_no_thread_the_next_one_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be begun is not written later."""
    done: list[str] = []
    writer = Writer[None](one_by_one)

    def fail(job: Callable[[], object]) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(writers, "run_in_a_thread", fail)
        with pytest.raises(RuntimeError, match="can't start"):
            writer.submit(lambda _: done.append("first"))
    writer.submit(lambda _: done.append("second")).result(10)

    assert done == ["second"]


def test_a_store_that_fails_says_so_to_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """And is asked again for the next ones."""
    failures = [OSError("gone")]

    def together(jobs: Sequence[Callable[[None], object]]) -> list[Done]:
        if failures:
            raise failures.pop()
        return one_by_one(jobs)

    writer = Writer[None](together)
    with pytest.raises(OSError, match="gone"):
        writer.submit(lambda _: None).result(10)
    assert writer.submit(lambda _: 1).result(10) == 1
