"""Judging: what a policy says becomes an event, and a policy that fails lets nothing pass."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from detent import ChatMessage, State, Tool, ToolCall
from detent.approvals import Allow, Ask, judge
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentSpec,
    CallRef,
    EffectKey,
    FrozenDict,
    Judge,
    Judged,
    ModelReplied,
    due,
    start,
    step,
)
from detent.models import ChatReply

REF = CallRef(1, 0)


def asked(policy: Any) -> Judge:
    """The effect of a call that `policy` guards."""
    spec = AgentSpec(
        State({}),
        by_name([Tool("pay", "", {"type": "object"}, print)]),
        policies=FrozenDict({"pay": policy}),
    )
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=[ToolCall("pay", {"n": 1}, "a")]))
    (effect,) = due(spec, step(spec, start(spec, [], run_id="r"), ModelReplied(1, 1, reply)))
    assert isinstance(effect, Judge)
    return effect


def said(policy: Any) -> object:
    """The verdict that is written down, from a policy of either colour."""
    came = judge(asked(policy))
    event = asyncio.run(came) if isinstance(came, Coroutine) else came
    assert event.ref == REF
    return event.verdict


def failing(*asked: object) -> Allow:
    raise OSError("no rules to be found")


def forgetting(*asked: object) -> Ask:
    return Ask(remember="ever")  # type: ignore[arg-type]  # as a user may have it


def later(policy: Any) -> Any:
    """The policy, asynchronous."""

    async def judged(*asked: object) -> object:
        await asyncio.sleep(0)
        return policy(*asked)

    return judged


@pytest.mark.parametrize("colour", [lambda policy: policy, later], ids=["sync", "async"])
@pytest.mark.parametrize(
    ("policy", "verdict"),
    [
        (lambda call, tool, run: Allow(), Allow()),
        (lambda call, tool, run: Ask(f"{tool.name} {call.arguments['n']} in {run.id}"),
         Ask("pay 1 in r")),
        (failing, Ask("the policy failed: OSError: no rules to be found")),
        (lambda call, tool, run: True, Ask("the policy said True, which is no verdict")),
        (lambda call, tool, run: None, Ask("the policy said None, which is no verdict")),
        (forgetting, Ask("the policy failed: ValueError: "
                         "'remember' is 'call', 'arguments' or 'tool', got 'ever'")),
        (lambda call, tool, run: Allow, Ask(f"the policy said {Allow}, which is no verdict")),
    ],
    ids=["allows", "asks", "fails", "says True", "says nothing", "nonsense", "gives the class"],
)  # fmt: skip
def test_only_a_clear_yes_lets_a_call_pass(colour: Any, policy: Any, verdict: object) -> None:
    """All else is a question to a human, with the reason."""
    assert said(colour(policy)) == verdict


def test_a_policy_that_is_interrupted_says_nothing() -> None:
    """Ctrl-C stops the program; the call is judged when the run goes on."""

    def stopped(*asked: object) -> Allow:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        judge(asked(stopped))


def test_the_event_is_what_the_run_waits_for() -> None:
    """Folded in, it is owed no longer."""
    effect = asked(lambda *asked: Allow())
    event = judge(effect)

    assert isinstance(event, Judged)
    assert effect.key == EffectKey("judge", 1, 0, 1)
