"""Mistakes with messages."""

from __future__ import annotations

from detent.core.chat.messages import ChatMessage, TextContent, ToolCall

message = ChatMessage.from_user("How many?")
message.name = "Ada"  # E
message.content[0] = TextContent("How few?")  # E
message.text.upper()  # E
ChatMessage.from_user(7)  # E
ChatMessage.from_assistant("Seven", tool_calls=["count"])  # E
ChatMessage.from_tool("7")  # E

call = ToolCall("count", {"of": "files"})
call.arguments = {}  # E
call.argument  # E
ToolCall(name="count")  # E
