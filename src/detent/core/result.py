"""What the caller gets when a run ends or pauses: it reads like a dict and has typed attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Generic

from attrs import field, frozen

from detent.core.frozen import FrozenDict
from detent.core.messages import ChatMessage
from detent.core.replies import Usage
from detent.core.run import Run, Thinking
from detent.core.spec import S


@frozen(eq=False)
class AgentResult(Mapping[str, object], Generic[S]):
    """A run as its caller reads it.

    As a mapping it has ``messages``, ``last_message`` and every key of the state's schema; a key
    that nothing was written to reads None, or its default.
    """

    run: Run[S] = field(repr=False)

    @property
    def state(self) -> S:
        """The state at the end, typed by the agent's schema."""
        return self.run.state

    @property
    def messages(self) -> Sequence[ChatMessage]:
        """The whole conversation, oldest first."""
        return self.run.messages

    @property
    def last_message(self) -> ChatMessage | None:
        """The newest message, or None in an empty conversation."""
        return self.messages[-1] if self.messages else None

    @property
    def text(self) -> str | None:
        """The text of the last message."""
        return self.last_message.text if self.last_message is not None else None

    @property
    def exit_reason(self) -> str | None:
        """Why the run ended: "text", an exit tool, "max_agent_steps"…; None while it is paused."""
        return self.run.outcome.exit_reason if self.run.outcome is not None else None

    @property
    def step_count(self) -> int:
        """How many turns the run has taken; one that failed or was cancelled counts."""
        return self.run.turn - isinstance(self.run.phase, Thinking)

    @property
    def token_usage(self) -> Usage:
        """The tokens that all model calls of the run have spent."""
        return self.run.usage

    @property
    def tool_call_counts(self) -> FrozenDict[str, int]:
        """How many times the model has called each tool."""
        return self.run.tool_call_counts

    @property
    def run_id(self) -> str:
        """The run's own id."""
        return self.run.id

    def __getitem__(self, key: str) -> object:
        if key == "last_message":
            return self.last_message
        if key not in self.state.fields:
            raise KeyError(key)
        return self.state.read(key)

    def __iter__(self) -> Iterator[str]:
        yield from self.state.fields
        yield "last_message"

    def __len__(self) -> int:
        return len(self.state.fields) + 1
