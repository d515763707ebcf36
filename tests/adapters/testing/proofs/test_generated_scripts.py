"""For any script: stopped at every point, stored and taken up elsewhere, the run is the same.

Also through a journal, in both colours, with tools that fail, write to the state or are not there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from attrs import frozen
from hypothesis import given, settings
from hypothesis import strategies as st

from detent import (
    Agent,
    AgentResult,
    Appended,
    ChatMessage,
    MemoryJournal,
    Merged,
    ToolCall,
    TypedState,
    create_tool_from_function,
)
from detent.adapters.drivers import loading, recording
from detent.journals import Journal
from detent.machine import Effect, Run
from detent.models import ChatReply, Usage

Script = list[list[tuple[str, int]]]


class Notes(TypedState):
    """What is shared."""

    seen = Appended[int]()
    by_number = Merged[str, list[int]]()


def note(state: Notes, n: int) -> Notes:
    """Write to two keys."""
    return state.set(Notes.seen, [n, n + 1]).set(Notes.by_number, {str(n): [n]})


def look(state: Notes, n: int) -> str:
    """Read what is shared."""
    return f"{n} of {sorted(state.seen)}"


def fail(n: int) -> str:
    """Fail."""
    raise ValueError(f"no {n}")


async def wait(n: int) -> dict[str, Any]:
    """Come back later."""
    await asyncio.sleep(0)
    return {"n": n, "text": "ü\ud800\x00"}


@frozen
class Scripted:
    """A model that follows a script by what has been said so far, and keeps nothing."""

    script: Script

    def run(self, messages: Sequence[ChatMessage], **options: object) -> ChatReply:
        """As the port says."""
        turn = sum(1 for message in messages if message.tool_calls)
        if turn == len(self.script):
            return ChatReply(ChatMessage.from_assistant("done", meta={"n": [turn]}))
        calls = [
            ToolCall(name, {"n": n} if n else {"n": "x"}, f"c{place}" if n % 2 else None)
            for place, (name, n) in enumerate(self.script[turn])
        ]
        reply = ChatMessage.from_assistant(tool_calls=calls, reasoning="hm" if turn % 2 else None)
        return ChatReply(reply, "tool_calls", Usage(turn, 1))


def agent_of(script: Script, journal: Journal | None = None) -> Agent[Notes]:
    """A new agent, as another process makes it."""
    return Agent(
        chat_generator=Scripted(script),
        tools=[create_tool_from_function(one) for one in (note, look, fail, wait)],
        state_schema=Notes,
        journal=journal,
        parallel_tool_calls=2,
    )


def anywhere(run: Run[Any], effect: Effect) -> bool:
    """A breakpoint at every point."""
    return True


NAMES = st.sampled_from(["note", "look", "fail", "wait", "nobody"])
CALLS = st.lists(st.tuples(NAMES, st.integers(0, 4)), min_size=1, max_size=3)
SCRIPTS = st.lists(CALLS, max_size=3)
STOP: dict[str, Any] = {"break_point": anywhere, "raise_at_break_point": False}


def assert_same(result: AgentResult[Notes], whole: AgentResult[Notes]) -> None:
    """All that a caller can see, but the id."""
    assert list(result.messages) == list(whole.messages)
    assert result.state == whole.state
    assert result.exit_reason == whole.exit_reason == "text"
    assert result.token_usage == whole.token_usage
    assert result.tool_call_counts == whole.tool_call_counts


@given(SCRIPTS, st.lists(st.booleans(), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_stopped_and_stored_at_every_point_it_ends_the_same(
    script: Script, colours: list[bool]
) -> None:
    """As text, each time in a new agent, now in threads and now in an event loop."""
    whole = agent_of(script).run("go")
    result = agent_of(script).run("go", **STOP)
    stops = 0
    while result.exit_reason is None:
        text = result.snapshot.to_json()
        agent, is_async = agent_of(script), colours[stops % len(colours)]
        if is_async:
            result = asyncio.run(agent.run_async(snapshot=text, **STOP))
        else:
            result = agent.run(snapshot=text, **STOP)
        stops += 1
        assert stops < 100

    assert_same(result, whole)
    assert stops > len(script)


@given(SCRIPTS, st.lists(st.booleans(), min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_taken_up_from_a_journal_at_every_point_it_ends_the_same(
    script: Script, colours: list[bool]
) -> None:
    """With checkpoints in between; and made again from its events it is the same run."""
    before, recording.ENTRIES = recording.ENTRIES, 3
    journal = MemoryJournal()
    try:
        whole = agent_of(script).run("go")
        result = agent_of(script, journal).run("go", run_id="r", **STOP)
        stops = 0
        while result.exit_reason is None:
            agent, is_async = agent_of(script, journal), colours[stops % len(colours)]
            if is_async:
                result = asyncio.run(agent.resume_async("r", **STOP))
            else:
                result = agent.resume("r", **STOP)
            stops += 1
            assert stops < 100
    finally:
        recording.ENTRIES = before

    assert_same(result, whole)
    spec = agent_of(script).spec
    again = loading.loaded(journal, spec, "r", from_start=True).run
    assert again == loading.loaded(journal, spec, "r").run == result.run
