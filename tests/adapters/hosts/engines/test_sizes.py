"""Temporal takes 2 MB at once, and ends a history of 50 MB. Runs may be larger than the first."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field
from temporalio.api.common.v1 import Payload
from temporalio.client import Client, WorkflowHistory
from temporalio.converter import (
    DataConverter,
    ExternalStorage,
    StorageDriver,
    StorageDriverClaim,
    StorageDriverRetrieveContext,
    StorageDriverStoreContext,
)

from detent import (
    Agent,
    AlwaysAskPolicy,
    ChatGeneratorError,
    ChatMessage,
    ScriptedChatGenerator,
    SQLiteJournal,
    ToolCall,
    tool,
)
from detent.adapters.hosts.effects.identity import nonce_of, workflow_id
from detent.adapters.hosts.engines.temporal_follow import PAGE
from detent.hosts import Accepted, TemporalHost, TryAgain
from detent.testing import When
from tests.adapters.hosts.engines.replaying import replay_failure
from tests.adapters.hosts.engines.sites import Site, site_of

pytestmark = pytest.mark.filterwarnings("ignore:Cannot find activity to cancel")
"""Temporal's library warns where the server cancels an activity that has just been completed."""
LARGE = 3_000_000
"""More than Temporal takes at once."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    """Temporal with its server, for all tests of the module."""
    with site_of("temporal-effects", tmp_path_factory.mktemp("temporal")) as site:
        yield site


@define
class Reader:
    """Fetches so many pages beside each other, so often, and says how much it has heard."""

    size: int
    beside: int
    turns: int
    text: str | None = None
    fetched: int = 0
    asked: int = 0
    heard: list[int] = field(factory=list)

    def agent(self, **options: Any) -> Agent[Any, Any]:
        """As a host is given it."""

        @tool
        def fetch(number: int) -> str:
            """Give a page."""
            self.fetched += 1
            return "x" * self.size

        script = ScriptedChatGenerator(When(lambda messages: True, self._reply))
        return Agent(chat_generator=script, tools=[fetch], **options)

    def _reply(self, messages: Sequence[ChatMessage]) -> ChatMessage:
        self.asked += 1
        self.heard = [len(message.text or "") for message in messages if message.text]
        if self.asked > self.turns:
            return ChatMessage.from_assistant("Done.")
        calls = [ToolCall("fetch", {"number": number}) for number in range(self.beside)]
        return ChatMessage.from_assistant(self.text, tool_calls=calls)


def host_of(agents: Mapping[str, Agent[Any, Any]], site: Site, folder: Path) -> TemporalHost:
    """By effects, with a queue of its own."""
    journal = SQLiteJournal(folder / "runs.db")
    return TemporalHost(
        agents, journal, client=site.told()["client"], mode="effects", queue=folder.name, look_s=0.5
    )


async def history_of(site: Site, folder: Path, run_id: str) -> WorkflowHistory:
    """The last one that Temporal has of a run, once that has ended."""
    client = await Client.connect(site.told()["client"])
    nonce = nonce_of(SQLiteJournal(folder / "runs.db"), run_id)
    handle = client.get_workflow_handle(workflow_id(run_id, nonce))
    await handle.result()
    return await handle.fetch_history()


def test_a_conversation_of_any_length_goes_on(site: Site, tmp_path: Path) -> None:
    """Further histories read the run from the journal, by pages, and can be replayed."""
    reader = Reader(size=200_000, beside=1, turns=24)

    async def main() -> None:
        agent = reader.agent()
        async with asyncio.timeout(120), host_of({"it": agent}, site, tmp_path) as host:
            await host.start("it", "go", run_id="long")
            assert (await host.result("long")).text == "Done."
            history = await history_of(site, tmp_path, "long")
            begun = history.events[0].workflow_execution_started_event_attributes
            assert begun.continued_execution_run_id
            assert begun.ByteSize() < 10_000
            assert await replay_failure(agent, "it", history) == ""

    asyncio.run(main())
    assert (reader.asked, reader.fetched) == (25, 24)


@pytest.mark.parametrize(("size", "beside"), [(70_000, 32), (900_000, 4)])
def test_results_of_one_turn_may_add_up(size: int, beside: int, site: Site, tmp_path: Path) -> None:
    """They are written into the journal in parts."""
    reader = Reader(size=size, beside=beside, turns=1)
    run_id = f"turn-{size}"

    async def main() -> None:
        async with asyncio.timeout(60), host_of({"it": reader.agent()}, site, tmp_path) as host:
            await host.start("it", "go", run_id=run_id)
            assert (await host.result(run_id)).text == "Done."

    asyncio.run(main())
    assert (reader.asked, reader.fetched) == (2, beside)


def test_what_many_jobs_miss_is_read_once(site: Site, tmp_path: Path) -> None:
    """Else a history would be full of it: each job of the turn finds that it lacks the same."""
    may, begun = asyncio.Event(), list[int]()

    @tool
    async def wait(number: int) -> str:
        """Wait."""
        begun.append(number)
        await may.wait()
        return "done"

    calls = [ToolCall("wait", {"number": number}) for number in range(8)]
    reply = ChatMessage.from_assistant(tool_calls=calls)
    agent = Agent(chat_generator=ScriptedChatGenerator(reply, "Done."), tools=[wait])

    async def main() -> list[bytes]:
        async with asyncio.timeout(60), host_of({"it": agent}, site, tmp_path) as host:
            await host.start("it", "go", run_id="missed")
            while len(begun) < len(calls):  # noqa: ASYNC110 - they begin elsewhere
                await asyncio.sleep(0.02)
            sending = asyncio.create_task(host.send("missed", ChatMessage.from_user("b" * LARGE)))
            may.set()
            assert isinstance(await sending, Accepted)
            assert (await host.result("missed")).text == "Done."
            history = await history_of(site, tmp_path, "missed")
        jobs = [event.activity_task_scheduled_event_attributes for event in history.events]
        return [job.input.SerializeToString() for job in jobs if job.activity_type.name == PAGE]

    pages = asyncio.run(main())
    assert pages
    assert len(pages) == len(set(pages))


def test_people_may_say_as_much_as_they_like(site: Site, tmp_path: Path) -> None:
    """What they say is in the journal, and the run reads it there."""
    reader = Reader(size=10, beside=1, turns=1)

    async def main() -> None:
        agent = reader.agent(confirmation_strategies={"fetch": AlwaysAskPolicy()})
        async with asyncio.timeout(60), host_of({"it": agent}, site, tmp_path) as host:
            assert await host.start("it", "a" * LARGE, run_id="said") == Accepted(
                "said", is_new=True
            )
            while not (questions := await host.pending()):  # noqa: ASYNC110 - it comes elsewhere
                await asyncio.sleep(0.02)
            said = ChatMessage.from_user("b" * (LARGE + 1))
            assert isinstance(await host.send("said", said), Accepted)
            await host.send("said", questions[0].call.confirm(by="Ada"))
            assert (await host.result("said")).text == "Done."
            assert await replay_failure(agent, "it", await history_of(site, tmp_path, "said")) == ""

    asyncio.run(main())
    assert [size for size in reader.heard if size >= LARGE] == [LARGE, LARGE + 1]


def test_a_result_that_is_too_large_fails_its_call(site: Site, tmp_path: Path) -> None:
    """The tool ran once, and the model is told so, and why it has no result."""
    reader = Reader(size=LARGE, beside=1, turns=1)

    async def main() -> None:
        async with asyncio.timeout(60), host_of({"it": reader.agent()}, site, tmp_path) as host:
            await host.start("it", "go", run_id="result")
            result = await host.result("result")
            assert result.text == "Done."
            (answer,) = [each for message in result.messages for each in message.tool_call_results]
            assert answer.error
            assert "ran to its end" in answer.text
            assert "Temporal takes 1,500,000" in answer.text

    asyncio.run(main())
    assert (reader.asked, reader.fetched) == (2, 1)


def test_an_answer_that_is_too_large_fails_the_run(site: Site, tmp_path: Path) -> None:
    """The model was paid once, and is not asked again by itself."""
    asked = list[int]()

    def answer(messages: Sequence[ChatMessage]) -> str:
        asked.append(len(messages))
        return "x" * LARGE

    agent = Agent(chat_generator=ScriptedChatGenerator(When(lambda messages: True, answer)))

    async def main() -> None:
        async with asyncio.timeout(60), host_of({"it": agent}, site, tmp_path) as host:
            await host.start("it", "go", run_id="answer")
            with pytest.raises(ChatGeneratorError, match="Temporal takes 1,500,000"):
                await host.result("answer")

    asyncio.run(main())
    assert len(asked) == 1


class Shelf(StorageDriver):
    """Keeps what Temporal is not given, for one process."""

    def __init__(self) -> None:
        self.kept = list[Payload]()

    def name(self) -> str:
        """Of no other one."""
        return "shelf"

    async def store(
        self, context: StorageDriverStoreContext, payloads: Sequence[Payload]
    ) -> list[StorageDriverClaim]:
        """Keep them."""
        first = len(self.kept)
        self.kept.extend(payloads)
        return [StorageDriverClaim({"at": str(first + i)}) for i in range(len(payloads))]

    async def retrieve(
        self, context: StorageDriverRetrieveContext, claims: Sequence[StorageDriverClaim]
    ) -> list[Payload]:
        """Give them again."""
        return [self.kept[int(claim.claim_data["at"])] for claim in claims]


def test_a_client_with_a_store_for_what_is_large_takes_results_of_any_size(
    site: Site, tmp_path: Path
) -> None:
    """Temporal's own external storage is for the user to set up."""
    reader, shelf = Reader(size=LARGE, beside=2, turns=1), Shelf()

    async def main() -> None:
        converter = replace(
            DataConverter.default, external_storage=ExternalStorage(drivers=[shelf])
        )
        client = await Client.connect(site.told()["client"], data_converter=converter)
        journal = SQLiteJournal(tmp_path / "runs.db")
        host = TemporalHost({"it": reader.agent()}, journal, client=client, mode="effects")
        async with asyncio.timeout(60), host:
            await host.start("it", "go", run_id="shelf")
            result = await host.result("shelf")
            answers = [one for message in result.messages for one in message.tool_call_results]
            assert [len(answer.text) for answer in answers] == [LARGE, LARGE]

    asyncio.run(main())
    assert shelf.kept


def test_a_large_conversation_is_begun_again_and_goes_on(site: Site, tmp_path: Path) -> None:
    """As its run is tried again, and as another run goes on behind it."""
    failing = [True]

    def answer(messages: Sequence[ChatMessage]) -> str:
        if failing:
            failing.clear()
            raise ValueError("no")
        return f"heard {sum(len(message.text or '') for message in messages)}"

    agent = Agent(chat_generator=ScriptedChatGenerator(When(lambda messages: True, answer)))

    async def main() -> None:
        async with asyncio.timeout(60), host_of({"it": agent}, site, tmp_path) as host:
            await host.start("it", "a" * LARGE, run_id="again", thread_id="talk")
            with pytest.raises(ChatGeneratorError):
                await host.result("again")
            assert isinstance(await host.send("again", TryAgain()), Accepted)
            while not await host.runs("done"):  # noqa: ASYNC110 - it goes on elsewhere
                await asyncio.sleep(0.02)
            assert (await host.result("again")).text == f"heard {LARGE}"
            behind = await host.send("again", ChatMessage.from_user("b" * LARGE))
            assert isinstance(behind, Accepted)
            text = (await host.result(behind.run_id)).text
            assert text == f"heard {2 * LARGE + len(f'heard {LARGE}')}"

    asyncio.run(main())


def test_a_large_reply_with_calls_is_written_before_they_begin(site: Site, tmp_path: Path) -> None:
    """Each of them would carry it, and all of them are told to the engine at once."""
    reader = Reader(size=10, beside=8, turns=1, text="x" * 1_400_000)

    async def main() -> None:
        async with asyncio.timeout(60), host_of({"it": reader.agent()}, site, tmp_path) as host:
            await host.start("it", "go", run_id="reply")
            assert (await host.result("reply")).text == "Done."

    asyncio.run(main())
    assert (reader.asked, reader.fetched) == (2, 8)
