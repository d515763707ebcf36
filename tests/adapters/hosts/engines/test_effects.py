"""Runs that Temporal's history is the truth about: of the examples, and of changed agents."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import Client, WorkflowHistory

from detent import (
    Agent,
    AlwaysAskPolicy,
    BlockingConfirmationStrategy,
    MemoryJournal,
    ScriptedChatGenerator,
    SimpleConsoleUI,
    SQLiteJournal,
    ToolCall,
)
from detent.adapters.hosts.effects.identity import nonce_of, workflow_id
from detent.adapters.hosts.engines.host import Mode
from detent.hosts import EffectsRefusedError, HostRefusal, TemporalHost
from detent.testing import When
from tests.adapters.hosts.engines.example_agents import Told, boss, nap, of_examples
from tests.adapters.hosts.engines.replaying import replay_failure
from tests.adapters.hosts.engines.sites import Site, site_of
from tests.examples.loading import example

pytestmark = pytest.mark.filterwarnings("ignore:Cannot find activity to cancel")
"""Temporal's library warns where the server cancels an activity that has just been completed."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    """Temporal with its server, for all tests of the module."""
    with site_of("temporal-effects", tmp_path_factory.mktemp("temporal")) as site:
        yield site


async def lived(where: str, told: Told, folder: Path) -> dict[str, WorkflowHistory]:
    """A run of each agent, to which people say yes, and what Temporal has of it."""
    agents = {name: agent for name, (agent, _) in told.items()}
    journal = SQLiteJournal(folder / "runs.db")
    host = TemporalHost(agents, journal, client=where, mode="effects", queue="examples")
    async with host, asyncio.timeout(120):
        for name, (_, said) in told.items():
            await host.start(name, said, run_id=name)
        waiting = set(told)
        while waiting:
            for question in await host.pending():
                await host.send(question.call.run_id, question.call.confirm(by="Ada"))
            ended = {run.run_id for run in await host.runs("done")}
            waiting -= ended
            await asyncio.sleep(0.05)
        client = await Client.connect(where)
        ids = {name: workflow_id(name, nonce_of(journal, name)) for name in told}
        handles = {name: client.get_workflow_handle(one) for name, one in ids.items()}
        return {name: await handle.fetch_history() for name, handle in handles.items()}


def changed(agent: Agent[Any, Any]) -> list[Agent[Any, Any]]:
    """The same agent with a tool less, and with a rule about all tools."""
    name = next(iter(agent.spec.tools))
    tools = [one for one in agent.spec.tools.values() if one.name != name]
    guarded = {one: AlwaysAskPolicy() for one in agent.spec.tools}
    bare = agent.evolve(tools=tools, confirmation_strategies={}, exit_conditions=["text"])
    return [bare, agent.evolve(confirmation_strategies=guarded, max_agent_steps=77)]


def test_histories_of_the_examples_can_be_replayed(site: Site, tmp_path: Path) -> None:
    """Each ends as it did, and an agent that has changed since says so."""
    told = of_examples(tmp_path)

    async def main() -> None:
        histories = await lived(site.told()["client"], told, tmp_path)
        for name, history in histories.items():
            agent = told[name][0]
            assert await replay_failure(agent, name, history) == ""
            for other in changed(agent):
                said = await replay_failure(other, name, history)
                assert "AgentChangedError" in said
                assert "as it was" in said
            assert "UnknownAgentError" in await replay_failure(agent, "other", history)

    asyncio.run(main())


def test_the_history_has_each_effect_and_says_it_once(site: Site, tmp_path: Path) -> None:
    """By name, for the dashboard; a long conversation is not repeated in each."""

    async def main() -> None:
        said = "x" * 50_000
        agents = {"long": (boss(), said)}
        (history,) = (await lived(site.told()["client"], agents, tmp_path)).values()
        raw = b"".join(event.SerializeToString() for event in history.events)
        for name in (b"model/1/0/1", b"tool/1/0/1@1.0.helper", b"deadline/1/0/1@1.0.helper"):
            assert name in raw
        assert raw.count(said.encode()) == 1

    asyncio.run(main())


def hooked() -> Agent[Any, Any]:
    """Of the long chat: it shows its notes to the model by a hook."""
    agent: Agent[Any, Any] = example("long_chat/chat.py").make_friend(
        ScriptedChatGenerator("x"), MemoryJournal()
    )
    return agent


def asking() -> Agent[Any, Any]:
    """Asks at its own terminal, as the guarded coder does."""
    rule = BlockingConfirmationStrategy(AlwaysAskPolicy(), SimpleConsoleUI())
    return Agent(
        chat_generator=ScriptedChatGenerator("x"),
        tools=[nap],
        confirmation_strategies={"nap": rule},
    )


@pytest.mark.parametrize(("make", "why"), [(hooked, "hooks"), (asking, "UI")])
def test_an_agent_that_no_engine_can_follow_is_refused(
    make: Callable[[], Agent[Any, Any]], why: str, site: Site, tmp_path: Path
) -> None:
    """When its host is opened, and with what to do."""

    async def main() -> None:
        journal = SQLiteJournal(tmp_path / "runs.db")
        where = site.told()["client"]
        async with TemporalHost({"it": make()}, journal, client=where, mode="effects"):
            pass

    with pytest.raises(EffectsRefusedError, match=f"{why}.*mode='legs'"):
        asyncio.run(main())


def test_a_run_whose_history_is_gone_is_among_the_faults(site: Site, tmp_path: Path) -> None:
    """Somebody has ended its workflow: what is said is kept, and somebody takes the run over."""
    script = ScriptedChatGenerator(ToolCall("nap", {"seconds": 0.0}), "Done.")
    journal, where = SQLiteJournal(tmp_path / "runs.db"), site.told()["client"]
    agent = Agent(
        chat_generator=script,
        tools=[nap],
        confirmation_strategies={"nap": AlwaysAskPolicy()},
        journal=journal,
        name="it",
    )

    async def main() -> None:
        client = await Client.connect(where)
        host = TemporalHost({"it": agent}, journal, client=client, mode="effects", queue="gone")
        async with asyncio.timeout(90), host:
            await host.start("it", "go", run_id="gone")
            while not (questions := await host.pending()):  # noqa: ASYNC110 - elsewhere
                await asyncio.sleep(0.02)
            gone = workflow_id("gone", nonce_of(journal, "gone"))
            await client.get_workflow_handle(gone).terminate()
            await host.send("gone", questions[0].call.confirm(by="Ada"))
            while "gone" not in host.health().faults:  # noqa: ASYNC110 - it looks now and then
                await asyncio.sleep(0.1)
            assert host.health().faults == {"gone": "HistoryLostError"}
        assert agent.resume("gone", take_over=True).text == "Done."

    asyncio.run(main())


def test_a_run_of_a_changed_agent_stands_still_and_says_so(site: Site, tmp_path: Path) -> None:
    """In the health, and to whoever decides; it goes on with the agent as it was."""

    def clerk(**options: Any) -> Agent[Any, Any]:
        script = ScriptedChatGenerator(ToolCall("nap", {"seconds": 0.0}), "Done.")
        rules = {"nap": AlwaysAskPolicy()}
        return Agent(chat_generator=script, tools=[nap], confirmation_strategies=rules, **options)

    journal, where = SQLiteJournal(tmp_path / "runs.db"), site.told()["client"]

    def host(agent: Agent[Any, Any]) -> TemporalHost:
        return TemporalHost(
            {"it": agent}, journal, client=where, mode="effects", queue="changed", drain_s=1
        )

    async def main() -> None:
        async with asyncio.timeout(90):
            agent = clerk()
            async with host(agent) as first:
                await first.start("it", "go", run_id="old")
                while not (questions := await first.pending()):  # noqa: ASYNC110 - elsewhere
                    await asyncio.sleep(0.02)
            yes = questions[0].call.confirm(by="Ada")
            async with host(clerk(max_agent_steps=3)) as other:
                said = await other.send("old", yes)
                assert isinstance(said, HostRefusal)
                assert said.why == "unreadable"
                assert "as it was" in said.text
                assert other.health().faults == {"old": "AgentChangedError"}
            async with host(agent) as again:
                await again.send("old", yes)
                assert (await again.result("old")).text == "Done."

    asyncio.run(main())


def two_hosts(folder: Path, client: Client | str, mode: Mode) -> tuple[TemporalHost, TemporalHost]:
    """On one queue and journal, in one process."""
    journal = SQLiteJournal(folder / "runs.db")

    def host() -> TemporalHost:
        agents = {"it": Agent(chat_generator=ScriptedChatGenerator(*["Hello."] * 2))}
        return TemporalHost(agents, journal, client=client, mode=mode, queue="beside")

    return host(), host()


def test_hosts_of_one_process_do_not_take_anything_from_each_other(
    site: Site, tmp_path: Path
) -> None:
    """One goes on with its queue when the other one is closed."""

    async def main() -> None:
        first, second = two_hosts(tmp_path, site.told()["client"], "effects")
        async with asyncio.timeout(60), first:
            async with second:
                await second.start("it", "go", run_id="beside-a")
                assert (await second.result("beside-a")).text == "Hello."
            await first.start("it", "go", run_id="beside-b")
            assert (await first.result("beside-b")).text == "Hello."

    asyncio.run(main())


@pytest.mark.parametrize("mode", ["legs", "effects"])
def test_a_second_host_on_one_queue_by_one_client_is_refused(
    mode: Mode, site: Site, tmp_path: Path
) -> None:
    """As Temporal's library takes one worker there; the first one goes on."""

    async def main() -> None:
        client = await Client.connect(site.told()["client"])
        first, second = two_hosts(tmp_path, client, mode)
        async with asyncio.timeout(60), first:
            with pytest.raises(ValueError, match="a client, or a queue, of its own"):
                await second.open()
            await first.start("it", "go", run_id=f"only-{mode}")
            assert (await first.result(f"only-{mode}")).text == "Hello."

    asyncio.run(main())


def test_a_worker_with_another_journal_leaves_the_runs_to_others(
    site: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It says so in its log and its health."""
    where, runs = site.told()["client"], [f"theirs-{number}" for number in range(6)]

    def host(name: str, *, works: bool = True) -> TemporalHost:
        script = ScriptedChatGenerator(When(lambda messages: True, "Hello."))
        journal, agents = SQLiteJournal(tmp_path / name), {"it": Agent(chat_generator=script)}
        options: dict[str, Any] = {"client": where, "mode": "effects", "queue": "journals"}
        return TemporalHost(agents, journal, works=works, look_s=0.5, **options)

    async def main() -> None:
        async with asyncio.timeout(90), host("other.db") as other, host("one.db") as one:
            for run_id in runs:
                await one.start("it", "go", run_id=run_id)
            for run_id in runs:
                assert (await one.result(run_id)).text == "Hello."
            assert set(other.health().faults.values()) >= {"OtherJournalError"}
            assert one.health().faults == {}

    asyncio.run(main())
    assert "workers on one queue have one journal" in caplog.text
