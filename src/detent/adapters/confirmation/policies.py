"""Policies: when a human is asked about a call. They are combined with ``|``, ``&`` and ``~``."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import reduce
from inspect import isawaitable
from math import inf, isfinite
from operator import and_
from typing import Any, ClassVar, TypeAlias, TypeGuard, cast

from attrs import evolve, field, frozen
from attrs.validators import min_len

from detent.adapters.confirmation.described import Described
from detent.adapters.system.failures import outcome_of
from detent.core.chat.messages import ToolCall
from detent.core.errors import require_failure
from detent.core.run.approval import (
    ALL_ANSWERS,
    ANYBODY,
    Allow,
    Answers,
    Ask,
    Deny,
    Verdict,
)
from detent.core.run.effects import Policy
from detent.core.run.run import Run
from detent.core.run.strictness import PolicyFailedError, question_of, stricter
from detent.core.run.totals import Amounts, largest
from detent.core.tools.defaults import with_defaults
from detent.core.tools.tool import Tool
from detent.core.values.checks import number, of_kind
from detent.core.values.frozen import thaw

Params: TypeAlias = Mapping[str, Any]
NAME = of_kind(str, "the name of a parameter")
Judgement: TypeAlias = Verdict | Awaitable[Verdict]


def is_amount(value: object) -> TypeGuard[int | float]:
    """Whether it can be compared with a limit: not with what is no number, nor with True."""
    return type(value) is int or (isinstance(value, float) and isfinite(value))


class Rule(Described, ABC):
    """What Detent's own policies have in common: they can be called, and combined."""

    @abstractmethod
    def __call__(self, call: ToolCall, tool: Tool, run: Run[Any]) -> Judgement:
        """The verdict."""

    @property
    def budgets(self) -> tuple[str, ...]:
        """The names of the budgets that it, or a policy in it, looks at.

        No two calls that share one are judged at once, wherever in a run they are.
        """
        return tuple({name: 0 for policy in self._parts for name in getattr(policy, "budgets", ())})

    @property
    def limits_answers(self) -> bool:
        """Whether its questions, or those of a policy in it, say who may answer, or how."""
        return any(getattr(policy, "limits_answers", False) for policy in self._parts)

    @property
    def _parts(self) -> tuple[object, ...]:
        return (*getattr(self, "policies", ()), getattr(self, "policy", None))

    def __or__(self, other: object) -> AnyOf:
        return AnyOf((self, other))

    def __and__(self, other: object) -> AllOf:
        return AllOf((self, other))

    def __invert__(self) -> Not:
        return Not(self)


class _Same(Rule):
    """What is said of every call in the same way."""

    asks: ClassVar[bool]

    def should_ask(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> bool:
        """The same of every call."""
        return self.asks

    def __call__(self, call: ToolCall, tool: Tool, run: Run[Any]) -> Verdict:
        """The same of every call."""
        return Ask() if self.asks else Allow()


@frozen
class AlwaysAskPolicy(_Same):
    """Every call is asked about."""

    asks = True


@frozen
class NeverAskPolicy(_Same):
    """No call is asked about."""

    asks = False


@frozen
class AskOncePolicy(Rule):
    """A call is asked about until one of the same tool with the same arguments is confirmed.

    In an agent, what was confirmed is in the run, as a `Grant`, and is not known to other runs.
    Called by hand, `should_ask` knows what `update_after_confirmation` was told.
    """

    _confirmed: set[str] = field(factory=set, init=False, eq=False, repr=False)

    def should_ask(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> bool:
        """Whether these arguments were not confirmed yet."""
        return _key(tool_name, tool_params) not in self._confirmed

    def update_after_confirmation(
        self,
        tool_name: str,
        tool_description: str,
        tool_params: dict[str, Any],
        confirmation_result: Any,
    ) -> None:
        """Remember arguments that were confirmed."""
        if confirmation_result.action == "confirm":
            self._confirmed.add(_key(tool_name, tool_params))

    def __call__(self, call: ToolCall, tool: Tool, run: Run[Any]) -> Ask:
        """Ask, and have a confirmation count for equal calls."""
        return Ask(remember="arguments")


@frozen
class AskWhen(Rule):
    """A call is asked about when `predicate` says so of its arguments, a dict. It may be async."""

    predicate: Callable[[dict[str, Any]], bool | Awaitable[bool]]
    reason: str = ""

    def __call__(self, call: ToolCall, tool: Tool, run: Run[Any]) -> Judgement:
        """Ask the predicate."""
        return _verdict(self.predicate(with_defaults(call, tool)), self.reason)


@frozen
class AskAbove(Rule):
    """A call is asked about when its argument `parameter` is above `limit`, or is not there."""

    parameter: str = field(validator=NAME)
    limit: float = field(validator=number(-inf))

    def __call__(self, call: ToolCall, tool: Tool, run: Run[Any]) -> Verdict:
        """Look at the argument."""
        value = with_defaults(call, tool).get(self.parameter)
        if is_amount(value) and value <= self.limit:
            return Allow()
        if self.parameter in tool.masked:  # beside the limit, a mask would tell where they meet
            return Ask(f"{self.parameter} is secret, and above what needs no confirmation")
        return Ask(f"{self.parameter} is {value}; up to {self.limit} needs no confirmation")


@frozen
class AnyOf(Rule):
    """A call is asked about when one of several policies wants to, denied when one denies it."""

    policies: tuple[Any, ...] = field(converter=tuple[Any, ...], validator=min_len(1))

    def __call__(self, call: ToolCall, tool: Tool, run: Run[Any]) -> Judgement:
        """Ask all of them."""
        return _together(self.policies, _any, call, tool, run)


@frozen
class AllOf(Rule):
    """A call is asked about when all of several policies want to, and denied when one denies it."""

    policies: tuple[Any, ...] = field(converter=tuple[Any, ...], validator=min_len(1))

    def __call__(self, call: ToolCall, tool: Tool, run: Run[Any]) -> Judgement:
        """Ask all of them."""
        return _together(self.policies, _all, call, tool, run)


@frozen
class Not(Rule):
    """A call is asked about when another policy does not want to.

    One that fails still asks, and what it denies is still denied.

    Raises:
        ValueError: the questions of that policy say who may answer, or how: a question that is
            turned round twice would not.
    """

    policy: Any

    def __attrs_post_init__(self) -> None:
        if getattr(self.policy, "limits_answers", False):
            raise ValueError(
                "~ would lose who may answer a question, or how; put that around it, as in "
                "WithApprovers(~policy, …) or WithQuestionOptions(~policy, …)"
            )

    def __call__(self, call: ToolCall, tool: Tool, run: Run[Any]) -> Judgement:
        """Ask it, and say the opposite."""
        return _together((self.policy,), _not, call, tool, run)


@frozen
class WithQuestionOptions(Rule):
    """Another policy, whose questions are put in another way: `Ask` says how.

    What that policy wants already stays where it is stricter.

    ``WithQuestionOptions(AskAbove("amount", 100), expires_s=3600, reveals=("user",))``
    """

    policy: Any
    expires_s: float | None = None
    reveals: tuple[str, ...] = field(default=(), converter=tuple[str, ...])
    answers: Answers = field(default=ALL_ANSWERS, validator=of_kind(Answers, "Answers"))
    attempts: int | None = None

    def __attrs_post_init__(self) -> None:
        """Raise where no question can be put like that: later, it would be put as any other."""
        self._strictened(Ask())

    @property
    def limits_answers(self) -> bool:
        """Always."""
        return True

    def __call__(self, call: ToolCall, tool: Tool, run: Run[Any]) -> Judgement:
        """Ask it."""
        return _together((self.policy,), self._only, call, tool, run, put=self._strictened)

    def _only(self, verdicts: list[Verdict]) -> Verdict:
        (verdict,) = verdicts
        return self._strictened(verdict) if isinstance(verdict, Ask) else verdict

    def _strictened(self, question: Ask) -> Ask:
        """The question in this way."""
        how = (question.remember, self.expires_s, self.reveals, self.answers, self.attempts)
        return stricter(question, Ask("", *how))


@frozen
class Judging:
    """A policy with `should_ask`, as the core asks it. It must answer True or False."""

    policy: Any

    def __call__(self, call: ToolCall, tool: Tool, run: Run[Any]) -> Judgement:
        """Ask it."""
        return _verdict(
            self.policy.should_ask(tool.name, tool.description, with_defaults(call, tool)), ""
        )


def policy_from(value: object) -> Policy:
    """A policy, or what makes one of an object with `should_ask`.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(value, Rule):
        return value
    # before `callable`: a class of somebody's own may have both, and `__call__` for another use
    if hasattr(value, "should_ask"):
        return Judging(value)
    if callable(value):
        return cast(Policy, value)
    raise TypeError(
        f"a policy has should_ask(tool_name, tool_description, tool_params), got {value!r:.100}"
    )


def _together(
    policies: Sequence[object],
    combine: Callable[[list[Verdict]], Verdict],
    *call_tool_and_run: Any,
    put: Callable[[Ask], Ask] = lambda question: question,
) -> Judgement:
    """What several policies say, combined; they are asked in order, each just once.

    `put` has the last word on the question that is asked where one of them has failed.
    """
    answers = [_answer(policy, *call_tool_and_run) for policy in policies]
    if any(map(isawaitable, answers)):
        return _awaited_together(answers, combine, put)
    return _combined(answers, combine, put)


def _answer(policy: object, *call_tool_and_run: Any) -> object:
    """What a policy says, or how it has failed."""
    try:
        return policy_from(policy)(*call_tool_and_run)
    except BaseException as error:  # noqa: BLE001 - raised when all have been heard
        require_failure(error)
        return error


async def _awaited_together(
    answers: Sequence[object],
    combine: Callable[[list[Verdict]], Verdict],
    put: Callable[[Ask], Ask],
) -> Verdict:
    results: list[object] = [
        await outcome_of(answer) if isawaitable(answer) else answer for answer in answers
    ]
    return _combined(results, combine, put)


def _combined(
    answers: Sequence[object],
    combine: Callable[[list[Verdict]], Verdict],
    put: Callable[[Ask], Ask],
) -> Verdict:
    """RULE: what one denies is denied, and what one asks is asked, also where another one fails."""
    results = [_checked(answer) for answer in answers]
    failures = [result for result in results if isinstance(result, BaseException)]
    verdicts = [result for result in results if not isinstance(result, BaseException)]
    # who is asked about what came of it: all whom any of them would ask
    who = [one.approvers for one in verdicts if isinstance(one, Ask)]
    who += [one.afterwards for one in verdicts if not isinstance(one, Deny)]
    everybody = reduce(and_, who, ANYBODY)
    if failures and not any(isinstance(verdict, Deny) for verdict in verdicts):
        asks = [verdict for verdict in verdicts if isinstance(verdict, Ask)]
        questions = [*asks, *map(question_of, failures)]
        spends, asked = _spent_by([*verdicts, *questions]), reduce(stricter, questions)
        people = asked.approvers & everybody  # of all, as the one that fails might have asked
        raise PolicyFailedError(put(evolve(asked, spends=spends, approvers=people)))
    combined, spends = combine(verdicts), _spent_by(verdicts)
    if isinstance(combined, Deny):
        return combined
    if (combined.spends, combined.afterwards) == (spends, everybody):
        return combined
    return evolve(combined, spends=spends, afterwards=everybody)


def _spent_by(verdicts: Iterable[Verdict]) -> Amounts:
    """What the call takes of each budget: whichever policy decides, it is spent."""
    return largest(one.spends for one in verdicts if not isinstance(one, Deny))


def _checked(answer: object) -> Verdict | BaseException:
    if isinstance(answer, Allow | Ask | Deny | BaseException):
        return answer
    # Not taken for a no: `Not` would make of it that the call may run.
    return TypeError(f"a policy said {answer!r:.100}, which is no verdict")


def _any(verdicts: list[Verdict]) -> Verdict:
    asks = [verdict for verdict in verdicts if isinstance(verdict, Ask)]
    if denials := [verdict for verdict in verdicts if isinstance(verdict, Deny)]:
        return denials[0]
    if not asks:
        return Allow()
    return reduce(stricter, asks)  # what only one of them lets count does not count


def _all(verdicts: list[Verdict]) -> Verdict:
    allows = any(isinstance(verdict, Allow) for verdict in verdicts)
    denies = any(isinstance(verdict, Deny) for verdict in verdicts)
    return Allow() if allows and not denies else _any(verdicts)


def _not(verdicts: list[Verdict]) -> Verdict:
    verdict = verdicts[0]
    if isinstance(verdict, Allow):
        return Ask()
    return Allow() if isinstance(verdict, Ask) else verdict  # the opposite of a no is not a yes


def _verdict(asks: object, reason: str) -> Judgement:
    if isawaitable(asks):
        return _awaited(asks, reason)
    if isinstance(asks, bool):
        return Ask(reason) if asks else Allow()
    raise TypeError(f"it must say True or False, got {asks!r:.100}")


async def _awaited(asks: Awaitable[object], reason: str) -> Verdict:
    return cast(Verdict, _verdict(await asks, reason))


def _key(tool_name: str, tool_params: Params) -> str:
    return json.dumps([tool_name, thaw(tool_params)], sort_keys=True, default=repr)
