"""Tools: what a model may call, and how each is wired to the state."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from copy import copy
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import field, frozen
from attrs.converters import optional

from detent.core.errors import ToolDefinitionError
from detent.core.state.state import State
from detent.core.tools.idempotency import OnUnknown
from detent.core.tools.masking import masked_in
from detent.core.tools.retries import Retries, retries_of
from detent.core.tools.signature import Signature, ToolFunction, signature_of
from detent.core.tools.version import form_of, hash_of
from detent.core.tools.wiring import (
    Input,
    Output,
    TextRule,
    inputs_from,
    outputs_from,
    outputs_of,
    text_rules_from,
)
from detent.core.values.checks import names_told
from detent.core.values.frozen import EMPTY, FrozenDict, frozen_mapping

if TYPE_CHECKING:
    from detent.core.schema.conversion import Reader
    from detent.core.schema.filling import Filling
    from detent.core.schema.model_work import Excess
    from detent.core.tools.default_forms import DefaultForm

T = TypeVar("T", bound="Tool")
F = TypeVar("F")


@frozen
class ToolSpec:
    """A tool as the model sees it: `parameters` is a JSON Schema (2020-12), `masked` are secret."""

    name: str
    description: str
    parameters: FrozenDict[str, object] = field(converter=frozen_mapping)
    masked: frozenset[str] = field(default=frozenset(), repr=False)


def wiring(value: Mapping[str, object] | None) -> FrozenDict[str, Any]:
    """The converter of every field that wires a tool to the state."""
    if value is not None and not isinstance(value, Mapping):
        raise ToolDefinitionError(f"what wires a tool to the state is a dict, got {value!r}")
    return frozen_mapping(value or {})


def _schema(value: Mapping[str, Any]) -> FrozenDict[str, Any]:
    if not isinstance(cast(object, value), Mapping):
        is_model = hasattr(value, "model_json_schema")
        advice = "; take its model_json_schema()" if is_model else ""
        raise ToolDefinitionError(f"parameters is a JSON Schema as a dict, got {value!r}{advice}")
    return frozen_mapping(value)


def _labels(value: Iterable[str]) -> tuple[str, ...]:
    labels = () if isinstance(value, str) else tuple(value)
    if isinstance(value, str) or not all(isinstance(label, str) and label for label in labels):
        raise ToolDefinitionError(f"labels are a set of texts, got {value!r:.80}")
    return tuple(sorted(set(labels)))


@names_told
@frozen
class Tool:
    """A function that a model may call.

    Attributes:
        name: what the model calls it: letters, digits and ``_ - . :``.
        description: what it does, for the model.
        parameters: JSON Schema of its arguments. What the state fills is taken out of what the
            model sees.
        function: what is called, with the arguments by name; it may be a coroutine function. A
            parameter annotated with a state class gets the state itself.
        outputs_to_string: how the result becomes text: ``{"source": part of the result, "handler":
            function, "raw_result": True for content parts}``, all optional, or such a rule for each
            of several parts by name. Without it a string stays, all else becomes JSON.
        inputs_from_state: ``{state key: parameter}``: values that come from the state, not the
            model.
        outputs_to_state: ``{state key: {"source": part of the result, "handler": function}}``: what
            is merged into the state; without a source the whole result.
        timeout_s: seconds that one attempt may take; None is no limit.
        retries: what happens after a failed attempt; a number is that many more attempts.
        max_calls: how often models may call it in one run; None is no limit. One more is not run.
            What agents inside call by its name counts as well.
        on_unknown: what happens to a call whose process ended before it was known how it went:
            "ask" a human, "rerun" it, "fail", or a function that looks it up; see `OnUnknown`.
        labels: what its results bring along, "untrusted" say: the run bears it from then on, and
            policies can ask for it.
        binds: the parameters filled from the state by whose values a decision of a human stands and
            falls; None is all. A parameter that gets the state itself is never one. What a policy
            reveals of others a remembered yes is bound to as well.

    Raises:
        ToolDefinitionError: the parts do not make a tool.
    """

    name: str
    description: str
    parameters: FrozenDict[str, Any] = field(converter=_schema, repr=False)
    function: ToolFunction = field(repr=False)
    outputs_to_string: FrozenDict[str, Any] = field(default=None, converter=wiring, repr=False)
    inputs_from_state: FrozenDict[str, str] = field(default=None, converter=wiring, repr=False)
    outputs_to_state: FrozenDict[str, Any] = field(default=None, converter=wiring, repr=False)
    timeout_s: float | None = field(default=None, kw_only=True, repr=False)
    retries: Retries = field(default=Retries(0), kw_only=True, repr=False, converter=retries_of)
    on_unknown: OnUnknown = field(default="ask", kw_only=True, repr=False)
    binds: tuple[str, ...] | None = field(
        default=None, kw_only=True, repr=False, converter=optional(tuple[str, ...])
    )
    max_calls: int | None = field(default=None, kw_only=True, repr=False)
    labels: tuple[str, ...] = field(default=(), kw_only=True, repr=False, converter=_labels)

    def __attrs_post_init__(self) -> None:
        _require_parts(self)
        # what is wired is looked at now: its author is to hear of mistakes, and nobody later
        _ = self.inputs, self.outputs, self.text_rules, self.spec, self.readers
        if self.opaque_defaults:
            from detent.core.tools.default_forms import require_sayable

            seen = self.opaque_defaults - self.masked
            require_sayable(self.name, {k: v for k, v in self._default_forms.items() if k in seen})

    @cached_property
    def signature(self) -> Signature:
        """What the function takes and gives."""
        return signature_of(self.function)

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """The parameters that keys of the state fill."""
        return (*inputs_from(self.inputs_from_state), *self.signature.inputs)

    @cached_property
    def outputs(self) -> tuple[Output, ...]:
        """The keys of the state that the result is merged into."""
        return (*outputs_from(self.outputs_to_state), *outputs_of(self.function))

    @cached_property
    def text_rules(self) -> TextRule | FrozenDict[str, TextRule]:
        """How the result becomes text."""
        return text_rules_from(self.outputs_to_string)

    @cached_property
    def hidden(self) -> frozenset[str]:
        """The parameters that the state fills: no model sees them, nor can it pass them."""
        return hidden_parameters(self.signature, self.inputs)

    @cached_property
    def defaults(self) -> FrozenDict[str, Any]:
        """What the function takes for arguments that are left out, as JSON.

        One that JSON cannot say, as of `opaque_defaults`, is the name of its type.
        """
        own = self.own_defaults.items()
        return FrozenDict({name: data for name, data in own if name not in self.hidden})

    @cached_property
    def own_defaults(self) -> FrozenDict[str, Any]:
        """As `defaults`, also of the parameters that the state fills, where it holds nothing."""
        forms = self._default_forms.items()
        return FrozenDict(
            {
                name: f"<{type(form.value).__qualname__}>" if form.fault else form.data
                for name, form in forms
            }
        )

    @cached_property
    def opaque_defaults(self) -> frozenset[str]:
        """The parameters whose defaults JSON cannot say: no rule can look at one."""
        forms = self._default_forms.items()
        return frozenset(name for name, form in forms if form.fault) - self.hidden

    @cached_property
    def _default_forms(self) -> FrozenDict[str, DefaultForm]:
        if not (own := self.signature.defaults):
            return EMPTY
        from detent.core.tools.default_forms import default_form  # with the first default

        declared = self.signature.declared
        return FrozenDict({name: default_form(x, declared[name]) for name, x in own.items()})

    @cached_property
    def has_schema_defaults(self) -> bool:
        """Whether its schema says, however deep, what stands for something that is left out."""
        return _has_default(self.parameters)

    @cached_property
    def filling(self) -> Filling:
        """What fills calls in, by what its schema says of what they leave out."""
        from detent.core.schema.conversion import own_objects
        from detent.core.schema.filling import Filling  # loaded with the first such default

        declared = self.signature.declared
        return Filling(self.accepted, {name: own_objects(declared[name]) for name in self.readers})

    @cached_property
    def version(self) -> str:
        """A digest of all of it that decides what a call does: another one, another tool."""
        return hash_of(*self._parts())

    def _parts(self) -> tuple[object, ...]:
        parts = (self.name, self.description, self.parameters, self.function)
        takes = [(item.key, item.parameter) for item in self.inputs]
        gives = [(item.key, item.source, item.handler) for item in self.outputs]
        own = form_of(self.signature.defaults)  # those of what the state may leave out, too
        wiring = (takes, gives, self.outputs_to_string, own, self.retries.times, self.binds)
        return (*parts, *wiring)

    @cached_property
    def masked(self) -> frozenset[str]:
        """The parameters whose values no human is shown."""
        signature = self.signature
        types = signature.declared | signature.bound_types
        return masked_in(types, self.parameters, signature.defaults)

    @property
    def description_labels(self) -> tuple[str, ...]:
        """What its description brings along, which a model reads before all else."""
        return ()

    @cached_property
    def readers(self) -> FrozenDict[str, Reader]:
        """What makes the model's arguments what is declared; where JSON has no form, nothing."""
        from detent.core.schema.conversion import reader  # loaded with the first tool

        return FrozenDict(self._of_declared(reader))

    @cached_property
    def excesses(self) -> FrozenDict[str, Excess]:
        """What says of the model's arguments whether it takes too long to read them; few do."""
        from detent.core.schema.model_work import excess

        found = self._of_declared(excess).items()
        return FrozenDict({name: count for name, count in found if count is not None})

    def _of_declared(self, look: Callable[[Any], F]) -> dict[str, F]:
        """What is found out of the types that are declared of what a model may send."""
        found: dict[str, F] = {}
        for name, hint in self.signature.declared.items():
            if name not in self.hidden:
                with suppress(TypeError, NameError):
                    found[name] = look(hint)
        return found

    @cached_property
    def accepted(self) -> FrozenDict[str, Any]:
        """The schema of what a model may send, with what stands for that which it leaves out.

        RULE: it fills calls in. Whoever is shown a schema is shown that of `spec`.
        """
        # some providers refuse an object without properties, which JSON Schema allows
        schema = {"type": "object", "properties": {}, **self.parameters}
        return frozen_mapping(_project(self, schema) if self.hidden else schema)

    @cached_property
    def spec(self) -> ToolSpec:
        """The tool as models and people see it: without the defaults that are secret."""
        visible: Mapping[str, Any] = self.accepted
        if self.masked and self.has_schema_defaults:
            from detent.core.schema.projection import without_defaults  # with the first secret

            visible = without_defaults(visible, self.masked)
        return ToolSpec(self.name, self.description, visible, self.masked)

    @cached_property
    def fits(self) -> Callable[[Mapping[str, object]], bool]:
        """Whether arguments are what the model was asked for."""
        from detent.core.schema.validation import Validator  # loaded with the first call

        return Validator(self.spec.parameters).fits

    def accepts(self, state: Any) -> bool:
        """Whether the function can work on `state`: it wants none, this kind, or string keys."""
        parameter = self.signature.state
        return parameter is None or parameter.kind is State or isinstance(state, parameter.kind)


def as_version(tool: T, version: str, **parts: object) -> T:
    """The same tool, which counts as another version of it: one that a history tells of.

    But for some `parts`, by their names.
    """
    twin = copy(tool)  # not evolved: a class of tools may be made in a way of its own
    for name, value in {**parts, "version": version}.items():
        object.__setattr__(twin, name, value)
    return twin


def by_name(tools: Iterable[Tool]) -> FrozenDict[str, Tool]:
    """The tools by name, in order. Raises ToolDefinitionError when two share a name."""
    tools = list(tools)
    counts = Counter(item.name for item in tools)
    if twice := sorted(name for name, count in counts.items() if count > 1):
        raise ToolDefinitionError(
            f"several tools are called {', '.join(map(repr, twice))}; a model knows them by their "
            "names: leave out all but one of each, or rename it, @tool(name='…')"
        )
    return FrozenDict({item.name: item for item in tools})


def _has_default(schema: object) -> bool:
    """Whether a schema may have a default: a property of that name counts as well."""
    if isinstance(schema, Mapping):
        return "default" in schema or any(map(_has_default, schema.values()))
    return isinstance(schema, list | tuple) and any(map(_has_default, schema))


def hidden_parameters(signature: Signature, inputs: Iterable[Input]) -> frozenset[str]:
    """The parameters that the state fills."""
    state = () if signature.state is None else (signature.state.name,)
    return frozenset(
        [*state, *signature.keys, *signature.tokens, *(item.parameter for item in inputs)]
    )


def _project(tool: Tool, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema without what the state fills."""
    from detent.core.schema.accepted_keywords import schema_faults
    from detent.core.schema.projection import without_properties

    schema = without_properties(schema, tool.hidden)
    # a rule that named a hidden property, as "dependentRequired" does, may have lost its object
    if faults := schema_faults(schema):
        names = ", ".join(map(repr, sorted(tool.hidden)))
        raise ToolDefinitionError(
            f"tool {tool.name!r}: without {names}, which the state fills, parameters are no "
            f"schema: {'; '.join(faults)}"
        )
    return schema


def _require_parts(tool: Tool) -> None:
    """Raise ToolDefinitionError unless name, texts, schema and limits are what a tool has."""
    texts: tuple[object, ...] = (tool.name, tool.description)
    if not (isinstance(tool.name, str) and isinstance(tool.description, str)):
        raise ToolDefinitionError(f"a tool has a name and a description in words, got {texts}")
    if not re.fullmatch(r"[\w.:-]+", tool.name, re.ASCII):
        raise ToolDefinitionError(
            f"the name of a tool has letters, digits, '_', '-', '.' and ':' only, got "
            f"{tool.name!r}; give it one: name=…"
        )
    from detent.core.schema.accepted_keywords import schema_faults  # with the first tool

    place = f"tool {tool.name!r}"
    if not callable(tool.function):
        raise ToolDefinitionError(f"{place}: the function must be callable, got {tool.function!r}")
    if tool.parameters.get("type") != "object":
        raise ToolDefinitionError(
            f"{place}: parameters must be a JSON Schema with 'type': 'object'"
        )
    if faults := schema_faults(tool.parameters):
        raise ToolDefinitionError(f"{place}: parameters: {'; '.join(faults)}")
    if "" in tool.masked:
        raise ToolDefinitionError(
            f"{place}: parameters: 'writeOnly' stands at properties without a name, which nobody "
            "could keep secret; name them under 'properties'"
        )
    if tool.signature.yields:
        raise ToolDefinitionError(f"{place}: the function yields; a tool returns all at once")
    _require_bounds(tool, place)


def _require_bounds(tool: Tool, place: str) -> None:
    """Raise ToolDefinitionError unless what bounds its calls is what it should be."""
    seconds: object = tool.timeout_s
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if seconds is not None and not (is_number and 0 < cast(float, seconds) < inf):
        raise ToolDefinitionError(
            f"{place}: timeout_s must be a number of seconds above 0, got {seconds!r}; "
            "None is no limit"
        )
    if names := sorted(set(tool.binds or ()) - {item.parameter for item in tool.inputs}):
        raise ToolDefinitionError(
            f"{place}: binds names {', '.join(map(repr, names))}, which no key of the state fills"
        )
    most: object = tool.max_calls
    if most is not None and not (type(most) is int and most > 0):
        raise ToolDefinitionError(f"{place}: max_calls must be a number above 0, got {most!r}")
    if not (callable(tool.on_unknown) or tool.on_unknown in ("ask", "rerun", "fail")):
        raise ToolDefinitionError(
            f"{place}: on_unknown must be 'ask', 'rerun', 'fail' or a function, got "
            f"{tool.on_unknown!r}"
        )
