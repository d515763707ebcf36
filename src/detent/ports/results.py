"""What the caller gets when a run ends or pauses: it reads like a dict and has typed attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, overload

from attrs import field, frozen

from detent.core.chat.messages import ChatMessage, ChatRole
from detent.core.chat.replies import Usage
from detent.core.control.holds import Hold, describe_effects
from detent.core.errors import DetentError
from detent.core.run.effects import Effect
from detent.core.run.run import Pausing, Run, Thinking
from detent.core.state.typevars import S, T
from detent.core.values.checks import no_attribute
from detent.core.values.frozen import FrozenDict

if TYPE_CHECKING:
    from detent.core.storage.snapshot import AgentSnapshot
    from detent.ports.pending import PendingCall


_ANSWER = "result.text, or result.output with an output_type"
_OTHER_NAMES = {
    **dict.fromkeys(("final_output", "answer", "content", "data", "response"), _ANSWER),
    **dict.fromkeys(("all_messages", "new_messages", "history"), "result.messages"),
    "usage": "result.token_usage",
}
"""What people look for who know another library."""


def _nothing() -> Any:
    return None


@frozen(eq=False, repr=False)
class AgentResult(Mapping[str, Any], Generic[S, T]):
    """A run as its caller reads it.

    `held` is what a breakpoint keeps from happening, `pending` the calls that wait for a human.

    As a mapping it has ``messages``, ``last_message`` and every key of the state's schema; a key
    that nothing was written to reads None, or its default.
    """

    run: Run[S] = field(repr=False)
    held: tuple[Effect, ...] = field(default=(), repr=False)
    _take_snapshot: Callable[[], AgentSnapshot] | None = field(default=None, repr=False)
    _read_output: Callable[[], T] = field(default=_nothing, repr=False)
    pending: tuple[PendingCall, ...] = field(default=(), repr=False)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            raise no_attribute(self, name, _OTHER_NAMES)

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
        return self.run.state.messages

    @property
    def last_message(self) -> ChatMessage:
        """The newest message. Raises KeyError in an empty conversation."""
        if not self.run.messages:
            raise KeyError("last_message")
        return self.run.messages[-1]

    @property
    def text(self) -> str | None:
        """The text of the model's last message; None when the last message is not the model's."""
        last = self.run.messages[-1] if self.run.messages else None
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
            known = ", ".join(map(repr, (*self.state.fields, "last_message")))
            raise KeyError(f"a result has no {key!r}; as a dict it has {known}")
        return self.state.read(key)

    def __iter__(self) -> Iterator[str]:
        yield from self.state.fields
        if self.run.messages:
            yield "last_message"

    def __repr__(self) -> str:
        if waits := self.what_waits():
            return f"<AgentResult: {waits}>"
        return f"AgentResult(exit_reason={self.exit_reason!r}, text={self.text!r})"

    def what_waits(self) -> str:
        """What a run that has not ended waits for, and how it goes on; "" for one that has."""
        if self.exit_reason is not None:
            return ""
        name = repr(self.run_id)
        before = f" before: {describe_effects(self.held)}" if self.held else ""
        if not self.pending:
            return f"run {name} has stopped{before}; go on by agent.resume({name}) or its snapshot"
        calls = ", ".join(map(_asked, self.pending))
        return (
            f"run {name} waits for a human: {calls}. Decide about the calls in `pending`, as by "
            f"agent.decide({name}, call.confirm()), and go on by agent.resume({name}); without a "
            "journal, by agent.run(snapshot=result.snapshot.with_decisions([…]))"
        )

    def __len__(self) -> int:
        return len(self.state.fields) + bool(self.run.messages)


def _asked(call: PendingCall) -> str:
    """A call that waits, and why, where its policy says so."""
    return f"{call.tool_name} ({call.reason!r:.200})" if call.reason else call.tool_name


class RunEndedError(DetentError, ValueError):
    """A run has ended, and hears nothing more. Nothing was written.

    Attributes:
        run_id: the run.
        status: what it has come to: "done", "cancelled", or "failed" where the model gave no
            answer.
    """

    def __init__(self, run_id: str, status: str) -> None:
        super().__init__(
            f"run {run_id!r} has ended: it is {status}; go on behind it by agent.run(…, "
            "after=result), or in its thread by agent.run(…, thread_id=…)"
        )
        self.run_id, self.status = run_id, status


class StreamingCallbackError(DetentError, RuntimeError):
    """A streaming callback has raised; the run has gone on without it. The cause is what it raised.

    `result` is the result of the run.
    """

    def __init__(self, result: AgentResult[Any, Any]) -> None:
        super().__init__(
            "the streaming callback raised an error, and was told nothing more; the run itself is "
            "not touched by it: see .result"
        )
        self.result = result


class ToolInvocationError(DetentError, RuntimeError):
    """A tool failed in a run that ends when one does. `tool_name` says which.

    `run` is the run as it ended.
    """

    def __init__(self, message: str, tool_name: str, run: Run[Any] | None = None) -> None:
        super().__init__(message, tool_name)
        self.tool_name = tool_name
        self.run = run

    def __str__(self) -> str:
        return str(self.args[0])


class BreakpointException(DetentError):  # noqa: N818 - the name that users know
    """A run has stopped at a breakpoint.

    `effects` were about to happen, `break_point` held the first of them, and `result` is the run so
    far.
    """

    def __init__(
        self, result: AgentResult[Any, Any], effects: Sequence[Effect], break_point: Hold | None
    ) -> None:
        super().__init__(
            f"stopped at a breakpoint ({break_point}), before: {describe_effects(effects)}"
        )
        self.result = result
        self.effects = tuple(effects)
        self.break_point = break_point

    @property
    def run(self) -> Run[Any]:
        """The run as it stands."""
        return self.result.run

    @property
    def snapshot(self) -> AgentSnapshot:
        """What any process with the same agent can go on with.

        Raises:
            UnstorableError: a value in the run cannot be written as JSON.
        """
        return self.result.snapshot
