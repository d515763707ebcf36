"""The tree of errors in the reference is that of the code."""

from __future__ import annotations

import re
from importlib import import_module

from detent import DetentError
from tests.error_tree import DOORS, PAGE, TREE, errors_below, load_all, tree


def test_the_tree_in_the_reference_is_that_of_the_code() -> None:
    """A new error is drawn in by `python tests/error_tree.py`."""
    drawn = TREE.search(PAGE.read_text(encoding="utf-8"))

    assert drawn is not None
    assert drawn[0] == tree()


def test_what_is_raised_when_is_public() -> None:
    """What the table names can be caught by name."""
    public = {name for door in DOORS for name in vars(import_module(door))["__all__"]}
    table = PAGE.read_text(encoding="utf-8").partition("| When |")[2]

    assert set(re.findall(r"`(\w+(?:Error|Exception))`", table)) <= public


def test_every_public_error_is_in_the_tree() -> None:
    """None has a base of its own: whoever catches `DetentError` catches all."""
    load_all()
    known = {kind for _, kind in errors_below(DetentError)}
    modules = [import_module(door) for door in DOORS]
    public = [getattr(module, name) for module in modules for name in dir(module)]
    errors = [one for one in public if isinstance(one, type) and issubclass(one, Exception)]

    assert [one for one in errors if one not in known] == []
