"""Values as they are on the wire, read and written the same for every provider."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from detent.core.chat.replies import ModelFailure
from detent.core.codec.json_text import read_json
from detent.core.values.copies import DEPTH_MAX
from detent.core.values.frozen import is_deep
from detent.ports.chat import ChatGeneratorError

# json.dumps would make an encoder for each text, which takes as long as writing a short request.
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def json_text(value: object, api: str) -> str:
    """`value` as JSON, without spaces.

    Raises:
        ChatGeneratorError: it is none; the message says that it is for `api`.
    """
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise cannot_send(api, f"value that is not JSON ({error})") from error


def cannot_send(api: str, what: str) -> ChatGeneratorError:
    """The error for something in a request that `api` does not take."""
    text = f"the request cannot be written: {api} takes no {what}"
    return ChatGeneratorError(ModelFailure("bad_request", text))


def read_arguments(text: str, *, cut: bool) -> Mapping[str, Any] | None:
    """The arguments of a tool call as a JSON object, which no text stands for too.

    None when they are not one, or one that is nested too deep or has a number beyond all floats.
    Where the answer was `cut` off, no text may be the beginning of one.

    >>> read_arguments('{"a": 1}', cut=False), read_arguments("null", cut=False)
    ({'a': 1}, {})
    >>> read_arguments("", cut=True), read_arguments('{"a": ', cut=True)
    (None, None)
    """
    if text.strip() in {"", "null"}:
        return None if cut else {}
    try:
        value = read_json(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) and not is_deep(value, DEPTH_MAX) else None


def first_count(*counts: object) -> int:
    """The first of `counts` that is a number above zero: servers name the same count differently.

    >>> first_count(None, 0, float("nan"), 12)
    12
    """
    for count in counts:
        if isinstance(count, (int, float)) and 0 < count < inf:  # `|` takes thrice as long
            return int(count)
    return 0


def first_choice(choices: Sequence[Mapping[str, Any]] | None) -> Mapping[str, Any] | None:
    """The first of the alternative answers: a run goes on with one."""
    if not choices:
        return None
    if not choices[0].get("index"):
        return choices[0]
    return next((choice for choice in choices if not choice.get("index")), None)
