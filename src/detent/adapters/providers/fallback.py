"""A chat generator that asks several others, one after another, until one answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from attrs import evolve

from detent.adapters.system.threads_and_loops import in_a_thread, in_background
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import ChatReply, FailureCause
from detent.core.tools.tool import ToolSpec
from detent.ports.chat import (
    AsyncChatGenerator,
    ChatGenerator,
    ChatGeneratorError,
    StreamingCallback,
    StreamingChunk,
    labels_of_replies,
    require_chat_generator,
)

OF_THE_REQUEST: frozenset[FailureCause] = frozenset({"bad_request", "bug"})
"""The causes that another generator would not cure: the request or a program is wrong."""


class FallbackChatGenerator:
    """Asks `generators` in their order; the first answer counts.

    The next one is asked when a generator fails for any cause but those in `not_after`. What a
    failed one had streamed is followed by a piece with the `finish_reason` "discarded". The reply's
    `extra` says under "fallback" which generator has answered, from 0, and how those before failed.

    When all fail, the first failure counts that may pass, so that the agent's `model_retries` ask
    all of them again; where none may, the first.

    Raises:
        ValueError: there is no generator.
        TypeError: one of them is none.
    """

    def __init__(
        self,
        *generators: ChatGenerator | AsyncChatGenerator,
        not_after: frozenset[FailureCause] = OF_THE_REQUEST,
    ) -> None:
        if not generators:
            raise ValueError("give at least one chat generator to fall back on")
        for generator in generators:
            require_chat_generator(generator, tools=True)
        self.generators = generators
        self.not_after = not_after

    @property
    def labels(self) -> tuple[str, ...]:
        """What the replies of any of them may bring along."""
        return tuple(sorted({name for one in self.generators for name in labels_of_replies(one)}))

    def run(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        generation_kwargs: Mapping[str, object] | None = None,
        streaming_callback: StreamingCallback | None = None,
    ) -> ChatReply:
        """The reply of the first generator that gives one.

        Raises:
            ChatGeneratorError: none does.
        """
        tries = _Tries(self, streaming_callback)
        options: dict[str, Any] = {"tools": tools, "generation_kwargs": generation_kwargs}
        for generator in self.generators:
            try:
                return tries.ended(_ask(generator, messages, options, tries.callback))
            except ChatGeneratorError as error:
                tries.failed(error)
        raise tries.failure()

    async def run_async(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        generation_kwargs: Mapping[str, object] | None = None,
        streaming_callback: StreamingCallback | None = None,
    ) -> ChatReply:
        """As `run`."""
        tries = _Tries(self, streaming_callback)
        options: dict[str, Any] = {"tools": tools, "generation_kwargs": generation_kwargs}
        for generator in self.generators:
            try:
                return tries.ended(await _ask_async(generator, messages, options, tries.callback))
            except ChatGeneratorError as error:
                tries.failed(error)
        raise tries.failure()


class _Tries:
    """How the generators have done so far, and what was streamed by the present one."""

    def __init__(self, generator: FallbackChatGenerator, tell: StreamingCallback | None) -> None:
        self._generator = generator
        self._tell = tell
        self._errors: list[ChatGeneratorError] = []
        self._were_told = False
        self.callback = None if tell is None else self._pass_on

    def _pass_on(self, chunk: StreamingChunk) -> None:
        self._were_told = True
        cast(StreamingCallback, self._tell)(chunk)

    def failed(self, error: ChatGeneratorError) -> None:
        if error.failure.cause in self._generator.not_after:
            raise error
        self._errors.append(error)
        is_last = len(self._errors) == len(self._generator.generators)
        if self._tell is not None and self._were_told and not is_last:
            self._tell(StreamingChunk(finish_reason="discarded"))
            self._were_told = False

    def ended(self, reply: ChatReply) -> ChatReply:
        if not self._errors:
            return reply
        causes = [error.failure.message for error in self._errors]
        fallback = {"generator": len(causes), "failures": causes}
        return evolve(reply, extra={**reply.extra, "fallback": fallback})

    def failure(self) -> ChatGeneratorError:
        causes = "; then: ".join(error.failure.message for error in self._errors)
        failures = [error.failure for error in self._errors]
        failure = next((candidate for candidate in failures if candidate.retryable), failures[0])
        return ChatGeneratorError(evolve(failure, message=f"every chat generator failed: {causes}"))


def _ask(
    generator: ChatGenerator | AsyncChatGenerator,
    messages: Sequence[ChatMessage],
    options: dict[str, Any],
    tell: StreamingCallback | None,
) -> ChatReply:
    if not hasattr(generator, "run"):
        return in_background(_ask_async(generator, messages, options, tell)).result()
    return cast(ChatGenerator, generator).run(messages, **options, streaming_callback=tell)


async def _ask_async(
    generator: ChatGenerator | AsyncChatGenerator,
    messages: Sequence[ChatMessage],
    options: dict[str, Any],
    tell: StreamingCallback | None,
) -> ChatReply:
    if not hasattr(generator, "run_async"):
        return await in_a_thread(lambda: _ask(generator, messages, options, tell))
    call = cast(AsyncChatGenerator, generator).run_async
    return await call(messages, **options, streaming_callback=tell)
