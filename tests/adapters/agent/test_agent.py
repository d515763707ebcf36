"""The agent: what its users say to it and get from it, blocking and as a coroutine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from math import inf, nan
from queue import SimpleQueue
from typing import Any, TypeAlias

import pytest
from attrs import evolve

from detent import (
    Agent,
    AgentResult,
    AgentTool,
    AlwaysAskPolicy,
    Appended,
    BlockingConfirmationStrategy,
    ChatGeneratorError,
    ChatMessage,
    ConfirmationUIResult,
    Limits,
    MemoryJournal,
    NeverAskPolicy,
    Price,
    Prices,
    Replaced,
    Retries,
    SchemaError,
    ScriptedChatGenerator,
    StateError,
    StreamingChunk,
    Tool,
    ToolCall,
    ToolInvocationError,
    TypedState,
    WiringError,
    tool,
)
from detent.adapters.agent.records.proofs import proof_of
from detent.journals import JournalError
from detent.machine import CancelRequested, Event, Failed, ManualClock, Pausing, Run
from detent.models import ChatReply, ModelFailure, Usage

Runner: TypeAlias = Callable[..., AgentResult[Any]]
"""Runs an agent in one of the two ways: ``run(agent, messages, **options)``."""


def blocking(agent: Agent[Any], *args: Any, **options: Any) -> AgentResult[Any]:
    return agent.run(*args, **options)


def async_(agent: Agent[Any], *args: Any, **options: Any) -> AgentResult[Any]:
    return asyncio.run(agent.run_async(*args, **options))


@pytest.fixture(params=[blocking, async_])
def run(request: pytest.FixtureRequest) -> Runner:
    """Every behaviour below holds for both."""
    runner: Runner = request.param
    return runner


@tool(outputs_to_state={"notes": {}}, inputs_from_state={"user": "who"})
def note(n: int, who: str = "nobody") -> str:
    """Note a number."""
    return f"{who}: {n}"


@tool
def pay(n: int) -> str:
    """Pay."""
    return f"paid {n}"


@tool
def fail(n: int) -> str:
    """Fail."""
    raise ValueError(f"no {n}")


NOTES = {"notes": {"type": list[str]}, "user": {"type": str}}


def calling(*calls: tuple[str, int]) -> ChatMessage:
    """The model calls tools with numbers."""
    made = [ToolCall(name, {"n": n}, f"{name}{n}") for name, n in calls]
    return ChatMessage.from_assistant(tool_calls=made)


def agent_of(
    *script: Any, tools: Sequence[Tool] = (note, pay, fail), **options: Any
) -> tuple[Agent[Any], ScriptedChatGenerator]:
    """An agent on a scripted model, and the model."""
    chat = ScriptedChatGenerator(*script)
    return Agent(chat_generator=chat, tools=tools, state_schema=NOTES, **options), chat


def told(result: AgentResult[Any]) -> list[str]:
    """What the tools' messages say."""
    return [one.text for message in result.messages for one in message.tool_call_results]


class Human:
    """A UI that gives its answers one after another."""

    def __init__(self, *answers: ConfirmationUIResult) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def get_user_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> ConfirmationUIResult:
        """Give the next answer."""
        self.asked.append((tool_name, tool_params))
        return self.answers.pop(0)


def asking(human: Human, *names: str) -> dict[str, BlockingConfirmationStrategy]:
    return {name: BlockingConfirmationStrategy(AlwaysAskPolicy(), human) for name in names}


# --- what goes in -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    ["hello", ChatMessage.from_user("hello"), [ChatMessage.from_user("hello")]],
    ids=["text", "message", "messages"],
)
def test_a_conversation_may_be_said_in_three_ways(run: Runner, said: Any) -> None:
    """As plain text, as one message or as several."""
    agent, chat = agent_of("hi", system_prompt="be brief")

    result = run(agent, said)

    assert result.text == "hi"
    assert chat.calls[0].messages == (
        ChatMessage.from_system("be brief"),
        ChatMessage.from_user("hello"),
    )


def test_a_run_has_options_of_its_own(run: Runner) -> None:
    """They win over the agent's, for this run alone."""
    agent, chat = agent_of("one", "two", system_prompt="a", generation_kwargs={"seed": 1, "top": 2})

    run(agent, "x", system_prompt="b", generation_kwargs={"seed": 7})
    run(agent, "x")

    first, second = chat.calls
    assert first.messages[0].text == "b"
    assert first.generation_kwargs == {"seed": 7, "top": 2}
    assert second.messages[0].text == "a"
    assert second.generation_kwargs == {"seed": 1, "top": 2}


def test_state_goes_in_and_comes_out(run: Runner) -> None:
    """A tool reads one key and writes another; a key that nobody wrote reads None."""
    agent, _ = agent_of(calling(("note", 1), ("note", 2)), "done")

    result = run(agent, "go", user="Ann", notes=["before"])

    assert result["notes"] == ["before", "Ann: 1", "Ann: 2"]
    assert result["user"] == "Ann"
    assert result["last_message"] == ChatMessage.from_assistant("done")
    assert run(agent_of("hi")[0], "x")["notes"] is None


def test_a_state_of_ones_own_class_is_typed(run: Runner) -> None:
    """The schema is a class; the result's state is one of it."""

    class Research(TypedState):
        user = Replaced("nobody")
        notes = Appended[str]()

    chat = ScriptedChatGenerator(calling(("note", 1)), "done")
    agent = Agent(chat_generator=chat, tools=[note], state_schema=Research)

    result = run(agent, "go")

    assert isinstance(result.state, Research)
    assert result.state.notes == ["nobody: 1"]


def test_an_unknown_state_key_is_refused_before_anything_runs(run: Runner) -> None:
    """With the key that may have been meant."""
    agent, chat = agent_of("hi")

    with pytest.raises(StateError, match="did you mean notes="):
        run(agent, "x", nots=["a"])
    assert chat.calls == []


def test_an_agent_that_does_not_fit_together_is_not_built() -> None:
    """The mistake is found before the first run."""
    with pytest.raises(WiringError, match="finish"):
        agent_of(exit_conditions=["finish"])
    with pytest.raises(SchemaError, match="type"):
        Agent(chat_generator=ScriptedChatGenerator(), state_schema={"notes": {}})


# --- tools ------------------------------------------------------------------------------


def test_a_run_may_use_some_of_the_tools(run: Runner) -> None:
    """By name: the model is offered these, and no other one runs."""
    agent, chat = agent_of(calling(("pay", 1)), "done")

    result = run(agent, "go", tools=["note"])

    assert [spec.name for spec in chat.calls[0].tools] == ["note"]
    assert told(result) == ["Tool 'pay' not found. Available tools: note"]


def test_a_run_may_bring_its_own_tools(run: Runner) -> None:
    """In place of the agent's; exit conditions that name an absent one are idle."""

    @tool
    def look(n: int) -> str:
        """Look."""
        return f"saw {n}"

    agent, chat = agent_of(calling(("look", 3)), "done", exit_conditions=["pay"])

    result = run(agent, "go", tools=[look])

    assert [spec.name for spec in chat.calls[0].tools] == ["look"]
    assert (told(result), result.exit_reason) == (["saw 3"], "text")


def test_no_tools_at_all_is_a_choice(run: Runner) -> None:
    """An empty list offers none."""
    agent, chat = agent_of("hi")

    run(agent, "x", tools=[])

    assert chat.calls[0].tools == ()


def test_a_guard_holds_for_a_tool_of_the_same_name(run: Runner) -> None:
    """A tool that a run brings along cannot slip past the agent's confirmation."""

    @tool(name="pay")
    def pay_too(n: int) -> str:
        """Pay as well."""
        return f"paid {n} too"

    human = Human(ConfirmationUIResult("reject"))
    agent, _ = agent_of(calling(("pay", 1)), "done", confirmation_strategies=asking(human, "pay"))

    result = run(agent, "go", tools=[pay_too])

    assert told(result) == ["Tool execution for 'pay' was rejected by the user."]


@pytest.mark.parametrize(
    ("chosen", "error", "text"),
    [
        (["nope"], ValueError, r"no tools \['nope'\]"),
        ("note", TypeError, r"tools of a run are a list: tools=\['note'\]"),
        (["note", pay], TypeError, "all Tool objects or all tool names"),
    ],
)
def test_a_choice_of_tools_that_is_none_is_refused(
    run: Runner, chosen: list[Any], error: type[Exception], text: str
) -> None:
    """A name that the agent has not, and a mixture."""
    with pytest.raises(error, match=text):
        run(agent_of("hi")[0], "x", tools=chosen)


# --- how it ends ------------------------------------------------------------------------


def test_a_result_tells_what_the_run_did(run: Runner) -> None:
    """Why it ended, how many steps, tokens and calls it took."""
    replies = [
        ChatReply(message, usage=Usage(10, 2))
        for message in (calling(("pay", 1), ("pay", 2)), ChatMessage.from_assistant("done"))
    ]

    result = run(agent_of(*replies)[0], "go")

    assert (result.exit_reason, result.step_count) == ("text", 2)
    assert result.token_usage == Usage(20, 4)
    assert result.tool_call_counts == {"pay": 2}


def spending(*lines: ChatMessage) -> list[ChatReply]:
    """Replies that cost a hundred tokens each."""
    return [ChatReply(line, usage=Usage(90, 10), model="m-1") for line in lines]


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        (Limits(max_tokens=200), "max_tokens"),
        (
            Limits(max_cost=0.0004, price=Prices({"m": Price(input=1, output=11)})),
            "max_cost",
        ),
        (Limits(2), "max_agent_steps"),
    ],
    ids=["tokens", "cost", "steps"],
)
@pytest.mark.parametrize("last", [False, True], ids=["at once", "with a last answer"])
def test_a_run_ends_when_it_has_spent_what_it_may(
    run: Runner, limits: Limits, reason: str, *, last: bool
) -> None:
    """Every call is answered; if it may, the model says what it knows by then."""
    lines = [calling(("pay", 1)), calling(("pay", 2)), ChatMessage.from_assistant("so far")]
    agent, chat = agent_of(*spending(*lines), limits=evolve(limits, final_answer=last))

    result = run(agent, "go")

    assert (result.exit_reason, told(result)) == (reason, ["paid 1", "paid 2"])
    assert (result.text, len(chat.calls)) == (("so far", 3) if last else (None, 2))
    assert result.cost == pytest.approx(0.0002 * len(chat.calls) if limits.price else 0)


def test_a_run_that_waits_for_a_human_does_not_wait_for_its_time(run: Runner) -> None:
    """It comes back at once, and has all its time again when it is taken up."""
    clock = ManualClock()
    human = Human(ConfirmationUIResult("shrug"), ConfirmationUIResult("confirm"))
    agent, _ = agent_of(
        calling(("pay", 1)),
        "done",
        limits=Limits(max_seconds=60),
        clock=clock,
        confirmation_strategies=asking(human, "pay"),
    )
    paused = run(agent, "go")
    assert paused.exit_reason is None

    clock.advance(1000)

    assert run(agent, snapshot=paused.snapshot).text == "done"


def test_a_journal_that_fails_is_not_waited_for_until_the_time_is_up(run: Runner) -> None:
    """What runs is heard out; the wait for the run's end is given up."""

    class Full(MemoryJournal):
        def append(self, run_id: str, *given: Any, **more: Any) -> None:
            if list(self.read(run_id)):
                raise JournalError("the disk is full")
            super().append(run_id, *given, **more)

    limits = Limits(max_seconds=60)
    agent, _ = agent_of("hi", limits=limits, clock=ManualClock(), journal=Full())

    with pytest.raises(JournalError, match="the disk is full"):
        run(agent, "go")


@pytest.mark.parametrize(
    "price",
    [{}.__getitem__, lambda reply: nan, lambda reply: None, lambda reply: -1.0],
    ids=["raises", "says nothing that counts", "says nothing", "gives back"],
)
def test_a_reply_whose_price_cannot_be_told_is_kept(
    price: Any, run: Runner, caplog: pytest.LogCaptureFixture
) -> None:
    """It is paid for: whoever goes on with the run does not pay for it again, nor for more."""
    journal = MemoryJournal()
    limits = Limits(max_cost=0.5, price=price)
    agent, chat = agent_of(calling(("note", 1)), "hi", limits=limits, journal=journal)

    result = run(agent, "go", run_id="r")

    assert (result.exit_reason, result.cost, len(chat.calls)) == ("max_cost", 0.5, 1)
    assert agent.resume("r").cost == 0.5
    assert proof_of(journal, agent.spec, "r").problems == ()
    assert (
        "what a reply of model 'scripted' has cost is not known, and counts as 0.5" in caplog.text
    )
    for limits in (Limits(price=price), Limits(max_cost=inf, price=price)):
        free, _ = agent_of("hi", limits=limits)
        unlimited = run(free, "go")
        assert (unlimited.text, unlimited.cost) == ("hi", 0.0)


def test_a_reply_without_a_price_spends_what_its_agent_may(run: Runner) -> None:
    """One that works for another one spends what that may, where it has no limit of its own."""

    def price(reply: ChatReply) -> float:
        raise KeyError(reply.model)

    inner, _ = agent_of(calling(("note", 1)), "hi", limits=Limits(price=price))
    helper = AgentTool(inner, name="helper", description="helps")
    limits = Limits(max_cost=0.5, price=lambda reply: 0.1)
    chat = ScriptedChatGenerator(ToolCall("helper", {"task": "x"}), "done")

    result = run(Agent(chat_generator=chat, tools=[helper], limits=limits), "go")

    assert result.exit_reason == "max_cost"
    assert result.cost >= 0.6


def test_an_error_has_the_run_in_it(run: Runner) -> None:
    """Nothing of what was done by then is lost."""
    error = ChatGeneratorError(ModelFailure("authentication", "no such key"))
    strict, _ = agent_of(calling(("fail", 1)), raise_on_tool_invocation_failure=True)

    with pytest.raises(ToolInvocationError) as failed:
        run(strict, "go")
    with pytest.raises(ChatGeneratorError) as unanswered:
        run(agent_of(calling(("note", 1)), error)[0], "go")
    with pytest.raises(ChatGeneratorError) as broken:
        run(agent_of(calling(("note", 1)), ZeroDivisionError())[0], "go")

    for caught in (failed, unanswered, broken):
        ended: Any = caught.value.run
        assert isinstance(ended.outcome, Failed)
        assert len(ended.messages) == 3


@pytest.mark.parametrize(
    "calls", [[("fail", 7)], [("note", 1), ("fail", 7), ("note", 2)], [("pay", 1), ("fail", 7)]]
)
def test_a_failing_tool_may_end_the_run(run: Runner, calls: list[tuple[str, int]]) -> None:
    """The error names the tool that failed, and what it raised is the cause."""
    human = Human(ConfirmationUIResult("reject"))
    agent, _ = agent_of(
        calling(*calls),
        raise_on_tool_invocation_failure=True,
        confirmation_strategies=asking(human, "pay"),
    )

    with pytest.raises(ToolInvocationError, match="no 7") as caught:
        run(agent, "go")

    assert caught.value.tool_name == "fail"
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_call_that_was_never_run_has_a_cause_of_its_own(run: Runner) -> None:
    """Another tool's exception is not blamed."""
    agent, _ = agent_of(calling(("nope", 1), ("fail", 7)), raise_on_tool_invocation_failure=True)

    with pytest.raises(ToolInvocationError, match="'nope' not found") as caught:
        run(agent, "go")

    assert caught.value.tool_name == "nope"
    assert type(caught.value.__cause__) is LookupError


def test_a_failing_model_raises_its_own_error(run: Runner) -> None:
    """Also after tools have failed and were forgiven."""
    error = ChatGeneratorError(ModelFailure("authentication", "no such key"))
    agent, _ = agent_of(calling(("fail", 1)), error)

    with pytest.raises(ChatGeneratorError) as caught:
        run(agent, "go")

    assert caught.value is error


def test_a_model_is_asked_again_by_the_agents_clock(run: Runner) -> None:
    """As often as the agent says; nobody waits longer than the provider asks for and a pause."""
    clock = ManualClock()
    asked_at: list[float] = []
    busy = ChatGeneratorError(
        ModelFailure("rate_limit", "slow down", retryable=True, retry_after_s=20)
    )

    def fail(messages: object) -> Exception:
        asked_at.append(clock.now())
        return busy

    def pass_time(before: Run[Any], event: Event, after: Run[Any]) -> None:
        if isinstance(after.phase, Pausing):
            clock.advance(after.phase.until - clock.now())

    retries = Retries(2, backoff_s=8)
    agent, chat = agent_of(
        fail, fail, "at last", clock=clock, observers=[pass_time], model_retries=retries
    )

    assert run(agent, "go").text == "at last"
    assert [len(call.messages) for call in chat.calls] == [1, 1, 1]
    first, second = asked_at
    assert first == 0
    assert 24 <= second <= 28

    with pytest.raises(ChatGeneratorError) as caught:
        run(agent_of(busy, model_retries=0)[0], "go")
    assert caught.value is busy


def test_a_bug_in_the_generator_is_the_cause(run: Runner) -> None:
    """The error says what was raised; the traceback leads there."""
    with pytest.raises(ChatGeneratorError, match="ZeroDivisionError: oops") as caught:
        run(agent_of(ZeroDivisionError("oops"))[0], "go")

    assert caught.value.failure.cause == "bug"
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_run_can_be_cancelled_from_outside() -> None:
    """By an event in its inbox; the result says so."""

    async def main() -> AgentResult[Any]:
        inbox: asyncio.Queue[Any] = asyncio.Queue()
        inbox.put_nowait(CancelRequested("enough"))
        return await agent_of()[0].run_async("go", inbox=inbox)

    inbox: SimpleQueue[Any] = SimpleQueue()
    inbox.put(CancelRequested("enough"))

    assert agent_of()[0].run("go", inbox=inbox).exit_reason == "cancelled"
    assert asyncio.run(main()).exit_reason == "cancelled"


def test_runs_of_one_agent_know_nothing_of_each_other(run: Runner) -> None:
    """Each has an id of its own and begins with a blank state."""
    agent, _ = agent_of(calling(("note", 1)), "done", "hi")

    first, second = run(agent, "go"), run(agent, "again")

    assert first["notes"] == ["nobody: 1"]
    assert second["notes"] is None
    assert first.run_id != second.run_id


# --- humans -----------------------------------------------------------------------------


def test_a_human_is_asked_about_guarded_calls_alone(run: Runner) -> None:
    """With the model's arguments; what is confirmed runs."""
    human = Human(ConfirmationUIResult("confirm"))
    agent, _ = agent_of(
        calling(("pay", 5), ("note", 1)), "done", confirmation_strategies=asking(human, "pay")
    )

    result = run(agent, "go")

    assert human.asked == [("pay", {"n": 5})]
    assert told(result) == ["paid 5", "nobody: 1"]


def test_the_human_does_not_see_what_the_state_fills(run: Runner) -> None:
    """Only what the model wrote is shown."""
    human = Human(ConfirmationUIResult("confirm"))
    agent, _ = agent_of(calling(("note", 1)), "done", confirmation_strategies=asking(human, "note"))

    assert told(run(agent, "go", user="a secret")) == ["a secret: 1"]
    assert human.asked == [("note", {"n": 1})]


def test_a_policy_may_spare_the_human(run: Runner) -> None:
    """One of the shipped, and one of the user's own that looks at the arguments."""

    class Above:
        def should_ask(
            self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
        ) -> bool:
            return bool(tool_params["n"] > 100)

    human = Human(ConfirmationUIResult("reject", "too much"))
    agent, _ = agent_of(
        calling(("pay", 5), ("pay", 500), ("note", 1)),
        "done",
        confirmation_strategies={
            "pay": BlockingConfirmationStrategy(Above(), human),
            "note": BlockingConfirmationStrategy(NeverAskPolicy(), human),
        },
    )

    assert told(run(agent, "go")) == [
        "paid 5",
        "Tool execution for 'pay' was rejected by the user. With user feedback: too much",
        "nobody: 1",
    ]
    assert human.asked == [("pay", {"n": 500})]


@pytest.mark.parametrize(
    "answer", [ConfirmationUIResult("shrug"), ConfirmationUIResult("modify", None, {"n": "all"})]
)
def test_a_call_that_nobody_decides_about_stays_pending(
    run: Runner, answer: ConfirmationUIResult
) -> None:
    """An answer that means nothing, or arguments that do not fit: the run comes back unfinished."""
    human = Human(*[answer] * 5)
    agent, _ = agent_of(calling(("pay", 5)), confirmation_strategies=asking(human, "pay"))

    result = run(agent, "go")

    assert (result.exit_reason, told(result)) == (None, [])
    assert [slot.call.arguments for slot in result.run.slots] == [{"n": 5}]


# --- watching ---------------------------------------------------------------------------


def test_pieces_and_results_are_streamed(run: Runner) -> None:
    """Text as it comes, what each tool gave when it has ended, failed ones as well."""
    seen: list[StreamingChunk] = []
    agent, _ = agent_of(
        calling(("pay", 1), ("fail", 2)), "all done", streaming_callback=seen.append
    )

    run(agent, "go")

    results = [c.tool_call_result for c in seen if c.tool_call_result is not None]
    assert sorted((one.origin.tool_name, one.error) for one in results) == [
        ("fail", True),
        ("pay", False),
    ]
    assert "".join(chunk.content for chunk in seen) == "all done"
    assert [c.finish_reason for c in seen if c.finish_reason] == [
        "tool_calls",
        "tool_call_results",
        "stop",
    ]


def test_the_callback_of_a_run_takes_the_place_of_the_agents(run: Runner) -> None:
    """Even one that Python calls false."""

    class Chunks(list[StreamingChunk]):
        def __call__(self, chunk: StreamingChunk) -> None:
            self.append(chunk)

    agents, runs = Chunks(), Chunks()
    agent, _ = agent_of("hi", streaming_callback=agents)

    run(agent, "x", runs)

    assert agents == []
    assert [chunk.content for chunk in runs] == ["hi", ""]


def test_observers_see_every_event_and_streaming_changes_none(run: Runner) -> None:
    """The same run, with and without somebody listening."""
    events: list[Event] = []
    silent: list[Event] = []

    def record(before: Run[Any], event: Event, after: Run[Any]) -> None:
        events.append(event)

    script = (calling(("pay", 1)), "done")
    run(agent_of(*script, observers=[record], streaming_callback=lambda chunk: None)[0], "go")
    quiet = [lambda before, event, after: silent.append(event)]
    run(agent_of(*script, observers=quiet)[0], "go")

    assert [type(event).__name__ for event in events] == [
        "ModelReplied",
        "ToolStarted",
        "ToolReturned",
        "ModelReplied",
    ]
    assert events == silent


def test_a_confirmation_rule_that_is_none_is_refused() -> None:
    """When the agent is built, and not when the tool is called."""
    wrong: Any = {"pay": Human(ConfirmationUIResult("confirm"))}
    with pytest.raises(
        TypeError, match=r"confirmation_strategies\['pay'\] must be a strategy, e.g. Block"
    ):
        agent_of("done", confirmation_strategies=wrong)
    with pytest.raises(TypeError, match="confirmation_strategies are a dict by tool name, got "):
        agent_of("done", confirmation_strategies=["pay"])


def test_a_state_schema_that_is_none_is_refused() -> None:
    """It says what one is."""
    wrong: Any = [("n", int)]
    with pytest.raises(TypeError, match=r"state_schema is a dict, .* or a subclass of TypedState"):
        Agent(chat_generator=ScriptedChatGenerator("done"), state_schema=wrong)


def test_a_tool_that_ends_the_run_need_not_stand_in_a_list(run: Runner) -> None:
    """A text is a name, and no list of letters."""
    agent, _ = agent_of(calling(("note", 1)), exit_conditions="note")
    assert run(agent, "go").exit_reason == "note"
