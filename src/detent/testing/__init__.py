"""What tests of agents need: scripted models and humans, and words for what has happened.

No test framework is needed. A name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detent.adapters.chances import SeededChance as SeededChance
    from detent.adapters.clocks import JumpingClock as JumpingClock
    from detent.adapters.clocks import ManualClock as ManualClock
    from detent.adapters.stores.memory import MemoryJournal as MemoryJournal
    from detent.adapters.testing.assertions import assert_called as assert_called
    from detent.adapters.testing.assertions import assert_called_in_order as assert_called_in_order
    from detent.adapters.testing.assertions import assert_ended as assert_ended
    from detent.adapters.testing.assertions import assert_not_called as assert_not_called
    from detent.adapters.testing.assertions import calls_of as calls_of
    from detent.adapters.testing.checking import Proof as Proof
    from detent.adapters.testing.checking import Refuted as Refuted
    from detent.adapters.testing.checking import check as check
    from detent.adapters.testing.claims import Claim as Claim
    from detent.adapters.testing.claims import Wrong as Wrong
    from detent.adapters.testing.claims import always as always
    from detent.adapters.testing.claims import always_ends_within as always_ends_within
    from detent.adapters.testing.claims import budget_never_exceeded as budget_never_exceeded
    from detent.adapters.testing.claims import never_runs_unapproved as never_runs_unapproved
    from detent.adapters.testing.human import Question as Question
    from detent.adapters.testing.human import ScriptedHuman as ScriptedHuman
    from detent.adapters.testing.insides import everywhere as everywhere
    from detent.adapters.testing.invariants import INVARIANTS as INVARIANTS
    from detent.adapters.testing.moves import Move as Move
    from detent.adapters.testing.recorded import RecordingChatGenerator as RecordingChatGenerator
    from detent.adapters.testing.recorded import ReplayingChatGenerator as ReplayingChatGenerator
    from detent.adapters.testing.recorded import recorded as recorded
    from detent.adapters.testing.scripted import After as After
    from detent.adapters.testing.scripted import Asked as Asked
    from detent.adapters.testing.scripted import Pieces as Pieces
    from detent.adapters.testing.scripted import ScriptedChatGenerator as ScriptedChatGenerator
    from detent.adapters.testing.scripted import When as When
    from detent.adapters.testing.scrubbing import scrub_secrets as scrub_secrets
    from detent.adapters.testing.shelves import MakeShelf as MakeShelf
    from detent.adapters.testing.shelves import directory_shelf as directory_shelf
    from detent.adapters.testing.shelves import memory_shelf as memory_shelf
    from detent.adapters.testing.shelves import sqlite_shelf as sqlite_shelf
    from detent.adapters.testing.shrinking import shrink as shrink
    from detent.adapters.testing.simulation import Broken as Broken
    from detent.adapters.testing.simulation import Case as Case
    from detent.adapters.testing.simulation import InvariantBroken as InvariantBroken
    from detent.adapters.testing.simulation import Report as Report
    from detent.adapters.testing.simulation import Simulation as Simulation
    from detent.adapters.testing.simulation import simulate as simulate
    from detent.adapters.testing.spies import SpiedTool as SpiedTool
    from detent.adapters.testing.spies import ToolUse as ToolUse
    from detent.adapters.testing.spies import spy as spy
    from detent.adapters.testing.stories import Story as Story
    from detent.adapters.testing.stories import story_of as story_of
    from detent.adapters.testing.strategies import Schedule as Schedule
    from detent.adapters.testing.strategies import agents as agents
    from detent.adapters.testing.strategies import given_run as given_run
    from detent.adapters.testing.strategies import schedules as schedules
    from detent.adapters.testing.strategies import scripts as scripts
    from detent.adapters.testing.trace import Folded as Folded
    from detent.adapters.testing.trace import Opened as Opened
    from detent.adapters.testing.trace import Performed as Performed
    from detent.adapters.testing.trace import Rested as Rested
    from detent.adapters.testing.trace import Said as Said
    from detent.adapters.testing.trace import Trace as Trace
    from detent.adapters.testing.transcripts import transcript as transcript
    from detent.ports.laws import check_chance as check_chance
    from detent.ports.laws import check_chat_generator as check_chat_generator
    from detent.ports.laws import check_clock as check_clock
    from detent.ports.laws import check_confirmation_ui as check_confirmation_ui
    from detent.ports.laws import check_handler as check_handler
    from detent.ports.laws import check_journal as check_journal
    from detent.ports.laws import check_observer as check_observer
    from detent.ports.laws import check_tool_executor as check_tool_executor
    from detent.ports.real_models import RealModelForbiddenError as RealModelForbiddenError
    from detent.ports.real_models import allow_real_models as allow_real_models
    from detent.ports.real_models import forbid_real_models as forbid_real_models

_HOMES = {
    "adapters.chances": "SeededChance",
    "adapters.clocks": "JumpingClock ManualClock",
    "adapters.stores.memory": "MemoryJournal",
    "adapters.testing.assertions": (
        "assert_called assert_called_in_order assert_ended assert_not_called calls_of"
    ),
    "adapters.testing.checking": "Proof Refuted check",
    "adapters.testing.claims": (
        "Claim Wrong always always_ends_within budget_never_exceeded never_runs_unapproved"
    ),
    "adapters.testing.human": "Question ScriptedHuman",
    "adapters.testing.insides": "everywhere",
    "adapters.testing.invariants": "INVARIANTS",
    "adapters.testing.moves": "Move",
    "adapters.testing.recorded": "RecordingChatGenerator ReplayingChatGenerator recorded",
    "adapters.testing.scripted": "After Asked Pieces ScriptedChatGenerator When",
    "adapters.testing.scrubbing": "scrub_secrets",
    "adapters.testing.shelves": "MakeShelf directory_shelf memory_shelf sqlite_shelf",
    "adapters.testing.shrinking": "shrink",
    "adapters.testing.simulation": "Broken Case InvariantBroken Report Simulation simulate",
    "adapters.testing.spies": "SpiedTool ToolUse spy",
    "adapters.testing.stories": "Story story_of",
    "adapters.testing.strategies": "Schedule agents given_run schedules scripts",
    "adapters.testing.trace": "Folded Opened Performed Rested Said Trace",
    "adapters.testing.transcripts": "transcript",
    "ports.laws": (
        "check_chance check_chat_generator check_clock check_confirmation_ui "
        "check_handler check_journal check_observer check_tool_executor"
    ),
    "ports.real_models": "RealModelForbiddenError allow_real_models forbid_real_models",
}
"""Where each public name lives: the same as above, for the interpreter."""

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
if not TYPE_CHECKING:
    __all__ = [*_HOME_OF]  # noqa: PLE0604 - names, made from the table

    def __getattr__(name: str) -> object:
        if name not in _HOME_OF:
            raise AttributeError(f"module 'detent.testing' has no attribute {name!r}")
        value: object = getattr(import_module(f"detent.{_HOME_OF[name]}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *_HOME_OF})
