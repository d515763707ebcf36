"""Public keys of Ed25519: which 32 bytes are one that only its owner signs by. RFC 8032, 5.1.3."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TypeAlias

from attrs import Attribute

Point: TypeAlias = tuple[int, int]

SIZE = 32
"""How many bytes a key has."""
P = 2**255 - 19
"""The prime of the field: all is counted modulo it."""
D = -121665 * pow(121666, -1, P) % P
"""Of the curve -x² + y² = 1 + D x² y²."""
ROOT = pow(2, (P - 1) // 4, P)
"""A square root of -1."""


def is_public_key(instance: object, attribute: Attribute[str], value: str) -> None:
    """A validator. Raises ValueError for what is no key, TypeError for what is no text.

    The libraries that check signatures take any 32 bytes for a key. By a point of a small order,
    signatures that anybody can write fit messages that nobody has signed.
    """
    where = f"'{attribute.name}' of {type(instance).__name__}"
    if not isinstance(value, str):
        raise TypeError(f"{where} is a text, got {value!r:.80}")
    point = _point(value)
    if point is None:
        raise ValueError(
            f"{where} is 32 bytes in Base64, a point of Ed25519, as Signer.public_key gives it; "
            f"got {value!r:.80}"
        )
    for _ in range(3):  # eight times the point: there are 8 of small orders, which divide 8
        point = _doubled(point)
    if point == (0, 1):
        raise ValueError(
            f"{where} is weak: anybody can write a signature that fits it; take one that "
            f"Signer.new has made, got {value!r:.80}"
        )


def _point(text: str) -> Point | None:
    """The point that a key is; None where it is none, or is written in a second way."""
    try:
        data = b64decode(text, validate=True)
    except ValueError:
        return None
    # RULE: one key has one text, or one person were two by two spellings of it
    if len(data) != SIZE or b64encode(data).decode() != text:
        return None
    both = int.from_bytes(data, "little")
    y, sign = both & (1 << 255) - 1, both >> 255
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * ROOT % P
    if x * x % P != square or (sign and not x):
        return None
    return (P - x if x & 1 != sign else x), y


def _doubled(point: Point) -> Point:
    x, y = point
    both = D * x * x * y * y
    return 2 * x * y * pow(1 + both, -1, P) % P, (y * y + x * x) * pow(1 - both, -1, P) % P
