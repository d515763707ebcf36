"""Secrecy: which parameters nobody is shown."""

from __future__ import annotations

from typing import Annotated, get_type_hints

from detent.core.tools.masking import SecretParameter, masked_in


def test_a_mark_stands_in_the_type_or_in_the_schema() -> None:
    """As the class, or as an instance of it."""
    declared = {
        "a": Annotated[str, SecretParameter],
        "b": Annotated[str, "text", SecretParameter()],
        "c": str,
    }
    schema = {"properties": {"d": {"type": "string", "writeOnly": True}, "e": {}, "f": True}}

    assert masked_in(declared, schema) == {"a", "b", "d"}
    assert masked_in({}, {}) == frozenset()


def test_what_has_a_secret_part_is_secret_as_a_whole() -> None:
    """However deep it is; schemas may be circular."""

    def given(
        a: Annotated[str, SecretParameter] | None,
        b: list[Annotated[int, SecretParameter]],
        c: list[int],
    ) -> None: ...

    declared = get_type_hints(given, include_extras=True)
    card = {
        "type": "object",
        "properties": {"cvv": {"writeOnly": True}, "next": {"$ref": "#/$defs/card"}},
    }
    loop = {"anyOf": [{"$ref": "#/$defs/loop"}, {"type": "null"}]}
    schema = {
        "properties": {
            "d": {"items": {"$ref": "#/$defs/card"}},
            "e": {"$ref": "#/$defs/loop"},
            "f": {"anyOf": [{"type": "null"}, {"writeOnly": True}]},
        },
        "$defs": {"card": card, "loop": loop},
    }

    assert masked_in(declared, schema) == {"a", "b", "d", "f"}


def test_what_only_looks_like_a_reference_marks_nothing() -> None:
    """In a default it is a value, and leads nowhere."""
    schema = {"properties": {"x": {"default": {"$ref": "#/nowhere"}}}}
    assert masked_in({}, schema) == frozenset()
