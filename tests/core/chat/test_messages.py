"""Messages: their constructors, their parts, and that nothing inside them can be changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, cast

import pytest
from attrs import evolve
from attrs.exceptions import FrozenInstanceError

from detent import (
    ChatMessage,
    ChatRole,
    FileContent,
    ImageContent,
    ReasoningContent,
    StoredDataError,
    TextContent,
    ToolCall,
    ToolCallResult,
    UnstorableError,
)
from detent.core.chat.messages import Citation, with_calls
from detent.core.values.copies import protect
from detent.machine import FrozenDict

IMAGE = ImageContent("aGk=")
FILE = FileContent("aGk=", "application/pdf", "a.pdf")
CALL = ToolCall("search", {"query": "detents"}, "c1")


def test_an_assistants_parts_stand_in_order_and_are_found_by_kind() -> None:
    """Reasoning comes first, then the text, then the calls."""
    other = ToolCall("read", {}, "c2")
    message = ChatMessage.from_assistant("let me see", tool_calls=[CALL, other], reasoning="hm")

    assert message.content == (ReasoningContent("hm"), TextContent("let me see"), CALL, other)
    assert message.reasoning == ReasoningContent("hm")
    assert (message.text, message.tool_call, message.tool_calls) == (
        "let me see",
        CALL,
        (CALL, other),
    )


def test_sources_stand_behind_the_text_that_they_are_for() -> None:
    """They are parts like others, and no part of the text."""
    cited = Citation("https://a.org", "A", "four", 0, 4)
    message = ChatMessage(ChatRole.ASSISTANT, [TextContent("Four"), cited])
    assert (message.text, message.citations) == ("Four", (cited,))
    assert ChatMessage.from_dict(json.loads(json.dumps(message.to_dict()))) == message


def test_a_user_may_send_texts_images_and_files() -> None:
    """Parts keep their order; the text is what the texts say together."""
    message = ChatMessage.from_user(content_parts=["look ", IMAGE, FILE, TextContent("closely")])

    assert message.content == (TextContent("look "), IMAGE, FILE, TextContent("closely"))
    assert (message.images, message.files) == ((IMAGE,), (FILE,))
    assert (message.texts, message.text) == (("look ", "closely"), "look closely")


@pytest.mark.parametrize(("text", "parts"), [(None, ()), ("hi", ["there"])])
def test_a_user_says_either_a_text_or_parts(text: str | None, parts: list[str]) -> None:
    """Nothing at all is refused, and so are both."""
    with pytest.raises(ValueError, match="one of the two"):
        ChatMessage.from_user(text, content_parts=parts)


def test_an_empty_text_is_not_no_text() -> None:
    """None says that a message has no text part."""
    assert ChatMessage.from_user("").text == ""
    assert WRONG.from_user(content_parts="a") == ChatMessage.from_user("a")
    assert ChatMessage.from_assistant().text is None


def test_what_a_message_lacks_reads_none() -> None:
    """First-of-its-kind accessors do not raise."""
    message = ChatMessage.from_system("be brief")

    assert message.role is ChatRole.SYSTEM
    assert (message.tool_call, message.tool_call_result, message.reasoning) == (None, None, None)


def test_a_tool_message_answers_a_call() -> None:
    """Text or parts; the text of parts is what its texts say."""
    words = ChatMessage.from_tool("found", CALL, error=True, meta={"s": 1})
    parts = ChatMessage.from_tool([TextContent("page 1"), IMAGE, TextContent("page 2")], CALL)

    assert words.tool_call_result == ToolCallResult("found", CALL, error=True)
    assert (words.meta, parts.meta) == ({"s": 1}, {})
    assert parts.tool_call_results[0].text == "page 1\npage 2"


def test_a_message_can_be_made_of_plain_words() -> None:
    """A role is known by its name; another name is refused."""
    assert ChatMessage("user", [TextContent("hi")]) == ChatMessage.from_user("hi")

    with pytest.raises(ValueError, match="narrator"):
        ChatMessage("narrator", [])


def test_the_callers_own_dict_stays_the_callers() -> None:
    """Changing what a call was made of does not change the call."""
    arguments: dict[str, object] = {"tags": ["a"]}
    call = ToolCall("search", arguments)

    arguments["tags"] = ["b"]

    assert call.arguments == {"tags": ["a"]}
    with pytest.raises(TypeError, match="cannot be changed"):
        call.arguments["tags"] = []
    with pytest.raises(FrozenInstanceError):
        call.tool_name = "other"  # type: ignore[misc]  # the mistake that is tested


class Loose:
    """An instance that anybody can change."""


@pytest.mark.parametrize(
    "make",
    [
        lambda: ToolCall("t", {"deep": [{"down": Loose()}]}),
        lambda: ToolCall("t", FrozenDict(up=Loose())),
        lambda: ChatMessage.from_assistant("x", meta={"kept": Loose()}),
    ],
    ids=["argument", "frozen argument", "meta"],
)
def test_a_message_holds_nothing_that_can_be_changed(make: Callable[[], object]) -> None:
    """So that a state can keep it without a look into it."""
    with pytest.raises(TypeError, match="what cannot be changed, not a Loose"):
        make()


A_CALL, WRONG = ToolCall("t"), cast(Any, ChatMessage)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: WRONG.from_user(5), r"the text of a message is a str, got 5"),
        (lambda: WRONG.from_system(None), r"the text of a message is a str, got None"),
        (lambda: WRONG.from_assistant(b"a"), r"the text of a message is a str, got b'a'"),
        (lambda: WRONG.from_user(content_parts=[123]), r"TextContent, .*; got 123"),
        (lambda: WRONG.from_assistant("x", reasoning=5), r"TextContent, .*; got 5"),
        (lambda: WRONG.from_assistant(tool_calls=[{"tool_name": "a"}]), r"got {'tool_name': 'a'}"),
        (lambda: WRONG("user", "hi"), r"TextContent, ToolCall, .*, in a list; got 'hi'"),
        (lambda: WRONG.from_user(content_parts=[Loose()]), r"TextContent, .*; got <.*Loose"),
        (
            lambda: WRONG.from_tool([A_CALL], A_CALL),
            r"made of FileContent, ImageContent, TextContent, in a list; got ToolCall",
        ),
    ],
)
def test_what_is_no_part_of_a_message_is_named(make: Callable[[], object], text: str) -> None:
    """When the message is made: later nobody knows who made it."""
    with pytest.raises(TypeError, match=text):
        make()


def test_none_is_as_good_as_no_parts() -> None:
    """As in the seeds' library."""
    assert ChatMessage.from_assistant("a", tool_calls=None) == ChatMessage.from_assistant("a")
    assert ChatMessage.from_user("a", content_parts=None) == ChatMessage.from_user("a")
    assert ChatMessage.from_user("").text == ""
    assert WRONG.from_user(content_parts="a") == ChatMessage.from_user("a")


def test_what_cannot_be_changed_is_held_as_it_is() -> None:
    """Messages that are made from one another share it."""
    arguments: FrozenDict[str, object] = FrozenDict(n=1)
    assert ToolCall("t", arguments).arguments is arguments


def test_a_message_is_not_nested_without_end() -> None:
    """What a model or a file nests too deep is refused, and does not break the interpreter."""
    deep: FrozenDict[str, object] = FrozenDict()
    for _ in range(5000):
        deep = FrozenDict(a=deep)
    with pytest.raises(TypeError, match="nested too deep"):
        ToolCall("t", deep)


@pytest.mark.parametrize("levels", [98, 99, 100, 101])
def test_how_deep_a_message_may_be_does_not_depend_on_the_stack(levels: int) -> None:
    """What can be made can be made again, wherever."""
    deep: object = "x"
    for _ in range(levels):
        deep = [deep]
    if levels < 99:
        call = ToolCall("t", {"a": deep})
        assert evolve(call, id="c").arguments == call.arguments
    else:
        with pytest.raises(TypeError, match="more than 100 levels"):
            ToolCall("t", {"a": deep})


def test_a_message_may_hold_what_cannot_be_changed() -> None:
    """Values of frozen classes, members of an enum, and any mapping."""
    part = TextContent("x")
    meta = MappingProxyType(
        {"role": ChatRole.USER, "part": part, "deep": MappingProxyType({"a": 1})}
    )
    message = ChatMessage.from_assistant("x", meta=meta)
    assert message.meta == {"role": "user", "part": part, "deep": {"a": 1}}
    assert protect(message) is message


def test_equal_messages_are_one_key() -> None:
    """Messages can be compared and hashed, whatever is in them."""
    first, second = (ChatMessage.from_assistant("hi", tool_calls=[CALL]) for _ in range(2))

    assert {first: 1}[second] == 1


def test_binary_content_is_not_printed() -> None:
    """A repr says how much there is."""
    assert "aGk=" not in repr(ChatMessage.from_user(content_parts=[IMAGE, FILE]))
    assert "<4 characters>" in repr(IMAGE)


@pytest.mark.parametrize(
    "message",
    [
        ChatMessage.from_system("Be brief.", name="house", meta={"v": 1}),
        ChatMessage.from_user(content_parts=["look", IMAGE, FILE], meta={"at": [1, {"x": None}]}),
        ChatMessage.from_assistant(
            "so", tool_calls=[CALL], reasoning=ReasoningContent("hm", {"signature": "s"})
        ),
        ChatMessage.from_tool([TextContent("seen"), IMAGE], CALL, error=True, meta={"s": 0.5}),
    ],
    ids=lambda message: str(message.role),
)
def test_a_message_goes_through_json(message: ChatMessage) -> None:
    """With all its parts, and equal to what it was."""
    told = json.loads(json.dumps(message.to_dict()))
    assert ChatMessage.from_dict(told) == message
    assert message.is_from(message.role)
    assert message.is_from(str(message.role))


def test_what_is_no_message_is_refused() -> None:
    """And so is one that JSON has no form of."""
    with pytest.raises(StoredDataError, match=r"it is missing @ data\.role"):
        ChatMessage.from_dict({"content": []})
    with pytest.raises(UnstorableError):
        ChatMessage.from_user("hi", meta={"it": 1j}).to_dict()


def test_the_first_image_and_the_first_file_are_found() -> None:
    """As the first of every kind of part; None where there is none."""
    message = ChatMessage.from_user(content_parts=[IMAGE, FILE, ImageContent("eA==")])
    assert (message.image, message.file) == (IMAGE, FILE)
    assert (ChatMessage.from_user("hi").image, ChatMessage.from_user("hi").file) == (None, None)


def test_what_a_message_says_beside_its_calls_stays() -> None:
    """Where it stands; only the calls are others."""
    one, two = ToolCall("note", {"n": 1}, "a"), ToolCall("note", {"n": 2}, "b")
    message = ChatMessage.from_assistant("let me see", tool_calls=[one, two])
    three = ToolCall("note", {"n": 3}, "a")

    changed = with_calls(message, [three, two])

    assert (changed.text, changed.tool_calls) == ("let me see", (three, two))
    assert with_calls(message, [one, two]) is message


def test_the_arguments_of_a_call_are_a_dict() -> None:
    """A text, as a provider writes them, is to be read before; the name of the tool comes first."""
    form = r"a dict goes here, as in ToolCall\('f', {'n': 1}\), got 'amount=3'"
    with pytest.raises(TypeError, match=form):
        ToolCall("pay", "amount=3")  # type: ignore[arg-type]  # the mistake
