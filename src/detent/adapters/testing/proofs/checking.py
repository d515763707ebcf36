"""Checking: every order of events in a small world, to prove claims about an agent or refute one.

Runs are values: where two orders of events lead to the same run, only one of them goes on. They are
the same when their stored forms are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import astuple, evolve, field, frozen

from detent.adapters.testing.proofs.agents_by_hand import hooks_of
from detent.adapters.testing.proofs.callers import (
    require_all_callers,
    require_no_learners,
    require_no_readers,
    require_seen_state,
)
from detent.adapters.testing.proofs.patience import unwearied
from detent.adapters.testing.proofs.possible_values import MadeUp, made_up, require_sense
from detent.adapters.testing.proofs.properties import Property, Violation
from detent.adapters.testing.proofs.transitions import NOW, USAGE, Small
from detent.adapters.testing.simulation.diagram import Edge, edges_between
from detent.adapters.testing.simulation.generated_agents import spec_of
from detent.adapters.testing.simulation.nested_runs import slots_in
from detent.adapters.testing.simulation.scenarios import Scenario
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import Usage
from detent.core.codec.own_forms import data_of
from detent.core.machine.step import start, step
from detent.core.run.events import CancelRequested, Event, Resumed
from detent.core.run.run import Delegated, Run, Running
from detent.core.run.spec import AgentSpec
from detent.core.run.totals import once
from detent.core.storage.journal import run_from_json, run_to_json
from detent.core.tools.version import hash_of

if TYPE_CHECKING:
    from detent.adapters.agent.agent import Agent

HELLO = (ChatMessage.from_user("Please do it."),)
UNCOMPARED: Mapping[str, object] = {"id": None, "decisions": None}

Key: TypeAlias = Hashable
Memories: TypeAlias = tuple[Any, ...]


@frozen
class Proof:
    """Claims that hold for every order of events up to a bound.

    `cut` counts the runs that were not followed further, because they were in a later turn;
    `made_up` names the tools that are called with one made-up example alone, `made_up_results`
    those that give one alone, `made_up_answers` the agents inside of whose answers nothing was
    said; `dies_once` says that no run was followed in which the process dies once more in a call
    that takes of a budget, which could be gone on with without end.
    """

    claims: tuple[str, ...]
    turns: int
    calls: int
    states: int
    transitions: int
    cut: int
    seconds: float
    edges: frozenset[Edge] = field(repr=False)
    remember: bool = False
    dies_once: bool = False
    made_up: tuple[str, ...] = ()
    made_up_results: tuple[str, ...] = ()
    made_up_answers: tuple[str, ...] = ()

    def __str__(self) -> str:
        bound = f"up to turn {self.turns}" if self.cut else "to the end"
        each = "" if self.remember else ", where each yes is to one call"
        if self.dies_once:
            each += ", and the process dies once in a call that takes of a budget"
        each += str(MadeUp(self.made_up, self.made_up_results, self.made_up_answers))
        return (
            f"{', '.join(self.claims)}: holds for every order of events {bound}, with up to "
            f"{self.calls} calls at once{each}; {self.states} states, {self.transitions} "
            f"transitions, {self.seconds:.1f} s"
        )


class Refuted(AssertionError):  # noqa: N818 - says what is the case
    """A claim does not hold. `scenario` is a shortest run that shows it; it can be played."""

    def __init__(self, claim: str, sentence: str, scenario: Scenario[Any]) -> None:
        super().__init__(f"{claim} is refuted: {sentence}\n{scenario}")
        self.claim = claim
        self.scenario = scenario


def check(
    agent: Agent[Any] | AgentSpec[Any],
    *claims: Property,
    turns: int = 2,
    calls: int = 2,
    messages: Sequence[ChatMessage] = HELLO,
    arguments: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    results: Mapping[str, Sequence[object]] | None = None,
    usage: Usage = USAGE,
    exact: bool = False,
    remember: bool = False,
) -> Proof:
    """Prove claims about an agent, or refute one, by going through every order of events.

    The model calls any of the tools, up to `calls` at once, or answers, or fails. Each tool
    returns, or fails for now or for good, or its time is up. Each human says anything, and others
    forge it. At every point the process may die, but for a call that it has died in already and a
    human has had begun anew or that takes of a budget, and the run be cancelled. No tool is run.

    Hooks stand where they stand in a run, those of agents inside as well; a spec has none.

    Args:
        agent: an agent, or its spec. Its policies and hooks must be functions of what they are
            given.
        claims: what is to be proved.
        turns: runs are followed up to this turn; so are those of agents inside them.
        calls: how many calls the model makes at once, at most.
        messages: how the conversation begins.
        arguments: by tool name all that the model may call it with; without it, one example.
        results: by tool name all that it may give; without it, one example of its return type. By
            the name of an agent inside, all that it may answer: texts, or values of its
            output_type; without it, a made-up text, or made-up values.
        usage: the tokens of each reply; what it costs is what the agent's limits say.
        exact: tell runs apart that differ in their conversation, or in the record of decisions,
            alone. Needed where a policy or a claim reads one, which is refused without it as far as
            its code names it; there are many more of them.
        remember: humans may also say of a yes that it counts for further calls, as far as the
            question takes that; there are many more runs then. Without it the proof is of runs in
            which nobody does.

    Raises:
        Refuted: a claim does not hold; the scenario that shows it is as short as any.
        TypeError: what is claimed is no `Property`.
        ValueError: a tool is named that there is not, or that never runs, or arguments do not fit,
            or nothing can be called or begun: the claim would hold because nothing happens. Or a
            claim leaves out another name of the function that it speaks of, or a tool that calls
            it by itself, or a hook or a policy does. Or hooks change a call again and again, or one
            that it speaks of and that no policy guards: the run has that as it was. Or a policy
            learns (`update_after_confirmation`), to which nothing is told here. Or a
            tool takes the state itself, or returns a `Reply` of which `results` does not say what
            it may be, and a policy, a hook or a claim looks at the state.
        HookError: a hook has failed.
        UnstorableError: something in a run cannot be stored, so that nothing tells it from others.
    """
    spec = spec_of(agent)
    require_sense(spec, claims, arguments or {}, results or {})
    hooks = hooks_of(agent)
    require_no_learners(spec)
    require_all_callers(spec, claims, hooks)
    require_seen_state(spec, claims, hooks, results or {})
    if not exact:
        require_no_readers(spec, claims)
    if calls < 1:
        raise ValueError(f"calls={calls}: a model that calls no tool proves nothing; say 1 or more")
    claimed = frozenset(name for claim in claims for name in claim.tools)
    small = Small(spec, calls, arguments or {}, results or {}, usage, hooks, remember, claimed)
    begun = start(spec, messages, run_id="run", at=NOW)
    if begun.outcome is not None:
        raise ValueError(
            f"the run ends by {begun.outcome.exit_reason} before anything happens in it"
        )
    if not exact:
        patient = evolve(small, spec=unwearied(spec))
        with suppress(Refuted):  # perhaps of a run in which nobody would have been asked any more
            return _Search(patient, claims, begun, turns, exact=False).proof()
        _Search(small, claims, begun, turns, exact=False).proof()  # refutes it, but for such a run
    return _Search(small, claims, begun, turns, exact=True).proof()


@frozen(eq=False)
class _Visit:
    """How a run was first reached."""

    run: Run[Any]
    memories: Memories
    before: _Visit | None = None
    event: Event | None = None

    def events(self) -> tuple[Event, ...]:
        """The events from the start on."""
        visit: _Visit | None = self
        events: list[Event] = []
        while visit is not None and visit.event is not None:
            events.append(visit.event)
            visit = visit.before
        return tuple(reversed(events))


class _Search:
    """Goes through every run that can be, the nearest first."""

    def __init__(
        self, small: Small, claims: Sequence[Property], begun: Run[Any], turns: int, *, exact: bool
    ) -> None:
        self._small = small
        self._spec = small.spec
        self._claims = claims
        self._begun = begun
        self._turns = max([turns, *(claim.turns for claim in claims)])
        self._exact = exact
        self._seen: list[_Visit] = []  # by their number, which is hashed in their place
        self._numbers: dict[Key, int] = {}
        self._came_from: dict[int, list[int]] = {}
        self._ends: list[int] = []
        self._edges: set[Edge] = set()
        self._transitions = 0
        self._cut = 0
        self._ran: set[str] = set()
        self._dies_once = False

    def proof(self) -> Proof:
        """What has been proved.

        Raises:
            Refuted: something was refuted.
        """
        began = perf_counter()
        first = _Visit(self._begun, tuple(None for _ in self._claims))
        self._seen.append(first)
        self._numbers[self._key(first)] = 0
        frontier = deque([0])
        while frontier:
            here = frontier.popleft()
            frontier.extend(self._onward(here))
        self._require_ends()
        self._require_ran()
        return Proof(
            tuple(claim.name for claim in self._claims),
            self._turns,
            self._small.calls,
            len(self._seen),
            self._transitions,
            self._cut,
            perf_counter() - began,
            frozenset(self._edges),
            self._small.remember,
            self._dies_once,
            *astuple(made_up(self._spec, self._small.arguments, self._small.results)),
        )

    def _onward(self, here: int) -> Iterator[int]:
        """The runs that are reached from one, and were not reached before."""
        visit = self._seen[here]
        is_over = visit.run.outcome is not None and not self._small.is_sent_back(visit.run)
        if is_over or _deepest_turn(visit.run) > self._turns:
            self._ends.append(here)
            self._cut += visit.run.outcome is None
            return
        for event in self._small.events(visit.run):
            self._transitions += 1
            after = step(self._spec, visit.run, event)
            if after is visit.run:
                continue
            if isinstance(event, Resumed):
                if _dies_again(visit):
                    self._dies_once = True
                    continue
                self._require_stored(visit)
            there = self._judged(visit, event, after)
            number = self._numbers.setdefault(self._key(there), len(self._seen))
            if not isinstance(event, CancelRequested):
                self._came_from.setdefault(number, []).append(here)
            if number == len(self._seen):
                self._seen.append(there)
                yield number
            self._edges.update(edges_between(visit.run, event, after))
            self._ran.update(
                slot.call.tool_name
                for _, slot in slots_in(after)
                if isinstance(slot.status, Running | Delegated)
            )

    def _require_ran(self) -> None:
        """Each tool that a claim is about has run: else it says nothing."""
        for claim in self._claims:
            if never := sorted(set(claim.tools) - self._ran):
                raise ValueError(
                    f"{claim.name} holds because {never} never ran; more turns may let it, or "
                    "arguments that it takes"
                )

    def _require_stored(self, visit: _Visit) -> None:
        """What another process reads of the run is the run."""
        stored = run_to_json(self._spec, visit.run)
        if run_from_json(self._spec, stored) != visit.run:
            raise self._refuted("a stored run is the run", "it is another one", visit)

    def _judged(self, visit: _Visit, event: Event, after: Run[Any]) -> _Visit:
        memories: list[Any] = []
        for claim, memory in zip(self._claims, visit.memories, strict=True):
            judgement = claim.judge(memory, visit.run, event, after)
            if isinstance(judgement, Violation):
                there = _Visit(after, (), visit, event)
                raise self._refuted(claim.name, judgement.sentence, there)
            memories.append(judgement)
        return _Visit(after, tuple(memories), visit, event)

    def _require_ends(self) -> None:
        """Each run that was seen can end without being cancelled, or leave what is looked at."""
        claims = [claim for claim in self._claims if claim.must_end]
        if not claims:
            return
        can_end = set(self._ends)
        left = list(self._ends)
        while left:
            fresh = [
                origin for origin in self._came_from.get(left.pop(), ()) if origin not in can_end
            ]
            can_end.update(fresh)
            left.extend(fresh)
        for number, visit in enumerate(self._seen):
            if number not in can_end:
                raise self._refuted(claims[0].name, "from here no end can be reached", visit)

    def _refuted(self, claim: str, sentence: str, visit: _Visit) -> Refuted:
        return Refuted(claim, sentence, Scenario(self._spec, self._begun, visit.events()))

    def _key(self, visit: _Visit) -> Key:
        """What tells a run from others: its stored form, as Python calls 1, 1.0 and True equal."""
        data = data_of(visit.run, Run, self._spec)
        if not self._exact:
            held = {**data["state"]["data"], "messages": None}
            data = {**data, **UNCOMPARED, "state": held}
        return visit.memories, hash_of(data)


def _dies_again(visit: _Visit) -> bool:
    """Whether the process would die once more in a call that takes of a budget.

    Each attempt may have spent it, so that no two such deaths lead to the same run: a tool that is
    run again after a crash would give runs without end.
    """
    now, at = _spending(visit.run), visit.before
    event = visit.event
    while now and at is not None:
        if isinstance(event, Resumed) and now & _spending(at.run):
            return True
        event, at = at.event, at.before
    return False


def _spending(run: Run[Any]) -> frozenset[object]:
    """The calls that are at work and would take of a budget again, were they begun again."""
    return frozenset(
        (path, slot.ref)
        for path, slot in slots_in(run)
        if isinstance(slot.status, Running) and slot.spends != once(slot.spends)
    )


def _deepest_turn(run: Run[Any]) -> int:
    """The turn of the run, or of an agent at work inside it that has come further."""
    at_work = [slot.status for _, slot in slots_in(run)]
    return max(
        run.turn, *(status.run.turn for status in at_work if isinstance(status, Delegated)), 0
    )
