"""Detent: an agent runtime that can stop at any point and carry on.

Everything that users need is importable from here. A name is loaded when it is first used, so that
``import detent`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detent.adapters.agent.agent import Agent as Agent
    from detent.adapters.agent.agent_tool import AgentTool as AgentTool
    from detent.adapters.agent.data import AgentDataError as AgentDataError
    from detent.adapters.confirmation.console import RichConsoleUI as RichConsoleUI
    from detent.adapters.confirmation.console import SimpleConsoleUI as SimpleConsoleUI
    from detent.adapters.confirmation.printing import print_streaming_chunk as print_streaming_chunk
    from detent.adapters.confirmation.strategies import (
        BlockingConfirmationStrategy as BlockingConfirmationStrategy,
    )
    from detent.adapters.confirmation.strategies import (
        BreakpointConfirmationStrategy as BreakpointConfirmationStrategy,
    )
    from detent.adapters.drivers.asyncio import AsyncInbox as AsyncInbox
    from detent.adapters.drivers.asyncio import drive_async as drive_async
    from detent.adapters.drivers.history import Runs as Runs
    from detent.adapters.drivers.observations import Observation as Observation
    from detent.adapters.drivers.performer import Purse as Purse
    from detent.adapters.drivers.recording import RunExistsError as RunExistsError
    from detent.adapters.drivers.recording import RunNotFoundError as RunNotFoundError
    from detent.adapters.drivers.run_handle import Errand as Errand
    from detent.adapters.drivers.session import Session as Session
    from detent.adapters.drivers.threads import Inbox as Inbox
    from detent.adapters.drivers.threads import drive as drive
    from detent.adapters.journals.directory import DirectoryJournal as DirectoryJournal
    from detent.adapters.journals.encrypted import SealedJournal as SealedJournal
    from detent.adapters.journals.memory import MemoryJournal as MemoryJournal
    from detent.adapters.journals.postgres import PostgresJournal as PostgresJournal
    from detent.adapters.journals.redacted import RedactedJournal as RedactedJournal
    from detent.adapters.journals.sqlite import SQLiteJournal as SQLiteJournal
    from detent.adapters.providers.anthropic.chat import (
        AnthropicChatGenerator as AnthropicChatGenerator,
    )
    from detent.adapters.providers.bedrock.chat import AccessKey as AccessKey
    from detent.adapters.providers.bedrock.chat import BedrockChatGenerator as BedrockChatGenerator
    from detent.adapters.providers.cohere.chat import CohereChatGenerator as CohereChatGenerator
    from detent.adapters.providers.fallback import FallbackChatGenerator as FallbackChatGenerator
    from detent.adapters.providers.gemini.chat import GeminiChatGenerator as GeminiChatGenerator
    from detent.adapters.providers.gemini.chat import VertexChatGenerator as VertexChatGenerator
    from detent.adapters.providers.http.caller import Timeouts as Timeouts
    from detent.adapters.providers.http.endpoints import Home as Home
    from detent.adapters.providers.http.secrets import Secret as Secret
    from detent.adapters.providers.local.chat import LocalChatGenerator as LocalChatGenerator
    from detent.adapters.providers.ollama.chat import OllamaChatGenerator as OllamaChatGenerator
    from detent.adapters.providers.openai.chat import OpenAIChatGenerator as OpenAIChatGenerator
    from detent.adapters.providers.openai.profiles import Profile as Profile
    from detent.adapters.providers.openai.servers import (
        AzureOpenAIChatGenerator as AzureOpenAIChatGenerator,
    )
    from detent.adapters.providers.openai.servers import (
        DeepSeekChatGenerator as DeepSeekChatGenerator,
    )
    from detent.adapters.providers.openai.servers import GroqChatGenerator as GroqChatGenerator
    from detent.adapters.providers.openai.servers import (
        LlamaCppChatGenerator as LlamaCppChatGenerator,
    )
    from detent.adapters.providers.openai.servers import (
        MistralChatGenerator as MistralChatGenerator,
    )
    from detent.adapters.providers.openai.servers import (
        OllamaV1ChatGenerator as OllamaV1ChatGenerator,
    )
    from detent.adapters.providers.openai.servers import (
        OpenRouterChatGenerator as OpenRouterChatGenerator,
    )
    from detent.adapters.providers.openai.servers import (
        TogetherChatGenerator as TogetherChatGenerator,
    )
    from detent.adapters.providers.openai.servers import VLLMChatGenerator as VLLMChatGenerator
    from detent.adapters.providers.openai.servers import XAIChatGenerator as XAIChatGenerator
    from detent.adapters.providers.openai_responses.chat import (
        OpenAIResponsesChatGenerator as OpenAIResponsesChatGenerator,
    )
    from detent.adapters.providers.registry import chat_generator as chat_generator
    from detent.adapters.system.chance import SystemChance as SystemChance
    from detent.adapters.system.clocks import ManualClock as ManualClock
    from detent.adapters.system.clocks import SystemClock as SystemClock
    from detent.adapters.system.snapshot_files import load_snapshot as load_snapshot
    from detent.adapters.system.snapshot_files import save_snapshot as save_snapshot
    from detent.adapters.system.threads_and_loops import (
        FunctionToolExecutor as FunctionToolExecutor,
    )
    from detent.adapters.testing.doubles.scripted import (
        ScriptedChatGenerator as ScriptedChatGenerator,
    )
    from detent.core.chat.documents import Document as Document
    from detent.core.chat.messages import ChatMessage as ChatMessage
    from detent.core.chat.messages import ChatRole as ChatRole
    from detent.core.chat.messages import FileContent as FileContent
    from detent.core.chat.messages import ImageContent as ImageContent
    from detent.core.chat.messages import ReasoningContent as ReasoningContent
    from detent.core.chat.messages import TextContent as TextContent
    from detent.core.chat.messages import ToolCall as ToolCall
    from detent.core.chat.messages import ToolCallResult as ToolCallResult
    from detent.core.chat.replies import ChatReply as ChatReply
    from detent.core.chat.replies import ModelFailure as ModelFailure
    from detent.core.chat.replies import SchemaMode as SchemaMode
    from detent.core.chat.replies import StreamingChunk as StreamingChunk
    from detent.core.chat.replies import ToolCallDelta as ToolCallDelta
    from detent.core.chat.replies import Usage as Usage
    from detent.core.control.breakpoints import AgentBreakpoint as AgentBreakpoint
    from detent.core.control.breakpoints import Breakpoint as Breakpoint
    from detent.core.control.breakpoints import ToolBreakpoint as ToolBreakpoint
    from detent.core.control.breakpoints import every_step as every_step
    from detent.core.control.compaction import keep_last_messages as keep_last_messages
    from detent.core.control.compaction import shorten_tool_results as shorten_tool_results
    from detent.core.control.hooks import Hook as Hook
    from detent.core.control.hooks import HookError as HookError
    from detent.core.control.hooks import after_model as after_model
    from detent.core.control.hooks import after_tool as after_tool
    from detent.core.control.hooks import before_model as before_model
    from detent.core.control.hooks import before_tool as before_tool
    from detent.core.control.hooks import on_exit as on_exit
    from detent.core.control.judging import judge as judge
    from detent.core.control.pending import PendingCall as PendingCall
    from detent.core.control.pending import ToolExecutionDecision as ToolExecutionDecision
    from detent.core.control.pending import pending as pending
    from detent.core.control.policies import AllOf as AllOf
    from detent.core.control.policies import AlwaysAskPolicy as AlwaysAskPolicy
    from detent.core.control.policies import AnyOf as AnyOf
    from detent.core.control.policies import AskAbove as AskAbove
    from detent.core.control.policies import AskAfter as AskAfter
    from detent.core.control.policies import Asking as Asking
    from detent.core.control.policies import AskOncePolicy as AskOncePolicy
    from detent.core.control.policies import AskOverBudget as AskOverBudget
    from detent.core.control.policies import AskWhen as AskWhen
    from detent.core.control.policies import NeverAskPolicy as NeverAskPolicy
    from detent.core.control.policies import Not as Not
    from detent.core.errors import DetentError as DetentError
    from detent.core.errors import OutputError as OutputError
    from detent.core.errors import SchemaError as SchemaError
    from detent.core.errors import StateError as StateError
    from detent.core.errors import StateTypeError as StateTypeError
    from detent.core.errors import StoredDataError as StoredDataError
    from detent.core.errors import ToolDefinitionError as ToolDefinitionError
    from detent.core.errors import UnknownEffectError as UnknownEffectError
    from detent.core.errors import UnstorableError as UnstorableError
    from detent.core.errors import WiringError as WiringError
    from detent.core.machine.delegation import NoAnswerError as NoAnswerError
    from detent.core.machine.delegation import inside as inside
    from detent.core.machine.delegation import run_at as run_at
    from detent.core.machine.due import due as due
    from detent.core.machine.refusals import DecisionRefusedError as DecisionRefusedError
    from detent.core.machine.refusals import Refusal as Refusal
    from detent.core.machine.step import replay as replay
    from detent.core.machine.step import start as start
    from detent.core.machine.step import step as step
    from detent.core.result import AgentResult as AgentResult
    from detent.core.result import BreakpointException as BreakpointException
    from detent.core.result import StreamingCallbackError as StreamingCallbackError
    from detent.core.result import ToolInvocationError as ToolInvocationError
    from detent.core.run.decisions import Allow as Allow
    from detent.core.run.decisions import Answered as Answered
    from detent.core.run.decisions import Ask as Ask
    from detent.core.run.decisions import Confirmed as Confirmed
    from detent.core.run.decisions import Decision as Decision
    from detent.core.run.decisions import Modified as Modified
    from detent.core.run.decisions import Rejected as Rejected
    from detent.core.run.decisions import Scope as Scope
    from detent.core.run.decisions import Wording as Wording
    from detent.core.run.effects import AskHuman as AskHuman
    from detent.core.run.effects import AskModel as AskModel
    from detent.core.run.effects import Effect as Effect
    from detent.core.run.effects import EffectKey as EffectKey
    from detent.core.run.effects import Judge as Judge
    from detent.core.run.effects import Reconcile as Reconcile
    from detent.core.run.effects import RunTool as RunTool
    from detent.core.run.effects import WaitUntil as WaitUntil
    from detent.core.run.events import CancelRequested as CancelRequested
    from detent.core.run.events import ClockTicked as ClockTicked
    from detent.core.run.events import Event as Event
    from detent.core.run.events import GrantRevoked as GrantRevoked
    from detent.core.run.events import HappenedInside as HappenedInside
    from detent.core.run.events import HumanDecided as HumanDecided
    from detent.core.run.events import Judged as Judged
    from detent.core.run.events import ModelFailed as ModelFailed
    from detent.core.run.events import ModelReplied as ModelReplied
    from detent.core.run.events import Resumed as Resumed
    from detent.core.run.events import SentBack as SentBack
    from detent.core.run.events import ToolNeverRan as ToolNeverRan
    from detent.core.run.events import ToolRaised as ToolRaised
    from detent.core.run.events import ToolReturned as ToolReturned
    from detent.core.run.events import ToolStarted as ToolStarted
    from detent.core.run.grants import Decided as Decided
    from detent.core.run.grants import Grant as Grant
    from detent.core.run.limits import Limits as Limits
    from detent.core.run.limits import Price as Price
    from detent.core.run.limits import Prices as Prices
    from detent.core.run.outcomes import Cancelled as Cancelled
    from detent.core.run.outcomes import Exhausted as Exhausted
    from detent.core.run.outcomes import Failed as Failed
    from detent.core.run.outcomes import Finished as Finished
    from detent.core.run.outcomes import Outcome as Outcome
    from detent.core.run.output_type import OutputType as OutputType
    from detent.core.run.refs import AgentRef as AgentRef
    from detent.core.run.refs import CallRef as CallRef
    from detent.core.run.run import Acting as Acting
    from detent.core.run.run import Delegated as Delegated
    from detent.core.run.run import Done as Done
    from detent.core.run.run import Pausing as Pausing
    from detent.core.run.run import Run as Run
    from detent.core.run.run import RunOptions as RunOptions
    from detent.core.run.run import Slot as Slot
    from detent.core.run.run import Thinking as Thinking
    from detent.core.run.spec import AgentSpec as AgentSpec
    from detent.core.state.diff import Change as Change
    from detent.core.state.diff import diff as diff
    from detent.core.state.fields import Added as Added
    from detent.core.state.fields import Appended as Appended
    from detent.core.state.fields import Field as Field
    from detent.core.state.fields import Highest as Highest
    from detent.core.state.fields import Latest as Latest
    from detent.core.state.fields import Lowest as Lowest
    from detent.core.state.fields import Merged as Merged
    from detent.core.state.fields import Replaced as Replaced
    from detent.core.state.fields import Unique as Unique
    from detent.core.state.fields import United as United
    from detent.core.state.handlers import add_numbers as add_numbers
    from detent.core.state.handlers import append_unique as append_unique
    from detent.core.state.handlers import append_unique_by as append_unique_by
    from detent.core.state.handlers import keep_last as keep_last
    from detent.core.state.handlers import keep_max as keep_max
    from detent.core.state.handlers import keep_min as keep_min
    from detent.core.state.handlers import merge_dicts as merge_dicts
    from detent.core.state.handlers import merge_lists as merge_lists
    from detent.core.state.handlers import replace_values as replace_values
    from detent.core.state.handlers import unite_sets as unite_sets
    from detent.core.state.keys import Key as Key
    from detent.core.state.keys import Write as Write
    from detent.core.state.state import BaseState as BaseState
    from detent.core.state.state import State as State
    from detent.core.state.state import TypedState as TypedState
    from detent.core.state.state import class_schema as class_schema
    from detent.core.storage.snapshot import AgentSnapshot as AgentSnapshot
    from detent.core.storage.snapshot import SnapshotMismatchError as SnapshotMismatchError
    from detent.core.storage.snapshot import (
        get_tool_calls_and_descriptions_from_snapshot as get_tool_calls_and_descriptions_from_snapshot,  # noqa: E501 - the name that users know
    )
    from detent.core.tools.components import ComponentTool as ComponentTool
    from detent.core.tools.components import component as component
    from detent.core.tools.decorator import FunctionTool as FunctionTool
    from detent.core.tools.decorator import create_tool_from_function as create_tool_from_function
    from detent.core.tools.decorator import tool as tool
    from detent.core.tools.idempotency import NEVER_RAN as NEVER_RAN
    from detent.core.tools.idempotency import IdempotencyKey as IdempotencyKey
    from detent.core.tools.invocation import Invocation as Invocation
    from detent.core.tools.masking import Masked as Masked
    from detent.core.tools.result import ToolFault as ToolFault
    from detent.core.tools.result import ToolResult as ToolResult
    from detent.core.tools.result import result_of as result_of
    from detent.core.tools.retries import Retries as Retries
    from detent.core.tools.tool import Tool as Tool
    from detent.core.tools.tool import ToolSpec as ToolSpec
    from detent.core.tools.toolsets import Toolset as Toolset
    from detent.core.tools.wiring import Reply as Reply
    from detent.core.tools.wiring import inject as inject
    from detent.core.tools.wiring import stores as stores
    from detent.core.values.frozen import FrozenDict as FrozenDict
    from detent.core.values.frozen import thaw as thaw
    from detent.ports.chance import Chance as Chance
    from detent.ports.chat import AsyncChatGenerator as AsyncChatGenerator
    from detent.ports.chat import ChatGenerator as ChatGenerator
    from detent.ports.chat import ChatGeneratorError as ChatGeneratorError
    from detent.ports.clock import Clock as Clock
    from detent.ports.confirmation import ConfirmationPolicy as ConfirmationPolicy
    from detent.ports.confirmation import ConfirmationStrategy as ConfirmationStrategy
    from detent.ports.confirmation import ConfirmationUI as ConfirmationUI
    from detent.ports.confirmation import ConfirmationUIResult as ConfirmationUIResult
    from detent.ports.confirmation import HITLBreakpointException as HITLBreakpointException
    from detent.ports.journal import Checkpoint as Checkpoint
    from detent.ports.journal import Entry as Entry
    from detent.ports.journal import Journal as Journal
    from detent.ports.journal import JournalConflictError as JournalConflictError
    from detent.ports.journal import JournalDamagedError as JournalDamagedError
    from detent.ports.journal import JournalError as JournalError
    from detent.ports.journal import StoredRun as StoredRun
    from detent.ports.laws import check_chance as check_chance
    from detent.ports.laws import check_chat_generator as check_chat_generator
    from detent.ports.laws import check_clock as check_clock
    from detent.ports.laws import check_confirmation_ui as check_confirmation_ui
    from detent.ports.laws import check_handler as check_handler
    from detent.ports.laws import check_journal as check_journal
    from detent.ports.laws import check_observer as check_observer
    from detent.ports.laws import check_tool_executor as check_tool_executor
    from detent.ports.observer import Observer as Observer
    from detent.ports.stopping import when_stopped as when_stopped
    from detent.ports.tool_execution import AsyncToolExecutor as AsyncToolExecutor
    from detent.ports.tool_execution import ToolExecutor as ToolExecutor

_HOMES = {
    "adapters.agent.agent": "Agent",
    "adapters.agent.agent_tool": "AgentTool",
    "adapters.agent.data": "AgentDataError",
    "adapters.confirmation.console": "RichConsoleUI SimpleConsoleUI",
    "adapters.confirmation.printing": "print_streaming_chunk",
    "adapters.confirmation.strategies": (
        "BlockingConfirmationStrategy BreakpointConfirmationStrategy"
    ),
    "adapters.drivers.asyncio": "AsyncInbox drive_async",
    "adapters.drivers.history": "Runs",
    "adapters.drivers.observations": "Observation",
    "adapters.drivers.performer": "Purse",
    "adapters.drivers.recording": "RunExistsError RunNotFoundError",
    "adapters.drivers.run_handle": "Errand",
    "adapters.drivers.session": "Session",
    "adapters.drivers.threads": "Inbox drive",
    "adapters.journals.directory": "DirectoryJournal",
    "adapters.journals.encrypted": "SealedJournal",
    "adapters.journals.memory": "MemoryJournal",
    "adapters.journals.postgres": "PostgresJournal",
    "adapters.journals.redacted": "RedactedJournal",
    "adapters.journals.sqlite": "SQLiteJournal",
    "adapters.providers.anthropic.chat": "AnthropicChatGenerator",
    "adapters.providers.bedrock.chat": "AccessKey BedrockChatGenerator",
    "adapters.providers.cohere.chat": "CohereChatGenerator",
    "adapters.providers.fallback": "FallbackChatGenerator",
    "adapters.providers.gemini.chat": "GeminiChatGenerator VertexChatGenerator",
    "adapters.providers.http.caller": "Timeouts",
    "adapters.providers.http.endpoints": "Home",
    "adapters.providers.http.secrets": "Secret",
    "adapters.providers.local.chat": "LocalChatGenerator",
    "adapters.providers.ollama.chat": "OllamaChatGenerator",
    "adapters.providers.openai.chat": "OpenAIChatGenerator",
    "adapters.providers.openai.profiles": "Profile",
    "adapters.providers.openai.servers": (
        "AzureOpenAIChatGenerator DeepSeekChatGenerator GroqChatGenerator "
        "LlamaCppChatGenerator MistralChatGenerator OllamaV1ChatGenerator "
        "OpenRouterChatGenerator TogetherChatGenerator VLLMChatGenerator XAIChatGenerator"
    ),
    "adapters.providers.openai_responses.chat": "OpenAIResponsesChatGenerator",
    "adapters.providers.registry": "chat_generator",
    "adapters.system.chance": "SystemChance",
    "adapters.system.clocks": "ManualClock SystemClock",
    "adapters.system.snapshot_files": "load_snapshot save_snapshot",
    "adapters.system.threads_and_loops": "FunctionToolExecutor",
    "adapters.testing.doubles.scripted": "ScriptedChatGenerator",
    "core.chat.documents": "Document",
    "core.chat.messages": (
        "ChatMessage ChatRole FileContent ImageContent ReasoningContent TextContent ToolCall "
        "ToolCallResult"
    ),
    "core.chat.replies": "ChatReply ModelFailure SchemaMode StreamingChunk ToolCallDelta Usage",
    "core.control.breakpoints": "AgentBreakpoint Breakpoint ToolBreakpoint every_step",
    "core.control.compaction": "keep_last_messages shorten_tool_results",
    "core.control.hooks": "Hook HookError after_model after_tool before_model before_tool on_exit",
    "core.control.judging": "judge",
    "core.control.pending": "PendingCall ToolExecutionDecision pending",
    "core.control.policies": (
        "AllOf AlwaysAskPolicy AnyOf AskAbove AskAfter AskOncePolicy AskOverBudget AskWhen "
        "Asking NeverAskPolicy Not"
    ),
    "core.errors": (
        "DetentError OutputError SchemaError StateError StateTypeError StoredDataError "
        "ToolDefinitionError UnknownEffectError UnstorableError WiringError"
    ),
    "core.machine.delegation": "NoAnswerError inside run_at",
    "core.machine.due": "due",
    "core.machine.refusals": "DecisionRefusedError Refusal",
    "core.machine.step": "replay start step",
    "core.result": "AgentResult BreakpointException StreamingCallbackError ToolInvocationError",
    "core.run.decisions": "Allow Answered Ask Confirmed Decision Modified Rejected Scope Wording",
    "core.run.effects": "AskHuman AskModel Effect EffectKey Judge Reconcile RunTool WaitUntil",
    "core.run.events": (
        "CancelRequested ClockTicked Event GrantRevoked HappenedInside HumanDecided Judged "
        "ModelFailed ModelReplied Resumed SentBack ToolNeverRan ToolRaised ToolReturned "
        "ToolStarted"
    ),
    "core.run.grants": "Decided Grant",
    "core.run.limits": "Limits Price Prices",
    "core.run.outcomes": "Cancelled Exhausted Failed Finished Outcome",
    "core.run.output_type": "OutputType",
    "core.run.refs": "AgentRef CallRef",
    "core.run.run": "Acting Delegated Done Pausing Run RunOptions Slot Thinking",
    "core.run.spec": "AgentSpec",
    "core.state.diff": "Change diff",
    "core.state.fields": "Added Appended Field Highest Latest Lowest Merged Replaced Unique United",
    "core.state.handlers": (
        "add_numbers append_unique append_unique_by keep_last keep_max keep_min merge_dicts "
        "merge_lists replace_values unite_sets"
    ),
    "core.state.keys": "Key Write",
    "core.state.state": "BaseState State TypedState class_schema",
    "core.storage.snapshot": (
        "AgentSnapshot SnapshotMismatchError get_tool_calls_and_descriptions_from_snapshot"
    ),
    "core.tools.components": "ComponentTool component",
    "core.tools.decorator": "FunctionTool create_tool_from_function tool",
    "core.tools.idempotency": "IdempotencyKey NEVER_RAN",
    "core.tools.invocation": "Invocation",
    "core.tools.masking": "Masked",
    "core.tools.result": "ToolFault ToolResult result_of",
    "core.tools.retries": "Retries",
    "core.tools.tool": "Tool ToolSpec",
    "core.tools.toolsets": "Toolset",
    "core.tools.wiring": "Reply inject stores",
    "core.values.frozen": "FrozenDict thaw",
    "ports.chance": "Chance",
    "ports.chat": "AsyncChatGenerator ChatGenerator ChatGeneratorError",
    "ports.clock": "Clock",
    "ports.confirmation": (
        "ConfirmationPolicy ConfirmationStrategy ConfirmationUI ConfirmationUIResult "
        "HITLBreakpointException"
    ),
    "ports.journal": (
        "Checkpoint Entry Journal JournalConflictError JournalDamagedError JournalError StoredRun"
    ),
    "ports.laws": (
        "check_chance check_chat_generator check_clock check_confirmation_ui check_handler "
        "check_journal check_observer check_tool_executor"
    ),
    "ports.observer": "Observer",
    "ports.stopping": "when_stopped",
    "ports.tool_execution": "AsyncToolExecutor ToolExecutor",
}
"""Where each public name lives: the same as above, for the interpreter."""

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
if not TYPE_CHECKING:
    __all__ = [*_HOME_OF]  # noqa: PLE0604 - names, made from the table


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'detent' has no attribute {name!r}")
    value: object = getattr(import_module(f"detent.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
