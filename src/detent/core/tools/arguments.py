"""Arguments: what a model passes to a tool, checked before anything runs or a human is asked."""

from __future__ import annotations

from attrs import evolve

from detent.core.chat.messages import ToolCall
from detent.core.schema.validation import faults
from detent.core.tools.redaction import without_secrets
from detent.core.tools.tool import Tool


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
