"""Rules as data: lists of what is allowed, asked about and denied; the first match counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cached_property, partial
from typing import Any, Literal, Self, TypeAlias, cast, get_args

from attrs import Attribute, field, frozen
from attrs.validators import deep_iterable

from detent.adapters.confirmation.described import Described
from detent.adapters.confirmation.pattern_tests import Test, UnclearError, test_of
from detent.adapters.confirmation.policies import Rule
from detent.core.chat.messages import ToolCall
from detent.core.errors import UnstorableError
from detent.core.run.approval import Allow, Ask, Deny, Verdict
from detent.core.run.run import Run
from detent.core.state.stored import visible_data
from detent.core.tools.defaults import with_defaults
from detent.core.tools.tool import Tool
from detent.core.values.checks import names_told, of_kind
from detent.core.values.frozen import FrozenDict, frozen_mapping
from detent.core.values.shared_list import bare

Effect: TypeAlias = Literal["allow", "ask", "deny"]


def _is_effect(instance: object, attribute: Attribute[Effect], value: Effect) -> None:
    if value not in get_args(Effect):
        raise ValueError(f"'{attribute.name}' is 'allow', 'ask' or 'deny', got {value!r:.100}")


def _patterns(value: Mapping[str, object]) -> FrozenDict[str, object]:
    """The converter of patterns. Raises ValueError where one is no schema.

    RULE: each word of a pattern counts. A schema may have others, and a rule that allowed by one of
    them would allow everything.
    """
    from detent.core.schema.accepted_keywords import empty_words, schema_faults

    if not isinstance(cast("object", value), Mapping):  # it may come of data
        # null is not taken for none: it may have been meant for a pattern that fits nothing
        got = f"{value!r:.100}"
        raise ValueError(f"'arguments' and 'state' are patterns by name, got {got}")  # noqa: TRY004 - as each other fault of a rule
    for name, pattern in value.items():
        if not isinstance(pattern, Mapping):
            continue
        faults = schema_faults(pattern) or [
            f"{word!r} says nothing there (an object that is meant as it stands is a 'const')"
            for word in empty_words(pattern)
        ]
        if faults:
            raise ValueError(f"the pattern of {name!r} is no schema: {'; '.join(faults)}")
    return frozen_mapping(value)


def _names(value: Iterable[str]) -> tuple[str, ...]:
    """The converter of tools' names."""
    names = _listed("tools", value)
    if not names:
        raise ValueError("'tools' names none, so that the rule fits no call: leave it out for all")
    return names


def _labels(value: Iterable[str]) -> tuple[str, ...]:
    """The converter of labels."""
    return _listed("labels", value)


def _listed(what: str, value: Iterable[str]) -> tuple[str, ...]:
    """Names as a tuple: a text would be taken for one name a letter, and "*" fits all."""
    if isinstance(value, str):
        got = f"{value!r:.100}"
        raise ValueError(f"'{what}' is a list of names, got {got}: write [{got}]")  # noqa: TRY004 - as each other fault of a rule
    if not isinstance(value, Iterable):
        raise ValueError(f"'{what}' is a list of names, got {value!r:.100}")  # noqa: TRY004 - as each other fault of a rule
    return tuple(value)


@names_told
@frozen
class CallRule(Described):
    """What is to be done with calls that fit.

    A pattern is a text, which may have ``*``, ``?`` and ``[a-z]`` and which a text fits as a whole;
    a JSON Schema, as a dict; or any other plain value, which an equal one fits. A value that is not
    there fits nothing. Arguments are compared as the JSON that the model says, states as the JSON
    that they are stored as, but that a dict is an object whatever its keys are, and that no type
    stands beside a value: one UUID, decimal or time has several spellings, which are several values
    here. What is allowed is of the type that the schema speaks of: "1000" fits no `maximum`, also
    inside `if`, `oneOf` or `not`. What is denied, or asked about, need not be: "1000" fits
    ``{"not": {"maximum": 100}}``.

    What cannot be looked at fits each pattern of what is denied or asked about, and none of what is
    allowed; the question, or the denial, says so. That is what has no form in JSON, or is more than
    128 levels deep, and NaN where the pattern speaks of numbers. An infinite number is above all
    others.

    Attributes:
        effect: "allow", "ask" or "deny".
        tools: names of tools, with ``*`` and ``?``: one of them must fit.
        arguments: patterns by the names of arguments, defaults filled in: all must fit.
        state: patterns by the keys of the state: all must fit.
        labels: patterns of what the run has got to know, see `Tool.labels`: one of them must fit;
            () is for any run.
        name: what people and the model are told; without one, the rule's place in its list.
        reason: why, for the same.

    Raises:
        ValueError: `effect` is another, or a pattern is no schema, or one of what is allowed speaks
            of several types at once.
    """

    effect: Effect = field(validator=_is_effect)
    tools: tuple[str, ...] = field(
        default=("*",), converter=_names, validator=deep_iterable(of_kind(str, "a list of texts"))
    )
    arguments: FrozenDict[str, object] = field(factory=FrozenDict, converter=_patterns)
    state: FrozenDict[str, object] = field(factory=FrozenDict, converter=_patterns)
    labels: tuple[str, ...] = field(
        default=(), converter=_labels, validator=deep_iterable(of_kind(str, "a list of texts"))
    )
    name: str = field(default="", validator=of_kind(str, "a text"))
    reason: str = field(default="", validator=of_kind(str, "a text"))

    def __attrs_post_init__(self) -> None:
        if self.effect != "allow":
            return
        from detent.adapters.confirmation.readings import mixed_kinds

        for name, pattern in (*self.arguments.items(), *self.state.items()):
            for words in mixed_kinds(pattern):
                raise ValueError(
                    f"the pattern of {name!r} speaks of several types at once, by {words}: a value "
                    "of one would pass whatever is said of the other; write each as an option of "
                    "'anyOf', with its 'type'"
                )

    def fits(self, call: ToolCall, tool: Tool, run: Run[Any]) -> bool:
        """Whether the rule is about a call."""
        return self.doubts(call, tool, run) is not None

    def doubts(self, call: ToolCall, tool: Tool, run: Run[Any]) -> tuple[str, ...] | None:
        """What of a call that the rule is about it cannot look at; None if it is not about it."""
        if not any(fnmatchcase(tool.name, pattern) for pattern in self.tools):
            return None
        if self.labels and not any(fnmatchcase(a, b) for a in run.labels for b in self.labels):
            return None
        found = list[str]()
        for what, fits in self._looks(call, tool, run):
            try:
                if not fits():
                    return None
            except UnclearError as error:
                if self.effect == "allow":
                    return None
                found.append(f"{what} cannot be looked at: {error}")
        return tuple(found)

    def _looks(
        self, call: ToolCall, tool: Tool, run: Run[Any]
    ) -> Iterator[tuple[str, Callable[[], bool]]]:
        """What is looked at, each by its name, and whether it fits."""
        arguments, state = self._tests
        values = with_defaults(call, tool) if arguments else {}
        for name, test in arguments.items():
            yield f"the argument {name!r}", partial(_argument_fits, name, test, values, call, tool)
        for key, test in state.items():
            yield f"the state key {key!r}", partial(_state_fits, key, test, run)

    @cached_property
    def _tests(self) -> tuple[dict[str, Test], dict[str, Test]]:
        """Whether a value fits, by argument and by key of the state: each pattern is read once."""
        arguments, state = (
            {name: test_of(each, surely=self.effect == "allow") for name, each in patterns.items()}
            for patterns in (self.arguments, self.state)
        )
        return arguments, state


@names_told
@frozen
class RuleList(Rule):
    """The first of `rules` that fits a call decides about it; for others, `otherwise` does.

    A denial counts whatever has been confirmed. It goes through JSON: `to_dict`, `from_dict`.

    Attributes:
        rules: in the order in which they are tried.
        otherwise: "allow", "ask" or "deny".
        is_shared: whether other agents have the list as well. Else a rule that names a tool, an
            argument or a state key that the agent has not got is a mistake, found at once.
    """

    rules: tuple[CallRule, ...] = field(
        converter=tuple[CallRule, ...],
        validator=deep_iterable(of_kind(CallRule, "a list of CallRule")),
    )
    otherwise: Effect = field(default="ask", validator=_is_effect)
    is_shared: bool = field(default=False, kw_only=True, validator=of_kind(bool, "True or False"))

    def __call__(self, call: ToolCall, tool: Tool, run: Run[Any]) -> Verdict:
        """What the first rule says that fits."""
        for place, rule in enumerate(self.rules, 1):
            doubts = rule.doubts(call, tool, run)
            if doubts is not None:
                which = f"rule {rule.name!r}" if rule.name else f"rule {place}"
                why = "; ".join(filter(None, (rule.reason, *doubts)))
                return _verdict(rule.effect, f"{which}: {why}" if why else which)
        return _verdict(self.otherwise, "no rule fits it")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], classes: Mapping[str, type] | None = None) -> Self:
        """What `to_dict` gave.

        Raises:
            StoredDataError: it names another class, or does not fit.
        """
        return super().from_dict(data, {CallRule.__name__: CallRule, **(classes or {})})


def _verdict(effect: Effect, reason: str) -> Verdict:
    match effect:
        case "allow":
            return Allow()
        case "ask":
            return Ask(reason)
        case "deny":
            return Deny(reason)


def _argument_fits(
    name: str, test: Test, values: Mapping[str, Any], call: ToolCall, tool: Tool
) -> bool:
    if name in tool.opaque_defaults and name not in call.arguments:
        raise UnclearError("its default has no form in JSON")
    return name in values and test(values[name])


def _state_fits(key: str, test: Test, run: Run[Any]) -> bool:
    fields = run.state.fields
    if key not in fields or not run.state.holds(key):
        return False
    types = [each.type for each in fields.values()]
    try:
        value = visible_data(bare(run.state.read(key)), fields[key].type, types)
    except UnstorableError as error:
        raise UnclearError(str(error)) from None
    return test(value)
