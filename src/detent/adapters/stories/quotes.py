"""Quotes: stored data without what it says of secrets, wherever that stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from detent.core.tools.masking import MASK
from detent.core.tools.redaction import READ, all_without_secrets
from detent.core.tools.secrets import Secrets

AMOUNTS = frozenset({"spends", "spent"})
"""Where numbers stand that are made of arguments."""


def without_quotes(data: Any, secrets: Secrets) -> Any:
    """Plain data whose texts say nothing that is secret.

    A number is not looked for, as it may be one by chance; but what a run takes of budgets is not
    told where a number is secret.
    """
    if not secrets:
        return data
    if _has_number(secrets):
        data = _without_amounts(data)
    texts = list(_texts(data))
    return _filled(data, iter(_redacted(texts, secrets)))


def _redacted(texts: list[str], secrets: Secrets) -> Iterator[str]:
    """The texts, as many at once as are read in one go."""
    batch, size = list[str](), 0
    for text in texts:
        if batch and size + len(text) >= READ - len(batch):
            yield from all_without_secrets(batch, secrets, secrets)
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    yield from all_without_secrets(batch, secrets, secrets)


def _texts(data: Any) -> Iterator[str]:
    match data:
        case str():
            yield data
        case Mapping():
            for part in data.values():
                yield from _texts(part)
        case list() | tuple():
            for part in data:
                yield from _texts(part)
        case _:
            pass


def _filled(data: Any, texts: Iterator[str]) -> Any:
    """The data with other texts, in the order in which they stand."""
    match data:
        case str():
            return next(texts)
        case Mapping():
            return {name: _filled(part, texts) for name, part in data.items()}
        case list() | tuple():
            return [_filled(part, texts) for part in data]
        case _:
            return data


def _has_number(secrets: Secrets) -> bool:
    return any(
        isinstance(form, int | float) and not isinstance(form, bool)
        for forms in secrets.values()
        for form in forms
    )


def _without_amounts(data: Any) -> Any:
    match data:
        case Mapping():
            return {
                name: MASK if name in AMOUNTS and part else _without_amounts(part)
                for name, part in data.items()
            }
        case list() | tuple():
            return [_without_amounts(part) for part in data]
        case _:
            return data
