"""A loop of one's own in trio: the two functions of the machine, a nursery, and no driver.

Tools are trio coroutines here, and run as such: when the time of a tool is up, or the run is
cancelled, what is no longer due is cancelled by its own cancel scope. The loop knows nothing of
limits, retries or order: it asks what is due, and says what happened.
"""

from __future__ import annotations

import argparse
from functools import partial
from math import inf
from typing import Any

import trio
from attrs import define, field

from detent import Agent, ChatMessage, ScriptedChatGenerator, State, ToolCall, chat_generator, tool
from detent.machine import (
    ClockTicked,
    Effect,
    EffectKey,
    EffectPerformer,
    Event,
    FunctionToolExecutor,
    Invocation,
    Run,
    RunTool,
    ToolRaised,
    ToolReturned,
    ToolStarted,
    WaitUntil,
    due,
    start,
    step,
)
from detent.models import ChatGenerator

PROMPT = "Measure each city that you are asked about. Then say how warm each is, in one sentence."
SENSORS = {"Oslo": (0.2, 4), "Rome": (0.1, 17), "Lima": (60.0, 19)}
"""How many seconds the sensor of a city takes, and what it says then."""


@tool(timeout_s=2)
async def measure(city: str) -> str:
    """Measure how warm it is in a city."""
    if city not in SENSORS:
        return f"there is no sensor in {city}, only in {', '.join(SENSORS)}"
    seconds, degrees = SENSORS[city]
    await trio.sleep(seconds)
    return f"{city}: {degrees} degrees"


def make_agent(model: ChatGenerator) -> Agent:
    """An agent whose tool is a coroutine of trio."""
    return Agent(chat_generator=model, tools=[measure], system_prompt=PROMPT)


@define
class Loop:
    """A run under way, and the cancel scope of each effect that is being performed."""

    agent: Agent
    performer: EffectPerformer
    run: Run[State]
    flying: dict[EffectKey, trio.CancelScope] = field(factory=dict)

    async def drive(self) -> Run[State]:
        """Perform what is due until nothing is; what waits for a human stays in the run."""
        say, hear = trio.open_memory_channel[tuple[Effect, Event | None]](inf)
        async with trio.open_nursery() as nursery:
            while effects := {each.key: each for each in due(self.agent.spec, self.run)}:
                for key in self.flying.keys() - effects.keys():
                    self.flying.pop(key).cancel()
                fresh = [each for key, each in effects.items() if key not in self.flying]
                for effect in fresh:
                    if isinstance(effect, RunTool):
                        self.fold(ToolStarted(effect.ref, effect.attempt, trio.current_time()))
                    self.flying[effect.key] = scope = trio.CancelScope()
                    nursery.start_soon(self._fly, effect, scope, say)
                if fresh:
                    continue  # what has begun may owe more: the end of its time
                effect, event = await hear.receive()
                if event is None:  # a human is to be asked, and nobody here can
                    break
                if effect.key in self.flying:
                    self.flying.pop(effect.key)
                    self.fold(event)
            nursery.cancel_scope.cancel()
        return self.run

    def fold(self, event: Event) -> None:
        """Say what happened: all that ever changes the run."""
        self.run = step(self.agent.spec, self.run, event)

    async def _fly(
        self,
        effect: Effect,
        scope: trio.CancelScope,
        say: trio.MemorySendChannel[tuple[Effect, Event | None]],
    ) -> None:
        with scope:
            await say.send((effect, await self._performed(effect)))

    async def _performed(self, effect: Effect) -> Event | None:
        match effect:
            case RunTool() if effect.tool.signature.is_async:
                return await called(effect)
            case WaitUntil():
                await trio.sleep_until(effect.at)
                return ClockTicked(effect.at)
            case _:  # models, policies and people block: each in a thread
                perform = partial(self.performer.perform, effect)
                return await trio.to_thread.run_sync(perform, abandon_on_cancel=True)


async def called(effect: RunTool) -> Event:
    """Call a tool here, in trio, and make an event of what came of it."""
    invocation = Invocation(effect.tool, effect.call, effect.state, effect.idempotency_key)
    function: Any = effect.tool.function
    try:
        value = await function(**invocation.arguments())
        return ToolReturned(effect.ref, effect.attempt, invocation.result(value))
    except Exception as error:  # noqa: BLE001 - whatever a tool raises is told to the model
        return ToolRaised(effect.ref, effect.attempt, invocation.fault(error))
    finally:
        invocation.end()


async def ask(question: str, model: ChatGenerator) -> Run[State]:
    """Drive one run to its end."""
    agent = make_agent(model)
    said = [ChatMessage.from_user(question)]
    begun = start(agent.spec, said, run_id="run-1", at=trio.current_time())
    return await Loop(agent, EffectPerformer(model, FunctionToolExecutor()), begun).drive()


def scripted() -> ScriptedChatGenerator:
    """A stand-in for the model: it asks three sensors at once, of which one is too slow."""
    calls = [ToolCall("measure", {"city": city}) for city in SENSORS]
    return ScriptedChatGenerator(
        ChatMessage.from_assistant(tool_calls=calls), "Rome and Oslo answered."
    )


def main() -> None:
    """Print the conversation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("question", nargs="?", default="How warm are Oslo, Rome and Lima?")
    parser.add_argument("--model", help="'local', 'openai:NAME' and so on; a script without it")
    options = parser.parse_args()
    model = chat_generator(options.model) if options.model else scripted()
    for message in trio.run(ask, options.question, model).messages:
        results = [result.text for result in message.tool_call_results]
        print(f"{message.role}: {message.text or results or message.tool_calls}")


if __name__ == "__main__":
    main()
