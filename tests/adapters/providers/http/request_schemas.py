"""What each API takes as a request, as JSON Schemas: closed, so that nothing foreign gets in.

They are kept by hand, after each provider's reference, and hold what this project sends of it: a
request that is valid here is of the form that is documented there. They know no member that is
only given back to the provider that gave it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Schema: TypeAlias = dict[str, Any]

TEXT: Schema = {"type": "string"}
SAID: Schema = {"type": "string", "minLength": 1}
OBJECT: Schema = {"type": "object"}
BOOLEAN: Schema = {"type": "boolean"}
BYTES: Schema = {"type": "string", "pattern": "^[A-Za-z0-9+/]*={0,2}$"}
DATA_URL: Schema = {"type": "string", "pattern": "^data:[^;,]+;base64,[A-Za-z0-9+/]*={0,2}$"}


def just(*values: object) -> Schema:
    """One of these values."""
    return {"enum": [*values]}


def record(optional: Mapping[str, Schema] | None = None, /, **required: Schema) -> Schema:
    """An object with these members and no other."""
    members = {**required, **(optional or {})}
    closed = {"additionalProperties": False, "required": [*required]}
    return {"type": "object", "properties": members, **closed}


def some(*kinds: Schema, least: int = 1) -> Schema:
    """A list of values of these kinds."""
    return {"type": "array", "items": either(*kinds), "minItems": least}


def either(*kinds: Schema) -> Schema:
    """A value of one of these kinds."""
    return {"anyOf": [*kinds]}


FUNCTION = record(name=SAID, description=TEXT, parameters=OBJECT)
FUNCTION_TOOL = record(type=just("function"), function=FUNCTION)

IMAGE_URL = record({"detail": just("auto", "low", "high")}, url=DATA_URL)
CHAT_PARTS = some(
    record(type=just("text"), text=TEXT),
    record(type=just("image_url"), image_url=IMAGE_URL),
    record(type=just("file"), file=record(filename=SAID, file_data=DATA_URL)),
)
CHAT_CALL = record(id=SAID, type=just("function"), function=record(name=SAID, arguments=TEXT))
# https://platform.openai.com/docs/api-reference/chat/create
OPENAI_CHAT = record(
    {"tools": some(FUNCTION_TOOL)},
    model=SAID,
    messages=some(
        record(role=just("system"), content=either(TEXT, CHAT_PARTS)),
        record(role=just("user"), content=either(TEXT, CHAT_PARTS)),
        record(
            {
                "content": either(TEXT, {"type": "null"}, CHAT_PARTS),
                "tool_calls": some(CHAT_CALL),
            },
            role=just("assistant"),
        ),
        record(role=just("tool"), tool_call_id=SAID, content=either(TEXT, CHAT_PARTS)),
    ),
)

IMAGE_SOURCE = record(type=just("base64"), media_type=SAID, data=BYTES)
ANTHROPIC_TEXT = record(type=just("text"), text=SAID)
ANTHROPIC_IMAGE = record(type=just("image"), source=IMAGE_SOURCE)
ANTHROPIC_FILE = record(
    {"title": TEXT},
    type=just("document"),
    source=either(IMAGE_SOURCE, record(type=just("text"), media_type=SAID, data=TEXT)),
)
ANTHROPIC_SHOWN = (ANTHROPIC_TEXT, ANTHROPIC_IMAGE, ANTHROPIC_FILE)
ANTHROPIC_RESULT = record(
    {"content": either(TEXT, some(*ANTHROPIC_SHOWN, least=0)), "is_error": BOOLEAN},
    type=just("tool_result"),
    tool_use_id=SAID,
)
ANTHROPIC_CALL = record(type=just("tool_use"), id=SAID, name=SAID, input=OBJECT)
# https://platform.claude.com/docs/en/api/messages
ANTHROPIC = record(
    {
        "system": some(ANTHROPIC_TEXT),
        "tools": some(record(name=SAID, description=TEXT, input_schema=OBJECT)),
    },
    model=SAID,
    max_tokens={"type": "integer", "minimum": 1},
    messages=some(
        record(role=just("user"), content=some(*ANTHROPIC_SHOWN, ANTHROPIC_RESULT)),
        record(role=just("assistant"), content=some(ANTHROPIC_TEXT, ANTHROPIC_CALL)),
    ),
)

GEMINI_INLINE = record(inlineData=record(mimeType=SAID, data=BYTES))
GEMINI_CALL = record(
    {"thoughtSignature": just("skip_thought_signature_validator")},
    functionCall=record(name=SAID, args=OBJECT),
)
GEMINI_RESULT = record(functionResponse=record(name=SAID, response=OBJECT))
GEMINI_TEXT = record(text=TEXT)
GEMINI_TOOL = record(name=SAID, description=TEXT, parametersJsonSchema=OBJECT)
# https://ai.google.dev/api/generate-content
GEMINI = record(
    {
        "systemInstruction": record(parts=some(GEMINI_TEXT)),
        "tools": some(record(functionDeclarations=some(GEMINI_TOOL))),
    },
    contents=some(
        record(role=just("user"), parts=some(GEMINI_TEXT, GEMINI_INLINE, GEMINI_RESULT)),
        record(role=just("model"), parts=some(GEMINI_TEXT, GEMINI_INLINE, GEMINI_CALL)),
    ),
)

INPUTS = some(
    record(type=just("input_text"), text=TEXT),
    record({"detail": just("auto", "low", "high")}, type=just("input_image"), image_url=DATA_URL),
    record(type=just("input_file"), filename=SAID, file_data=DATA_URL),
)
# https://platform.openai.com/docs/api-reference/responses/create
OPENAI_RESPONSES = record(
    {
        "include": some(just("reasoning.encrypted_content")),
        "tools": some(
            record(
                type=just("function"),
                name=SAID,
                description=TEXT,
                parameters=OBJECT,
                strict=BOOLEAN,
            )
        ),
    },
    model=SAID,
    store=BOOLEAN,
    input=some(
        record(role=just("system", "user"), content=either(TEXT, INPUTS)),
        record(role=just("assistant"), content=TEXT),
        record(type=just("function_call"), call_id=SAID, name=SAID, arguments=TEXT),
        record(type=just("function_call_output"), call_id=SAID, output=either(TEXT, INPUTS)),
    ),
)

BEDROCK_FORMATS = just("png", "jpeg", "gif", "webp")
BEDROCK_SHOWN = (
    record(text=SAID),
    record(image=record(format=BEDROCK_FORMATS, source=record(bytes=BYTES))),
    record(document=record(format=SAID, name=SAID, source=record(bytes=BYTES))),
)
BEDROCK_RESULT = record(
    toolResult=record(
        {"status": just("error", "success")},
        toolUseId=SAID,
        content=some(*BEDROCK_SHOWN, record(text=TEXT), least=0),
    )
)
BEDROCK_CALL = record(toolUse=record(toolUseId=SAID, name=SAID, input=OBJECT))
BEDROCK_TOOL = record(
    toolSpec=record({"description": TEXT}, name=SAID, inputSchema=record(json=OBJECT))
)
# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
BEDROCK = record(
    {"system": some(record(text=SAID)), "toolConfig": record(tools=some(BEDROCK_TOOL))},
    messages=some(
        record(role=just("user"), content=some(*BEDROCK_SHOWN, BEDROCK_RESULT)),
        record(role=just("assistant"), content=some(record(text=SAID), BEDROCK_CALL)),
    ),
)

COHERE_PARTS = some(
    record(type=just("text"), text=TEXT),
    record(type=just("image_url"), image_url=IMAGE_URL),
    record(type=just("document"), document=OBJECT),
)
# https://docs.cohere.com/reference/chat
COHERE = record(
    {"tools": some(FUNCTION_TOOL), "stream": BOOLEAN},
    model=SAID,
    messages=some(
        record(role=just("system", "user"), content=either(TEXT, COHERE_PARTS)),
        record(
            {
                "content": either(TEXT, COHERE_PARTS),
                "tool_calls": some(CHAT_CALL),
                "tool_plan": TEXT,
            },
            role=just("assistant"),
        ),
        record(role=just("tool"), tool_call_id=SAID, content=either(TEXT, COHERE_PARTS)),
    ),
)

OLLAMA_CALL = record(type=just("function"), function=record(name=SAID, arguments=OBJECT))
# https://docs.ollama.com/api/chat
OLLAMA = record(
    {"tools": some(FUNCTION_TOOL), "stream": BOOLEAN},
    model=SAID,
    messages=some(
        record({"images": some(BYTES)}, role=just("system", "user"), content=TEXT),
        record(
            {"tool_calls": some(OLLAMA_CALL), "thinking": TEXT, "content": TEXT},
            role=just("assistant"),
        ),
        record(
            {"tool_call_id": SAID, "images": some(BYTES)},
            role=just("tool"),
            tool_name=SAID,
            content=TEXT,
        ),
    ),
)

REQUESTS: Mapping[str, Schema] = {
    "anthropic": ANTHROPIC,
    "bedrock_converse": BEDROCK,
    "cohere": COHERE,
    "gemini": GEMINI,
    "ollama": OLLAMA,
    "openai_chat": OPENAI_CHAT,
    "openai_responses": OPENAI_RESPONSES,
}
"""By the names of the files of recorded traffic."""
