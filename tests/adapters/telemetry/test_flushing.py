"""What was measured is sent when a host closes: what a signal ends calls nothing at its exit."""

from __future__ import annotations

import asyncio
import logging
from threading import Event

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
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
