"""Quotes: stored data without what it says of secrets, wherever that stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

from detent.core.tools.masking import MASK
from detent.core.tools.redaction import BETWEEN, READ, Secrets
from detent.core.tools.secrets import SecretValues

ARGUMENTS = frozenset({"arguments", "final_tool_params"})
"""Where the arguments of a call stand, and those that a human has set."""
CALLS = frozenset({"$type", "tool_name"})
"""One of them says that arguments stand beside it."""
FOREIGN = frozenset({"writes", "revealed", "output", "answer", "meta", "extra"})
"""Where data stands in which anything may be called as ours is: there is no call in it."""
Place: TypeAlias = Literal["run", "state", "keys", "foreign"]
"""Where stored data stands: in what we write, in a state, under its keys, or in a value of one."""
AMOUNTS = frozenset({"spends", "spent"})
"""Where numbers stand that are made of arguments."""
OURS = frozenset({"$type", "role", "tool_name", "mark"})
"""Where words of ours stand, or of whoever made the agent: no secret is put there."""


def without_quotes(data: Any, secrets: SecretValues) -> Any:
    """Plain data whose texts say nothing that is secret.

    RULE: the arguments of a call that are no secrets stay as they are: they are what was approved
    and what ran, and whoever chooses a secret must not choose what nobody sees of these.
    A number is not looked for, as it may be one by chance; but what a run takes of budgets is not
    told where a number is secret. Hand in all that there is at once: what is looked for is made
    once, and many texts are read in one go.
    """
    if not secrets:
        return data
    if _has_number(secrets):
        data = _without_amounts(data)
    return _filled(data, _cleaned(_texts(data), Secrets(secrets, secrets)))


def _cleaned(texts: Iterable[str], secrets: Secrets) -> Iterator[str]:
    """The texts, as many of them at once as are read in one go."""
    batch, size = list[str](), 0
    for text in texts:
        if batch and size + len(text) >= READ - len(batch):
            yield from _batch(batch, secrets)
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    yield from _batch(batch, secrets)


def _batch(texts: list[str], secrets: Secrets) -> list[str]:
    if len(texts) > 1:
        found = secrets.without(BETWEEN.join(texts)).split(BETWEEN)
        if len(found) == len(texts):
            return found
    return [secrets.without(text) for text in texts]  # one is withheld, or has the sign itself


def _texts(data: Any, place: Place = "run") -> Iterator[str]:
    match data:
        case str():
            yield data
        case Mapping():
            for name, part in data.items():
                if place != "run" or not _stays(name, part, data):
                    yield from _texts(part, inside(name, place))
        case list() | tuple():
            for part in data:
                yield from _texts(part, place)
        case _:
            pass


def inside(name: object, place: Place) -> Place:
    """Where a member of data stands. The conversation, under its key of the state, is ours."""
    match place, name:
        case "run", "state":
            return "state"
        case "state", "data":
            return "keys"
        case "keys", "messages":
            return "run"
        case "run", _:
            return "foreign" if name in FOREIGN else "run"
        case _:
            return "foreign"


def _stays(name: object, part: object, data: Mapping[str, Any]) -> bool:
    """Whether a member of stored data is shown as it is."""
    if isinstance(part, str):
        return name in OURS
    return name in ARGUMENTS and not CALLS.isdisjoint(data)


def _filled(data: Any, texts: Iterator[str], place: Place = "run") -> Any:
    """The data with other texts, in the order in which they stand."""
    match data:
        case str():
            return next(texts)
        case Mapping():
            return {
                name: part
                if place == "run" and _stays(name, part, data)
                else _filled(part, texts, inside(name, place))
                for name, part in data.items()
            }
        case list() | tuple():
            return [_filled(part, texts, place) for part in data]
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
