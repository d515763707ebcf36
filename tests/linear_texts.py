"""What takes a text that a model, a tool, a server or a human has written."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from typing import Any

from detent import ChatMessage, FileContent, OutputType, ToolCall
from detent.adapters.confirmation.console import _value
from detent.adapters.confirmation.rows import barred
from detent.adapters.faces.openai_texts import in_code
from detent.adapters.faces.replies import sound
from detent.adapters.mcp.definitions import _clean
from detent.adapters.providers.gemini.calls import steps_of
from detent.adapters.providers.http.failures import failure_of_status, retry_after_s
from detent.adapters.providers.http.payloads import LineDecoder, PayloadDecoder
from detent.adapters.providers.http.secrets import redacted as without_keys
from detent.adapters.providers.http.sse import SSEDecoder
from detent.adapters.providers.meaning.media import image_of_url
from detent.adapters.providers.meaning.wire import read_arguments
from detent.adapters.system.terminal import escape_control
from detent.adapters.testing.doubles.scrubbing import scrub_secrets
from detent.adapters.testing.doubles.transcripts import transcript
from detent.adapters.web.rendering import ENVIRONMENT
from detent.core.schema.conversion import ConversionError, convert
from detent.core.schema.scalars import duration
from detent.core.schema.validation import Validator
from detent.core.state.stored import messages_from_json
from detent.core.tools.masking import shown_content
from detent.core.tools.redaction import redact, without_secrets
from detent.core.values.short_repr import short_repr

LENIENT = (ValueError, LookupError, TypeError, RecursionError, ConversionError)
"""What a hostile text may be refused with."""

CHUNK = 1000
PATTERN = {"type": "string", "pattern": '^(a+)+$|(\\s*,)*x|[^"]*"[^"]*"end'}
WRONG = {"properties": {"it": {"enum": ["x"]}, "other": {"type": "integer"}}, "required": ["no"]}
OPTIONS = {"anyOf": [{"type": "string", "format": form} for form in ("date", "uuid", "duration")]}
PAGE = ENVIRONMENT.from_string("{{ text }}<pre>{{ {'a': text} | wide_json }}</pre>")
OUTPUT: Any = OutputType(dict[str, int])


def _refusing(function: Callable[[str], object]) -> Callable[[str], object]:
    """It may refuse a text, but not slowly."""

    def call(text: str) -> None:
        with suppress(*LENIENT):
            function(text)

    return call


def _fed(decoder: Any, data: bytes) -> None:
    """Give a decoder bytes as they come over a network."""
    for at in range(0, len(data), CHUNK):
        list(decoder.feed(data[at : at + CHUNK]))
    list(decoder.close())


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _stored(text: str) -> object:
    call = ToolCall("t", {"a": text}, "1")
    message = ChatMessage.from_assistant(text, tool_calls=[call])
    return messages_from_json([message.to_dict()])


TEXTS: Mapping[str, Callable[[str], object]] = {
    "an answer by schema": _refusing(OUTPUT.answer_in),
    "an answer in a fence": lambda text: _refusing(OUTPUT.answer_in)(f"```json\n{text}\n"),
    "an answer in a fence without an end": lambda text: _refusing(OUTPUT.answer_in)(f"```{text}x"),
    "a fence in a fence": lambda text: _refusing(OUTPUT.answer_in)(f"```{text}```x```"),
    "the arguments of a call": lambda text: read_arguments(text, cut=False),
    "arguments around it": lambda text: read_arguments(json.dumps({"a": text}), cut=False),
    "a pattern of a schema": Validator(PATTERN).fits,
    "faults of a text": Validator(PATTERN).faults,
    "faults of an object": lambda text: Validator(WRONG).faults({"it": text, "other": text}),
    "faults of options": Validator(OPTIONS).faults,
    "faults of a name": lambda text: Validator(
        {"properties": {"name": {}, "names": {}}, "additionalProperties": False}
    ).faults({text: 1}),
    "a converted duration": _refusing(duration),
    "a converted timedelta": _refusing(lambda text: convert(text, timedelta, "x")),
    "a converted decimal": _refusing(lambda text: convert(text, Decimal, "x")),
    "converted bytes": _refusing(lambda text: convert(text, bytes, "x")),
    "a converted union": _refusing(lambda text: convert(text, int | Decimal | list[str], "x")),
    "an error without a value": lambda text: redact(text, {"it": text[:50]}, known={}),
    "an error with all of it": lambda text: redact(text, {"it": text}, known={}),
    "an error with its half": lambda text: redact(text, {"it": text[: len(text) // 2]}, known={}),
    "a result without secrets": lambda text: without_secrets(
        text, {"a": text[:20], "b": text[:5]}, ["a", "b"]
    ),
    "a result without its secret": lambda text: without_secrets(text, {"a": text}, ["a"]),
    "a file without secrets": lambda text: shown_content(
        [FileContent(b64encode(text.encode(errors="replace")).decode(), "", extra={"a": [text]})],
        {"a": text[:20], "b": text[:5]},
        ["a", "b"],
    ),
    "a server's echo without keys": lambda text: without_keys(text, [text[:6] or "x", "sk-12345"]),
    "a recording without keys": scrub_secrets,
    "a text on a terminal": escape_control,
    "a text on an old terminal": lambda text: escape_control(text, "ascii"),
    "a text on a terminal of code page 437": lambda text: escape_control(text, "cp437"),
    "an argument that a human sees": lambda text: barred(_value(text, whole=True)),
    "an argument, shortened": lambda text: barred(_value({"a": [text] * 2}, whole=False)),
    "a text on a page": lambda text: PAGE.render(text=text),
    "a question in Markdown": lambda text: in_code({"a": text}),
    "a text without half characters": sound,
    "a name of a tool from elsewhere": _clean,
    "a repr": short_repr,
    "a path into arguments": _refusing(steps_of),
    "a URL of an image": image_of_url,
    "a body of an error": lambda text: failure_of_status(400, {}, _bytes(text)),
    "a date to wait for": lambda text: retry_after_s({"retry-after": text, "date": text}),
    "events of a stream": _refusing(lambda text: _fed(SSEDecoder(), _bytes(text))),
    "data of a stream": lambda text: _fed(SSEDecoder(), b"data: " + _bytes(text) + b"\n\n"),
    "lines of a stream": lambda text: _fed(LineDecoder(), _bytes(text)),
    "an answer": _refusing(lambda text: _fed(PayloadDecoder(), _bytes(text))),
    "a whole answer": _refusing(lambda text: _fed(PayloadDecoder(), b"{" + _bytes(text))),
    "a stored message": _refusing(_stored),
    "a transcript": lambda text: transcript([ChatMessage.from_user(text)]),
}
