"""Grants: a confirmation that counts for further calls of its run, and the record of decisions."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256

from attrs import frozen

from detent.core.chat.messages import ToolCall
from detent.core.run.decisions import Decision, Scope
from detent.core.run.refs import CallRef, Path
from detent.core.tools.tool import Tool


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


def covered(run_id: str, scope: Scope, call: ToolCall, tool: Tool) -> str:
    """What a grant of `scope` is bound to: this run, this tool, and maybe these arguments."""
    # With the schema: a process with another version of the tool must ask again.
    arguments = call.arguments if scope == "arguments" else None
    bound = [run_id, scope, tool.name, tool.parameters, arguments]
    text = json.dumps(bound, sort_keys=True, separators=(",", ":"), default=repr)
    return sha256(text.encode()).hexdigest()


def is_granted(grants: Iterable[Grant], run_id: str, call: ToolCall, tool: Tool) -> bool:
    """Whether one of `grants` covers the call."""
    return any(grant.covers == covered(run_id, grant.scope, call, tool) for grant in grants)
