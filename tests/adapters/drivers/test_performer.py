"""Paying: what a port gives or raises becomes an event, the same in both colours."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from weakref import finalize

import pytest
from attrs import evolve

from detent import (
    ChatGeneratorError,
    ChatMessage,
    ConfirmationUIResult,
    Confirmed,
    ScriptedChatGenerator,
    State,
    StreamingChunk,
    Tool,
    ToolCall,
)
from detent.approvals import Ask
from detent.core.run.approval import Verdict
from detent.core.run.sizes import MANY
from detent.machine import (
    AskHuman,
    AskModel,
    CallRef,
    Effect,
    EffectPerformer,
    Event,
    FrozenDict,
    FunctionToolExecutor,
    HumanDecided,
    Judge,
    Judged,
    ManualClock,
    ModelFailed,
    ModelReplied,
    Run,
    RunTool,
    ToolRaised,
    ToolResult,
    ToolReturned,
    Write,
)
from detent.models import ChatReply, ModelFailure

Pay: TypeAlias = Callable[[EffectPerformer, Effect], Event | None]

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}, "who": {"type": "string"}}}
CALL = ToolCall("note", {"n": 1, "tags": ["a"]}, "c1")
STATE = State({"user": {"type": str}, "notes": {"type": list[int]}}, {"user": "Ann"})
HELLO = ChatMessage.from_user("hello")
ASK = AskModel(1, 1, (HELLO,), (), FrozenDict({"seed": 1}))


@pytest.fixture(params=["blocking", "async"])
def pay(request: pytest.FixtureRequest) -> Pay:
    """Both ways to pay."""
    if request.param == "blocking":
        return EffectPerformer.perform
    return lambda performer, effect: asyncio.run(performer.perform_async(effect))


def running(function: Callable[..., object], **wiring: Any) -> RunTool:
    tool = Tool("note", "notes", NUMBER, function, **wiring)
    return RunTool(CallRef(1, 0), 1, CALL, tool, STATE)


def performer(*script: Any, **more: Any) -> EffectPerformer:
    return EffectPerformer(ScriptedChatGenerator(*script), FunctionToolExecutor(), **more)


class OnlyBlocking:
    """A chat generator and a tool executor without coroutines."""

    def run(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[object] = (),
        generation_kwargs: Mapping[str, object] | None = None,
        streaming_callback: object = None,
    ) -> ChatReply:
        """Say what was heard."""
        return ChatReply(ChatMessage.from_assistant(f"heard {messages[-1].text}"))

    def execute(self, tool: Tool, arguments: Mapping[str, object]) -> object:
        """Say what was run."""
        return f"ran {tool.name}"


class OnlyAsync:
    """The same with coroutines alone."""

    async def run_async(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[object] = (),
        generation_kwargs: Mapping[str, object] | None = None,
        streaming_callback: object = None,
    ) -> ChatReply:
        """Say what was heard."""
        return OnlyBlocking().run(messages)

    async def execute_async(self, tool: Tool, arguments: Mapping[str, object]) -> object:
        """Say what was run."""
        return OnlyBlocking().execute(tool, arguments)


class Human:
    """A UI that answers the same to everything, and scribbles on what it was shown."""

    def __init__(self, answer: ConfirmationUIResult | Exception) -> None:
        self.answer = answer
        self.shown: list[object] = []

    def get_user_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> ConfirmationUIResult:
        """Answer, or hang up."""
        self.shown += [tool_name, tool_description, dict(tool_params)]
        tool_params["tags"].append("scribble")
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


HUMAN = AskHuman(CallRef(1, 0), CALL, Tool("note", "notes", NUMBER, print), "digest", "why")


def test_the_model_is_asked_what_the_effect_says(pay: Pay) -> None:
    """Messages, tools and options reach the generator, pieces the callback, the reply the run."""
    told: list[StreamingChunk] = []
    chat = ScriptedChatGenerator("hi there")

    event = pay(EffectPerformer(chat, FunctionToolExecutor(), streaming_callback=told.append), ASK)

    assert isinstance(event, ModelReplied)
    assert (event.turn, event.attempt, event.reply.message.text) == (1, 1, "hi there")
    assert chat.calls[0].messages == (HELLO,)
    assert chat.calls[0].generation_kwargs == {"seed": 1}
    assert "".join(chunk.content for chunk in told) == "hi there"


def test_a_failure_of_the_model_is_an_event(pay: Pay) -> None:
    """With the generator's own word for it; the exception is kept beside it."""
    failure = ModelFailure("authentication", "no such key")
    error = ChatGeneratorError(failure)
    mine = performer(error)

    assert pay(mine, ASK) == ModelFailed(1, 1, failure)
    assert mine.errors == {failure: error}


def test_a_failure_that_may_pass_comes_with_time_and_chance(pay: Pay) -> None:
    """The core makes the pause of them."""
    failure = ModelFailure("rate_limit", "slow down", retryable=True)
    mine = performer(ChatGeneratorError(failure), clock=ManualClock(7), chance=lambda: 0.5)

    assert pay(mine, ASK) == ModelFailed(1, 1, failure, at=7, chance=0.5)


def test_a_bug_in_a_generator_is_a_failure_too(pay: Pay) -> None:
    """It says what was raised, so that it can be found."""
    event = pay(performer(ZeroDivisionError("oops")), ASK)

    assert event == ModelFailed(
        1, 1, ModelFailure("bug", "the chat generator raised ZeroDivisionError: oops")
    )


@pytest.mark.parametrize("ports", [OnlyBlocking(), OnlyAsync()], ids=["blocking", "async"])
def test_a_port_of_one_colour_serves_both(pay: Pay, ports: OnlyBlocking | OnlyAsync) -> None:
    """Who has only one of the two methods is called by it."""
    mine = EffectPerformer(ports, ports)

    replied, ran = pay(mine, ASK), pay(mine, running(print))

    assert isinstance(replied, ModelReplied)
    assert replied.reply.message.text == "heard hello"
    assert ran == ToolReturned(CallRef(1, 0), 1, ToolResult("ran note"))


def test_a_tools_result_says_what_to_tell_and_what_to_write(pay: Pay) -> None:
    """Arguments come from the call and from the state."""

    def note(n: int, tags: list[str], who: str) -> int:
        return n + len(tags) + len(who)

    effect = running(note, inputs_from_state={"user": "who"}, outputs_to_state={"notes": {}})

    assert pay(performer(), effect) == ToolReturned(
        CallRef(1, 0), 1, ToolResult("5", (Write("notes", 5),))
    )


def test_a_coroutine_function_is_a_tool(pay: Pay) -> None:
    """It is awaited, whoever drives."""

    async def note(n: int, tags: list[str]) -> str:
        await asyncio.sleep(0)
        return f"{n} {tags}"

    event = pay(performer(), running(note))

    assert event == ToolReturned(CallRef(1, 0), 1, ToolResult("1 ['a']"))


def test_a_tool_that_raises_is_told_to_the_model(pay: Pay) -> None:
    """With the model's arguments and the error, and without what the state filled in."""
    boom = ValueError("boom")

    def note(n: int, tags: list[str], who: str) -> None:
        raise boom

    mine = performer()

    event = pay(mine, running(note, inputs_from_state={"user": "who"}))

    assert isinstance(event, ToolRaised)
    assert event.fault.kind == "raised"
    assert event.fault.message == (
        "Failed to invoke Tool `note` with parameters {'n': 1, 'tags': ['a']}. "
        "Error: ValueError: boom"
    )
    assert event.fault.cause is boom


def test_a_handler_that_raises_is_the_tools_failure(pay: Pay) -> None:
    """The call is answered, whatever part of the tool was wrong."""

    def broken(value: object) -> str:
        raise LookupError(value)

    effect = running(lambda n, tags: 7, outputs_to_string={"handler": broken})
    event = pay(performer(), effect)

    assert isinstance(event, ToolRaised)
    assert "LookupError: 7" in event.fault.message


def test_a_cancellation_of_the_tools_own_making_is_its_failure(pay: Pay) -> None:
    """Nobody cancelled the run: a tool that awaited something cancelled has failed."""

    async def note(n: int, tags: list[str]) -> None:
        raise asyncio.CancelledError

    assert isinstance(pay(performer(), running(note)), ToolRaised)


def test_a_human_decides_about_the_call_that_was_shown(pay: Pay) -> None:
    """The UI gets a copy of the arguments; the decision carries the digest."""
    human = Human(ConfirmationUIResult("confirm"))

    event = pay(performer(uis={"note": human}), HUMAN)

    assert isinstance(event, HumanDecided)
    assert event.at is not None
    assert evolve(event, at=None) == HumanDecided(CallRef(1, 0), "digest", Confirmed())
    assert human.shown == ["note", "notes\nwhy", {"n": 1, "tags": ["a", "scribble"]}]
    assert HUMAN.call.arguments == {"n": 1, "tags": ["a"]}


def test_a_question_stays_unpaid_without_an_answer(pay: Pay) -> None:
    """Nobody to ask, or an answer that means nothing."""
    unsure = Human(ConfirmationUIResult("perhaps"))

    assert pay(performer(), HUMAN) is None
    assert pay(performer(uis={"other": unsure}), HUMAN) is None
    assert pay(performer(uis={"note": unsure}), HUMAN) is None


def test_a_ui_that_raises_decides_nothing(pay: Pay) -> None:
    """Its exception is the caller's; no event says that anybody answered."""
    with pytest.raises(EOFError, match="hung up"):
        pay(performer(uis={"note": Human(EOFError("hung up"))}), HUMAN)


def test_cancelling_a_payment_cancels_the_tool() -> None:
    """A cancellation from outside is not taken for the tool's failure."""
    seen: list[str] = []

    async def note(n: int, tags: list[str]) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def main() -> None:
        payment = asyncio.create_task(performer().perform_async(running(note)))
        await begun.wait()
        payment.cancel()
        await payment

    begun = asyncio.Event()
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    assert seen == ["cancelled"]


@pytest.mark.parametrize("effect", [ASK, running(lambda n, tags: "ok"), HUMAN])
def test_a_blocking_port_does_not_block_the_event_loop(effect: Effect) -> None:
    """It waits for something that only the loop can do."""
    released = threading.Event()

    class Slow(OnlyBlocking, Human):
        def run(self, *args: Any, **options: Any) -> ChatReply:
            assert released.wait(10)
            return super().run(*args, **options)

        def execute(self, tool: Tool, arguments: Mapping[str, object]) -> object:
            assert released.wait(10)
            return super().execute(tool, arguments)

        def get_user_confirmation(
            self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
        ) -> ConfirmationUIResult:
            assert released.wait(10)
            return super().get_user_confirmation(tool_name, tool_description, tool_params)

    async def main() -> Event | None:
        slow = Slow(ConfirmationUIResult("confirm"))
        asyncio.get_running_loop().call_soon(released.set)
        return await EffectPerformer(slow, slow, {"note": slow}).perform_async(effect)

    assert isinstance(asyncio.run(main()), ModelReplied | ToolReturned | HumanDecided)


@pytest.mark.parametrize("colour", ["blocking", "async"])
def test_a_policy_of_either_colour_is_asked(pay: Pay, colour: str) -> None:
    """Its verdict is the event."""

    def policy(call: ToolCall, tool: Tool, run: Run[Any]) -> Verdict:
        return Ask(f"{tool.name} in {run.id}")

    async def later(call: ToolCall, tool: Tool, run: Run[Any]) -> Verdict:
        return policy(call, tool, run)

    tool = Tool("note", "notes", NUMBER, print)
    run = Run("r", STATE)
    effect = Judge(CallRef(1, 0), CALL, tool, later if colour == "async" else policy, run)

    assert pay(performer(), effect) == Judged(CallRef(1, 0), Ask("note in r"))


def test_a_call_that_is_given_up_before_it_has_its_arguments_does_not_run() -> None:
    """They may take their time, and the state that it would be given is closed by then."""
    ran: list[int] = []

    def note(n: int, state: State, tags: object = None) -> str:
        ran.append(n)
        return "noted"

    effect, made = running(note), performer()
    made.drop(effect)

    assert isinstance(made.perform(effect), ToolRaised)
    assert ran == []


def test_secrets_are_taken_out_of_an_error_beside_the_event_loop() -> None:
    """A long text would stop all that runs in it."""
    read_in: list[int] = []

    class LongError(Exception):
        """One whose text is noticed when it is read."""

        def __str__(self) -> str:
            read_in.append(threading.get_ident())
            return "too long"

    def note(n: int, tags: list[str]) -> None:
        raise LongError

    event = asyncio.run(performer().perform_async(running(note)))

    assert isinstance(event, ToolRaised)
    assert "LongError: too long" in event.fault.message
    assert threading.get_ident() not in read_in


MADE_IN: set[int] = set()


@dataclass
class Tag:
    """An argument that knows in which thread it was made."""

    name: str

    def __post_init__(self) -> None:
        MADE_IN.add(threading.get_ident())


@pytest.mark.parametrize("size", [1, MANY])
def test_many_arguments_are_made_in_another_thread_than_the_loops(size: int) -> None:
    """Few are made in the loop, as a thread takes longer."""

    async def note(n: int, tags: list[Tag]) -> str:
        return f"{n} {len(tags)}"

    MADE_IN.clear()
    call = ToolCall("note", {"n": 1, "tags": [{"name": "a"}] * size}, "c1")
    effect = evolve(running(note), call=call)
    event = asyncio.run(performer().perform_async(effect))
    assert event == ToolReturned(effect.ref, 1, ToolResult(f"1 {size}"))
    assert (threading.get_ident() in MADE_IN) is (size == 1)


@pytest.mark.parametrize("count", [1, MANY])
def test_text_is_made_of_a_long_result_in_another_thread_than_the_loops(count: int) -> None:
    """Of a short one it is made in the loop, as a thread takes longer."""
    made_in = set[int]()

    def told(rows: list[Any]) -> str:
        made_in.add(threading.get_ident())
        return f"{len(rows)} rows"

    async def note(n: int, tags: object) -> list[dict[str, int]]:
        return [{"id": n}] * count

    effect = running(note, outputs_to_string={"handler": told})
    event = asyncio.run(performer().perform_async(effect))
    assert event == ToolReturned(effect.ref, 1, ToolResult(f"{count} rows"))
    assert (threading.get_ident() in made_in) is (count == 1)


def test_a_result_is_let_go_of_where_text_was_made_of_it() -> None:
    """To let go of a million rows takes long as well."""
    gone_in = list[int]()

    async def note(n: int, tags: object) -> object:
        rows = Tag("many")
        finalize(rows, lambda: gone_in.append(threading.get_ident()))
        return rows

    async def main() -> tuple[object, list[int]]:
        return await performer().perform_async(running(note)), list(gone_in)

    event, gone = asyncio.run(main())
    assert isinstance(event, ToolReturned)
    assert len(gone) == 1
    assert threading.get_ident() not in gone
