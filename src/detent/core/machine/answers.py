"""Answers: a model's last word, held against the type that the run's answer must have."""

from __future__ import annotations

from typing import Any

from detent.core.chat.replies import ChatReply
from detent.core.errors import OutputError
from detent.core.machine.turns import asked_again, end, say
from detent.core.run.outcomes import Exhausted, Finished
from detent.core.run.output_type import OutputType
from detent.core.run.run import Run, evolve
from detent.core.run.spec import AgentSpec
from detent.core.schema.conversion import ConversionError
from detent.core.state.typevars import S
from detent.core.tools import wording

EARLY = frozenset({"length", "content_filter", "refusal"})
"""The reasons for which a model stops before its answer is whole."""


def answered(spec: AgentSpec[S], run: Run[S], reply: ChatReply) -> Run[S]:
    """The run after a reply without tool calls: its end, unless that is not the answer wanted."""
    said = say(run, [reply.message])
    early = reply.finish_reason if reply.finish_reason in EARLY else None
    if spec.output is None:
        limit = run.exhausted
        return end(said, Exhausted(limit) if limit else Finished(early or "text"))
    try:
        answer = spec.output.answer_in(reply.message.text or "")
    except ConversionError as error:
        return end(said, Finished(early)) if early else _sent_back(spec, said, spec.output, error)
    return end(said, Finished("output", answer))


def output_of(spec: AgentSpec[Any], run: Run[Any]) -> Any:
    """The run's answer as an instance of the wanted type; None where none is wanted.

    Raises:
        OutputError: the run has no such answer.
    """
    wanted = spec.output
    if wanted is None:
        return None
    if not isinstance(run.outcome, Finished) or run.outcome.exit_reason != "output":
        how = f"it ended by {run.outcome.exit_reason!r}" if run.outcome else "it has not ended"
        raise OutputError(f"run {run.id} has no output: {how}")
    try:
        return wanted.read(run.outcome.answer)
    except ConversionError as error:
        raise OutputError(f"the output of run {run.id} does not fit: {error}") from error


def _sent_back(
    spec: AgentSpec[S], said: Run[S], wanted: OutputType[Any], error: ConversionError
) -> Run[S]:
    """The run in which the model is asked again, unless that was its last try."""
    tools = spec.tools if said.options.tools is None else said.options.tools
    tool_name = None if wanted.is_native(bool(tools)) else wanted.name
    missed = evolve(said, misfits=said.misfits + 1)
    return asked_again(spec, missed, wording.answer_wanted_again(str(error), tool_name))
