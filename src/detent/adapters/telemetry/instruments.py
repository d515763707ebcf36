"""Instruments: what is counted of runs, by the names of the conventions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from detent.adapters.telemetry import conventions as names
from detent.core.chat.replies import Usage

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram, Meter

Traits: TypeAlias = Mapping[str, str]
"""What measured values are told apart by: few values each, so that the series stay few."""


class Instruments:
    """The instruments of one meter."""

    def __init__(self, meter: Meter) -> None:
        def seconds(name: str, about: str, bounds: tuple[float, ...] = names.SECONDS) -> Histogram:
            return meter.create_histogram(
                name, "s", about, explicit_bucket_boundaries_advisory=bounds
            )

        self._agent = seconds(names.AGENT_DURATION, "How long an agent works.")
        self._inferences = meter.create_histogram(
            names.AGENT_INFERENCES, "{call}", "How often an agent asks its model."
        )
        self._tool_calls = meter.create_histogram(
            names.AGENT_TOOL_CALLS, "{call}", "How many tools an agent runs."
        )
        self._tool = seconds(names.TOOL_DURATION, "How long a tool works.")
        self._human = seconds(
            names.HUMAN_DURATION, "How long a human takes to decide.", names.WAITS
        )
        self._unknown = meter.create_counter(
            names.UNKNOWN_OUTCOMES, "{call}", "Calls of which a human must say what came of them."
        )
        self._inference = seconds(names.INFERENCE_DURATION, "How long a model call takes.")
        self._read = meter.create_counter(names.INFERENCE_INPUT, "{token}", "Tokens read.")
        self._written = meter.create_counter(names.INFERENCE_OUTPUT, "{token}", "Tokens written.")
        self._operation = seconds(names.FORMER_DURATION, "How long an operation takes.")
        self._tokens = meter.create_histogram(
            names.FORMER_TOKENS,
            "{token}",
            "Tokens of a model call.",
            explicit_bucket_boundaries_advisory=names.TOKENS,
        )

    def inference(self, seconds: float, usage: Usage | None, traits: Traits) -> None:
        """A model call: how long it took, and its tokens, where they are known."""
        self._inference.record(seconds, traits)
        self._operation.record(seconds, traits)
        if usage is not None:
            self._read.add(usage.input_tokens, traits)
            self._written.add(usage.output_tokens, traits)
            for kind, count in (("input", usage.input_tokens), ("output", usage.output_tokens)):
                self._tokens.record(count, {**traits, names.TOKEN_TYPE: kind})

    def tool(self, seconds: float, traits: Traits) -> None:
        """A tool has ended."""
        self._tool.record(seconds, traits)

    def human(self, seconds: float, traits: Traits) -> None:
        """A human has decided, so long after they were asked."""
        self._human.record(seconds, traits)

    def unknown(self, traits: Traits) -> None:
        """Nobody knows whether a call was carried out, and a human is asked."""
        self._unknown.add(1, traits)

    def agent(self, seconds: float, inferences: int, tool_calls: int, traits: Traits) -> None:
        """An agent is at work no longer, in this process."""
        self._agent.record(seconds, traits)
        self._inferences.record(inferences, traits)
        self._tool_calls.record(tool_calls, traits)
