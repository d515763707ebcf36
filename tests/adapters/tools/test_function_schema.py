"""What a model sees of what a function takes."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import pytest
from annotated_types import MinLen
from attrs import frozen
from docstring_parser import parse
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import Field

from detent import Agent, ChatMessage, ScriptedChatGenerator, ToolCall, tool
from detent.adapters.tools.docstrings import field_texts
from detent.adapters.tools.function_schema import description_of, parameters_of
from detent.core.errors import ToolDefinitionError
from detent.core.tools.signature import Signature


@frozen
class Place:
    """A place.

    Attributes:
        name: what it is called
    """

    name: str
    floor: int = 0


def google(query: str, limit: int = 3) -> str:
    """Search the library.

    All of it.

    Args:
        query: what to look for
        limit: how many to find
    """
    return query * limit


def numpy(query: str, limit: int = 3) -> str:
    """Search the library.

    All of it.

    Parameters
    ----------
    query : str
        what to look for
    limit : int
        how many to find
    """
    return query * limit


def rest(query: str, limit: int = 3) -> str:
    """Search the library.

    All of it.

    :param query: what to look for
    :param limit: how many to find
    """
    return query * limit


SEARCH = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "what to look for"},
        "limit": {"type": "integer", "description": "how many to find", "default": 3},
    },
    "required": ["query"],
    "additionalProperties": False,
}


@frozen
class Odd:
    """A record with a field that JSON cannot carry."""

    number: complex


NOTHING_HIDDEN: frozenset[str] = frozenset()


@pytest.mark.parametrize("function", [google, numpy, rest])
def test_a_docstring_describes_function_and_parameters(function: Any) -> None:
    """In each of the styles that people write."""
    assert parameters_of(function, hidden=NOTHING_HIDDEN) == SEARCH
    assert description_of(function) == "Search the library.\n\nAll of it."


class Silent:  # noqa: D101 - that it has no docstring is the point
    def __init__(self, a: int) -> None: ...

    def __call__(self, a: int) -> int:  # noqa: D102 - as above
        return a


@dataclass
class SilentRecord:  # noqa: D101 - that it has no docstring is the point
    a: int


@frozen
class SilentValue:  # noqa: D101 - that it has no docstring is the point
    a: int


@frozen
class Spoken:
    """A value with a name."""

    a: int


class Told:  # noqa: D101 - that it has no docstring is the point
    def __init__(self, a: int) -> None:
        """Make one."""


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (Silent, ""),
        (Silent(1), ""),
        (SilentRecord, ""),
        (SilentValue, ""),
        (Spoken, "A value with a name."),
        (Told, "Make one."),
        (partial(Silent, 1), ""),
    ],
    ids=["class", "object", "dataclass", "attrs", "described", "by its init", "partial"],
)
def test_only_what_somebody_wrote_describes(function: Any, expected: str) -> None:
    """Python and its libraries describe everything they make."""
    assert description_of(function) == expected


@given(st.text("ab .,\t\n-=@", max_size=60))
@example("one\n\ntwo")
@example("one\n\n\n\ntwo")
@example("one\n---\ntwo")
def test_a_docstring_without_sections_says_what_the_parser_would_read(text: str) -> None:
    """Which is not loaded for it."""

    def silent(at: int) -> int:
        return at

    silent.__doc__ = text
    read = parse(f"\n{inspect.cleandoc(text)}")
    assert description_of(silent) == (read.description or "").strip()


class Numbered:
    """A thing.

    Parameters
    ----------
    x : int
        how far
    """


def test_a_docstring_says_what_a_class_and_its_fields_are() -> None:
    """In any of the usual styles; what `dataclass` writes by itself says nothing."""
    assert field_texts(Place) == {"": "A place.", "name": "what it is called"}
    assert field_texts(Numbered) == {"": "A thing.", "x": "how far"}
    assert field_texts(type("Bare", (), {"__doc__": "Bare(x: int)"})) == {}
    assert field_texts(type("Bare", (), {})) == {}


def test_a_docstring_may_say_only_what_the_parameters_mean() -> None:
    """Then nothing is said of the whole."""

    def look(at: str) -> None: ...

    look.__doc__ = "\n    Args:\n        at: where to\n    "
    assert description_of(look) == ""
    properties = parameters_of(look, hidden=NOTHING_HIDDEN)["properties"]
    assert properties == {"at": {"type": "string", "description": "where to"}}


def test_an_annotation_describes_before_the_docstring() -> None:
    """It is nearer."""

    def look(at: Annotated[str, "the annotation"], by: str) -> None:
        """Look.

        Args:
            at: the docstring
            by: the docstring
        """

    properties = parameters_of(look, hidden=NOTHING_HIDDEN)["properties"]
    assert properties == {
        "at": {"type": "string", "description": "the annotation"},
        "by": {"type": "string", "description": "the docstring"},
    }


def test_nested_classes_are_described_by_their_docstrings() -> None:
    """Fields and class; what `dataclass` writes by itself is no description."""

    def go(to: Place | None = None) -> None: ...

    (shown, _) = parameters_of(go, hidden=NOTHING_HIDDEN)["properties"]["to"]["anyOf"]  # type: ignore[index]  # it is one
    assert shown["description"] == "A place."
    assert shown["properties"]["name"]["description"] == "what it is called"
    assert field_texts(type("Bare", (), {"__doc__": "Bare(x: int)"})) == {}
    assert field_texts(type("Bare", (), {})) == {}


def test_a_parameter_that_is_none_by_default_may_be_none() -> None:
    """Whether its annotation says so or not."""

    def look(at: list = None, by: Annotated[int, "how"] = None, on: Any = None) -> None: ...  # type: ignore[assignment,type-arg]  # noqa: RUF013 - as people write it

    properties = parameters_of(look, hidden=NOTHING_HIDDEN)["properties"]
    assert properties == {
        "at": {"anyOf": [{"type": "array"}, {"type": "null"}], "default": None},
        "by": {
            "anyOf": [{"type": "integer"}, {"type": "null"}],
            "description": "how",
            "default": None,
        },
        "on": {"default": None},
    }


def test_hidden_parameters_are_not_shown() -> None:
    """And need no type that JSON has."""

    def look(at: object, by: str, on: Signature) -> None: ...

    schema = parameters_of(look, hidden=frozenset({"at", "on"}))
    assert schema["properties"] == {"by": {"type": "string"}}
    assert schema["required"] == ["by"]


def _takes_any(*names: str) -> None: ...
def _takes_named(**names: str) -> None: ...
def _takes_place(query: str, /) -> None: ...
def _takes_what(query) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001 - the mistake
def _takes_odd(query: Odd | None) -> None: ...


class Kit:
    """An object that can be called, with a method."""

    def look(self, at: str) -> str:
        """Look at it."""
        return at

    def __call__(self, at: str) -> str:
        """Call it."""
        return at


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (_takes_any, "parameter 'names' takes any number of values"),
        (_takes_named, "parameter 'names' takes any number of values"),
        (
            _takes_place,
            "parameter 'query' is positional only; arguments come by name: drop the '/'",
        ),
        (_takes_what, "parameter 'query' has no type annotation; write e.g. query: str"),
        (_takes_odd, "parameter 'query': in Odd.number: no JSON Schema describes complex; take a"),
        (Kit.look, "make the tool of the bound method"),
    ],
)
def test_what_a_model_cannot_pass_is_an_error_that_says_what_to_do(
    function: Any, expected: str
) -> None:
    """When the tool is made, and not when it is called."""
    with pytest.raises(ToolDefinitionError, match=expected):
        parameters_of(function, hidden=NOTHING_HIDDEN)


def test_a_partial_is_described_by_its_function() -> None:
    """And not by what Python says of partials."""

    def look(place: str, depth: int) -> str:
        return f"{place} {depth}"

    look.__doc__ = "Look somewhere."
    assert description_of(partial(look, depth=2)) == "Look somewhere."


def test_a_field_of_pydantic_is_no_default() -> None:
    """Only in a model it is one; a function would be called with the Field itself."""

    def search(limit: int = Field(default=3, ge=1)) -> int:
        return limit

    with pytest.raises(ToolDefinitionError, match=r"write limit: Annotated\[type, Field\(…\)\]"):
        parameters_of(search, hidden=frozenset())


def test_constraints_are_told_to_the_model() -> None:
    """Of annotated-types and of pydantic's Field."""

    def search(
        limit: Annotated[int, Field(ge=1, le=9, description="how many")] = 3,
        words: Annotated[list[str] | None, MinLen(1), "what about"] = None,
    ) -> str:
        return ""

    assert parameters_of(search, hidden=frozenset())["properties"] == {
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 9,
            "description": "how many",
            "default": 3,
        },
        "words": {
            "anyOf": [
                {"type": "array", "items": {"type": "string"}, "minItems": 1},
                {"type": "null"},
            ],
            "description": "what about",
            "default": None,
        },
    }


@dataclass
class Folder:
    """A folder."""

    name: str
    inside: list[Folder]


def test_a_class_that_is_in_itself_is_described_once() -> None:
    """And referred to where it comes again."""

    def keep(folder: Folder) -> None:
        """Keep it."""

    parameters: Any = parameters_of(keep, hidden=frozenset())

    assert "Folder" in parameters["$defs"]
    assert parameters["$defs"]["Folder"]["properties"]["inside"]["items"] == {
        "$ref": "#/$defs/Folder"
    }


def test_methods_and_objects_are_described_by_what_is_called() -> None:
    """As their signatures are read."""
    assert description_of(partial(google, limit=1)).startswith("Search")
    assert description_of(Kit().look) == "Look at it."
    assert description_of(Kit()) == "Call it."


def test_a_conversation_is_a_parameter() -> None:
    """In the form that `ChatMessage.to_dict` gives; the function gets messages."""

    @tool
    def forward(messages: list[ChatMessage]) -> str:
        """Send messages on."""
        return "; ".join(f"{one.role}: {one.text}" for one in messages)

    said = {"role": "user", "content": [{"text": "hi"}], "meta": {"a": [1]}}
    model = ScriptedChatGenerator(ToolCall("forward", {"messages": [said]}), "done")
    result = Agent(chat_generator=model, tools=[forward]).run("go")

    assert result.messages[-2].tool_call_results[0].text == "user: hi"
    items: Any = forward.spec.parameters["properties"]
    assert items["messages"]["items"]["required"] == ["role", "content"]
