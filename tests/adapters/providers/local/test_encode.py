"""What becomes of a conversation on its way to the local model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from detent.adapters.providers.local.encode import Request, chat_request
from detent.adapters.providers.local.options import read_options
from detent.core.chat.messages import ChatMessage, ImageContent, TextContent, ToolCall
from detent.core.tools.tool import ToolSpec
from detent.ports.chat import ChatGeneratorError

FIND = ToolSpec(
    "find",
    "Find places.",
    {"type": "object", "properties": {"words": {"type": "string"}}, "required": ["words"]},
)
ASKED = ChatMessage.from_user("Where?")
CALL = ToolCall("find", {"words": "Größe"}, "call_1")
CALLED = ChatMessage.from_assistant(tool_calls=[CALL])
IMAGE = ImageContent("aGk=")


def request(*messages: ChatMessage, tools: tuple[ToolSpec, ...] = (), **options: object) -> Request:
    return chat_request(messages, tools, read_options(options))


def turns(*messages: ChatMessage, tools: tuple[ToolSpec, ...] = (), **options: object) -> Any:
    return request(*messages, tools=tools, **options).body["messages"]


def refused(*messages: ChatMessage, tools: tuple[ToolSpec, ...] = (), **options: object) -> str:
    with pytest.raises(ChatGeneratorError) as caught:
        request(*messages, tools=tools, **options)
    assert caught.value.failure.cause == "bad_request"
    return str(caught.value)


def test_a_conversation_without_tools_is_sent_as_it_is() -> None:
    """Nothing is added, and the reply is not held to a grammar."""
    system, said = ChatMessage.from_system("Be brief."), ChatMessage.from_assistant("Hello")
    made = request(system, ASKED, said, ASKED)
    assert made.body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "Where?"},
    ]
    assert "grammar" not in made.body
    assert made.form.answer is None


def test_tools_are_told_in_the_system_message() -> None:
    """The answer is one of them."""
    system, asked = turns(ChatMessage.from_system("Be brief."), ASKED, tools=(FIND,))
    assert asked == {"role": "user", "content": "Where?"}
    assert system["content"] == (
        "Be brief.\n\n"
        'Reply with one JSON object: {"name": tool, "arguments": {...}}. '
        "You are then given the tool's result.\n\n"
        "Tools:\n"
        "find(words: string)\n"
        "  Find places.\n"
        "final_answer(text: string)\n"
        "  Reply to the user, when no tool is needed or the results are enough."
    )


def test_a_conversation_without_a_system_message_gets_one() -> None:
    """Where there are tools."""
    assert [turn["role"] for turn in turns(ASKED, tools=(FIND,))] == ["system", "user"]


def test_calls_and_answers_are_written_as_the_model_wrote_them() -> None:
    """So that it need not read them again."""
    result = ChatMessage.from_tool("In a.md", CALL)
    said = ChatMessage.from_assistant('In "a.md"')
    _, _, called, answered, told = turns(ASKED, CALLED, result, said, tools=(FIND,))
    assert called["content"] == '{"name": "find", "arguments": {"words": "Größe"}}'
    assert answered == {"role": "user", "content": "Result of find:\nIn a.md"}
    assert told["content"] == r'{"name": "final_answer", "arguments": {"text": "In \"a.md\""}}'


def test_results_of_one_turn_come_in_one_message() -> None:
    """In order, and an error says that it is one."""
    other = ToolCall("find", {"words": "x"}, "call_2")
    called = ChatMessage.from_assistant(tool_calls=[CALL, other])
    results = [
        ChatMessage.from_tool("In a.md", CALL),
        ChatMessage.from_tool([TextContent("no"), TextContent("such")], other, error=True),
    ]
    *_, last = turns(ASKED, called, *results, tools=(FIND,))
    assert last["content"] == "Result of find:\nIn a.md\n\nError of find:\nno\nsuch"


def test_an_unreadable_call_is_written_as_it_came() -> None:
    """It was cut off, and stays so."""
    cut = ChatMessage.from_assistant(tool_calls=[ToolCall("find", unreadable='{"words": "a')])
    assert turns(cut, tools=(FIND,))[-1]["content"] == '{"name": "find", "arguments": {"words": "a'


def test_a_conversation_that_has_seen_tools_goes_on_in_json() -> None:
    """Even where there are none any more: the model can then only answer."""
    made = request(ASKED, CALLED, ChatMessage.from_tool("In a.md", CALL))
    assert made.form.answer == "final_answer"
    assert '"const": "find"' not in str(made.body["grammar"])
    assert '"const": "final_answer"' in str(made.body["grammar"])


def test_a_tool_may_have_the_name_of_the_answer() -> None:
    """The answer then takes another."""
    own = ToolSpec("final_answer", "Ends.", {"type": "object"})
    assert request(ASKED, tools=(own,)).form.answer == "final_answer_"


@pytest.mark.parametrize(
    ("choice", "called"),
    [
        ("auto", {"find", "look", "final_answer"}),
        ("required", {"find", "look"}),
        ("none", {"final_answer"}),
        ("look", {"look"}),
    ],
)
def test_the_tool_choice_narrows_what_may_be_called(choice: str, called: set[str]) -> None:
    """The model is told of the same tools, so that it need not read them again."""
    look = ToolSpec("look", "", {"type": "object"})
    made = request(ASKED, tools=(FIND, look), tool_choice=choice)
    consts = str(made.body["grammar"]).split('"const": "')[1:]
    assert {text.split('"')[0] for text in consts} == called
    assert made.body["messages"] == request(ASKED, tools=(FIND, look)).body["messages"]


def test_a_choice_of_a_tool_that_is_not_there_is_refused() -> None:
    """The message says which there are."""
    assert "tool_choice is 'lok', and the tools are: find" in refused(
        ASKED, tools=(FIND,), tool_choice="lok"
    )


def test_several_calls_in_a_reply_have_to_be_asked_for() -> None:
    """The model is then told that they stand on lines."""
    made = request(ASKED, tools=(FIND,), parallel_tool_calls=True)
    assert "calls: call (" in str(made.body["grammar"])
    assert "one on each line" in turns(ASKED, tools=(FIND,), parallel_tool_calls=True)[0]["content"]


def test_a_structured_answer_is_held_to_its_schema() -> None:
    """Alone without tools, in the call of the answer with them."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    wanted = {"type": "json_schema", "json_schema": {"schema": schema}}
    alone = request(ASKED, response_format=wanted)
    assert json.dumps(schema)[1:-1] in str(alone.body["grammar"])
    assert alone.form.structured
    assert (
        "final_answer(n: integer)"
        in turns(ASKED, tools=(FIND,), response_format=wanted)[0]["content"]
    )


def test_what_is_no_text_is_refused() -> None:
    """In a message, and in the result of a tool."""
    assert "ImageContent" in refused(ChatMessage.from_user(content_parts=["Look:", IMAGE]))
    assert "tool 'find' gave more" in refused(
        ASKED, CALLED, ChatMessage.from_tool([IMAGE], CALL), tools=(FIND,)
    )


def test_options_are_sent() -> None:
    """Those without a value are not."""
    body = request(ASKED, temperature=0.5, seed=3).body
    assert (body["temperature"], body["seed"], body["max_tokens"]) == (0.5, 3, 1024)
    assert "top_p" not in body
