"""The version of a tool whose class was written in no file: in a notebook, or for `python -`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MethodType
from typing import Any

import pytest

from detent import ComponentTool, Tool, component


def made(function: Callable[..., Any]) -> Tool:
    return Tool("pay", "", {"type": "object"}, function)


WITHOUT_FILE = """
class Bank:
    def {name}(self, *given):
        return {release} if given == ("release",) else object.__getattribute__(self, *given)

    def pay(self, amount: int) -> str:
        return "paid"

def send(bank, amount: int) -> str:
    return bank.pay(amount)
"""
NAMES = (
    "_send __send __send_ _Other__send __send__ __init__ __new__ __init_subclass__ "
    "__class_getitem__ __call__ __enter__ __iter__ __len__ __bool__ __str__ __repr__ __format__ "
    "__eq__ __hash__ __add__ __contains__ __getitem__ __getattr__ __getattribute__ __setattr__ "
    "__dir__ __reduce__ __sizeof__"
)


def without_file(name: str, release: int) -> dict[str, Any]:
    """A class as a notebook or `python -` has it, and a function that is given an object of it."""
    space: dict[str, Any] = {"__name__": "shop"}
    exec(WITHOUT_FILE.format(name=name, release=release), space)  # noqa: S102 - it is above
    return space


@pytest.mark.parametrize("name", NAMES.split())
def test_each_method_counts_also_where_the_class_has_no_file(name: str) -> None:
    """Python's own names and private ones too: of a method's class, and of what is handed over."""

    def versions(release: int) -> list[str]:
        space = without_file(name, release)
        bank: Any = object.__new__(space["Bank"])
        ways: list[Any] = [MethodType(space["Bank"].pay, bank), partial(space["send"], bank)]
        return [made(way).version for way in ways]

    first, second = versions(1), versions(2)

    assert first == versions(1)
    assert first[0] != second[0]
    assert first[1] != second[1]


@pytest.mark.parametrize("name", ["__send", "__enter__", "__getattr__"])
def test_each_method_of_a_component_without_a_file_counts(name: str) -> None:
    """What its `run` calls is told by no call."""

    def version(release: int) -> str:
        kind: Any = type("Bank", (without_file(name, release)["Bank"],), {"run": run_of_bank})
        return ComponentTool(component(kind)(), name="pay", description="Pay.").version

    assert version(1) != version(2)
    assert version(1) == version(1)


def run_of_bank(self: Any, amount: int) -> dict[str, Any]:
    """Pay."""
    return {"paid": self.pay(amount)}
