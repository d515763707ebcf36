"""The approvers port: somebody who says who decides."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Literal, Protocol, TypeAlias

from detent.core.chat.messages import ToolCall
from detent.core.control.decisions import ToolExecutionDecision
from detent.core.machine.calls import UNKNOWN_PERSON, Refusal
from detent.core.run.approval import Principal
from detent.core.run.effects import Vouches
from detent.core.run.events import HumanDecided
from detent.core.tools.tool import Tool
from detent.ports.pending import PendingCall

Identified: TypeAlias = Principal | Refusal | None
Wanted: TypeAlias = Literal["nothing", "credential", "signature"]
"""What a decision brings along so that it is known whose it is: "nothing" where nobody asks, what
its person is known by, or what they have signed where they decide."""


class Authenticator(Protocol):
    """Says who makes a decision: it looks at `ToolExecutionDecision.credential`.

    One with a method ``vouches(event: HumanDecided, call: ToolCall, tool: Tool) -> bool`` is asked
    by that each time that a decision counts, also when it is read from a journal: whether it is
    really that of the person whom it names. It must be pure.

    One whose ``wants_signature`` is True takes what a person has signed where they decide, and
    nothing by which somebody has signed in: a page has no answer for it.
    """

    def __call__(
        self, decision: ToolExecutionDecision, question: PendingCall, /
    ) -> Identified | Awaitable[Identified]:
        """Who decides; None, or a `Refusal` that says why, where that is not known."""
        ...


def vouches_of(approvers: Authenticator | None) -> Vouches | None:
    """What decisions are held against; None where nobody asks who decides."""
    return None if approvers is None else _own_vouches(approvers) or _believes


def wanted_by(approvers: Authenticator | None) -> Wanted:
    """What an agent's decisions bring along."""
    if approvers is None:
        return "nothing"
    return "signature" if getattr(approvers, "wants_signature", False) else "credential"


def keeps_proofs(approvers: Authenticator) -> bool:
    """Whether it can tell from a decision that is kept who has made it, without being there."""
    return _own_vouches(approvers) is not None


def _own_vouches(approvers: Authenticator) -> Vouches | None:
    return getattr(approvers, "vouches", None)


def _believes(event: HumanDecided, call: ToolCall, tool: Tool) -> bool:
    """Whom the authenticator has named, it has named; nothing can be looked at again."""
    return event.who is not None


def identified(answer: Any) -> Principal | Refusal:
    """What an authenticator has said.

    Raises:
        TypeError: it is no answer.
    """
    if isinstance(answer, Principal | Refusal):
        return answer
    if answer is None:
        return Refusal("unauthenticated", UNKNOWN_PERSON)
    raise TypeError(
        "approvers answer with a Principal, or with None or a Refusal where they do not know who "
        f"decides, got {type(answer).__name__}"
    )
