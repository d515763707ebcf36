"""Hosts as metrics: what waits for somebody, since when, and what keeps runs from going on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from detent import (
    Agent,
    AlwaysAskPolicy,
    MemoryJournal,
    ScriptedChatGenerator,
    SQLiteJournal,
    ToolCall,
    tool,
)
from detent.adapters.hosts import looks
from detent.adapters.system.clocks import SystemClock
from detent.hosts import LocalHost, WaitingQuestions
from detent.journals import JournalUnavailableError
from detent.ports.listing import ALL_RUNS, RunQuery, StoredRun
from detent.telemetry import OpenTelemetry
from detent.web import web_app
from tests.adapters.web.pages import visitor

OF_HOSTS = ("detent.host.", "detent.ask_human.waiting", "detent.ask_human.oldest_wait")


class Meters:
    """What is collected, as an exporter would send it."""

    def __init__(self) -> None:
        self.reader = InMemoryMetricReader()
        self.provider = MeterProvider([self.reader])

    def telemetry(self) -> OpenTelemetry:
        """What is given to an agent."""
        return OpenTelemetry(meter_provider=self.provider)

    def points(self) -> dict[str, Any]:
        """By metric of hosts, its value; of faults one for each type."""
        data = self.reader.get_metrics_data()
        metrics = [
            metric
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
        ]
        values: dict[str, Any] = {}
        for metric in metrics:
            points: list[Any] = list(metric.data.data_points)
            if metric.name == "detent.host.faults":
                faults = {point.attributes["error.type"]: point.value for point in points}
                values[metric.name] = faults
            elif metric.name.startswith(OF_HOSTS):
                (values[metric.name],) = [point.value for point in points]
        return values


@tool
def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


@tool(name="pay")
def pay_by_name(name: str) -> str:
    """Pay somebody."""
    return f"paid {name}"


def clerk(meters: Meters | None, takes: Any = pay) -> Agent[Any, Any]:
    script: list[Any] = [*[ToolCall("pay", {"to": "Ann"})] * 2, *["Done."] * 2]  # two runs share it
    return Agent(
        chat_generator=ScriptedChatGenerator(*script),
        tools=[takes],
        confirmation_strategies={"pay": AlwaysAskPolicy()},
        telemetry=None if meters is None else meters.telemetry(),
    )


class LaterClock(SystemClock):
    """The time, and some more."""

    more_s = 0.0

    def now(self) -> float:
        """As the port says."""
        return super().now() + self.more_s


class AwayJournal(MemoryJournal):
    """A store that may be away, or answer nothing until it is let."""

    is_away = False

    def __init__(self) -> None:
        super().__init__()
        self.answers = Event()
        self.answers.set()

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """As the port says, where it is there."""
        self.answers.wait()
        if self.is_away:
            raise JournalUnavailableError("gone")
        return super().runs(query)


async def until_asked(host: LocalHost, count: int) -> None:
    while len(await host.pending()) < count:  # noqa: ASYNC110 - it looks now and then
        await asyncio.sleep(0.01)


CALM = {
    "detent.host.ready": 1,
    "detent.host.running": 0,
    "detent.host.waiting": 0,
    "detent.ask_human.waiting": 0,
    "detent.ask_human.oldest_wait": 0.0,
}


def test_what_waits_is_measured_and_since_when() -> None:
    """Until somebody has decided, and no longer than the host is open."""
    meters, clock = Meters(), LaterClock()

    async def visit() -> list[Any]:
        agents = {"clerk": clerk(meters)}
        async with LocalHost(agents, MemoryJournal(), look_s=0.05, clock=clock) as host:
            calm = await measured(meters, "detent.host.ready", 1)
            for name in ("a", "b"):
                await host.start("clerk", "Pay.", run_id=name)
            await until_asked(host, 2)
            at = min(run.at for run in await host.runs())
            clock.more_s = 3600.0
            asked = await measured(meters, "detent.ask_human.waiting", 2)
            found = await host.questions()
            for question in await host.pending():
                await host.send(question.call.run_id, question.call.confirm(by="Ada"))
            for name in ("a", "b"):
                await host.result(name, timeout=10)
            return [calm, asked, found == WaitingQuestions(2, at), await host.questions()]

    calm, asked, is_found, none = asyncio.run(visit())
    assert calm == CALM
    assert 3600 <= asked["detent.ask_human.oldest_wait"] < 3700
    assert is_found
    assert none == WaitingQuestions()
    assert meters.points() == {}


async def measured(meters: Meters, name: str, value: object) -> dict[str, Any]:
    """What is collected once a metric is so."""
    async with asyncio.timeout(20):
        while (points := meters.points()).get(name) != value:  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.05)
    return points


def test_what_keeps_runs_from_going_on_is_measured_by_its_name(tmp_path: Path) -> None:
    """Of a release that cannot follow what waits, and of the agent whose telemetry is the first."""
    meters, store = Meters(), tmp_path / "runs.db"

    async def visit() -> dict[str, Any]:
        async with LocalHost({"clerk": clerk(None)}, SQLiteJournal(store)) as host:
            await host.start("clerk", "Pay.", run_id="r")
            await until_asked(host, 1)
        agents = {"clerk": clerk(None, pay_by_name), "other": clerk(meters), "more": clerk(meters)}
        async with LocalHost(agents, SQLiteJournal(store), look_s=0.05):
            return await measured(meters, "detent.host.faults", {"AgentChangedError": 1})

    points = asyncio.run(visit())
    assert (points["detent.host.ready"], points["detent.ask_human.waiting"]) == (1, 1)


def test_a_host_behind_another_one_is_measured_as_well() -> None:
    """By telemetry of its own to the same place: its meter keeps the first gauge of a name."""
    meters = Meters()

    async def visit() -> list[Any]:
        async with LocalHost({"clerk": clerk(meters)}, MemoryJournal()):
            one = await measured(meters, "detent.host.ready", 1)
        async with (
            LocalHost({"clerk": clerk(meters)}, MemoryJournal()),
            LocalHost({"clerk": clerk(meters)}, MemoryJournal()) as second,
        ):
            await second.start("clerk", "Pay.")
            await until_asked(second, 1)
            return [one, await measured(meters, "detent.ask_human.waiting", 1)]

    one, both = asyncio.run(visit())
    assert one == CALM
    assert both["detent.host.ready"] == 1


def test_a_store_that_is_away_tells_nothing_of_questions_and_holds_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither where it fails, nor where it does not answer: the other figures are told."""
    monkeypatch.setattr(looks, "QUESTIONS_S", 0.1)
    meters, journal = Meters(), AwayJournal()

    async def visit() -> list[Any]:
        async with LocalHost({"clerk": clerk(meters)}, journal, look_s=0.05) as host:
            journal.is_away = True
            away = [
                await measured(meters, "detent.ask_human.waiting", None),
                await host.questions(),
            ]
            journal.is_away = False
            journal.answers.clear()
            async with visitor(web_app(host)) as client:
                silent = (await client.get("/api/health")).json()
                journal.answers.set()
                told = (await client.get("/api/health")).json()
            return [*away, silent["questions"], told["questions"]]

    away, *found = asyncio.run(visit())
    assert {"detent.host.ready", "detent.host.running"} < away.keys()
    assert "detent.ask_human.oldest_wait" not in away
    assert found[:2] == [None, None]
    assert found[2].pop("at") > 0
    assert found[2] == {"count": 0, "oldest_at": None}


def test_a_store_that_takes_long_tells_what_it_told_last_and_when(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each look goes on and is not in vain; what was long ago is told no more."""
    monkeypatch.setattr(looks, "QUESTIONS_S", 0.05)
    clock = LaterClock()
    answers = Event()
    answers.set()
    found = iter([WaitingQuestions(1, 5.0), WaitingQuestions(2, 5.0), WaitingQuestions(3, 5.0)])

    def look() -> WaitingQuestions:
        answers.wait()
        return next(found)

    def ended() -> bool:
        return questions._looking is not None and questions._looking.exception(10) is None

    questions = looks.QuestionLooks(look, clock)
    first = questions.now()
    assert first == WaitingQuestions(1, 5.0)
    assert first is not None
    answers.clear()
    assert questions.now() == first  # the second look is under way
    old = asyncio.run(questions.now_async())
    assert old is not None
    assert (old, old.at) == (first, first.at)
    answers.set()
    assert ended()
    answers.clear()
    assert questions.now() == WaitingQuestions(2, 5.0)  # which nobody has waited for
    clock.more_s = looks.QUESTIONS_MAX_S + 60.0
    assert questions.now() is None
    clock.more_s = -looks.QUESTIONS_MAX_S - 60.0  # set back
    assert questions.now() is None
    answers.set()
    assert ended()


def test_what_a_store_told_before_it_was_away_is_told_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also not once it takes long again: in between it has said that it cannot be read."""
    monkeypatch.setattr(looks, "QUESTIONS_S", 0.05)
    answers = Event()
    answers.set()
    is_away = [False]

    def look() -> WaitingQuestions:
        answers.wait()
        if is_away[0]:
            raise JournalUnavailableError("away")
        return WaitingQuestions(1, 5.0)

    questions = looks.QuestionLooks(look, LaterClock())
    assert questions.now() == WaitingQuestions(1, 5.0)
    is_away[0] = True
    assert questions.now() is None
    answers.clear()
    assert questions.now() is None
    answers.set()
