"""What a server's tool has given, as parts of a message."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from detent.adapters.mcp.faults import MCPToolError
from detent.adapters.mcp.schemas import SchemaRefusedError, plain_schema
from detent.core.chat.messages import FileContent, ImageContent, ResultPart, TextContent
from detent.core.schema.validation import Validator

if TYPE_CHECKING:
    import mcp_types as types

FAULTS_MAX = 3

RESULT_MAX = 4_000_000
"""How many characters a result may have, files and all."""


def parts_of(result: types.CallToolResult, schema: object = None) -> str | list[ResultPart]:
    """The result as text, or as parts.

    A server says a structured result as text, too: where it does not, here is its JSON.

    Raises:
        MCPToolError: the tool says that it has failed, or the result is not what the server's own
            schema says, or is damaged.
    """
    parts: list[ResultPart] = [_part(block) for block in result.content]
    if not parts and result.structured_content is not None:
        parts = [TextContent(json.dumps(result.structured_content, ensure_ascii=False))]
    if (size := sum(map(_size, parts))) > RESULT_MAX:
        raise MCPToolError(f"the answer has {size} characters, and at most {RESULT_MAX} are taken")
    texts = [part.text for part in parts if isinstance(part, TextContent)]
    if result.is_error:
        raise MCPToolError("\n".join(texts) or "it failed, and does not say why")
    if schema is not None:
        _require_fit(result.structured_content, schema)
    return "\n".join(texts) if len(texts) == len(parts) else parts


def _part(block: types.ContentBlock) -> ResultPart:
    match block.type:
        case "text":
            return TextContent(block.text)
        case "image":
            return ImageContent(_base64(block.data), block.mime_type)
        case "audio":
            return FileContent(_base64(block.data), block.mime_type)
        case "resource_link":
            texts = filter(None, (block.name, block.uri, block.description))
            return TextContent(" ".join(texts))
        case "resource":
            return _resource(block.resource)


def _size(part: ResultPart) -> int:
    match part:
        case TextContent():
            return len(part.text)
        case ImageContent():
            return len(part.base64_image)
        case FileContent():
            return len(part.base64_data)


def _resource(found: types.TextResourceContents | types.BlobResourceContents) -> ResultPart:
    blob: str | None = getattr(found, "blob", None)
    if blob is None:
        return TextContent(f"{found.uri}\n{getattr(found, 'text', '')}")
    name = urlsplit(str(found.uri)).path.rpartition("/")[2]
    kind = found.mime_type or "application/octet-stream"
    if kind.startswith("image/"):
        return ImageContent(_base64(blob), kind)
    return FileContent(_base64(blob), kind, name or None)


def _base64(text: str) -> str:
    try:
        b64decode(text, validate=True)
    except ValueError:
        raise MCPToolError("a part of its result is no base64") from None
    return text


def _require_fit(value: Any, schema: object) -> None:
    """Raise MCPToolError where a result is not what the server's own schema says."""
    try:
        faults = Validator(plain_schema(schema)).faults(value, "the result")
    except (SchemaRefusedError, ValueError):
        return  # the schema of a result is a help; one that is none takes nothing from the result
    if faults:
        sentences = "; ".join(faults[:FAULTS_MAX])
        raise MCPToolError(f"its result is not what its server says that it is: {sentences}")
