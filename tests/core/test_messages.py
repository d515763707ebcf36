"""Messages: their constructors, their parts, and that nothing inside them can be changed."""

from __future__ import annotations

import pytest
from attrs.exceptions import FrozenInstanceError

from detent import (
    ChatMessage,
    ChatRole,
    FileContent,
    ImageContent,
    ReasoningContent,
    TextContent,
    ToolCall,
    ToolCallResult,
)

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
    assert ChatMessage.from_assistant().text is None


def test_what_a_message_lacks_reads_none() -> None:
    """First-of-its-kind accessors do not raise."""
    message = ChatMessage.from_system("be brief")

    assert message.role is ChatRole.SYSTEM
    assert (message.tool_call, message.tool_call_result, message.reasoning) == (None, None, None)


def test_a_tool_message_answers_a_call() -> None:
    """Text or parts; the text of parts is what its texts say."""
    words = ChatMessage.from_tool("found", CALL, error=True)
    parts = ChatMessage.from_tool([TextContent("page 1"), IMAGE, TextContent("page 2")], CALL)

    assert words.tool_call_result == ToolCallResult("found", CALL, error=True)
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


def test_equal_messages_are_one_key() -> None:
    """Messages can be compared and hashed, whatever is in them."""
    first, second = (ChatMessage.from_assistant("hi", tool_calls=[CALL]) for _ in range(2))

    assert {first: 1}[second] == 1


def test_binary_content_is_not_printed() -> None:
    """A repr says how much there is."""
    assert "aGk=" not in repr(ChatMessage.from_user(content_parts=[IMAGE, FILE]))
    assert "<4 characters>" in repr(IMAGE)
