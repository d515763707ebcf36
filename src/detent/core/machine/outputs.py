"""Outputs: a run's answer of the wanted type, or why there is none."""

from __future__ import annotations

from typing import Any

from detent.core.chat.messages import ChatMessage, ChatRole, ToolCall
from detent.core.errors import OutputError
from detent.core.machine.run_secrets import secrets_of_run
from detent.core.run.outcomes import output_in
from detent.core.run.output_type import AnswerType
from detent.core.run.run import AnswerAccepted, AnswerInvalid, Run
from detent.core.run.spec import AgentSpec
from detent.core.schema.conversion import ConversionError
from detent.core.tools import wording
from detent.core.tools.masking import shown_content
from detent.core.tools.result import text_of

FAULT_MAX, REPLY_MAX = 500, 120
"""So many characters are told of what does not fit, and of the reply."""


def check_answer(kind: AnswerType[Any], call: ToolCall) -> AnswerAccepted | AnswerInvalid:
    """Whether a call of the tool to answer by gives an answer of the wanted type."""
    if call.unreadable is not None:
        return AnswerInvalid(wording.answer_unreadable(call.unreadable))
    try:
        kind.read(call.arguments)
    except ConversionError as error:
        return AnswerInvalid(wording.answer_unusable(str(error)))
    return AnswerAccepted()


def output_of(spec: AgentSpec[Any], run: Run[Any]) -> Any:
    """The run's answer as an instance of the wanted type; None where none is wanted.

    Raises:
        OutputError: the run has no such answer.
    """
    kind = spec.output
    if kind is None:
        return None
    answer = output_in(run.outcome)
    if answer is None:
        raise OutputError(f"run {run.id} has no output: {_why_none(spec, run, kind)}")
    try:
        return kind.read(answer)
    except ConversionError as error:
        raise OutputError(f"the output of run {run.id} does not fit: {error}") from error


def _why_none(spec: AgentSpec[Any], run: Run[Any], kind: AnswerType[Any]) -> str:
    """How the run has ended without an answer of this type, and what of the last does not fit.

    RULE: an error is read by whoever reads logs. Nothing in it says what is secret in the run.
    """
    if run.outcome is None:
        return "it has not ended"
    ending = f"it ended by {run.outcome.exit_reason!r}"
    said = next((one for one in reversed(run.messages) if one.role is ChatRole.ASSISTANT), None)
    misfit = None if said is None else _misfit(kind, said)
    if said is None or misfit is None:
        return ending
    secrets = secrets_of_run(spec, run)
    fault, text = (
        str(shown_content(part, secrets, secrets)) for part in (misfit, _answer_text(kind, said))
    )
    begins = f"begins with {text[:REPLY_MAX]!r}" if text else "is empty"
    return f"{ending}. {fault[:FAULT_MAX]}. The last reply {begins}; result.messages has all of it"


def _misfit(kind: AnswerType[Any], said: ChatMessage) -> str | None:
    """Why a reply is no answer of this type; None where it has not tried to give one."""
    if said.tool_calls:
        checks = (
            check_answer(kind, call) for call in said.tool_calls if call.tool_name == kind.name
        )
        return next((one.text for one in checks if isinstance(one, AnswerInvalid)), None)
    try:
        kind.answer_in(said.text or "")
    except ConversionError as error:
        return wording.answer_unusable(str(error))
    return None


def _answer_text(kind: AnswerType[Any], said: ChatMessage) -> str:
    """What a reply has answered, in words or as the arguments of the call to answer by."""
    calls = [call for call in said.tool_calls if call.tool_name == kind.name]
    if not calls:
        return said.text or ""
    return calls[0].unreadable or text_of(calls[0].arguments)
