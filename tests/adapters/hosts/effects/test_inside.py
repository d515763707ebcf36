"""The inside makes the same run of the same history, whatever happens to workers and journals."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from detent import (
    Agent,
    AgentTool,
    AlwaysAskPolicy,
    ChatMessage,
    MemoryJournal,
    Retries,
    ScriptedChatGenerator,
    ToolCall,
    before_model,
    tool,
)
from detent.adapters.hosts.effects.contract import EffectsRefusedError, require_followable
from detent.adapters.hosts.effects.history import Json
from detent.adapters.hosts.effects.inside import Inside
from detent.adapters.hosts.people import People, Written
from detent.adapters.system.clocks import SystemClock
from detent.approvals import DecisionRefusedError, pending
from detent.core.errors import AgentChangedError
from detent.core.storage.journal import event_to_json
from detent.journals import AuditedJournal, EncryptedJournal, RedactedJournal, Runs
from detent.machine import (
    CancelRequested,
    MessageReceived,
    Resumed,
    match_decision,
)
from detent.models import ChatGeneratorError, ModelFailure
from detent.ports.journal import JournalDamagedError, JournalUnavailableError
from detent.testing import When
from tests.adapters.hosts.effects.played import Stage

DONE = list[str]()


class PanicError(BaseException):
    """As a library raises that is written in Rust."""


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    DONE.clear()


@tool
def pay(amount: int) -> str:
    """Pay."""
    DONE.append(f"pay {amount}")
    return f"paid {amount}"


@tool(on_unknown="rerun", retries=Retries(2, backoff_s=1.0))
def shaky(amount: int) -> str:
    """Fail the first time."""
    DONE.append(f"shaky {amount}")
    if len(DONE) < 2:
        raise ConnectionError("away")
    return "at last"


def two(*calls: ToolCall) -> ChatMessage:
    """A reply with several calls."""
    return ChatMessage.from_assistant(tool_calls=[*calls])


def payer(**options: Any) -> Agent[Any, Any]:
    """Pays twice in one turn, then once more."""
    script = ScriptedChatGenerator(
        two(ToolCall("pay", {"amount": 1}), ToolCall("pay", {"amount": 2})),
        ToolCall("pay", {"amount": 3}),
        "done",
    )
    return Agent(chat_generator=script, tools=[pay], **options)


def asker() -> Agent[Any, Any]:
    """Asks before it pays."""
    script = ScriptedChatGenerator(ToolCall("pay", {"amount": 9}), "done")
    rules = {"pay": AlwaysAskPolicy()}
    return Agent(chat_generator=script, tools=[pay], confirmation_strategies=rules)


def boss() -> Agent[Any, Any]:
    """Has another one pay."""
    script = ScriptedChatGenerator(ToolCall("helper", {"task": "pay"}), "content")
    helper = AgentTool(payer(), name="helper", description="pays")
    return Agent(chat_generator=script, tools=[helper])


def shaker() -> Agent[Any, Any]:
    """Tries again after a pause."""
    script = ScriptedChatGenerator(ToolCall("shaky", {"amount": 1}), "done")
    return Agent(chat_generator=script, tools=[shaky])


def played(agent: Agent[Any, Any], play: Callable[[Stage, Json, Inside], Awaitable[None]]) -> None:
    """Play, and then follow the history once more: it is the same run, and the same jobs."""

    async def main() -> None:
        async with asyncio.timeout(20):
            stage = Stage(agent, MemoryJournal())
            given = await stage.given()
            inside = stage.inside(given)
            await play(stage, given, inside)
            done = list(DONE)
            other, engine = await stage.again(given)
            assert other.run == inside.run
            assert engine.jobs == stage.engine.jobs
            assert done == DONE

    asyncio.run(main())


async def to_the_end(stage: Stage, given: Json, inside: Inside) -> None:
    """Nobody says anything."""
    assert await inside.follow() is None
    run = Runs(stage.journal, stage.parts["it"].spec).at("r")
    assert run == inside.run
    assert len(list(stage.journal.read("r"))) == inside.length


@pytest.mark.parametrize("make", [payer, boss, shaker])
def test_a_run_comes_to_its_end_and_is_in_the_journal(make: Callable[[], Agent[Any, Any]]) -> None:
    """Tools beside each other, agents inside it, and pauses."""
    played(make(), to_the_end)
    assert len(DONE) in {2, 3}


async def said(stage: Stage, *events: Any, is_late: bool = False) -> bool:
    """Tell the run, and say whether it counted."""
    answer = asyncio.get_running_loop().create_future()
    spec = stage.parts["it"].spec
    told = {"events": [event_to_json(spec, one) for one in events], "is_late": is_late}
    await stage.engine.mail.put((told, answer))
    return bool(await answer)


def test_what_a_human_decides_counts_once() -> None:
    """The second one is told that it did not."""

    async def play(stage: Stage, given: Json, inside: Inside) -> None:
        following = asyncio.create_task(inside.follow())
        await stage.asked()
        spec = stage.parts["it"].spec
        (call,) = pending(spec, Runs(stage.journal, spec).at("r"))
        event = match_decision(spec, inside.run, call.confirm(by="Ada"), at=1.0).unwrap()
        assert await said(stage, event)
        assert not await said(stage, event)
        await following
        assert DONE == ["pay 9"]

    played(asker(), play)


def test_a_decision_in_the_journal_itself_is_heard() -> None:
    """By a look, and what the run holds comes behind it."""

    async def play(stage: Stage, given: Json, inside: Inside) -> None:
        following = asyncio.create_task(inside.follow())
        await stage.asked()
        agent = stage.agent.evolve(journal=stage.journal, name="it")
        (call,) = agent.pending("r")
        agent.decide("r", call.confirm(by="Ada"))
        await stage.engine.mail.put(({"look": True}, None))
        await following
        assert DONE == ["pay 9"]
        assert inside.run.messages[-1].text == "done"
        assert Runs(stage.journal, stage.parts["it"].spec).at("r") == inside.run

    played(asker(), play)


def test_a_word_that_is_the_next_in_the_journal_is_heard_without_a_look() -> None:
    """It is written there before; one that comes behind what is not known here has it looked."""

    async def play(stage: Stage, given: Json, inside: Inside) -> None:
        following = asyncio.create_task(inside.follow())
        await stage.asked()
        agent = stage.agent.evolve(journal=stage.journal, name="it")
        people, spec = People(agent.assembly), stage.parts["it"].spec
        written = [people.write("r", MessageReceived(said_by(name))) for name in ("Ada", "Bea")]
        assert all(isinstance(one, Written) for one in written)
        (first, second) = cast(list[Written], written)
        told = [
            {"look": True, "at": one.position, "events": [event_to_json(spec, one.event)]}
            for one in (second, first, second)
        ]
        for message in told:  # the second one comes too early, and once more
            await stage.engine.mail.put((message, None))
        await until_written(inside, second.position)
        agent.decide("r", agent.pending("r")[0].confirm(by="Ada"))
        await stage.engine.mail.put(({"look": True}, None))
        await following
        texts = [one.text for one in inside.run.messages if one.role == "user"]
        assert texts == ["go", "of Ada", "of Bea"]
        assert Runs(stage.journal, spec).at("r") == inside.run

    played(asker(), play)


def test_a_message_is_read_once_though_others_have_spoken_before_it() -> None:
    """Nobody has told the run of them: it takes the place of theirs for that of its own."""

    async def play(stage: Stage, given: Json, inside: Inside) -> None:
        stage.engine.unheard.add("judge/1/0/1")
        following = asyncio.create_task(inside.follow())
        await until_written(inside, 1)
        agent = stage.agent.evolve(journal=stage.journal, name="it")
        people, spec = People(agent.assembly), stage.parts["it"].spec
        untold = people.write("r", MessageReceived(said_by("Ada")))
        told = people.write("r", MessageReceived(said_by("Bea")))
        assert isinstance(untold, Written)
        assert isinstance(told, Written)
        events = [event_to_json(spec, told.event)]
        message = {"look": True, "at": inside.length, "events": events}
        await stage.engine.mail.put((message, None))
        await stage.asked()
        agent.decide("r", agent.pending("r")[0].confirm(by="Ada"))
        await stage.engine.mail.put(({"look": True}, None))
        await following
        texts = [one.text for one in inside.run.messages if one.role == "user"]
        assert texts == ["go", "of Ada", "of Bea"]
        assert Runs(stage.journal, spec).at("r") == inside.run

    played(asker(), play)


def said_by(name: str) -> ChatMessage:
    """What somebody says."""
    return ChatMessage.from_user(f"of {name}")


async def until_written(inside: Inside, position: int) -> None:
    """Until what is there is known inside."""
    while inside.length <= position:  # noqa: ASYNC110 - it comes in this loop
        await asyncio.sleep(0)


def test_a_no_that_was_accepted_is_not_lost_to_a_later_yes() -> None:
    """It is in the journal, and a yes that somebody writes there afterwards is refused."""

    async def play(stage: Stage, given: Json, inside: Inside) -> None:
        following = asyncio.create_task(inside.follow())
        await stage.asked()
        agent = stage.agent.evolve(journal=stage.journal, name="it")
        (call,) = agent.pending("r")
        written = People(agent.assembly).write("r", call.reject("never", by="Ada"))
        assert isinstance(written, Written)
        with pytest.raises(DecisionRefusedError, match="already"):
            agent.decide("r", call.confirm(by="Bob"))
        events = [event_to_json(stage.parts["it"].spec, written.event)]
        message = {"look": True, "at": written.position, "events": events}
        await stage.engine.mail.put((message, None))
        await following
        assert DONE == []
        assert [one.by for one in inside.run.decisions] == ["Ada"]

    played(asker(), play)


def test_people_may_write_while_tools_are_at_work() -> None:
    """What the run has not written yet comes behind what they say."""

    async def play(stage: Stage, given: Json, inside: Inside) -> None:
        following = asyncio.create_task(inside.follow())
        while not stage.engine.jobs:  # noqa: ASYNC110 - it comes in this loop
            await asyncio.sleep(0)
        agent = stage.agent.evolve(journal=stage.journal, name="it")
        writing: Any = Writing(stage.engine.outside, agent)
        stage.engine.outside = writing
        await following
        assert type(inside.run.outcome).__name__ == "Cancelled"
        assert Runs(stage.journal, stage.parts["it"].spec).at("r") == inside.run

    played(payer(), play)


class Writing:
    """An outside before whose second job somebody has written to the journal."""

    def __init__(self, outside: Any, agent: Agent[Any, Any]) -> None:
        self._outside, self._agent, self._is_written = outside, agent, False

    async def perform(self, job: Json, begins: Any = None) -> Json:
        """As the outside does."""
        if not self._is_written and job["effect"] != "model/1/0/1":
            self._is_written = True
            People(self._agent.assembly).say("r", CancelRequested("enough"))
        came: Json = await self._outside.perform(job)
        return came


def test_another_driver_is_found_out() -> None:
    """Two who drive one run would do what it owes twice."""

    async def play(stage: Stage, given: Json, inside: Inside) -> None:
        agent = stage.agent.evolve(journal=stage.journal, name="it")
        agent.resume("r")
        with pytest.raises(JournalDamagedError, match="another driver"):
            await inside.follow()
        assert sorted(DONE) == ["pay 1", "pay 2", "pay 3"]

    async def main() -> None:
        stage = Stage(payer(), MemoryJournal())
        given = await stage.given()
        await play(stage, given, stage.inside(given))

    asyncio.run(main())


def test_a_tool_whose_worker_died_is_asked_about() -> None:
    """And one that tells later what it has done is heard."""

    async def play(stage: Stage, given: Json, inside: Inside) -> None:
        stage.engine.lost.add("tool/1/0/1")
        following = asyncio.create_task(inside.follow())
        await stage.asked()
        while len(DONE) < 2:  # noqa: ASYNC110 - the other tool is in a thread, which may be late
            await asyncio.sleep(0)
        (call,) = pending(stage.parts["it"].spec, inside.run)
        assert (call.tool_name, sorted(DONE)) == ("pay", ["pay 1", "pay 2"])
        (job,) = [one for one in stage.engine.jobs if one["effect"] == "tool/1/0/1"]
        came = await stage.engine.outside.perform(job)
        assert sorted(DONE) == ["pay 1", "pay 2"]  # it is known to be lost, and was not begun again
        late = stage.engine.outside.late(job, came)
        assert late is not None
        missed = stage.engine.outside.late(job, {"missed": {"at": 1, "events": []}})
        assert missed is not None  # what others have written has kept it from being begun
        assert missed["never_ran"] == late["never_ran"]
        answer = asyncio.get_running_loop().create_future()
        await stage.engine.mail.put((late, answer))
        assert await answer  # that one never ran, so that it is begun again
        await following
        assert sorted(DONE) == ["pay 1", "pay 1", "pay 2", "pay 3"]

    played(payer(), play)


def test_what_a_tool_has_given_is_found_where_its_worker_has_left_it() -> None:
    """In the journal, as the engine was away: nobody is asked, and nothing is done twice."""

    async def play(stage: Stage, given: Json, inside: Inside) -> None:
        stage.engine.kept.add("tool/1/0/1")
        stage.engine.lost.add("tool/1/0/1")
        await inside.follow()
        assert sorted(DONE) == ["pay 1", "pay 2", "pay 3"]
        kinds = [entry.kind for entry in stage.journal.read("r")]
        assert "ToolLost" not in kinds
        assert kinds.count("ToolReturned") == 3

    played(payer(), play)


def test_that_a_tool_never_ran_is_left_in_no_journal() -> None:
    """Another worker may have been given it since: it would be done twice."""

    async def play(stage: Stage, given: Json, inside: Inside) -> None:
        stage.engine.lost.add("tool/1/0/1")
        following = asyncio.create_task(inside.follow())
        await stage.asked()
        late, _ = await never_ran(stage)
        before = list(stage.journal.read("r"))
        await stage.engine.outside.keep(stage.engine.jobs[0], late)
        assert list(stage.journal.read("r")) == before
        following.cancel()

    played(payer(), play)


async def never_ran(stage: Stage, place: int = 0) -> tuple[Json, asyncio.Future[bool]]:
    """A worker that was given up says so of the first tool, which it has not begun."""
    jobs = [one for one in stage.engine.jobs if one["effect"] == "tool/1/0/1"]

    async def no() -> bool:
        return False

    came = await stage.engine.outside.perform(jobs[place], no)
    late = stage.engine.outside.late(jobs[place], came)
    assert late is not None
    return late, asyncio.get_running_loop().create_future()


def test_a_tool_that_never_ran_may_say_so_before_it_is_known_to_be_lost() -> None:
    """The engine gives what people say first: nobody is asked, as somebody knows."""

    async def play(stage: Stage, given: Json, inside: Inside) -> None:
        stage.engine.lost.add("tool/1/0/1")
        stage.engine.held["tool/1/0/1"] = held = asyncio.Event()
        following = asyncio.create_task(inside.follow())
        while not any(one["effect"] == "tool/1/0/1" for one in stage.engine.jobs):  # noqa: ASYNC110 - it comes in this loop
            await asyncio.sleep(0)
        late, answer = await never_ran(stage)
        await stage.engine.mail.put((late, answer))
        assert not await answer  # not yet
        held.set()
        await following
        assert sorted(DONE) == ["pay 1", "pay 2", "pay 3"]

    played(payer(), play)


def test_that_a_tool_never_ran_is_said_of_one_job_alone() -> None:
    """Another worker was given the tool since, and may have done it: a human is asked."""

    async def play(stage: Stage, given: Json, inside: Inside) -> None:
        stage.engine.unheard.add("tool/1/0/1")
        stage.engine.lost.add("tool/1/0/1")
        following = asyncio.create_task(inside.follow())
        await stage.asked()
        late, answer = await never_ran(stage, 0)
        await stage.engine.mail.put((late, answer))
        assert not await answer
        assert sorted(DONE) == ["pay 1", "pay 2"]
        late, answer = await never_ran(stage, 1)
        await stage.engine.mail.put((late, answer))
        assert await answer  # this one was begun last
        await following
        assert sorted(DONE) == ["pay 1", "pay 1", "pay 2", "pay 3"]

    played(payer(), play)


def test_a_job_that_comes_before_what_it_rests_on_waits() -> None:
    """And one whose journal is away."""

    async def play(stage: Stage, given: Json, inside: Inside) -> None:
        stage.engine.lost.add("model/1/0/1")
        stage.engine.lost.add("model/2/0/1")
        await to_the_end(stage, given, inside)

    played(payer(), play)


def test_a_long_history_is_handed_on() -> None:
    """To another one, which goes on where the run is."""

    async def main() -> None:
        stage = Stage(payer(), MemoryJournal())
        given = await stage.given()
        stage.engine.length_max = 2
        times = 0
        while (rest := await (inside := stage.inside(given)).follow()) is not None:
            given, times = rest, times + 1
            stage.engine.length_max += 3
        assert times
        assert sorted(DONE) == ["pay 1", "pay 2", "pay 3"]
        assert Runs(stage.journal, stage.parts["it"].spec).at("r") == inside.run

    asyncio.run(main())


def test_a_cancelled_run_ends_while_it_waits() -> None:
    """As anywhere else."""

    async def play(stage: Stage, given: Json, inside: Inside) -> None:
        following = asyncio.create_task(inside.follow())
        await stage.asked()
        assert await said(stage, CancelRequested("enough"))
        await following
        assert DONE == []

    played(asker(), play)


def test_a_changed_agent_follows_no_history() -> None:
    """Before it does anything: other arguments, and a rule more."""

    async def main() -> None:
        stage = Stage(payer(), MemoryJournal())
        given = await stage.given()
        guarded = payer(confirmation_strategies={"pay": AlwaysAskPolicy()})
        for other in (guarded, payer(max_agent_steps=3)):
            with pytest.raises(AgentChangedError, match="as it was"):
                Stage(other, MemoryJournal()).inside(given)
        came = await Stage(guarded, stage.journal).engine.outside.perform(
            {"agent": "it", "run_id": "r", "rules": given["rules"], "effect": "model/1/0/1"}
        )
        assert came == {"later": "AgentChangedError", "fault": True}
        outside = Stage(guarded, stage.journal).engine.outside
        job = {"agent": "it", "effect": "tool/1/0/1", "at": 1.0}
        late = outside.late(job, came)
        assert late is not None
        assert late["events"][0]["$type"] == "ToolNeverRan"
        assert outside.late({"agent": "it", "effect": "model/1/0/1"}, came) is None

    asyncio.run(main())


def test_an_agent_with_hooks_is_refused() -> None:
    """Also where they are those of an agent among its tools."""
    hooked = payer(hooks=[before_model(lambda request, run: None)])
    inner = AgentTool(hooked, name="helper", description="pays")
    outer = Agent(chat_generator=ScriptedChatGenerator("x"), tools=[inner])
    for agent in (hooked, outer):
        with pytest.raises(EffectsRefusedError, match="mode='legs'"):
            require_followable({"it": agent.assembly}, MemoryJournal())
    require_followable({"it": payer().assembly}, MemoryJournal())


def test_a_journal_that_seals_or_redacts_is_refused() -> None:
    """The engine would keep what it conceals; also where another one stands around it."""
    sealed = EncryptedJournal(MemoryJournal(), lambda text: text, lambda text: text)
    redacted = RedactedJournal(MemoryJournal(), str.upper)
    for journal in (sealed, redacted, AuditedJournal(sealed), AuditedJournal(redacted)):
        with pytest.raises(EffectsRefusedError, match=r"conceals.*mode='legs'"):
            require_followable({"it": payer().assembly}, journal)
    require_followable({"it": payer().assembly}, AuditedJournal(MemoryJournal()))


def test_a_failed_run_is_begun_again_behind_its_end() -> None:
    """Its history goes on in another one."""

    async def main() -> None:
        script = ScriptedChatGenerator("done")
        stage = Stage(Agent(chat_generator=script, model_retries=0), MemoryJournal())
        given = await stage.given()
        spec = stage.parts["it"].spec
        given["events"] = [event_to_json(spec, Resumed("Ada", 1.0))]
        inside = stage.inside(given)
        await inside.follow()
        assert inside.run.messages[-1].text == "done"

    asyncio.run(main())


class Flaky:
    """A journal that is away for a moment, the first time that it is written to."""

    def __init__(self, journal: MemoryJournal) -> None:
        self._journal, self._is_away = journal, True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def append(self, *given: Any) -> None:
        """As the journal does, but for once."""
        run_id, entries, *_ = given
        if self._is_away and entries[0].position:
            self._is_away = False
            raise JournalUnavailableError(f"away from run {run_id}")
        self._journal.append(*given)


def test_a_journal_that_was_away_for_a_moment_is_written_to_again() -> None:
    """What is written has the time of the history, and whoever writes waits by their own clock."""

    async def main() -> None:
        async with asyncio.timeout(5):
            stage = Stage(payer(), cast(Any, Flaky(MemoryJournal())))
            given = await stage.given()
            await to_the_end(stage, given, stage.inside(given))

    asyncio.run(main())


@pytest.mark.parametrize(
    "error",
    [OSError("no time"), PanicError(), SystemExit(3), asyncio.CancelledError()],
    ids=repr,
)
def test_what_keeps_a_job_from_being_performed_is_a_fault_until_it_is(error: BaseException) -> None:
    """The run has it tried again, later and later; the host says so meanwhile."""
    faults = list[dict[str, str]]()

    async def play(stage: Stage, given: Json, inside: Inside) -> None:
        found.append(stage)
        await to_the_end(stage, given, inside)
        assert stage.engine.outside.faults.texts() == {}

    found = list[Stage]()

    class Stopped(SystemClock):
        is_asked = False

        def now(self) -> float:
            if self.is_asked:
                self.is_asked = False
                raise error
            return super().now()

    clock = Stopped()

    def answer(messages: object) -> str:
        faults.append(found[0].engine.outside.faults.texts())
        if len(faults) < 3:
            clock.is_asked = True
            raise ChatGeneratorError(ModelFailure("server", "later", retryable=True))
        return "done"

    script = ScriptedChatGenerator(*[When(lambda messages: True, answer)] * 3)
    played(Agent(chat_generator=script, clock=clock), play)
    name = "RuntimeError" if isinstance(error, asyncio.CancelledError) else type(error).__name__
    assert faults == [{}, {"r": name}, {"r": name}]
