"""Snapshots: a run that has stopped, as JSON that any process with the same agent can take up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Self, TypeAlias, cast

from attrs import astuple, evolve, field, frozen

from detent.core.chat.messages import ChatMessage, ToolCall
from detent.core.codec.own_values import dump, load
from detent.core.control.decisions import ToolExecutionDecision
from detent.core.control.holds import (
    CHAT_GENERATOR,
    TOOL_INVOKER,
    describe_effects,
    key_from_json,
    key_to_json,
    place_of,
)
from detent.core.errors import StoredDataError
from detent.core.machine.delegation import runs_in
from detent.core.run.effects import Effect, EffectKey
from detent.core.run.run import (
    Acting,
    Phase,
    Run,
    RunOptions,
    Slot,
    Thinking,
    agent_at,
    is_settled,
)
from detent.core.run.spec import AgentSpec
from detent.core.state.stored import messages_from_json
from detent.core.state.typevars import S
from detent.core.storage.journal import (
    FORMAT,
    fingerprint,
    is_fingerprint,
    mismatches,
    require_format,
    run_from_json,
    run_to_json,
)
from detent.core.tools.masking import masked
from detent.core.values.frozen import EMPTY, FrozenDict, frozen_mapping, thaw

Json: TypeAlias = dict[str, Any]
LATEST = 253402300800.0  # the first second since 1970 that has no date: the year 10000
STATUS_WORDS = {
    "AwaitingPolicy": "waits for its policy",
    "AwaitingDecision": "waits for a human",
    "Ready": "ready to run",
    "Delegated": "at work",
    "BackingOff": "waits for its next attempt",
}
"""What people read for a status; any other one is its own name."""


class SnapshotMismatchError(StoredDataError):
    """An agent cannot go on with a snapshot. `faults` holds one sentence for each reason."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        lines = ["this agent cannot go on with the stored run:", *self.faults]
        super().__init__("\n  - ".join(lines))


@frozen
class AgentSnapshot:
    """A run that has stopped, and what an agent must have to go on with it.

    Attributes:
        run: the whole run, as plain JSON.
        agent: the agent's state keys with their types, and the tools of the open calls with a
            digest of their schemas and their descriptions.
        held: the places of the effects that were about to happen; going on passes them once.
        about_to: what was about to happen, for people.
        break_point: the breakpoint that stopped it, where it is one that JSON can say.
        at: when it stopped, in seconds since 1970.
        format: the version of the format.
        decisions: what humans have decided since; going on with it hears them first.
        fork_of: of a fork, the `run_id` that it was made of and after how many `entries`.
    """

    run: FrozenDict[str, Any] = field(converter=frozen_mapping, repr=False)
    agent: FrozenDict[str, Any] = field(converter=frozen_mapping, repr=False)
    held: tuple[EffectKey, ...] = ()
    about_to: str = ""
    break_point: FrozenDict[str, Any] = field(default=EMPTY, converter=frozen_mapping)
    at: float | None = None
    format: int = FORMAT
    decisions: tuple[ToolExecutionDecision, ...] = ()
    fork_of: FrozenDict[str, Any] = field(default=EMPTY, converter=frozen_mapping)

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return str(self.run["id"])

    @property
    def turn(self) -> object:
        """The number of the turn that was going on, from 1."""
        return self.run.get("turn", 1)

    @property
    def timestamp(self) -> str | None:
        """When it stopped, as ISO 8601 in UTC."""
        return None if self.at is None else datetime.fromtimestamp(self.at, UTC).isoformat()

    @property
    def state(self) -> Mapping[str, Any]:
        """What the state holds, by key, as plain JSON."""
        return cast("Mapping[str, Any]", self.run["state"]["data"])

    @property
    def messages(self) -> tuple[ChatMessage, ...]:
        """The conversation up to the open turn."""
        return tuple(messages_from_json(self.state["messages"], place="the conversation"))

    @property
    def component_visits(self) -> dict[str, int]:
        """How often the model has answered, and in how many turns tools have run."""
        before = cast(int, self.turn) - 1
        return {CHAT_GENERATOR: before + bool(self.slots), TOOL_INVOKER: before}

    @property
    def component_inputs(self) -> dict[str, Json]:
        """What the model and the tools are given, as plain JSON."""
        options, phase = load(self.run.get("options", {}), RunOptions), self.phase
        reply = [dump(phase.reply.message, ChatMessage)] if isinstance(phase, Acting) else []
        return {
            CHAT_GENERATOR: {
                "messages": [dump(message) for message in self.messages],
                "generation_kwargs": thaw(options.generation_kwargs),
            },
            TOOL_INVOKER: {"messages": reply, "state": thaw(self.state)},
        }

    @property
    def phase(self) -> Phase:
        """What the run was at: the model's answer, its tool calls, or the end."""
        data = self.run.get("phase")  # left out while the model is to answer
        return Thinking() if data is None else load(data, cast(type[Phase], Phase))

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The calls of the open turn, each with how far it has come."""
        phase = self.phase
        return phase.slots if isinstance(phase, Acting) else ()

    def with_decisions(self, decisions: Iterable[ToolExecutionDecision]) -> Self:
        """The same snapshot with what humans have decided: about some calls that wait, or all.

        Whoever goes on with it checks the decisions: one that does not count is raised as
        `DecisionRefusedError`.
        """
        return evolve(self, decisions=(*self.decisions, *decisions))

    def summary(self) -> str:
        """What has happened, what was about to happen and why it has not, for people."""
        count = len(self.state["messages"])
        lines = [f"run {self.run_id}: turn {self.turn}, {count} messages"]
        if self.about_to:
            lines.append(f"stopped before: {self.about_to}")
        return "\n".join([*lines, *_call_lines(self.slots, self.agent)])

    def to_dict(self) -> Json:
        """Plain JSON."""
        return {
            "detent": "snapshot",
            "format": self.format,
            "held": list(map(key_to_json, self.held)),
            "about_to": self.about_to,
            "break_point": thaw(self.break_point),
            "at": self.at,
            "agent": thaw(self.agent),
            "run": thaw(self.run),
            "decisions": [decision.to_dict() for decision in self.decisions],
        } | ({"fork_of": thaw(self.fork_of)} if self.fork_of else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AgentSnapshot:
        """What `to_dict` gave. `data` is not changed and not kept.

        Raises:
            StoredDataError: `data` is no snapshot, or another Detent wrote it.
        """
        try:
            new = passing_snapshot(data)
            decisions = map(ToolExecutionDecision.from_dict, _list_in(data, "decisions", []))
            new = evolve(new, run={**new.run}, decisions=tuple(decisions))  # frozen, however deep
            new.to_json()  # or a number that is too long for any text is found by whoever writes it
        except StoredDataError:
            raise
        except RecursionError:
            raise StoredDataError("the snapshot is nested too deeply") from None
        except (TypeError, ValueError) as error:
            raise StoredDataError(f"the snapshot is damaged: it is no JSON: {error}") from error
        return new

    def to_json(self) -> str:
        """As text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> AgentSnapshot:
        """What `to_json` gave.

        Raises:
            StoredDataError: the text is no snapshot.
        """
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise StoredDataError(f"the snapshot is damaged: it is no JSON: {error}") from error
        return cls.from_dict(data)


def passing_snapshot(data: Mapping[str, Any]) -> AgentSnapshot:
    """The snapshot in `data`, whose run is kept as it is: for one that nobody else gets.

    Raises:
        StoredDataError: `data` is no snapshot, or another Detent wrote it.
    """
    if not isinstance(data, Mapping) or data.get("detent") != "snapshot":
        raise StoredDataError("this is no snapshot: one has 'detent': 'snapshot'")
    require_format(data.get("format"))
    run, agent = data.get("run"), data.get("agent")
    if not _is_run(run) or not is_fingerprint(agent):
        raise StoredDataError(
            "the snapshot is damaged: its run or its agent is not there or not whole"
        )
    held = tuple(map(key_from_json, _list_in(data, "held")))
    break_point, about_to = data.get("break_point"), data.get("about_to")
    if not isinstance(break_point, Mapping) or not isinstance(about_to, str):
        raise StoredDataError("the snapshot is damaged: 'break_point' or 'about_to' is not there")
    at, fork_of = _time(data.get("at")), data.get("fork_of", EMPTY)
    if not _is_origin(fork_of):
        raise StoredDataError("the snapshot is damaged: 'fork_of' names no run")
    return AgentSnapshot(
        *(FrozenDict(cast(Json, run)), cast(Json, agent), held, about_to, break_point, at),
        fork_of=fork_of,
    )


def snapshot_of(
    spec: AgentSpec[Any],
    run: Run[Any],
    held: Sequence[Effect] = (),
    break_point: Mapping[str, object] = FrozenDict(),
    at: float | None = None,
) -> AgentSnapshot:
    """A snapshot of `run`, which has stopped before the effects in `held`, at a time.

    `break_point` says by which rule, as JSON.

    Raises:
        UnstorableError: a value in the run cannot be written as JSON.
    """
    return AgentSnapshot(
        run_to_json(spec, run),
        fingerprint(spec, run),
        tuple(map(place_of, held)),
        describe_effects(held),
        break_point,
        at,
    )


def run_of(spec: AgentSpec[S], snapshot: AgentSnapshot) -> Run[S]:
    """The run in a snapshot, for this agent to go on with.

    Raises:
        SnapshotMismatchError: the agent lacks a tool or a state key, or has a tool with another
            schema, or a state key with another type, of which what is stored is not.
        StoredDataError: the snapshot is damaged.
    """
    if faults := misfits(spec, snapshot):
        raise SnapshotMismatchError(faults)
    try:
        run = run_from_json(spec, snapshot.run)
    except StoredDataError as error:
        if faults := misfits(spec, snapshot, with_types=True):
            raise SnapshotMismatchError(faults) from error
        raise
    # RULE: of less than nothing, limits and budgets would have more left than they give
    if not all(number >= 0 for _, inner in runs_in(run) for number in _counts(inner)):
        raise StoredDataError(f"the snapshot of run {run.id!r} counts to less than nothing")
    return run


def misfits(
    spec: AgentSpec[Any], snapshot: AgentSnapshot, *, with_types: bool = False
) -> list[str]:
    """Why an agent cannot go on with what is in a snapshot, as `mismatches` has it."""
    return mismatches(spec, snapshot.agent, snapshot.run, snapshot.slots, with_types=with_types)


def _counts(run: Run[Any]) -> Iterator[float | Fraction]:
    """What a run knows of how often, and how much."""
    yield from (run.turn, run.cost, run.invalid_answers, run.given_up)
    yield from (*astuple(run.usage), *run.tool_call_counts.values(), *run.calls_inside.values())
    yield from run.spent.values()
    yield getattr(run.phase, "attempt", 0)
    for slot in run.slots:
        yield from (getattr(slot.status, "attempt", 0), slot.crashes, *slot.spends.values())


def overrulings(run: Run[Any], later: Run[Any]) -> list[str]:
    """What people have said since of a run that is `later` by now, one sentence for each matter."""
    runs = dict(runs_in(later))
    sentences: list[str] = []
    for path, inner in runs_in(run):
        waiting = {slot.ref: slot.call for slot in inner.slots if not is_settled(slot)}
        for record in later.decisions:
            if record.path == path and record.ref in waiting and record not in run.decisions:
                call, verdict = waiting[record.ref], record.describe()
                subject = f"the call of {call.tool_name!r} ({call.id})"
                sentences.append(f"{subject} was {verdict} in the journal since")
        refs = [grant.ref for grant in runs[path].grants] if path in runs else []
        grants = (grant for grant in inner.grants if path in runs and grant.ref not in refs)
        names = (grant.call.tool_name for grant in grants)
        sentences += [f"what was confirmed for {name!r} was revoked" for name in names]
    return sentences


def snapshot_from(value: AgentSnapshot | Mapping[str, Any] | str | bytes) -> AgentSnapshot:
    """A snapshot, or what is in a dict or a JSON text."""
    if isinstance(value, AgentSnapshot):
        return value
    if isinstance(value, str | bytes):
        return AgentSnapshot.from_json(value)
    return AgentSnapshot.from_dict(value)


def _call_lines(
    slots: Iterable[Slot], agent: Mapping[str, Any], margin: str = "  "
) -> Iterator[str]:
    for slot in slots:
        visible = masked_call(slot.call, agent).arguments
        arguments = json.dumps(visible, ensure_ascii=False, default=str)  # a message may hold more
        kind, reason = type(slot.status).__name__, getattr(slot.status, "reason", "")
        status = STATUS_WORDS.get(kind, kind.lower()) + (f" ({reason})" if reason else "")
        yield f"{margin}{slot.call.tool_name}({arguments}): {status}"
        if (at := agent_at(slot)) is not None:
            inner = agent.get("agents", {}).get(str(slot.ref.place), {})
            yield from _call_lines(at.run.slots, inner, f"{margin}  ")


def masked_call(call: ToolCall, agent: Mapping[str, Any]) -> ToolCall:
    """The call as people may see it."""
    names = agent.get("tools", {}).get(call.tool_name, {}).get("masked", ())
    return evolve(call, arguments=masked(call.arguments, names))


def _time(value: object) -> float | None:
    if value is None or (type(value) in (int, float) and 0 <= cast(float, value) < LATEST):
        return cast("float | None", value)
    raise StoredDataError("the snapshot is damaged: 'at' is no time")


def _is_origin(value: object) -> bool:
    match value:
        case {"run_id": str(), "entries": int(), **more}:
            return not more
        case _:
            return isinstance(value, Mapping) and not value


def _list_in(data: Mapping[str, Any], name: str, default: object = None) -> list[Any]:
    value = data.get(name, default)
    if not isinstance(value, list):
        raise StoredDataError(f"the snapshot is damaged: '{name}' must be an array")
    return value


def _is_run(value: object) -> bool:
    match value:
        case {"id": str(), "state": {"data": {"messages": list()}}, **rest}:
            return type(rest.get("turn", 1)) is int
        case _:
            return False
