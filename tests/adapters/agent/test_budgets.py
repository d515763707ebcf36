"""What a model may spend and ask for: also through the agents that work for it, and all at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pytest

from detent import (
    Agent,
    AgentResult,
    AgentTool,
    AlwaysAskPolicy,
    AskAbove,
    BlockingConfirmationStrategy,
    ChatMessage,
    Limits,
    ScriptedChatGenerator,
    Tool,
    ToolCall,
    ToolDefinitionError,
    tool,
)
from detent.approvals import Confirmed, Rejected
from detent.models import ChatReply, Usage
from detent.testing import ScriptedHuman

Runner: TypeAlias = Callable[..., AgentResult[Any, Any]]


def blocking(agent: Agent[Any, Any], *args: Any, **options: Any) -> AgentResult[Any, Any]:
    return agent.run(*args, **options)


def async_(agent: Agent[Any, Any], *args: Any, **options: Any) -> AgentResult[Any, Any]:
    return asyncio.run(agent.run_async(*args, **options))


@pytest.fixture(params=[blocking, async_])
def run(request: pytest.FixtureRequest) -> Runner:
    """Either colour."""
    runner: Runner = request.param
    return runner


class Worker:
    """A model that answers everything, at a price, and counts how often it is asked."""

    def __init__(self, *calls: ToolCall, tokens: int = 1_000) -> None:
        self.asked, self.calls, self.tokens = 0, calls, tokens

    def run(self, messages: Sequence[ChatMessage], **options: Any) -> ChatReply:
        """With its calls first, and then in words."""
        self.asked += 1
        made = self.calls if messages[-1].role == "user" else ()
        said = ChatMessage.from_assistant(None if made else "Done.", tool_calls=made)
        return ChatReply(said, usage=Usage(self.tokens))


def reply(*calls: ToolCall, tokens: int = 0) -> ChatReply:
    return ChatReply(ChatMessage.from_assistant(tool_calls=calls), usage=Usage(tokens))


def delegations(count: int, name: str = "worker") -> list[ToolCall]:
    return [ToolCall(name, {"task": f"part {n}"}) for n in range(count)]


def boss(worker: Worker, tools: Sequence[Tool] = (), depth: int = 1, **limits: Any) -> Agent[Any]:
    """Whose model hands out twenty pieces of work in one reply; those who get them may, too."""
    inner: Agent[Any] = Agent(chat_generator=worker, tools=tools)
    for _ in range(depth - 1):
        names = AgentTool(inner, name="worker", description="Works.")
        inner = Agent(chat_generator=Worker(*delegations(20), tokens=0), tools=[names])
    return Agent(
        chat_generator=ScriptedChatGenerator(reply(*delegations(20), tokens=1), "All done."),
        tools=[AgentTool(inner, name="worker", description="Works.")],
        limits=Limits(**limits),
    )


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_many_agents_at_once_do_not_spend_more_than_one_call_over_the_limit(
    run: Runner, depth: int
) -> None:
    """In tokens: the next begins with what those before have left, however deep they are."""
    worker = Worker()

    result = run(boss(worker, depth=depth, max_tokens=2_500), "Go.")

    assert result.exit_reason == "max_tokens"
    assert (worker.asked, result.token_usage.total_tokens) == (3, 3_001)
    answers = [one.text for one in result.messages[-1].tool_call_results]
    assert len(result.messages[-20:]) == 20
    assert "was not run" in answers[0]


def test_many_agents_at_once_do_not_cost_more_than_the_limit(run: Runner) -> None:
    """The same of money."""
    worker = Worker()

    def price(reply: ChatReply) -> float:
        return reply.usage.total_tokens / 1e6

    result = run(boss(worker, max_cost=0.0025, price=price), "Go.")

    assert result.exit_reason == "max_cost"
    assert worker.asked == 3


def test_without_a_limit_agents_work_side_by_side(run: Runner) -> None:
    """Nobody waits where there is nothing to share."""
    worker = Worker()

    assert run(boss(worker), "Go.").text == "All done."
    assert worker.asked == 20


def test_a_reply_that_spends_all_begins_no_agent(run: Runner) -> None:
    """What its tools have to do is done; what would ask a model is not."""
    worker = Worker()

    result = run(boss(worker, max_tokens=1), "Go.")

    assert (result.exit_reason, worker.asked) == ("max_tokens", 0)


@tool
def look(at: int = 0) -> str:
    """Look."""
    return "nothing"


def looks(count: int) -> list[ToolCall]:
    return [ToolCall("look", {"at": n}) for n in range(count)]


def told(result: AgentResult[Any, Any]) -> list[str]:
    return [one.text for message in result.messages for one in message.tool_call_results]


def test_a_reply_with_too_many_calls_runs_none_of_them(run: Runner) -> None:
    """The model is told how many it may make."""
    model = ScriptedChatGenerator(reply(*looks(3_000)), reply(*looks(128)), "Done.")
    result = run(Agent(chat_generator=model, tools=[look]), "Go.")

    answers = told(result)
    assert "your reply has 3,000 calls; one may have 128 at most" in answers[0]
    assert answers.count("nothing") == 128
    assert result.text == "Done."


def test_a_run_makes_no_more_calls_than_it_may(run: Runner) -> None:
    """One more is not run, in whichever reply it comes."""
    model = ScriptedChatGenerator(reply(*looks(2)), reply(*looks(2)), reply(*looks(1)), "Done.")
    result = run(Agent(chat_generator=model, tools=[look], limits=Limits(max_tool_calls=3)), "Go.")

    over = "Tool 'look' was not run: tools may be called 3 times, and was. Answer without it."
    assert told(result) == ["nothing", "nothing", "nothing", over, over]
    assert result.text == "Done."


def test_the_calls_of_agents_inside_count(run: Runner) -> None:
    """A reply of theirs that goes over the limit runs none of its calls, and no other begins."""
    worker = Worker(*looks(3))

    result = run(boss(worker, [look], max_tool_calls=26), "Go.")

    assert worker.asked == 2 + 2 + 1
    assert told(result).count("Done.") == 2
    assert result.text == "All done."


def test_a_tool_is_called_no_more_often_than_it_may_be(run: Runner) -> None:
    """Others are."""

    @tool(max_calls=2)
    def buy() -> str:
        """Buy."""
        return "bought"

    buys = [ToolCall("buy") for _ in range(2)]
    model = ScriptedChatGenerator(reply(buys[0], *looks(1)), reply(*buys), "Done.")
    result = run(Agent(chat_generator=model, tools=[buy, look]), "Go.")

    over = "Tool 'buy' was not run: it may be called 2 times, and was. Answer without it."
    assert told(result) == ["bought", "nothing", "bought", over]


@pytest.mark.parametrize("most", [0, -1, 1.5, True, "2"])
def test_how_often_a_tool_may_be_called_is_a_number(most: Any) -> None:
    """Above zero: a tool that may never be called is none."""
    with pytest.raises(ToolDefinitionError, match="max_calls must be a number above 0"):
        Tool("buy", "Buys.", {"type": "object"}, print, max_calls=most)


def test_a_human_who_has_said_no_is_not_asked_for_ever(run: Runner) -> None:
    """After three times the model hears what they have said; about another call they are asked."""
    same, other = ToolCall("look", {"at": 1}), ToolCall("look", {"at": 2})
    script = [reply(same) for _ in range(5)]
    model = ScriptedChatGenerator(*script, reply(other), "Done.")
    human = ScriptedHuman(*[Rejected(f"No, {n}.") for n in range(3)], Rejected("Nor that."))
    asking = {"look": BlockingConfirmationStrategy(AlwaysAskPolicy(), human)}

    result = run(Agent(chat_generator=model, tools=[look], confirmation_strategies=asking), "Go.")

    assert [question.tool_params["at"] for question in human.asked] == [1, 1, 1, 2]
    no = "Tool execution for 'look' was rejected by the user. With user feedback: "
    said = ["No, 0.", "No, 1.", "No, 2.", "No, 2.", "No, 2.", "Nor that."]
    assert told(result) == [no + text for text in said]


@pytest.mark.parametrize("at_once", [1, 4])
def test_a_human_is_not_worn_down_by_ever_other_calls(run: Runner, at_once: int) -> None:
    """After ten times the model hears so; what no human need be asked about runs all the same."""
    calls = [ToolCall("look", {"at": 100 + n}) for n in range(32)]
    made = [reply(*calls[n : n + at_once]) for n in range(0, 32, at_once)]
    small = reply(ToolCall("look", {"at": 1}))
    human = ScriptedHuman(*[Rejected("No.") for _ in range(12)])
    asking = {"look": BlockingConfirmationStrategy(AskAbove("at", 10), human)}
    model = ScriptedChatGenerator(*made, small, "Done.")

    result = run(Agent(chat_generator=model, tools=[look], confirmation_strategies=asking), "Go.")

    assert len(human.asked) == (12 if at_once == 4 else 10)
    refused = [text for text in told(result) if "people have refused the last 1" in text]
    assert len(refused) == len(calls) - len(human.asked)
    assert told(result)[-1] == "nothing"


def test_a_yes_in_between_is_from_somebody_who_reads(run: Runner) -> None:
    """They are asked on."""
    calls = [reply(ToolCall("look", {"at": n})) for n in range(24)]
    said = [Confirmed() if n % 8 == 7 else Rejected("No.") for n in range(24)]
    human = ScriptedHuman(*said)
    asking = {"look": BlockingConfirmationStrategy(AlwaysAskPolicy(), human)}
    model = ScriptedChatGenerator(*calls, "Done.")

    run(Agent(chat_generator=model, tools=[look], confirmation_strategies=asking), "Go.")

    assert len(human.asked) == 24


def test_the_same_call_in_other_words_is_the_same(run: Runner) -> None:
    """A model that spells out a default, or leaves it out, asks for the same again."""

    @tool
    def take(count: int, *, near: bool = True) -> str:
        """Take."""
        return "taken"

    plain, spelled = ToolCall("take", {"count": 1}), ToolCall("take", {"count": 1, "near": True})
    script = [reply(one) for one in (plain, spelled, plain, spelled)]
    human = ScriptedHuman(*[Rejected("No.") for _ in range(3)])
    asking = {"take": BlockingConfirmationStrategy(AlwaysAskPolicy(), human)}
    model = ScriptedChatGenerator(*script, "Done.")

    run(Agent(chat_generator=model, tools=[take], confirmation_strategies=asking), "Go.")

    assert len(human.asked) == 3
