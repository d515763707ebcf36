"""What stands in the data of an entry, whatever it is: nothing here fails on data of others."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

from detent.adapters.stories.quotes import without_quotes
from detent.core.tools.masking import MASK, masked
from detent.core.tools.secrets import SecretValues
from detent.core.values.frozen import EMPTY

Json: TypeAlias = Mapping[str, Any]


def messages_in(data: Json) -> Sequence[Json]:
    """The conversation with which a run began."""
    run = object_of(data.get("run"))
    found = object_of(object_of(run.get("state")).get("data")).get("messages")
    return cast("list[Json]", found) if isinstance(found, list) else []


def text_in(message: Json) -> str:
    """The text of a stored message, or of a result as people may see it."""
    content = message.get("display") or message.get("content", message.get("result", ""))
    if isinstance(content, str):
        return content
    parts = [part for part in list_of(content) if isinstance(part, dict)]
    found = [part.get("text", part.get("display", part.get("result"))) for part in parts]
    return "\n".join(piece for piece in found if isinstance(piece, str))


def role_in(message: Json) -> str:
    """Who has said a stored message; that of a tool is its result alone."""
    return "tool" if "result" in message else str(message.get("role", "nobody"))


def compact(value: object) -> str:
    """Arguments, or another value, in one line."""
    return json.dumps(value, ensure_ascii=False, default=str)


def said_in(message: Json) -> Iterator[tuple[str, str]]:
    """Who has said a stored message and what, then what it calls, secrets masked."""
    role = role_in(message)
    if text := text_in(message):
        yield role, text
    for part in map(object_of, list_of(message.get("content"))):
        if part.get("$type") == "ToolCall":
            arguments = masked(dict(object_of(part.get("arguments"))), list_of(part.get("secret")))
            yield role, f"calls {part.get('tool_name')} {compact(arguments)}"


def conversation_in(data: Json) -> tuple[list[tuple[str, str]], list[str]]:
    """What was said before a run, by whom, and what its users said with whom it begins.

    A run behind another one, of a thread or `after` a result, and a fork begin with the whole
    conversation: what stands behind the last answer in it is new. Instructions are none of it.
    """
    messages, before = messages_in(data), list[tuple[str, str]]()
    answered = [place for place, message in enumerate(messages) if message.get("role") != "user"]
    own = answered[-1] + 1 if answered else 0
    for message in messages[:own]:
        before += said_in(message) if role_in(message) != "system" else ()
    return before, [text_in(message) for message in messages[own:] if role_in(message) == "user"]


def used_before(data: Json) -> dict[str, float]:
    """The tokens and the cost that a run begins with, as a fork does; empty where it is nothing."""
    run = object_of(data.get("run"))
    usage = object_of(run.get("usage"))
    found = {name: usage.get(name) for name in ("input_tokens", "output_tokens")}
    all_of_it = {**found, "cost": run.get("cost")}
    return {name: x for name, x in all_of_it.items() if isinstance(x, int | float) and x}


def event_path(kind: str, data: Json) -> tuple[str, ...]:
    """What has happened, behind the names of the agents inside in whose run it has."""
    names = list[str]()
    while kind == "HappenedInside":
        names.append(str(data.get("tool_name")))
        data = object_of(data.get("event"))
        kind = str(data.get("$type"))
    return (*names, kind)


def object_of(value: object) -> Json:
    """The value, if it is an object; else an empty one."""
    return cast(Json, value) if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    """The value, if it is a list; else an empty one."""
    return value if isinstance(value, list) else []


def masked_data(data: Any, names: Collection[str], secrets: SecretValues = EMPTY) -> Any:
    """Stored data as people may see it: of each call, and of what is decided, without `names`.

    Nor with any text that says one of the `secrets` of the run.

    Nor with what a model has written of a call that cannot be read, if some of it is secret, nor
    with what somebody has signed: the arguments stand in both. And without digests of secrets.
    """
    return without_quotes(_without_secrets(without_digests(data), names), secrets)


def without_digests(data: Any) -> Any:
    """Stored data without what would say of a guess whether it is the secret of a call.

    RULE: the digest of a question is shown. It is made of that of the run as well: so neither this,
    nor the nonce that is in it, may be.
    """
    match data:
        case Mapping():
            return {key: _without_digests(key, part) for key, part in data.items()}
        case list() | tuple():
            return [without_digests(part) for part in data]
        case _:
            return data


def _without_digests(key: str, part: Any) -> Any:
    match key, part:
        case "binding", Mapping():
            return {name: MASK if name in _GUESSABLE else x for name, x in part.items()}
        case (("nonce" | "chain" | "signature"), str()):  # the last two are those of an audit
            return MASK
        case _:
            return part if key in _SAID else without_digests(part)


def _without_secrets(data: Any, names: Collection[str]) -> Any:
    match data:
        case Mapping() if "display" in data and _OF_RESULT.issuperset(data):
            content = {"result" if "result" in data else "content": data["display"]}
            rest = {key: part for key, part in data.items() if key != "display"}
            if writes := rest.get("writes"):  # of what is quoted nobody may know by now where from
                content["writes"] = [{**object_of(one), "value": MASK} for one in list_of(writes)]
            return _without_secrets(rest | content, names)
        case Mapping():
            hidden = {"unreadable"} if data.get("secret") else {"proof"} if "name" in data else ()
            return {
                key: masked(part, names)
                if key in _ARGUMENTS and isinstance(part, Mapping)
                else MASK
                if key in hidden and part
                else _without_secrets(_hidden_writes(part) if key == "writes" else part, names)
                for key, part in data.items()
            }
        case list() | tuple():
            return [_without_secrets(part, names) for part in data]
        case _:
            return data


def _hidden_writes(writes: Any) -> Any:
    """What a result writes, without what it writes to a key that is secret."""
    if not any(map(is_secret_write, list_of(writes))):
        return writes
    return [{**one, "value": MASK} if is_secret_write(one) else one for one in writes]


def is_secret_write(data: Any) -> bool:
    """Whether stored data is a write to a key that is secret."""
    match data:
        case {"key": str(), "value": _, "secret": True, **rest}:
            return rest.keys() <= {"handler"}
        case _:
            return False


_ARGUMENTS = frozenset({"arguments", "final_tool_params"})
_OF_RESULT = frozenset(
    {"$type", "content", "result", "display", "error", "origin", "warnings", "writes"}
)
_GUESSABLE = frozenset({"run", "inputs", "arguments"})
_SAID = _ARGUMENTS | {"content", "meta", "revealed", "state", "value"}
"""What stands there is no word of ours."""
