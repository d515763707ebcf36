"""A policy that is proved before it ships: who may move money, in every order of events.

A test shows that one run goes well. Here every run of a small world is gone through: the model
calls anything, tools fail, people say anything, processes die. The program ends with 1 when a
claim does not hold, and shows a shortest run that breaks it; put it into the build, before the
deployment.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence

from detent import Agent, Limits, ScriptedChatGenerator, State, tool
from detent.approvals import CallRule, RuleList
from detent.machine import Event, Run, ToolStarted
from detent.testing import (
    Proof,
    Property,
    Refuted,
    Violation,
    always_ends_within,
    budget_never_exceeded,
    check,
    never_runs_unapproved,
)

SMALL, LARGEST = 100, 1000
OWN = "savings"
TOKENS = 10_000


@tool
def balance() -> int:
    """Tell what is on the account."""
    return 1000


@tool
def move(to: str, euros: int) -> str:
    """Move money to an account."""
    return f"moved {euros} to {to}"


SHIPPED = RuleList(
    [
        CallRule("deny", tools=["move"], arguments={"euros": {"exclusiveMinimum": LARGEST}}),
        CallRule("allow", tools=["move"], arguments={"to": OWN, "euros": {"maximum": SMALL}}),
        CallRule("allow", tools=["balance"]),
    ],
    otherwise="ask",
)
"""Nothing above a thousand; small sums to the own savings as they come; a person sees the rest."""

CARELESS = RuleList(
    [
        CallRule("allow", tools=["move"], arguments={"euros": {"maximum": SMALL}}),
        CallRule("allow", tools=["balance"]),
    ],
    otherwise="ask",
)
"""As somebody would write it in a hurry: small sums go to anybody."""

Calls = Sequence[Mapping[str, object]]

STRANGERS: Calls = [{"to": "mallory", "euros": SMALL}, {"to": "mallory", "euros": 1}]
"""Payments that nobody shall miss."""
LARGE: Calls = [{"to": OWN, "euros": LARGEST + 1}, {"to": "mallory", "euros": LARGEST + 1}]
"""Payments that not even a yes lets through."""
USUAL: Mapping[str, object] = {"to": OWN, "euros": SMALL}
"""One that may run: `check` wants no world in which a claim holds because nothing happens."""


def make_agent(rules: RuleList) -> Agent:
    """The agent that is to ship. Its model is not asked."""
    return Agent(
        name="teller",
        chat_generator=ScriptedChatGenerator(),
        tools=[balance, move],
        confirmation_strategies={"*": rules},
        limits=Limits(2, max_tokens=TOKENS),
    )


def never_begins(tool_name: str, calls: Calls) -> Property:
    """A claim of one's own: no call of the tool with one of these arguments ever begins."""

    def judge(
        memory: object, before: Run[State], event: Event, after: Run[State]
    ) -> Violation | None:
        if not isinstance(event, ToolStarted):
            return None
        (call,) = (slot.call for slot in before.slots if slot.ref == event.ref)
        if call.tool_name == tool_name and dict(call.arguments) in calls:
            return Violation(f"{tool_name} begins with {dict(call.arguments)}")
        return None

    return Property(f"never_begins({tool_name!r})", judge, tools=(tool_name,))


def proved(rules: RuleList) -> Iterator[Proof]:
    """A proof of each claim.

    Raises:
        Refuted: one does not hold; it has the events that show it.
    """
    agent = make_agent(rules)
    yield check(agent, never_runs_unapproved("move"), calls=1, arguments={"move": STRANGERS})
    yield check(agent, never_begins("move", LARGE), calls=1, arguments={"move": [*LARGE, USUAL]})
    yield check(agent, budget_never_exceeded(tokens=TOKENS), always_ends_within(2), calls=1)


def main() -> int:
    """Prove all claims of the rules that are to ship, or of the careless ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--careless", action="store_true", help="rules that do not hold")
    options = parser.parse_args()
    try:
        for proof in proved(CARELESS if options.careless else SHIPPED):
            print(proof)
    except Refuted as refuted:
        print(refuted)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
