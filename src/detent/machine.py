"""The machine: `step`, `due`, events, effects, sessions and drivers, for loops of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detent.adapters.drivers.asyncio import AsyncInbox as AsyncInbox
    from detent.adapters.drivers.asyncio import drive_async as drive_async
    from detent.adapters.drivers.observations import Observation as Observation
    from detent.adapters.drivers.performer import EffectPerformer as EffectPerformer
    from detent.adapters.drivers.run_handle import RunHandle as RunHandle
    from detent.adapters.drivers.session import Session as Session
    from detent.adapters.drivers.threads import Inbox as Inbox
    from detent.adapters.drivers.threads import drive as drive
    from detent.adapters.hosts.effects.stored import effect_from_json as effect_from_json
    from detent.adapters.hosts.effects.stored import effect_to_json as effect_to_json
    from detent.adapters.hosts.effects.stored import report_from_json as report_from_json
    from detent.adapters.hosts.effects.stored import report_to_json as report_to_json
    from detent.adapters.hosts.jobs import make_job as make_job
    from detent.adapters.hosts.jobs import perform_job as perform_job
    from detent.adapters.hosts.jobs import perform_job_async as perform_job_async
    from detent.adapters.system.chance import SystemChance as SystemChance
    from detent.adapters.system.clocks import ManualClock as ManualClock
    from detent.adapters.system.clocks import SystemClock as SystemClock
    from detent.adapters.system.threads_and_loops import (
        FunctionToolExecutor as FunctionToolExecutor,
    )
    from detent.core.control.decisions import match_decision as match_decision
    from detent.core.errors import AgentChangedError as AgentChangedError
    from detent.core.errors import UnknownEffectError as UnknownEffectError
    from detent.core.machine.delegation import NoAnswerError as NoAnswerError
    from detent.core.machine.delegation import nested_run as nested_run
    from detent.core.machine.delegation import wrap_event as wrap_event
    from detent.core.machine.due import due as due
    from detent.core.machine.step import replay as replay
    from detent.core.machine.step import start as start
    from detent.core.machine.step import step as step
    from detent.core.run.effects import AskHuman as AskHuman
    from detent.core.run.effects import AskModel as AskModel
    from detent.core.run.effects import Effect as Effect
    from detent.core.run.effects import EffectKey as EffectKey
    from detent.core.run.effects import Judge as Judge
    from detent.core.run.effects import Reconcile as Reconcile
    from detent.core.run.effects import RunTool as RunTool
    from detent.core.run.effects import WaitUntil as WaitUntil
    from detent.core.run.events import AnswerRejected as AnswerRejected
    from detent.core.run.events import CallRewritten as CallRewritten
    from detent.core.run.events import CancelRequested as CancelRequested
    from detent.core.run.events import ClockTicked as ClockTicked
    from detent.core.run.events import Event as Event
    from detent.core.run.events import GrantRevoked as GrantRevoked
    from detent.core.run.events import HappenedInside as HappenedInside
    from detent.core.run.events import HumanDecided as HumanDecided
    from detent.core.run.events import Judged as Judged
    from detent.core.run.events import MessageReceived as MessageReceived
    from detent.core.run.events import ModelFailed as ModelFailed
    from detent.core.run.events import ModelReplied as ModelReplied
    from detent.core.run.events import Resumed as Resumed
    from detent.core.run.events import ToolLost as ToolLost
    from detent.core.run.events import ToolNeverRan as ToolNeverRan
    from detent.core.run.events import ToolRaised as ToolRaised
    from detent.core.run.events import ToolReturned as ToolReturned
    from detent.core.run.events import ToolStarted as ToolStarted
    from detent.core.run.outcomes import Cancelled as Cancelled
    from detent.core.run.outcomes import Exhausted as Exhausted
    from detent.core.run.outcomes import Failed as Failed
    from detent.core.run.outcomes import Finished as Finished
    from detent.core.run.outcomes import Outcome as Outcome
    from detent.core.run.refs import AgentRef as AgentRef
    from detent.core.run.refs import CallRef as CallRef
    from detent.core.run.refs import Path as Path
    from detent.core.run.run import Acting as Acting
    from detent.core.run.run import Delegated as Delegated
    from detent.core.run.run import Done as Done
    from detent.core.run.run import Pausing as Pausing
    from detent.core.run.run import Phase as Phase
    from detent.core.run.run import Run as Run
    from detent.core.run.run import RunOptions as RunOptions
    from detent.core.run.run import Slot as Slot
    from detent.core.run.run import Status as Status
    from detent.core.run.run import Thinking as Thinking
    from detent.core.run.spec import AgentSpec as AgentSpec
    from detent.core.state.keys import Write as Write
    from detent.core.state.state import BaseState as BaseState
    from detent.core.storage.journal import event_from_json as event_from_json
    from detent.core.storage.journal import event_to_json as event_to_json
    from detent.core.storage.journal import run_from_json as run_from_json
    from detent.core.storage.journal import run_to_json as run_to_json
    from detent.core.tools.idempotency import OutcomeUnknownError as OutcomeUnknownError
    from detent.core.tools.invocation import Invocation as Invocation
    from detent.core.tools.result import ToolFault as ToolFault
    from detent.core.tools.result import ToolResult as ToolResult
    from detent.core.tools.result import result_of as result_of
    from detent.core.tools.tool import ToolSpec as ToolSpec
    from detent.core.values.frozen import FrozenDict as FrozenDict
    from detent.ports.chance import Chance as Chance
    from detent.ports.clock import Clock as Clock
    from detent.ports.observer import Observer as Observer
    from detent.ports.stopping import when_stopped as when_stopped
    from detent.ports.tool_execution import AsyncToolExecutor as AsyncToolExecutor
    from detent.ports.tool_execution import ToolExecutor as ToolExecutor
else:
    from detent.exports import lazy_exports

    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "adapters.drivers.asyncio": "AsyncInbox drive_async",
            "adapters.drivers.observations": "Observation",
            "adapters.drivers.performer": "EffectPerformer",
            "adapters.drivers.run_handle": "RunHandle",
            "adapters.drivers.session": "Session",
            "adapters.drivers.threads": "Inbox drive",
            "adapters.hosts.effects.stored": (
                "effect_from_json effect_to_json report_from_json report_to_json"
            ),
            "adapters.hosts.jobs": "make_job perform_job perform_job_async",
            "adapters.system.chance": "SystemChance",
            "adapters.system.clocks": "ManualClock SystemClock",
            "adapters.system.threads_and_loops": "FunctionToolExecutor",
            "core.control.decisions": "match_decision",
            "core.errors": "AgentChangedError UnknownEffectError",
            "core.machine.delegation": "NoAnswerError nested_run wrap_event",
            "core.machine.due": "due",
            "core.machine.step": "replay start step",
            "core.run.effects": (
                "AskHuman AskModel Effect EffectKey Judge Reconcile RunTool WaitUntil"
            ),
            "core.run.events": (
                "AnswerRejected CallRewritten CancelRequested ClockTicked Event GrantRevoked "
                "HappenedInside HumanDecided Judged MessageReceived ModelFailed ModelReplied "
                "Resumed ToolLost ToolNeverRan ToolRaised ToolReturned ToolStarted"
            ),
            "core.run.outcomes": "Cancelled Exhausted Failed Finished Outcome",
            "core.run.refs": "AgentRef CallRef Path",
            "core.run.run": (
                "Acting Delegated Done Pausing Phase Run RunOptions Slot Status Thinking"
            ),
            "core.run.spec": "AgentSpec",
            "core.state.keys": "Write",
            "core.state.state": "BaseState",
            "core.storage.journal": "event_from_json event_to_json run_from_json run_to_json",
            "core.tools.idempotency": "OutcomeUnknownError",
            "core.tools.invocation": "Invocation",
            "core.tools.result": "ToolFault ToolResult result_of",
            "core.tools.tool": "ToolSpec",
            "core.values.frozen": "FrozenDict",
            "ports.chance": "Chance",
            "ports.clock": "Clock",
            "ports.observer": "Observer",
            "ports.stopping": "when_stopped",
            "ports.tool_execution": "AsyncToolExecutor ToolExecutor",
        },
    )
