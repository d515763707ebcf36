"""Docstrings describe what is there, and their examples are true."""

from __future__ import annotations

import doctest
import importlib
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import griffe
import pytest

from detent import Agent
from detent.adapters.agent.options import AgentOptions

SOURCE = Path(__file__).resolve().parent.parent.parent / "src"
WITH_EXAMPLES = [
    path.relative_to(SOURCE).with_suffix("")
    for path in sorted(SOURCE.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=str)
def test_the_examples_of_a_module_are_true(path: Path) -> None:
    """Each prints what the docstring says."""
    module = importlib.import_module(".".join(path.parts))
    assert doctest.testmod(module).failed == 0


def documented(place: griffe.Object) -> Iterator[griffe.Docstring]:
    """The docstrings of a package, module or class and of all that is in it."""
    for member in place.members.values():
        if isinstance(member, griffe.Object):
            yield from documented(member)
    if place.docstring is not None:
        yield place.docstring


def test_docstrings_describe_what_is_there(caplog: pytest.LogCaptureFixture) -> None:
    """The reference is made from them: no parameter is described that a function has not got."""
    package = griffe.load("detent", search_paths=[SOURCE], docstring_parser="google")
    assert isinstance(package, griffe.Object)
    with caplog.at_level(logging.WARNING, "griffe"):
        assert [docstring.parsed for docstring in documented(package)]
    assert caplog.messages == []


def test_an_editor_shows_every_option_of_an_agent_where_it_is_made() -> None:
    """The docstring of `Agent` names each by what it is for: a hover shows no `AgentOptions`."""
    shown = set(re.findall(r"\w+", Agent.__doc__ or ""))
    assert AgentOptions.__annotations__.keys() - shown == set()
