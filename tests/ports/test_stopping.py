"""Work that blocks is told, in any thread, that nobody waits for it any longer."""

from __future__ import annotations

import threading

from detent.ports.stopping import Stop, can_be_stopped, wait, when_stopped


def test_what_is_registered_is_called_once() -> None:
    """However often it is stopped; what comes later is called at once."""
    stop = Stop()
    seen: list[str] = []
    with stop, when_stopped(lambda: seen.append("first")):
        assert seen == []
        stop.set()
        stop.set()
        with when_stopped(lambda: seen.append("late")):
            assert seen == ["first", "late"]


def test_nothing_is_called_after_the_block() -> None:
    """What it would have closed may serve somebody else by then."""
    stop = Stop()
    seen: list[str] = []
    with stop:
        with when_stopped(lambda: seen.append("first")):
            pass
        stop.set()
    assert seen == []


def test_work_that_nobody_can_stop_is_not_stopped() -> None:
    """Outside of a run there is no stop; after the block of one there is none again."""
    stop = Stop()
    with stop:
        assert can_be_stopped()
    assert not can_be_stopped()
    seen: list[str] = []
    with when_stopped(lambda: seen.append("stopped")):
        stop.set()
    assert seen == []


def test_who_stops_the_work_around_it_stops_the_work_within() -> None:
    """An agent may be the tool of another one; the other way round it does not hold."""
    outer, inner = Stop(), Stop()
    seen: list[str] = []
    with outer, when_stopped(lambda: seen.append("outer")):
        with inner, when_stopped(lambda: seen.append("inner")):
            inner.set()
        assert seen == ["inner"]
        with Stop(), when_stopped(lambda: seen.append("another")):
            outer.set()
    assert seen == ["inner", "outer", "another"]


def test_a_block_ends_only_when_what_it_registered_has_been_called() -> None:
    """Nobody goes on to use what is being closed."""
    stop, begun, go_on = Stop(), threading.Event(), threading.Event()
    seen: list[str] = []

    def close() -> None:
        begun.set()
        assert go_on.wait(5)
        seen.append("closed")

    with stop:
        with when_stopped(close):
            stopping = threading.Thread(target=stop.set)
            stopping.start()
            assert begun.wait(5)
            threading.Timer(0.01, go_on.set).start()
        assert seen == ["closed"]
        stopping.join()


def test_a_wait_ends_when_nobody_waits_for_the_work() -> None:
    """However long it was to be."""
    stop = Stop()
    threading.Timer(0.02, stop.set).start()
    with stop:
        wait(60.0)
    wait(0.0)
