"""References in a schema: to other parts of it, as JSON pointers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, TypeAlias, cast

Schema: TypeAlias = "Mapping[str, Any] | bool"
Path: TypeAlias = "Sequence[str | int]"


def resolve(reference: str, root: Schema) -> Schema:
    """The schema that a local reference (``#``, ``#/$defs/x``) names.

    Raises:
        LookupError: there is none.
    """
    return cast(Schema, part_at(root, pointer_parts(reference)))


def pointer_parts(reference: str) -> list[str]:
    """The names on the way from the root of a schema to what a local reference names."""
    parts = reference.removeprefix("#").split("/")[1:]
    return [part.replace("~1", "/").replace("~0", "~") for part in parts]  # thus ~01 is ~1


def part_at(root: Any, path: Path) -> Any:
    """What stands at a path; a JSON pointer has the places in lists as texts."""
    return reduce(lambda part, x: part[int(x) if isinstance(part, list) else x], path, root)
