"""Works: a model call and a tool as spans: what is said of each when it begins and when it ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Protocol, Self, TypeAlias

from attrs import define
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.util.types import AttributeValue

from detent.adapters.telemetry import conventions as names
from detent.adapters.telemetry.contents import Contents
from detent.adapters.telemetry.instruments import Instruments
from detent.core.chat.messages import ToolCall
from detent.core.chat.replies import Usage
from detent.core.run.effects import AskModel, RunTool
from detent.core.run.events import Event, ModelFailed, ModelReplied, ToolRaised, ToolReturned
from detent.core.run.run import Slot
from detent.core.tools.result import ToolFault
from detent.ports.telemetry import Came as Came  # noqa: PLC0414 - for those who make works
from detent.ports.telemetry import Model

Attributes: TypeAlias = dict[str, AttributeValue]


def failed(span: Span, kind: str) -> None:
    """Mark a span as failed. RULE: no message of an error, which may hold a secret."""
    span.set_attribute(names.ERROR_TYPE, kind)
    span.set_status(Status(StatusCode.ERROR))


def fault_type(fault: ToolFault) -> str:
    """What a tool has raised, by its class, as long as that is known, or the kind of the fault.

    RULE: these are few. What was raised has a text, which may hold a secret.
    """
    return fault.kind if fault.cause is None else type(fault.cause).__qualname__


class Work(Protocol):
    """What is done for a run, and measured."""

    kind: ClassVar[SpanKind]

    @property
    def title(self) -> str:
        """What its span is called."""
        ...

    @property
    def attributes(self) -> Attributes:
        """What is known when it begins."""
        ...

    def asked(self, contents: Contents) -> Mapping[str, str]:
        """What it is given, as contents."""
        ...

    def record(self, span: Span, event: Event | None, contents: Contents | None) -> str:
        """Say on the span what came of it; why it has failed, or ""."""
        ...

    def measure(self, instruments: Instruments, seconds: float, kind: str) -> None:
        """Count it, when it has ended; `kind` says why it has failed, or nothing."""
        ...


@define
class ModelWork:
    """A model call."""

    effect: AskModel
    model: Model
    usage: Usage | None = None
    answered_by: str = ""
    kind: ClassVar = SpanKind.CLIENT

    @property
    def title(self) -> str:
        """``chat gpt-5``."""
        return f"{names.CHAT} {self.model.name}".strip()

    @property
    def attributes(self) -> Attributes:
        """What is known when it begins."""
        found: Attributes = {**self._traits(), names.ATTEMPT: self.effect.attempt}
        options = self.effect.generation_kwargs
        for name, attribute in names.REQUEST_OPTIONS.items():
            value = options.get(name)
            if isinstance(value, int | float):
                found[attribute] = value
        return found

    def asked(self, contents: Contents) -> Mapping[str, str]:
        """The conversation."""
        return contents.of_request(self.effect)

    def record(self, span: Span, event: Event | None, contents: Contents | None) -> str:
        """As the protocol says."""
        if isinstance(event, ModelFailed):
            if event.usage.total_tokens:  # an answer that could not be taken, and was paid for
                span.set_attributes(self._spent(event.usage))
            return str(event.failure.status or event.failure.cause)
        if not isinstance(event, ModelReplied):
            return ""
        reply = event.reply
        self.answered_by = reply.model
        response_id = reply.extra.get("id")
        attributes: Attributes = {
            names.FINISH_REASONS: [reply.finish_reason],
            **self._spent(reply.usage),
        }
        if reply.model:
            attributes[names.RESPONSE_MODEL] = reply.model
        if isinstance(response_id, str):
            attributes[names.RESPONSE_ID] = response_id
        if contents is not None:
            attributes |= contents.of_reply(reply.message, reply.finish_reason, self.effect.tools)
        span.set_attributes(attributes)
        return ""

    def measure(self, instruments: Instruments, seconds: float, kind: str) -> None:
        """As the protocol says."""
        traits = self._traits() | ({names.ERROR_TYPE: kind} if kind else {})
        if self.answered_by:
            traits[names.RESPONSE_MODEL] = self.answered_by
        instruments.inference(seconds, self.usage, traits)

    def _spent(self, usage: Usage) -> Attributes:
        """The tokens of an answer, which are measured when the call has ended."""
        self.usage = usage
        counts: Attributes = {
            names.INPUT_TOKENS: usage.input_tokens,
            names.OUTPUT_TOKENS: usage.output_tokens,
        }
        if usage.cached_tokens:
            counts[names.CACHED_TOKENS] = usage.cached_tokens
        if usage.reasoning_tokens:
            counts[names.REASONING_TOKENS] = usage.reasoning_tokens
        return counts

    def _traits(self) -> dict[str, str]:
        provider = self.model.provider
        named = {names.PROVIDER: names.PROVIDERS.get(provider, provider)}
        model = {names.REQUEST_MODEL: self.model.name} if self.model.name else {}
        return {names.OPERATION: names.CHAT, **named, **model}


@define
class ToolWork:
    """A tool at work on a call."""

    call: ToolCall
    attempt: int = 1
    effect: RunTool | None = None
    kind: ClassVar = SpanKind.INTERNAL

    @classmethod
    def of(cls, effect: RunTool) -> Self:
        """What a driver performs."""
        return cls(effect.call, effect.attempt, effect)

    @classmethod
    def of_agent(cls, slot: Slot) -> Self:
        """An agent at work on a call."""
        return cls(slot.call)

    @property
    def title(self) -> str:
        """``execute_tool search``."""
        return f"{names.EXECUTE_TOOL} {self.call.tool_name}"

    @property
    def attributes(self) -> Attributes:
        """What is known when it begins."""
        found: Attributes = {**self._traits(), names.TOOL_TYPE: "function"}
        found[names.ATTEMPT] = self.attempt
        if self.call.id is not None:
            found[names.TOOL_CALL_ID] = self.call.id
        return found

    def asked(self, contents: Contents) -> Mapping[str, str]:
        """The arguments."""
        return {} if self.effect is None else contents.of_call(self.effect)

    def record(self, span: Span, event: Event | None, contents: Contents | None) -> str:
        """As the protocol says."""
        if isinstance(event, ToolRaised):
            return fault_type(event.fault)
        if isinstance(event, ToolReturned) and contents is not None and self.effect is not None:
            span.set_attributes(contents.of_result(self.effect, event.result))
        return ""

    def measure(self, instruments: Instruments, seconds: float, kind: str) -> None:
        """As the protocol says."""
        instruments.tool(seconds, self._traits() | ({names.ERROR_TYPE: kind} if kind else {}))

    def _traits(self) -> dict[str, str]:
        return {names.OPERATION: names.EXECUTE_TOOL, names.TOOL_NAME: self.call.tool_name}
