"""Secrecy: which parameters nobody is shown."""

from __future__ import annotations

from base64 import b64encode, encodebytes, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Annotated, Any, Generic, TypedDict, TypeVar, get_type_hints

import pytest
import typing_extensions
from attrs import evolve
from pydantic import BaseModel, RootModel

from detent import (
    ChatMessage,
    ChatRole,
    FileContent,
    ImageContent,
    State,
    TextContent,
    Tool,
    ToolCall,
    ToolCallResult,
    ToolDefinitionError,
    create_tool_from_function,
)
from detent.core.chat.messages import ResultPart
from detent.core.tools.invocation import Invocation
from detent.core.tools.masking import (
    MASK,
    SecretParameter,
    masked_in,
    shown_call,
    shown_content,
    shown_message,
    shown_result,
    with_secrets_marked,
)


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


def test_people_see_calls_and_results_without_what_is_secret() -> None:
    """Whatever stands in one text with it; of what has no secret nothing is made anew."""
    plain = ToolCall("look", {"n": 1}, "a")
    secret = ToolCall("pay", {"pin": "4711", "n": 1}, "b", secret=("pin",))
    cut = ToolCall("pay", {}, "c", unreadable='{"pin": "4711', secret=("pin",))
    assert shown_call(plain) is plain
    assert shown_call(secret).arguments == {"pin": MASK, "n": 1}
    assert shown_call(cut).unreadable == MASK

    said = ChatMessage.from_assistant("hi", tool_calls=[plain, secret])
    assert shown_message(said).tool_calls == (plain, shown_call(secret))
    told = ChatMessage.from_tool("paid by 4711", secret)
    (result,) = shown_message(told).tool_call_results
    assert (result.text, result.origin) == ("paid by <pin>", shown_call(secret))
    parts = ChatMessage.from_tool(
        [TextContent("by 4711"), ImageContent("aGk=", "image/png")], secret
    )
    (result,) = shown_message(parts).tool_call_results
    assert [getattr(one, "text", None) for one in result.result] == ["by <pin>", None]
    other = ChatMessage.from_tool("4711", cut).tool_call_results[0]
    assert shown_result(other).text == "4711"  # which nobody has said
    assert shown_result(evolve(other, origin=secret), ()).text == "4711"


PIN = "S3CRETpin99"
WITHHELD = TextContent("(withheld: a file that may say <pin>)")


def base64(data: str | bytes) -> str:
    """As a part holds it."""
    return b64encode(data.encode() if isinstance(data, str) else data).decode()


@pytest.mark.parametrize(
    "data",
    [
        base64(f"key={PIN}"),
        base64(f"key={PIN.lower()}"),
        base64(f"key={PIN}".encode("utf-16")),
        base64(b"\x89PNG\xff" + PIN.encode() + b"\xfe"),
        base64("é" * 40_000 + PIN),
        base64(base64(f"key={PIN}")),
        encodebytes(f"key={PIN};".encode() * 9).decode(),
        urlsafe_b64encode(f"~~~???{PIN}".encode()).decode(),
        "data:text/plain;base64," + base64(f"key={PIN}"),
        base64(f"key={PIN}").rstrip("=") + "!",
        PIN,
    ],
    ids=[
        "text", "small", "UTF-16", "binary", "large", "twice", "lines", "of URLs", "URI", "cut",
        "no base64",
    ],
)  # fmt: skip
def test_a_file_that_says_a_secret_is_withheld(data: str) -> None:
    """Whoever is shown it would read it there."""
    parts: list[ResultPart] = [FileContent(data, "text/plain", "a.txt"), ImageContent(data)]

    assert shown_content(parts, {"pin": PIN}, ["pin"]) == (
        WITHHELD,
        evolve(WITHHELD, text="(withheld: an image that may say <pin>)"),
    )


def test_a_number_is_looked_for_in_files_where_it_stands_alone() -> None:
    """Others hold its digits by chance."""
    texts = [f"{'é' * 20_000}{text}" for text in ("it is 4711.", "it is 147119.")]
    parts = [FileContent(base64(text), "text/plain") for text in texts]
    arguments = {"pin": 4711, "n": 1}

    assert shown_content(parts, arguments, ["pin"]) == (WITHHELD, parts[1])
    assert shown_content(parts, arguments, ["other"]) == tuple(parts)
    longest = {"pin": "ab" * 40_000}
    assert shown_content(parts, longest, ["pin"]) == (WITHHELD, WITHHELD)


def test_what_goes_along_with_a_file_says_no_secret_either() -> None:
    """However deep, as a key, as a number, and as what only prints as one."""
    day = date(2011, 4, 7)
    about = {"of": [{f"/{PIN}": PIN, "n": 4711}, ("x", [PIN])], "day": day, "m": 14711, "no": None}
    parts: list[ResultPart] = [
        FileContent("eA==", f"text/{PIN}", f"{PIN}.txt", about),
        ImageContent("eA==", "image/png", PIN, about),
    ]

    shown = shown_content(parts, {"pin": PIN, "n": 4711, "d": day}, ["pin", "n", "d"])

    clean: dict[str, Any] = {
        "of": [{"/<pin>": "<pin>", "n": "<n>"}, ["x", ["<pin>"]]],
        "day": "<d>",
        "m": 14711,
    }
    clean["no"] = None
    assert shown == (
        FileContent("eA==", "text/<pin>", "<pin>.txt", clean),
        ImageContent("eA==", "image/png", "<pin>", clean),
    )


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


SECRET = {"properties": {"pin": {"type": "string", "writeOnly": True}}}


@pytest.mark.parametrize(
    "composed",
    [
        {"allOf": [SECRET]},
        {"properties": {"pin": {}}, "allOf": [SECRET]},
        {"anyOf": [True, SECRET]},
        {"oneOf": [SECRET]},
        {"if": SECRET},
        {"if": {}, "then": SECRET},
        {"if": {}, "else": SECRET},
        {"not": SECRET},
        {"dependentSchemas": {"user": SECRET}},
        {"$ref": "#/$defs/Login", "$defs": {"Login": SECRET}},
        {
            "allOf": [{"$ref": "#/$defs/Login"}],
            "$defs": {"Login": {"$ref": "#/$defs/L"}, "L": SECRET},
        },
    ],
    ids=str,
)
def test_a_mark_stands_wherever_a_schema_speaks_of_the_property(composed: dict[str, Any]) -> None:
    """Also in a part that is composed in."""
    assert masked_in({}, composed) == {"pin"}


@pytest.mark.parametrize("keyword", ["patternProperties", "additionalProperties"])
def test_a_secret_has_a_name(keyword: str) -> None:
    """Nobody could tell which argument is meant."""
    mark = {"writeOnly": True}
    schema = {"type": "object", keyword: {"^p": mark} if keyword[0] == "p" else mark}

    with pytest.raises(ToolDefinitionError, match="stands at properties without a name"):
        Tool("login", "", schema, lambda **given: None)


def test_a_default_knows_whether_it_is_secret() -> None:
    """Where the type of its parameter says nothing."""
    assert masked_in({"a": Any, "b": Any}, {}, {"a": Login("Ann", "1234"), "b": 1}) == {"a"}


@dataclass
class Login:
    """Who somebody is, and how they prove it."""

    name: str
    password: Annotated[str, SecretParameter]
    behind: Login | None = None


class Door(TypedDict):
    """What a login opens."""

    login: list[Login]


class Lost:
    """Its types are nowhere."""

    _fields = ("x",)
    x: Nowhere  # type: ignore[name-defined]  # noqa: F821


def test_a_record_with_a_secret_field_is_secret_as_a_whole() -> None:
    """However deep, and though the class contains itself."""
    declared = {"a": Login, "b": dict[str, Door], "c": Login | None, "d": str}

    assert masked_in(declared, {}) == {"a", "b", "c"}


def test_what_cannot_be_told_is_secret() -> None:
    """Nobody knows what it has."""
    assert masked_in({"a": Lost}, {}) == {"a"}


T = TypeVar("T")
Pin = Annotated[str, SecretParameter]
Alias = typing_extensions.TypeAliasType("Alias", Pin)
Plain = typing_extensions.TypeAliasType("Plain", str)


class PinRoot(RootModel[Pin]):
    """A model that is its one value."""


class Keys(typing_extensions.TypedDict):
    """The one that pydantic asks for on older Pythons."""

    pin: Pin


class Around(BaseModel, Generic[T]):
    """Something around something."""

    inner: T
    again: Around[T] | None = None


def local_model() -> Any:
    """A model whose annotations have names that are known in a function alone."""

    class LocalPin(BaseModel):
        pin: Pin

    class Local(BaseModel):
        inner: LocalPin

    return Local


@pytest.mark.parametrize(
    "kind",
    [PinRoot, Keys, Around[Pin], Around[Keys], Alias, list[Alias], local_model()],
    ids=str,
)
def test_a_mark_is_found_whatever_its_type_is_wrapped_in(kind: Any) -> None:
    """What pydantic and `typing_extensions` make of a type hides no mark."""
    assert masked_in({"it": kind}, {}) == {"it"}


@pytest.mark.parametrize("is_secret", [False, True])
def test_classes_that_stand_in_each_other_are_looked_into_once(is_secret: bool) -> None:  # noqa: FBT001 - parametrised
    """There are more ways through twelve of them than anybody can go."""
    kinds: list[Any] = [type(f"N{n}", (), {"__annotations__": {}}) for n in range(12)]
    for kind in kinds:
        kind.__annotations__ |= {other.__name__: tuple.__class_getitem__(other) for other in kinds}
    kinds[-1].__annotations__ |= {"pin": Annotated[str, SecretParameter]} if is_secret else {}
    made: list[Any] = [dataclass(kind) for kind in kinds]

    assert masked_in({"it": made[0]}, {}) == ({"it"} if is_secret else set())


def test_what_has_no_mark_is_shown_whatever_it_is_wrapped_in() -> None:
    """Being followed makes nothing secret."""
    assert masked_in({"a": Plain, "b": Around[int], "c": RootModel[list[str]]}, {}) == frozenset()


def test_what_only_looks_like_a_reference_marks_nothing() -> None:
    """In a default it is a value, and leads nowhere."""
    schema = {"properties": {"x": {"default": {"$ref": "#/nowhere"}}}}
    assert masked_in({}, schema) == frozenset()


def test_a_secret_is_found_beside_a_reference_as_well_as_behind_it() -> None:
    """What stands beside a reference holds with it; one that leads round leads nowhere else."""
    secret = {"properties": {"pin": {"writeOnly": True}}}
    round_about = {"allOf": [{"$ref": "#/$defs/round"}]}
    schema = {
        "properties": {
            "beside": {"$ref": "#/$defs/plain", "allOf": [secret]},
            "behind": {"items": {"$ref": "#/$defs/secret"}},
            "neither": {"$ref": "#/$defs/plain", "anyOf": [{"$ref": "#/$defs/round"}]},
            "odd": {"default": {"$ref": "#/$defs/plain/enum/first"}, "title": "odd"},
        },
        "$defs": {"plain": {"enum": ["a"]}, "secret": secret, "round": round_about},
    }

    assert masked_in({}, schema) == {"beside", "behind"}


def test_a_call_that_knows_what_is_secret_does_not_print_it() -> None:
    """Nor what could not be read of it; the others print as they are."""
    calls = [
        ToolCall("pay", {"to": "Ann", "pin": "geheim"}),
        ToolCall("pay", unreadable="{geheim"),
        ToolCall("look", {"at": "tree"}),
    ]
    message = with_secrets_marked(ChatMessage.from_assistant(tool_calls=calls), {"pay": ["pin"]})

    assert message == ChatMessage.from_assistant(tool_calls=calls)
    printed = repr(message)
    assert "geheim" not in printed
    assert f"arguments={{'to': 'Ann', 'pin': '{MASK}'}}" in printed
    assert "arguments={'at': 'tree'}" in printed
    assert ToolCall.__rich_repr__(message.tool_calls[2]).__next__() == ("tool_name", "look")


def in_bytes(key: Annotated[bytes, SecretParameter] = b"horse-battery-staple") -> None:
    """Say it as Python prints it."""
    raise ValueError(f"{key!r} {key.decode()}")


def on_a_day(day: Annotated[date, SecretParameter] = date(1984, 3, 1)) -> None:
    """Say it as Python prints it."""
    raise ValueError(f"{day!r} {day}")


def within(time: Annotated[timedelta, SecretParameter] = timedelta(seconds=5025)) -> None:
    """Say it as Python prints it."""
    raise ValueError(f"{time!r} {time}")


@pytest.mark.parametrize(
    ("function", "sent"),
    [
        (in_bytes, {"key": b64encode(b"horse-battery-staple").decode()}),
        (on_a_day, {"day": "1984-03-01"}),
        (within, {"time": "PT5025S"}),
    ],
)
def test_a_secret_is_found_as_the_function_has_got_it(
    function: Callable[..., None], sent: dict[str, str]
) -> None:
    """Not as JSON has it alone: whether it was sent, or is the function's own."""
    tool = create_tool_from_function(function)
    for arguments in (sent, {}):
        invocation = Invocation(tool, ToolCall(tool.name, arguments), State({}))
        with pytest.raises(ValueError, match=r".") as caught:
            function(**invocation.arguments())
        (name,) = sent
        _, _, words = invocation.fault(caught.value).message.partition("ValueError: ")
        assert words.replace("b'", "").replace("'", "") == f"<{name}> <{name}>"


def test_what_could_not_be_read_is_no_secret_twice() -> None:
    """What was sent is told by its name, and the function has got nothing."""
    tool = create_tool_from_function(within)
    invocation = Invocation(tool, ToolCall("within", {"time": "tomorrow at noon"}), State({}))

    fault = invocation.fault(ValueError("it was 'tomorrow at noon'"))

    assert fault.message.endswith("ValueError: it was '<time>'")


def test_what_could_not_be_read_is_shown_of_a_call_without_secrets_alone() -> None:
    """In it a secret may stand anywhere; a result has it by its call."""
    unread = ToolCall("login", {}, "c1", unreadable='{"pin": "geheim"')
    marked = evolve(unread, secret=("pin",))
    said = ToolCallResult("it was not run", marked, error=True)

    shown = [shown_call(marked), shown_call(unread, ["pin"])]
    shown += [shown_result(said).origin, shown_result(evolve(said, origin=unread), ["pin"]).origin]
    answered = ChatMessage(ChatRole.TOOL, [said])
    (told,) = shown_message(answered).tool_call_results
    assert [call.unreadable for call in (*shown, told.origin)] == [MASK] * 5
    assert shown_call(evolve(marked, unreadable=None)).unreadable is None
    assert shown_call(unread) is unread
    assert shown_result(evolve(said, origin=unread)).origin.unreadable == unread.unreadable


def test_a_call_whose_secrets_are_marked_holds_the_very_arguments_that_it_held() -> None:
    """They are not sealed again."""
    call = ToolCall("pay", {"lines": [[1], [2]], "pin": "12"})
    message = ChatMessage.from_assistant(tool_calls=[call])
    marked = with_secrets_marked(message, {"pay": ["pin"]}).tool_calls[0]
    assert marked == call
    assert marked.arguments is call.arguments
    assert marked.secret == ("pin",)


def test_a_call_of_a_class_of_its_own_keeps_it() -> None:
    """A message takes none, but what a result answers may be one."""

    class Own(ToolCall):
        """A call of somebody else's."""

    said = ChatMessage.from_tool("done", Own("pay", {"pin": "12"}))
    (result,) = with_secrets_marked(said, {"pay": ["pin"]}).tool_call_results
    assert (type(result.origin), result.origin.secret) == (Own, ("pin",))
