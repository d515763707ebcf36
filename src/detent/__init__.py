"""Detent: an agent runtime that can stop at any point and carry on.

What the first programs need is importable from here; the rest has a home by subject:
`detent.models`, `detent.approvals`, `detent.journals`, `detent.machine`, `detent.telemetry` and
`detent.testing`. A name is loaded when it is first used, so that ``import detent`` stays light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detent.adapters.agent.agent import Agent as Agent
    from detent.adapters.agent.agent_tool import AgentTool as AgentTool
    from detent.adapters.agent.data import AgentDataError as AgentDataError
    from detent.adapters.confirmation.console import RichConsoleUI as RichConsoleUI
    from detent.adapters.confirmation.console import SimpleConsoleUI as SimpleConsoleUI
    from detent.adapters.confirmation.policies import AlwaysAskPolicy as AlwaysAskPolicy
    from detent.adapters.confirmation.policies import AskAbove as AskAbove
    from detent.adapters.confirmation.policies import AskOncePolicy as AskOncePolicy
    from detent.adapters.confirmation.policies import NeverAskPolicy as NeverAskPolicy
    from detent.adapters.confirmation.printing import print_streaming_chunk as print_streaming_chunk
    from detent.adapters.confirmation.stopped_calls import (
        get_tool_calls_and_descriptions_from_snapshot as get_tool_calls_and_descriptions_from_snapshot,  # noqa: E501 - the name that users know
    )
    from detent.adapters.confirmation.strategies import (
        BlockingConfirmationStrategy as BlockingConfirmationStrategy,
    )
    from detent.adapters.confirmation.strategies import (
        BreakpointConfirmationStrategy as BreakpointConfirmationStrategy,
    )
    from detent.adapters.confirmation.tallies import AskAfter as AskAfter
    from detent.adapters.control.breakpoints import AgentBreakpoint as AgentBreakpoint
    from detent.adapters.control.breakpoints import Breakpoint as Breakpoint
    from detent.adapters.control.breakpoints import ToolBreakpoint as ToolBreakpoint
    from detent.adapters.control.breakpoints import break_every_step as break_every_step
    from detent.adapters.control.compaction import keep_last_messages as keep_last_messages
    from detent.adapters.control.compaction import shorten_tool_results as shorten_tool_results
    from detent.adapters.drivers.asyncio import AsyncInbox as AsyncInbox
    from detent.adapters.drivers.history import Runs as Runs
    from detent.adapters.drivers.observations import Observation as Observation
    from detent.adapters.drivers.threads import Inbox as Inbox
    from detent.adapters.journals.memory import MemoryJournal as MemoryJournal
    from detent.adapters.journals.sqlite import SQLiteJournal as SQLiteJournal
    from detent.adapters.providers.openai.chat import OpenAIChatGenerator as OpenAIChatGenerator
    from detent.adapters.providers.prices import Price as Price
    from detent.adapters.providers.prices import Prices as Prices
    from detent.adapters.providers.registry import chat_generator as chat_generator
    from detent.adapters.state.diff import Change as Change
    from detent.adapters.state.diff import diff as diff
    from detent.adapters.state.fields import Counter as Counter
    from detent.adapters.state.fields import LastN as LastN
    from detent.adapters.state.fields import Maximum as Maximum
    from detent.adapters.state.fields import Merged as Merged
    from detent.adapters.state.fields import Minimum as Minimum
    from detent.adapters.state.fields import Replaced as Replaced
    from detent.adapters.state.fields import SetUnion as SetUnion
    from detent.adapters.state.fields import Unique as Unique
    from detent.adapters.state.typed_state import TypedState as TypedState
    from detent.adapters.state.typed_state import class_schema as class_schema
    from detent.adapters.system.snapshot_files import load_snapshot as load_snapshot
    from detent.adapters.system.snapshot_files import save_snapshot as save_snapshot
    from detent.adapters.system.version import __version__ as __version__
    from detent.adapters.testing.doubles.scripted import (
        ScriptedChatGenerator as ScriptedChatGenerator,
    )
    from detent.adapters.tools.component_tool import ComponentTool as ComponentTool
    from detent.adapters.tools.component_tool import component as component
    from detent.adapters.tools.decorator import FunctionTool as FunctionTool
    from detent.adapters.tools.decorator import (
        create_tool_from_function as create_tool_from_function,
    )
    from detent.adapters.tools.decorator import inject as inject
    from detent.adapters.tools.decorator import stores as stores
    from detent.adapters.tools.decorator import tool as tool
    from detent.adapters.tools.documents import Document as Document
    from detent.adapters.tools.output_type import OutputType as OutputType
    from detent.adapters.tools.toolsets import Toolset as Toolset
    from detent.core.chat.messages import ChatMessage as ChatMessage
    from detent.core.chat.messages import ChatRole as ChatRole
    from detent.core.chat.messages import FileContent as FileContent
    from detent.core.chat.messages import ImageContent as ImageContent
    from detent.core.chat.messages import ReasoningContent as ReasoningContent
    from detent.core.chat.messages import TextContent as TextContent
    from detent.core.chat.messages import ToolCall as ToolCall
    from detent.core.chat.messages import ToolCallResult as ToolCallResult
    from detent.core.control.decisions import ToolExecutionDecision as ToolExecutionDecision
    from detent.core.control.hooks import Hook as Hook
    from detent.core.control.hooks import HookError as HookError
    from detent.core.control.hooks import after_model as after_model
    from detent.core.control.hooks import after_tool as after_tool
    from detent.core.control.hooks import before_model as before_model
    from detent.core.control.hooks import before_tool as before_tool
    from detent.core.control.hooks import on_exit as on_exit
    from detent.core.errors import DetentError as DetentError
    from detent.core.errors import OutputError as OutputError
    from detent.core.errors import SchemaError as SchemaError
    from detent.core.errors import StateError as StateError
    from detent.core.errors import StateTypeError as StateTypeError
    from detent.core.errors import StoredDataError as StoredDataError
    from detent.core.errors import ToolDefinitionError as ToolDefinitionError
    from detent.core.errors import UnstorableError as UnstorableError
    from detent.core.errors import WiringError as WiringError
    from detent.core.run.approval import Answered as Answered
    from detent.core.run.approval import Confirmed as Confirmed
    from detent.core.run.approval import Modified as Modified
    from detent.core.run.approval import Rejected as Rejected
    from detent.core.run.limits import Limits as Limits
    from detent.core.state.fields import Appended as Appended
    from detent.core.state.fields import Field as Field
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
    from detent.core.state.state import State as State
    from detent.core.storage.snapshot import AgentSnapshot as AgentSnapshot
    from detent.core.storage.snapshot import SnapshotMismatchError as SnapshotMismatchError
    from detent.core.tools.idempotency import NEVER_RAN as NEVER_RAN
    from detent.core.tools.idempotency import FencingToken as FencingToken
    from detent.core.tools.idempotency import IdempotencyKey as IdempotencyKey
    from detent.core.tools.masking import SecretParameter as SecretParameter
    from detent.core.tools.retries import Retries as Retries
    from detent.core.tools.tool import Tool as Tool
    from detent.core.tools.wiring import Reply as Reply
    from detent.core.values.frozen import thaw as thaw
    from detent.ports.chat import ChatGeneratorError as ChatGeneratorError
    from detent.ports.chat import StreamingChunk as StreamingChunk
    from detent.ports.confirmation import ConfirmationPolicy as ConfirmationPolicy
    from detent.ports.confirmation import ConfirmationStrategy as ConfirmationStrategy
    from detent.ports.confirmation import ConfirmationUI as ConfirmationUI
    from detent.ports.confirmation import ConfirmationUIResult as ConfirmationUIResult
    from detent.ports.confirmation import HITLBreakpointException as HITLBreakpointException
    from detent.ports.results import AgentResult as AgentResult
    from detent.ports.results import BreakpointException as BreakpointException
    from detent.ports.results import StreamingCallbackError as StreamingCallbackError
    from detent.ports.results import ToolInvocationError as ToolInvocationError
else:
    from detent.exports import lazy_exports

    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "adapters.agent.agent": "Agent",
            "adapters.agent.agent_tool": "AgentTool",
            "adapters.agent.data": "AgentDataError",
            "adapters.confirmation.console": "RichConsoleUI SimpleConsoleUI",
            "adapters.confirmation.policies": (
                "AlwaysAskPolicy AskAbove AskOncePolicy NeverAskPolicy"
            ),
            "adapters.confirmation.printing": "print_streaming_chunk",
            "adapters.confirmation.stopped_calls": "get_tool_calls_and_descriptions_from_snapshot",
            "adapters.confirmation.strategies": (
                "BlockingConfirmationStrategy BreakpointConfirmationStrategy"
            ),
            "adapters.confirmation.tallies": "AskAfter",
            "adapters.control.breakpoints": (
                "AgentBreakpoint Breakpoint ToolBreakpoint break_every_step"
            ),
            "adapters.control.compaction": "keep_last_messages shorten_tool_results",
            "adapters.drivers.asyncio": "AsyncInbox",
            "adapters.drivers.history": "Runs",
            "adapters.drivers.observations": "Observation",
            "adapters.drivers.threads": "Inbox",
            "adapters.journals.memory": "MemoryJournal",
            "adapters.journals.sqlite": "SQLiteJournal",
            "adapters.providers.openai.chat": "OpenAIChatGenerator",
            "adapters.providers.prices": "Price Prices",
            "adapters.providers.registry": "chat_generator",
            "adapters.state.diff": "Change diff",
            "adapters.state.fields": (
                "Counter LastN Maximum Merged Minimum Replaced SetUnion Unique"
            ),
            "adapters.state.typed_state": "TypedState class_schema",
            "adapters.system.snapshot_files": "load_snapshot save_snapshot",
            "adapters.system.version": "__version__",
            "adapters.testing.doubles.scripted": "ScriptedChatGenerator",
            "adapters.tools.component_tool": "ComponentTool component",
            "adapters.tools.decorator": "FunctionTool create_tool_from_function inject stores tool",
            "adapters.tools.documents": "Document",
            "adapters.tools.output_type": "OutputType",
            "adapters.tools.toolsets": "Toolset",
            "core.chat.messages": (
                "ChatMessage ChatRole FileContent ImageContent ReasoningContent TextContent "
                "ToolCall ToolCallResult"
            ),
            "core.control.decisions": "ToolExecutionDecision",
            "core.control.hooks": (
                "Hook HookError after_model after_tool before_model before_tool on_exit"
            ),
            "core.errors": (
                "DetentError OutputError SchemaError StateError StateTypeError StoredDataError "
                "ToolDefinitionError UnstorableError WiringError"
            ),
            "core.run.approval": "Answered Confirmed Modified Rejected",
            "core.run.limits": "Limits",
            "core.state.fields": "Appended Field",
            "core.state.handlers": (
                "add_numbers append_unique append_unique_by keep_last keep_max keep_min "
                "merge_dicts merge_lists replace_values unite_sets"
            ),
            "core.state.keys": "Key",
            "core.state.state": "State",
            "core.storage.snapshot": "AgentSnapshot SnapshotMismatchError",
            "core.tools.idempotency": "FencingToken IdempotencyKey NEVER_RAN",
            "core.tools.masking": "SecretParameter",
            "core.tools.retries": "Retries",
            "core.tools.tool": "Tool",
            "core.tools.wiring": "Reply",
            "core.values.frozen": "thaw",
            "ports.chat": "ChatGeneratorError StreamingChunk",
            "ports.confirmation": (
                "ConfirmationPolicy ConfirmationStrategy ConfirmationUI ConfirmationUIResult "
                "HITLBreakpointException"
            ),
            "ports.results": (
                "AgentResult BreakpointException StreamingCallbackError ToolInvocationError"
            ),
        },
    )
