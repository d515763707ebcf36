"""Arguments: what a model passes to a tool, checked before anything runs or a human is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from detent.core.chat.messages import ToolCall
from detent.core.schema.conversion import ConversionError
from detent.core.schema.validation import faults
from detent.core.tools.redaction import without_secrets
from detent.core.tools.result import ToolFault
from detent.core.tools.tool import Tool

if TYPE_CHECKING:
    from returns.result import Result


def read_arguments(call: ToolCall, tool: Tool) -> Result[ToolCall, ToolFault]:
    """The call, if its arguments are what the tool takes; else what the model is told of them."""
    from returns.result import Failure, Success  # 20 ms: loaded with the first call of a tool

    if problems := argument_faults(call, tool):
        text = f"Tool '{tool.name}' was not run: {'; '.join(problems)}"
        return Failure(ToolFault("invalid_arguments", text).because(ConversionError(problems)))
    return Success(call)


def without_hidden(call: ToolCall, tool: Tool) -> ToolCall:
    """The call without what the model sent for parameters that the state fills."""
    if not tool.hidden or tool.hidden.isdisjoint(call.arguments):
        return call
    kept = {name: value for name, value in call.arguments.items() if name not in tool.hidden}
    return evolve(call, arguments=kept)


def argument_faults(call: ToolCall, tool: Tool) -> list[str]:
    """One sentence for each way in which the call's arguments are not what the tool takes."""
    if call.unreadable is not None:
        return [f"the arguments are not a JSON object: {call.unreadable}"]
    if tool.fits(call.arguments):
        return []
    found = faults(call.arguments, tool.spec.parameters)
    return [without_secrets(text, call.arguments, tool.masked) for text in found]
