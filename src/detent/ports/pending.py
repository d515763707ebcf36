"""Pending: the calls that wait for a human, as values that can be shown, sent and decided about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from attrs import asdict, evolve, field, frozen

from detent.core.codec.json_text import rounding_faults
from detent.core.control.decisions import ToolExecutionDecision
from detent.core.errors import DetentError, StoredDataError
from detent.core.machine.binding import OutdatedQuestion, outdated_questions
from detent.core.machine.due import due
from detent.core.run.approval import (
    ALL_ANSWERS,
    ANYBODY,
    CHANGES,
    Answers,
    Approvers,
    FormerDecision,
    Scope,
)
from detent.core.run.effects import AskHuman
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.core.schema.validation import faults
from detent.core.tools.defaults import frozen_with_defaults
from detent.core.tools.masking import MASK, masked
from detent.core.tools.redaction import all_without_secrets
from detent.core.values.frozen import FrozenDict, frozen_mapping, thaw

COUNTS: Mapping[Scope, str] = {
    "call": "",
    "arguments": "One yes counts for equal calls of this run, too.",
    "tool": "One yes counts for all further calls of this tool in this run.",
}
"""What a human is told of a yes that does not say what it counts for."""


@frozen
class PendingCall:
    """A call that waits for a human: all that they need to see, as plain values.

    Attributes:
        run_id: the outermost run: that which decisions are given to.
        turn: the turn of the run, or of that of the agent inside it, from 1.
        place: the place of the call in its turn, from 0.
        call_id: the id of the call.
        tool_name: what is to run.
        description: what it does.
        arguments: with what, defaults filled in; parameters marked as `SecretParameter` show
            `MASK`.
        reason: why a human is asked.
        digest: what a decision is bound to: the run, the tool, what the state fills in, and exactly
            these arguments.
        parameters: the JSON Schema that arguments must fit.
        state: values from the state that the tool will get, where the policy reveals them.
        expires_at: after which silence is a no, in seconds since 1970.
        agents: the agents inside the run whose call it is, the outermost first.
        defaults: the names of the arguments that the model has left out.
        answers: which answers count.
        attempts: how often one yes lets it begin, where attempts fail.
        changed: where it was decided about before: why that is not enough; else "".
        former: the arguments that were decided about then.
        former_state: what was revealed of the state then.
        masked: the parameters that are secret, and show `MASK`. An argument of another one that
            reads like it is what the model wrote.
        approvers: who may answer.
        votes: who has said yes, where it takes more people.
        started_by: who began the run, where that is known.
        trouble: why nobody knows what the attempt before has done, so that a yes may have it done
            twice; "" where there was none, or it is known.
        idempotency_key: what the tool is given as its `IdempotencyKey`, by which the world can be
            asked what came of an attempt before; "" where it takes none.
    """

    run_id: str
    turn: int
    place: int
    call_id: str | None
    tool_name: str
    description: str
    arguments: FrozenDict[str, Any] = field(converter=frozen_mapping)
    reason: str
    digest: str
    parameters: FrozenDict[str, Any] = field(converter=frozen_mapping, repr=False)
    state: FrozenDict[str, Any] = field(factory=FrozenDict, converter=frozen_mapping)
    expires_at: float | None = None
    agents: tuple[str, ...] = ()
    defaults: tuple[str, ...] = ()
    answers: Answers = ALL_ANSWERS
    attempts: int = 1
    changed: str = ""
    former: FrozenDict[str, Any] = field(factory=FrozenDict, converter=frozen_mapping)
    former_state: FrozenDict[str, Any] = field(factory=FrozenDict, converter=frozen_mapping)
    masked: tuple[str, ...] = ()
    approvers: Approvers = ANYBODY
    votes: tuple[str, ...] = ()
    started_by: str | None = None
    trouble: str = ""
    idempotency_key: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, for a web page or a queue."""
        plain = {name: thaw(value) for name, value in asdict(self, recurse=False).items()}
        return plain | {"answers": asdict(self.answers), "approvers": asdict(self.approvers)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """What `to_dict` gave. Raises StoredDataError where it is no such call."""
        try:
            names = ("agents", "defaults", "masked", "votes")
            lists = {name: tuple(data.get(name, ())) for name in names}
            answers = dict(data.get("answers", {}))
            if answers.get("modify") is not None:
                answers["modify"] = tuple(answers["modify"])
            wanted = dict(data.get("approvers", {}))
            wanted["roles"] = tuple(wanted.get("roles", ()))
            parts = {"answers": Answers(**answers), "approvers": Approvers(**wanted)}
            fields: dict[str, Any] = {**data, **lists, **parts}
            return cls(**fields)
        except (TypeError, ValueError, AttributeError) as error:
            raise StoredDataError(f"this is no pending call: {error}") from error

    @property
    def more_votes(self) -> int:
        """How many more people must say yes."""
        return self.approvers.count - len(self.votes)

    def faults(self, arguments: Mapping[str, Any]) -> list[str]:
        """One sentence for each way in which changed arguments do not fit the tool."""
        # A mask that was left alone stands for the secret, which fits: its text need not.
        left = [repr(name) for name in self.masked if arguments.get(name) == MASK]
        found = faults(arguments, self.parameters)
        wrong = [sentence for sentence in found if not any(name in sentence for name in left)]
        return all_without_secrets(wrong, arguments, frozenset(self.masked))

    def rounding_faults(self, arguments: Mapping[str, Any]) -> list[str]:
        """One sentence for each number of changed arguments that nobody may have changed.

        For changes that come from pages: JavaScript rounds whole numbers from 2^53 on as it reads
        them. Who types each argument as a text, or is a program in Python, needs none of that.
        """
        return rounding_faults(arguments, self.arguments)

    def confirm(
        self, *, by: str | None = None, remember: Scope | None = None
    ) -> ToolExecutionDecision:
        """Run it as it is; without `remember` that counts for what the question says."""
        return self._decision(by, execute=True, remember=remember)

    def modify(
        self, arguments: Mapping[str, Any], feedback: str | None = None, *, by: str | None = None
    ) -> ToolExecutionDecision:
        """Run it with these arguments, all of them, in place of the model's."""
        params = dict(arguments)
        return self._decision(by, execute=True, feedback=feedback, final_tool_params=params)

    def reject(
        self, feedback: str | None = None, *, by: str | None = None
    ) -> ToolExecutionDecision:
        """Do not run it; the model is told, and why."""
        return self._decision(by, execute=False, feedback=feedback)

    def respond(self, answer: str, *, by: str | None = None) -> ToolExecutionDecision:
        """Do not run it: this text is its result."""
        return self._decision(by, execute=False, answer=answer)

    def _decision(self, by: str | None, **decided: Any) -> ToolExecutionDecision:
        about: dict[str, Any] = {"tool_call_id": self.call_id, "digest": self.digest, "by": by}
        return ToolExecutionDecision(self.tool_name, expires_at=self.expires_at, **about, **decided)


def pending(spec: AgentSpec[Any], run: Run[Any]) -> tuple[PendingCall, ...]:
    """The calls of a run that wait for a human, in the model's order."""
    return tuple(question(effect) for effect in due(spec, run) if isinstance(effect, AskHuman))


class OutdatedQuestionError(DetentError):
    """A run waits for a human by questions of another release, which nobody can answer any more.

    Attributes:
        run_id: the run.
        questions: which of its questions fit no longer, and in what.
        elsewhere: who alone has them put anew, or takes their answers; "" where `resume` does it.
    """

    def __init__(
        self, run_id: str, questions: Sequence[OutdatedQuestion], elsewhere: str = ""
    ) -> None:
        way = elsewhere or f"agent.resume({run_id!r}) puts it anew"
        super().__init__(
            f"run {run_id!r} waits for a human, by a question of another release of its agent: "
            f"{describe_outdated(questions)}; {way}"
        )
        self.run_id, self.questions, self.elsewhere = run_id, tuple(questions), elsewhere


def describe_outdated(questions: Sequence[OutdatedQuestion]) -> str:
    """In a line, what has changed for which call."""
    return "; ".join(
        f"{' > '.join((*one.agents, one.tool_name))}: {', '.join(one.changes)}" for one in questions
    )


RELEASED = {CHANGES["tool"], CHANGES["arguments"]}
"""What changes of a call between two releases of its agent, and never while one drives it."""


def answerable(spec: AgentSpec[Any], run: Run[Any]) -> tuple[PendingCall, ...]:
    """The same as `pending`.

    Raises:
        OutdatedQuestionError: there are none, though the run waits: what it asks is of another
            release. That nobody is waited for would be untrue. Of any other question that fits no
            longer, who drives the run is just about to have it put anew.
    """
    calls = pending(spec, run)
    if not calls:
        outdated = [one for one in outdated_questions(spec, run) if RELEASED & {*one.changes}]
        if outdated:
            raise OutdatedQuestionError(run.id, outdated)
    return calls


def left_over(
    waiting: Iterable[PendingCall], decided: PendingCall, decision: ToolExecutionDecision, by: str
) -> Iterator[PendingCall]:
    """The calls that still wait: the one that was decided, too, if more people must say yes to it.

    RULE: a host may not have come to a decision that it has accepted. Its question is there then,
    as it was.

    Args:
        waiting: what waits by now.
        decided: the question, as it was.
        decision: what was said of it, and accepted.
        by: by whom.
    """
    is_yes = decision.execute and decision.final_tool_params is None
    votes = (*decided.votes, by)
    for each in waiting:
        if each.digest != decided.digest or each.votes != decided.votes:
            yield each
        elif is_yes and len(votes) < each.approvers.count:
            yield evolve(each, votes=votes)


def question(effect: AskHuman) -> PendingCall:
    """What a human is asked."""
    tool, call = effect.tool, effect.call
    # The id of the run of an agent is that of the run around it, a slash, and a place.
    outermost = effect.run_id.rsplit("/", len(effect.path))[0]
    whole, change = frozen_with_defaults(call, tool), effect.change or FormerDecision("")
    attempts = max(1, tool.retries.times + 2 - effect.begins)
    attempts = min(attempts, effect.ask.attempts or attempts)
    repeats = f"One yes lets it be tried up to {attempts} times." if attempts > 1 else ""
    counts = COUNTS[effect.ask.scope]
    key = effect.idempotency_key
    known_as = f"The tool was given the key {key}." if key and effect.after else ""
    reason = (effect.reason, change.text, known_as, repeats, counts, _people(effect))
    return PendingCall(
        outermost,
        *effect.ref,
        call.id,
        tool.name,
        tool.description,
        FrozenDict(masked(whole, tool.masked)),
        _joined(list(filter(None, reason))),
        effect.digest,
        tool.spec.parameters,
        effect.revealed,
        effect.expires_at,
        tuple(at.tool_name for at in effect.path),
        tuple(whole.keys() - call.arguments.keys()),
        effect.answers,
        attempts,
        change.text,
        FrozenDict(masked(change.arguments, tool.masked)),
        change.state,
        tuple(sorted(tool.masked)),
        effect.ask.approvers,
        effect.votes,
        effect.started_by,
        effect.trouble,
        key,
    )


def _joined(texts: Sequence[str]) -> str:
    """Sentences behind each other. That of a policy may lack its full stop."""
    ended = [text if text.endswith((".", "!", "?")) else f"{text}." for text in texts[:-1]]
    return " ".join([*ended, *texts[-1:]])


NOBODY_BEGAN = (
    "Nobody can say yes: whoever began the run may not, and it is not known who did, as it was "
    "begun without started_by=…."
)


def _people(effect: AskHuman) -> str:
    """How many people must say yes, and who has, where one is not enough; or that nobody may."""
    wanted, who = effect.ask.approvers.count, ", ".join(effect.votes) or "nobody"
    if effect.ask.approvers.apart and not effect.started_by:
        return NOBODY_BEGAN
    return f"{wanted} people must say yes; so far: {who}." if wanted > 1 else ""
