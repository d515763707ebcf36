"""Quotes: stored data without what it says of secrets, wherever that stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from detent.core.tools.masking import MASK
from detent.core.tools.redaction import Secrets
from detent.core.tools.secrets import SecretValues

AMOUNTS = frozenset({"spends", "spent"})
"""Where numbers stand that are made of arguments."""


def without_quotes(data: Any, secrets: SecretValues) -> Any:
    """Plain data whose texts say nothing that is secret.

    A number is not looked for, as it may be one by chance; but what a run takes of budgets is not
    told where a number is secret.
    """
    if not secrets:
        return data
    if _has_number(secrets):
        data = _without_amounts(data)
    return _cleaned(data, Secrets(secrets, secrets))


def _cleaned(data: Any, secrets: Secrets) -> Any:
    match data:
        case str():
            return secrets.without(data)
        case Mapping():
            return {name: _cleaned(part, secrets) for name, part in data.items()}
        case list() | tuple():
            return [_cleaned(part, secrets) for part in data]
        case _:
            return data


def _has_number(secrets: SecretValues) -> bool:
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
