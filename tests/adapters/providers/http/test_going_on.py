"""Answers that go on: paused turns, work in the background, and tools that take free text."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from detent import Agent, Limits, tool
from detent.adapters.providers.anthropic.chat import AnthropicChatGenerator
from detent.adapters.providers.http import generator as generators
from detent.adapters.providers.http.caller import Timeouts
from detent.adapters.providers.openai.chat import OpenAIChatGenerator
from detent.adapters.providers.openai_responses.chat import OpenAIResponsesChatGenerator
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import ChatReply
from detent.journals import DirectoryJournal
from detent.ports.chat import ChatGeneratorError

Json = dict[str, Any]
QUESTION = [ChatMessage.from_user("Search")]


class Script:
    """A server that gives one answer after the other, and keeps the requests."""

    def __init__(self, *answers: Json | int) -> None:
        self.answers = [*answers]
        self.requests: list[httpx.Request] = []
        self.transport = httpx.MockTransport(self._answer)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, int):
            return httpx.Response(answer, json={"error": {"message": "no"}})
        return httpx.Response(200, json=answer)

    @property
    def asked(self) -> list[tuple[str, str]]:
        """Method and path of each request."""
        return [(request.method, request.url.path) for request in self.requests]

    def body(self, place: int) -> Json:
        """The body of a request."""
        body: Json = json.loads(self.requests[place].content)
        return body


def turn(text: str, stop: str) -> Json:
    """An answer of Anthropic."""
    return {
        "type": "message",
        "content": [{"type": "text", "text": text}],
        "stop_reason": stop,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


def response(status: str, *texts: str) -> Json:
    """An answer of the Responses API in the background."""
    content = [{"type": "output_text", "text": text} for text in texts]
    output = [{"type": "message", "id": "m", "role": "assistant", "content": content}]
    return {
        "id": "resp_1",
        "object": "response",
        "status": status,
        "background": True,
        "output": output if texts else [],
        "usage": {"input_tokens": 10, "output_tokens": 5} if texts else None,
    }


def claude(script: Script) -> AnthropicChatGenerator:
    """A generator that asks the script."""
    client = httpx.Client(transport=script.transport)
    return AnthropicChatGenerator("m", api_key="k", http_client=client)


def openai(script: Script, **options: Any) -> OpenAIResponsesChatGenerator:
    """One that works in the background."""
    return OpenAIResponsesChatGenerator(
        "m",
        api_key="k",
        http_client=httpx.Client(transport=script.transport),
        async_http_client=httpx.AsyncClient(transport=script.transport),
        generation_kwargs={"background": True, **options},
    )


def test_a_paused_answer_goes_on_in_a_turn_of_the_run() -> None:
    """The API wants its first part back, and the run counts both."""
    script = Script(turn("I search.", "pause_turn"), turn("Found.", "end_turn"))
    result = Agent(chat_generator=claude(script)).run("Search")
    assert (result.text, result.exit_reason) == ("Found.", "text")
    assert result.run.usage.total_tokens == 30
    assert [message["role"] for message in script.body(1)["messages"]] == ["user", "assistant"]


def test_the_limits_hold_between_the_parts() -> None:
    """A provider that pauses for ever does not."""
    script = Script(*[turn("I search.", "pause_turn")] * 3)
    agent = Agent(chat_generator=claude(script), limits=Limits(3))
    assert agent.run("Search").exit_reason == "max_agent_steps"


def test_a_crash_between_the_parts_loses_none_that_was_paid(tmp_path: Path) -> None:
    """The first is in the journal, and the second request begins with it."""
    script = Script(turn("I search.", "pause_turn"), 400, turn("Found.", "end_turn"))
    with pytest.raises(ChatGeneratorError):
        Agent(chat_generator=claude(script), journal=DirectoryJournal(tmp_path)).run(
            "Search", run_id="r"
        )
    agent = Agent(chat_generator=claude(script), journal=DirectoryJournal(tmp_path))
    assert agent.resume("r").text == "Found."
    assert script.body(2)["messages"] == script.body(1)["messages"]


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generators, "POLL_S", 0.0)


BACKGROUND = [("POST", "/v1/responses"), *[("GET", "/v1/responses/resp_1")] * 2]


@pytest.mark.parametrize("is_async", [False, True], ids=["blocking", "async"])
def test_an_answer_of_the_background_is_fetched_when_it_is_made(*, is_async: bool) -> None:
    """It is asked for once, and looked for until it is there."""
    script = Script(response("queued"), response("in_progress"), response("completed", "Found."))
    agent = Agent(chat_generator=openai(script))
    result = asyncio.run(agent.run_async("Search")) if is_async else agent.run("Search")
    assert (result.text, result.exit_reason) == ("Found.", "text")
    assert result.run.usage.total_tokens == 15
    assert script.asked == BACKGROUND
    assert script.body(0)["store"] is True


def test_a_crash_while_the_server_works_does_not_ask_it_again(tmp_path: Path) -> None:
    """What was begun is paid: its id is in the journal before it is looked for."""
    script = Script(response("queued"), 404, response("completed", "Found."))
    with pytest.raises(ChatGeneratorError):
        Agent(chat_generator=openai(script), journal=DirectoryJournal(tmp_path)).run(
            "Search", run_id="r"
        )
    agent = Agent(chat_generator=openai(script), journal=DirectoryJournal(tmp_path))
    assert agent.resume("r").text == "Found."
    assert script.asked == BACKGROUND


def test_work_that_takes_longer_than_a_call_goes_on_in_the_next_turn() -> None:
    """The time for a call is kept; no answer is lost by it."""
    script = Script(*[response("queued")] * 2, response("completed", "Found."))
    generator = openai(script)
    generator._timeouts = Timeouts(total_s=0.0)
    paused = generator.run(QUESTION)
    again = generator.run([*QUESTION, paused.message])
    assert again.finish_reason == "paused"
    replies: Sequence[ChatReply] = (paused, again)
    whole = generator.run([*QUESTION, *(reply.message for reply in replies)])
    assert whole.message.text == "Found."


def test_what_was_begun_does_not_go_into_a_chain() -> None:
    """The user has spoken meanwhile: the answer that was being made is given up."""
    script = Script(response("queued"), response("completed", "Found."))
    generator = openai(script)
    paused = generator.run(QUESTION)
    generator.run([*QUESTION, paused.message, ChatMessage.from_user("Never mind")])
    assert [one["role"] for one in script.body(1)["input"]] == ["user", "user"]


@tool
def run_sql(input: str) -> str:  # noqa: A002 - as the APIs call it
    """Run a statement."""
    return f"ran {input}"


SQL: Json = {"type": "custom", "name": "run_sql", "format": {"type": "text"}}
CALL: Json = {
    "type": "custom_tool_call",
    "id": "ctc_1",
    "call_id": "c1",
    "name": "run_sql",
    "input": 'SELECT "a"\nFROM b',
}


def test_a_tool_that_takes_free_text_is_run() -> None:
    """The model writes no JSON; what it wrote is the only argument."""
    calling = response("completed", "x") | {"output": [CALL]}
    script = Script(calling, response("completed", "Done."))
    generator = openai(script, background=None, tools=[SQL], tool_choice="run_sql")
    assert Agent(chat_generator=generator, tools=[run_sql]).run("Count").text == "Done."
    assert script.body(0)["tools"] == [SQL]
    assert script.body(0)["tool_choice"] == {"type": "custom", "name": "run_sql"}
    assert script.body(1)["input"][1:] == [
        CALL,
        {"type": "custom_tool_call_output", "call_id": "c1", "output": f"ran {CALL['input']}"},
    ]


def test_a_tool_that_takes_free_text_is_run_in_chat_completions_too() -> None:
    """The form differs."""
    declared = {"type": "custom", "custom": {"name": "run_sql"}}
    call = {"id": "c1", "type": "custom", "custom": {"name": "run_sql", "input": "SELECT 1"}}
    script = Script(
        {"choices": [{"message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]},
        {"choices": [{"message": {"content": "Done."}, "finish_reason": "stop"}]},
    )
    generator = OpenAIChatGenerator(
        "m",
        api_key="k",
        http_client=httpx.Client(transport=script.transport),
        generation_kwargs={"tools": [declared], "tool_choice": "run_sql"},
    )
    assert Agent(chat_generator=generator, tools=[run_sql]).run("Count").text == "Done."
    assert script.body(0)["tools"] == [declared]
    assert script.body(0)["tool_choice"] == declared
    assert script.body(1)["messages"][1]["tool_calls"] == [call]
    assert script.body(1)["messages"][2]["content"] == "ran SELECT 1"


def test_a_tool_of_more_than_a_text_cannot_be_declared_to_take_one() -> None:
    """It would be refused at every call."""

    @tool(name="run_sql")
    def other(statement: str) -> str:
        """Run a statement."""
        return statement

    agent = Agent(chat_generator=openai(Script(), tools=[SQL]), tools=[other])
    with pytest.raises(ChatGeneratorError, match="one text 'input'"):
        agent.run("Count")
