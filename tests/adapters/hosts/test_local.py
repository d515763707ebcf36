"""The host in this process, on each store."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Any, cast

import pytest
from attrs import evolve

from detent import (
    Agent,
    ChatMessage,
    Retries,
    ScriptedChatGenerator,
    StreamingChunk,
    ToolCall,
    ToolInvocationError,
    before_model,
    tool,
)
from detent.adapters.agent.inputs import RunRequest
from detent.adapters.drivers.leases import CLAIM_S, Keeper
from detent.adapters.drivers.steps import at_once
from detent.adapters.hosts.people import People
from detent.adapters.hosts.stored import opened
from detent.approvals import (
    AlwaysAskPolicy,
    Approvers,
    PendingCall,
    Principal,
    WithApprovers,
    WithQuestionOptions,
)
from detent.hosts import (
    Accepted,
    BlockingHost,
    Fork,
    HostLimits,
    HostNotOpenError,
    HostOpenError,
    HostRefusal,
    LocalHost,
    PendingQuestion,
    Piece,
    Revoke,
    UnknownAgentError,
    rules_fingerprint,
)
from detent.journals import (
    Checkpoint,
    DirectoryJournal,
    Entry,
    Journal,
    MemoryJournal,
    PostgresJournal,
    Runs,
    SQLiteJournal,
)
from detent.machine import (
    AskModel,
    CallRef,
    CancelRequested,
    ManualClock,
    MessageReceived,
    Resumed,
    Run,
)
from detent.models import ChatGeneratorError, ChatReply, ModelFailure
from detent.ports.chat import StreamingCallback
from detent.ports.journal import JournalUnavailableError, RunNotFoundError
from detent.ports.listing import ALL_RUNS, RunQuery, StoredRun
from detent.testing import When, check_host, host_agents


@pytest.fixture(params=["memory", "directory", "sqlite", "postgres"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Journal:
    """A store that is empty at first."""
    match request.param:
        case "memory":
            return MemoryJournal()
        case "directory":
            return DirectoryJournal(tmp_path / "runs")
        case "sqlite":
            return SQLiteJournal(tmp_path / "runs.db")
        case _:
            journal = PostgresJournal(request.getfixturevalue("postgres_url"))
            for run in journal.runs():
                journal.delete(run.run_id)
            return journal


def test_a_run_that_fails_warns_with_the_sort_of_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nobody catches its error, so the log of the host says it, without a word of the message."""

    @tool
    def fail() -> str:
        """Fail."""
        raise RuntimeError("secret")

    broken = ChatGeneratorError(ModelFailure("server", "secret"))
    agents = {
        "silent": Agent(chat_generator=ScriptedChatGenerator(broken)),
        "clumsy": Agent(
            chat_generator=ScriptedChatGenerator(ToolCall("fail")),
            tools=[fail],
            raise_on_tool_invocation_failure=True,
        ),
    }

    async def main() -> None:
        async with LocalHost(agents, MemoryJournal()) as host:
            for name in agents:
                await host.start(name, "Hello?", run_id=name)
                with pytest.raises((ChatGeneratorError, ToolInvocationError)):
                    await host.result(name, timeout=10)

    with caplog.at_level(logging.WARNING, "detent"):
        asyncio.run(main())
    assert [line.getMessage() for line in caplog.records] == [
        "run silent: has failed: the model gave no answer (server); see detent runs show silent",
        "run clumsy: has failed: fail failed; see detent runs show clumsy",
    ]


def test_it_keeps_the_laws(journal: Journal) -> None:
    """Those of the port."""
    check_host(lambda: LocalHost(host_agents(), journal, look_s=0.1))


class Slow:
    """Answers once it may; tells the words of its answer first."""

    def __init__(self) -> None:
        self.may = asyncio.Event()
        self.asked = 0

    async def run_async(
        self,
        messages: Sequence[ChatMessage],
        *,
        streaming_callback: StreamingCallback | None = None,
        **options: object,
    ) -> ChatReply:
        """The reply."""
        self.asked += 1
        if streaming_callback is not None:
            streaming_callback(StreamingChunk("one ", start=True))
        await self.may.wait()
        if streaming_callback is not None:
            streaming_callback(StreamingChunk("two"))
        return ChatReply(ChatMessage.from_assistant("one two"))


async def settled(holds: Callable[[], bool]) -> None:
    """Let others go on until something holds."""
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 - it is elsewhere that something comes
            await asyncio.sleep(0.005)


async def asked_of(host: LocalHost, run_id: str) -> PendingQuestion:
    """The question of a run, once there is one."""
    while True:
        found = [one for one in await host.pending() if one.call.run_id == run_id]
        if found:
            return found[0]
        await asyncio.sleep(0.005)


def test_pieces_come_before_their_answer_also_for_latecomers() -> None:
    """Whoever comes in the middle of an answer gets it from its first piece on."""

    async def main() -> None:
        slow = Slow()
        agents = {"slow": Agent(chat_generator=slow)}
        async with LocalHost(agents, MemoryJournal(), drain_s=0.1) as host, asyncio.timeout(10):
            await host.start("slow", "go", run_id="r")
            first = host.watch("r")
            assert isinstance(await anext(first), Entry)
            early = await anext(first)
            late = host.watch("r", after=0)
            same = await anext(late)
            slow.may.set()
            rest = [[early, *[one async for one in first]], [same, *[one async for one in late]]]
        for seen in rest:
            *pieces, answer = seen
            assert [
                (one.number, one.chunk.content) for one in pieces if isinstance(one, Piece)
            ] == [
                (0, "one "),
                (1, "two"),
                (2, ""),
            ]
            assert isinstance(answer, Entry)
            assert answer.kind == "ModelReplied"

    asyncio.run(main())


def test_limits_hold_and_a_full_queue_is_said() -> None:
    """So many go on, so many wait; the next one is refused, and nothing of it is stored."""

    async def main() -> None:
        slow, journal = Slow(), MemoryJournal()
        limits = HostLimits(running=2, waiting=1)
        agents = {"slow": Agent(chat_generator=slow)}
        async with LocalHost(agents, journal, limits=limits, drain_s=0.1) as host:
            begun = [await host.start("slow", "go", run_id=f"r{n}") for n in range(4)]
            await settled(lambda: slow.asked == 2)
            assert [isinstance(one, Accepted) for one in begun] == [True, True, True, False]
            assert isinstance(begun[3], HostRefusal)
            assert begun[3].why == "full"
            assert len(journal.runs()) == 3
            assert (host.health().running, host.health().waiting) == (2, 1)
            slow.may.set()
            assert [(await host.result(f"r{n}")).text for n in range(3)] == ["one two"] * 3

    asyncio.run(main())


@pytest.mark.parametrize("is_told", [True, False])
def test_a_run_that_has_ended_waits_for_no_place(*, is_told: bool) -> None:
    """Whoever has ended it: the next one may wait there, and those behind it go on."""

    async def main() -> None:
        slow, journal = Slow(), MemoryJournal()
        limits, agent = HostLimits(running=1, waiting=1), Agent(chat_generator=slow, name="slow")
        agents = {"slow": agent}
        async with LocalHost(agents, journal, limits=limits, look_s=0.05, drain_s=0.1) as host:
            for run_id in ("at work", "ends"):
                begun = await host.start("slow", "go", run_id=run_id)
                assert begun == Accepted(run_id, is_new=True)
            await settled(lambda: slow.asked == 1)
            if is_told:
                await host.send("ends", CancelRequested("not wanted"))
                assert host.health().waiting == 0
            else:
                elsewhere = People(evolve(agent.assembly, journal=journal))
                elsewhere.say("ends", CancelRequested("not wanted"))
                await settled(lambda: host.health().waiting == 0)
            begun = await host.start("slow", "go", run_id="next")
            assert begun == Accepted("next", is_new=True)
            slow.may.set()
            assert (await host.result("next")).text == "one two"
            assert (await host.run("ends")).listed.status == "cancelled"

    asyncio.run(main())


def test_keys_share_their_places() -> None:
    """One tenant with many runs does not hold up another."""

    async def main() -> None:
        slow = Slow()
        host = LocalHost(
            {"slow": Agent(chat_generator=slow)},
            MemoryJournal(),
            limits=HostLimits(per_key=1),
            key_of=lambda run: run.run_id[0],
            drain_s=0.1,
        )
        async with host:
            for run_id in ("a1", "a2", "b1"):
                await host.start("slow", "go", run_id=run_id)
            await settled(lambda: slow.asked == 2)
            assert (host.health().running, host.health().waiting) == (2, 1)
            slow.may.set()
            await host.result("a2")

    asyncio.run(main())


def test_who_closes_gives_back_and_begins_nothing_more() -> None:
    """A later host goes on with what was left."""

    async def main() -> None:
        slow, journal = Slow(), MemoryJournal()
        agents = {"slow": Agent(chat_generator=slow, model_retries=0)}
        host = LocalHost(agents, journal, drain_s=0.05)
        async with host:
            await host.start("slow", "go", run_id="r")
            await settled(lambda: slow.asked == 1)
        refused = await host.start("slow", "go", run_id="s")
        assert isinstance(refused, HostRefusal)
        assert refused.why == "shutting_down"
        assert not host.health().is_ready
        assert await host.start("slow", "go", run_id="r") == Accepted("r")
        assert journal.runs()[0].status == "running"
        slow.may.set()
        async with LocalHost(agents, journal, look_s=0.01) as later:
            assert (await later.result("r", 10)).text == "one two"

    asyncio.run(main())


def test_two_hosts_of_one_store_drive_each_run_once(journal: Journal) -> None:
    """However often each looks for what is to go on while the other is at work."""

    async def main() -> None:
        slow = Slow()
        agents = {"slow": Agent(chat_generator=slow)}
        async with (
            LocalHost(agents, journal, look_s=0.01) as here,
            LocalHost(agents, journal, look_s=0.01, claim_s=CLAIM_S + 1) as there,
        ):
            for number in range(6):
                await (here, there)[number % 2].start("slow", "go", run_id=f"r{number}")
            await settled(lambda: slow.asked >= 6)
            slow.may.set()
            for number in range(6):
                assert (await there.result(f"r{number}", 10)).text == "one two"
        assert slow.asked == 6
        kinds = [entry.kind for number in range(6) for entry in journal.read(f"r{number}")]
        assert kinds == ["Started", "ModelReplied"] * 6

    asyncio.run(main())


def test_a_run_of_an_engine_is_left_to_it(journal: Journal) -> None:
    """And people are told: a store belongs to hosts of one mode."""
    agent = Agent(chat_generator=ScriptedChatGenerator(), name="it", journal=journal)
    engine = evolve(agent.assembly, engine="DBOS")
    request: RunRequest[Any] = RunRequest("go", None, None, None, None, None, "r", {}, None)

    async def main() -> None:
        await at_once(engine.begin(request, None)).leave_async()
        async with LocalHost({"it": agent}, journal, look_s=60) as host:
            await settled(lambda: host.health().is_ready)
            await asyncio.gather(*(leg.task for leg in host._driving._at_work if leg.task))
            assert host.health().faults == {"r": "RunOfEngineError"}
        assert [entry.kind for entry in journal.read("r")] == ["Started"]

    asyncio.run(main())


def test_a_run_of_an_id_that_is_used_again_is_held_beside_the_deleted_one(
    tmp_path: Path,
) -> None:
    """Each gives its own place back, and a host that closes hears out both."""
    began, may = list[str](), {name: asyncio.Event() for name in ("old", "new")}

    @tool
    async def work(name: str) -> str:
        """Work."""
        began.append(name)
        await may[name].wait()
        return name

    async def main() -> None:
        calls = [ToolCall("work", {"name": name}) for name in may]
        agent = Agent(chat_generator=ScriptedChatGenerator(*calls, "Done."), tools=[work])
        journal = SQLiteJournal(tmp_path / "runs.db")
        async with LocalHost({"it": agent}, journal, drain_s=10) as host, asyncio.timeout(20):
            await host.start("it", "go", run_id="r")
            await settled(lambda: began == ["old"])
            await asyncio.to_thread(Runs(journal, agent.spec).delete, "r")
            await host.start("it", "go", run_id="r")
            await settled(lambda: began == ["old", "new"])
            may["old"].set()
            await settled(lambda: host.health().running == 1)
            asyncio.get_running_loop().call_later(0.1, may["new"].set)
        assert [entry.kind for entry in journal.read("r")][-1] == "ToolReturned"
        assert host.health().running == 0

    asyncio.run(main())
    assert began == ["old", "new"]


def test_of_two_hosts_one_begins_the_next_run_of_a_thread(tmp_path: Path) -> None:
    """Although both look for its end before either has begun one."""
    both = Barrier(2)

    class Watched(SQLiteJournal):
        def runs(self, query: RunQuery = ALL_RUNS) -> list[StoredRun]:
            """Where the thread ends; the other is heard out first, if it is about to ask."""
            found = list(super().runs(query))
            if query.thread_id is not None:
                with suppress(BrokenBarrierError):
                    both.wait(0.2)
            return found

    async def main() -> None:
        journal = Watched(tmp_path / "runs.db")
        async with (
            LocalHost(host_agents(), journal) as here,
            LocalHost(host_agents(), journal, claim_s=CLAIM_S + 1) as there,
        ):
            begun = await asyncio.gather(
                here.start("clerk", "pay", run_id="a", thread_id="t"),
                there.start("clerk", "pay", run_id="b", thread_id="t"),
            )
        why = [one.why for one in begun if isinstance(one, HostRefusal)]
        assert (why, len(journal.runs())) == (["thread_busy"], 1)

    asyncio.run(main())


def test_each_host_of_a_store_answers_for_all(journal: Journal) -> None:
    """A question of one is shown and decided by the other."""

    async def main() -> None:
        async with (
            LocalHost(host_agents(), journal, look_s=0.02) as here,
            LocalHost(host_agents(), journal, look_s=0.02) as there,
        ):
            await here.start("clerk", "pay", run_id="c")
            call = (await asked_of(there, "c")).call
            assert isinstance(await there.send("c", call.confirm(by="Ada")), Accepted)
            assert (await here.result("c", 10)).text == "Done: paid 5"

    asyncio.run(main())


def test_a_decision_of_another_process_is_found() -> None:
    """It is in the journal, and nobody has told this host."""

    async def main() -> None:
        journal = MemoryJournal()
        async with LocalHost(host_agents(), journal, look_s=0.02) as host:
            await host.start("clerk", "pay", run_id="c")
            call = (await asked_of(host, "c")).call
            await settled(lambda: host.health().running == 0)
            elsewhere = host._agents["clerk"].assembly
            People(evolve(elsewhere, journal=journal)).decide("c", call.confirm(by="Ada"))
            assert (await host.result("c", 10)).text == "Done: paid 5"

    asyncio.run(main())


def test_a_decision_about_a_run_that_another_process_is_just_leaving_goes_on() -> None:
    """Without a look at the store: whoever was told tries again."""

    async def main() -> None:
        journal = MemoryJournal()
        other = Keeper(journal.claims, CLAIM_S)
        async with LocalHost(host_agents(), journal, look_s=1000) as host:
            await host.start("clerk", "pay", run_id="c")
            call = (await asked_of(host, "c")).call
            await settled(lambda: host.health().running == 0)
            lease = at_once(other.take_steps("c"))
            await host.send("c", call.confirm(by="Ada"))
            await settled(lambda: host.health().running == 0)
            assert journal.runs()[0].status == "running"
            lease.release()
            assert (await host.result("c", 10)).text == "Done: paid 5"

    asyncio.run(main())


def waiter(clock: ManualClock, calls: list[float]) -> Agent[Any, Any]:
    """An agent whose tool fails the first time, and is tried again after an hour."""

    @tool(retries=Retries(1, backoff_s=3600, backoff_max_s=3600))
    def fetch() -> str:
        """Fetch."""
        calls.append(clock.now())
        if len(calls) == 1:
            raise OSError("down")
        return "fetched"

    script = ScriptedChatGenerator(ToolCall("fetch", {}), "there it is")
    return Agent(chat_generator=script, tools=[fetch], clock=clock)


def test_a_long_wait_takes_no_place_and_ends_in_time() -> None:
    """The run is left in the meantime, and gone on with when its time has come."""

    async def main() -> None:
        clock, calls = ManualClock(1e9), list[float]()
        agents = {"waiter": waiter(clock, calls)}
        async with LocalHost(agents, MemoryJournal(), clock=clock, look_s=0.01) as host:
            await host.start("waiter", "go", run_id="r")
            await settled(lambda: len(calls) == 1 and host.health().running == 0)
            (listed,) = await host.runs()
            assert listed.wake_at is not None
            await asyncio.sleep(0.05)
            assert len(calls) == 1
            clock.advance(listed.wake_at - clock.now())
            assert (await host.result("r", 10)).text == "there it is"
            assert len(calls) == 2

    asyncio.run(main())


def test_a_question_that_expires_is_answered_by_its_time() -> None:
    """Nobody has decided: the run goes on with a no."""

    async def main() -> None:
        clock = ManualClock(1e9)

        @tool
        def pay() -> str:
            """Pay."""
            raise AssertionError("nobody has said yes")

        agent = Agent(
            chat_generator=ScriptedChatGenerator(ToolCall("pay", {}), "not paid"),
            tools=[pay],
            confirmation_strategies={"pay": WithQuestionOptions(AlwaysAskPolicy(), expires_s=60)},
            clock=clock,
        )
        async with LocalHost({"clerk": agent}, MemoryJournal(), clock=clock, look_s=0.01) as host:
            await host.start("clerk", "pay", run_id="r")
            await asked_of(host, "r")
            await settled(lambda: host.health().running == 0)
            clock.advance(61)
            assert (await host.result("r", 10)).text == "not paid"

    asyncio.run(main())


TENANT = "Zx9-of-nobody"


def test_a_run_that_cannot_go_on_is_tried_later_and_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What keeps it is said, as far as it says nothing of anybody; others are not kept by it."""

    async def main() -> None:
        clock, tries = ManualClock(1e9), list[float]()

        @before_model
        def look_up(ask: AskModel, run: Run[Any]) -> None:
            tries.append(clock.now())
            if len(tries) < 3:
                raise ConnectionError(f"the prompts of {TENANT!r} are away")

        script = ScriptedChatGenerator("done")
        agent = Agent(chat_generator=script, hooks=[look_up], clock=clock)
        async with LocalHost({"clerk": agent}, MemoryJournal(), clock=clock, look_s=0.01) as host:
            await host.start("clerk", "pay", run_id="r")
            await settled(lambda: bool(host.health().faults))
            assert host.health().faults == {"r": "HookError"}
            await asyncio.sleep(0.05)
            assert len(tries) == 1
            clock.advance(1.01)
            await settled(lambda: "for the 2. time" in caplog.text)  # then its pause is known
            clock.advance(2.01)
            assert (await host.result("r", 10)).text == "done"
            await settled(lambda: not host.health().faults)

    with caplog.at_level(logging.DEBUG, "detent"):
        asyncio.run(main())
    assert "HookError in " in caplog.text
    assert "; because of ConnectionError in _call (" in caplog.text
    assert TENANT not in caplog.text


def test_what_has_kept_a_run_is_no_fault_while_it_goes_on() -> None:
    """It may do so for hours, and people would be called all the while."""

    async def main() -> None:
        clock, is_at_work, may_end = ManualClock(1e9), asyncio.Event(), asyncio.Event()

        @tool
        async def work() -> str:
            """Take long."""
            is_at_work.set()
            await may_end.wait()
            return "done"

        errors: list[Exception] = [ConnectionError("away")]

        @before_model
        def look_up(ask: AskModel, run: Run[Any]) -> None:
            if errors:
                raise errors.pop()

        script = ScriptedChatGenerator(ToolCall("work", {}), "done")
        agent = Agent(chat_generator=script, tools=[work], hooks=[look_up], clock=clock)
        async with LocalHost({"clerk": agent}, MemoryJournal(), clock=clock, look_s=0.01) as host:
            await host.start("clerk", "work", run_id="r")
            await settled(lambda: host.health().faults == {"r": "HookError"})
            clock.advance(1.01)
            async with asyncio.timeout(10):
                await is_at_work.wait()
            assert (host.health().running, host.health().faults) == (1, {})
            may_end.set()
            assert (await host.result("r", 10)).text == "done"

    asyncio.run(main())


class PanicError(BaseException):
    """As a library raises that is written in Rust."""


@pytest.mark.parametrize(
    "error", [PanicError(), SystemExit(3), asyncio.CancelledError(), GeneratorExit()], ids=repr
)
def test_whatever_a_leg_raises_its_run_is_tried_later(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    """It is among the faults, the log says it, and the host lives on."""
    asked = list[object]()

    class Stopped(ManualClock):
        is_asked = False

        def now(self) -> float:
            if self.is_asked:
                self.is_asked = False
                raise error
            return super().now()

    own = Stopped(1e9)

    def answer(messages: object) -> str:
        asked.append(messages)
        if len(asked) < 3:
            own.is_asked = True
            raise ChatGeneratorError(ModelFailure("server", "later", retryable=True))
        return "done"

    async def main() -> None:
        clock = ManualClock(1e9)
        script = ScriptedChatGenerator(*[When(lambda messages: True, answer)] * 3)
        agents = {
            "late": Agent(chat_generator=script, clock=own),
            "echo": host_agents()["echo"],
        }
        async with LocalHost(agents, MemoryJournal(), clock=clock, look_s=0.01) as host:
            await host.start("late", "go", run_id="r")
            await settled(lambda: bool(host.health().faults))
            assert host.health().faults == {"r": type(error).__name__}
            await host.start("echo", "a", run_id="other")
            assert (await host.result("other", 10)).text == "a (1)"
            assert len(asked) == 1
            clock.advance(1.01)
            await settled(lambda: "for the 2. time" in caplog.text)  # then its pause is known
            clock.advance(2.01)
            assert (await host.result("r", 10)).text == "done"
            await settled(lambda: not host.health().faults)

    asyncio.run(main())
    assert len(asked) == 3


@pytest.mark.parametrize("error", [PanicError(), SystemExit(3)], ids=repr)
@pytest.mark.parametrize("is_async", [False, True], ids=["blocking", "coroutine"])
def test_a_model_that_raises_fails_its_run_and_ends_no_worker(
    error: BaseException, *, is_async: bool
) -> None:
    """It is asked once."""

    class Raising:
        def run(self, messages: object, **options: object) -> Any:
            raise error

    class RaisingAsync:
        async def run_async(self, messages: object, **options: object) -> Any:
            raise error

    async def main() -> None:
        agent: Agent[Any] = Agent(chat_generator=RaisingAsync() if is_async else Raising())
        async with LocalHost({"it": agent}, MemoryJournal(), look_s=0.01) as host:
            await host.start("it", "go", run_id="r")
            with pytest.raises(ChatGeneratorError) as caught:
                await host.result("r", 10)
            assert caught.value.failure.cause == "bug"
            assert host.health().faults == {}

    asyncio.run(main())


@pytest.mark.parametrize("error", [PanicError(), SystemExit(3)], ids=repr)
def test_a_look_goes_on_whatever_it_meets(error: BaseException) -> None:
    """What keys raise is a fault of the run, and what a store raises a look that has failed."""

    class Store(MemoryJournal):
        looks = 0

        def runs(self, *given: Any, **named: Any) -> Any:
            self.looks += 1
            if self.looks == 2:
                raise error
            return super().runs(*given, **named)

    def key_of(run: StoredRun) -> str:
        if run.run_id == "bad":
            raise error
        return "one"

    async def main() -> None:
        agents, journal = {"echo": host_agents()["echo"]}, Store()
        for run_id in ("bad", "good"):
            agent = agents["echo"].evolve(journal=journal, name="echo")
            await agent.begin("a", run_id=run_id).leave_async()
        async with LocalHost(agents, journal, key_of=key_of, look_s=0.01) as host:
            assert (await host.result("good", 10)).text == "a (1)"
            looks = journal.looks
            await settled(lambda: journal.looks > looks + 3)
            assert "has no key for run 'bad'" in host.health().faults["bad"]

    asyncio.run(main())


def test_runs_of_other_agents_are_left_alone() -> None:
    """They are another host's; what is asked about them is refused by name."""

    async def main() -> None:
        journal = MemoryJournal()
        async with LocalHost(host_agents(), journal) as host:
            await host.start("clerk", "pay", run_id="c")
            call = (await asked_of(host, "c")).call
            await host.start("echo", "hi", run_id="e")
            await host.result("e")
        fewer = {"echo": host_agents()["echo"]}
        async with LocalHost(fewer, journal, look_s=0.01) as host:
            assert await host.pending() == []
            refused = [await host.send("c", call.confirm()), await host.start("clerk", "x")]
            assert [one.why for one in refused if isinstance(one, HostRefusal)] == [
                "other_agent",
                "unknown_agent",
            ]
            said = await host.send("c", ChatMessage.from_user("x"))
            assert isinstance(said, HostRefusal)
            assert said.why == "other_agent"
            with pytest.raises(UnknownAgentError, match=r"run 'c' is of agent 'clerk'; .* 'echo'"):
                await host.run("c")
            with pytest.raises(UnknownAgentError):
                await host.result("c")

    asyncio.run(main())


def test_a_host_needs_agents_and_claims() -> None:
    """Without them it could not keep its word."""

    class Plain(MemoryJournal):
        """A journal without claims."""

        def __init__(self) -> None:
            super().__init__()
            del self.claims

    with pytest.raises(ValueError, match="a host needs agents"):
        LocalHost({}, MemoryJournal())
    with pytest.raises(ValueError, match="a journal with claims"):
        LocalHost(host_agents(), Plain())
    alone: Any = host_agents()["echo"]
    with pytest.raises(TypeError, match=r"agents have names: LocalHost\(.*\), got Agent"):
        LocalHost(alone, MemoryJournal())


def test_a_host_that_nobody_has_opened_says_so() -> None:
    """Whatever it is asked."""
    host = LocalHost(host_agents(), MemoryJournal())
    assert not host.is_open
    for ask in (lambda: host.start("echo", "hi"), lambda: host.run("r"), host.pending):
        with pytest.raises(HostNotOpenError, match="the LocalHost is not open: use it in `async"):
            asyncio.run(ask())
    with pytest.raises(HostNotOpenError, match="with BlockingHost"):
        BlockingHost(host).runs()
    with pytest.raises(AttributeError, match="'LocalHost' object has no attribute 'begin'"):
        host.begin  # type: ignore[attr-defined]  # noqa: B018


def test_a_host_that_is_open_is_not_opened_again() -> None:
    """Its end would close it for whoever has opened it. A host that was closed may be."""

    async def main() -> None:
        host = LocalHost(host_agents(), MemoryJournal())
        for _ in range(2):
            async with host, asyncio.timeout(10):
                with pytest.raises(HostOpenError, match="leave `async with` to whoever"):
                    await host.open()
                assert host.is_open
                assert isinstance(await host.start("echo", "hi"), Accepted)

    asyncio.run(main())


def test_what_is_of_another_type_is_refused() -> None:
    """By a value, as all that a host does not do."""

    async def main() -> list[str]:
        host, wrong = LocalHost(host_agents(), MemoryJournal()), cast(Any, ["echo"])
        async with host, asyncio.timeout(10):
            await host.start("clerk", "pay", run_id="r")
            answers = [
                await host.start(wrong, "hi"),
                await host.send("r", Fork(wrong)),
                await host.send("r", Fork(agent=wrong)),
                await host.send("r", Revoke(wrong)),
            ]
        assert "one of `HostedRun.grants`" in str(answers[-1])
        return [answer.why for answer in answers if isinstance(answer, HostRefusal)]

    assert asyncio.run(main()) == ["unknown_agent", "invalid", "unknown_agent", "invalid"]


def test_an_app_that_is_served_opens_its_host() -> None:
    """Unless somebody else has, who closes it then."""

    async def main() -> list[bool]:
        host = LocalHost(host_agents(), MemoryJournal())
        seen = list[bool]()
        async with opened(host):
            async with opened(host):
                seen.append(host.is_open)
            seen.append(host.is_open)
        async with opened("another host"):
            seen.append(host.is_open)
        return seen

    assert asyncio.run(main()) == [True, True, False]


def test_what_was_confirmed_is_taken_back() -> None:
    """While the run has it; else a refusal says why, and what cannot be sent is a mistake."""

    @tool
    def pay(to: str) -> str:
        """Pay."""
        return f"paid {to}"

    calls = [ToolCall("pay", {"to": to}, to) for to in ("Ann", "Bob")]
    agent = Agent(
        chat_generator=ScriptedChatGenerator(ChatMessage.from_assistant(tool_calls=calls), "Done."),
        tools=[pay],
        confirmation_strategies={"pay": AlwaysAskPolicy()},
    )

    async def main() -> tuple[int, int, list[Any]]:
        async with LocalHost({"clerk": agent}, MemoryJournal(), look_s=0.01) as host:
            await host.start("clerk", "pay", run_id="r")
            await asked_of(host, "r")
            while len(questions := await host.pending()) < 2:  # noqa: ASYNC110 - it comes elsewhere
                await asyncio.sleep(0.005)
            first, second = (question.call for question in questions)
            await host.send("r", first.confirm(remember="arguments"))
            (grant,) = (await host.run("r")).grants
            no_such = await host.send("r", Revoke(evolve(grant, ref=CallRef(9, 9))))
            taken = await host.send("r", Revoke(grant, by="Ada"))
            left = (await host.run("r")).run.grants
            with pytest.raises(TypeError, match="what can be sent"):
                await host.send("r", cast(Any, Resumed("p")))
            await host.send("r", second.reject())
            await host.result("r")
            late = await host.send("r", Revoke(grant))
            return len([grant]), len(left), [no_such, taken, late]

    before, after, (no_such, taken, late) = asyncio.run(main())
    assert (before, after, taken) == (1, 0, Accepted("r"))
    assert (no_such.why, late.why) == ("unknown_call", "ended")
    assert "has no grant of the call (9, 9); it has of: (1, 0)" in no_such.text


def test_who_begins_a_run_does_not_approve_in_it() -> None:
    """Nor in the run that goes on from it by a message."""

    @tool
    def pay() -> str:
        """Pay."""
        return "paid"

    agent = Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("pay", {}), "x", ToolCall("pay", {}), "x"),
        tools=[pay],
        confirmation_strategies={"pay": WithApprovers(AlwaysAskPolicy(), Approvers(apart=True))},
        approvers=lambda said, question: Principal(said.credential or "nobody"),
    )

    async def asked(host: LocalHost, run_id: str) -> PendingCall:
        async for _ in host.watch(run_id):
            if found := await host.pending():
                return found[0].call
        raise AssertionError("it has not asked")

    async def decided(host: LocalHost, run_id: str) -> list[type]:
        call = await asked(host, run_id)
        yes = call.confirm()
        found = [await host.send(run_id, evolve(yes, credential=who)) for who in ("ann", "bob")]
        await host.result(run_id, 10)
        return [type(one) for one in found]

    async def visit() -> list[list[type]]:
        async with LocalHost({"a": agent}, MemoryJournal()) as host:
            await host.start("a", "go", run_id="r", started_by="ann")
            first = await decided(host, "r")
            more = await host.send("r", MessageReceived(ChatMessage.from_user("again"), by="ann"))
            assert isinstance(more, Accepted)
            return [first, await decided(host, more.run_id)]

    assert asyncio.run(visit()) == [[HostRefusal, Accepted]] * 2


def test_who_says_more_to_a_run_that_has_ended_has_begun_the_next() -> None:
    """Where nobody knows who that was, it is not who began the one before."""

    async def visit() -> list[str | None]:
        async with LocalHost(host_agents(), MemoryJournal()) as host:
            await host.start("echo", "go", run_id="r", started_by="ann")
            await host.result("r", 10)
            said = MessageReceived(ChatMessage.from_user("again"), by="bob")
            by_bob = await host.send("r", said)
            assert isinstance(by_bob, Accepted)
            await host.result(by_bob.run_id, 10)
            unsaid = await host.send(by_bob.run_id, ChatMessage.from_user("and again"))
            assert isinstance(unsaid, Accepted)
            found = [await host.run(one.run_id) for one in (by_bob, unsaid)]
            wrong = await host.send("r", ChatMessage.from_assistant("I"))
            assert isinstance(wrong, HostRefusal)
            return [*(one.run.started_by for one in found), wrong.why]

    assert asyncio.run(visit()) == ["bob", None, "invalid"]


def test_blocking_code_has_the_same_host() -> None:
    """Each call waits in its thread."""
    with BlockingHost(LocalHost(host_agents(), MemoryJournal())) as host:
        assert host.start("echo", "one two", run_id="r") == Accepted("r", is_new=True)
        assert host.result("r").text == "one two (1)"
        assert [one.kind for one in host.watch("r") if isinstance(one, Entry)][-1] == "ModelReplied"
        assert next(host.watch("r", after=0)) is not None
        with pytest.raises(ValueError, match="after is a position, counted from 0, or None; got"):
            next(host.watch("r", "x"))  # type: ignore[arg-type]  # what a form of a page may send
        assert host.run("r").listed == host.runs(limit=1)[0]
        assert isinstance(host.send("r", CancelRequested("x")), HostRefusal)
        assert list(host.pending()) == []
        assert [agent.name for agent in host.agents()] == sorted(host_agents())


def test_a_fingerprint_is_of_the_rules_alone() -> None:
    """What the tools do may change; what they take, and where it goes, may not."""

    def of(**options: Any) -> str:
        @tool
        def look(place: str) -> str:
            """Look."""
            return place

        given: dict[str, Any] = {
            "chat_generator": ScriptedChatGenerator("x"),
            "tools": [look],
            **options,
        }
        return rules_fingerprint(Agent(**given).spec)

    @tool
    def look(place: str) -> str:
        """Look closely."""
        return place * 2

    @tool(name="look")
    def elsewhere(where: str) -> str:
        """Look."""
        return where

    same = of()
    assert of(tools=[look]) == of(system_prompt="Look!") == of(name="x") == same
    changed = [
        of(tools=[elsewhere]),
        of(exit_conditions=["look"]),
        of(max_agent_steps=3),
        of(state_schema={"a": {"type": int}}),
        of(output_type=int),
        of(model_retries=0),
    ]
    assert len({same, *changed}) == 7


class LostJournal(MemoryJournal):
    """Cannot be read any more once a decision has been written to it."""

    is_away = False

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        super().append(run_id, entries, checkpoint)
        self.is_away = entries[-1].kind == "HumanDecided"

    def runs(self, query: RunQuery = ALL_RUNS) -> list[StoredRun]:
        """A page."""
        if self.is_away:
            raise JournalUnavailableError("nobody there")
        return list(super().runs(query))


def test_a_decision_that_is_written_is_accepted_although_the_store_is_lost_right_after() -> None:
    """It is not to be made again. Once the store is back, the run goes on by it."""

    async def main() -> None:
        journal = LostJournal()
        async with LocalHost(host_agents(), journal, look_s=0.02) as host:
            await host.start("clerk", "pay", run_id="r")
            question = await asked_of(host, "r")
            assert await host.send("r", question.call.confirm()) == Accepted("r")
            assert journal.is_away
            journal.is_away = False
            assert (await host.result("r", timeout=10)).exit_reason == "text"

    asyncio.run(main())


class LateList(MemoryJournal):
    """Lists once more what was found by a look that began long ago."""

    found: StoredRun | None = None
    looks = 0

    def runs(self, query: RunQuery = ALL_RUNS) -> list[StoredRun]:
        """A page."""
        if query.status != "running":
            return list(super().runs(query))
        self.looks += 1
        found, self.found = self.found, None
        return list(super().runs(query)) if found is None else [found]


def test_a_run_that_has_failed_since_it_was_found_does_not_ask_its_model_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nobody has wanted that, and it would be paid for. Nor does it fail a second time."""
    broken = ChatGeneratorError(ModelFailure("server", "nobody there"))
    script, journal = ScriptedChatGenerator(broken, "Here I am."), LateList()

    async def main() -> None:
        agents = {"a": Agent(chat_generator=script)}
        async with LocalHost(agents, journal, look_s=0.01) as host:
            await host.start("a", "Hello?", run_id="r")
            with pytest.raises(ChatGeneratorError):
                await host.result("r", timeout=10)
            await settled(lambda: host.health().running == 0)
            (listed,) = await host.runs()
            journal.found, looks = evolve(listed, status="running"), journal.looks
            await settled(lambda: journal.looks >= looks + 3 and host.health().running == 0)
            (after,) = await host.runs()
            assert (after, host.health().faults) == (listed, {})

    asyncio.run(main())
    assert len(script.calls) == 1
    assert caplog.text.count("has failed") == 1


def test_a_message_to_a_run_at_work_is_read_once_by_whichever_host_drives_it(
    journal: Journal,
) -> None:
    """Said at the one that drives it and at the other; behind its end in a run of its own."""

    async def main() -> None:
        model = Slow()
        agents = {"slow": Agent(chat_generator=model)}
        async with (
            LocalHost(agents, journal, look_s=0.1) as host,
            LocalHost(agents, journal, look_s=0.1) as other,
        ):
            await host.start("slow", "go", run_id="r")
            await settled(lambda: model.asked == 1)
            for one, text in ((host, "here"), (other, "there")):
                said = ChatMessage.from_user(text, meta={"labels": [text]})
                accepted = await one.send("r", said)
                assert accepted == Accepted("r")
            refused = await host.send("r", ChatMessage.from_system("x"))
            assert isinstance(refused, HostRefusal)
            assert refused.why == "invalid"
            model.may.set()
            result = await other.result("r", timeout=10)
            texts = [message.text for message in result.messages]
            assert texts == ["go", "one two", "here", "there", "one two"]
            assert (result.run.labels, model.asked) == (("here", "there"), 2)
            behind = await other.send("r", ChatMessage.from_user("more"))
            assert isinstance(behind, Accepted)
            assert (behind.is_new, behind.run_id != "r") == (True, True)
            await host.result(behind.run_id, timeout=10)

    asyncio.run(main())


class MovingJournal(MemoryJournal):
    """Lists one run, which goes from list to list while somebody looks."""

    moves: Sequence[str] = ()

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """The run, where it is in the list that is asked for by now."""
        if not (self.moves and query.status):
            return super().runs(query)
        now, *self.moves = self.moves
        found = super().runs(evolve(query, status=None))
        return [evolve(run, status=now) for run in found if now == query.status]


@pytest.mark.parametrize(
    "moves",
    [
        *(("running", "waiting", "waiting"), ("waiting", "running", "running")),
        *(("waiting", "waiting", "running"), ("running", "running", "waiting")),
    ],
)
def test_a_question_is_found_while_its_run_goes_from_list_to_list(moves: Sequence[str]) -> None:
    """As it is asked, or decided in part: once."""

    async def main() -> list[str]:
        journal = MovingJournal()
        async with LocalHost({"clerk": host_agents()["clerk"]}, journal, look_s=60.0) as host:
            await host.start("clerk", "pay", run_id="r")
            await asked_of(host, "r")
            journal.moves = moves
            return [question.call.tool_name for question in await host.pending()]

    assert asyncio.run(main()) == ["pay"]


def test_as_many_wait_as_may_also_where_all_come_at_once(tmp_path: Path) -> None:
    """While one is written down, the others are counted already."""

    async def main() -> tuple[Counter[str], int]:
        limits = HostLimits(running=1, waiting=2)
        agents = {"sleeper": host_agents()["sleeper"]}
        journal = SQLiteJournal(tmp_path / "runs.db")
        async with LocalHost(agents, journal, limits=limits, drain_s=0.01) as host:
            starts = (host.start("sleeper", "sleep", run_id=str(number)) for number in range(20))
            said = await asyncio.gather(*starts)
            kinds = Counter(one.why if isinstance(one, HostRefusal) else "new" for one in said)
            return kinds, len(await host.runs())

    assert asyncio.run(main()) == ({"new": 3, "full": 17}, 3)


def test_a_key_that_cannot_be_had_is_said_and_holds_up_no_other_run() -> None:
    """Neither a new run nor one that is stored: its fault is among those of the host."""

    def key_of(run: StoredRun) -> str:
        return {"good": "one", "late": "one"}[run.run_id]

    async def main() -> tuple[Accepted | HostRefusal, dict[str, str], str | None]:
        agents, journal = {"echo": host_agents()["echo"]}, MemoryJournal()
        stored = agents["echo"].evolve(journal=journal, name="echo")
        for run_id in ("bad", "good"):
            await stored.begin("a", run_id=run_id).leave_async()
        async with LocalHost(agents, journal, key_of=key_of, look_s=0.01) as host:
            refused = await host.start("echo", "a", run_id="worse")
            found = await host.result("good", timeout=20)
            await settled(lambda: bool(host.health().faults))
            faults = dict(host.health().faults)
            await host.start("echo", "a", run_id="late")
            await host.result("late", timeout=20)
            return refused, faults, found.text

    refused, faults, text = asyncio.run(main())
    assert isinstance(refused, HostRefusal)
    assert refused.why == "invalid"
    assert "has no key for run 'worse': KeyError('worse')" in refused.text
    assert text == "a (1)"
    assert faults.keys() == {"bad"}
    assert "has no key for run 'bad'" in faults["bad"]


@pytest.mark.parametrize(
    "name", ["", "half \ud800", "two\nINFO run r: lines", "gone\x1b[2K", "two\u2028lines"]
)
def test_what_is_no_name_is_no_run(name: str, tmp_path: Path) -> None:
    """None is begun, in no thread of that name either, and none is there."""

    async def main() -> list[Any]:
        journal = SQLiteJournal(tmp_path / "runs.db")
        async with LocalHost({"echo": host_agents()["echo"]}, journal) as host:
            said = [await host.start("echo", "a", run_id=name)]
            said.append(await host.start("echo", "a", thread_id=name))
            said.append(await host.send(name, CancelRequested("x")))
            for ask in (host.run(name), host.result(name), host.verify(name)):
                with pytest.raises(RunNotFoundError):
                    await ask
            return [one.why for one in said if isinstance(one, HostRefusal)]

    assert asyncio.run(main()) == ["invalid", "invalid", "unknown_run"]


def test_a_key_is_had_at_once() -> None:
    """By a coroutine function each run had a key of its own, and `per_key` limited nothing."""

    async def key_of(run: StoredRun) -> str:
        return run.agent

    class Keys:
        async def __call__(self, run: StoredRun) -> str:
            return run.agent

    told: Any
    for told in (key_of, Keys(), "key"):
        with pytest.raises(TypeError, match="key_of gives its key at once"):
            LocalHost(host_agents(), MemoryJournal(), key_of=told)


def test_runs_behind_each_other_are_called_after_the_first(journal: Journal) -> None:
    """Each by a digest in place of the last one's, so that their names grow no longer."""

    async def main() -> list[str]:
        async with LocalHost(host_agents(), journal) as host:
            names = ["order-7" + "x" * 248]
            await host.start("echo", "one", run_id=names[0])
            for _ in range(3):
                await host.result(names[-1])
                begun = await host.send(names[-1], ChatMessage.from_user("more"))
                assert isinstance(begun, Accepted)
                names.append(begun.run_id)
            assert (await host.result(names[-1])).text == "more (4)"
            return names

    names = asyncio.run(main())
    assert len({*names}) == 4
    assert {(len(name), name[:238]) for name in names} == {(255, names[0][:238])}


@pytest.mark.parametrize("state", [[], "", 0, {1: 1}, "text"])
def test_a_state_is_a_dict_of_keys(state: Any) -> None:
    """What is none is refused by a sentence that says so, also where it is empty."""

    async def main() -> Accepted | HostRefusal:
        async with LocalHost({"echo": host_agents()["echo"]}, MemoryJournal()) as host:
            return await host.start("echo", "hi", run_id="r", state=state)

    refused = asyncio.run(main())
    assert isinstance(refused, HostRefusal)
    assert (refused.why, "state" in refused.text) == ("invalid", True)
