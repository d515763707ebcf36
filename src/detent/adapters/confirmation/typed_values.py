"""What a human types as the value of a parameter: how it is read, and what was expected."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from detent.core.codec.json_text import read_json

EXAMPLES = {
    "integer": "3",
    "number": "4.5",
    "boolean": "true",
    "array": '["a", "b"]',
    "object": '{"a": 1}',
    "null": "null",
}
"""How a value of each type is written."""
ANY = '3, true or "text"'


def no_value_of(kinds: Sequence[str]) -> str:
    """What was expected of a text that is read as none of these types.

    The text itself is not said again: it may be a secret.

    >>> no_value_of(["integer", "null"])
    'expected integer, such as 3, or null'
    >>> no_value_of([])
    'expected JSON, such as 3, true or "text"'
    """
    if not kinds:
        return f"expected JSON, such as {ANY}"
    wanted = [
        f"{kind}, such as {EXAMPLES[kind]}" if EXAMPLES.get(kind, kind) != kind else kind
        for kind in kinds
    ]
    return f"expected {', or '.join(wanted)}"


def faults_about(name: str, faults: list[str]) -> list[str]:
    """Those of the faults that are about one parameter."""
    return [text for text in faults if f"'{name}" in text or text.startswith(name)]


def readers_of(kinds: Sequence[str], value: object) -> Sequence[Callable[[str], object]]:
    """How to take what a human types: text as it is, all else as JSON, or the one that fits."""
    if set(kinds) == {"string"} or (not kinds and isinstance(value, str)):
        return (str,)
    is_choice = any(kind.startswith('"') for kind in kinds)
    return (read_json, str) if is_choice or "string" in kinds else (read_json,)


def kinds_of(schema: object) -> list[str]:
    """The types of a parameter for people: "integer"; none where nothing says them."""
    match schema:
        case {"enum": [*choices]}:
            return [json.dumps(choice, ensure_ascii=False) for choice in choices]
        case {"type": str(kind)}:
            return [kind]
        case {"type": [*kinds]}:
            return [str(kind) for kind in kinds]
        case {"anyOf": [*options]} | {"oneOf": [*options]}:
            return list(dict.fromkeys(kind for option in options for kind in kinds_of(option)))
        case _:
            return []
