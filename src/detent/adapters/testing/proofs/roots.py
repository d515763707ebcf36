"""Roots: where all code begins that is run for a tool or an agent.

RULE: whatever new function a tool or an agent may carry that Detent calls is named here as well.
The function of a tool is one of several: to make its arguments runs the code of their classes, and
handlers read its result, all of it after the policy was asked about the call alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice
from types import FunctionType, MethodType
from typing import Any, get_args, get_origin, get_type_hints

from detent.adapters.testing.proofs.named_functions import (
    MOST,
    Found,
    called,
    is_of_others,
    layers,
    top_of,
)
from detent.adapters.testing.proofs.tables import table_parts
from detent.core.control.hooks import Hook
from detent.core.run.spec import AgentSpec
from detent.core.tools.tool import Tool
from detent.core.tools.wiring import TextRule

FIELDS = (
    *("__attrs_attrs__", "__dataclass_fields__"),
    *("__pydantic_fields__", "__private_attributes__"),
)
"""Where a class has its fields, with what makes, converts and checks their values."""

LIBRARIES = frozenset(
    {
        *("detent", "attr", "attrs", "dataclasses", "pydantic", "pydantic_core"),
        *("annotated_types", "typing", "typing_extensions"),
    }
)
"""Objects of theirs call functions that they hold: a rule of ours, or a validator of a field.

Of no other object is what it holds called: a policy may look at a bank that can also pay.
"""

A_HOOK, THE_POLICY = "a hook", "the policy"
"""How a message calls what an agent carries."""

ALIASES = ("__value__", "__bound__", "__constraints__")
"""What a name for a type stands for, which no table of its attributes has."""


def carried_by(tool: Tool) -> Iterator[Found]:
    """The functions that a tool carries beside its own."""
    rules = tool.text_rules
    handlers = [one.handler for one in ([rules] if isinstance(rules, TextRule) else rules.values())]
    wired = [part for output in tool.outputs for part in (output.source, output.handler)]
    component = getattr(tool.function, "__self__", None)
    warm_up = getattr(component, "warm_up", None)  # which an agent calls before its first run
    return functions_in([*handlers, *wired, tool.on_unknown, warm_up])


def of_types(tool: Tool) -> Iterator[Found]:
    """The functions of the classes of its arguments and of its result.

    All of their methods: a class calls some when a value is made (`__attrs_post_init__`, or what
    pydantic knows as a validator), the tool others, whose names tell nothing of the class.
    """
    declared = tool.signature.declared.items()
    from_model = [hint for name, hint in declared if name not in tool.hidden]
    return functions_in([*from_model, tool.signature.returns])


def of_agent(spec: AgentSpec[Any], hooks: Sequence[Hook]) -> Iterator[tuple[str, Found]]:
    """The functions that an agent carries beside its tools, each with what it is there."""
    carried: list[tuple[str, object]] = [(A_HOOK, hook.function) for hook in hooks]
    carried += [(f"{THE_POLICY} of {name!r}", policy) for name, policy in spec.policies.items()]
    carried += [
        (f"the handler of the state key {name!r}", key.handler)
        for name, key in spec.state.fields.items()
    ]
    carried += [("the price in the limits", spec.limits.price)]
    carried += [("the type of the answer", spec.output and spec.output.kind)]
    return ((place, found) for place, value in carried for found in functions_in([value]))


def functions_in(values: Iterable[object]) -> Iterator[Found]:
    """The functions that values stand for, and those in whatever these are made of."""
    for value in values_in(values):
        yield from _methods(value) if isinstance(value, type) else _functions_of(value)


def values_in(values: Iterable[object]) -> Iterator[object]:
    """Values, and whatever these are made of, each once."""
    seen = dict[int, object]()  # which keeps them alive
    left = deque(values)
    while left:
        value = left.popleft()
        if id(value) not in seen:
            seen[id(value)] = value
            yield value
            left += _parts_of_class(value) if isinstance(value, type) else _parts(value)


def _functions_of(value: object) -> Iterator[Found]:
    """Itself where it can be called, and its methods: by which one it is asked differs."""
    if callable(value) and get_origin(value) is None:
        yield from map(Found, layers(value))
    yield from (Found(MethodType(one.function, value)) for one in _methods(type(value)))


def _methods(kind: type) -> Iterator[Found]:
    """The methods of a class that a user has written, each of them."""
    # of the class itself they would lead to all of pydantic, which takes a second; and all that it
    # has of the user's own is here already
    owner = None if hasattr(kind, "__pydantic_fields__") else kind
    for base in kind.__mro__:
        if not (is_of_others(base.__module__) or top_of(base.__module__) in LIBRARIES):
            for held in vars(base).values():
                parts = called(held, kind)
                yield from (Found(one, owner) for one in parts if isinstance(one, FunctionType))


def _parts_of_class(kind: type) -> Iterator[object]:
    """The types of its fields, and what makes values of them."""
    with suppress(Exception):  # of any class: a type that is nowhere makes no values
        yield from get_type_hints(kind, include_extras=True).values()
    for base in kind.__mro__:
        yield from (vars(base).get(name) for name in FIELDS)


def _parts(value: object) -> Iterator[object]:
    """What a type, a table or an object of a library consists of, not an object of a user's."""
    yield from (*get_args(value), get_origin(value), *islice(table_parts(value), MOST))
    if top_of(type(value).__module__) in LIBRARIES:
        slots = (vars(base).get("__slots__", ()) for base in type(value).__mro__)
        names = {*ALIASES, *chain.from_iterable(slots), *getattr(value, "__dict__", ())}
        yield from (getattr(value, name, None) for name in names)
