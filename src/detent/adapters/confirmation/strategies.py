"""Strategies: when a human is asked about a call, by whom, and what the model is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from attrs import field, frozen

from detent.adapters.confirmation.call_rules import CallRule, RuleList
from detent.adapters.confirmation.described import Classes, Described
from detent.adapters.confirmation.people import PEOPLE
from detent.adapters.confirmation.policies import (
    AllOf,
    AlwaysAskPolicy,
    AnyOf,
    AskAbove,
    AskOncePolicy,
    NeverAskPolicy,
    Not,
    WithQuestionOptions,
)
from detent.adapters.confirmation.tallies import AskAfter, AskOverBudget
from detent.core.control.decisions import ToolExecutionDecision
from detent.core.run.approval import Answers
from detent.core.run.effects import Policy
from detent.core.tools.wording import Wording
from detent.core.values.checks import names_told
from detent.ports.confirmation import (
    ConfirmationPolicy,
    ConfirmationUI,
    ConfirmationUIResult,
    HITLBreakpointException,
)

REJECT, MODIFY, FEEDBACK = Wording().reject, Wording().modify, Wording().feedback
POLICIES: Classes = {
    part.__name__: part
    for part in (
        *(
            AllOf,
            AlwaysAskPolicy,
            AnyOf,
            AskAbove,
            AskAfter,
            WithQuestionOptions,
            AskOncePolicy,
            AskOverBudget,
        ),
        *(NeverAskPolicy, Not, RuleList, CallRule, Answers),
    )
}
"""The policies that data may name without being told of them."""


@names_told
@frozen
class BlockingConfirmationStrategy(Described):
    """Asks through `confirmation_ui`, and waits, whenever `confirmation_policy` says so.

    Only the call that is asked about waits; other tools of the turn go on. The templates are what
    the model is told, see `Wording`.
    """

    confirmation_policy: ConfirmationPolicy | Policy
    confirmation_ui: ConfirmationUI
    reject_template: str = REJECT
    modify_template: str = MODIFY
    user_feedback_template: str = FEEDBACK

    @property
    def wording(self) -> Wording:
        """The templates."""
        return Wording(self.reject_template, self.modify_template, self.user_feedback_template)

    def run(
        self,
        tool_name: str,
        tool_description: str,
        tool_params: dict[str, Any],
        tool_call_id: str | None = None,
    ) -> ToolExecutionDecision:
        """Decide about a call by hand, outside of an agent. The policy and the UI must be blocking.

        A policy without `should_ask` can only be asked in an agent; here the human always is. The
        decision's feedback is in the human's own words: a run puts them into its templates, once.

        Raises:
            ValueError: the UI has not said anything that decides.
        """
        which = (tool_name, True, tool_call_id)
        ask = getattr(self.confirmation_policy, "should_ask", None)
        if ask is not None and ask(tool_name, tool_description, tool_params) is False:
            return ToolExecutionDecision(*which, final_tool_params=tool_params)
        answer = self.confirmation_ui.get_user_confirmation(
            tool_name, tool_description, dict(tool_params)
        )
        if not isinstance(answer, ConfirmationUIResult):
            raise TypeError(f"the UI must answer with a ConfirmationUIResult, got {answer!r:.100}")
        tell = getattr(self.confirmation_policy, "update_after_confirmation", None)
        if tell is not None:
            tell(tool_name, tool_description, tool_params, answer)
        return self._decision(which, tool_params, answer)

    def _decision(
        self,
        which: tuple[str, bool, str | None],
        tool_params: dict[str, Any],
        answer: ConfirmationUIResult,
    ) -> ToolExecutionDecision:
        name, _, call_id = which
        who: dict[str, Any] = {"by": answer.by, "credential": answer.credential}
        match answer:
            case ConfirmationUIResult("confirm", remember=remember):
                whole = (*which, None, tool_params)
                return ToolExecutionDecision(*whole, remember=remember, **who)
            case ConfirmationUIResult("modify", feedback, dict(params)):
                return ToolExecutionDecision(*which, feedback, params, **who)
            case ConfirmationUIResult("reject", feedback):
                return ToolExecutionDecision(name, False, call_id, feedback, **who)  # noqa: FBT003 - by place
            case _:
                raise ValueError(f"{answer.action!r} decides nothing about {name!r}")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], classes: Classes | None = None) -> Self:
        """What `to_dict` gave. `classes` are policies and UIs of your own, by name.

        Raises:
            StoredDataError: it names another class, or does not fit.
        """
        return super().from_dict(data, {**described_classes(), **(classes or {})})


@names_told
@frozen
class BreakpointConfirmationStrategy(Described):
    """Stops the run with `HITLBreakpointException` when a call must be confirmed.

    Attributes:
        snapshot_file_path: a folder that the snapshot is written to; None writes none.
        confirmation_policy: says which calls must be.
        reject_template: as for `BlockingConfirmationStrategy`, as the next two.
    """

    snapshot_file_path: str | None = None
    confirmation_policy: ConfirmationPolicy | Policy = field(factory=AlwaysAskPolicy)
    reject_template: str = REJECT
    modify_template: str = MODIFY
    user_feedback_template: str = FEEDBACK

    @property
    def wording(self) -> Wording:
        """The templates."""
        return Wording(self.reject_template, self.modify_template, self.user_feedback_template)

    def run(
        self,
        tool_name: str,
        tool_description: str,
        tool_params: dict[str, Any],
        tool_call_id: str | None = None,
    ) -> ToolExecutionDecision:
        """Always raises: nobody can be asked here."""
        text = f"Tool execution for '{tool_name}' requires user confirmation."
        raise HITLBreakpointException(text, tool_name, self.snapshot_file_path, tool_call_id)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], classes: Classes | None = None) -> Self:
        """What `to_dict` gave; as for `BlockingConfirmationStrategy`."""
        return super().from_dict(data, {**POLICIES, **PEOPLE, **(classes or {})})


def described_classes() -> Classes:
    """What a strategy's data may name without being told of it: strategies, policies and UIs."""
    from detent.adapters.confirmation.console import RichConsoleUI, SimpleConsoleUI

    strategies = (BlockingConfirmationStrategy, BreakpointConfirmationStrategy)
    kinds: tuple[type, ...] = (*strategies, RichConsoleUI, SimpleConsoleUI)
    return {**POLICIES, **PEOPLE, **{kind.__name__: kind for kind in kinds}}
