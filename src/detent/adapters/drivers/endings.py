"""What a run that is no longer driven means for its caller: a result or an error."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from detent.core.chat.replies import ModelFailure
from detent.core.control.breakpoints import Holds
from detent.core.errors import StateError
from detent.core.machine.answers import output_of
from detent.core.result import AgentResult, BreakpointException, ToolInvocationError
from detent.core.run.effects import Effect
from detent.core.run.outcomes import Failed
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.core.schema.conversion import ConversionError
from detent.core.state.typevars import S
from detent.core.storage.snapshot import snapshot_of
from detent.core.tools.result import ToolFault
from detent.ports.chat import ChatGeneratorError

Errors = Mapping[ModelFailure, BaseException]
"""What the ports raised, by the failure that the run knows."""


def ended(spec: AgentSpec[S], run: Run[S], errors: Errors) -> AgentResult[S, Any]:
    """The result of a run that has ended.

    Raises:
        ChatGeneratorError: the model gave no answer.
        ToolInvocationError: a tool failed in a run that ends when one does.
    """
    if not isinstance(run.outcome, Failed):
        return AgentResult(run, (), None, partial(output_of, spec, run))
    failure = run.outcome.failure
    # RULE: no error that is raised here has a name, or it would hold itself, by way of this frame
    if isinstance(failure, ToolFault):
        raise ToolInvocationError(failure.message, _failed_tool(run, failure), run) from (
            failure.cause or _cause_of(failure)
        )
    if isinstance(errors.get(failure), ChatGeneratorError):
        raise _unanswered(run, errors[failure])
    raise _unanswered(run, ChatGeneratorError(failure)) from errors.get(failure)


def stopped(
    spec: AgentSpec[S],
    run: Run[S],
    held: tuple[Effect, ...],
    rules: Holds,
    *,
    at: float,
    raises: bool,
) -> AgentResult[S, Any]:
    """The result of a run that waits for a human, or that `rules` have stopped before `held`.

    Raises:
        BreakpointException: a breakpoint has stopped it, and `raises` is set.
    """
    rule = rules.first(run, held[0]) if held else None
    take_snapshot = partial(snapshot_of, spec, run, held, rule, at)
    result = AgentResult(run, held, take_snapshot, partial(output_of, spec, run))
    if held and raises:
        raise BreakpointException(result, held, rule)
    return result


def _unanswered(run: Run[Any], error: BaseException) -> BaseException:
    if isinstance(error, ChatGeneratorError):
        error.run = run
    return error


def _failed_tool(run: Run[Any], fault: ToolFault) -> str:
    """The tool that the run's last turn says has failed like this."""
    answers = [result for message in run.messages for result in message.tool_call_results]
    return next(one.origin.tool_name for one in reversed(answers) if one.text == fault.message)


def _cause_of(fault: ToolFault) -> Exception | None:
    """The exception that a fault stands for which nobody raised, or that has been stored since."""
    match fault.kind:
        case "timeout":
            return TimeoutError(fault.message)
        case "unknown_tool" | "missing_input":
            return LookupError(fault.message)
        case "invalid_arguments":
            return ConversionError([fault.message])
        case "unmergeable":
            return StateError(fault.message)
        case _:
            return None
