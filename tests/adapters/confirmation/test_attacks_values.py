"""Attacks by values that say little of themselves: a yes is to all that a value is.

Each test is called by the promise that it attacks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from attrs import frozen
from pydantic import BaseModel, Field, PrivateAttr, SecretStr

from detent import (
    Agent,
    AgentTool,
    AlwaysAskPolicy,
    ConfirmationUIResult,
    MemoryJournal,
    ScriptedChatGenerator,
    ToolCall,
    create_tool_from_function,
    tool,
)
from detent.approvals import Allow, Ask, BlockingConfirmationStrategy


class Secret(BaseModel):
    """Prints and dumps a mask."""

    iban: SecretStr


class Excluded(BaseModel):
    """Leaves out what counts."""

    iban: str = Field(exclude=True)


class Private(BaseModel):
    """Has it as its own business."""

    _iban: str = PrivateAttr(default="")

    @property
    def iban(self) -> str:
        """Where to."""
        return self._iban


class Payee(BaseModel):
    """Somebody."""

    name: str = "Ann"


class BankPayee(Payee):
    """Somebody with an account."""

    iban: str


class Order(BaseModel):
    """Declares somebody, and has an account."""

    payee: Payee

    @property
    def iban(self) -> Any:
        """Where to."""
        return getattr(self.payee, "iban", None)


@dataclass
class Slip:
    """Is not made with it."""

    iban: str = field(default="", init=False)


def private(iban: str) -> Private:
    made = Private()
    made._iban = iban
    return made


def slip(iban: str) -> Slip:
    made = Slip()
    made.iban = iban
    return made


ACCOUNTS: dict[str, tuple[type, Callable[[str], Any]]] = {
    "a secret": (Secret, lambda iban: Secret(iban=SecretStr(iban))),
    "an excluded field": (Excluded, lambda iban: Excluded(iban=iban)),
    "a private attribute": (Private, private),
    "a subclass": (Order, lambda iban: Order(payee=BankPayee(iban=iban))),
    "a field that is not given": (Slip, slip),
}


def tools_of(kind: type, make: Callable[[str], Any], paid: list[Any]) -> list[Any]:
    """One by which the model chooses an account, and one that pays to it."""

    def choose(iban: str) -> Any:
        return make(iban)

    def pay(amount: int, account: Any) -> str:
        paid.append(getattr(account.iban, "get_secret_value", lambda: account.iban)())
        return f"paid {amount}"

    choose.__annotations__["return"] = pay.__annotations__["account"] = kind
    return [
        create_tool_from_function(choose, outputs_to_state={"account": {}}),
        create_tool_from_function(pay, inputs_from_state={"account": "account"}),
    ]


def chosen(iban: str) -> list[ToolCall]:
    return [ToolCall("choose", {"iban": iban}), ToolCall("pay", {"amount": 1})]


class Rememberer:
    """Says yes to each question, for these arguments and this account, and counts them."""

    def __init__(self) -> None:
        self.asked = 0

    def get_user_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> ConfirmationUIResult:
        """Yes."""
        self.asked += 1
        return ConfirmationUIResult("confirm", remember="arguments")


@pytest.mark.parametrize("way", ACCOUNTS)
def test_a_remembered_yes_counts_for_no_value_that_dumps_the_same(way: str) -> None:
    """The model chooses another account after the yes; the same one is not asked about again."""
    kind, make = ACCOUNTS[way]
    paid, person = list[str](), Rememberer()
    agent = Agent(
        chat_generator=ScriptedChatGenerator(
            *(call for iban in ("ANN", "ANN", "MALLORY") for call in chosen(iban)), "done"
        ),
        tools=tools_of(kind, make, paid),
        state_schema={"account": {"type": kind}},
        confirmation_strategies={"pay": BlockingConfirmationStrategy(AlwaysAskPolicy(), person)},
    )
    agent.run("Pay Ann.")

    assert (paid, person.asked) == (["ANN", "ANN", "MALLORY"], 2)


def test_what_a_store_has_lost_is_asked_about_again() -> None:
    """The account that was approved is not the one that another process finds."""
    kind, make = ACCOUNTS["a secret"]
    paid, journal = list[str](), MemoryJournal()

    def agent(*script: Any) -> Agent[Any]:
        return Agent(
            chat_generator=ScriptedChatGenerator(*script),
            tools=tools_of(kind, make, paid),
            journal=journal,
            state_schema={"account": {"type": kind}},
            confirmation_strategies={"pay": AlwaysAskPolicy()},
        )

    (first,) = agent(*chosen("ANN")).run("go", run_id="r", raise_at_break_point=False).pending
    assert agent().pending("r") == ()
    (again,) = agent().resume("r", raise_at_break_point=False).pending

    assert "what the state fills in has changed" in again.changed
    assert again.digest != first.digest
    assert (agent().pending("r"), paid) == ((again,), [])
    agent().decide("r", again.confirm())
    agent("done").resume("r")
    assert paid == ["**********"]


def test_a_yes_counts_for_no_release_with_another_default_that_dumps_the_same() -> None:
    """What a call leaves out is what was confirmed."""
    paid, journal = list[Any](), MemoryJournal()

    def release(iban: str, *script: Any) -> Agent[Any]:
        rent = Order(payee=BankPayee(iban=iban))

        def pay(amount: int, order: Any = rent) -> str:  # an Order has JSON that leaves it out
            paid.append((amount, order.iban))
            return "paid"

        return Agent(
            chat_generator=ScriptedChatGenerator(*script),
            tools=[create_tool_from_function(pay)],
            journal=journal,
            confirmation_strategies={"pay": AlwaysAskPolicy()},
        )

    call = ToolCall("pay", {"amount": 9})
    (asked,) = release("ANN", call).run("go", run_id="r", raise_at_break_point=False).pending
    release("ANN").decide("r", asked.confirm())
    (again,) = release("MALLORY").resume("r", raise_at_break_point=False).pending

    assert paid == []
    assert "the tool itself has changed" in again.changed


class Mode(Enum):
    """How much is paid unasked."""

    STRICT = 100
    LAX = 10**9


@frozen
class UpTo:
    """Allows what is not above its limit."""

    limit: Any

    def __call__(self, call: ToolCall, tool: Any, run: Any) -> Any:
        """Judge."""
        limit: Any = self.limit.value if isinstance(self.limit, Mode) else self.limit
        return Allow() if call.arguments["amount"] <= limit else Ask("too much")


@pytest.mark.parametrize(
    ("strict", "lax"),
    [
        (100, 10**9),
        (Decimal(100), Decimal(10**9)),
        (Fraction(100), Fraction(10**9)),
        (Mode.STRICT, Mode.LAX),
    ],
)
def test_a_yes_to_an_agent_is_to_the_limits_of_its_policies(strict: Any, lax: Any) -> None:
    """Whatever class they are of."""
    paid, journal = list[int](), MemoryJournal()

    def pay(amount: int) -> str:
        paid.append(amount)
        return "paid"

    def release(limit: object, *script: Any) -> Agent[Any]:
        inner = Agent(
            chat_generator=ScriptedChatGenerator(ToolCall("pay", {"amount": 5000}), "paid it"),
            tools=[create_tool_from_function(pay)],
            confirmation_strategies={"pay": UpTo(limit)},
        )
        return Agent(
            chat_generator=ScriptedChatGenerator(*script),
            tools=[AgentTool(inner, name="payer", description="Pays.")],
            confirmation_strategies={"payer": AlwaysAskPolicy()},
            journal=journal,
        )

    call = ToolCall("payer", {"task": "pay"})
    (asked,) = release(strict, call).run("go", run_id="r", raise_at_break_point=False).pending
    release(strict).decide("r", asked.confirm())
    (again,) = release(lax).resume("r", raise_at_break_point=False).pending

    assert (again.tool_name, paid) == ("payer", [])
    assert "the tool itself has changed" in again.changed


LONDON, ABIDJAN = ZoneInfo("Europe/London"), ZoneInfo("Africa/Abidjan")
WINTER = datetime(2026, 1, 25, 1, 30, tzinfo=LONDON)
MOMENTS: list[tuple[Any, Any]] = [
    (WINTER, WINTER.replace(tzinfo=ABIDJAN)),
    (WINTER, WINTER.astimezone(UTC)),
    (WINTER, WINTER.replace(fold=1)),
    (time(1, 30), time(1, 30, fold=1)),
    (time(1, 30, tzinfo=LONDON), time(1, 30, tzinfo=ABIDJAN)),
]


@pytest.mark.parametrize(("one", "other"), MOMENTS)
def test_a_remembered_yes_counts_for_no_other_zone(one: Any, other: Any) -> None:
    """Half a year later it is another hour."""
    paid, asked = list[Any](), list[str]()

    @tool(outputs_to_state={"due": {}})
    def defer() -> Any:
        """Choose another day."""
        return other

    @tool(inputs_from_state={"due": "due"})
    def pay(amount: int, due: Any) -> str:
        """Pay."""
        paid.append(due)
        return "paid"

    class Desk:
        """Says yes, for all of the tool."""

        def get_user_confirmation(
            self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
        ) -> ConfirmationUIResult:
            """Yes."""
            asked.append(tool_name)
            return ConfirmationUIResult("confirm", remember="tool")

    Agent(
        chat_generator=ScriptedChatGenerator(
            ToolCall("pay", {"amount": 1}),
            ToolCall("defer"),
            ToolCall("pay", {"amount": 1}),
            "done",
        ),
        tools=[defer, pay],
        state_schema={"due": {"type": type(one)}},
        confirmation_strategies={"pay": BlockingConfirmationStrategy(AlwaysAskPolicy(), Desk())},
    ).run("go", due=one)

    assert (len(paid), len(asked)) == (2, 2)


@pytest.mark.parametrize(("one", "other"), MOMENTS)
def test_a_yes_counts_for_no_release_whose_default_is_in_another_zone(one: Any, other: Any) -> None:
    """Both are shown as one text."""
    paid, journal = list[Any](), MemoryJournal()

    def release(default: Any, *script: Any) -> Agent[Any]:
        def pay(amount: int, due: Any = default) -> str:
            paid.append(due)
            return "paid"

        pay.__annotations__["due"] = type(default)
        return Agent(
            chat_generator=ScriptedChatGenerator(*script),
            tools=[create_tool_from_function(pay)],
            journal=journal,
            confirmation_strategies={"pay": AlwaysAskPolicy()},
        )

    call = ToolCall("pay", {"amount": 9})
    (asked,) = release(one, call).run("go", run_id="r", raise_at_break_point=False).pending
    release(one).decide("r", asked.confirm())
    (again,) = release(other).resume("r", raise_at_break_point=False).pending

    assert again.changed
    assert paid == []
