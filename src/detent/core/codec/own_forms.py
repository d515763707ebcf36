"""How values of our own types are written as JSON and read from it, by the types of their fields.

A new event, status or part of a message needs no line here. In a union each object says its kind
by a fixed tag. Nothing that is stored can name a class, a function or a module of its own, and what
does not fit exactly is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from enum import Enum
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from attrs import fields, has, resolve_types

from detent.core.codec.forms import (
    Form,
    MismatchError,
    map_each,
    mismatch,
    require_array,
    require_object,
)
from detent.core.codec.json_text import NATIVE, TAG, is_plain
from detent.core.codec.values import from_json, to_json
from detent.core.errors import UnstorableError
from detent.core.schema.record_fields import is_named_tuple
from detent.core.values.frozen import FrozenDict, freeze

if TYPE_CHECKING:
    from cattrs import Converter

Agent: TypeAlias = Any
"""Says what names in stored data stand for: an agent's rules, or None."""

AGENT: ContextVar[Agent] = ContextVar("agent", default=None)
"""Whose names are meant, as long as a value is written or read: cattrs hands on no argument."""
_special_forms: dict[type, Form] = {}
_inner: set[type] = set()


def register(kind: type, write: Callable[[Any], Any], read: Callable[..., Any]) -> None:
    """Have values of a class, or of a subclass, written and read in a way of their own."""
    _special_forms[kind] = Form(write, read)
    _forget_forms()


def register_inner(*kinds: type) -> None:
    """Have the names in such a record mean what the agent in its `tool_name` says."""
    _inner.update(kinds)
    _forget_forms()


def _forget_forms() -> None:
    """What was worked out before may hold how a class was written until now."""
    form_of.cache_clear()
    _converter.cache_clear()


def is_special(kind: type) -> bool:
    """Whether values of this class are written in a way of their own."""
    return any(issubclass(kind, base) for base in _special_forms)


@cache
def _converter() -> Converter:
    from cattrs import Converter  # only loaded once something is stored

    class OwnConverter(Converter):
        """Asks us for each field: its own hooks for text and numbers take what is none."""

        def get_unstructure_hook(self, type: Any, cache_result: bool = True) -> Any:  # noqa: A002, FBT001, FBT002  # of cattrs
            return form_of(type).pack

        def get_structure_hook(self, type: Any, cache_result: bool = True) -> Any:  # noqa: A002, FBT001, FBT002  # of cattrs
            return form_of(type).unpack

    return OwnConverter(omit_if_default=True, forbid_extra_keys=True)


def data_of(value: object, hint: Any = None, agent: Agent = None) -> Any:
    """A value as JSON of which there is no other text: it may share containers with the value.

    `hint` is its type; without it, that of the value itself.

    Raises:
        UnstorableError: something in it cannot be written as JSON.
    """
    kind: Any = hint or type(value)
    before = AGENT.set(agent)
    try:
        return form_of(kind).pack(value)
    except Exception as error:  # noqa: BLE001  # what is not of its type may fail in any way
        raise UnstorableError(why_unstorable(value, kind, error)) from None
    finally:
        AGENT.reset(before)


def why_unstorable(value: object, hint: Any, error: Exception) -> str:
    """What keeps a value from being written, and where in it, by what came of trying."""
    if isinstance(error, RecursionError):
        return "this is nested too deeply to be stored"
    place, fault = _fault_in(value, hint, error)
    return f"this cannot be stored: {fault} @ data{place}"


def _fault_in(value: Any, hint: Any, error: Exception) -> tuple[str, Exception]:
    """Where in a value that could not be written the fault is, and which: cattrs does not say."""
    with suppress(MismatchError), inside(value):  # the agent inside may not be there at all
        for step, part, kind in _parts(value, hint):
            try:
                form_of(kind).pack(part)
            except Exception as inner:  # noqa: BLE001  # as in `data_of`
                place, fault = _fault_in(part, kind, inner)
                return step + place, fault
    if type(error) in (KeyError, TypeError):  # of texts and choices: what reads them says more
        try:
            form_of(hint).unpack(value)
        except MismatchError as fault:
            return "", fault
    return "", error


def _parts(value: Any, hint: Any) -> Iterator[tuple[str, Any, Any]]:
    if has(type(value)) and not is_special(type(value)):
        items = (field for field in fields(resolve_types(type(value))) if field.init)
        yield from ((f".{field.name}", getattr(value, field.name), field.type) for field in items)
    for kind in (hint, *get_args(hint)):
        if get_origin(kind) is tuple and type(value) is tuple:
            yield from ((f"[{place}]", item, get_args(kind)[0]) for place, item in enumerate(value))


@cache
def form_of(hint: Any) -> Form:
    """How values of a type that is declared in our own vocabulary are written and read."""
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    if origin is FrozenDict and arguments[1:] != (object,):
        return _object_form(form_of(arguments[1]))
    if origin in BASIC:
        return BASIC[origin]
    if isinstance(origin, TypeVar):
        return form_of(origin.__bound__)
    if origin in (Union, UnionType):
        union = _Union(arguments)
        return Form(union.pack, union.unpack)
    if origin is Literal:
        return _choice_form({choice: choice for choice in arguments})
    if origin is tuple:
        return _array_form(form_of(arguments[0]))
    return _class_form(origin)


def _class_form(kind: Any) -> Form:
    for base, form in _special_forms.items():
        if issubclass(kind, base):
            return form
    if issubclass(kind, Enum):
        return _choice_form({member.value: member for member in kind})
    if is_named_tuple(kind):
        return _named_tuple_form(kind)
    return _record_form(kind) if has(kind) else _no_form(kind)


def _no_form(kind: Any) -> Form:
    """Of what is in a record that nobody has registered: it is only missed once it is needed."""

    def fail(value: Any, _: object = None) -> Any:
        raise MismatchError(f"{kind} has no stored form")

    return Form(fail, fail)


def _record_form(kind: Any) -> Form:
    """Field by field as a JSON object, without the fields that have their default."""
    from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn

    bounds = tuple(variable.__bound__ for variable in getattr(kind, "__parameters__", ()))
    whole = kind[bounds] if bounds else kind
    pack = make_dict_unstructure_fn(whole, _converter(), _cattrs_omit_if_default=True)
    structure = make_dict_structure_fn(whole, _converter(), _cattrs_forbid_extra_keys=True)

    def unpack(data: Any, _: object = None) -> Any:
        return structure(require_object(data), kind)

    return Form(pack, unpack) if kind not in _inner else _inner_form(Form(pack, unpack))


def _inner_form(form: Form) -> Form:
    def pack(value: Any) -> Any:
        with inside(value):
            return form.pack(value)

    def unpack(data: Any, _: object = None) -> Any:
        with _agent_called(str(require_object(data).get("tool_name"))):
            return form.unpack(data)

    return Form(pack, unpack)


def inside(value: Any) -> AbstractContextManager[None]:
    """Within the block, names mean what the agent says that the value belongs to, if it does."""
    return _agent_called(value.tool_name if type(value) in _inner else None)


@contextmanager
def _agent_called(name: str | None) -> Generator[None, None, None]:
    agent = AGENT.get()
    if name is not None and agent is not None:
        if name not in agent.agents:
            raise MismatchError(f"this agent has no agent {name!r}; it has {sorted(agent.agents)}")
        agent = agent.agents[name]
    before = AGENT.set(agent)
    try:
        yield
    finally:
        AGENT.reset(before)


class _Union:
    """By the class of the value, and by that of the JSON value; of several records, by the tag.

    The forms of the members are only asked for once one is met: a record may hold its own union.
    """

    def __init__(self, members: tuple[Any, ...]) -> None:
        self._kinds = {_class_of(member): member for member in members}
        self._records = [kind for kind in self._kinds if has(kind)]
        self._writers: dict[type, tuple[Callable[[Any], Any], str | None]] = {}

    def pack(self, value: Any) -> Any:
        write, tag = self._writers.get(type(value)) or self._writer_for(value)
        return write(value) if tag is None else {TAG: tag, **write(value)}

    def _writer_for(self, value: Any) -> tuple[Callable[[Any], Any], str | None]:
        """How values of this class are written, and by which tag they are known."""
        for kind, member in self._kinds.items():
            if isinstance(value, kind) or (kind is float and type(value) is int):
                is_tagged = len(self._records) > 1 and kind in self._records
                writer = form_of(member).pack, kind.__name__ if is_tagged else None
                self._writers[type(value)] = writer
                return writer
        raise mismatch(" or ".join(kind.__name__ for kind in self._kinds), value)

    def unpack(self, data: Any, _: object = None) -> Any:
        for kind in type(data).__mro__:  # of JSON's own classes it is the first
            if kind in self._readers:
                return self._readers[kind](data)
        raise mismatch(" or ".join(NAMES.get(kind, kind.__name__) for kind in self._readers), data)

    @cached_property
    def _readers(self) -> dict[type, Callable[..., Any]]:
        """By the classes that JSON has."""
        plain = [kind for kind in self._kinds if kind not in self._records]
        readers = {_json_kind(kind): form_of(self._kinds[kind]).unpack for kind in plain}
        if float in readers:
            readers[int] = readers[float]
        records = {kind.__name__: form_of(self._kinds[kind]).unpack for kind in self._records}
        if records:
            (only, *rest) = records.values()
            readers[dict] = _tagged_reader(records) if rest else only
        return readers


def _class_of(member: Any) -> Any:
    """The class that the values of a member of a union have; a choice is one of some texts."""
    origin = get_origin(member) or member
    return str if origin is Literal else origin


def _tagged_reader(readers: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    def unpack(data: Any, _: object = None) -> Any:
        body = {**data}
        tag = body.pop(TAG, None)
        read = readers.get(tag) if type(tag) is str else None
        if read is None:
            message = f"must have {TAG!r}, one of {', '.join(readers)}"
            raise MismatchError(f"{message}, got {str(tag)[:40]!r}")
        return read(body)

    return unpack


def _choice_form(choices: Mapping[Any, Any]) -> Form:
    """One of some texts, and what each of them stands for."""

    def choose(data: Any, _: object = None) -> Any:
        try:
            return choices[data]
        except (KeyError, TypeError):
            message = f"must be one of {', '.join(choices)}, got {str(data)[:40]!r}"
            raise MismatchError(message) from None

    return Form({value: data for data, value in choices.items()}.__getitem__, choose)


def _array_form(item: Form) -> Form:
    def unpack(data: Any, _: object = None) -> tuple[Any, ...]:
        return tuple(map_each(item.unpack, require_array(data)))

    return Form(lambda value: list(map(item.pack, value)), unpack)


def _object_form(item: Form) -> Form:
    def pack(value: Any) -> dict[str, Any]:
        return {name: item.pack(part) for name, part in value.items()}

    def unpack(data: Any, _: object = None) -> FrozenDict[str, Any]:
        values = map_each(item.unpack, require_object(data).values(), data)
        return FrozenDict(zip(data, values, strict=True))

    return Form(pack, unpack)


def _named_tuple_form(kind: Any) -> Form:
    """As an array."""
    kinds = tuple(get_type_hints(kind).values())
    forms = [form_of(part) for part in kinds]

    def pack(value: Any) -> Any:
        if tuple(map(type, value)) == kinds:  # nearly all: JSON has a tuple of scalars as it is
            return value
        return [form.pack(part) for form, part in zip(forms, value, strict=True)]

    def unpack(data: Any, _: object = None) -> Any:
        if tuple(map(type, require_array(data))) == kinds:
            return kind(*data)
        if len(data) != len(forms):
            raise MismatchError(f"must be an array of {' and '.join(kind._fields)}")
        return kind(*[form.unpack(part) for form, part in zip(forms, data, strict=True)])

    return Form(pack, unpack)


def _open_form() -> Form:
    """What is not ours: any value that JSON has, and what `to_json` makes of others."""

    def pack(value: Any) -> Any:
        return value if is_plain(value) else to_json(value, place="it")

    def unpack(data: Any, _: object = None) -> Any:
        if TAG not in require_object(data) and NATIVE.issuperset(map(type, data.values())):
            return FrozenDict(data)
        return freeze(require_object(from_json(data, place="it")))

    return Form(pack, unpack)


def _exact_form(*kinds: type) -> Form:
    def check(value: Any, _: object = None) -> Any:
        if type(value) not in kinds:
            raise mismatch(kinds[0].__name__, value)
        return value

    return Form(check, check)


def _text(value: Any, _: object = None) -> Any:
    if not isinstance(value, str):
        raise mismatch("str", value)
    return value


def _json_kind(kind: type) -> type:
    """What JSON has in place of a class."""
    if issubclass(kind, tuple):
        return list
    return dict if kind is FrozenDict else kind


_NUMBER = _exact_form(float, int)
NAMES: Mapping[type, str] = {dict: "an object", list: "an array", NoneType: "null"}
BASIC: Mapping[Any, Form] = {
    str: Form(str.__str__, _text),  # a text is itself; all else is refused, and in C
    int: _exact_form(int),
    bool: _exact_form(bool),
    NoneType: _exact_form(NoneType),
    float: Form(_NUMBER.pack, lambda data, _=None: float(_NUMBER.unpack(data))),
    FrozenDict: _open_form(),
}
"""What is not made up of its fields."""
