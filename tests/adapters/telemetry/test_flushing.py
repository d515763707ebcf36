"""What was measured is sent when a host closes: what a signal ends calls nothing at its exit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from io import StringIO
from threading import Barrier, Event

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    ConsoleMetricExporter,
    InMemoryMetricReader,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from detent import Agent, MemoryJournal, ScriptedChatGenerator
from detent.adapters.telemetry import flushing
from detent.hosts import Accepted, LocalHost
from detent.telemetry import OpenTelemetry

LATER_MS = 3_600_000


def test_a_host_that_closes_sends_what_waits_for_its_turn() -> None:
    """Spans that are sent in batches, and metrics that are sent by the minute."""
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    traces = TracerProvider()
    traces.add_span_processor(BatchSpanProcessor(spans, schedule_delay_millis=LATER_MS))
    telemetry = OpenTelemetry(tracer_provider=traces, meter_provider=MeterProvider([reader]))
    chat = ScriptedChatGenerator("Hello.")
    agents = {
        name: Agent(name=name, chat_generator=chat, telemetry=telemetry) for name in ("one", "two")
    }

    async def going() -> int:
        async with LocalHost(agents, MemoryJournal()) as host:
            begun = await host.start("one", "Hi.")
            assert isinstance(begun, Accepted)
            await host.result(begun.run_id, timeout=10)
            return len(spans.get_finished_spans())

    assert asyncio.run(going()) == 0
    assert {"chat", "invoke_agent one"} <= {span.name for span in spans.get_finished_spans()}


def test_a_collector_that_is_away_holds_no_host(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said that something is lost, and what can be sent is."""
    monkeypatch.setattr(flushing, "FLUSH_S", 0.05)
    back, sent = Event(), Event()

    class Away(OpenTelemetry):
        def flush(self) -> None:
            back.wait(60)

    class Broken(OpenTelemetry):
        def flush(self) -> None:
            raise ConnectionError("of a collector with a password")

    class There(OpenTelemetry):
        def flush(self) -> None:
            sent.set()

    with caplog.at_level(logging.WARNING, "detent"):
        asyncio.run(flushing.flush([None, Away(), Broken(), There()]))
    back.set()

    assert sent.is_set()
    assert sorted(record.getMessage() for record in caplog.records) == [
        "telemetry could not be sent, and is lost: ConnectionError",
        "telemetry was not sent within 0.05 s, and is lost",
    ]


class Traces(TracerProvider):
    """The SDK's, of which a test says what its flush does."""

    def __init__(self, does: Callable[[], object]) -> None:
        super().__init__()
        self.does = does

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """As the test says."""
        return bool(self.does())


class Meters(MeterProvider):
    """The same of metrics."""

    def __init__(self, does: Callable[[], object]) -> None:
        super().__init__()
        self.does = does

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        """As the test says."""
        return bool(self.does())


def away() -> object:
    raise ConnectionError("no collector")


@pytest.mark.parametrize("broken", ["traces", "meters"])
def test_spans_and_metrics_are_sent_whatever_is_wrong_with_the_other(broken: str) -> None:
    """What went wrong is raised all the same."""
    sent = Event()
    does = {"traces": sent.set, "meters": sent.set, broken: away}
    telemetry = OpenTelemetry(
        tracer_provider=Traces(does["traces"]), meter_provider=Meters(does["meters"])
    )
    with pytest.raises(ConnectionError, match="no collector"):
        telemetry.flush()
    assert sent.is_set()


def test_what_is_wrong_with_both_is_raised_together() -> None:
    """Nothing of it is lost."""
    telemetry = OpenTelemetry(tracer_provider=Traces(away), meter_provider=Meters(away))
    with pytest.raises(ExceptionGroup, match="neither spans nor metrics") as caught:
        telemetry.flush()
    assert [type(error) for error in caught.value.exceptions] == [ConnectionError] * 2


def test_spans_and_metrics_do_not_wait_for_each_other() -> None:
    """A collector that is away holds one of them for longer than a host waits."""
    both = Barrier(2)
    meet = partial(both.wait, 30)
    OpenTelemetry(tracer_provider=Traces(meet), meter_provider=Meters(meet)).flush()
    assert not both.broken


def test_metrics_are_sent_by_a_flush() -> None:
    """Which an exporter would else do by the minute."""
    exporter = ConsoleMetricExporter(out=(out := StringIO()))
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=LATER_MS)
    telemetry = OpenTelemetry(meter_provider=MeterProvider([reader]))
    Agent(chat_generator=ScriptedChatGenerator("Hello."), telemetry=telemetry).run("Hi.")
    assert out.getvalue() == ""
    telemetry.flush()
    assert "gen_ai." in out.getvalue()
