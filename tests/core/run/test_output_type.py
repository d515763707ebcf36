"""Output types: the schema that a model is told, and how its answer becomes an instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

import pytest
from attrs import frozen
from pydantic import BaseModel, Field

from detent import OutputType
from detent.core.schema.conversion import ConversionError
from detent.core.tools.wording import FINAL_ANSWER
from detent.machine import FrozenDict
from detent.models import SchemaMode, ToolSpec


@frozen
class Line:
    """A line of an invoice.

    Attributes:
        what: what was bought.
    """

    what: str
    cents: int


@frozen
class Invoice:
    """An attrs class."""

    lines: list[Line]
    paid: bool = False


@dataclass(frozen=True)
class Place:
    """A dataclass."""

    name: str


class Town(TypedDict):
    """A typed dict."""

    name: str
    people: NotRequired[int]


class Person(BaseModel):
    """A pydantic model."""

    name: str = Field(min_length=1)


@frozen
class Tree:
    """A class that contains itself."""

    children: list[Tree]


@frozen
class Even:
    """A class that refuses values."""

    n: int

    def __attrs_post_init__(self) -> None:
        if self.n % 2:
            raise ValueError(f"{self.n} is odd")


@pytest.mark.parametrize(
    ("kind", "answer", "value"),
    [
        (Invoice, {"lines": [{"what": "tea", "cents": 3}]}, Invoice([Line("tea", 3)])),
        (Place, {"name": "Oslo"}, Place("Oslo")),
        (Town, {"name": "Oslo"}, {"name": "Oslo"}),
        (Person, {"name": "Ada"}, Person(name="Ada")),
        (Tree, {"value": {"children": [{"children": []}]}}, Tree([Tree([])])),
        (list[int], {"value": [1, 2]}, [1, 2]),
        (str, {"value": "yes"}, "yes"),
    ],
    ids=["attrs", "dataclass", "typed dict", "pydantic", "recursive", "list", "text"],
)
def test_an_answer_becomes_an_instance(kind: Any, answer: dict[str, object], value: object) -> None:
    """Of every kind of record, and of types whose values are no JSON objects."""
    wanted: OutputType[Any] = OutputType(kind)
    assert wanted.read(answer) == value
    assert wanted.schema["type"] == "object"


def test_the_schema_tells_what_the_class_says() -> None:
    """Docstrings become descriptions; classes that contain themselves, definitions."""
    items = OutputType(Invoice).schema["properties"]["lines"]["items"]
    assert items["properties"]["what"]["description"] == "what was bought."
    assert OutputType(Tree).schema["$defs"].keys() == {"Tree"}


@pytest.mark.parametrize(
    ("kind", "answer", "fault"),
    [
        (Invoice, {"lines": [{"what": 1, "cents": 2}]}, "'lines[0].what' must be a string"),
        (Invoice, {}, "'lines' is missing"),
        (Person, {"name": ""}, "at least 1"),
        (Even, {"n": 3}, "3 is odd"),
    ],
    ids=["wrong type", "missing", "pydantic's own rule", "the class refuses"],
)
def test_a_misfit_is_told_with_its_place(kind: Any, answer: dict[str, object], fault: str) -> None:
    """The model reads it and can do better."""
    with pytest.raises(ConversionError, match=fault.replace("[", r"\[")):
        OutputType(kind).read(answer)


@pytest.mark.parametrize(
    "text",
    ['{"name": "Oslo"}', '```json\n{"name": "Oslo"}\n```', ' ```\n{"name": "Oslo"}```\n'],
    ids=["bare", "fenced as json", "fenced"],
)
def test_an_answer_is_found_in_a_text(text: str) -> None:
    """Models like to put JSON into a fenced block."""
    assert OutputType(Place).answer_in(text) == {"name": "Oslo"}


@pytest.mark.parametrize("text", ["Oslo", "[1]", "{", "[" * 100_000], ids=str.__len__)
def test_a_text_that_is_no_answer_is_a_misfit(text: str) -> None:
    """Prose, another kind of JSON, JSON that was cut, and JSON that is nested too deeply."""
    with pytest.raises(ConversionError):
        OutputType(Place).answer_in(text)


@pytest.mark.parametrize(
    ("mode", "tools", "native"),
    [
        ("always", True, True),
        ("always", False, True),
        ("without_tools", True, False),
        ("without_tools", False, True),
        ("never", True, False),
        ("never", False, False),
    ],
)
def test_the_provider_holds_the_model_where_it_can(
    mode: SchemaMode, *, tools: bool, native: bool
) -> None:
    """Elsewhere the model is offered a tool to answer by."""
    wanted = OutputType(Place, native=mode)
    offered = (ToolSpec("look", "", FrozenDict()),) if tools else ()
    asked, options = wanted.asked(offered, FrozenDict({"temperature": 0}))
    assert ("response_format" in options) is native
    assert asked == (offered if native else (*offered, wanted.tool))
    assert options["temperature"] == 0


@frozen
class Open:
    """A class without an end."""

    parts: dict[str, int]
    any: Any


@pytest.mark.parametrize(
    ("kind", "strict"),
    [
        (Line, True),
        (list[Line], True),
        (Line | None, True),
        (Literal["yes", 1], True),
        (Tree, True),
        (Invoice, False),
        (Open, False),
        (Town, False),
        (Person, False),
    ],
)
def test_a_schema_is_strict_where_every_provider_takes_it_so(kind: Any, *, strict: bool) -> None:
    """Every field is required, nothing else is let in, and no keyword asks for more."""
    wanted: OutputType[Any] = OutputType(kind)
    form: Any = wanted.response_format["json_schema"]
    assert form.get("strict", False) is strict


class Odd(BaseModel):
    """A model with a rule that nobody here can check."""

    name: str = Field(json_schema_extra={"unevaluatedProperties": False})


@pytest.mark.parametrize("kind", [complex, Odd, len], ids=["no JSON", "no check", "no type"])
def test_a_type_that_no_schema_describes_is_refused(kind: Any) -> None:
    """The message names the type."""
    with pytest.raises(TypeError, match="output_type"):
        OutputType(kind)


def test_there_is_at_least_one_try() -> None:
    """None at all would be no question."""
    with pytest.raises(ValueError, match="tries"):
        OutputType(Place, tries=0)


def test_the_tool_to_answer_by_says_what_it_is_for() -> None:
    """And has the name that the user gives it."""
    wanted = OutputType(int, name="done")

    assert wanted.tool == ToolSpec("done", FINAL_ANSWER, wanted.schema)
