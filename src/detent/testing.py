"""What tests of agents need: scripted models and humans, and words for what has happened.

No test framework is needed. A name is loaded when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detent.adapters.journals.memory import MemoryJournal as MemoryJournal
    from detent.adapters.system.chance import SeededChance as SeededChance
    from detent.adapters.system.clocks import JumpingClock as JumpingClock
    from detent.adapters.system.clocks import ManualClock as ManualClock
    from detent.adapters.testing.doubles.assertions import assert_called as assert_called
    from detent.adapters.testing.doubles.assertions import (
        assert_called_in_order as assert_called_in_order,
    )
    from detent.adapters.testing.doubles.assertions import assert_ended as assert_ended
    from detent.adapters.testing.doubles.assertions import assert_not_called as assert_not_called
    from detent.adapters.testing.doubles.assertions import calls_of as calls_of
    from detent.adapters.testing.doubles.hosted import host_agents as host_agents
    from detent.adapters.testing.doubles.human import Answer as Answer
    from detent.adapters.testing.doubles.human import Question as Question
    from detent.adapters.testing.doubles.human import ScriptedHuman as ScriptedHuman
    from detent.adapters.testing.doubles.recorded import (
        RecordingChatGenerator as RecordingChatGenerator,
    )
    from detent.adapters.testing.doubles.recorded import (
        ReplayingChatGenerator as ReplayingChatGenerator,
    )
    from detent.adapters.testing.doubles.recorded import recorded as recorded
    from detent.adapters.testing.doubles.scripted import After as After
    from detent.adapters.testing.doubles.scripted import Asked as Asked
    from detent.adapters.testing.doubles.scripted import Line as Line
    from detent.adapters.testing.doubles.scripted import Pieces as Pieces
    from detent.adapters.testing.doubles.scripted import (
        ScriptedChatGenerator as ScriptedChatGenerator,
    )
    from detent.adapters.testing.doubles.scripted import When as When
    from detent.adapters.testing.doubles.scrubbing import scrub_secrets as scrub_secrets
    from detent.adapters.testing.doubles.spies import SpiedTool as SpiedTool
    from detent.adapters.testing.doubles.spies import ToolUse as ToolUse
    from detent.adapters.testing.doubles.spies import spy as spy
    from detent.adapters.testing.doubles.transcripts import transcript as transcript
    from detent.adapters.testing.proofs.checking import Proof as Proof
    from detent.adapters.testing.proofs.checking import Refuted as Refuted
    from detent.adapters.testing.proofs.checking import check as check
    from detent.adapters.testing.proofs.hypothesis_strategies import Schedule as Schedule
    from detent.adapters.testing.proofs.hypothesis_strategies import agents as agents
    from detent.adapters.testing.proofs.hypothesis_strategies import given_run as given_run
    from detent.adapters.testing.proofs.hypothesis_strategies import schedules as schedules
    from detent.adapters.testing.proofs.hypothesis_strategies import scripts as scripts
    from detent.adapters.testing.proofs.properties import Property as Property
    from detent.adapters.testing.proofs.properties import Violation as Violation
    from detent.adapters.testing.proofs.properties import always as always
    from detent.adapters.testing.proofs.properties import always_ends_within as always_ends_within
    from detent.adapters.testing.proofs.properties import (
        budget_never_exceeded as budget_never_exceeded,
    )
    from detent.adapters.testing.proofs.properties import (
        never_runs_unapproved as never_runs_unapproved,
    )
    from detent.adapters.testing.simulation.invariants import INVARIANTS as INVARIANTS
    from detent.adapters.testing.simulation.moves import Move as Move
    from detent.adapters.testing.simulation.nested_runs import everywhere as everywhere
    from detent.adapters.testing.simulation.scenarios import Scenario as Scenario
    from detent.adapters.testing.simulation.scenarios import scenario_of as scenario_of
    from detent.adapters.testing.simulation.shared_stores import OpenStore as OpenStore
    from detent.adapters.testing.simulation.shared_stores import directory_store as directory_store
    from detent.adapters.testing.simulation.shared_stores import memory_store as memory_store
    from detent.adapters.testing.simulation.shared_stores import sqlite_store as sqlite_store
    from detent.adapters.testing.simulation.shrinking import shrink as shrink
    from detent.adapters.testing.simulation.simulate import Broken as Broken
    from detent.adapters.testing.simulation.simulate import Case as Case
    from detent.adapters.testing.simulation.simulate import InvariantBroken as InvariantBroken
    from detent.adapters.testing.simulation.simulate import Report as Report
    from detent.adapters.testing.simulation.simulate import Simulation as Simulation
    from detent.adapters.testing.simulation.simulate import simulate as simulate
    from detent.adapters.testing.simulation.trace import Folded as Folded
    from detent.adapters.testing.simulation.trace import Opened as Opened
    from detent.adapters.testing.simulation.trace import Performed as Performed
    from detent.adapters.testing.simulation.trace import Rested as Rested
    from detent.adapters.testing.simulation.trace import Said as Said
    from detent.adapters.testing.simulation.trace import Trace as Trace
    from detent.ports.laws import ChatGeneratorCheck as ChatGeneratorCheck
    from detent.ports.laws import check_chance as check_chance
    from detent.ports.laws import check_chat_generator as check_chat_generator
    from detent.ports.laws import check_claims as check_claims
    from detent.ports.laws import check_clock as check_clock
    from detent.ports.laws import check_confirmation_ui as check_confirmation_ui
    from detent.ports.laws import check_handler as check_handler
    from detent.ports.laws import check_host as check_host
    from detent.ports.laws import check_journal as check_journal
    from detent.ports.laws import check_notices as check_notices
    from detent.ports.laws import check_observer as check_observer
    from detent.ports.laws import check_submissions as check_submissions
    from detent.ports.laws import check_tool_executor as check_tool_executor
    from detent.ports.real_models import RealModelForbiddenError as RealModelForbiddenError
    from detent.ports.real_models import allow_real_models as allow_real_models
    from detent.ports.real_models import forbid_real_models as forbid_real_models
else:
    from detent.exports import lazy_exports

    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "adapters.journals.memory": "MemoryJournal",
            "adapters.system.chance": "SeededChance",
            "adapters.system.clocks": "JumpingClock ManualClock",
            "adapters.testing.doubles.assertions": (
                "assert_called assert_called_in_order assert_ended assert_not_called calls_of"
            ),
            "adapters.testing.doubles.hosted": "host_agents",
            "adapters.testing.doubles.human": "Answer Question ScriptedHuman",
            "adapters.testing.doubles.recorded": (
                "RecordingChatGenerator ReplayingChatGenerator recorded"
            ),
            "adapters.testing.doubles.scripted": (
                "After Asked Line Pieces ScriptedChatGenerator When"
            ),
            "adapters.testing.doubles.scrubbing": "scrub_secrets",
            "adapters.testing.doubles.spies": "SpiedTool ToolUse spy",
            "adapters.testing.doubles.transcripts": "transcript",
            "adapters.testing.proofs.checking": "Proof Refuted check",
            "adapters.testing.proofs.hypothesis_strategies": (
                "Schedule agents given_run schedules scripts"
            ),
            "adapters.testing.proofs.properties": (
                "Property Violation always always_ends_within budget_never_exceeded "
                "never_runs_unapproved"
            ),
            "adapters.testing.simulation.invariants": "INVARIANTS",
            "adapters.testing.simulation.moves": "Move",
            "adapters.testing.simulation.nested_runs": "everywhere",
            "adapters.testing.simulation.scenarios": "Scenario scenario_of",
            "adapters.testing.simulation.shared_stores": (
                "OpenStore directory_store memory_store sqlite_store"
            ),
            "adapters.testing.simulation.shrinking": "shrink",
            "adapters.testing.simulation.simulate": (
                "Broken Case InvariantBroken Report Simulation simulate"
            ),
            "adapters.testing.simulation.trace": "Folded Opened Performed Rested Said Trace",
            "ports.laws": (
                "ChatGeneratorCheck check_chance check_chat_generator check_claims check_clock "
                "check_confirmation_ui check_handler check_host check_journal check_notices "
                "check_observer check_submissions check_tool_executor"
            ),
            "ports.real_models": "RealModelForbiddenError allow_real_models forbid_real_models",
        },
    )
