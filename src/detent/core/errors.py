"""What can go wrong by somebody's mistake, named by whose it is. Expected failures are values."""

from __future__ import annotations

from collections.abc import Iterable

STOPS = (KeyboardInterrupt, GeneratorExit)
"""What stops a program, or a generator, and says nothing of the code in which it is raised.

RULE: whatever else the code of users raises is a failure of that code, as an `Exception` of it is:
`SystemExit`, or what a library in another language raises where it panics, too. Else a run would be
tried again without an end, and nobody would be told.
"""


OF_TESTS = "_pytest.outcomes"
"""Where `pytest.fail` and its siblings raise from: it is a test that they end, and no tool."""


def is_halt(error: BaseException) -> bool:
    """Whether what was raised says nothing of the code in which it is, alone or in a group."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(is_halt, error.exceptions))
    kinds = type(error).__mro__  # of which each says of itself that it is a builtin
    return isinstance(error, STOPS) or any(kind.__module__ == OF_TESTS for kind in kinds)


def require_failure(error: BaseException) -> None:
    """Raise again what code of users has raised, unless it is a failure of theirs."""
    if is_halt(error):
        raise error


class DetentError(Exception):
    """Base of every error that Detent raises itself."""


class SchemaError(DetentError, ValueError):
    """A state schema is not one: the fault is in the schema."""


class StateError(DetentError, ValueError):
    """A state was asked for, or given, what its schema does not have."""


class StateTypeError(StateError, TypeError):
    """A value does not have the type that the schema declares for its key.

    `is_hidden` says that the key is secret: of what came its text tells the type alone.
    """

    def __init__(self, message: str, *, is_hidden: bool = False) -> None:
        self.is_hidden = is_hidden
        super().__init__(message)


class StoredDataError(DetentError, ValueError):
    """Stored data is not what Detent writes: damaged, foreign, or of another version."""


class AgentChangedError(StoredDataError):
    """What is stored was written by an agent with other rules: this one would go another way."""


class UnstorableError(DetentError, TypeError):
    """A value cannot be written as JSON: a tool or the caller has put it there."""


class WiringError(DetentError, ValueError):
    """The parts of an agent do not fit together. `faults` holds one sentence for each misfit."""

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        lines = "\n".join(f"  - {fault}" for fault in self.faults)
        super().__init__(f"the agent's parts do not fit together:\n{lines}")


class UnknownEffectError(DetentError, LookupError):
    """An event answers something that this run never asked for: it belongs to another run."""


class ToolDefinitionError(DetentError, ValueError):
    """A function or a description cannot be made into a tool."""


class OutputError(DetentError, ValueError):
    """A run has no answer of its output type: it has not ended, or ended in another way."""
