"""Approval: who must be asked before a tool runs, what they may decide, and how long it counts."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import inf
from typing import Any, Literal, TypeAlias, get_args

from attrs import Attribute, evolve, field, fields_dict, frozen
from attrs.validators import and_, deep_iterable, min_len, optional

from detent.core.chat.messages import ToolCall
from detent.core.run.refs import CallRef, Path
from detent.core.run.totals import NOTHING, Amounts
from detent.core.tools.masking import masked
from detent.core.tools.version import hash_of
from detent.core.values.checks import number, of_kind
from detent.core.values.frozen import EMPTY, FrozenDict, frozen_mapping, thaw

Scope: TypeAlias = Literal["call", "arguments", "tool"]
"""What a confirmation counts for: this call, this tool with these arguments, or this tool.

The last two for the rest of the run, or until somebody revokes it; never for other values from the
state, nor for another version of the tool.
"""
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""The narrowest first."""

_is_text, _is_tuple = of_kind(str, "a text"), of_kind(tuple, "a tuple")
_may_be_text, _may_be_number = of_kind(str, "a text", or_none=True), number(-inf, or_none=True)
_is_choice = of_kind(bool, "True or False")
_hash_of = lru_cache(1024, typed=True)(hash_of)  # each call that waits is looked at at each event


def is_scope(instance: object, attribute: Attribute[Scope], value: Scope) -> None:
    """A validator. Raises ValueError for what is no scope."""
    if value not in SCOPES:
        raise ValueError(f"'{attribute.name}' is 'call', 'arguments' or 'tool', got {value!r:.100}")


def _is_count(instance: object, attribute: Attribute[int], value: int) -> None:
    if not (type(value) is int and value > 0):
        raise ValueError(f"'{attribute.name}' is a number above 0, got {value!r:.100}")


@frozen
class Deny:
    """The call may not run, whatever anybody has confirmed. The model is told the `reason`."""

    # it may quote arguments that are secret, of which only the tool knows
    reason: str = field(default="", validator=_is_text, repr=False)


@frozen
class Answers:
    """Which answers a question takes. A no is always one of them.

    Attributes:
        confirm: whether the call may be confirmed as it is.
        modify: the names of the arguments that may be changed; None is all, () is none.
        respond: whether a human may answer in the tool's place.
        remember: the widest scope that a confirmation may count for.
        remember_s: after so many seconds it counts for no further calls; None is never.
    """

    confirm: bool = field(default=True, validator=_is_choice)
    modify: tuple[str, ...] | None = field(
        default=None, validator=optional(deep_iterable(_is_text, _is_tuple))
    )
    respond: bool = field(default=True, validator=_is_choice)
    remember: Scope = field(default="tool", validator=is_scope)
    remember_s: float | None = field(default=None, validator=_may_be_number)


ALL_ANSWERS = Answers()


def _roles(value: Iterable[str]) -> tuple[str, ...]:
    """The converter of roles. Raises TypeError for a text: it would be one role a letter."""
    if isinstance(value, str):
        raise TypeError(f"roles are a list of texts, got {value!r:.100}")
    return tuple(value)


def _groups(value: Iterable[Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(map(_roles, value))


@frozen
class Principal:
    """Who decides, as an authenticator says: it names, and nobody else does.

    Attributes:
        name: who it is: two people have two names, other than by their case or their spaces.
        roles: what they may decide about, see `Approvers`.
        proof: by what it was proven, to be looked at again when the decision is read; never a
            password or a token.
    """

    name: str = field(validator=and_(_is_text, min_len(1)))
    roles: tuple[str, ...] = field(default=(), converter=_roles, validator=deep_iterable(_is_text))
    proof: str = field(default="", validator=_is_text, repr=False)


@frozen
class Approvers:
    """Who may answer a question. What it says of a yes is for all that is not a no.

    Attributes:
        count: how many different people must say yes; one no is enough to reject.
        roles: who answers has one of these roles; () is anybody.
        apart: nobody says yes to a call of a run that they have started themselves.
        also: further roles, of each of these one as well.
    """

    count: int = field(default=1, validator=_is_count)
    roles: tuple[str, ...] = field(default=(), converter=_roles, validator=deep_iterable(_is_text))
    apart: bool = field(default=False, validator=_is_choice)
    also: tuple[tuple[str, ...], ...] = field(default=(), converter=_groups)

    def __and__(self, other: Approvers) -> Approvers:
        """Who may answer by both."""
        groups = [group for one in (self, other) for group in (one.roles, *one.also) if group]
        roles, *also = dict.fromkeys(groups) or [()]
        apart = self.apart or other.apart
        return Approvers(max(self.count, other.count), roles, apart, tuple(also))


ANYBODY = Approvers()


@frozen
class Allow:
    """The call may run.

    Attributes:
        spends: what that takes of budgets.
        afterwards: who may answer, if nobody knows afterwards what came of it.
    """

    spends: Amounts = field(default=NOTHING, repr=False)
    afterwards: Approvers = ANYBODY


@frozen
class Ask:
    """A human must decide.

    Attributes:
        reason: why, for the human.
        remember: what a confirmation counts for that does not say it.
        expires_s: after so many seconds the question is answered with no, and a yes counts no more
            for a call that has not begun; None is never.
        reveals: the parameters filled from the state whose values the human is shown.
        answers: which answers count.
        attempts: how many attempts one yes lets begin; None is all that the tool's `retries` allow.
        approvers: who may answer.
        spends: what the call takes of budgets if it runs.
        afterwards: who must be among those who answer, if nobody knows afterwards what came of it.
        is_failure: the policy has failed, so that nothing answers this that was said before.
    """

    reason: str = field(default="", validator=_is_text, repr=False)  # as that of `Deny`
    remember: Scope = field(default="call", validator=is_scope)
    expires_s: float | None = field(default=None, validator=_may_be_number)
    reveals: tuple[str, ...] = field(default=(), validator=deep_iterable(_is_text, _is_tuple))
    answers: Answers = ALL_ANSWERS
    attempts: int | None = field(default=None, validator=optional(_is_count))
    approvers: Approvers = ANYBODY
    spends: Amounts = field(default=NOTHING, repr=False)
    afterwards: Approvers = ANYBODY
    is_failure: bool = field(default=False, validator=_is_choice, kw_only=True)

    def about_outcome(self) -> Ask:
        """The question about what came of a call that was asked about in this way."""
        return evolve(self, approvers=self.approvers & self.afterwards)

    @property
    def scope(self) -> Scope:
        """What a confirmation counts for that does not say it: no more than its answers let it."""
        return SCOPES[min(map(SCOPES.index, (self.remember, self.answers.remember)))]


PLAIN_ASK = Ask()

Verdict: TypeAlias = Allow | Ask | Deny


@frozen
class Confirmed:
    """Run the call as it is. `remember` says for which other calls that counts, too.

    None is not said: then it counts as the question has it. "call" is said, and is this call alone,
    whatever the question would let it count for.
    """

    remember: Scope | None = field(default=None, validator=optional(is_scope))


@frozen
class Modified:
    """Run the call with these arguments instead, all of them. It prints their names alone."""

    # it knows no tool, which says what of it is secret
    arguments: FrozenDict[str, object] = field(
        converter=frozen_mapping, repr=lambda arguments: f"<{', '.join(arguments)}>"
    )
    feedback: str | None = field(default=None, validator=_may_be_text)


@frozen
class Rejected:
    """Do not run the call; tell the model why."""

    feedback: str | None = field(default=None, validator=_may_be_text)


@frozen
class Answered:
    """Do not run the call; this text answers it."""

    text: str = field(validator=_is_text)


Decision: TypeAlias = Confirmed | Modified | Rejected | Answered


@frozen
class Binding:
    """What a decision about a call is bound to: all that will run, in digests.

    Attributes:
        run: this run: its id, and the nonce that it drew when it began.
        tool: the tool: its name, description, schema, wiring and code.
        inputs: what the state fills in, by declaration.
        arguments: the arguments, with the defaults of those that are left out.
        labels: what the run has got to know until now; "" is nothing that bears a label.
    """

    run: str = ""
    tool: str = ""
    inputs: str = ""
    arguments: str = ""
    labels: str = ""

    def digest(
        self, ref: CallRef, call_id: str | None, after: str = "", decided: int = 0, again: int = 0
    ) -> str:
        """What a decision must carry; `after` names the crash that the question came of.

        `decided` is how many decisions about the call have counted before, `again` how often the
        question was put anew.
        """
        # By the id alone it would count for other arguments: ids are the model's and come again.
        parts = (self.run, self.tool, self.inputs, self.arguments)
        # RULE: where there is no label, or no decision yet, the digest is as if there were none
        extras = filter(None, [self.labels, decided, again and f"put again {again}"])
        return _hash_of(*parts, *ref, call_id, after, *extras)

    def changes(self, now: Binding) -> list[str]:
        """What of it is another now, in words."""
        return [text for part, text in CHANGES.items() if getattr(self, part) != getattr(now, part)]


UNBOUND = Binding()
CHANGES = {
    "run": "it belongs to another run",
    "tool": "the tool itself has changed (its code, description, schema or wiring)",
    "inputs": "what the state fills in has changed",
    "arguments": "the arguments have changed",
    "labels": "the run has read something since that bears another label",
}
"""What people are told of each part of a binding."""
assert CHANGES.keys() == fields_dict(Binding).keys()  # noqa: S101 - a new part needs its words


@frozen
class FormerDecision:
    """What was decided before about a call that is asked about again, and why that is not enough.

    `arguments` and `state` are what was decided about then, the latter where it was revealed.
    """

    text: str
    arguments: FrozenDict[str, object] = field(default=EMPTY, converter=frozen_mapping)
    state: FrozenDict[str, object] = field(default=EMPTY, converter=frozen_mapping)


@frozen
class Clearance:
    """What has let a call run that stands under a policy, and what that is bound to.

    Attributes:
        binding: it counts only while this is what will run.
        attempt: the first attempt that it lets begin.
        ask: the question that was answered, by a human or by a grant; None where a policy allowed.
        expires_at: it lapses unless `attempt` has begun by then, in seconds since 1970.
        note: what the model is told beside the result.
        is_unjudged: a human has changed the call, and no policy has seen it as it is now.
        is_stale: another process goes on with the run, whose policies have not been asked.
        after: the name of the crash that the question came of; "" if it came of a policy.
        trouble: what happened then, in words.
        answer: what a human has answered in the tool's place, and no policy has seen.
        is_granted: what was confirmed for another call has let it run.
        afterwards: who may answer, where a policy allowed it, if nobody knows what came of it.
    """

    binding: Binding
    attempt: int = 1
    ask: Ask | None = None
    expires_at: float | None = None
    note: str | None = None
    is_unjudged: bool = False
    is_stale: bool = False
    after: str = ""
    trouble: str = ""
    answer: str | None = None
    is_granted: bool = False
    afterwards: Approvers = ANYBODY

    def covers(self, attempt: int) -> bool:
        """Whether it lets this attempt begin."""
        attempts = None if self.ask is None else self.ask.attempts
        return attempts is None or attempt < self.attempt + attempts


@frozen
class DecisionRecord:
    """A decision that counted: about which call, by whom, and when in seconds since 1970.

    `path` says of which agent inside the run the call is, `revealed` what the human saw of the
    state. A no of a policy, or of a question that nobody answered in time, is a rejection `by`
    "policy" or "expiry". `who` is known where an authenticator has said who decides.
    """

    ref: CallRef
    call: ToolCall
    decision: Decision
    by: str | None = None
    at: float | None = None
    path: Path = ()
    revealed: FrozenDict[str, object] = field(default=EMPTY, converter=frozen_mapping)
    who: Principal | None = None

    def describe(self) -> str:
        """What was done, and by whom, for people: ``confirmed by Ann``."""
        return type(self.decision).__name__.lower() + (f" by {self.by}" if self.by else "")


@frozen
class Grant:
    """A confirmation that is remembered: calls that it covers are not asked about in this run.

    Attributes:
        ref: the call that was confirmed; `GrantRevoked` names the grant by it.
        call: that call.
        scope: "arguments" or "tool".
        binding: what a call must have in common with that one, all or all but the arguments.
        by: who gave it.
        at: when, in seconds since 1970.
        path: of which agent inside the run the call is.
        expires_at: when it ends, in seconds since 1970; None is never.
        revealed: what the human saw of the state.
        approvers: who could give it: it is none where others must be asked.
        is_explicit: whether people have said how far it counts, and not the question alone.
    """

    ref: CallRef
    call: ToolCall
    scope: Scope
    binding: Binding
    by: str | None = None
    at: float | None = None
    path: Path = ()
    expires_at: float | None = None
    revealed: FrozenDict[str, object] = field(default=EMPTY, converter=frozen_mapping)
    approvers: Approvers = ANYBODY
    is_explicit: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON, for a web page: which call it was, secrets masked, and what it counts for."""
        return {
            "ref": [*self.ref],
            "path": [[*agent] for agent in self.path],
            "tool_name": self.call.tool_name,
            "arguments": thaw(masked(self.call.arguments, self.call.secret)),
            "scope": self.scope,
            "by": self.by,
            "at": self.at,
            "expires_at": self.expires_at,
        }

    def fits(self, now: Binding) -> bool:
        """Whether a call with this binding has in common with that one what it must."""
        if self.scope == "tool" and self.binding.inputs == now.inputs:  # by them most are no match
            return evolve(self.binding, arguments=now.arguments) == now
        return self.binding == now
