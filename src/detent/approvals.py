"""Approvals: who is asked before a tool runs, what may be answered, and how it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detent.adapters.confirmation.console import RichConsoleUI as RichConsoleUI
    from detent.adapters.confirmation.console import SimpleConsoleUI as SimpleConsoleUI
    from detent.adapters.confirmation.strategies import (
        BlockingConfirmationStrategy as BlockingConfirmationStrategy,
    )
    from detent.adapters.confirmation.strategies import (
        BreakpointConfirmationStrategy as BreakpointConfirmationStrategy,
    )
    from detent.core.control.judging import judge as judge
    from detent.core.control.pending import PendingCall as PendingCall
    from detent.core.control.pending import ToolExecutionDecision as ToolExecutionDecision
    from detent.core.control.pending import pending as pending
    from detent.core.control.policies import AllOf as AllOf
    from detent.core.control.policies import AlwaysAskPolicy as AlwaysAskPolicy
    from detent.core.control.policies import AnyOf as AnyOf
    from detent.core.control.policies import AskAbove as AskAbove
    from detent.core.control.policies import AskAfter as AskAfter
    from detent.core.control.policies import AskOncePolicy as AskOncePolicy
    from detent.core.control.policies import AskOverBudget as AskOverBudget
    from detent.core.control.policies import AskWhen as AskWhen
    from detent.core.control.policies import NeverAskPolicy as NeverAskPolicy
    from detent.core.control.policies import Not as Not
    from detent.core.control.policies import WithQuestionOptions as WithQuestionOptions
    from detent.core.machine.refusals import DecisionRefusedError as DecisionRefusedError
    from detent.core.machine.refusals import Refusal as Refusal
    from detent.core.run.decisions import Allow as Allow
    from detent.core.run.decisions import Answered as Answered
    from detent.core.run.decisions import Ask as Ask
    from detent.core.run.decisions import Confirmed as Confirmed
    from detent.core.run.decisions import Decision as Decision
    from detent.core.run.decisions import Modified as Modified
    from detent.core.run.decisions import Rejected as Rejected
    from detent.core.run.decisions import Scope as Scope
    from detent.core.run.decisions import Verdict as Verdict
    from detent.core.run.effects import Policy as Policy
    from detent.core.run.grants import DecisionRecord as DecisionRecord
    from detent.core.run.grants import Grant as Grant
    from detent.core.tools.wording import Wording as Wording
    from detent.ports.confirmation import ConfirmationPolicy as ConfirmationPolicy
    from detent.ports.confirmation import ConfirmationStrategy as ConfirmationStrategy
    from detent.ports.confirmation import ConfirmationUI as ConfirmationUI
    from detent.ports.confirmation import ConfirmationUIResult as ConfirmationUIResult
    from detent.ports.confirmation import HITLBreakpointException as HITLBreakpointException
else:
    from detent.exports import lazy_exports

    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "adapters.confirmation.console": "RichConsoleUI SimpleConsoleUI",
            "adapters.confirmation.strategies": (
                "BlockingConfirmationStrategy BreakpointConfirmationStrategy"
            ),
            "core.control.judging": "judge",
            "core.control.pending": "PendingCall ToolExecutionDecision pending",
            "core.control.policies": (
                "AllOf AlwaysAskPolicy AnyOf AskAbove AskAfter AskOncePolicy AskOverBudget "
                "AskWhen NeverAskPolicy Not WithQuestionOptions"
            ),
            "core.machine.refusals": "DecisionRefusedError Refusal",
            "core.run.decisions": (
                "Allow Answered Ask Confirmed Decision Modified Rejected Scope Verdict"
            ),
            "core.run.effects": "Policy",
            "core.run.grants": "DecisionRecord Grant",
            "core.tools.wording": "Wording",
            "ports.confirmation": (
                "ConfirmationPolicy ConfirmationStrategy ConfirmationUI ConfirmationUIResult "
                "HITLBreakpointException"
            ),
        },
    )
