"""Policies about people and sources: who may answer, and what a run has got to know."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from inspect import isawaitable
from typing import Any, Self

from attrs import evolve, field, frozen
from attrs.validators import instance_of

from detent.adapters.confirmation.described import Classes
from detent.adapters.confirmation.policies import Judgement, Rule, policy_from
from detent.adapters.system.failures import is_stop
from detent.core.chat.messages import ToolCall
from detent.core.errors import require_failure
from detent.core.run.approval import ANYBODY, Allow, Approvers, Ask, Verdict
from detent.core.run.run import Run
from detent.core.run.strictness import PolicyFailedError, question_of
from detent.core.tools.tool import Tool


@frozen
class WithApprovers(Rule):
    """Another policy, whose questions take the answers of certain people alone.

    ``WithApprovers(AskAbove("amount", 100), Approvers(2, roles=("finance",), apart=True))``

    Where `policy` fails, they are asked; and where nobody knows what came of a call that it has let
    run, they alone may say. The agent must know who answers: ``Agent(approvers=…)``.
    """

    policy: Any
    approvers: Approvers = field(default=ANYBODY, validator=instance_of(Approvers))

    @property
    def limits_answers(self) -> bool:
        """Always."""
        return True

    def __call__(self, call: ToolCall, tool: Tool, run: Run[Any]) -> Judgement:
        """Ask it."""
        try:
            verdict = policy_from(self.policy)(call, tool, run)
        except BaseException as error:
            require_failure(error)
            raise self._failed(error) from error
        return self._awaited(verdict) if isawaitable(verdict) else self._asking(verdict)

    async def _awaited(self, verdict: Awaitable[Verdict]) -> Verdict:
        try:
            return self._asking(await verdict)
        except BaseException as error:
            if is_stop(error):
                raise
            raise self._failed(error) from error

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], classes: Classes | None = None) -> Self:
        """What `to_dict` gave; `classes` are those of other policies, by name.

        Raises:
            StoredDataError: it names another class, or does not fit.
        """
        return super().from_dict(data, {**PEOPLE, **(classes or {})})

    def _asking(self, verdict: Verdict) -> Verdict:
        if isinstance(verdict, Allow):
            return evolve(verdict, afterwards=verdict.afterwards & self.approvers)
        if isinstance(verdict, Ask):
            return evolve(verdict, approvers=verdict.approvers & self.approvers)
        return verdict

    def _failed(self, error: BaseException) -> PolicyFailedError:
        question = question_of(error)
        return PolicyFailedError(evolve(question, approvers=question.approvers & self.approvers))


def names_people(policy: object) -> bool:
    """Whether its questions, or those of a policy in it, take the answers of certain people."""
    if isinstance(policy, WithApprovers) and policy.approvers != ANYBODY:
        return True
    parts = (*getattr(policy, "policies", ()), getattr(policy, "policy", None))
    return any(names_people(part) for part in parts if part is not None)


@frozen
class AskIfLabelled(Rule):
    """Asks once the run has got to know what bears a label: see `Tool.labels`."""

    label: str = field(validator=instance_of(str))

    def __call__(self, call: ToolCall, tool: Tool, run: Run[Any]) -> Verdict:
        """Whether the run bears it."""
        if self.label not in run.labels:
            return Allow()
        return Ask(f"this run has read what is labelled {self.label!r}")


PEOPLE: Classes = {kind.__name__: kind for kind in (WithApprovers, AskIfLabelled, Approvers)}
"""What such a policy's data may name without being told of it."""
