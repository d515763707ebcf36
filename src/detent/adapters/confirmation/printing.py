"""A streaming callback that prints a run as it happens."""

from __future__ import annotations

from detent.adapters.system.terminal import escape_control
from detent.core.chat.replies import StreamingChunk


def print_streaming_chunk(chunk: StreamingChunk) -> None:
    """Print text as it comes, tool calls by name and arguments, and tool results."""
    for call in chunk.tool_calls:
        if call.tool_name:
            print(f"\n[calls {escape_control(call.tool_name)}] ", end="", flush=True)
        print(escape_control(call.arguments), end="", flush=True)
    if chunk.content:
        print(escape_control(chunk.content), end="", flush=True)
    if chunk.tool_call_result is not None:
        name, mark = (
            chunk.tool_call_result.origin.tool_name,
            " failed" if chunk.tool_call_result.error else "",
        )
        print(f"\n[{name}{mark}] {escape_control(chunk.tool_call_result.text)}", flush=True)
    if chunk.finish_reason == "discarded":
        print("\n[the answer broke off; what was printed of it does not count]", end="", flush=True)
    if chunk.finish_reason is not None:
        print(flush=True)
