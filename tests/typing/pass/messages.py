"""Messages and their parts have exact types."""

from __future__ import annotations

from typing import assert_type

from detent.core.chat.messages import ChatMessage, ChatRole, TextContent, ToolCall, ToolCallResult

question = ChatMessage.from_user("How many?")
assert_type(question.role, ChatRole)
assert_type(question.text, str | None)
assert_type(question.tool_calls, tuple[ToolCall, ...])

call = ToolCall("count", {"of": "files"}, id="1")
assert_type(call.id, str | None)
answer = ChatMessage.from_tool([TextContent("7")], origin=call)
assert_type(answer.tool_call_result, ToolCallResult | None)
