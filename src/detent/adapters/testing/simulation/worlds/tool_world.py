"""What is outside of a simulated run's processes, and outlives them: model, tools and a human."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from threading import Event as Flag
from typing import Any

from attrs import evolve, fields, frozen

from detent.adapters.drivers.leases import Lease
from detent.adapters.drivers.performer import EffectPerformer
from detent.adapters.testing.simulation.model_actors import Players
from detent.core.chat.messages import ChatMessage
from detent.core.chat.replies import ChatReply
from detent.core.run.effects import AskHuman, AskModel, Effect, Judge, Reconcile, RunTool, WaitUntil
from detent.core.run.events import Event
from detent.core.run.spec import AgentSpec, Delegate
from detent.core.tools.tool import Tool, ToolSpec
from detent.core.values.frozen import FrozenDict
from detent.ports.chat import StreamingCallback
from detent.ports.clock import Clock
from detent.ports.confirmation import ConfirmationUIResult
from detent.ports.tool_execution import ToolExecutor


class Outside:
    """Performs effects as players do, and remembers what has been done.

    `executor` runs the tools for real; None has players say what they give. `is_attended` says
    whether there is a human at all.
    """

    def __init__(
        self, players: Players, executor: ToolExecutor | None, *, is_attended: bool
    ) -> None:
        self._players = players
        self._executor = executor
        self._is_attended = is_attended
        self._times: Counter[object] = Counter()
        self._done: dict[str, object] = {}

    def perform(
        self,
        effect: Effect,
        clock: Clock,
        price: Callable[[ChatReply], float] | None,
        lease: Lease | None = None,
    ) -> Event | Exception | None:
        """What comes of an effect: a case for each kind. Before a tool, `lease` is made sure of."""
        payer = Payer(self, effect)
        uis = {}
        match effect:
            case AskHuman() if self._is_attended:
                uis = {effect.tool.name: payer}
                delay_s = self._players.delay_s(
                    effect, self._times["human", effect.path, effect.ref]
                )
                clock.wait(clock.now() + delay_s, Flag())
            case AskModel() | RunTool() | Reconcile() | WaitUntil() | Judge() | AskHuman():
                pass
        try:
            performer = EffectPerformer(
                payer, payer, uis, clock=clock, chance=lambda: 0.5, price=price, lease=lease
            )
            return performer.perform(effect)
        except Exception as error:  # noqa: BLE001 - as the drivers do
            return error

    def reply(self, effect: AskModel) -> ChatReply:
        """What the model says."""
        return self._players.reply(effect)

    def work(self, effect: RunTool, arguments: Mapping[str, object]) -> object:
        """Do a tool's work, and remember that it is done."""
        nth = self._nth("tool", effect.path, effect.ref)
        if self._executor is not None:
            value = self._executor.execute(effect.tool, arguments)
        else:
            value = self._players.result(effect, arguments, nth)
        self._done[effect.idempotency_key] = value
        return value

    def decide(self, effect: AskHuman) -> ConfirmationUIResult:
        """What the human says."""
        return self._players.decision(effect, self._nth("human", effect.path, effect.ref))

    def look_up(self, arguments: Mapping[str, Any], key: str) -> object:
        """What has been done under a key, in place of an agent's own looking up."""
        return self._players.found(key, self._nth("lookup", key), self._done)

    def _nth(self, *what: object) -> int:
        self._times[what] += 1
        return self._times[what] - 1


@frozen
class Payer:
    """The ports that perform one effect."""

    outside: Outside
    effect: Any

    def run(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ToolSpec] = (),
        generation_kwargs: Mapping[str, object] | None = None,
        streaming_callback: StreamingCallback | None = None,
    ) -> ChatReply:
        """As the chat port says."""
        return self.outside.reply(self.effect)

    def execute(self, tool: Tool, arguments: Mapping[str, object]) -> object:
        """As the tool execution port says."""
        return self.outside.work(self.effect, arguments)

    def get_user_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> ConfirmationUIResult:
        """As the confirmation port says."""
        return self.outside.decide(self.effect)


def within_reach(spec: AgentSpec[Any], outside: Outside) -> AgentSpec[Any]:
    """The same agent, which looks calls up in this world."""
    tools = {name: _tool_within_reach(tool, outside) for name, tool in spec.tools.items()}
    return evolve(spec, tools=FrozenDict(tools))


def _tool_within_reach(tool: Tool, outside: Outside) -> Tool:
    if isinstance(tool, Delegate):
        plain: dict[str, Any] = {
            attribute.name: getattr(tool, attribute.name)
            for attribute in fields(Tool)
            if attribute.init
        }
        plain["agent"] = within_reach(tool.agent, outside)
        return Delegate(**plain)
    return evolve(tool, on_unknown=outside.look_up) if callable(tool.on_unknown) else tool
