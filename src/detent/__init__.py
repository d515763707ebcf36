"""Detent: an agent runtime that can stop at any point and carry on.

Everything that users need is importable from here. A name is loaded when it is first used, so that
``import detent`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detent.adapters.agent import Agent as Agent
    from detent.adapters.agent_data import AgentDataError as AgentDataError
    from detent.adapters.agent_tool import AgentTool as AgentTool
    from detent.adapters.anthropic.chat import AnthropicChatGenerator as AnthropicChatGenerator
    from detent.adapters.bedrock.chat import AccessKey as AccessKey
    from detent.adapters.bedrock.chat import BedrockChatGenerator as BedrockChatGenerator
    from detent.adapters.chances import SystemChance as SystemChance
    from detent.adapters.clocks import ManualClock as ManualClock
    from detent.adapters.clocks import SystemClock as SystemClock
    from detent.adapters.cohere.chat import CohereChatGenerator as CohereChatGenerator
    from detent.adapters.confirmation.console import RichConsoleUI as RichConsoleUI
    from detent.adapters.confirmation.console import SimpleConsoleUI as SimpleConsoleUI
    from detent.adapters.confirmation.strategies import (
        BlockingConfirmationStrategy as BlockingConfirmationStrategy,
    )
    from detent.adapters.confirmation.strategies import (
        BreakpointConfirmationStrategy as BreakpointConfirmationStrategy,
    )
    from detent.adapters.drivers.aio import AsyncInbox as AsyncInbox
    from detent.adapters.drivers.aio import drive_async as drive_async
    from detent.adapters.drivers.errand import Errand as Errand
    from detent.adapters.drivers.pay import Purse as Purse
    from detent.adapters.drivers.recording import RunExistsError as RunExistsError
    from detent.adapters.drivers.recording import RunNotFoundError as RunNotFoundError
    from detent.adapters.drivers.runs import Runs as Runs
    from detent.adapters.drivers.session import Session as Session
    from detent.adapters.drivers.streams import Observation as Observation
    from detent.adapters.drivers.threads import Inbox as Inbox
    from detent.adapters.drivers.threads import drive as drive
    from detent.adapters.fallback import FallbackChatGenerator as FallbackChatGenerator
    from detent.adapters.functions import FunctionToolExecutor as FunctionToolExecutor
    from detent.adapters.gemini.chat import GeminiChatGenerator as GeminiChatGenerator
    from detent.adapters.gemini.chat import VertexChatGenerator as VertexChatGenerator
    from detent.adapters.http.caller import Timeouts as Timeouts
    from detent.adapters.http.homes import Home as Home
    from detent.adapters.http.secrets import Secret as Secret
    from detent.adapters.local.chat import LocalChatGenerator as LocalChatGenerator
    from detent.adapters.ollama.chat import OllamaChatGenerator as OllamaChatGenerator
    from detent.adapters.openai.chat import OpenAIChatGenerator as OpenAIChatGenerator
    from detent.adapters.openai.profiles import Profile as Profile
    from detent.adapters.openai.servers import AzureOpenAIChatGenerator as AzureOpenAIChatGenerator
    from detent.adapters.openai.servers import DeepSeekChatGenerator as DeepSeekChatGenerator
    from detent.adapters.openai.servers import GroqChatGenerator as GroqChatGenerator
    from detent.adapters.openai.servers import LlamaCppChatGenerator as LlamaCppChatGenerator
    from detent.adapters.openai.servers import MistralChatGenerator as MistralChatGenerator
    from detent.adapters.openai.servers import OllamaV1ChatGenerator as OllamaV1ChatGenerator
    from detent.adapters.openai.servers import OpenRouterChatGenerator as OpenRouterChatGenerator
    from detent.adapters.openai.servers import TogetherChatGenerator as TogetherChatGenerator
    from detent.adapters.openai.servers import VLLMChatGenerator as VLLMChatGenerator
    from detent.adapters.openai.servers import XAIChatGenerator as XAIChatGenerator
    from detent.adapters.openai_responses.chat import (
        OpenAIResponsesChatGenerator as OpenAIResponsesChatGenerator,
    )
    from detent.adapters.printing import print_streaming_chunk as print_streaming_chunk
    from detent.adapters.providers import chat_generator as chat_generator
    from detent.adapters.snapshots import load_snapshot as load_snapshot
    from detent.adapters.snapshots import save_snapshot as save_snapshot
    from detent.adapters.stores.directory import DirectoryJournal as DirectoryJournal
    from detent.adapters.stores.memory import MemoryJournal as MemoryJournal
    from detent.adapters.stores.postgres import PostgresJournal as PostgresJournal
    from detent.adapters.stores.redacted import RedactedJournal as RedactedJournal
    from detent.adapters.stores.sealed import SealedJournal as SealedJournal
    from detent.adapters.stores.sqlite import SQLiteJournal as SQLiteJournal
    from detent.adapters.testing.scripted import ScriptedChatGenerator as ScriptedChatGenerator
    from detent.core.breakpoints import AgentBreakpoint as AgentBreakpoint
    from detent.core.breakpoints import Breakpoint as Breakpoint
    from detent.core.breakpoints import BreakpointException as BreakpointException
    from detent.core.breakpoints import ToolBreakpoint as ToolBreakpoint
    from detent.core.breakpoints import every_step as every_step
    from detent.core.changes import Change as Change
    from detent.core.changes import diff as diff
    from detent.core.compaction import keep_last_messages as keep_last_messages
    from detent.core.compaction import shorten_tool_results as shorten_tool_results
    from detent.core.components import ComponentTool as ComponentTool
    from detent.core.components import component as component
    from detent.core.decisions import Allow as Allow
    from detent.core.decisions import Answered as Answered
    from detent.core.decisions import Ask as Ask
    from detent.core.decisions import Confirmed as Confirmed
    from detent.core.decisions import Decision as Decision
    from detent.core.decisions import Modified as Modified
    from detent.core.decisions import Rejected as Rejected
    from detent.core.decisions import Scope as Scope
    from detent.core.decisions import Wording as Wording
    from detent.core.declarations import Added as Added
    from detent.core.declarations import Appended as Appended
    from detent.core.declarations import Field as Field
    from detent.core.declarations import Highest as Highest
    from detent.core.declarations import Latest as Latest
    from detent.core.declarations import Lowest as Lowest
    from detent.core.declarations import Merged as Merged
    from detent.core.declarations import Replaced as Replaced
    from detent.core.declarations import Unique as Unique
    from detent.core.declarations import United as United
    from detent.core.delegation import NoAnswerError as NoAnswerError
    from detent.core.delegation import inside as inside
    from detent.core.delegation import run_at as run_at
    from detent.core.documents import Document as Document
    from detent.core.due import due as due
    from detent.core.effects import AskHuman as AskHuman
    from detent.core.effects import AskModel as AskModel
    from detent.core.effects import Effect as Effect
    from detent.core.effects import EffectKey as EffectKey
    from detent.core.effects import Judge as Judge
    from detent.core.effects import Reconcile as Reconcile
    from detent.core.effects import RunTool as RunTool
    from detent.core.effects import WaitUntil as WaitUntil
    from detent.core.errors import DetentError as DetentError
    from detent.core.errors import OutputError as OutputError
    from detent.core.errors import SchemaError as SchemaError
    from detent.core.errors import StateError as StateError
    from detent.core.errors import StateTypeError as StateTypeError
    from detent.core.errors import StoredDataError as StoredDataError
    from detent.core.errors import StreamingCallbackError as StreamingCallbackError
    from detent.core.errors import ToolDefinitionError as ToolDefinitionError
    from detent.core.errors import ToolInvocationError as ToolInvocationError
    from detent.core.errors import UnknownEffectError as UnknownEffectError
    from detent.core.errors import UnstorableError as UnstorableError
    from detent.core.errors import WiringError as WiringError
    from detent.core.events import CancelRequested as CancelRequested
    from detent.core.events import ClockTicked as ClockTicked
    from detent.core.events import Event as Event
    from detent.core.events import GrantRevoked as GrantRevoked
    from detent.core.events import HappenedInside as HappenedInside
    from detent.core.events import HumanDecided as HumanDecided
    from detent.core.events import Judged as Judged
    from detent.core.events import ModelFailed as ModelFailed
    from detent.core.events import ModelReplied as ModelReplied
    from detent.core.events import Resumed as Resumed
    from detent.core.events import SentBack as SentBack
    from detent.core.events import ToolNeverRan as ToolNeverRan
    from detent.core.events import ToolRaised as ToolRaised
    from detent.core.events import ToolReturned as ToolReturned
    from detent.core.events import ToolStarted as ToolStarted
    from detent.core.frozen import FrozenDict as FrozenDict
    from detent.core.frozen import thaw as thaw
    from detent.core.grants import Decided as Decided
    from detent.core.grants import Grant as Grant
    from detent.core.handlers import add_numbers as add_numbers
    from detent.core.handlers import append_unique as append_unique
    from detent.core.handlers import append_unique_by as append_unique_by
    from detent.core.handlers import keep_last as keep_last
    from detent.core.handlers import keep_max as keep_max
    from detent.core.handlers import keep_min as keep_min
    from detent.core.handlers import merge_dicts as merge_dicts
    from detent.core.handlers import merge_lists as merge_lists
    from detent.core.handlers import replace_values as replace_values
    from detent.core.handlers import unite_sets as unite_sets
    from detent.core.hooks import Hook as Hook
    from detent.core.hooks import HookError as HookError
    from detent.core.hooks import after_model as after_model
    from detent.core.hooks import after_tool as after_tool
    from detent.core.hooks import before_model as before_model
    from detent.core.hooks import before_tool as before_tool
    from detent.core.hooks import on_exit as on_exit
    from detent.core.idempotency import NEVER_RAN as NEVER_RAN
    from detent.core.idempotency import IdempotencyKey as IdempotencyKey
    from detent.core.invocation import Invocation as Invocation
    from detent.core.judging import judge as judge
    from detent.core.keys import Key as Key
    from detent.core.keys import Write as Write
    from detent.core.limits import Limits as Limits
    from detent.core.limits import Price as Price
    from detent.core.limits import Prices as Prices
    from detent.core.messages import ChatMessage as ChatMessage
    from detent.core.messages import ChatRole as ChatRole
    from detent.core.messages import FileContent as FileContent
    from detent.core.messages import ImageContent as ImageContent
    from detent.core.messages import ReasoningContent as ReasoningContent
    from detent.core.messages import TextContent as TextContent
    from detent.core.messages import ToolCall as ToolCall
    from detent.core.messages import ToolCallResult as ToolCallResult
    from detent.core.outcomes import Cancelled as Cancelled
    from detent.core.outcomes import Exhausted as Exhausted
    from detent.core.outcomes import Failed as Failed
    from detent.core.outcomes import Finished as Finished
    from detent.core.outcomes import Outcome as Outcome
    from detent.core.output_type import OutputType as OutputType
    from detent.core.pending import PendingCall as PendingCall
    from detent.core.pending import ToolExecutionDecision as ToolExecutionDecision
    from detent.core.pending import pending as pending
    from detent.core.policies import AllOf as AllOf
    from detent.core.policies import AlwaysAskPolicy as AlwaysAskPolicy
    from detent.core.policies import AnyOf as AnyOf
    from detent.core.policies import AskAbove as AskAbove
    from detent.core.policies import AskAfter as AskAfter
    from detent.core.policies import Asking as Asking
    from detent.core.policies import AskOncePolicy as AskOncePolicy
    from detent.core.policies import AskOverBudget as AskOverBudget
    from detent.core.policies import AskWhen as AskWhen
    from detent.core.policies import NeverAskPolicy as NeverAskPolicy
    from detent.core.policies import Not as Not
    from detent.core.refusals import DecisionRefusedError as DecisionRefusedError
    from detent.core.refusals import Refusal as Refusal
    from detent.core.replies import ChatReply as ChatReply
    from detent.core.replies import ModelFailure as ModelFailure
    from detent.core.replies import SchemaMode as SchemaMode
    from detent.core.replies import StreamingChunk as StreamingChunk
    from detent.core.replies import ToolCallDelta as ToolCallDelta
    from detent.core.replies import Usage as Usage
    from detent.core.result import AgentResult as AgentResult
    from detent.core.results import ToolFault as ToolFault
    from detent.core.results import ToolResult as ToolResult
    from detent.core.results import result_of as result_of
    from detent.core.retries import Retries as Retries
    from detent.core.run import Acting as Acting
    from detent.core.run import Done as Done
    from detent.core.run import Pausing as Pausing
    from detent.core.run import Run as Run
    from detent.core.run import RunOptions as RunOptions
    from detent.core.run import Thinking as Thinking
    from detent.core.secrecy import Masked as Masked
    from detent.core.slots import AgentRef as AgentRef
    from detent.core.slots import CallRef as CallRef
    from detent.core.slots import Delegated as Delegated
    from detent.core.slots import Slot as Slot
    from detent.core.snapshot import AgentSnapshot as AgentSnapshot
    from detent.core.snapshot import SnapshotMismatchError as SnapshotMismatchError
    from detent.core.snapshot import (
        get_tool_calls_and_descriptions_from_snapshot as get_tool_calls_and_descriptions_from_snapshot,  # noqa: E501 - the name that users know
    )
    from detent.core.spec import AgentSpec as AgentSpec
    from detent.core.state import BaseState as BaseState
    from detent.core.state import State as State
    from detent.core.state import TypedState as TypedState
    from detent.core.state import class_schema as class_schema
    from detent.core.step import replay as replay
    from detent.core.step import start as start
    from detent.core.step import step as step
    from detent.core.tools import FunctionTool as FunctionTool
    from detent.core.tools import Tool as Tool
    from detent.core.tools import ToolSpec as ToolSpec
    from detent.core.tools import create_tool_from_function as create_tool_from_function
    from detent.core.tools import tool as tool
    from detent.core.toolsets import Toolset as Toolset
    from detent.core.wiring import Reply as Reply
    from detent.core.wiring import inject as inject
    from detent.core.wiring import stores as stores
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
    "adapters.agent": "Agent",
    "adapters.agent_data": "AgentDataError",
    "adapters.agent_tool": "AgentTool",
    "adapters.anthropic.chat": "AnthropicChatGenerator",
    "adapters.bedrock.chat": "AccessKey BedrockChatGenerator",
    "adapters.chances": "SystemChance",
    "adapters.clocks": "ManualClock SystemClock",
    "adapters.cohere.chat": "CohereChatGenerator",
    "adapters.confirmation.console": "RichConsoleUI SimpleConsoleUI",
    "adapters.confirmation.strategies": (
        "BlockingConfirmationStrategy BreakpointConfirmationStrategy"
    ),
    "adapters.drivers.aio": "AsyncInbox drive_async",
    "adapters.drivers.errand": "Errand",
    "adapters.drivers.pay": "Purse",
    "adapters.drivers.recording": "RunExistsError RunNotFoundError",
    "adapters.drivers.runs": "Runs",
    "adapters.drivers.session": "Session",
    "adapters.drivers.streams": "Observation",
    "adapters.drivers.threads": "Inbox drive",
    "adapters.fallback": "FallbackChatGenerator",
    "adapters.functions": "FunctionToolExecutor",
    "adapters.gemini.chat": "GeminiChatGenerator VertexChatGenerator",
    "adapters.http.caller": "Timeouts",
    "adapters.http.homes": "Home",
    "adapters.http.secrets": "Secret",
    "adapters.local.chat": "LocalChatGenerator",
    "adapters.ollama.chat": "OllamaChatGenerator",
    "adapters.openai.chat": "OpenAIChatGenerator",
    "adapters.openai.profiles": "Profile",
    "adapters.openai.servers": (
        "AzureOpenAIChatGenerator DeepSeekChatGenerator GroqChatGenerator "
        "LlamaCppChatGenerator MistralChatGenerator OllamaV1ChatGenerator "
        "OpenRouterChatGenerator TogetherChatGenerator VLLMChatGenerator XAIChatGenerator"
    ),
    "adapters.openai_responses.chat": "OpenAIResponsesChatGenerator",
    "adapters.printing": "print_streaming_chunk",
    "adapters.providers": "chat_generator",
    "adapters.snapshots": "load_snapshot save_snapshot",
    "adapters.stores.directory": "DirectoryJournal",
    "adapters.stores.memory": "MemoryJournal",
    "adapters.stores.postgres": "PostgresJournal",
    "adapters.stores.redacted": "RedactedJournal",
    "adapters.stores.sealed": "SealedJournal",
    "adapters.stores.sqlite": "SQLiteJournal",
    "adapters.testing.scripted": "ScriptedChatGenerator",
    "core.breakpoints": "AgentBreakpoint Breakpoint BreakpointException ToolBreakpoint every_step",
    "core.changes": "Change diff",
    "core.compaction": "keep_last_messages shorten_tool_results",
    "core.components": "ComponentTool component",
    "core.decisions": "Allow Answered Ask Confirmed Decision Modified Rejected Scope Wording",
    "core.declarations": "Added Appended Field Highest Latest Lowest Merged Replaced Unique United",
    "core.delegation": "NoAnswerError inside run_at",
    "core.documents": "Document",
    "core.due": "due",
    "core.effects": "AskHuman AskModel Effect EffectKey Judge Reconcile RunTool WaitUntil",
    "core.errors": (
        "DetentError OutputError SchemaError StateError StateTypeError StoredDataError "
        "StreamingCallbackError ToolDefinitionError ToolInvocationError "
        "UnknownEffectError UnstorableError WiringError"
    ),
    "core.events": (
        "CancelRequested ClockTicked Event GrantRevoked HappenedInside HumanDecided "
        "Judged ModelFailed ModelReplied Resumed SentBack ToolNeverRan ToolRaised "
        "ToolReturned ToolStarted"
    ),
    "core.frozen": "FrozenDict thaw",
    "core.grants": "Decided Grant",
    "core.handlers": (
        "add_numbers append_unique append_unique_by keep_last keep_max keep_min "
        "merge_dicts merge_lists replace_values unite_sets"
    ),
    "core.hooks": "Hook HookError after_model after_tool before_model before_tool on_exit",
    "core.idempotency": "IdempotencyKey NEVER_RAN",
    "core.invocation": "Invocation",
    "core.judging": "judge",
    "core.keys": "Key Write",
    "core.limits": "Limits Price Prices",
    "core.messages": (
        "ChatMessage ChatRole FileContent ImageContent ReasoningContent TextContent "
        "ToolCall ToolCallResult"
    ),
    "core.outcomes": "Cancelled Exhausted Failed Finished Outcome",
    "core.output_type": "OutputType",
    "core.pending": "PendingCall ToolExecutionDecision pending",
    "core.policies": (
        "AllOf AlwaysAskPolicy AnyOf AskAbove AskAfter AskOncePolicy AskOverBudget "
        "AskWhen Asking NeverAskPolicy Not"
    ),
    "core.refusals": "DecisionRefusedError Refusal",
    "core.replies": "ChatReply ModelFailure SchemaMode StreamingChunk ToolCallDelta Usage",
    "core.result": "AgentResult",
    "core.results": "ToolFault ToolResult result_of",
    "core.retries": "Retries",
    "core.run": "Acting Done Pausing Run RunOptions Thinking",
    "core.secrecy": "Masked",
    "core.slots": "AgentRef CallRef Delegated Slot",
    "core.snapshot": (
        "AgentSnapshot SnapshotMismatchError get_tool_calls_and_descriptions_from_snapshot"
    ),
    "core.spec": "AgentSpec",
    "core.state": "BaseState State TypedState class_schema",
    "core.step": "replay start step",
    "core.tools": "FunctionTool Tool ToolSpec create_tool_from_function tool",
    "core.toolsets": "Toolset",
    "core.wiring": "Reply inject stores",
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
        "check_chance check_chat_generator check_clock check_confirmation_ui "
        "check_handler check_journal check_observer check_tool_executor"
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
