"""Approval: who must be asked before a tool runs, and what they may decide."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Literal, TypeAlias, get_args

from attrs import Attribute, field, frozen
from attrs.validators import deep_iterable, instance_of, optional

from detent.core.chat.messages import ToolCall, frozen_mapping
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
    """Run the call with these arguments instead, all of them."""

    arguments: FrozenDict[str, object] = field(converter=frozen_mapping)
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


def digest(run_id: str, turn: int, place: int, call: ToolCall, tool: Tool) -> str:
    """What a decision is bound to: this call of this run, this tool and exactly these arguments."""
    # By the id alone it would count for other arguments: ids are the model's, and may come again.
    bound = [run_id, turn, place, call.id, tool.name, tool.parameters, call.arguments]
    text = json.dumps(bound, sort_keys=True, separators=(",", ":"), default=repr)
    return sha256(text.encode()).hexdigest()
