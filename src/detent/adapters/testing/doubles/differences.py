"""Where two values of JSON differ first."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

MISSING = object()
AROUND = 40
"""How many characters of two long texts are shown before the place where they part."""


def first_difference(recorded: Any, request: Any, at: str = "") -> tuple[str, str]:
    r"""The path of the first place where the two differ, and both as they are there.

    >>> print(*first_difference({"a": [1, 2]}, {"a": [1, 3]}), sep="\n")
    a[1]
      recorded: 2
      asked:    3
    """
    if isinstance(recorded, dict) and isinstance(request, dict):
        for key in [*recorded, *(key for key in request if key not in recorded)]:
            recorded_part, other = recorded.get(key, MISSING), request.get(key, MISSING)
            if recorded_part != other:
                return first_difference(recorded_part, other, f"{at}.{key}" if at else key)
    if isinstance(recorded, list) and isinstance(request, list):
        for place, (recorded_part, other) in enumerate(
            zip_longest(recorded, request, fillvalue=MISSING)
        ):
            if recorded_part != other:
                return first_difference(recorded_part, other, f"{at}[{place}]")
    return (
        at,
        f"  recorded: {_excerpt(recorded, request)}\n  asked:    {_excerpt(request, recorded)}",
    )


def _excerpt(value: object, other: object) -> str:
    if value is MISSING:
        return "nothing"
    if not (isinstance(value, str) and isinstance(other, str)):
        return f"{value!r:.200}"
    same = next((at for at, (a, b) in enumerate(zip(value, other, strict=False)) if a != b), 0)
    start = max(0, same - AROUND)
    lead = "…" if start else ""
    return f"{lead}{value[start : start + 4 * AROUND]!r}"
