"""Checkpoints: a run as it was at times, each with only what the one before does not have.

A list that has only grown (the conversation, most of all) is written from where the last checkpoint
ended. So all checkpoints of a run together are about as large as the run, however many there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from attrs import field, frozen

from detent.core.codec.json_text import encode
from detent.core.errors import StoredDataError
from detent.core.run.run import Run, evolve
from detent.core.run.spec import AgentSpec
from detent.core.state.state import lists_in
from detent.core.state.stored import state_to_json
from detent.core.storage.journal import require_format, start_data
from detent.core.values.shared_list import SharedList

Json: TypeAlias = dict[str, Any]


@frozen
class Known:
    """The last checkpoint: how many entries came before it, and what the lists held then.

    `again` is how many of its characters the next one says again.
    """

    position: int = 0
    lists: Mapping[str, SharedList[Any]] = field(factory=dict)
    again: int = 0


NO_CHECKPOINT = Known()


def checkpoint_data(spec: AgentSpec[Any], run: Run[Any], known: Known) -> tuple[Json, int]:
    """A snapshot of `run`, in which each list is without what it shares with one that is known.

    "shared" says how many items that are, and "after" which checkpoint knows them. With it comes
    how many characters of it are there again in the next one.

    Raises:
        UnstorableError: a value in the run cannot be written as JSON.
    """
    lists = lists_in(run.state)
    shared = {
        name: count
        for name, items in lists.items()
        if name in known.lists and (count := items.shared_with(known.lists[name]))
    }
    state = state_to_json(run.state, known.lists)
    rest = {**state, "data": {key: state["data"][key] for key in state["data"] if key not in lists}}
    start = start_data(spec, evolve(run, state=spec.state))
    data = _with_state(start, state) | {"after": known.position, "shared": shared}
    return data, len(encode(_with_state(start, rest)))


def known_from(position: int, data: Mapping[str, Any], run: Run[Any]) -> Known:
    """What the checkpoint at a position knows, as `join_chain` gives its data, and of which run."""
    lists = lists_in(run.state)
    state = data["run"]["state"]
    rest = {key: value for key, value in state["data"].items() if key not in lists}
    return Known(position, lists, len(encode(_with_state(data, {**state, "data": rest}))))


def _with_state(start: Mapping[str, Any], state: Json) -> Json:
    return {**start, "run": {**start["run"], "state": state}}


def join_chain(chain: Iterable[tuple[int, Mapping[str, Any]]]) -> tuple[int, Json] | None:
    """The last snapshot that checkpoints say, each given with its position; and its position.

    One whose predecessor is missing says nothing: then more entries must be read.

    Raises:
        StoredDataError: one of them is damaged, or another Detent wrote it.
    """
    lists: dict[str, list[Any]] = {}
    snapshot: tuple[int, Json] | None = None
    for position, data in chain:
        # not an error: the entries since an earlier one say the same
        if data.get("after") == (0 if snapshot is None else snapshot[0]):
            snapshot = position, _snapshot(lists, data)
    return snapshot


def _snapshot(lists: dict[str, list[Any]], data: Mapping[str, Any]) -> Json:
    """A checkpoint as a snapshot. `lists` are those of the one before, and are made its own."""
    match data:
        case {
            "run": {"state": {"data": dict(values), **rest}, **run},
            "shared": dict(lengths),
            "format": version,
        }:
            require_format(version)
        case _:
            raise StoredDataError("a checkpoint is damaged: its run is not there, or not whole")
    for name, new in values.items():
        if isinstance(new, list):
            lists[name] = _extend(lists.get(name, []), lengths.get(name, 0), new)
    return {**data, "run": {**run, "state": {**rest, "data": {**values, **lists}}}}


def _extend(before: list[Any], length: object, new: list[Any]) -> list[Any]:
    if type(length) is not int or not 0 <= length <= len(before):
        raise StoredDataError("a checkpoint is damaged: it shares what is not there")
    del before[length:]
    before.extend(new)
    return before
