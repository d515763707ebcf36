"""A run as text, for people who read why a test has failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import indent
from typing import Any

from detent.core.chat.messages import ChatMessage, Content, TextContent, ToolCall, ToolCallResult
from detent.core.chat.messages import ReasoningContent as Reasoning
from detent.core.run.run import AwaitingDecision, Delegated, Run, Slot
from detent.core.storage.journal import status_of
from detent.core.tools.masking import MASK, masked, shown_result
from detent.ports.results import AgentResult

MARGIN = 11
"""How far texts are indented, to stand beside who says them."""

TEXT_MAX = 2000
"""Longer texts are cut."""


def transcript(of: AgentResult[Any, Any] | Run[Any] | Sequence[ChatMessage]) -> str:
    """What was said and done, one line for each part of a message, with who said it.

    Of a run it also says how far it has come, with the calls of a turn that is not over yet, and
    the same of the agents that work on these. A result is told as people may see it.

    >>> print(transcript([ChatMessage.from_user("How is Oslo?")]))
    user       How is Oslo?
    """
    run = of.run if isinstance(of, AgentResult) else of
    if not isinstance(run, Run):
        return "\n".join(_conversation(run))
    return "\n".join((_head(run), *_conversation(run.messages), *map(_unanswered, run.slots)))


def call_text(call: ToolCall) -> str:
    """A call as Python would write it, with masks in place of secrets."""
    if call.unreadable is not None:
        text = MASK if call.secret else _shortened(call.unreadable)
        return f"{call.tool_name}({text}) [unreadable]"
    values = masked(call.arguments, call.secret)
    arguments = ", ".join(f"{name}={value!r}" for name, value in values.items())
    return f"{call.tool_name}({_shortened(arguments)})"


def _head(run: Run[Any]) -> str:
    how = run.outcome.exit_reason if run.outcome is not None else status_of(run)
    return f"run {run.id}: {how}, turn {run.turn}, {run.usage.total_tokens} tokens"


def _conversation(messages: Sequence[ChatMessage]) -> Iterator[str]:
    for message in messages:
        for part in message.content:
            who = part.origin.tool_name if isinstance(part, ToolCallResult) else message.role.value
            yield _beside(who, _part_text(part))


def _unanswered(slot: Slot) -> str:
    status = type(slot.status).__name__
    why = f" {slot.status.reason}" if isinstance(slot.status, AwaitingDecision) else ""
    line = _beside("call", f"{call_text(slot.call)} [{status}]{why}")
    if isinstance(slot.status, Delegated):
        return f"{line}\n{indent(transcript(slot.status.run), ' ' * MARGIN)}"
    return line


def _part_text(part: Content) -> str:
    match part:
        case TextContent(text):
            return _shortened(text)
        case Reasoning(text):
            return f"[thinks] {_shortened(text)}"
        case ToolCall():
            return f"→ {call_text(part)}"
        case ToolCallResult():
            return f"{'[failed] ' if part.error else ''}{_shortened(shown_result(part).text)}"
        case _:
            return repr(part)


def _beside(who: str, text: str) -> str:
    whole = indent(text, " " * MARGIN, lambda line: True).rstrip()
    return f"{who:{MARGIN}}"[: max(MARGIN, len(who))] + (
        whole[MARGIN:] if len(who) < MARGIN else f"\n{whole}"
    )


def _shortened(text: str) -> str:
    more = len(text) - TEXT_MAX
    return f"{text[:TEXT_MAX]}… {more} more characters" if more > 0 else text
