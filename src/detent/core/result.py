"""What the caller gets when a run ends or pauses: it reads like a dict and has typed attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, overload

from attrs import field, frozen

from detent.core.effects import Effect
from detent.core.frozen import FrozenDict
from detent.core.messages import ChatMessage, ChatRole
from detent.core.replies import Usage
from detent.core.run import Pausing, Run, Thinking
from detent.core.variables import S, T

if TYPE_CHECKING:
    from detent.core.snapshot import AgentSnapshot


def _nothing() -> Any:
    return None


@frozen(eq=False, repr=False)
class AgentResult(Mapping[str, Any], Generic[S, T]):
    """A run as its caller reads it.

    `held` is what a breakpoint keeps from happening.

    As a mapping it has ``messages``, ``last_message`` and every key of the state's schema; a key
    that nothing was written to reads None, or its default.
    """

    run: Run[S] = field(repr=False)
    held: tuple[Effect, ...] = field(default=(), repr=False)
    _take_snapshot: Callable[[], AgentSnapshot] | None = field(default=None, repr=False)
    _read_output: Callable[[], T] = field(default=_nothing, repr=False)

    if not TYPE_CHECKING:

        def __class_getitem__(cls, types: object) -> object:
            """`T` has a default, as it has for type checkers."""
            return super().__class_getitem__(types if isinstance(types, tuple) else (types, None))

    @property
    def output(self) -> T:
        """The answer as an instance of the agent's `output_type`; None for an agent without one.

        Raises:
            OutputError: the run has not ended, or has ended without such an answer.
        """
        return self._read_output()

    @property
    def snapshot(self) -> AgentSnapshot:
        """The run as any process with the same agent can go on with it: ``agent.run(snapshot=…)``.

        Raises:
            UnstorableError: a value in the run cannot be written as JSON.
            ValueError: the run has ended.
        """
        if self._take_snapshot is None:
            raise ValueError("the run has ended, so that there is nothing to go on with")
        return self._take_snapshot()

    @property
    def state(self) -> S:
        """The state at the end, typed by the agent's schema."""
        return self.run.state

    @property
    def messages(self) -> Sequence[ChatMessage]:
        """The whole conversation, oldest first."""
        return self.run.messages

    @property
    def last_message(self) -> ChatMessage:
        """The newest message. Raises KeyError in an empty conversation."""
        if not self.messages:
            raise KeyError("last_message")
        return self.messages[-1]

    @property
    def text(self) -> str | None:
        """The text of the model's last message; None when the last message is not the model's."""
        last = self.messages[-1] if self.messages else None
        return last.text if last is not None and last.role is ChatRole.ASSISTANT else None

    @property
    def exit_reason(self) -> str | None:
        """Why the run ended: "text", an exit tool, "max_agent_steps"…; None while it is paused."""
        return self.run.outcome.exit_reason if self.run.outcome is not None else None

    @property
    def step_count(self) -> int:
        """How many turns the run has taken; one that failed or was cancelled counts."""
        return self.run.turn - isinstance(self.run.phase, Thinking | Pausing)

    @property
    def token_usage(self) -> Usage:
        """The tokens that all model calls of the run have spent."""
        return self.run.usage

    @property
    def cost(self) -> float:
        """What all model calls have cost, by the price list; 0 without one."""
        return self.run.cost

    @property
    def tool_call_counts(self) -> FrozenDict[str, int]:
        """How many times the model has called each tool."""
        return self.run.tool_call_counts

    @property
    def run_id(self) -> str:
        """The run's own id."""
        return self.run.id

    @overload
    def __getitem__(self, key: Literal["messages"]) -> Sequence[ChatMessage]: ...
    @overload
    def __getitem__(self, key: Literal["last_message"]) -> ChatMessage: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...
    def __getitem__(self, key: str) -> Any:
        if key == "last_message":
            return self.last_message
        if key not in self.state.fields:
            raise KeyError(key)
        return self.state.read(key)

    def __iter__(self) -> Iterator[str]:
        yield from self.state.fields
        if self.messages:
            yield "last_message"

    def __repr__(self) -> str:
        return f"AgentResult(exit_reason={self.exit_reason!r}, text={self.text!r})"

    def __len__(self) -> int:
        return len(self.state.fields) + bool(self.messages)
