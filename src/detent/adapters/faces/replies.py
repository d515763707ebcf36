"""Replies: what clients of all faces get by HTTP, and in the same words."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping

from starlette.responses import Response, StreamingResponse

from detent.adapters.faces.entrance import TurnedAwayError
from detent.adapters.system.terminal import escape_control
from detent.core.chat.messages import ToolCall
from detent.core.run.outcomes import Failed
from detent.core.tools.masking import masked
from detent.core.values.frozen import thaw
from detent.ports.pending import PendingCall

KEEP_ALIVE = ": keep-alive\n\n"
"""What a stream says where it has nothing to say: else what stands between ends it."""


def as_response(
    body: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """JSON in ASCII: what a model has written may be no text that can be encoded."""
    return Response(json.dumps(body), status, headers, "application/json")


def event_stream(events: AsyncGenerator[str]) -> StreamingResponse:
    """Server-sent events that nobody keeps or holds back."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


def event(body: object, kind: str = "") -> str:
    """One server-sent event, in ASCII as well."""
    return f"{f'event: {kind}' if kind else ''}\ndata: {json.dumps(body)}\n\n".lstrip()


def turned_away(error: TurnedAwayError) -> Response:
    """Why a request is not answered, where the protocol has no words for it."""
    headers = {"WWW-Authenticate": "Bearer"} if error.code == "unauthorized" else None
    body = {"error": {"code": error.code, "message": error.text}}
    return as_response(body, error.status, headers)


def unreadable(error: Exception) -> str:
    """That a run cannot be told now; nothing of the store gets out."""
    return f"the run cannot be read now; what is done of it stays ({type(error).__name__})"


def failure_text(outcome: Failed) -> tuple[str, str]:
    """Why a run has failed: in a word for programs, and in a sentence."""
    cause = str(getattr(outcome.failure, "cause", "tool_failure"))
    return cause, f"the run has failed: {cause}"


def sound(text: str) -> str:
    """The text without half characters, which a model may write and nothing can encode."""
    return text.encode(errors="replace").decode()


def arguments_text(call: ToolCall) -> str:
    """The arguments of a call as JSON, without what is secret."""
    return json.dumps(thaw(masked(call.arguments, call.secret)), default=repr)


def question_line(call: PendingCall) -> str:
    """All that would run, in a line: JSON shows what cannot be seen.

    RULE: what the state fills in belongs to it. Who says yes to an amount has to see for whom.
    """
    plain = call.to_dict()
    line = f"{call.tool_name} {json.dumps(plain['arguments'], default=repr)}"
    if plain["state"]:
        line += f", from the state {json.dumps(plain['state'], default=repr)}"
    return line + "".join(f", in {json.dumps(name)}" for name in call.agents)


def question_reasons(call: PendingCall) -> list[str]:
    """What a call does and why somebody is asked, a line each.

    RULE: both may say what a model, or somebody else's server, has written. As JSON they make no
    line of their own, and nothing in them steers or turns round what stands beside it.
    """
    texts = {"description": call.description, "reason": call.reason}
    return [f"{name}: {quoted(text)}" for name, text in texts.items() if text]


def quoted(value: object) -> str:
    """A value from elsewhere as JSON that people read, in one line."""
    return escape_control(json.dumps(value, ensure_ascii=False))


def question_text(call: PendingCall, note: str = "", lead: str = "") -> str:
    """A question in words: what would run, and why somebody is asked."""
    why_not = escape_control(note).replace("\n", "\\n")
    lines = (why_not, lead + question_line(call), *question_reasons(call))
    return "\n".join(filter(None, lines))
