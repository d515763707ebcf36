"""A streaming callback that prints a run as it happens."""

from __future__ import annotations

from detent.adapters.system.terminal import escape_control, print_text
from detent.ports.chat import StreamingChunk


def print_streaming_chunk(chunk: StreamingChunk) -> None:
    """Print text as it comes, tool calls by name and arguments, and tool results.

    Nothing of it steers the terminal, or looks like a question of a console UI.
    """
    for call in chunk.tool_calls:
        if call.tool_name:
            _put(f"\n[calls {call.tool_name}] ")
        _put(call.arguments)
    _put(chunk.content)
    if chunk.tool_call_result is not None:
        name, state = (
            chunk.tool_call_result.origin.tool_name,
            " failed" if chunk.tool_call_result.error else "",
        )
        _put(f"\n[{name}{state}] {chunk.tool_call_result.text}\n")
    if chunk.finish_reason == "discarded":
        _put("\n[the answer broke off; what was printed of it does not count]")
    if chunk.finish_reason is not None:
        _put("\n")


def _put(text: str) -> None:
    if text:
        print_text(escape_control(text), end="")
