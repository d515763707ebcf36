"""The confirmation port: somebody who asks a human whether a tool may run."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Protocol

from attrs import field, frozen

from detent.core.control.decisions import ToolExecutionDecision
from detent.core.errors import DetentError
from detent.core.run.approval import Answered, Confirmed, Decision, Modified, Rejected, Scope
from detent.core.values.checks import names_told
from detent.ports.pending import PendingCall

if TYPE_CHECKING:
    from detent.core.storage.snapshot import AgentSnapshot
    from detent.ports.results import AgentResult


@names_told
@frozen
class ConfirmationUIResult:
    """What a human said.

    `action` is "confirm", "reject", "modify" (with all of `new_tool_params`) or "respond"
    (`feedback` answers in the tool's place). Any other action leaves the call pending. `remember`
    says what a confirmation counts for, and where it is None the question does; `by` is who said
    it, `credential` what proves that to an agent's approvers.
    """

    action: str
    feedback: str | None = None
    # it knows not which are secret
    new_tool_params: dict[str, Any] | None = field(
        default=None, repr=lambda by_kind: f"<{', '.join(by_kind or ())}>"
    )
    remember: Scope | None = None
    by: str | None = None
    credential: str | None = field(default=None, repr=False)


class ConfirmationUI(Protocol):
    """Asks a human, blocking or asynchronously.

    A UI that has `get_user_decision(pending: PendingCall)` is asked by that instead: it sees the
    whole question, with the schema that changed arguments must fit.
    """

    def get_user_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> ConfirmationUIResult | Awaitable[ConfirmationUIResult]:
        """Show the call, return what the human decides. `tool_params` is a copy.

        A change that does not fit the tool is asked about again; the description says why.
        """
        ...


class ConfirmationPolicy(Protocol):
    """Says whether a human must be asked about a call. It is asked once for each call.

    It may be asynchronous. One that has `update_after_confirmation` as well is told, with the same
    arguments and the `ConfirmationUIResult`, what was decided: at least once, also of decisions
    made before, when another process goes on with the run. That may be asynchronous, too, but the
    run waits for it: in another event loop than its own.
    """

    def should_ask(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> bool | Awaitable[bool]:
        """Whether a human must decide about this call."""
        ...


class ConfirmationStrategy(Protocol):
    """Decides about each call of the tools that it is given for, blocking or asynchronously."""

    def run(
        self,
        tool_name: str,
        tool_description: str,
        tool_params: dict[str, Any],
        tool_call_id: str | None = None,
    ) -> ToolExecutionDecision | Awaitable[ToolExecutionDecision]:
        """The decision.

        Raises:
            HITLBreakpointException: nobody can say now: the run is to stop and wait.
        """
        ...


class HITLBreakpointException(DetentError):  # noqa: N818 - the name that users know
    """A run has stopped because calls wait for a human whom nobody here can ask.

    `tool_name` and `tool_call_id` are those of the first such call, `pending` has all of them,
    `result` is the run so far, `snapshot_file_path` the file that holds it, if there is one.
    """

    def __init__(
        self,
        message: str,
        tool_name: str,
        snapshot_file_path: str | None = None,
        tool_call_id: str | None = None,
        *,
        result: AgentResult[Any, Any] | None = None,
        pending: tuple[PendingCall, ...] = (),
    ) -> None:
        super().__init__(message)
        self.tool_name = tool_name
        self.snapshot_file_path = snapshot_file_path
        self.tool_call_id = tool_call_id
        self.pending = pending
        self._result = result

    @property
    def result(self) -> AgentResult[Any, Any]:
        """The run so far."""
        if self._result is None:
            raise ValueError("a strategy has raised this by itself; there is no run to go on with")
        return self._result

    @property
    def snapshot(self) -> AgentSnapshot:
        """What any process with the same agent can go on with, once there are decisions."""
        return self.result.snapshot


def decision_of(result: ConfirmationUIResult) -> Decision | None:
    """The decision that a human's answer means; None, and the call stays pending, without one."""
    match result:
        case ConfirmationUIResult(
            "confirm", remember=None | "call" | "arguments" | "tool" as remember
        ):
            return Confirmed(remember)
        case ConfirmationUIResult("modify", None | str() as feedback, dict(params)):
            return Modified(params, feedback)
        case ConfirmationUIResult("reject", None | str() as feedback):
            return Rejected(feedback)
        case ConfirmationUIResult("respond", str(text)):
            return Answered(text)
        case _:
            return None


def result_for(decision: Decision, by: str | None = None) -> ConfirmationUIResult:
    """The answer of a human that a decision stands for."""
    match decision:
        case Confirmed(remember):
            return ConfirmationUIResult("confirm", remember=remember, by=by)
        case Modified(arguments, feedback):
            return ConfirmationUIResult("modify", feedback, dict(arguments), by=by)
        case Rejected(feedback):
            return ConfirmationUIResult("reject", feedback, by=by)
        case Answered(text):
            return ConfirmationUIResult("respond", text, by=by)
