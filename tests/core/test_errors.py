"""Errors: whose mistake, and how they are caught."""

from __future__ import annotations

import pytest

from detent import (
    AgentResult,
    DetentError,
    SchemaError,
    State,
    StateError,
    StateTypeError,
    StreamingCallbackError,
    ToolDefinitionError,
    ToolInvocationError,
    WiringError,
)
from detent.core.errors import require_failure
from detent.machine import Run, UnknownEffectError


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (SchemaError, ValueError),
        (StateError, ValueError),
        (StateTypeError, TypeError),
        (StateTypeError, StateError),
        (WiringError, ValueError),
        (UnknownEffectError, LookupError),
        (ToolDefinitionError, ValueError),
        (ToolInvocationError, RuntimeError),
    ],
)
def test_each_error_is_ours_and_a_builtin_one(
    kind: type[Exception], builtin: type[Exception]
) -> None:
    """Code may catch all of them at once, or by what Python calls such a mistake."""
    assert issubclass(kind, DetentError)
    assert issubclass(kind, builtin)


def test_a_wiring_error_names_every_misfit() -> None:
    """One line for each, so that all can be mended at once."""
    error = WiringError(["no tool 'a'", "no key 'b'"])

    assert error.faults == ("no tool 'a'", "no key 'b'")
    assert str(error).splitlines()[1:] == ["  - no tool 'a'", "  - no key 'b'"]


def test_an_invocation_error_names_the_tool() -> None:
    """Apart from its message, which is the tool's own."""
    error = ToolInvocationError("no money", "pay")

    assert (str(error), error.tool_name) == ("no money", "pay")


def test_an_error_of_a_callback_leaves_the_result() -> None:
    """The run itself has come to its end."""
    result = AgentResult(Run("r", State({})))

    error = StreamingCallbackError(result)

    assert error.result is result
    assert "the run itself is not touched by it" in str(error)


def test_what_stops_a_program_or_a_test_is_no_failure_also_in_a_group() -> None:
    """All else is, whatever it derives from."""
    stops = (KeyboardInterrupt(), GeneratorExit(), pytest.fail.Exception("no"))
    for error in (*stops, *(BaseExceptionGroup("both", [ValueError(), stop]) for stop in stops)):
        with pytest.raises(type(error)):
            require_failure(error)
    for error in (ValueError(), SystemExit(3), ExceptionGroup("both", [ValueError()])):
        require_failure(error)
