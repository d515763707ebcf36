"""The version of a tool: what makes it another one, and what does not."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from functools import (
    cached_property,
    lru_cache,
    partial,
    partialmethod,
    singledispatchmethod,
    wraps,
)
from types import MethodType
from typing import Any

import attrs
import pytest
from attrs import evolve, frozen
from pydantic import BaseModel, PrivateAttr, SecretStr

from detent import State, Tool
from detent.core.errors import ToolDefinitionError
from detent.core.machine.delegation import PARAMETERS
from detent.core.run.spec import AgentSpec, Delegate
from detent.core.tools.tool import as_version, by_name
from detent.core.tools.version import json_of


def made(function: Callable[..., Any], **options: Any) -> Tool:
    return Tool("pay", "", {"type": "object"}, function, **options)


def plain(n: int = 1) -> bytes:
    """Has a default, a text in bytes, and a set among its constants."""
    return b"a" if n in {1, 2} else b"b"


def other(n: int = 1) -> bytes:
    """Has a default, a text in bytes, and a set among its constants."""
    return b"a" if n in {1, 2} else b"c"


other.__qualname__ = plain.__qualname__


class Till:
    """Pays by a method, and by being called."""

    def pay(self, n: int) -> str:
        """Pay."""
        return f"{n}"

    def __call__(self, n: int) -> str:
        """Pay."""
        return f"{n}!"  # another code


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


KINDS: list[Any] = [
    *(plain, other, Till().pay, Till(), Till, print),
    *(partial(plain, 1), partial(plain, 2), partial(other, n=1), logged(plain), logged(other)),
]


def test_every_function_makes_another_version() -> None:
    """By its code, whatever it is called, and by what it wraps or has bound."""
    versions = [made(function).version for function in KINDS if function is not Till]

    assert len(set(versions)) == len(versions)


class Account:
    """Sends money by a method of its own."""

    to = "bank"

    def send(self) -> str:
        """Send."""
        return "to the bank"

    def pay(self, via: Any = None) -> str:
        """Pay."""
        return self.send()


class Other(Account):
    """Another one, whose way of sending is another."""

    __qualname__ = Account.__qualname__

    def send(self) -> str:
        """Send."""
        return "to somebody else"


@frozen
class Rate:
    """A value that JSON has no form for here."""

    per: Callable[..., Any]


def by(via: Any) -> Callable[..., Any]:
    def pay(amount: int, via: Any = via) -> str:
        return f"{amount}{via}"

    return pay


GIVEN: list[Any] = [
    lambda: 1j,
    lambda: 2j,
    plain,
    other,
    Account(),
    Other(),
    Rate(plain),
    Rate(other),
    1,
    [plain, 1],
]
LOOP: list[Any] = [plain]
LOOP.append(LOOP)


class Payee(BaseModel):
    """Who is paid."""

    name: str = "rent"
    key: SecretStr = SecretStr("")


class BankPayee(Payee):
    """Is declared as its base."""

    iban: str
    _branch: str = PrivateAttr(default="")


class Order(BaseModel):
    """A default that says little of itself as JSON."""

    payee: Payee


def at_branch(branch: str) -> Order:
    payee = BankPayee(iban="A")
    payee._branch = branch
    return Order(payee=payee)


def test_another_default_makes_another_version_whatever_json_leaves_out() -> None:
    """It is what runs where a call leaves it out."""
    orders = [
        *(Order(payee=BankPayee(iban=iban)) for iban in "AB"),
        *(Order(payee=Payee(key=SecretStr(key))) for key in ("", "k")),
        *(at_branch(branch) for branch in "xy"),
    ]
    for ways in (map(by, orders), (partial(by(None), via=order) for order in orders)):
        assert len({made(function).version for function in ways}) == len(orders)
    assert made(by((1, 2))).version != made(by([1, 2])).version
    assert made(by(at_branch("x"))).version == made(by(at_branch("x"))).version


def test_an_agent_is_another_tool_with_another_state_to_begin_with() -> None:
    """Also where its JSON is the same."""
    states = [State({"order": {"type": Order, "default": at_branch(name)}}) for name in "xy"]
    tools = [Delegate("buy", "", PARAMETERS, plain, agent=AgentSpec(one)) for one in states]

    assert tools[0].version != tools[1].version


def test_what_a_function_is_given_beforehand_makes_another_version() -> None:
    """Its partial's functions and objects, its defaults, and the other methods of its class."""
    ways: list[Any] = [*(partial(by(None), via=one) for one in GIVEN), *map(by, GIVEN)]
    ways += [Account().pay, Other().pay, Account.pay, Other.pay, by(LOOP)]
    versions = [made(function).version for function in ways]

    assert len(set(versions)) == len(versions) - 1  # of a class, the one method is the other's
    assert [made(function).version for function in ways] == versions
    assert made(by(Account())).version == made(by(Account())).version


@pytest.mark.parametrize("function", KINDS, ids=range(len(KINDS)))
def test_a_version_can_be_made_again(function: Any) -> None:
    """Nothing in it has an address."""
    assert made(function).version == made(function).version


def test_objects_of_one_class_make_one_version() -> None:
    """Another process has another object."""
    assert made(Till().pay).version == made(Till().pay).version
    assert made(Till()).version == made(Till()).version


def test_a_tool_can_count_as_a_version_that_a_history_tells_of() -> None:
    """It is that tool in all else, and the one that it was made of stays as it is."""
    tool = made(plain)
    version = tool.version
    same = as_version(tool, "before")

    assert (same.version, tool.version) == ("before", version)
    assert same == tool
    assert same.spec == tool.spec


def test_an_agent_is_another_tool_with_another_prompt_or_tool() -> None:
    """They do what is approved."""
    agents = [
        AgentSpec(State({})),
        AgentSpec(State({}), system_prompt="Pay everybody."),
        AgentSpec(State({}), by_name([made(plain)])),
        AgentSpec(State({}), by_name([made(other)])),
    ]
    tools = [Delegate("buy", "", PARAMETERS, plain, agent=agent) for agent in agents]

    assert len({tool.version for tool in tools}) == 4


def test_what_a_tool_binds_must_come_from_the_state() -> None:
    """A slip would bind nothing."""
    wired = made(plain, inputs_from_state={"count": "n"}, binds=["n"])

    assert wired.binds == ("n",)
    assert evolve(wired, binds=()).version != wired.version
    with pytest.raises(ToolDefinitionError, match="binds names 'm', which no key of the state"):
        evolve(wired, binds=("m",))


def test_a_default_without_a_form_is_shown_by_its_type() -> None:
    """It stands for the same in every process."""
    assert json_of({"a": (1, None)}) == {"a": [1, None]}
    assert json_of(object()) == "<object>"


def in_order(first: str, second: str) -> Callable[..., Any]:
    """Hands on its arguments by these names."""

    def call(source: str, target: str) -> list[str]:
        return [source, target]

    def turned(target: str, source: str) -> list[str]:
        return [target, source]

    return call if first < second else turned


def of_cell(*, is_live: bool) -> Callable[..., Any]:
    """Uses the one or the other of what stands around it."""
    live = test = "account"

    def call() -> str:
        return live

    def other() -> str:
        return test

    return call if is_live else other


def refunding(order: Callable[[], None], book: Callable[[], None]) -> str:
    """A failed booking is refunded."""
    try:
        order()
        book()
    except ValueError:
        return "refunded"
    return "paid"


def not_refunding(order: Callable[[], None], book: Callable[[], None]) -> str:
    """A failed booking is not."""
    try:
        order()
    except ValueError:
        return "refunded"
    else:
        book()
    return "paid"


@pytest.mark.parametrize(
    ("today", "tomorrow"),
    [
        (in_order("a", "b"), in_order("b", "a")),
        (of_cell(is_live=True), of_cell(is_live=False)),
        (refunding, not_refunding),
        (lambda: b"\xab", lambda: "ab"),
    ],
    ids=["arguments", "cells", "handlers", "bytes"],
)
def test_the_same_instructions_about_something_else_make_another_version(
    today: Callable[..., Any], tomorrow: Callable[..., Any]
) -> None:
    """Which argument is which, whose name is used, and what an error leads to."""
    tomorrow.__qualname__ = tomorrow.__name__ = today.__qualname__ = today.__name__ = "pay"

    assert made(today).version != made(tomorrow).version


def with_member(member: object, name: str = "helper") -> Callable[..., Any]:
    """A method of a class that has this member as well."""
    bank: Any = type("Bank", (), {name: member, "pay": lambda self: self})()
    method: Callable[..., Any] = bank.pay
    return method


MEMBERS: dict[str, Callable[[Any], object]] = {
    "a method": lambda function: function,
    "a static method": staticmethod,
    "a class method": classmethod,
    "a property": property,
    "a property's setter": lambda function: property(print, function),
    "a cached property": cached_property,
    "a partial method": lambda function: partialmethod(function, 1),
    "a method by its kinds": singledispatchmethod,
    "a cached method": lru_cache,
    "a decorated method": logged,
    "a class in it": lambda function: type("In", (), {"go": function, "__qualname__": "Bank.In"}),
}


@pytest.mark.parametrize("member", MEMBERS)
def test_each_member_of_a_class_makes_another_version(member: str) -> None:
    """A method may use every one of them."""
    first, second = (made(with_member(MEMBERS[member](function))) for function in (plain, other))

    assert first.version != second.version


def test_a_method_of_one_object_brings_the_only_other_one_of_its_class() -> None:
    """It stands in no class, so that one is not it."""
    banks = [type("Bank", (), {"send": function})() for function in (plain, other)]
    first, second = (made(MethodType(by(None), bank)).version for bank in banks)

    assert first != second


def test_what_is_generated_for_a_class_is_none_of_it() -> None:
    """Its code is another one in every process; what a human has written in its place counts."""
    fields = {"__annotations__": {"to": str}, "pay": lambda self: self}
    kinds: list[Any] = [
        *(attrs.define(type("Bank", (), {**fields})) for _ in "ab"),
        *(attrs.frozen(slots=False)(type("Bank", (), {**fields})) for _ in "ab"),
        *(dataclass(order=is_so)(type("Bank", (), {**fields})) for is_so in (False, True)),
        *(type("Bank", (namedtuple("Base", names),), {**fields}) for names in ("to", "by")),  # noqa: PYI024  # pyright: ignore[reportUntypedNamedTuple]
    ]
    versions = [made(MethodType(kind.pay, kind("me"))).version for kind in kinds]

    assert versions[::2] == versions[1::2]
    assert made(with_member(plain, "__eq__")).version != made(with_member(other, "__eq__")).version


def test_what_a_partial_method_hands_over_makes_another_version() -> None:
    """Also by a name; it is the same in every process."""
    handed = [partialmethod(plain, 1), partialmethod(plain, 2), partialmethod(plain, amount=1)]
    versions = [made(with_member(member)).version for member in handed]

    assert len({*versions}) == 3
    assert made(with_member(partialmethod(plain, 1))).version == versions[0]


def test_a_class_that_is_only_named_in_another_one_is_none_of_it() -> None:
    """Nor does it lead round in a circle."""
    kind: Any = type("Bank", (), {"pay": lambda self: self})
    alone = made(kind().pay).version
    kind.itself = kind  # as a registry of classes does

    assert made(kind().pay).version == alone


def test_a_sum_type_whose_cases_stand_in_it_has_a_version() -> None:
    """Each of them inherits from what it stands in; its code counts, and that of the others."""

    def sealed(of: object, cases: int = 20) -> Any:
        result: Any = type("Result", (), {"pay": lambda self: self})
        for number in range(cases):
            name = f"Case{number}"
            members = {"get": of, "__qualname__": f"Result.{name}"}
            setattr(result, name, type(name, (result,), members))
        return result

    first, second, fewer = sealed(plain), sealed(other), sealed(plain, 19)
    versions = [made(kind().pay).version for kind in (first, second, fewer, first.Case0)]

    assert len({*versions}) == 4
    assert made(sealed(plain)().pay).version == versions[0]
