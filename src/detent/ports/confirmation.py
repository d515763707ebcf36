"""The confirmation port: somebody who asks a human whether a tool may run."""

from __future__ import annotations

from typing import Any, Protocol

from attrs import frozen

from detent.core.decisions import Answered, Confirmed, Decision, Modified, Rejected


@frozen
class ConfirmationUIResult:
    """What a human said.

    `action` is "confirm", "reject", "modify" (with all of `new_tool_params`) or "respond"
    (`feedback` answers in the tool's place). Any other action leaves the call pending.
    """

    action: str
    feedback: str | None = None
    new_tool_params: dict[str, Any] | None = None


class ConfirmationUI(Protocol):
    """Asks a human, blocking."""

    def get_user_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> ConfirmationUIResult:
        """Show the call, return what the human decides. `tool_params` is a copy."""
        ...


def decision_of(result: ConfirmationUIResult) -> Decision | None:
    """The decision that a human's answer means; None, and the call stays pending, without one."""
    match result:
        case ConfirmationUIResult("confirm"):
            return Confirmed()
        case ConfirmationUIResult("modify", feedback, dict(params)):
            return Modified(params, feedback)
        case ConfirmationUIResult("reject", feedback):
            return Rejected(feedback)
        case ConfirmationUIResult("respond", str(text)):
            return Answered(text)
        case _:
            return None
