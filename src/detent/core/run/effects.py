"""Effects: what a run is owed by the world, in the imperative. A driver performs them.

The `path` of each says for which of the agents inside the run it is, its `key` which of the run's
effects.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

from attrs import Factory, evolve, field, frozen

from detent.core.chat.messages import ChatMessage, ToolCall
from detent.core.chat.replies import ChatReply
from detent.core.run.approval import (
    PLAIN_ASK,
    Answers,
    Ask,
    Binding,
    DecisionRecord,
    FormerDecision,
    Modified,
    Verdict,
)
from detent.core.run.events import HumanDecided, ModelReplied, ToolReturned
from detent.core.run.refs import AgentRef, CallRef, Path
from detent.core.run.run import Run, Slot
from detent.core.state.state import BaseState
from detent.core.tools.idempotency import NO_KEY, IdempotencyKey
from detent.core.tools.masking import secret_parameters
from detent.core.tools.result import result_of
from detent.core.tools.tool import Tool, ToolSpec
from detent.core.tools.version import hash_of
from detent.core.values.fast_values import fast_init
from detent.core.values.frozen import EMPTY, FrozenDict

Policy: TypeAlias = Callable[[ToolCall, Tool, Run[Any]], Verdict | Awaitable[Verdict]]
"""Answers for each call whether it may run, may not, or a human must be asked.

Its verdict is kept in the run; it is asked again only if something else would run than it saw. It
is given the call with its validated arguments, the tool, and the run as it stands.
"""

Vouches: TypeAlias = Callable[[HumanDecided, ToolCall, Tool], bool]
"""Whether a decision about a call is that of the person whom it names; pure."""


class EffectKey(NamedTuple):
    """The identity of an effect within its run: two effects with one key are the same effect."""

    kind: str
    turn: int
    place: int
    attempt: int
    path: Path = ()

    def to_text(self) -> str:
        """The key in a word that is the same in every process: ``tool/1/0/1``.

        Each agent around it is behind an @, with the call that it works on: ``@1.0.helper``.
        """
        inner = "".join(f"@{agent.turn}.{agent.place}.{agent.tool_name}" for agent in self.path)
        return f"{self.kind}/{self.turn}/{self.place}/{self.attempt}{inner}"

    @classmethod
    def from_text(cls, text: str) -> EffectKey:
        """The key that `to_text` gave. Raises ValueError where the text is none."""
        if (match := _KEY.fullmatch(text)) is None:
            raise ValueError(f"this is no key of an effect, such as tool/1/0/1: {text!r:.100}")
        kind, *numbers, inner = match.groups()
        agents = (agent.split(".", 2) for agent in inner.split("@")[1:])
        path = tuple(AgentRef(int(turn), int(place), name) for turn, place, name in agents)
        turn, place, attempt = map(int, numbers)
        return cls(kind, turn, place, attempt, path)


_SHORT = "(?:0|[1-9][0-9]{0,17})"
_NUMBER = f"({_SHORT})"
_KEY = re.compile(
    rf"([a-z_]+)/{_NUMBER}/{_NUMBER}/{_NUMBER}((?:@{_SHORT}\.{_SHORT}\.[\w.:-]+)*)",
    re.ASCII,
)
_new_key = partial(tuple.__new__, EffectKey)
"""As `EffectKey`, in half the time."""


@fast_init
@frozen
class AskModel:
    """Ask the model to answer the conversation. It is offered `tools`, of all that are `known`."""

    turn: int
    attempt: int
    messages: Sequence[ChatMessage] = field(repr=lambda messages: f"<{len(messages)} messages>")
    tools: tuple[ToolSpec, ...] = field(repr=False)
    generation_kwargs: FrozenDict[str, object]
    path: Path = ()
    known: tuple[ToolSpec, ...] = field(default=(), repr=False)

    def _key(self) -> EffectKey:
        return _new_key(("model", self.turn, 0, self.attempt, self.path))

    key: EffectKey = field(init=False, eq=False, repr=False, default=Factory(_key, takes_self=True))

    def secrets(self) -> dict[str, frozenset[str]]:
        """The secret parameters by tool: a model may also call one that it is not offered now.

        See `secret_parameters`.
        """
        tools = (*self.known, *self.tools)
        for tool in tools:  # most have none, and it is asked in each turn: a generator would cost
            if tool.masked:
                return secret_parameters({tool.name: tool.masked for tool in tools})
        return {}

    def replied(self, reply: ChatReply | ChatMessage | str, *, cost: float = 0.0) -> ModelReplied:
        """The event that the model has answered: with a reply, a message or a text."""
        if not isinstance(reply, ChatReply):
            message = ChatMessage.from_assistant(reply) if isinstance(reply, str) else reply
            reply = ChatReply(message)
        return ModelReplied(self.turn, self.attempt, reply, cost)


@fast_init
@frozen
class CallName:
    """What a call is called in the world, by `key`; it is made where somebody wants it."""

    run_id: str
    nonce: str
    ref: CallRef
    decisions: tuple[DecisionRecord, ...] = field(default=(), eq=False, repr=False)
    origin: str = field(default="", repr=False)

    @property
    def key(self) -> IdempotencyKey:
        """By what the world can tell this call from all others: it is the same for each attempt.

        RULE: it is another one in a run of the same id elsewhere, and once a human has changed the
        arguments: whoever does one key once does not take what was approved for what they have done
        before. The arguments are no part of it: the process that goes on may have others, of a
        store that redacts them, or where the code makes defaults. A copy of a run has the key of
        the `origin` for what has begun there: who looks it up, or does it once more, means that.
        """
        if self.origin:
            return IdempotencyKey(self.origin)
        own = (past for past in self.decisions if past.ref == self.ref and not past.path)
        changes = sum(1 for past in own if isinstance(past.decision, Modified))
        digest = hash_of(self.nonce, changes)
        return IdempotencyKey(f"{self.run_id}/{self.ref.turn}/{self.ref.place}/{digest[:32]}")


def call_name(run: Run[Any], slot: Slot) -> CallName:
    """What a call of a run is called in the world."""
    return CallName(run.id, run.nonce, slot.ref, run.decisions, slot.key)


@fast_init
@frozen
class RunTool:
    """Run a tool with the model's (or the human's) arguments; `state` fills what is wired to it."""

    ref: CallRef
    attempt: int
    call: ToolCall
    tool: Tool
    state: BaseState = field(repr=False)
    name: CallName | None = field(default=None, repr=False)
    path: Path = ()

    @property
    def idempotency_key(self) -> IdempotencyKey:
        """The key of the call, as the run has it, whatever hooks have made of it."""
        return NO_KEY if self.name is None else self.name.key

    def _key(self) -> EffectKey:
        return _new_key(("tool", *self.ref, self.attempt, self.path))

    key: EffectKey = field(init=False, eq=False, repr=False, default=Factory(_key, takes_self=True))

    def returned(self, value: object) -> ToolReturned:
        """The event that the tool has given `value`, as if its function had.

        Raises:
            ResultError: the tool's wiring cannot make anything of it.
        """
        return ToolReturned(self.ref, self.attempt, result_of(self.tool, value))


class _OfCall:
    """What is owed to a call, once for each attempt at it; what has no attempts is owed once."""

    __slots__ = ()
    kind: ClassVar[str]
    ref: CallRef
    attempt = 1
    path: Path

    @property
    def key(self) -> EffectKey:
        """The identity of this effect within its run."""
        return EffectKey(self.kind, *self.ref, self.attempt, self.path)


@frozen
class Reconcile(_OfCall):
    """Look up whether a call of unknown outcome was carried out, and with which result."""

    ref: CallRef
    attempt: int
    call: ToolCall
    tool: Tool
    state: BaseState = field(repr=False)
    name: CallName | None = field(default=None, repr=False)
    path: Path = ()
    kind = "reconcile"

    @property
    def idempotency_key(self) -> IdempotencyKey:
        """The key of the call, as the run has it."""
        return NO_KEY if self.name is None else self.name.key


@frozen
class Judge(_OfCall):
    """Have `policy` say whether a call may run; `run` is the run as it stands.

    The verdict is bound to `binding`.
    """

    ref: CallRef
    call: ToolCall
    tool: Tool
    policy: Policy = field(repr=False)
    run: Run[Any] = field(repr=False)
    binding: Binding | None = field(default=None, repr=False)
    path: Path = ()
    kind = "judge"


@frozen
class AskHuman(_OfCall):
    """Ask a human whether a call may run. The decision must carry `digest`.

    `revealed` are values from the state that the tool will get and the human may see, as JSON.
    After `expires_at`, in seconds since 1970, the answer is no. `begins` is the attempt that a yes
    lets begin, `change` what was decided before, `votes` who has said yes where it takes more
    people, `started_by` who has begun the run, `trouble` why nobody knows what the attempt before
    has done, `after` the name of the crash that it came of, `name` what the call is called in the
    world.
    """

    ref: CallRef
    call: ToolCall
    tool: Tool
    digest: str
    reason: str
    run_id: str = ""
    expires_at: float | None = None
    revealed: FrozenDict[str, object] = EMPTY
    path: Path = ()
    begins: int = 1
    ask: Ask = PLAIN_ASK
    change: FormerDecision | None = None
    votes: tuple[str, ...] = ()
    started_by: str | None = None
    trouble: str = ""
    after: str = ""
    name: CallName | None = field(default=None, repr=False)
    kind = "human"

    @property
    def idempotency_key(self) -> IdempotencyKey:
        """What the tool, or its look-up, is given as its key; "" where they take none."""
        takes_one = self.tool.signature.keys or callable(self.tool.on_unknown)
        return self.name.key if self.name is not None and takes_one else NO_KEY

    @property
    def answers(self) -> Answers:
        """Which answers count.

        Several people confirm a call as it is. What came of an attempt before, one of them may say.
        """
        answers = self.ask.answers
        if self.ask.approvers.count == 1:
            return answers
        return evolve(answers, modify=(), respond=answers.respond and bool(self.after))


@frozen
class WaitUntil(_OfCall):
    """Say when it is `at`, in seconds since 1970.

    A tool's "deadline" or its "pause" before the next attempt is over, or a "model_pause" of the
    turn in `ref`, or a question's "expiry", or the time of the whole run, its "limit".
    """

    ref: CallRef
    attempt: int
    reason: Literal["deadline", "pause", "model_pause", "expiry", "limit"]
    at: float
    path: Path = ()

    @property
    def kind(self) -> str:  # type: ignore[override]  # one class for four kinds
        """What is waited for."""
        return self.reason


Effect: TypeAlias = AskModel | RunTool | Reconcile | Judge | AskHuman | WaitUntil
