"""A record: one class of our own, field by field as a JSON object and back.

For each class there is a function that writes its values, and one that reads them. Both are made as
attrs makes an ``__init__``, of a text that has the fields one by one: a loop over them takes twice
as long.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from string import Template
from typing import Any, NamedTuple, TypeAlias, get_type_hints

from attrs import NOTHING, Attribute, fields

from detent.core.codec.json_text import TAG, quoted
from detent.core.codec.registry import WITH_AGENT
from detent.core.codec.shapes import RefusedError, Shape, Spec, an_object
from detent.core.values.quick import twin

ShapeOf: TypeAlias = Callable[[Any], Shape]


def record_of(kind: Any, shape_of: ShapeOf, *, tagged: bool) -> Shape:
    """How values of an attrs class are written and read, given how those of other types are.

    An object lacks the fields that have their default; where it is `tagged`, it says its kind.
    """
    return (_Inner if kind in WITH_AGENT else _Record)(kind, shape_of, tagged=tagged)


class _Field(NamedTuple):
    """A field: how it is written and read, and what it holds when it is left out."""

    name: str
    shape: Shape
    default: object


class _Record(Shape):
    """Its functions are made when they are first used: a record may hold others of its kind."""

    def __init__(self, kind: Any, shape_of: ShapeOf, *, tagged: bool) -> None:
        super().__init__(self._first_write, self._first_read)
        self._kind = kind
        self._shape_of = shape_of
        self._tagged = tagged

    def _first_write(self, value: Any, spec: Spec) -> str:
        self.write = self._writer
        return self.write(value, spec)

    def _first_read(self, data: Any, spec: Spec) -> Any:
        self.read = self._reader
        return self.read(data, spec)

    @cached_property
    def _fields(self) -> Sequence[_Field]:
        hints = get_type_hints(self._kind)
        stored = [one for one in fields(self._kind) if one.init]
        return [_Field(one.name, self._shape_of(hints[one.name]), _default(one)) for one in stored]

    @cached_property
    def _writer(self) -> Callable[[Any, Spec], str]:
        lines, parts = "", f',"{TAG}":"{self._kind.__name__}"' if self._tagged else ""
        for name, shape, default in self._fields:
            line, part = WRITE if default is NOTHING else WRITE_UNLESS_DEFAULT
            lines += line.substitute(name=name, quick=QUICK.get(shape.plain, ""))
            parts += part.substitute(name=name)
        whole, cut = (WHOLE, 1) if parts.startswith(",") else (WHOLE_OR_EMPTY, 0)
        told = whole.substitute(parts=parts[cut:])
        return self._made(WRITER.substitute(lines=lines, whole=told), quoted=quoted)

    @cached_property
    def _reader(self) -> Callable[[Any, Spec], Any]:
        """It goes past the constructor: what comes of a part needs no converter."""
        lines, count = "", int(self._tagged)
        for name, shape, default in self._fields:
            quick = f"item if type(item) is {shape.plain.__name__} else " if shape.plain else ""
            line = READ if default is NOTHING else READ_OR_DEFAULT
            lines += line.substitute(name=name, quick=quick)
            count += default is NOTHING
        passing = (one.name for one in fields(self._kind) if not one.init)
        lines += "".join(PUT_DEFAULT.substitute(name=name) for name in passing)
        source = READER.substitute(lines=lines, count=count)
        needed = {"an_object": an_object, "refuse_unknown": self._refuse_unknown}
        return self._made(source, kind=self._kind, twin=twin(self._kind), **needed)

    def _made(self, source: str, **names: Any) -> Callable[[Any, Spec], Any]:
        """The function that a text defines. `names` are what it needs besides the fields."""
        names["RefusedError"] = RefusedError
        names |= {f"shape_{one.name}": one.shape for one in self._fields}
        names |= {f"default_{one.name}": _default(one) for one in fields(self._kind)}
        exec(compile(source, f"<{self._kind.__name__}>", "exec"), names)  # noqa: S102  # it holds only names of our own
        made: Callable[[Any, Spec], Any] = names["made"]
        return made

    def _refuse_unknown(self, data: Mapping[str, Any]) -> None:
        """Raise if the data has a name that no field has."""
        known = {one.name for one in self._fields} | ({TAG} if self._tagged else set())
        for name in data:
            if name not in known:
                raise RefusedError(f"nothing is called {name[:40]!r}")


class _Inner(_Record):
    """As a record that belongs to the agent in its `tool_name`, whose names mean what it says."""

    @cached_property
    def _writer(self) -> Callable[[Any, Spec], str]:
        write = super()._writer
        return lambda value, spec: write(value, _agent(spec, value.tool_name))

    @cached_property
    def _reader(self) -> Callable[[Any, Spec], Any]:
        read = super()._reader
        return lambda data, spec: read(data, _agent(spec, str(an_object(data).get("tool_name"))))


def _agent(spec: Spec, name: str) -> Spec:
    if spec is not None and name not in spec.agents:
        raise RefusedError(f"this agent has no agent {name!r}; it has {sorted(spec.agents)}")
    return spec and spec.agents[name]


def _default(one: Attribute[Any]) -> object:
    default: Any = USUAL.get(one.name, NOTHING) if one.default is NOTHING else one.default
    return default.factory() if hasattr(default, "factory") else default


WRITER = Template("""\
def made(value, spec):
    try:
        name = ""
$lines
        return $whole
    except RefusedError as error:
        error.path.append(name)
        raise
""")
WHOLE = Template("f'{{$parts}}'")
WHOLE_OR_EMPTY = Template("'{' + f'$parts'[1:] + '}'")
"""Where the first part may be missing, and its comma with it."""
WRITE = (
    Template("""\
        name = "$name"
        item = value.$name
        text_$name = ${quick}shape_$name.write(item, spec)
"""),
    Template(',"$name":{text_$name}'),
)
WRITE_UNLESS_DEFAULT = (
    Template("""\
        name = "$name"
        item = value.$name
        text_$name = ""
        if item is not default_$name and item != default_$name:
            text_$name = f',"$name":{${quick}shape_$name.write(item, spec)}'
"""),
    Template("{text_$name}"),
)
READER = Template("""\
def made(data, spec):
    if type(data) is not dict:
        an_object(data)
    made = twin()
    count = $count
    try:
        name = ""
$lines
    except RefusedError as error:
        error.path.append(name)
        raise
    except KeyError:
        if name in data:
            raise
        raise RefusedError(f"{name!r} is missing") from None
    if len(data) != count:
        refuse_unknown(data)
    made.__class__ = kind
    return made
""")
READ = Template("""\
        name = "$name"
        item = data["$name"]
        made.$name = ${quick}shape_$name.read(item, spec)
""")
READ_OR_DEFAULT = Template("""\
        name = "$name"
        if "$name" in data:
            count += 1
            item = data["$name"]
            made.$name = ${quick}shape_$name.read(item, spec)
        else:
            made.$name = default_$name
""")
PUT_DEFAULT = Template("""\
        made.$name = default_$name
""")
QUICK: Mapping[type | None, str] = {
    str: "quoted(item) if type(item) is str else ",
    int: "repr(item) if type(item) is int else ",
}
"""How plain values are written without a look at their shape."""
USUAL: Mapping[str, object] = {"attempt": 1}
"""What fields hold most of the time; then they are left out as if it were their default."""
