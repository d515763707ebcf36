"""All that may come in about guarded calls, what of it approves one, and what may run then.

The oracle knows nothing of how a run keeps its slots: it goes by what was owed when an event came.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from attrs import evolve, field, frozen

from detent import (
    Answered,
    ChatMessage,
    Confirmed,
    Modified,
    Rejected,
    State,
    Tool,
    ToolCall,
    create_tool_from_function,
)
from detent.approvals import Allow, Ask, judge
from detent.core.machine.binding import binding_of
from detent.core.machine.delegation import ANSWER, PARAMETERS, nested_run, runs_in
from detent.core.run.approval import Verdict
from detent.core.run.refs import AgentRef, Path
from detent.core.run.run import AwaitingDecision, AwaitingPolicy, Ready, Running, Slot, Thinking
from detent.core.run.spec import Delegate
from detent.core.tools.result import result_of
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentSpec,
    AskHuman,
    CallRef,
    CancelRequested,
    Event,
    FrozenDict,
    GrantRevoked,
    HappenedInside,
    HumanDecided,
    Judge,
    Judged,
    ModelReplied,
    Resumed,
    Run,
    RunTool,
    ToolFault,
    ToolRaised,
    ToolReturned,
    ToolStarted,
    due,
    start,
    step,
    wrap_event,
)
from detent.models import ChatReply

NOW, LATE, EXPIRES_S = 10.0, 99.0, 60.0
CRASHES = ("p1", "p2")
OTHER = FrozenDict({"to": "X", "amount": 1})
SAID = (
    *(Confirmed(), Confirmed("tool"), Confirmed("arguments"), Modified(OTHER)),
    *(Modified({"to": "Ann"}), Rejected(), Answered("by hand")),
)


def pay(to: str, amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount} to {to}"


PAY = create_tool_from_function(pay, retries=1)
Permit: TypeAlias = tuple[Path, CallRef, Any]


def policy(call: ToolCall, tool: Tool, run: Run[Any]) -> Verdict:
    """Nothing is free; all else waits for a human, who has a minute."""
    return Allow() if call.arguments["amount"] == 0 else Ask(expires_s=EXPIRES_S)


SPEC = AgentSpec(State({}), by_name([PAY]), policies=FrozenDict({"pay": policy}))


def nested() -> AgentSpec[State]:
    """An agent that pays, and has another one pay."""
    rule: dict[str, Any] = {"outputs_to_string": {"source": ANSWER}}
    buyer = Delegate("buyer", "", PARAMETERS, lambda task: {ANSWER: task}, agent=SPEC, **rule)
    return AgentSpec(State({}), by_name([PAY, buyer]), policies=SPEC.policies)


def payments(amounts: Sequence[int]) -> list[ToolCall]:
    """A call for each amount."""
    return [ToolCall("pay", {"to": "Ann", "amount": n}, f"c{i}") for i, n in enumerate(amounts)]


def begun(spec: AgentSpec[State], calls: Sequence[ToolCall]) -> Run[State]:
    """A run whose model has made some calls, about which nobody has said anything."""
    run = start(spec, [ChatMessage.from_user("pay")], run_id="r")
    return step(spec, run, replied(calls))


def replied(calls: Sequence[ToolCall], turn: int = 1) -> ModelReplied:
    """The model's first reply."""
    said = ChatMessage.from_assistant(None if calls else "done", tool_calls=calls)
    return ModelReplied(turn, 1, ChatReply(said))


@frozen
class Known:
    """What an onlooker knows: what was approved, what was begun, how often processes have died."""

    permits: frozenset[Permit] = frozenset()
    granted: frozenset[tuple[Path, CallRef, Any]] = frozenset()
    unknown: frozenset[tuple[Path, CallRef]] = frozenset()
    begun: frozenset[tuple[Path, CallRef, int]] = frozenset()
    crashes: int = 0
    wrong: str = field(default="", eq=False)


def events(spec: AgentSpec[Any], run: Run[Any], known: Known) -> Iterator[Event]:
    """All that may come in: what is right, forged, late, doubled, and what happens by itself."""
    for path, one in runs_in(run):
        for event in _events_of(_spec_at(spec, path), one):
            yield wrap_event(path, event)
    yield CancelRequested("enough")
    if known.crashes < len(CRASHES):
        yield Resumed(CRASHES[known.crashes])


def _events_of(spec: AgentSpec[Any], run: Run[Any]) -> Iterator[Event]:
    if isinstance(run.phase, Thinking):
        first = payments((1, 2)) if "/" in run.id and run.turn == 1 else []
        yield replied(first, run.turn)
    for effect in due(spec, run):
        if isinstance(effect, Judge) and not effect.path:
            said = judge(effect)
            assert isinstance(said, Judged)
            yield evolve(said, at=NOW)
    slots = [slot for slot in run.slots if slot.call.tool_name == "pay"]
    digests = [one for slot in slots for one in _digests(run, slot.ref, slot.call)]
    for slot in run.slots:
        if not isinstance(slot.status, AwaitingPolicy):
            yield Judged(slot.ref, Allow())  # too late
        for attempt in range(1, 5):
            yield ToolStarted(slot.ref, attempt, at=NOW)
            yield ToolStarted(slot.ref, attempt, at=LATE)
            yield ToolReturned(slot.ref, attempt, result_of(PAY, "paid"))
            fault = ToolFault("raised", "broke off", retryable=True)
            yield ToolRaised(slot.ref, attempt, fault)
        yield GrantRevoked(slot.ref)
        for given in ("forged", "", *digests):
            for decision in SAID:
                yield HumanDecided(slot.ref, given, decision, at=NOW)
            yield HumanDecided(slot.ref, given, Confirmed(), at=LATE)


def _digests(run: Run[Any], ref: CallRef, call: ToolCall) -> list[str]:
    """All that a question about a call may ever have: whoever knows the run can make them."""
    now = binding_of(run, call, PAY)
    decided = sum(one.ref == ref for one in run.decisions)
    counts = {0, decided}
    return [now.digest(ref, call.id, after, n) for after in ("", *CRASHES) for n in counts]


def learned(
    spec: AgentSpec[Any], run: Run[Any], event: Event, after: Run[Any], was: Known
) -> Known:
    """What is known after an event; `wrong` says what must not be."""
    path, said = _unwrapped(event)
    if after is run and not isinstance(said, GrantRevoked):
        return was
    if isinstance(said, Resumed):
        now = _after_a_crash(run, was)
    else:
        now = _begun(path, said, _approved(spec, run, path, said, was), after)
    now = _released(run, after, now)
    owed = due(spec, after)
    digests = [one.digest for one in owed if isinstance(one, AskHuman)]
    if len(set(digests)) < len(digests):
        return evolve(now, wrong="two questions have one digest")
    for one in owed:
        if isinstance(one, RunTool) and one.tool.name == "pay":
            permit = (one.path, one.ref, one.call.arguments)
            if permit not in now.permits:
                return evolve(now, wrong=f"{permit} may run, and nobody has confirmed that")
    return now


def _approved(spec: AgentSpec[Any], run: Run[Any], path: Path, said: Event, was: Known) -> Known:
    owed = [one for one in due(spec, run) if one.path == path]
    match said:
        case Judged(ref, Allow()):
            calls = [one.call for one in owed if isinstance(one, Judge) and one.ref == ref]
            return evolve(was, permits=was.permits | {(path, ref, one.arguments) for one in calls})
        case HumanDecided(ref, given, Confirmed() | Modified() as decision, at=at):
            # a question stands while a policy looks at it once more for another process
            for slot in nested_run(run, path).slots:
                status = slot.status
                if slot.ref == ref and isinstance(status, AwaitingDecision):
                    is_late = status.expires_at is not None and at != NOW
                    if status.digest == given and not is_late:
                        return _permitted(was, path, slot, decision)
            return was
        case GrantRevoked(ref):
            kept = {one for one in was.granted if one[:2] != (path, ref)}
            return evolve(was, granted=frozenset(kept))
        case _:
            return was


def _permitted(was: Known, path: Path, ask: Slot, decision: Confirmed | Modified) -> Known:
    if isinstance(decision, Modified):
        fits = decision.arguments == OTHER
        permit = (path, ask.ref, decision.arguments)
        return evolve(was, permits=was.permits | {permit}) if fits else was
    arguments = ask.call.arguments
    was = evolve(was, permits=was.permits | {(path, ask.ref, arguments)})
    if decision.remember in {None, "call"}:
        return was
    covers = arguments if decision.remember == "arguments" else None
    return evolve(was, granted=was.granted | {(path, ask.ref, covers)})


def _after_a_crash(run: Run[Any], was: Known) -> Known:
    """Nobody knows of a call that was running: what was said of it counts no more."""
    lost = {
        (path, slot.ref)
        for path, one in runs_in(run)
        for slot in one.slots
        if isinstance(slot.status, Running)
    }
    permits = frozenset(one for one in was.permits if one[:2] not in lost)
    return evolve(was, permits=permits, unknown=was.unknown | lost, crashes=was.crashes + 1)


def _begun(path: Path, said: Event, was: Known, after: Run[Any]) -> Known:
    if not isinstance(said, ToolStarted):
        return was
    if isinstance(nested_run(after, path).slots[said.ref.place].status, AwaitingPolicy):
        # the yes has lapsed: nothing has begun, and nothing may
        kept = {one for one in was.permits if one[:2] != (path, said.ref)}
        return evolve(was, permits=frozenset(kept))
    attempt = (path, said.ref, said.attempt)
    wrong = f"{attempt} begins twice" if attempt in was.begun else was.wrong
    return evolve(was, begun=was.begun | {attempt}, wrong=wrong)


def _released(run: Run[Any], after: Run[Any], was: Known) -> Known:
    """What was confirmed for further calls lets those go that wait, but for unknown ones."""
    before = {(path, slot.ref): slot for path, one in runs_in(run) for slot in one.slots}
    permits = set(was.permits)
    for path, one in runs_in(after) if was.granted else ():
        for slot in one.slots:
            now = before.get((path, slot.ref))
            is_new = now is not None and isinstance(slot.status, Ready) and now != slot
            if is_new and (path, slot.ref) not in was.unknown:
                arguments = slot.call.arguments
                covers = {covered for at, _, covered in was.granted if at == path}
                if covers & {None, arguments} and now is not None and now.call == slot.call:
                    permits.add((path, slot.ref, arguments))
    return evolve(was, permits=frozenset(permits))


def _unwrapped(event: Event) -> tuple[Path, Event]:
    path: Path = ()
    while isinstance(event, HappenedInside):
        path, event = (*path, AgentRef(*event.ref, event.tool_name)), event.event
    return path, event


def _spec_at(spec: AgentSpec[Any], path: Path) -> AgentSpec[Any]:
    for at in path:
        spec = spec.agents[at.tool_name]
    return spec
