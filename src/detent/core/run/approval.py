"""Approval: who must be asked before a tool runs, what they may decide, and how long it counts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Literal, TypeAlias, get_args

from attrs import Attribute, field, frozen
from attrs.validators import deep_iterable, instance_of, optional

from detent.core.chat.messages import ToolCall, frozen_mapping
from detent.core.run.refs import CallRef, Path
from detent.core.tools.tool import Tool
from detent.core.values.frozen import FrozenDict


@frozen
class Allow:
    """The call may run."""


Scope: TypeAlias = Literal["call", "arguments", "tool"]
"""What a confirmation counts for: this call, this tool with these arguments, or this tool.

The last two for the rest of the run, or until somebody revokes it.
"""

_is_text, _is_tuple = instance_of(str), instance_of(tuple)
_may_be_text = optional(_is_text)


def is_scope(instance: object, attribute: Attribute[Scope], value: Scope) -> None:
    """A validator. Raises ValueError for what is no scope."""
    if value not in get_args(Scope):
        raise ValueError(f"'remember' is 'call', 'arguments' or 'tool', got {value!r:.100}")


@frozen
class Ask:
    """A human must decide.

    Attributes:
        reason: why, for the human.
        remember: what a plain confirmation counts for.
        expires_s: after so many seconds no confirmation counts any more; None is never.
        reveals: the parameters filled from the state whose values the human is shown.
    """

    reason: str = field(default="", validator=_is_text)
    remember: Scope = field(default="call", validator=is_scope)
    expires_s: float | None = field(default=None, validator=optional(instance_of((int, float))))
    reveals: tuple[str, ...] = field(default=(), validator=deep_iterable(_is_text, _is_tuple))


Verdict: TypeAlias = Allow | Ask


@frozen
class Confirmed:
    """Run the call as it is. `remember` says for which other calls that counts, too."""

    remember: Scope = field(default="call", validator=is_scope)


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
class DecisionRecord:
    """A decision that counted: about which call, by whom, and when in seconds since 1970.

    `path` says of which agent inside the run the call is.
    """

    ref: CallRef
    call: ToolCall
    decision: Decision
    by: str | None = None
    at: float | None = None
    path: Path = ()


@frozen
class Grant:
    """A confirmation that is remembered: calls that it covers are not asked about in this run.

    Attributes:
        ref: the call that was confirmed; `GrantRevoked` names the grant by it.
        call: that call; a grant of scope "arguments" covers calls that are equal to it.
        scope: "arguments" or "tool".
        covers: a digest of all that a call must have in common with it.
        by: who gave it.
        at: when, in seconds since 1970.
        path: of which agent inside the run the call is.
    """

    ref: CallRef
    call: ToolCall
    scope: Scope
    covers: str
    by: str | None = None
    at: float | None = None
    path: Path = ()


def digest(run_id: str, turn: int, place: int, call: ToolCall, tool: Tool) -> str:
    """What a decision is bound to: this call of this run, this tool and exactly these arguments."""
    # By the id alone it would count for other arguments: ids are the model's, and may come again.
    return _hash(run_id, turn, place, call.id, tool.name, tool.parameters, call.arguments)


def covered(run_id: str, scope: Scope, call: ToolCall, tool: Tool) -> str:
    """What a grant of `scope` is bound to: this run, this tool, and maybe these arguments."""
    # With the schema: a process with another version of the tool must ask again.
    arguments = call.arguments if scope == "arguments" else None
    return _hash(run_id, scope, tool.name, tool.parameters, arguments)


def is_granted(grants: Iterable[Grant], run_id: str, call: ToolCall, tool: Tool) -> bool:
    """Whether one of `grants` covers the call."""
    return any(grant.covers == covered(run_id, grant.scope, call, tool) for grant in grants)


def _hash(*bound: object) -> str:
    text = json.dumps(bound, sort_keys=True, separators=(",", ":"), default=repr)
    return sha256(text.encode()).hexdigest()
