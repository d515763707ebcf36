"""The audit log: what was asked, shown and decided in a run, by whom, and what really ran."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from attrs import asdict, field, frozen

from detent.adapters.drivers.callbacks import tool_result_chunks
from detent.adapters.drivers.loading import STARTED, STOPPED, event_and_run, loaded
from detent.adapters.journals.audited import head_of, link_of
from detent.core.chat.messages import ToolCall
from detent.core.errors import StoredDataError
from detent.core.machine.delegation import nested_run
from detent.core.machine.run_secrets import secrets_of_run
from detent.core.run.approval import DecisionRecord, Modified, Principal
from detent.core.run.events import (
    CallRewritten,
    CancelRequested,
    Event,
    GrantRevoked,
    HappenedInside,
    HumanDecided,
    MessageReceived,
    ToolRaised,
    ToolReturned,
    ToolStarted,
)
from detent.core.run.refs import AgentRef, Path
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.core.storage.journal import run_to_json
from detent.core.tools.defaults import with_defaults
from detent.core.tools.masking import MASK, masked
from detent.core.tools.redaction import Secrets, without_secrets
from detent.core.tools.tool import Tool
from detent.core.tools.version import hash_of
from detent.core.values.frozen import FrozenDict, frozen_mapping, thaw
from detent.ports.journal import Journal, with_data
from detent.ports.pending import pending

Known: TypeAlias = dict[str, dict[str, object]]
"""Secrets of calls, by the names of arguments, each once."""


@frozen
class AuditRecord:
    """One thing that people are to answer for.

    Attributes:
        position: of the entry of the journal that says so.
        at: when that was written, in seconds since 1970.
        head: what the `Audit.head` of the run was when that entry was the last.
        what: "asked", "decided", "denied" (by a policy, or as nobody decided in time), "rewritten"
            (by a hook), "ran", "returned", "failed", "revoked", "said" (further, to the run) or
            "cancelled".
        tool_name: the tool of the call that it is about.
        call_id: the id of the call.
        agents: the agents inside the run whose call it is.
        arguments: what was shown, decided, or handed to the tool; secrets are masked.
        by: who, as far as that was said.
        proof: by what that was proven, if an authenticator keeps that; a mask, if a secret that was
            set may stand in it.
        text: why it was asked, what was decided, what the tool gave.
    """

    position: int
    at: float
    head: str
    what: str
    tool_name: str = ""
    call_id: str | None = None
    agents: tuple[str, ...] = ()
    arguments: FrozenDict[str, Any] = field(factory=FrozenDict, converter=frozen_mapping)
    by: str | None = None
    proof: str = ""
    text: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {name: thaw(value) for name, value in asdict(self, recurse=False).items()}


def audit_log(journal: Journal, spec: AgentSpec[Any], run_id: str) -> tuple[AuditRecord, ...]:
    """What was asked, shown and decided in a run, by whom, and what really ran, in order.

    It is made of all entries of the run, from the first, with the rules of an agent. That they are
    those which were written, `verify_audit` says.

    Raises:
        RunNotFoundError: there is no such run.
        StoredDataError: these rules make another run of it, or a checkpoint says something else
            than the entries.
    """
    run, link = loaded(journal, spec, run_id, 1, from_start=True).run, ""
    records: list[AuditRecord] = []
    known: Known = {}
    for entry, data in with_data(journal.read(run_id)):
        link = link_of(link, run_id, entry, data)
        if entry.kind in {STARTED, STOPPED}:
            continue
        before = run
        event, run = event_and_run(spec, run, entry, data)
        if run is not before:
            said = _records(spec, before, event, run, known)
            head = head_of(entry.position + 1, link)
            records += [AuditRecord(entry.position, entry.at, head, **one) for one in said]
    if not _is_same(spec, loaded(journal, spec, run_id).run, run):
        raise StoredDataError(
            f"a checkpoint of run {run_id!r} is not what its entries make: somebody has changed it"
        )
    return tuple(records)


def _is_same(spec: AgentSpec[Any], run: Run[Any], other: Run[Any]) -> bool:
    """Whether two runs are one, also as they are stored.

    Python takes 1 for True, and no NaN for itself; a value may compare by less than it holds. What
    is stored says all, but has the items of a set in any order.
    """
    one, another = run_to_json(spec, run), run_to_json(spec, other)
    return hash_of(one) == hash_of(another) or (run == other and _digest(one) == _digest(another))


def _digest(data: object) -> str:
    """The digest of JSON whose lists are compared whatever their order."""
    if isinstance(data, dict):
        return hash_of({name: _digest(part) for name, part in data.items()})
    return hash_of(sorted(map(_digest, data)) if isinstance(data, list) else data)


def _records(
    spec: AgentSpec[Any], before: Run[Any], event: Event, after: Run[Any], known: Known
) -> Iterator[dict[str, Any]]:
    """What an event that has counted is on record for."""
    path, own = _unwrapped(event)
    # whoever calls themselves "policy" is none
    ended = () if isinstance(own, HumanDecided) else after.decisions[len(before.decisions) :]
    for done in ended:
        yield {"what": "denied", "by": done.by, **_denied(spec, done)}
    yield from _happened(spec, before, path, own)
    yield from _agents_ended(spec, before, path, after, known)
    asked = {call.digest for call in pending(spec, before)}
    for call in pending(spec, after):
        if call.digest not in asked:
            yield {
                "what": "asked",
                "tool_name": call.tool_name,
                "call_id": call.call_id,
                "agents": call.agents,
                "arguments": {**call.arguments, **call.state},
                "text": call.reason,
            }


def _agents_ended(
    spec: AgentSpec[Any], before: Run[Any], path: Path, after: Run[Any], known: Known
) -> Iterator[dict[str, Any]]:
    """The agents around an event that have given their answer with it: no event of theirs says.

    An agent that has ended is in no run any more: what its calls had as secrets is `known` then.
    """
    around = {
        (tuple(each.tool_name for each in path[:depth]), at.place) for depth, at in enumerate(path)
    }
    if not path:
        return
    for chunk in tool_result_chunks(spec, before, after):
        result = chunk.tool_call_result
        if result is not None and (chunk.agents, chunk.index) in around:
            for name, forms in secrets_of_run(spec, before).items():
                known.setdefault(name, {}).update((repr(form), form) for form in forms)
            secrets = Secrets({name: [*forms.values()] for name, forms in known.items()}, known)
            yield {
                "what": "failed" if result.error else "returned",
                "tool_name": result.origin.tool_name,
                "call_id": result.origin.id,
                "agents": chunk.agents,
                "text": secrets.without(result.text),
            }


def _happened(
    spec: AgentSpec[Any], before: Run[Any], path: Path, event: Event
) -> Iterator[dict[str, Any]]:
    match event:
        case CancelRequested(reason):
            yield {"what": "cancelled", "text": reason}
        case GrantRevoked(_, by):
            yield {"what": "revoked", "by": by}
        case MessageReceived(message, by):
            yield {"what": "said", "by": by, "text": message.text or "<parts>"}
        case ToolStarted(ref) | ToolReturned(ref) | ToolRaised(ref) | CallRewritten(ref):
            call, tool = _call(spec, before, path, ref.place)
            shown = event.call if isinstance(event, CallRewritten) else call
            about = _about(call, tool, path) | {"arguments": _shown(shown, tool)}
            text = without_secrets(_text(event), with_defaults(shown, tool), tool.masked)
            yield about | {"what": WORDS[type(event)], "text": text}
        case HumanDecided(ref, _, decision, by, _, who):
            call, tool = _call(spec, before, path, ref.place)
            given = decision.arguments if isinstance(decision, Modified) else {}
            said = f"{type(decision).__name__} {getattr(decision, 'remember', None) or ''}".strip()
            why = getattr(decision, "feedback", None) or getattr(decision, "text", None)
            yield _about(call, tool, path) | {
                "what": "decided",
                "arguments": masked(given, tool.masked),
                "by": by,
                "proof": _proof(who, tool, given),
                "text": ": ".join(filter(None, (said, why))),
            }
        case _:
            pass


def _proof(who: Principal | None, tool: Tool, given: Mapping[str, Any]) -> str:
    if who is None:
        return ""
    return MASK if who.proof and not tool.masked.isdisjoint(given) else who.proof


WORDS: dict[type, str] = {
    ToolStarted: "ran",
    ToolReturned: "returned",
    ToolRaised: "failed",
    CallRewritten: "rewritten",
}


def _text(event: Event) -> str:
    match event:
        case ToolReturned(result=result):
            return result.visible if isinstance(result.visible, str) else "<parts>"
        case ToolRaised(fault=fault):
            return fault.message
        case _:
            return ""


def _denied(spec: AgentSpec[Any], done: DecisionRecord) -> dict[str, Any]:
    agent = _agent(spec, done.path)
    tool = agent.tools[done.call.tool_name]
    text = str(getattr(done.decision, "feedback", "") or "")
    return _about(done.call, tool, done.path) | {"arguments": _shown(done.call, tool), "text": text}


def _about(call: ToolCall, tool: Tool, path: Path) -> dict[str, Any]:
    agents = tuple(at.tool_name for at in path)
    return {"tool_name": tool.name, "call_id": call.id, "agents": agents}


def _shown(call: ToolCall, tool: Tool) -> dict[str, Any]:
    return masked(with_defaults(call, tool), tool.masked)


def _call(spec: AgentSpec[Any], run: Run[Any], path: Path, place: int) -> tuple[ToolCall, Tool]:
    call = nested_run(run, path).slots[place].call
    return call, _agent(spec, path).tools[call.tool_name]


def _agent(spec: AgentSpec[Any], path: Path) -> AgentSpec[Any]:
    for at in path:
        spec = spec.agents[at.tool_name]
    return spec


def _unwrapped(event: Event) -> tuple[Path, Event]:
    """An event and the agent inside the run to which it has happened."""
    path: Path = ()
    while isinstance(event, HappenedInside):
        path, event = (*path, AgentRef(*event.ref, event.tool_name)), event.event
    return path, event
