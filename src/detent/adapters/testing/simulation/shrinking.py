"""Shrinking: what fails is made small, so that one sees why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from attrs import evolve, frozen

from detent.adapters.testing.simulation.nested_runs import innermost, path_of, slots_in
from detent.adapters.testing.simulation.scenarios import Scenario
from detent.adapters.testing.simulation.trace import turn_of
from detent.core.chat.messages import ToolCall
from detent.core.machine.delegation import wrap_event
from detent.core.machine.step import step
from detent.core.run.events import Event, HappenedInside, HumanDecided, ModelReplied
from detent.core.run.refs import CallRef, Path
from detent.core.run.run import AwaitingDecision, Run

T = TypeVar("T")


def fewest(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> tuple[T, ...]:
    """A part of `items`, in order, that still fails, and of which no single item can be left out.

    Larger pieces are tried first, so that much goes at once.

    >>> fewest(range(100), lambda items: 3 in items and 97 in items)
    (3, 97)
    """
    left = tuple(items)
    size = len(left)
    while size > 0:
        at = 0
        removed = False
        while at < len(left):
            without = left[:at] + left[at + size :]
            if fails(without):
                left, removed = without, True
            else:
                at += size
        size = size if removed and size == 1 else size // 2
    return left


def shrink(scenario: Scenario[Any], fails: Callable[[Run[Any]], object]) -> Scenario[Any]:
    """A scenario as short as could be found at whose end, as in `scenario`, a run fails.

    Events, calls and whole turns are left out, also those of agents inside. A human's answer to a
    question stays one, though the question is bound to another place then.

    Args:
        scenario: e.g. `scenario_of` a journal.
        fails: is true of a run that shows the failure.

    Raises:
        ValueError: no run of the scenario fails.
    """
    best = _until_it_fails(scenario, _scenes(scenario), fails)
    if best is None:
        raise ValueError("no run of this scenario fails, so that there is nothing to shrink")
    size = len(best) + 1
    while len(best) < size:
        size = len(best)
        best = _smaller(scenario, best, fails)
    return _played(scenario, best)


@frozen
class _Scene:
    """An event, and whether it is a human's answer to the question that was open."""

    event: Event
    is_answer: bool = False


def _smaller(
    scenario: Scenario[Any], scenes: tuple[_Scene, ...], fails: Callable[[Run[Any]], object]
) -> tuple[_Scene, ...]:
    best = scenes

    def still(candidate: Sequence[_Scene]) -> bool:
        nonlocal best
        found = _until_it_fails(scenario, candidate, fails)
        best = best if found is None else found
        return found is not None

    fewest(best, still)
    for path, turn in _turns(best):
        still(tuple(_changed(best, path, partial(_without_turn, turn=turn))))
    for path, ref in _calls(best):
        still(tuple(_changed(best, path, partial(_without_call, ref=ref))))
    return best


def _until_it_fails(
    scenario: Scenario[Any], scenes: Iterable[_Scene], fails: Callable[[Run[Any]], object]
) -> tuple[_Scene, ...] | None:
    """The scenes that change the run, up to the first run that fails; None when none does."""
    run = scenario.start
    kept: list[_Scene] = []
    if fails(run):
        return ()
    for scene in scenes:
        after = _stepped(scenario, run, scene)
        if after is not run:
            run = after
            kept.append(scene)
            if fails(run):
                return tuple(kept)
    return None


def _stepped(scenario: Scenario[Any], run: Run[Any], scene: _Scene) -> Run[Any]:
    """The run after a scene; the same one where what was left out has made it impossible."""
    try:
        return step(scenario.spec, run, _rebound(scene, run))
    except Exception:  # noqa: BLE001 - whatever it is
        return run


def _played(scenario: Scenario[Any], scenes: Iterable[_Scene]) -> Scenario[Any]:
    run = scenario.start
    events: list[Event] = []
    for scene in scenes:
        events.append(_rebound(scene, run))
        run = step(scenario.spec, run, events[-1])
    return evolve(scenario, events=tuple(events))


def _scenes(scenario: Scenario[Any]) -> Iterator[_Scene]:
    for before, event in zip(scenario.runs(), scenario.events, strict=False):
        inner_event = innermost(event)
        yield _Scene(event, _digest_at(before, event) == getattr(inner_event, "digest", None))


def _rebound(scene: _Scene, run: Run[Any]) -> Event:
    """The event; a human's answer is bound to the question as it stands now."""
    inner_event, digest = innermost(scene.event), _digest_at(run, scene.event)
    if scene.is_answer and isinstance(inner_event, HumanDecided) and digest is not None:
        return wrap_event(path_of(scene.event), evolve(inner_event, digest=digest))
    return scene.event


def _digest_at(run: Run[Any], event: Event) -> str | None:
    place = path_of(event), getattr(innermost(event), "ref", None)
    for path, slot in slots_in(run):
        match slot.status:
            case AwaitingDecision(digest) if (path, slot.ref) == place:
                return digest
            case _:
                pass
    return None


def _turns(scenes: Iterable[_Scene]) -> list[tuple[Path, int]]:
    """Every turn of the run and of the agents inside: outer ones first, and the last ones."""
    ends: dict[Path, int] = {}
    for scene in scenes:
        for path, event in _levels(scene.event):
            ends[path] = max(turn_of(event) or 0, ends.get(path, 0))
    return [(path, turn) for path in sorted(ends, key=len) for turn in range(ends[path], 0, -1)]


def _calls(scenes: Iterable[_Scene]) -> list[tuple[Path, CallRef]]:
    """Every call in the same order."""
    made = {
        (path, CallRef(event.turn, place))
        for scene in scenes
        for path, event in _levels(scene.event)
        if isinstance(event, ModelReplied)
        for place in range(len(event.reply.message.tool_calls))
    }
    return sorted(
        made, key=lambda path_and_ref: (-len(path_and_ref[0]), path_and_ref), reverse=True
    )


def _levels(event: Event) -> Iterator[tuple[Path, Event]]:
    """The event as the run hears it, and as each of the agents does in which it has happened."""
    path = path_of(event)
    for depth in range(len(path) + 1):
        yield path[:depth], event
        if isinstance(event, HappenedInside):
            event = event.event


def _changed(
    scenes: Iterable[_Scene], path: Path, change: Callable[[Any], Iterator[Event]]
) -> Iterator[_Scene]:
    """The scenes, with those changed that the run at `path` has heard."""
    for scene in scenes:
        inner_event = dict(_levels(scene.event)).get(path)
        if inner_event is None:
            yield scene
        else:
            yield from (
                evolve(scene, event=wrap_event(path, changed)) for changed in change(inner_event)
            )


def _without_turn(event: Any, turn: int) -> Iterator[Event]:
    """The event in a run that lacks a turn; the turns behind it move up."""
    its = turn_of(event)
    if its is None or its < turn:
        yield event
    elif its > turn:
        yield _in_turn(event, its - 1)


def _in_turn(event: Any, turn: int) -> Event:
    """The event, as if it were about another turn."""
    if hasattr(event, "ref"):
        return cast(Event, evolve(event, ref=event.ref._replace(turn=turn)))
    return cast(Event, evolve(event, turn=turn))


def _without_call(event: Any, ref: CallRef) -> Iterator[Event]:
    """The event in a run in which the model does not make a call; those behind it move up."""
    its: object = getattr(event, "ref", None)
    if isinstance(event, ModelReplied) and event.turn == ref.turn:
        yield _reply_without(event, ref.place)
    elif isinstance(its, CallRef) and its.turn == ref.turn and its.place >= ref.place:
        if its.place > ref.place:
            yield evolve(event, ref=its._replace(place=its.place - 1))
    else:
        yield event


def _reply_without(event: ModelReplied, place: int) -> ModelReplied:
    message = event.reply.message
    calls = [part for part in message.content if isinstance(part, ToolCall)]
    left = [part for part in message.content if part is not calls[place]]
    reply = evolve(event.reply, message=evolve(message, content=left))
    return evolve(event, reply=reply)
