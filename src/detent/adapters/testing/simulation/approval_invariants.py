"""What people and policies have said, and what ran: a model of approvals of its own.

RULE: it knows what was shown, what was said of it and what ran, with the times. It asks no function
that decides, in the core or in a driver, what counts: that is what it judges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, TypeAlias

from attrs import define, evolve, field

from detent.adapters.testing.simulation.call_invariants import starts
from detent.adapters.testing.simulation.nested_runs import (
    agent_at,
    found_at,
    innermost,
    path_of,
    slots_in,
)
from detent.adapters.testing.simulation.trace import (
    Folded,
    Happening,
    Opened,
    Performed,
    Ruled,
    Said,
    Trace,
    Wrote,
)
from detent.core.chat.messages import ToolCall
from detent.core.run.approval import SCOPES, Allow, Ask, Confirmed, Deny, Modified, Scope
from detent.core.run.events import Event, GrantRevoked, Judged, Resumed, ToolNeverRan
from detent.core.run.refs import CallRef, Path
from detent.core.run.run import AwaitingDecision, Delegated, Run, Slot
from detent.core.run.spec import AgentSpec
from detent.ports.journal import Entry

Place: TypeAlias = tuple[Path, CallRef]


def who_waits_asks_somebody(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """A run that is stored as waiting is listed with what it asks: nobody looks for it otherwise.

    And what it asks has been judged: a question that a policy is to judge anew is put to nobody, so
    that whoever goes on with the run must find it among those that are owed something.

    RULE: what one append writes is looked at together, as others see it.
    """
    asked, questions = tuple[str, ...](), _Questions(spec)
    for happening in trace:
        questions.take(happening)
        if isinstance(happening, Wrote):
            for entry in happening.entries:
                asked = asked if entry.listing is None else entry.listing.pending
            last = happening.entries[-1]
            if last.status == "waiting" and not asked:
                yield f"the run waits behind {last.kind}, and nobody is asked anything"
        elif questions.is_whole and questions.status == "waiting":
            for path, ref in sorted(questions.unjudged(), key=str):
                yield f"the run waits, and call {ref} at {path} is still to be judged"


@define
class _Questions:
    """The questions of a run about calls that have a policy, and which of them it has not judged.

    Each process that takes up a run asks all of them anew, by its own rules; and so does whoever
    has read meanwhile what a stranger may have written, as the run has other labels then.

    `status` is what was written last, with `left` events of it to be folded.
    """

    _spec: AgentSpec[Any]
    status: str = ""
    _left: int = 0
    _labels: dict[Place, tuple[str, tuple[str, ...]]] = field(factory=dict)
    _taken_up: set[Place] = field(factory=set)
    _run: Run[Any] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether a run has just become what was written of it."""
        return self._run is not None and self._left == 0

    def take(self, happening: Happening) -> None:
        """Something has happened."""
        match happening:
            case Wrote(entries):
                self.status, self._left = entries[-1].status, len(entries)
            case Opened(_, entries, run):  # also of what a process has written that died of it
                self.status, self._left = entries[-1].status if entries else "", 0
                self._taken_up.clear()
                self._see(run)
            case Folded(_, before, event, after):
                if isinstance(event, Resumed):
                    self._see(before)
                    self._taken_up = set(self._labels)
                elif isinstance(inner := innermost(event), Judged):  # one may be told twice
                    self._taken_up.discard((path_of(event), inner.ref))
                self._see(after)
                self._left = max(0, self._left - happening.is_change)
            case Ruled(effect):
                self._taken_up.discard((effect.path, effect.ref))
            case _:
                pass

    def unjudged(self) -> Iterator[Place]:
        """The questions that nobody may be asked by, as the run is."""
        assert self._run is not None  # noqa: S101 - as `is_whole` says
        for (path, ref), (_, labels) in self._labels.items():
            at = found_at(self._run, path) if path else self._run
            if (path, ref) in self._taken_up or (at is not None and at.labels != labels):
                yield path, ref

    def _see(self, run: Run[Any]) -> None:
        """The questions of a run, each with the labels that the run had when it was put."""
        was, self._labels, self._run = self._labels, {}, run
        for path, slot in slots_in(run):
            status, at = slot.status, found_at(run, path) if path else run
            if not isinstance(status, AwaitingDecision) or at is None:
                continue
            if slot.call.tool_name in agent_at(self._spec, path).guards:
                place = path, slot.ref
                known = was.get(place)
                is_same = known is not None and known[0] == status.digest
                self._labels[place] = known if known and is_same else (status.digest, at.labels)
        self._taken_up &= self._labels.keys()


def nothing_guarded_runs_unapproved(spec: AgentSpec[Any], trace: Trace) -> Iterator[str]:
    """A call about which a human must be asked runs only as that human has said, and in time.

    They have said so of this very call, or of another one of the same tool, for calls like this.
    """
    approvals = _Approvals(spec)
    for happening in trace:
        match happening:
            case Folded(_, before, event, after) if happening.is_change:
                approvals.fold(before, event, after)
                for place, call in _handed_over(before, after):
                    if why := approvals.lack(place, call, approvals.call(place).attempt):
                        yield f"an agent works on {call}: {why}"
            case Performed(_, effect):
                if why := approvals.lack((effect.path, effect.ref), effect.call, effect.attempt):
                    yield f"call {effect.ref} ran as {effect.call}: {why}"
                for place, call, attempt in approvals.around(effect.path):
                    if why := approvals.lack(place, call, attempt):
                        yield f"an agent ran {effect.call} at work on {call}: {why}"
            case _:
                approvals.take(happening)


_Word: TypeAlias = tuple[Ruled | None, AwaitingDecision | None, list[Said]]


@define
class _Call:
    """What is known of a call: what its policy said last, what is asked, and what was said of it.

    `call` is what it is, `began` is when its last attempt did, `revoked` what had been taken back
    until then. `former` is what had been said before it was asked what a crash has left.
    """

    ruled: Ruled | None = None
    question: AwaitingDecision | None = None
    is_open: bool = False
    words: list[Said] = field(factory=list)
    began: float | None = None
    revoked: frozenset[Place] = frozenset()
    attempt: int = 1
    former: _Word | None = None
    call: ToolCall | None = None


class _Approvals:
    """All that was said in a trace, up to a place of it."""

    def __init__(self, spec: AgentSpec[Any]) -> None:
        self._spec = spec
        self._calls: dict[Place, _Call] = {}
        self._words: list[Said] = []
        self._revoked: frozenset[Place] = frozenset()
        self._read = 0

    def call(self, place: Place) -> _Call:
        """What is known of a call."""
        return self._calls.setdefault(place, _Call())

    def take(self, happening: Happening) -> None:
        """Something has happened: it was said, written or read."""
        match happening:
            case Wrote(entries):
                self.begin(entries)
            case Opened(_, entries, run):
                self.begin(entries)
                self.ask(run)
            case Ruled(effect):
                self.call((effect.path, effect.ref)).ruled = happening
            case Said(question):
                known = self.call((question.path, question.ref))
                self._words.append(happening)
                if known.question is not None and question.digest == known.question.digest:
                    known.words.append(happening)
            case _:
                pass

    def fold(self, before: Run[Any], event: Event, after: Run[Any]) -> None:
        """An event has changed the run. What was taken back counts for no call to come."""
        if isinstance(inner := innermost(event), GrantRevoked):
            self._revoked |= {(path_of(event), inner.ref)}
        self.ask(before)  # which may be as another process has left it
        if isinstance(inner, ToolNeverRan):
            self._take_back((path_of(event), inner.ref))
        self.ask(after)

    def _take_back(self, place: Place) -> None:
        """A question that a crash has left is none: an attempt that never ran has ended nothing."""
        known = self.call(place)
        if known.is_open and known.former is not None:
            known.ruled, known.question, known.words = known.former
            known.former, known.is_open = None, False

    def begin(self, entries: Sequence[Entry]) -> None:
        """When attempts began, as it was stored first."""
        for entry in entries:
            if entry.position < self._read:
                continue
            self._read = entry.position + 1
            for path, ref, attempt in starts(entry.data, entry.kind):
                known = self.call((path, ref))
                known.began, known.attempt, known.revoked = entry.at, attempt, self._revoked

    def ask(self, run: Run[Any]) -> None:
        """The questions that are open now: of one that is put, nobody has said anything yet."""
        for path, slot in slots_in(run):
            known, status = self.call((path, slot.ref)), slot.status
            known.call = slot.call
            if not isinstance(status, AwaitingDecision):
                known.is_open = False
                continue
            was = None if known.question is None else known.question.digest
            if not known.is_open or status.digest != was:
                if status.after and not known.is_open:
                    known.former = known.ruled, known.question, known.words
                known.question, known.words = status, []
                if status.after:
                    known.ruled = None  # no policy has said anything of what is to come
            known.is_open = True

    def around(self, path: Path) -> Iterator[tuple[Place, ToolCall, int]]:
        """The calls that the agents at `path` work on, each with its attempt."""
        for depth, agent in enumerate(path):
            place = path[:depth], agent.ref
            known = self.call(place)
            if known.call is not None:
                yield place, known.call, known.attempt

    def lack(self, place: Place, call: ToolCall, attempt: int) -> str:
        """Why a call may not run; "" if it may."""
        known = self.call(place)
        ruled, question = known.ruled, known.question
        if call.tool_name not in agent_at(self._spec, place[0]).guards and question is None:
            return ""
        if ruled is not None and isinstance(ruled.verdict, Deny):
            return "its policy denies it"
        if ruled is not None and isinstance(ruled.verdict, Allow) and ruled.effect.call == call:
            return ""
        if any(_is_yes_to(word, call, attempt, known.began) for word in known.words):
            return ""
        ask = question.ask if question is not None else ruled and ruled.verdict
        is_covered = isinstance(ask, Ask) and not (question is not None and question.after)
        if is_covered and any(
            (place[0], word.effect.ref) not in known.revoked
            and word.effect.path == place[0]
            and _scope(word) in _takes(ask)
            and _is_yes_to_such(word, call, attempt, known.began)
            for word in self._words
        ):
            return ""
        words = [heard_word.decision for heard_word in known.words]
        return f"the policy said {ruled and ruled.verdict}, a human {words}"


def _is_yes_to(word: Said, call: ToolCall, attempt: int, began: float | None) -> bool:
    """Whether somebody has said yes to this call, in time, and it has begun in time."""
    effect, until = word.effect, word.effect.expires_at
    match word.decision:
        case Confirmed() if effect.call == call:
            pass
        case Modified(arguments) if evolve(effect.call, arguments=arguments) == call:
            pass
        case _:
            return False
    most = inf if effect.ask.attempts is None else effect.ask.attempts
    is_meant = effect.begins <= attempt < effect.begins + most
    is_begun_late = attempt == effect.begins and _is_later(began, until)
    return is_meant and not _is_later(word.at, until) and not is_begun_late


def _is_yes_to_such(word: Said, call: ToolCall, attempt: int, began: float | None) -> bool:
    """Whether somebody has said yes to calls like this one, for as long as that counts."""
    effect, lasts_s = word.effect, word.effect.ask.answers.remember_s
    defaults = effect.tool.defaults
    is_equal = {**defaults, **effect.call.arguments} == {**defaults, **call.arguments}
    until = None if lasts_s is None else word.at + lasts_s
    return (
        isinstance(word.decision, Confirmed)
        and not _is_later(word.at, effect.expires_at)
        and effect.call.tool_name == call.tool_name
        and (_scope(word) == "tool" or is_equal)
        and not (attempt == 1 and _is_later(began, until))
    )


def _scope(word: Said) -> Scope:
    """For what somebody has said yes, or lets the policy say it."""
    ask, decision = word.effect.ask, word.decision
    if isinstance(decision, Confirmed) and decision.remember is not None:
        return decision.remember
    scopes: tuple[Scope, Scope] = ask.remember, ask.answers.remember
    return min(scopes, key=SCOPES.index)


def _takes(ask: object) -> tuple[Scope, ...]:
    """What may have been said yes to, elsewhere, so that a question need not be put."""
    if not isinstance(ask, Ask) or not ask.answers.confirm:
        return ()
    return SCOPES[1 : SCOPES.index(ask.answers.remember) + 1]


def _is_later(at: float | None, until: float | None) -> bool:
    return at is not None and until is not None and at > until


def _handed_over(before: Run[Any], after: Run[Any]) -> Iterator[tuple[Place, ToolCall]]:
    """The calls that an agent has begun to work on."""
    was = {(path, slot.ref) for path, slot in slots_in(before) if _is_delegated(slot)}
    for path, slot in slots_in(after):
        if _is_delegated(slot) and (path, slot.ref) not in was:
            yield (path, slot.ref), slot.call


def _is_delegated(slot: Slot) -> bool:
    return isinstance(slot.status, Delegated)
