"""Binding: what a decision about a call stands and falls by, and what fits it no longer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from math import inf
from typing import Any

from attrs import evolve, frozen

from detent.core.chat.messages import ToolCall
from detent.core.run.approval import (
    ANYBODY,
    CHANGES,
    SCOPES,
    Ask,
    Binding,
    Confirmed,
    FormerDecision,
    Grant,
    Modified,
)
from detent.core.run.attempts import with_spending
from detent.core.run.limits import end_of, is_past
from detent.core.run.refs import CallRef
from detent.core.run.run import (
    AwaitingDecision,
    AwaitingPolicy,
    BackingOff,
    Delegated,
    Ready,
    Run,
    Slot,
    Unknown,
    agent_at,
    charge,
    decisions_about,
    move,
)
from detent.core.run.spec import AgentSpec
from detent.core.schema.json_values import identity
from detent.core.state.stored import data_for_digest, shown_data
from detent.core.tools.defaults import with_defaults
from detent.core.tools.masking import masked
from detent.core.tools.once_per_call import OncePerCall
from detent.core.tools.tool import Tool
from detent.core.tools.version import hash_of
from detent.core.values.frozen import FrozenDict, thaw
from detent.core.values.shared_list import bare

MAY_BE_STALE = Ready | BackingOff | Unknown | AwaitingDecision | Delegated
UNASKED = "its rules have not been asked since another process has taken it up"
NO_INPUTS = hash_of(FrozenDict())
_hash_of = lru_cache(maxsize=256)(hash_of)
"""As `hash_of`, of what is the same for every call of a run."""


def binding_of(run: Run[Any], call: ToolCall, tool: Tool) -> Binding:
    """What a decision about `call` is bound to, if it is to run as the run is now."""
    return Binding(
        _hash_of(run.id, run.nonce),
        tool.version,
        _inputs_digest(run, tool) if tool.inputs else NO_INPUTS,
        arguments_digest(call, tool),
        ", ".join(run.labels),
    )


def digest_of(run: Run[Any], slot: Slot, binding: Binding, after: str = "", again: int = 0) -> str:
    """What a decision about a call must carry.

    RULE: a yes counts once. Of a call that is asked about again, though nothing has changed (it
    lapsed, or let no further attempt begin, or the rules want more), each question has a digest of
    its own.
    """
    decisions = 0
    if slot.clearance is not None:
        decisions = len(decisions_about(run, slot.ref))
    return binding.digest(slot.ref, slot.call.id, after, decisions, again)


arguments_digest = OncePerCall(lambda call, tool: hash_of(with_defaults(call, tool)))
"""The digest of the arguments that the tool will get for a call."""


def inputs_in(
    run: Run[Any], tool: Tool, names: tuple[str, ...] | None = None
) -> FrozenDict[str, object]:
    """What the state fills in, by parameter, as JSON; only those of `names`, if there are any.

    What JSON has no form for, a connection, say, is the name of its type: the value cannot be kept,
    so that no process could compare it. What the state does not hold has the tool's own default.
    """
    own = tool.own_defaults
    defaults = {
        item.parameter: own[item.parameter]
        for item in tool.inputs
        if item.parameter in own and (names is None or item.parameter in names)
    }
    return FrozenDict(defaults | _inputs_by(shown_data, run, tool, names))


def _inputs_digest(run: Run[Any], tool: Tool) -> str:
    """The digest of all that the state fills in and the tool binds."""
    return hash_of(_inputs_by(data_for_digest, run, tool, tool.binds))


def _inputs_by(
    form: Callable[..., object], run: Run[Any], tool: Tool, names: tuple[str, ...] | None
) -> dict[str, object]:
    state = run.state
    types = [key.type for key in state.fields.values()]
    return {
        item.parameter: form(bare(state.read(item.key)), state.fields[item.key].type, types)
        for item in tool.inputs
        if (names is None or item.parameter in names) and state.holds(item.key)
    }


def unfit(spec: AgentSpec[Any], run: Run[Any]) -> Iterator[tuple[Slot, Binding]]:
    """The calls that a policy must judge, with what its verdict will be bound to.

    RULE: whatever has changed a run in between (a hook, an edited snapshot, an agent of another
    version, or with other rules), no call under a policy is begun, and no human asked, by what
    fitted before.
    """
    for slot in run.slots:
        status, is_guarded = slot.status, slot.call.tool_name in spec.guards
        if isinstance(status, AwaitingPolicy | AwaitingDecision) or (
            isinstance(status, Ready | Delegated) and (is_guarded or slot.clearance is not None)
        ):
            tool = spec.tools[slot.call.tool_name]
            now = binding_of(run, slot.call, tool)
            if is_unfit(spec, run, slot, now) or (is_guarded and is_stale(slot)):
                yield slot, now


@frozen
class OutdatedQuestion:
    """A question that waits, and is about something else than what would run now.

    RULE: nobody is asked by it, and no answer to it counts. Whoever goes on with the run by the
    rules that are here has it put anew.

    Attributes:
        tool_name: what was to run.
        changes: what is another now, in words.
        agents: the agents inside the run whose call it is, the outermost first.
        was: the version of the tool that was asked about.
        now: that of the tool that is here.
    """

    tool_name: str
    changes: tuple[str, ...]
    agents: tuple[str, ...] = ()
    was: str = ""
    now: str = ""


def outdated_questions(
    spec: AgentSpec[Any], run: Run[Any], agents: tuple[str, ...] = ()
) -> Iterator[OutdatedQuestion]:
    """The questions of a run, and of the agents at work in it, that fit no longer."""
    for slot, now in unfit(spec, run):
        if isinstance(slot.status, AwaitingDecision):
            name, was = slot.call.tool_name, slot.status.binding
            changes = tuple(was.changes(now) or [UNASKED])
            yield OutdatedQuestion(name, changes, agents, was.tool, now.tool)
    for slot in run.slots:
        if isinstance(slot.status, Delegated):
            name = slot.status.tool_name
            yield from outdated_questions(spec.agents[name], slot.status.run, (*agents, name))


def as_unjudged(spec: AgentSpec[Any], run: Run[Any]) -> Run[Any]:
    """The run as a policy sees it: no call that is to be judged was before, however deep it is."""
    for slot, _ in unfit(spec, run):
        blank = Slot(slot.ref, slot.call, AwaitingPolicy(), suspended=agent_at(slot))
        run = run if slot == blank else with_spending(run, blank)
    for slot in run.slots:
        if isinstance(slot.status, Delegated):
            name, was = slot.status.tool_name, slot.status.run
            now = as_unjudged(spec.agents[name], was)
            if now is not was:
                run = with_spending(run, move(slot, Delegated(name, now)))
                run = charge(run, was.spent, now.spent)
    return run


def is_unfit(spec: AgentSpec[Any], run: Run[Any], slot: Slot, now: Binding) -> bool:
    """Whether a policy must judge a call: none has, or what it said then is not for `now`."""
    match slot.status:
        case AwaitingPolicy():
            return True
        case AwaitingDecision():
            now_asked = digest_of(run, slot, now, slot.status.after, slot.status.again)
            return slot.status.digest != now_asked
        case Ready(attempt) if slot.clearance is not None:
            return not is_cleared(run, slot, attempt, spec.tools[slot.call.tool_name], now)
        case Delegated() if (clear := slot.clearance) is not None:
            # RULE: what the run has read since may be what the agent at work has brought along
            now, tool = evolve(now, labels=clear.binding.labels), spec.tools[slot.call.tool_name]
            return clear.is_stale and not is_cleared(run, slot, clear.attempt, tool, now)
        case Ready() | Delegated():  # without a trace of why: in an edited snapshot, say
            return slot.call.tool_name in spec.guards
        case _:
            return False


def is_cleared(run: Run[Any], slot: Slot, attempt: int, tool: Tool, now: Binding) -> bool:
    """Whether what has let a call run lets this attempt of what would run now."""
    clear = slot.clearance
    if clear is None or clear.binding != now or not clear.covers(attempt):
        return False
    return not _is_taken_back(run, slot, tool, now)


def is_stale(slot: Slot) -> bool:
    """Whether a question, or what has let a call run, is that of another process' rules."""
    status, clear = slot.status, slot.clearance
    if isinstance(status, AwaitingDecision):
        return status.is_stale
    return isinstance(status, Ready | Delegated) and clear is not None and clear.is_stale


def as_stale(slot: Slot) -> Slot:
    """The slot, with a question or what has let its call run as that of another process' rules."""
    status, clear = slot.status, slot.clearance
    if isinstance(status, AwaitingDecision):
        status = evolve(status, is_stale=True)
    if clear is not None and isinstance(status, MAY_BE_STALE):
        clear = evolve(clear, is_stale=True)
    new = evolve(slot, status=status, clearance=clear)
    return slot if new == slot else new


def wants_more(now: Ask, than: Ask) -> list[str]:
    """What a question takes more than another one, in words; a shorter time, or less, is no more.

    What has been said to the other one is not enough then.
    """
    ours, theirs = now.answers, than.answers
    fewer = ours.modify is not None and not {*(theirs.modify or ())} <= {*ours.modify}
    lasts_s = [inf if each.remember_s is None else each.remember_s for each in (ours, theirs)]
    changes = {
        "others must decide, or more people": than.approvers & now.approvers != than.approvers,
        "they have failed, and may have said no": now.is_failure and not than.is_failure,
        "more is shown": not {*now.reveals} <= {*than.reveals},
        "a yes counts for less": lasts_s[0] < lasts_s[1]
        or SCOPES.index(now.remember) < SCOPES.index(than.remember)
        or SCOPES.index(ours.remember) < SCOPES.index(theirs.remember),
        "other answers are taken": fewer
        or (ours.modify is not None and theirs.modify is None)
        or theirs.confirm > ours.confirm
        or theirs.respond > ours.respond,
    }
    return [text for text, is_so in changes.items() if is_so]


def grant_for(  # noqa: PLR0917 - what is asked
    spec: AgentSpec[Any],
    run: Run[Any],
    tool: Tool,
    now: Binding,
    at: float | None,
    ask: Ask,
) -> Grant | None:
    """What is remembered that answers a question about a call: its giver has seen as much."""
    grants = _informed_grants(run, tool, now, ask)
    found = (grant for grant in grants if _answers(grant, at, ask))
    return next((grant for grant in found if not is_of_nobody(spec, run, grant.ref)), None)


def is_of_nobody(spec: AgentSpec[Any], run: Run[Any], ref: CallRef) -> bool:
    """Whether a yes is of nobody known, where the agent takes those of known people alone.

    It may have been given while another release took it from anybody.
    """
    if spec.vouches is None or not (records := decisions_about(run, ref)):
        return False
    last = records[-1]  # who has been asked again since is known
    return last.who is None and isinstance(last.decision, Confirmed | Modified)


def _answers(grant: Grant, at: float | None, ask: Ask) -> bool:
    """Whether a grant that fits a call answers a question about it: it could, given now.

    RULE: where the question alone has said how far a yes counts, that yes answers no question that
    lets it count for less: another policy wants to be asked that was silent before.
    """
    answers, lasts_s = ask.answers, ask.answers.remember_s
    widest = answers.remember if grant.is_explicit else ask.scope
    return (
        answers.confirm
        and not ask.is_failure
        and SCOPES.index(grant.scope) <= SCOPES.index(widest)
        and not is_past(grant.expires_at, at)
        and (lasts_s in (None, inf) or not is_past(end_of(grant.at or 0, lasts_s), at))
        and ask.approvers in (ANYBODY, grant.approvers)
    )


def _informed_grants(run: Run[Any], tool: Tool, now: Binding, ask: Ask) -> list[Grant]:
    """What fits a call, of what is remembered of people who have seen all that a question shows.

    RULE: what they were shown is what they have confirmed, whatever of it the tool binds.
    """
    fitting = [grant for grant in run.grants if grant.fits(now)]  # there may be many others
    names = inputs_in(run, tool, ask.reveals).keys() if fitting else frozenset[str]()
    informed = (grant for grant in fitting if names <= {*grant.revealed})
    as_shown = dict[tuple[str, ...], object]()  # read once: there may be many that show the same
    return [grant for grant in informed if _is_as_shown(run, tool, grant, as_shown)]


def _is_as_shown(
    run: Run[Any], tool: Tool, grant: Grant, as_shown: dict[tuple[str, ...], object]
) -> bool:
    """Whether the state fills in still what the giver of a grant has seen of it."""
    if not (names := tuple(grant.revealed)):
        return True
    if names not in as_shown:
        as_shown[names] = identity(thaw(masked(inputs_in(run, tool, names), tool.masked)))
    return bool(as_shown[names] == identity(thaw(grant.revealed)))


def _is_taken_back(run: Run[Any], slot: Slot, tool: Tool, now: Binding) -> bool:
    """Whether a call was let run by what was confirmed for another, and that is revoked."""
    clear = slot.clearance
    if clear is None or (ask := clear.ask) is None:
        return False
    if decisions_about(run, slot.ref) and not clear.is_granted:
        return False
    # as they were given: a call that was let run by one may begin after its end
    grants = _informed_grants(run, tool, now, ask)
    return not any(_answers(grant, grant.at or 0, ask) for grant in grants)


def change_in(
    run: Run[Any], slot: Slot, tool: Tool, now: Binding, demands: Sequence[str] = ()
) -> FormerDecision | None:
    """What was decided before, where that is why a call is asked about again.

    `demands` is what the rules want more than before.
    """
    before, status = _binding(slot), slot.status
    if isinstance(status, AwaitingDecision) and status.after and slot.key and not slot.clearance:
        return None  # begun in a run of which this is a copy: no rules have been asked of it here
    if before is not None:
        changes = [*before.changes(now), *demands] or ["the yes covers it no longer"]
        text = f"It must be decided anew: {'; '.join(changes)}."
        if not (records := decisions_about(run, slot.ref)):
            return FormerDecision(text)
        record, decision = records[-1], records[-1].decision
        arguments = decision.arguments if isinstance(decision, Modified) else record.call.arguments
        return FormerDecision(text, arguments, record.revealed)
    name = slot.call.tool_name
    near = (past for past in reversed(run.grants) if _is_near(past, now))
    grant = next((past for past in near if past.call.tool_name == name), None)
    if grant is None:
        return None
    is_as_shown = _is_as_shown(run, tool, grant, {})
    changes = grant.binding.changes(now) or [
        "that has lapsed, or is no answer to this" if is_as_shown else CHANGES["inputs"]
    ]
    text = f"What was confirmed for further calls does not cover it: {'; '.join(changes)}."
    return FormerDecision(text, grant.call.arguments, grant.revealed)


def _binding(slot: Slot) -> Binding | None:
    if isinstance(slot.status, AwaitingDecision):
        return slot.status.binding
    return None if slot.clearance is None else slot.clearance.binding


def _is_near(grant: Grant, now: Binding) -> bool:
    """Whether a human may well think that the grant covers the call."""
    return grant.scope == "tool" or grant.binding.arguments == now.arguments
