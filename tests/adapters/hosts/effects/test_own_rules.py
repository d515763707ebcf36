"""A worker begins nothing that its own rules forbid, whatever others have let run by theirs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from detent import (
    Agent,
    AgentTool,
    AlwaysAskPolicy,
    ChatMessage,
    MemoryJournal,
    NeverAskPolicy,
    ScriptedChatGenerator,
    Tool,
    ToolCall,
    tool,
)
from detent.approvals import Allow, Approvers, Ask, Deny, WithApprovers
from detent.machine import Run, match_decision
from detent.testing import When
from tests.adapters.hosts.effects.played import Stage
from tests.adapters.hosts.effects.test_inside import said
from tests.adapters.hosts.effects.test_releases import (
    Release,
    clerk,
    followed_again,
    question,
    say_yes,
    until,
)

DONE = list[str]()


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    DONE.clear()


@tool
def pay(amount: int) -> str:
    """Pay."""
    DONE.append(f"paid {amount}")
    return "paid"


class Fixed:
    """Asks, and denies what is of another amount: no digest of its code knows of that."""

    def __init__(self, amount: int) -> None:
        def policy(call: ToolCall, tool: Tool, run: Run[Any]) -> Ask | Deny:
            self.asked += 1
            return Deny("frozen") if call.arguments["amount"] != amount else Ask("sure?")

        self.asked, self.policy = 0, policy


def test_what_the_worker_denies_does_not_run_by_a_yes_to_the_rules_of_another() -> None:
    """Its policy says so by what it has captured."""

    async def main() -> None:
        async with asyncio.timeout(20):
            old, new = (clerk(pay, Fixed(amount).policy) for amount in (9, 1))
            stage = Stage(old, MemoryJournal())
            given = await stage.given()
            inside = stage.inside(given)
            following = asyncio.create_task(inside.follow())
            first = await question(inside)
            stage.engine.outside = Release(stage, new, "tool")  # type: ignore[assignment]  # it performs
            await say_yes(stage, inside, first)
            await following
            assert DONE == []
            assert "frozen" in inside.run.messages[-2].tool_call_results[0].text
            assert [one.by for one in inside.run.decisions] == ["Ada", "policy"]
            await followed_again(stage, given, inside, old, new)

    asyncio.run(main())


def allowing(call: ToolCall, tool: Tool, run: Run[Any]) -> Allow:
    """Nobody is asked."""
    return Allow()


def test_what_the_worker_wants_more_is_asked_anew() -> None:
    """Others must decide; it runs by their yes, and the worker is not asked about that again."""

    async def main() -> None:
        async with asyncio.timeout(20):
            old, new = clerk(pay, allowing), clerk(pay, rule := AlwaysAskPolicy())
            stage = Stage(old, MemoryJournal())
            given = await stage.given()
            inside = stage.inside(given)
            stage.engine.outside = Release(stage, new, "tool")  # type: ignore[assignment]  # it performs
            following = asyncio.create_task(inside.follow())
            asked = await question(inside)
            assert "the rules want more now: a human must be asked" in asked.changed
            await followed_again(stage, given, inside, old, new)
            await say_yes(stage, inside, asked)
            await following
            assert DONE == ["paid 9"]
            assert rule == AlwaysAskPolicy()
            await followed_again(stage, given, inside, old, new)

    asyncio.run(main())


def test_a_worker_asks_its_policy_once() -> None:
    """It has judged the call itself; another one with the same rules asks once more."""

    async def main() -> None:
        async with asyncio.timeout(20):
            mine, others = Fixed(9), Fixed(9)
            stage = Stage(clerk(pay, mine.policy), MemoryJournal())
            given = await stage.given()
            inside = stage.inside(given)
            following = asyncio.create_task(inside.follow())
            first = await question(inside)
            release = Release(stage, clerk(pay, others.policy))
            stage.engine.outside = release  # type: ignore[assignment]  # it performs
            await say_yes(stage, inside, first)
            await following
            assert DONE == ["paid 9"]
            assert (mine.asked, others.asked) == (1, 0)

            again = Stage(clerk(pay, others.policy), MemoryJournal())
            inside = again.inside(await again.given())
            following = asyncio.create_task(inside.follow())
            first = await question(inside)
            again.engine.outside = Release(again, clerk(pay, mine.policy), "tool")  # type: ignore[assignment]  # it performs
            await say_yes(again, inside, first)
            await following
            assert DONE == ["paid 9", "paid 9"]
            assert (mine.asked, others.asked) == (2, 1)

    asyncio.run(main())


def teller(policy: Any, **options: Any) -> Agent[Any, Any]:
    """Pays two people at once."""
    calls = [ToolCall("pay", {"amount": amount}, str(amount)) for amount in (1, 2)]
    script = ScriptedChatGenerator(ChatMessage.from_assistant(tool_calls=calls), "done")
    rules = {"pay": policy}
    return Agent(chat_generator=script, tools=[pay], confirmation_strategies=rules, **options)


def test_what_is_revoked_while_the_policy_of_a_worker_is_asked_lets_nothing_begin() -> None:
    """It takes its time, and the word that has let the call run is taken back meanwhile."""

    async def main() -> None:
        async with asyncio.timeout(20):
            stage = Stage(teller(AlwaysAskPolicy()), MemoryJournal())
            desk = teller(AlwaysAskPolicy(), journal=stage.journal)
            inside = stage.inside(await stage.given())

            async def slow(call: ToolCall, tool: Tool, run: Run[Any]) -> Ask:
                if call.arguments["amount"] == 2 and inside.run.grants:
                    await asyncio.to_thread(desk.revoke, inside.run.id, inside.run.grants[0])
                return Ask("sure?")

            following = asyncio.create_task(inside.follow())
            first = await question(inside)
            stage.engine.outside = Release(stage, teller(slow), "tool")  # type: ignore[assignment]  # it performs
            yes = first.confirm(by="Ada", remember="tool")
            assert await said(stage, match_decision(inside.spec, inside.run, yes, at=1.0).unwrap())
            await until(lambda: DONE and not inside.run.grants)
            second = await question(inside, first.digest)
            assert (second.arguments["amount"], DONE) == (2, ["paid 1"])
            following.cancel()

    asyncio.run(main())


def replied(messages: Sequence[ChatMessage]) -> ToolCall | str:
    """The helper pays, and says by which prompt."""
    if messages[-1].tool_call_results:
        return "paid"
    DONE.append(messages[0].text or "")
    return ToolCall("pay", {"amount": 900})


def boss(prompt: str, inner: Any, policy: Any = None) -> Agent[Any, Any]:
    """Has another one pay, once somebody has said yes to that."""
    script = ScriptedChatGenerator(When(lambda messages: True, replied))
    rules = {"pay": inner}
    helper = Agent(
        chat_generator=script, tools=[pay], system_prompt=prompt, confirmation_strategies=rules
    )
    return Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("helper", {"task": "pay"}), "done"),
        tools=[AgentTool(helper, name="helper", description="pays")],
        confirmation_strategies={"helper": policy or AlwaysAskPolicy()},
    )


@pytest.mark.parametrize(
    ("new", "change"),
    [
        (boss("Spend it all.", NeverAskPolicy()), "the tool itself has changed"),
        (boss("Be careful.", NeverAskPolicy()), "the tool itself has changed"),
        (
            boss("Be careful.", AlwaysAskPolicy(), WithApprovers(AlwaysAskPolicy(), Approvers(2))),
            "others must decide, or more people",
        ),
    ],
    ids=["another prompt", "other rules", "other approvers"],
)
def test_no_agent_works_by_a_yes_to_the_rules_of_another(new: Agent[Any, Any], change: str) -> None:
    """It has begun in the run alone, and is asked about anew before its model says a word."""

    async def main() -> None:
        async with asyncio.timeout(20):
            old = boss("Be careful.", AlwaysAskPolicy())
            stage = Stage(old, MemoryJournal())
            given = await stage.given()
            inside = stage.inside(given)
            following = asyncio.create_task(inside.follow())
            first = await question(inside)
            stage.engine.outside = Release(stage, new, "model/1/0/1@", "judge")  # type: ignore[assignment]  # it performs
            await say_yes(stage, inside, first)
            second = await question(inside, first.digest)
            assert second.tool_name == "helper"
            assert change in second.changed
            assert DONE == []
            await followed_again(stage, given, inside, old, new)
            following.cancel()

    asyncio.run(main())


def test_an_agent_works_where_its_rules_are_those_that_were_shown() -> None:
    """Any worker of the same release may begin with it."""

    async def main() -> None:
        async with asyncio.timeout(20):
            inner = ("model/1/0/1@", "model/2/0/1@")
            agents = [boss("Be careful.", NeverAskPolicy()) for _ in range(2)]
            stage = Stage(agents[0], MemoryJournal())
            given = await stage.given()
            inside = stage.inside(given)
            following = asyncio.create_task(inside.follow())
            first = await question(inside)
            stage.engine.outside = Release(stage, agents[1], *inner, "tool")  # type: ignore[assignment]  # it performs
            await say_yes(stage, inside, first)
            await following
            assert DONE == ["Be careful.", "paid 900"]
            await followed_again(stage, given, inside, *agents)

    asyncio.run(main())
