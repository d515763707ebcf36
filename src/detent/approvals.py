"""Approvals: who is asked before a tool runs, what may be answered, and how it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detent.adapters.agent.records.audit import AuditRecord as AuditRecord
    from detent.adapters.agent.records.audit import audit_log as audit_log
    from detent.adapters.confirmation.call_rules import CallRule as CallRule
    from detent.adapters.confirmation.call_rules import RuleList as RuleList
    from detent.adapters.confirmation.console import RichConsoleUI as RichConsoleUI
    from detent.adapters.confirmation.console import SimpleConsoleUI as SimpleConsoleUI
    from detent.adapters.confirmation.people import AskIfLabelled as AskIfLabelled
    from detent.adapters.confirmation.people import WithApprovers as WithApprovers
    from detent.adapters.confirmation.policies import AllOf as AllOf
    from detent.adapters.confirmation.policies import AlwaysAskPolicy as AlwaysAskPolicy
    from detent.adapters.confirmation.policies import AnyOf as AnyOf
    from detent.adapters.confirmation.policies import AskAbove as AskAbove
    from detent.adapters.confirmation.policies import AskOncePolicy as AskOncePolicy
    from detent.adapters.confirmation.policies import AskWhen as AskWhen
    from detent.adapters.confirmation.policies import NeverAskPolicy as NeverAskPolicy
    from detent.adapters.confirmation.policies import Not as Not
    from detent.adapters.confirmation.policies import WithQuestionOptions as WithQuestionOptions
    from detent.adapters.confirmation.signatures import ApproverKey as ApproverKey
    from detent.adapters.confirmation.signatures import ApproverKeys as ApproverKeys
    from detent.adapters.confirmation.signatures import Signer as Signer
    from detent.adapters.confirmation.strategies import (
        BlockingConfirmationStrategy as BlockingConfirmationStrategy,
    )
    from detent.adapters.confirmation.strategies import (
        BreakpointConfirmationStrategy as BreakpointConfirmationStrategy,
    )
    from detent.adapters.confirmation.tallies import AskAfter as AskAfter
    from detent.adapters.confirmation.tallies import AskOverBudget as AskOverBudget
    from detent.adapters.drivers.judging import judge as judge
    from detent.adapters.journals.audited import Audit as Audit
    from detent.adapters.journals.audited import AuditedJournal as AuditedJournal
    from detent.adapters.journals.audited import verify_audit as verify_audit
    from detent.core.control.decisions import ToolExecutionDecision as ToolExecutionDecision
    from detent.core.machine.binding import OutdatedQuestion as OutdatedQuestion
    from detent.core.machine.calls import DecisionRefusedError as DecisionRefusedError
    from detent.core.machine.calls import Refusal as Refusal
    from detent.core.run.approval import Allow as Allow
    from detent.core.run.approval import Answered as Answered
    from detent.core.run.approval import Answers as Answers
    from detent.core.run.approval import Approvers as Approvers
    from detent.core.run.approval import Ask as Ask
    from detent.core.run.approval import Binding as Binding
    from detent.core.run.approval import Confirmed as Confirmed
    from detent.core.run.approval import Decision as Decision
    from detent.core.run.approval import DecisionRecord as DecisionRecord
    from detent.core.run.approval import Deny as Deny
    from detent.core.run.approval import Grant as Grant
    from detent.core.run.approval import Modified as Modified
    from detent.core.run.approval import Principal as Principal
    from detent.core.run.approval import Rejected as Rejected
    from detent.core.run.approval import Scope as Scope
    from detent.core.run.approval import Verdict as Verdict
    from detent.core.run.effects import Policy as Policy
    from detent.core.tools.wording import Wording as Wording
    from detent.ports.approvers import Authenticator as Authenticator
    from detent.ports.confirmation import ConfirmationPolicy as ConfirmationPolicy
    from detent.ports.confirmation import ConfirmationStrategy as ConfirmationStrategy
    from detent.ports.confirmation import ConfirmationUI as ConfirmationUI
    from detent.ports.confirmation import ConfirmationUIResult as ConfirmationUIResult
    from detent.ports.confirmation import HITLBreakpointException as HITLBreakpointException
    from detent.ports.pending import OutdatedQuestionError as OutdatedQuestionError
    from detent.ports.pending import PendingCall as PendingCall
    from detent.ports.pending import pending as pending
else:
    from detent.exports import lazy_exports

    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "adapters.agent.records.audit": "AuditRecord audit_log",
            "adapters.confirmation.call_rules": "CallRule RuleList",
            "adapters.confirmation.console": "RichConsoleUI SimpleConsoleUI",
            "adapters.confirmation.people": "AskIfLabelled WithApprovers",
            "adapters.confirmation.policies": (
                "AllOf AlwaysAskPolicy AnyOf AskAbove AskOncePolicy AskWhen "
                "NeverAskPolicy Not WithQuestionOptions"
            ),
            "adapters.confirmation.signatures": "ApproverKey ApproverKeys Signer",
            "adapters.confirmation.strategies": (
                "BlockingConfirmationStrategy BreakpointConfirmationStrategy"
            ),
            "adapters.confirmation.tallies": "AskAfter AskOverBudget",
            "adapters.drivers.judging": "judge",
            "adapters.journals.audited": "Audit AuditedJournal verify_audit",
            "core.control.decisions": "ToolExecutionDecision",
            "core.machine.binding": "OutdatedQuestion",
            "core.machine.calls": "DecisionRefusedError Refusal",
            "core.run.approval": (
                "Allow Answered Answers Approvers Ask Binding Confirmed Decision DecisionRecord "
                "Deny Grant Modified Principal Rejected Scope Verdict"
            ),
            "core.run.effects": "Policy",
            "core.tools.wording": "Wording",
            "ports.approvers": "Authenticator",
            "ports.confirmation": (
                "ConfirmationPolicy ConfirmationStrategy ConfirmationUI ConfirmationUIResult "
                "HITLBreakpointException"
            ),
            "ports.pending": "OutdatedQuestionError PendingCall pending",
        },
    )
