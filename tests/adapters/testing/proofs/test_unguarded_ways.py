"""A proof is none where a call goes another way: by an agent, a class of others, a hook, a yes."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from ast import NodeVisitor, parse
from collections import UserDict
from collections.abc import Callable, MutableSequence
from functools import partial
from html.parser import HTMLParser
from typing import Any
from xml.etree.ElementTree import XMLParser

import pytest
from attrs import evolve

from detent import (
    Agent,
    AgentTool,
    AlwaysAskPolicy,
    AskOncePolicy,
    ScriptedChatGenerator,
    Tool,
    before_tool,
    create_tool_from_function,
)
from detent.approvals import NeverAskPolicy
from detent.machine import Run, RunTool
from detent.testing import (
    Proof,
    Refuted,
    budget_never_exceeded,
    check,
    never_runs_unapproved,
)


def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


def look(amount: int) -> str:
    """Look, and pay nothing."""
    return f"saw {amount}"


PAY, LOOK = create_tool_from_function(pay), create_tool_from_function(look)


def agent_with(*tools: Tool, hooks: Any = (), **strategies: Any) -> Agent[Any, Any]:
    """An agent whose model says what the proof wants."""
    return Agent(
        chat_generator=ScriptedChatGenerator(),
        tools=list(tools),
        confirmation_strategies=strategies,
        hooks=list(hooks),
        max_agent_steps=1,
    )


def proof_beside(function: Callable[..., Any]) -> Proof:
    """What is proved of paying beside a tool with such a function."""
    schema = {"type": "object", "properties": {"task": {"type": "string"}}}
    beside = Tool("other", "Do it.", schema, function)
    return check(
        agent_with(PAY, beside, pay=AlwaysAskPolicy()),
        never_runs_unapproved("pay"),
        turns=1,
        calls=1,
    )


CLERK = agent_with(PAY)
NESTED = agent_with(AgentTool(CLERK, name="clerk", description="Pays."))
READER = agent_with(LOOK)


class Own(Agent[Any, Any]):
    """An agent of a class of one's own."""


OWN = Own(chat_generator=ScriptedChatGenerator(), tools=[PAY])


class Desk:
    """Has a clerk."""

    def __init__(self, clerk: Agent[Any, Any]) -> None:
        self.clerk = clerk

    def work(self, task: str) -> Any:
        """Let the clerk work."""
        return self.clerk.run(task).text


def by_an_agent(task: str) -> Any:
    return CLERK.run(task).text


async def by_an_agent_later(task: str) -> Any:
    return (await CLERK.run_async(task)).text


def by_an_agent_inside_of_one(task: str) -> Any:
    return NESTED.run(task).text


def by_an_agent_of_a_class(task: str) -> Any:
    return OWN.run(task).text


def by_the_function_of_an_agent_tool(task: str) -> Any:
    return AGENT_TOOL.function(task=task)


def by_a_hook_of_an_agent(task: str) -> Any:
    return HOOKED.run(task).text


def by_a_method_of_an_agent(task: str) -> Any:
    return RUN(task).text


def by_a_part_of_that(task: str) -> Any:
    return RUNS["run"]().text


def by_an_agent_that_looks(task: str) -> Any:
    return READER.run(task).text


def paying_hook(call: RunTool, run: Run[Any]) -> None:
    """Pay beside the call."""
    pay(1)


RUN = CLERK.run
RUNS: dict[str, Callable[[], Any]] = {"run": partial(CLERK.run, "pay")}
AGENT_TOOL = AgentTool(CLERK, name="clerk", description="Pays.")
HOOKED = agent_with(LOOK, hooks=[before_tool(paying_hook)])
AGENTS_BY_HAND: list[Callable[..., Any]] = [
    *(by_an_agent, by_an_agent_later, by_an_agent_inside_of_one, by_an_agent_of_a_class),
    *(by_the_function_of_an_agent_tool, by_a_hook_of_an_agent, Desk(CLERK).work),
    *(by_a_method_of_an_agent, by_a_part_of_that),
]


@pytest.mark.parametrize("function", AGENTS_BY_HAND, ids=range(len(AGENTS_BY_HAND)))
def test_the_tools_of_an_agent_that_a_tool_runs_by_hand_are_called_by_that(
    function: Callable[..., Any],
) -> None:
    """Its run is another one, of which the proof knows nothing."""
    with pytest.raises(ValueError, match=r"a function that \['other'\] calls by itself"):
        proof_beside(function)


def test_an_agent_by_hand_without_the_tool_is_no_caller_of_it() -> None:
    """Nor is an agent that is a tool: it is a part of the run."""
    assert proof_beside(by_an_agent_that_looks).states
    clerk = AgentTool(agent_with(PAY, pay=AlwaysAskPolicy()), name="clerk", description="Pays.")
    assert check(agent_with(clerk), never_runs_unapproved("pay"), turns=1, calls=1).states


class Pictures(HTMLParser):
    """Pays for each tag."""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Pay."""
        pay(1)


class Visitor(NodeVisitor):
    """Pays for each name."""

    def visit_Name(self, node: object) -> None:
        """Pay."""
        pay(1)


class Decoder(json.JSONDecoder):
    """Pays for each text."""

    def raw_decode(self, s: str, idx: int = 0) -> tuple[Any, int]:
        """Pay."""
        return pay(1), len(s)


class Arguments(ArgumentParser):
    """Pays for each mistake."""

    def error(self, message: str) -> Any:
        """Pay."""
        pay(1)


class Paying:
    """Pays, and comes of nothing itself."""

    def insert(self, index: int, value: Any) -> None:
        """Pay."""
        pay(1)


class Items(Paying, MutableSequence[Any]):
    """A list that pays for what is added to it."""

    def __getitem__(self, index: Any) -> Any:
        raise IndexError

    def __setitem__(self, index: Any, value: Any) -> None: ...

    def __delitem__(self, index: Any) -> None: ...

    def __len__(self) -> int:
        return 0


class Table(UserDict[str, Any]):
    """A table of an abstract class, of which Python notes what it has been asked about."""

    def __setitem__(self, key: str, value: Any) -> None:
        """Pay."""
        pay(1)


class Target:
    """Pays for each element."""

    def start(self, tag: str, attributes: object) -> None:
        """Pay."""
        pay(1)

    def close(self) -> None:
        """Nothing."""


ITEMS = Items()


def by_a_parser(task: str) -> None:
    parser = Pictures()
    parser.feed(task)


def by_a_visitor(task: str) -> None:
    Visitor().visit(parse(task))


def by_a_decoder(task: str) -> Any:
    return json.loads(task, cls=Decoder)


def by_arguments(task: str) -> None:
    Arguments().parse_args([task])


def by_items(task: str) -> None:
    ITEMS.append(task)


def by_a_table(task: str) -> Any:
    return Table(task=task)


def by_a_target(task: str) -> None:
    XMLParser(target=Target()).feed(task)  # noqa: S314 - nobody runs it


CLASSES: list[Callable[..., Any]] = [
    *(by_a_parser, by_a_visitor, by_a_decoder, by_arguments, by_items, by_a_table, by_a_target),
]


@pytest.mark.parametrize("function", CLASSES)
def test_a_class_above_calls_the_methods_of_ones_own(function: Callable[..., Any]) -> None:
    """No code of the user's names them: that of the library does."""
    with pytest.raises(ValueError, match=r"a function that \['other'\] calls by itself"):
        proof_beside(function)


class Bank:
    """Looks, and could pay."""

    def look(self) -> int:
        """Look."""
        return 3

    def transfer(self) -> str:
        """Pay."""
        return pay(1)


class Branch(Bank):
    """Of a class of one's own."""


class Broken(Exception):  # noqa: N818 - as short as any
    """Of a class that Python calls special methods of alone."""

    def transfer(self) -> str:
        """Pay."""
        return pay(1)


BRANCH = Branch()


def by_nothing(task: str) -> int:
    if task == "no":
        raise Broken
    return BRANCH.look()


def test_a_class_of_ones_own_is_called_by_the_names_of_its_methods() -> None:
    """Nothing above it calls what nobody names."""
    assert proof_beside(by_nothing).states


def in_cents(call: RunTool, run: Run[Any]) -> RunTool | None:
    """The model speaks of euros, the tool of cents."""
    amount: Any = call.call.arguments["amount"]
    if not 0 < amount < 1000:
        return None
    return evolve(call, call=evolve(call.call, arguments={"amount": amount * 100}))


LITTLE = {"pay": [{"amount": 50}], "look": [{"amount": 50}]}


def test_what_a_hook_makes_of_a_call_that_no_policy_stands_before_is_not_in_the_run() -> None:
    """So nothing is proved of it. With a policy it is, and the claim is refuted."""
    claim = budget_never_exceeded(amount=100, tools=["pay"])
    hooks = [before_tool(in_cents)]

    def proved(*claims: Any, **strategies: Any) -> Proof:
        agent = agent_with(PAY, LOOK, hooks=hooks, **strategies)
        return check(agent, *claims, turns=1, calls=1, arguments=LITTLE)

    with pytest.raises(ValueError, match=r"hooks make .*5000.* of a call of 'pay' with .*NeverAsk"):
        proved(claim)
    with pytest.raises(Refuted, match="with amount 5000"):
        proved(claim, pay=NeverAskPolicy())
    # of another tool the claim says nothing
    assert proved(never_runs_unapproved("pay"), pay=AlwaysAskPolicy()).states


def instead(call: RunTool, run: Run[Any]) -> RunTool | None:
    """Have something else looked at than the model wants."""
    if call.tool.name == "pay":
        return None
    return evolve(call, tool=evolve(call.tool, function=by_nothing, parameters={"type": "object"}))


def test_a_hook_that_has_another_tool_run_is_refused() -> None:
    """No policy is asked about that one, whatever it is."""
    agent = agent_with(LOOK, PAY, hooks=[before_tool(instead)], pay=AlwaysAskPolicy())
    with pytest.raises(ValueError, match=r"hooks make .* of a call of 'look' .* no policy guards"):
        check(agent, never_runs_unapproved("pay"), turns=1, calls=1)


class Learning:
    """Asks until a human has said yes once."""

    def __init__(self) -> None:
        self.known = set[str]()

    def should_ask(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> bool:
        """Whether nobody has said yes so far."""
        return tool_name not in self.known

    def update_after_confirmation(
        self,
        tool_name: str,
        tool_description: str,
        tool_params: dict[str, Any],
        confirmation_result: Any,
    ) -> None:
        """Know it from now on."""
        self.known.add(tool_name)


class OnceMore(AskOncePolicy):
    """That of Detent, which says the same in a run."""


def test_a_policy_that_learns_is_refused() -> None:
    """It is told of no decision here, and would ask each time. Detent's own is in the run."""
    claim = never_runs_unapproved("pay")
    outer = agent_with(AgentTool(agent_with(PAY, pay=Learning()), name="clerk", description="c"))

    for agent in (agent_with(PAY, pay=Learning()), outer):
        with pytest.raises(ValueError, match=r"the policy of 'pay' learns .*update_after_confirm"):
            check(agent, claim, turns=1, calls=1)
    for once in (AskOncePolicy(), OnceMore()):
        assert check(agent_with(PAY, pay=once), claim, turns=1, calls=1).states
