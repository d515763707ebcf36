"""A transcript shows what was said and done, and by whom."""

from __future__ import annotations

from detent import (
    Agent,
    AlwaysAskPolicy,
    BlockingConfirmationStrategy,
    ChatMessage,
    ConfirmationUIResult,
    ImageContent,
    ToolCall,
    tool,
)
from detent.testing import ScriptedChatGenerator, transcript


@tool
def weather(city: str) -> str:
    """Tell the weather of a city."""
    if city == "Rome":
        raise ValueError("no such city")
    return f"{city}:\nrain"


class Silent:
    """Never decides."""

    def get_user_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, object]
    ) -> ConfirmationUIResult:
        """Say nothing that counts."""
        return ConfirmationUIResult("")


def test_a_run_reads_from_top_to_bottom() -> None:
    """Each part of each message on its own line, results under the name of their tool."""
    calls = [ToolCall("weather", {"city": "Oslo"}), ToolCall("weather", {"city": "Rome"})]
    chat = ScriptedChatGenerator(
        ChatMessage.from_assistant("Let me see.", tool_calls=calls, reasoning="two cities"),
        "It rains.",
    )
    agent = Agent(chat_generator=chat, tools=[weather], system_prompt="Be brief.")

    result = agent.run("How is it?", run_id="r1")

    fault = "Failed to invoke Tool `weather` with parameters {'city': 'Rome'}. "
    fault += "Error: ValueError: no such city"
    assert transcript(result).replace(" \n", "\n").splitlines() == [
        "run r1: text, turn 2, 0 tokens",
        "system     Be brief.",
        "user       How is it?",
        "assistant  [thinks] two cities",
        "assistant  Let me see.",
        "assistant  → weather(city='Oslo')",
        "assistant  → weather(city='Rome')",
        "weather    Oslo:",
        "           rain",
        f"weather    [failed] {fault}",
        "assistant  It rains.",
    ]
    assert transcript(result.run) == transcript(result)


def test_a_run_that_waits_shows_what_for() -> None:
    """The open calls stand at the end."""
    agent = Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("weather", {"city": "Oslo"})),
        tools=[weather],
        confirmation_strategies={
            "weather": BlockingConfirmationStrategy(AlwaysAskPolicy(), Silent())
        },
    )

    assert transcript(agent.run("How is it?", run_id="r1")).splitlines() == [
        "run r1: waiting, turn 1, 0 tokens",
        "user       How is it?",
        "call       weather(city='Oslo') [AwaitingDecision]",
    ]


def test_what_is_long_or_odd_is_shown_as_well() -> None:
    """Long texts are cut, long names have a line of their own, and a picture is not spelled out."""
    call = ToolCall("a_tool_with_a_long_name", unreadable="{" * 3)
    messages = [
        ChatMessage.from_user(content_parts=["x" * 2001, ImageContent("abcd")]),
        ChatMessage.from_assistant(tool_calls=[call]),
        ChatMessage.from_tool("", call),
    ]

    lines = transcript(messages).splitlines()

    assert lines[0] == f"user       {'x' * 2000}… 1 more characters"
    assert "<4 characters>" in lines[1]
    assert lines[2] == "assistant  → a_tool_with_a_long_name({{{) [unreadable]"
    assert [line.rstrip() for line in lines[3:]] == ["a_tool_with_a_long_name"]


def test_nothing_said_is_nothing_shown() -> None:
    """An empty conversation has an empty transcript."""
    assert transcript([]) == ""


def test_a_secret_is_masked() -> None:
    """A failed test prints what was said, and its output is kept and sent around."""
    call = ToolCall("pay", {"to": "Ann", "pin": "4711"}, secret=("pin",))
    broken = ToolCall("pay", unreadable="{4711", secret=("pin",))

    text = transcript([ChatMessage.from_assistant(tool_calls=[call, broken])])

    assert text == (
        "assistant  → pay(to='Ann', pin='********')\nassistant  → pay(********) [unreadable]"
    )
