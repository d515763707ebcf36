"""Everything that an agent does, driven in three ways: blocking, by asyncio, and by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from queue import SimpleQueue
from typing import Any, TypeAlias

import pytest
from attrs import evolve

from detent import Agent, AgentResult, ScriptedChatGenerator
from detent.machine import Effect, Event, Run, RunHandle
from detent.testing import SeededChance
from tests.adapters.drivers.behaviours import BEHAVIOURS, Behaviour, fail, greet, note, pay

Way: TypeAlias = Callable[[Agent[Any], Behaviour, dict[str, Any]], AgentResult[Any]]
SCHEMA = {"notes": {"type": list[int]}, "user": {"type": str}, "total": {"type": int}}


def blocking(agent: Agent[Any], what: Behaviour, options: dict[str, Any]) -> AgentResult[Any]:
    if what.outside is None:
        return agent.run(**options)
    inbox: SimpleQueue[Any] = SimpleQueue()
    what.outside.tell = inbox.put
    return agent.run(**options, inbox=inbox)


def by_asyncio(agent: Agent[Any], what: Behaviour, options: dict[str, Any]) -> AgentResult[Any]:
    async def main() -> AgentResult[Any]:
        if what.outside is None:
            return await agent.run_async(**options)
        inbox: asyncio.Queue[Any] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        what.outside.tell = lambda event: loop.call_soon_threadsafe(inbox.put_nowait, event)
        return await agent.run_async(**options, inbox=inbox)

    return asyncio.run(main())


def by_hand(agent: Agent[Any], what: Behaviour, options: dict[str, Any]) -> AgentResult[Any]:
    mail: SimpleQueue[Event] = SimpleQueue()
    if what.outside is not None:
        what.outside.tell = mail.put
    return drive_by_hand(agent.begin(**options), mail)


def drive_by_hand(errand: RunHandle[Any], mail: SimpleQueue[Event]) -> AgentResult[Any]:
    """A whole driver in 15 lines: it starts what is new, hears what came, drops what is void."""
    session, performer = errand.session, errand.performer
    flying: dict[Future[Event | None], Effect] = {}
    with ThreadPoolExecutor(32) as pool:
        while True:
            flying |= {pool.submit(performer.perform, effect): effect for effect in session.take()}
            for future in [one for one in flying if flying[one].key not in session.under_way]:
                performer.drop(flying.pop(future))
            if not flying:
                session.close()
                return errand.result()
            done = wait(flying, return_when=FIRST_COMPLETED).done
            while not mail.empty():
                session.feed(mail.get())
            for future in done:
                session.land(flying.pop(future), future.exception() or future.result())


WAYS: dict[str, Way] = {"blocking": blocking, "asyncio": by_asyncio, "by hand": by_hand}


def played(way: Way, what: Behaviour) -> AgentResult[Any]:
    """What comes of it."""
    chat = ScriptedChatGenerator(*what.script)
    given: dict[str, Any] = {
        "tools": [note, pay, fail, greet],
        "chance": SeededChance(1),
        **what.agent,
    }
    agent: Agent[Any] = Agent(chat_generator=chat, state_schema=SCHEMA, **given)
    result = way(agent, what, {"messages": "hello", "run_id": "r", **what.run})
    if result.exit_reason is not None:
        chat.assert_complete()
    return result


def without_times(run: Run[Any]) -> Run[Any]:
    """The run, whenever its humans have decided, and whoever was first of two asked at once."""
    decisions = sorted(run.decisions, key=lambda one: one.ref)
    return evolve(run, decisions=tuple(evolve(one, at=None) for one in decisions))


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("make", BEHAVIOURS.values(), ids=BEHAVIOURS)
def test_an_agent_behaves_the_same_however_it_is_driven(
    way: Way, make: Callable[[], Behaviour]
) -> None:
    """What the model and the caller are told, and everything that the run knows at its end."""
    what = make()
    if what.error is not None:
        with pytest.raises(what.error):
            played(way, what)
        return

    result = played(way, what)

    told = [one.text for message in result.messages for one in message.tool_call_results]
    assert (result.exit_reason, tuple(told), result.text) == (what.reason, what.told, what.text)
    assert {name: result[name] for name in what.state} == what.state
    if way is not blocking:
        other = played(blocking, make()).run
        assert without_times(result.run) == without_times(other)


def test_the_table_is_long() -> None:
    """Sixty behaviours and more."""
    assert len(BEHAVIOURS) >= 60
