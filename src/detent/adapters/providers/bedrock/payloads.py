"""JSON values out of the bytes of a Converse answer: one body, or an event stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from detent.adapters.providers.bedrock.event_stream import EventMessage, EventStreamDecoder
from detent.adapters.providers.http.payloads import PayloadDecoder

# The status that each exception in a stream would have as an answer of its own.
# Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
STATUSES = {
    "accessDeniedException": 403,
    "internalServerException": 500,
    "modelErrorException": 424,
    "modelNotReadyException": 429,
    "modelStreamErrorException": 424,
    "modelTimeoutException": 408,
    "resourceNotFoundException": 404,
    "serviceUnavailableException": 503,
    "throttlingException": 429,
    "validationException": 400,
}


class ConversePayloads:
    """Turns the bytes of an answer, cut anywhere, into its JSON objects.

    An event comes out under its name: ``{"messageStop": {"stopReason": "end_turn"}}``, an exception
    under the name "error". A stream begins with a zero, as no message of it has 16 MB; a body never
    does.
    """

    def __init__(self) -> None:
        self._events: EventStreamDecoder | None = None
        self._body = PayloadDecoder()
        self._begun = False

    @property
    def ended(self) -> bool:
        """Whether the end of a whole body has come. A stream has no end mark."""
        return self._body.ended

    def feed(self, data: bytes) -> Iterable[Mapping[str, Any]]:
        """The values that are complete with `data`; take them all before feeding more.

        Raises:
            EventStreamError: the stream is broken.
            ValueError: an event, or the body, is not JSON.
        """
        if not self._begun and data:
            self._begun = True
            self._events = EventStreamDecoder() if data[0] == 0 else None
        if self._events is None:
            return self._body.feed(data)
        return map(_value, self._events.feed(data))

    def close(self) -> Iterable[Mapping[str, Any]]:
        """The body. A message of a stream that the end cuts in two is dropped."""
        return self._body.close()


def _value(message: EventMessage) -> Mapping[str, Any]:
    kind = message.headers.get(":message-type", "event")
    name = message.headers.get(f":{kind}-type") or message.headers.get(":error-code", "")
    value = json.loads(message.payload.decode("utf-8", "replace")) if message.payload else {}
    if kind == "event":
        return {name: value}
    text = value.get("message") or message.headers.get(":error-message")
    return {"error": {"type": name, "code": STATUSES.get(name), "message": text or name}}
