"""Secrets by value: what nobody may see of the call of a tool, wherever it is quoted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TypeAlias

from detent.core.chat.messages import ToolCall
from detent.core.schema.conversion import ConversionError, as_it_is
from detent.core.state.state import BaseState
from detent.core.tools.defaults import with_defaults
from detent.core.tools.tool import Tool

SecretValues: TypeAlias = Mapping[str, Sequence[object]]
"""By the name of a parameter its values, in each form in which somebody may quote one."""


def secrets_of_call(
    call: ToolCall,
    tool: Tool,
    state: BaseState,
    arguments: Mapping[str, object] | None = None,
) -> dict[str, list[object]]:
    """What is secret in a call: as it was sent, as the function has got it, or from the state.

    An error says a key of bytes, or a date, as Python prints it, and not as JSON has it. The
    `arguments` are those `with_defaults`, where they are known already.
    """
    if not tool.masked:
        return {}
    whole = with_defaults(call, tool) if arguments is None else arguments
    own, readers = tool.signature.defaults, tool.readers
    secrets: dict[str, list[object]] = {}
    for name in tool.masked & whole.keys():
        value = whole[name]
        forms = [value]
        if name in own and name not in call.arguments:
            forms.append(own[name])
        else:
            with suppress(ConversionError):  # then it was never made
                forms.append(readers.get(name, as_it_is)(value, name))
        secrets[name] = forms
    for name, value in tool.signature.bound.items():
        if name in tool.masked:
            secrets[name] = [value]
    for item in tool.inputs:
        if item.parameter in tool.masked and state.holds(item.key):
            secrets[item.parameter] = [state.read(item.key)]
    return secrets
