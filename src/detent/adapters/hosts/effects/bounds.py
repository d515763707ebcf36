"""What an engine takes of one effect, and what is said where more has come of it."""

from __future__ import annotations

from typing import Any

from attrs import evolve, frozen

from detent.adapters.hosts.effects.contract import StepTooLargeError
from detent.adapters.hosts.effects.history import Json, size_of
from detent.adapters.hosts.effects.outcomes import reported
from detent.core.chat.replies import ModelFailure
from detent.core.run.effects import Effect
from detent.core.run.events import Event, ModelFailed, ModelReplied, ToolRaised, ToolReturned
from detent.core.run.spec import AgentSpec
from detent.core.tools.result import ToolFault


@frozen
class Bound:
    """The most that an engine takes of one effect, in bytes of JSON."""

    engine: str
    most: int

    def report(self, spec: AgentSpec[Any], effect: Effect, event: Event | None) -> Json:
        """What the engine is told of an effect: what has come of it, or that this is too large.

        RULE: what was paid for, or is done, is not done again because nobody can be told of it. So
        the model has failed for good, and the call has: with what is the matter, for whoever reads.

        Raises:
            StepTooLargeError: it is of another kind, which is harmless to do again.
        """
        report = reported(spec, effect, event)
        size = max(map(size_of, report.values()))
        if size <= self.most or event is None:
            return report
        return reported(spec, effect, self._instead(event, size))

    def _instead(self, event: Event, size: int) -> Event:
        limit = f"{size:,} bytes, and {self.engine} takes {self.most:,} of one step at most"
        legs = "an agent that needs more is hosted by mode='legs'"
        match event:
            case ModelReplied(turn, attempt, reply, cost):
                text = f"the model has answered, by {limit}: {legs}"
                failure = ModelFailure("bad_response", text)
                return ModelFailed(turn, attempt, failure, usage=reply.usage, cost=cost)
            case ModelFailed(failure=failure):
                text = f"the model has failed, and what it says of that has {limit}"
                return evolve(event, failure=evolve(failure, message=text))
            case ToolReturned(ref, attempt):
                text = (
                    f"the tool ran to its end, and what it did is done; its result is not here, as "
                    f"it has {limit}: {legs}"
                )
                return ToolRaised(ref, attempt, ToolFault("bad_result", text))
            case ToolRaised(fault=fault):
                text = f"the tool has failed, and what it says of that has {limit}"
                return evolve(event, fault=evolve(fault, message=text))
            case _:
                raise StepTooLargeError(f"a {type(event).__name__} has {limit}: {legs}")
