"""Slots: each tool call of a turn, together with how far it has come."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, get_args

from attrs import frozen

from detent.core.decisions import Scope
from detent.core.messages import ResultPart, TextContent, ToolCall, ToolCallResult
from detent.core.quick import quick
from detent.core.results import ToolFault, ToolResult

if TYPE_CHECKING:
    from detent.core.run import Run


class CallRef(NamedTuple):
    """Which call of a run: the turn, from 1, and the place among that turn's calls, from 0."""

    turn: int
    place: int


new_ref: Callable[[tuple[int, int]], CallRef] = partial(tuple.__new__, CallRef)
"""As `CallRef`, in half the time."""


class AgentRef(NamedTuple):
    """An agent at work inside a run: the call that it works on, and the name of the tool it is."""

    turn: int
    place: int
    tool_name: str

    @property
    def ref(self) -> CallRef:
        """The call that it works on."""
        return CallRef(self.turn, self.place)


Path: TypeAlias = tuple[AgentRef, ...]
"""Where in a run something is: the agents around it, the outermost first; () is the run itself."""


@frozen
class Unjudged:
    """A policy has not said yet whether a human must decide."""


@frozen
class AwaitingDecision:
    """A human must decide. Only a decision that carries `digest` counts.

    A yes begins `attempt`: what may still come of one before it is none of its answers.
    A confirmation after `expires_at`, in seconds since 1970, does not. The rest is as for `Ask`.
    """

    digest: str
    reason: str = ""
    attempt: int = 1
    remember: Scope = "call"
    expires_at: float | None = None
    reveals: tuple[str, ...] = ()


@quick
@frozen
class Ready:
    """May run; not started."""

    attempt: int = 1


READY = Ready()
"""How most calls begin."""


@quick
@frozen
class Running:
    """Started, not yet answered. At `deadline`, in seconds since 1970, nobody waits any longer."""

    attempt: int = 1
    deadline: float | None = None


@frozen
class Unknown:
    """Begun in a process that has ended; whether it was carried out is being looked up."""

    attempt: int


@frozen
class Resting:
    """Failed, and ready for its next `attempt` at `until`, in seconds since 1970."""

    attempt: int
    until: float


@frozen
class Delegated:
    """Another agent, the tool `tool_name`, is at work on it; `run` is how far it has come."""

    tool_name: str
    run: Run[Any]


@quick
@frozen
class Succeeded:
    """Ran, and gave a result."""

    result: ToolResult


@frozen
class Faulted:
    """Could not run, or failed."""

    fault: ToolFault


@frozen
class Refused:
    """A human said no; `text` tells the model."""

    text: str


@frozen
class AnsweredByHuman:
    """A human answered in the tool's place."""

    text: str


@frozen
class Accepted:
    """The call gave the answer that the run is for."""


@frozen
class Misfit:
    """The call gave an answer that is not of the run's output type; `text` tells the model."""

    text: str


Settled: TypeAlias = Succeeded | Faulted | Refused | AnsweredByHuman | Accepted | Misfit
Open: TypeAlias = Unjudged | AwaitingDecision | Ready | Running | Unknown | Resting | Delegated
Status: TypeAlias = Open | Settled


@quick
@frozen
class Slot:
    """One tool call and its status. `note` tells the model what a human changed about the call."""

    ref: CallRef
    call: ToolCall
    status: Status
    note: str | None = None


def moved(slot: Slot, status: Status) -> Slot:
    """The slot with another status."""
    return Slot(slot.ref, slot.call, status, slot.note)


_OPEN: frozenset[type] = frozenset(get_args(Open))


def is_settled(slot: Slot) -> bool:
    """Whether the slot's call has its answer."""
    return type(slot.status) not in _OPEN


def are_settled(slots: Sequence[Slot]) -> bool:
    """Whether each slot's call has its answer."""
    for slot in slots:  # noqa: SIM110 - a generator would take twice as long
        if type(slot.status) in _OPEN:
            return False
    return True


def answer(slot: Slot) -> ToolCallResult | None:
    """What the model is told about the call; None while it is open."""
    status = slot.status
    match status:
        case Succeeded():  # not taken apart here: that would take thrice as long
            content = status.result.content
            if slot.note is not None:
                content = _noted(slot.note, content)
            if type(content) is str:
                return ToolCallResult(content, slot.call)
            return ToolCallResult(content, slot.call)
        case (
            Unjudged()
            | AwaitingDecision()
            | Ready()
            | Running()
            | Unknown()
            | Resting()
            | Delegated()
        ):
            return None
        case Faulted(fault):
            return ToolCallResult(fault.message, slot.call, error=True)
        case Refused(text):
            return ToolCallResult(text, slot.call, error=True)
        case AnsweredByHuman(text):
            return ToolCallResult(text, slot.call)
        case Accepted():
            return ToolCallResult("accepted", slot.call)
        case Misfit(text):
            return ToolCallResult(text, slot.call, error=True)


def _noted(note: str, content: str | tuple[ResultPart, ...]) -> str | tuple[ResultPart, ...]:
    return f"{note}\n{content}" if isinstance(content, str) else (TextContent(note), *content)
