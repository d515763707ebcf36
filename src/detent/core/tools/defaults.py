"""Defaults: what a tool takes for the arguments that a call leaves out.

RULE: what people are shown, policies judge and decisions are bound to is what runs. So a call runs
with what its schema says stands for what it leaves out, and never as it was written: what reads it,
a class or another program, may have other defaults, or take what is left out for another choice.
A call of which nobody can say what it runs with does not fit its tool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from attrs import evolve

from detent.core.chat.messages import ToolCall
from detent.core.tools import wording
from detent.core.tools.once_per_call import OncePerCall
from detent.core.tools.tool import Tool
from detent.core.values.frozen import FrozenDict, frozen_mapping, thaw

if TYPE_CHECKING:
    from detent.core.schema.filling import Filled

KEPT_MAX = 256
"""Of how many calls it is kept what they are filled in: each may be as long as its call."""


def with_defaults(call: ToolCall, tool: Tool) -> dict[str, Any]:
    """The arguments of a call, however deep, with what stands for those that it leaves out.

    The function's own default comes before what the schema says: it is what will be used. One
    without a form in JSON is shown as the name of its type.
    """
    own = tool.defaults.items()
    return _fill(call, tool) | {name: x for name, x in own if name not in call.arguments}


def frozen_with_defaults(call: ToolCall, tool: Tool) -> FrozenDict[str, Any]:
    """The same as `with_defaults`, for who changes nothing in it. RULE: a call is not copied."""
    own = tool.defaults.items()
    missing = frozen_mapping({name: x for name, x in own if name not in call.arguments})
    return FrozenDict({**_whole(call, tool), **missing})


def arguments_to_run(call: ToolCall, tool: Tool) -> Mapping[str, Any]:
    """The arguments of a call as `with_defaults`, but for those that the function itself has.

    They are those of the call where the tool has no `has_schema_defaults`.
    """
    names = tool.defaults.keys() - call.arguments.keys()
    return {name: x for name, x in _fill(call, tool).items() if name not in names}


def default_faults(call: ToolCall, tool: Tool) -> list[str]:
    """A sentence where nobody can say what a call would run with, or where that is too much."""
    filled = _filled(call, tool)
    if filled.is_too_much:
        return [wording.too_much_filled_in(tool.name, tool.filling.most)]
    return [wording.must_be_said(filled.unclear)] if filled.unclear else []


def _fill(call: ToolCall, tool: Tool) -> dict[str, Any]:
    copy = thaw(_whole(call, tool))  # whoever gets it may change it
    return cast("dict[str, Any]", copy)


def _whole(call: ToolCall, tool: Tool) -> Mapping[str, Any]:
    return _filled(call, tool).value if tool.has_schema_defaults else call.arguments


def _fill_in(call: ToolCall, tool: Tool) -> Filled:
    filled = tool.filling.filled(call.arguments)
    return evolve(filled, value=frozen_mapping(filled.value))


_filled = OncePerCall(_fill_in, KEPT_MAX)
"""It is asked for to check a call, to judge it, to ask people and to run it."""
