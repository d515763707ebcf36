"""Results: what a tool of an MCP server has given, as parts of a message."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias

from detent.core.chat.messages import FileContent, ImageContent, TextContent
from detent.core.errors import DetentError

if TYPE_CHECKING:
    from mcp_types import CallToolResult, ContentBlock, EmbeddedResource

Part: TypeAlias = TextContent | ImageContent | FileContent


class MCPToolError(DetentError):
    """A tool of an MCP server says that it has failed. The text is the server's."""


def value_of(result: CallToolResult, most: int) -> str | list[Part]:
    """A text, where the result is nothing else; its parts where it is more.

    Args:
        result: what the server has answered.
        most: how many characters it may have, files and all.

    Raises:
        MCPToolError: the server says that the call has failed, or its answer is too long.
    """
    parts: list[Part] = [_part(block) for block in result.content]
    if not parts and result.structured_content is not None:
        parts = [TextContent(json.dumps(result.structured_content, ensure_ascii=False))]
    size = sum(map(_size, parts))
    if size > most:
        raise MCPToolError(f"the answer has {size} characters, and at most {most} are taken")
    texts = [part.text for part in parts if isinstance(part, TextContent)]
    if result.is_error:
        raise MCPToolError("\n".join(texts) or "the tool has failed, and says no more")
    return "\n".join(texts) if len(texts) == len(parts) else parts


def _part(block: ContentBlock) -> Part:
    match block.type:
        case "text":
            return TextContent(block.text)
        case "image":
            return ImageContent(block.data, block.mime_type)
        case "audio":
            return FileContent(block.data, block.mime_type)
        case "resource":
            return _resource(block)
        case "resource_link":
            return TextContent(" ".join(filter(None, (block.name, block.uri, block.description))))


def _resource(block: EmbeddedResource) -> Part:
    from mcp_types import TextResourceContents

    held = block.resource
    if isinstance(held, TextResourceContents):
        return TextContent(f"{held.uri}\n{held.text}")
    mime_type = held.mime_type or "application/octet-stream"
    return FileContent(held.blob, mime_type, held.uri.rsplit("/", 1)[-1] or None)


def _size(part: Part) -> int:
    match part:
        case TextContent():
            return len(part.text)
        case ImageContent():
            return len(part.base64_image)
        case FileContent():
            return len(part.base64_data)
