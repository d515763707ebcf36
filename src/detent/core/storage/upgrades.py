"""What an earlier Detent has stored, made into what this one stores: one step for each format.

A step takes any JSON. What it does not know it leaves as it is, for the reader to refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias, cast

from detent.core.codec.json_text import AS_IN_1
from detent.core.errors import StoredDataError

Json: TypeAlias = dict[str, Any]

FORMAT = 4
"""The version of the format that is written. Every earlier one is read."""


class Steps(NamedTuple):
    """How a run and an event of one format become those of the next: an event one or several."""

    run: Callable[[Json], Json]
    events: Callable[[Json], list[Json]]


def upgraded_run(data: Mapping[str, Any], version: object) -> Json:
    """A run that was stored in format `version`, in the present one.

    Raises:
        StoredDataError: there is no such format, or a later Detent wrote it.
    """
    run = dict(data)
    for step in _steps(version):
        run = step.run(run)
    return run


def upgraded_events(data: Mapping[str, Any], version: object) -> list[Json]:
    """What an event that was stored in format `version` is in the present one. Raises as above."""
    events = [dict(data)]
    for step in _steps(version):
        events = [after for event in events for after in step.events(event)]
    return events


def _steps(version: object) -> list[Steps]:
    if type(version) is not int or not 1 <= version <= FORMAT:
        raise StoredDataError(
            f"this was stored in format {version!r:.40}, and this Detent reads 1 to {FORMAT}; "
            "use the version of Detent that wrote it, or a later one"
        )
    return [STEPS[one] for one in range(version, FORMAT)]


def _run_of_1(run: Json) -> Json:
    """In format 1 the state had another form, and the writes of open slots stood beside them."""
    values, writes = run.get("state"), run.pop("writes", {})
    if isinstance(values, Mapping):
        run["state"] = {"version": 1, "data": {name: _value_of_1(values[name]) for name in values}}
    match run.get("phase"):
        case {"slots": list(slots), **phase} if isinstance(writes, Mapping):
            run["phase"] = phase | {"slots": [_slot_of_1(one, writes) for one in slots]}
        case _:
            pass
    return run


def _slot_of_1(slot: object, writes: Mapping[str, object]) -> object:
    match slot:
        case {"ref": [turn, place], "status": {"result": dict(result), **status}, **rest}:
            told = _writes_of_1(writes.get(str(place), []))
            full = status | {"result": result | {"writes": told}}
            return rest | {"ref": [turn, place], "status": full}
        case _:
            return slot


def _events_of_1(event: Json) -> list[Json]:
    match event:
        case {"writes": writes, "result": dict(result), **rest}:
            return [rest | {"result": result | {"writes": _writes_of_1(writes)}}]
        case _:
            return [event]


def _writes_of_1(writes: object) -> object:
    if not isinstance(writes, list):
        return writes
    return [_write_of_1(one) for one in cast("list[object]", writes)]


def _write_of_1(write: object) -> object:
    match write:
        case {"value": value, "as": kind, **rest}:
            return rest | {"value": _value_of_1({"value": value, "as": kind})}
        case _:
            return write


def _value_of_1(stored: object) -> object:
    """Plain JSON, or what only the declared type can read."""
    match stored:
        case {"value": value, "as": kind}:
            return {"$type": AS_IN_1, "value": value, "as": kind}
        case {"value": value}:
            return value
        case _:
            return stored


def _same_run(run: Json) -> Json:
    return run


def _events_of_2(event: Json) -> list[Json]:
    """In format 2 the model's reply said what the policies had said of its calls."""
    match event:
        case {"slots": list(slots), **rest}:
            said = [{"$type": "Judged", **told} for slot in slots if (told := _verdict_of_2(slot))]
            return [rest, *said]
        case _:
            return [event]


def _verdict_of_2(slot: object) -> Json | None:
    match slot:
        case {"ref": ref, "status": {"digest": _, **asked}}:
            return {"ref": ref, "verdict": {"$type": "Ask", "reason": asked.get("reason", "")}}
        case {"ref": ref, "status": {"fault": _}}:
            return None
        case {"ref": ref}:
            return {"ref": ref, "verdict": {"$type": "Allow"}}
        case _:
            return None


def _events_of_3(event: Json) -> list[Json]:
    """In format 3 everything was told that goes without saying now."""
    return [event]


STEPS: Mapping[int, Steps] = {
    1: Steps(_run_of_1, _events_of_1),
    2: Steps(_same_run, _events_of_2),
    3: Steps(_same_run, _events_of_3),
}
"""For each earlier format the step to the next."""
