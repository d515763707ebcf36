"""How long it takes to find what a tool calls, by how many calls of Python's it takes."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from detent.adapters.testing.proofs.functions import reached_from
from detent.adapters.testing.proofs.named_functions import Found

LIBRARY = "box_of_a_library"


def desk_module(count: int, held: str = "None") -> dict[str, Any]:
    """A function, and an object with so many methods that call each other."""
    lines = [f"    def m{i}(self): return self.m{i + 1}()" for i in range(count)]
    lines += [f"    def m{count}(self): return self.box.open()"]
    text = "\n".join(["class Desk:", *lines, "desk = Desk()", f"desk.box = {held}"])
    module = ModuleType(f"desk_of_{count}")
    names = module.__dict__ | {"Box": vars(sys.modules[LIBRARY])["Box"]}
    exec(f"{text}\ndef pay(): return desk.m0()", names)  # noqa: S102  # which has that many
    return names


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """It knows nothing of users: only what opens its box looks into it."""
    module = ModuleType(LIBRARY)
    module.__file__ = "/site-packages/box.py"
    exec("class Box:\n    def open(self): return 1", module.__dict__)  # noqa: S102  # in no file
    monkeypatch.setitem(sys.modules, LIBRARY, module)


def calls_for(count: int, held: str) -> int:
    """So many calls of functions in Python."""
    pay, calls = desk_module(count, held)["pay"], 0

    def count_it(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count_it)
    try:
        reached = [*reached_from([Found(pay)])]
    finally:
        sys.setprofile(before)
    assert len(reached) > count
    return calls


@pytest.mark.parametrize("held", ["None", "Box()"], ids=["nothing", "a library's"])
def test_methods_that_call_each_other_are_looked_at_once(held: str) -> None:
    """Each is of one object, on which all their names are looked up, and not once for each."""
    assert calls_for(120, held) < 3 * calls_for(60, held)


def test_each_function_looks_up_its_own_names_on_what_is_installed() -> None:
    """Also where others have been at what holds it."""
    names = desk_module(3, "Box()")
    found = {getattr(one, "__qualname__", "") for one in reached_from([Found(names["pay"])])}
    assert "Box.open" in found
    assert "Desk.m3" in found
