"""Names of runs and conversations: what all stores and engines hold, and agents and hosts take."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from detent import Agent, MemoryJournal, ScriptedChatGenerator
from detent.adapters.drivers.history import Runs
from detent.adapters.hosts.effects.identity import ID_MAX, workflow_id
from detent.hosts import HostRefusal, LocalHost
from detent.journals import RunNotFoundError
from detent.ports.names import NAME_MAX, name_fault, new_name_fault
from detent.testing import host_agents

LOCK = chr(0x1F512)
WRONG = [
    ("", "got one without a character"),
    ("a" * (NAME_MAX + 1), f"got one of {NAME_MAX + 1}, 'aaaaaaaa"),
    ("half \ud800", r"got 'half \\ud800', with half of a character"),
    ("a\0b", r"got 'a\\x00b', with U+0000"),
]


@pytest.mark.parametrize("name", ["a", LOCK * NAME_MAX, " ", "a/b?c#d", "\u8ba2\u5355"])
def test_any_text_is_a_name(name: str) -> None:
    """Up to its length."""
    assert name_fault("run_id", name) is None


@pytest.mark.parametrize(("name", "got"), [*WRONG, (7, "got 7"), (None, "got None")])
def test_what_is_no_name_is_told_the_limit(name: object, got: str) -> None:
    """In a sentence."""
    fault = name_fault("run_id", name)
    assert fault is not None
    assert fault.startswith("run_id is a text of 1 to 255 characters that every store can keep, ")
    assert got.replace("\\\\", "\\") in fault


@pytest.mark.parametrize("name", [".", ".."])
def test_nothing_new_is_called_by_dots_alone(name: str) -> None:
    """No link leads there. What is called so is read all the same."""
    fault = new_name_fault("run_id", name)
    assert fault is not None
    assert fault.startswith(f"run_id stands in links, out of which clients take {name!r}: add a ")
    assert name_fault("run_id", name) is None
    assert new_name_fault("run_id", f"{name}a") is new_name_fault("run_id", "...") is None


@pytest.mark.parametrize(("name", "got"), WRONG)
def test_agents_and_hosts_say_the_same_of_it(name: str, got: str) -> None:
    """Agents raise it, hosts refuse by it, and whoever reads it is told that there is none."""
    journal = MemoryJournal()
    agent = Agent(chat_generator=ScriptedChatGenerator("x"), journal=journal)
    for given in ({"run_id": name}, {"thread_id": name}):
        (what,) = given
        fault = name_fault(what, name)
        told: dict[str, Any] = given
        with pytest.raises(ValueError, match=r"characters that every store can keep") as caught:
            agent.run("hi", **told)
        assert str(caught.value) == fault

        async def refused(told: dict[str, Any] = told) -> object:
            async with LocalHost(host_agents(), journal) as host:
                with pytest.raises(RunNotFoundError):
                    await host.run(name)
                assert not await host.pending(thread_id=name or "none")
                return await host.start("echo", "hi", **told)

        assert asyncio.run(refused()) == HostRefusal("invalid", str(fault))
    runs = Runs(journal, agent.spec)
    for read in (runs.at, agent.resume, agent.pending):
        with pytest.raises(RunNotFoundError, match="there is no such run"):
            read(name)
    runs.delete(name)
    assert not runs.list(label=name)


def test_each_run_has_a_workflow_of_its_own() -> None:
    """Whatever it is called, and what began under its id before it, or is tried again, has others.

    Else whoever names a run as the retry of another one could speak to that.
    """
    names = ["order-7", LOCK * NAME_MAX, f"{LOCK * (NAME_MAX - 1)}b", "a" * NAME_MAX]
    names += ["r", "r~", "r~0", "r~2", "r~2~0", "r~2~5", "r~2~5~0"]
    beside = [("drawn",), ("drawn", 0), ("drawn", 2), ("drawn", 5), ("other", 0), ("0",)]
    ids = [workflow_id(name, *those) for name in names for those in beside]
    assert ids[0].startswith("detent-order-7-")
    assert max(len(one.encode()) for one in ids) <= ID_MAX
    again = [workflow_id(one.removeprefix("detent-"), *those) for one in ids for those in beside]
    assert len({*ids, *again}) == len(ids) + len(again)
