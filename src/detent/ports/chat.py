"""The chat generator port: somebody who answers a conversation.

A provider adapter implements one of the two protocols, or both. It is called with the whole
conversation and gives one `ChatReply`; while it waits it may report pieces to `streaming_callback`.
What its message bears in ``meta["labels"]``, the run bears from then on, see `Tool.labels`.
What goes wrong is raised as `ChatGeneratorError`, so that the core can tell what is worth another
try.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import isawaitable, iscoroutinefunction, signature
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast, get_args

from attrs import fields, frozen

from detent.core.chat.messages import (
    UNTRUSTED,
    ChatMessage,
    ChatRole,
    Citation,
    ToolCallResult,
    labels_of,
)
from detent.core.chat.replies import (
    ChatReply,
    FinishReason,
    ModelFailure,
    SchemaMode,
    TokenLogprob,
    Usage,
)
from detent.core.errors import DetentError
from detent.core.tools.tool import ToolSpec
from detent.core.values.checks import meant
from detent.core.values.fast_values import fast_init

if TYPE_CHECKING:  # a provider alone needs no run
    from detent.core.run.run import Run

Messages: TypeAlias = str | ChatMessage | Sequence[ChatMessage]
"""A conversation: its messages, one message, or what the user says as plain text."""


@fast_init
@frozen
class ToolCallDelta:
    """A piece of a tool call: the name and id come first, then fragments of its JSON arguments."""

    index: int
    tool_name: str | None = None
    arguments: str = ""
    id: str | None = None


@fast_init
@frozen
class StreamingChunk:
    """A piece of a run, as it happens: for showing, never part of the run itself.

    At most one of `content`, `reasoning`, `tool_calls`, `tool_call_result`, `citations`, and
    `server_tool`, the name of a tool that the provider itself has begun to run, is set. Citations
    come as their provider tells them, at the latest before the `finish_reason`. `start` marks the
    first piece of a text or of a tool result; `index` says which call or result it belongs to.
    The `finish_reason` "tool_call_results" says that all results of a turn were told, "discarded"
    that the answer has broken off and that what was told of it does not count.
    `agents` are the names of the agents around it, the outermost first, where it is of one that
    works for another.
    """

    content: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCallDelta, ...] = ()
    tool_call_result: ToolCallResult | None = None
    finish_reason: FinishReason | Literal["tool_call_results", "discarded"] | None = None
    index: int | None = None
    start: bool = False
    agents: tuple[str, ...] = ()
    server_tool: str = ""
    citations: tuple[Citation, ...] = ()


StreamingCallback: TypeAlias = Callable[[StreamingChunk], object]
"""Receives the pieces of a reply as they come. It must not keep the generator waiting.

An agent also takes a coroutine function; what a chat generator is given is none. It raises when
nobody waits for the answer any longer, and never for any other reason.
"""


class ChatGenerator(Protocol):
    """Answers a conversation, blocking."""

    def run(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        generation_kwargs: Mapping[str, object] | None = None,
        streaming_callback: StreamingCallback | None = None,
    ) -> ChatReply:
        """The model's reply to `messages`.

        Args:
            messages: the conversation, oldest first; every tool call in it is answered.
            tools: what the model may call, in this order.
            generation_kwargs: options of this call; they win over the generator's own.
            streaming_callback: receives the reply's pieces; None asks for no streaming.

        Raises:
            ChatGeneratorError: no reply came; its `failure` says why and whether to try again.
        """
        ...


class AsyncChatGenerator(Protocol):
    """Answers a conversation, as a coroutine."""

    async def run_async(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        generation_kwargs: Mapping[str, object] | None = None,
        streaming_callback: StreamingCallback | None = None,
    ) -> ChatReply:
        """As `ChatGenerator.run`."""
        ...


OPTIONS = ("tools", "generation_kwargs", "streaming_callback")
"""What an agent gives to a chat generator by name, at every call."""


def require_chat_generator(generator: object, *, tools: bool) -> None:
    """Raise TypeError unless `generator` can answer a conversation, and be told of any `tools`.

    It has a method `run` or `run_async`, and the method takes what an agent passes to it.
    """
    methods = [getattr(generator, name, None) for name in ("run", "run_async")]
    able = [method for method in methods if callable(method)]
    if not able or isinstance(generator, type):
        raise TypeError(
            f"chat_generator must be an object with a method run or run_async, got {generator!r}; "
            "chat_generator('openai:MODEL') makes one of a name"
        )
    kind = type(generator).__name__
    if iscoroutinefunction(methods[0]):
        raise TypeError(
            f"{kind}.run is a coroutine function: call it run_async; it serves agent.run as well"
        )
    for method in able:
        parameters = signature(method).parameters
        missing = [name for name in OPTIONS if name not in parameters]
        if any(item.kind is item.VAR_KEYWORD for item in parameters.values()) or not missing:
            continue
        if tools and "tools" in missing:
            raise TypeError(
                f"{kind} does not accept tools parameter in its run method; an agent with tools "
                "requires a chat generator that supports them"
            )
        raise TypeError(
            f"{kind} does not take {', '.join(missing)}, which an agent gives to it by name: have "
            "its method take **options as well"
        )


def require_awaitable(answer: object, generator: object) -> Awaitable[ChatReply]:
    """What `run_async` has given, if it can be awaited.

    Raises:
        ChatGeneratorError: it cannot; the message says what `generator` has to give.
    """
    if isawaitable(answer):
        return cast("Awaitable[ChatReply]", answer)
    text = (
        f"{type(generator).__name__}.run_async must be a coroutine function, async def run_async; "
        f"it gave {type(answer).__name__}. A blocking method is called run"
    )
    raise ChatGeneratorError(ModelFailure("bug", text))


def schema_mode_of(generator: object) -> SchemaMode:
    """When the generator's model is held to the JSON Schema of a `response_format`.

    A generator says so by an attribute `schema_mode`; one that says nothing, never.
    """
    mode: SchemaMode = getattr(generator, "schema_mode", "never")
    return mode


def require_reply(reply: object, generator: object) -> ChatReply:
    """`reply`, if it is that of a model.

    Raises:
        ChatGeneratorError: it is something else; the message says what `generator` has to give.
    """
    if not (isinstance(reply, ChatReply) and isinstance(reply.message, ChatMessage)):
        got = f"{type(reply).__name__}: {reply!r:.80}"
    elif reply.message.role is not ChatRole.ASSISTANT:
        got = f"a ChatReply with a message of the {reply.message.role}"
    else:
        if (misfit := _misfit(reply)) is None:
            try:
                labels_of([reply.message])
            except ValueError as error:
                misfit = str(error)
            else:
                return reply
        text = f"{type(generator).__name__} gave a ChatReply that cannot be used: {misfit}"
        raise ChatGeneratorError(ModelFailure("bug", text))
    text = (
        f"{type(generator).__name__} must answer with a ChatReply that holds the assistant's "
        f"message, such as ChatReply(ChatMessage.from_assistant(text)); it gave {got}"
    )
    raise ChatGeneratorError(ModelFailure("bug", text))


REASONS: tuple[str, ...] = get_args(FinishReason)
WHOLE = {int}
USUAL = str, str, str, bool
"""The types of the reason, of the model's name, of its own word for the reason, and of the last."""
COUNTS_OF = attrgetter(*(count.name for count in fields(Usage)))


def _misfit(reply: ChatReply) -> str | None:
    """What of a reply, beside its message, is not of its type; None where all is.

    RULE: else it would be found where the run is stored, or read by others, and look like a fault
    of theirs. The constructor does not look: it is called too often.
    """
    found: Any = reply  # a type checker takes its word for what is in it
    reason, usage, estimated = found.finish_reason, found.usage, found.usage_estimated
    counts = COUNTS_OF(usage) if isinstance(usage, Usage) else (usage,)
    are_counts = WHOLE.issuperset(map(type, counts)) and min(counts) >= 0
    kinds = type(reason), type(found.model), type(found.raw_finish_reason), type(estimated)
    if are_counts and kinds == USUAL and reason in REASONS and found.logprobs == ():
        return None  # nearly always, and quickly seen
    if not (isinstance(reason, str) and reason in REASONS):
        near = meant(reason, REASONS) if isinstance(reason, str) else ""
        words = ", ".join(map(repr, REASONS))
        return (
            f"its finish_reason is one of {words}, got {reason!r:.80}{near}; a provider's own word "
            "is its raw_finish_reason"
        )
    if not are_counts:
        return (
            "its usage is a Usage with whole numbers of tokens, such as Usage(input_tokens=12, "
            f"output_tokens=3), got {usage!r:.120}; what is not known is 0"
        )
    for name in ("model", "raw_finish_reason"):
        if not isinstance(text := getattr(found, name), str):
            return f"its {name} is a text, got {text!r:.80}; what is not known is ''"
    if not isinstance(estimated, bool):
        return f"its usage_estimated is True or False, got {estimated!r:.80}"
    logprobs = found.logprobs
    if not isinstance(logprobs, tuple) or {*map(type, logprobs)} - {TokenLogprob}:
        return f"its logprobs are a tuple of TokenLogprob, got {logprobs!r:.80}"
    return None


def labels_of_replies(generator: object) -> tuple[str, ...]:
    """What a generator's replies may bring along: what its attribute `labels` says.

    A search that the provider does is such a source. Each reply says for itself what it brings; so
    of a generator that has no such attribute nobody knows, and it may be what is untrusted.
    """
    return tuple(getattr(generator, "labels", UNTRUSTED))


class ChatGeneratorError(DetentError):
    """A model call gave no reply. `failure` is the same as a value; no key or secret is in it.

    Where an agent raises it, `run` is the run as it ended.
    """

    def __init__(self, failure: ModelFailure) -> None:
        if not isinstance(failure, ModelFailure):
            raise TypeError(
                "a ChatGeneratorError holds a ModelFailure, such as ModelFailure('server', 'it is "
                f"down', retryable=True); got {failure!r:.80}"
            )
        super().__init__(failure)
        self.failure = failure
        self.run: Run[Any] | None = None

    def __str__(self) -> str:
        return self.failure.message
