"""Judging: what a policy says becomes an event, and a policy that fails lets nothing pass."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Coroutine
from typing import Annotated, Any, ClassVar

import pytest

from detent import (
    ChatMessage,
    SecretParameter,
    State,
    Tool,
    ToolCall,
    create_tool_from_function,
)
from detent.adapters.drivers.judging import TAKEN_OUT, judge_async
from detent.approvals import Allow, Ask, Deny, judge
from detent.core.run.strictness import failed
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
CALL = ToolCall("pay", {"n": 1}, "a")
PAY = Tool("pay", "", {"type": "object"}, print)


def asked(policy: Any, call: ToolCall = CALL, tool: Tool = PAY) -> Judge:
    """The effect of a call that `policy` guards."""
    spec = AgentSpec(
        State({}),
        by_name([tool]),
        policies=FrozenDict({"pay": policy}),
    )
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=[call]))
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
        (failing, failed("the policy failed: OSError: no rules to be found")),
        (lambda call, tool, run: True, failed("the policy said True, which is no verdict")),
        (lambda call, tool, run: None, failed("the policy said None, which is no verdict")),
        (forgetting, failed("the policy failed: ValueError: "
                            "'remember' is 'call', 'arguments' or 'tool', got 'ever'")),
        (lambda call, tool, run: Allow, failed(f"the policy said {Allow}, which is no verdict")),
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


def pay(n: int, pin: Annotated[str, SecretParameter]) -> int:
    """Pay."""
    raise AssertionError("no tool is run")


CARD = create_tool_from_function(pay)
SECRET = ToolCall("pay", {"n": 1, "pin": "1234-5678"}, "a")


def quoting(call: ToolCall, *asked: object) -> Ask:
    """Ask, and tell why with what is secret."""
    return Ask(f"the pin is {call.arguments['pin']}")


def denying(call: ToolCall, *asked: object) -> Deny:
    """Deny, likewise."""
    return Deny(f"not with {call.arguments['pin']}")


def stumbling(call: ToolCall, *asked: object) -> Allow:
    """Fail, likewise."""
    raise ValueError(call.arguments["pin"])


@pytest.mark.parametrize("colour", [lambda policy: policy, later], ids=["sync", "async"])
@pytest.mark.parametrize(
    ("policy", "reason"),
    [
        (quoting, f"the pin is <pin> {TAKEN_OUT}"),
        (denying, "not with <pin>"),
        (stumbling, f"the policy failed: ValueError: <pin> {TAKEN_OUT}"),
    ],
    ids=["asks", "denies", "fails"],
)
def test_what_is_secret_is_in_no_reason(colour: Any, policy: Any, reason: str) -> None:
    """Neither in what people are shown, nor in the event that is stored."""
    came = judge(asked(colour(policy), SECRET, CARD))
    event = asyncio.run(came) if isinstance(came, Coroutine) else came

    assert isinstance(event.verdict, Ask | Deny)
    assert event.verdict.reason == reason


class Watched(str):
    """A text that knows which thread has looked into it."""

    __slots__ = ()
    seen: ClassVar[list[int]] = []

    def __getitem__(self, part: Any, /) -> str:
        """As a text does."""
        self.seen.append(threading.get_ident())
        return super().__getitem__(part)


def test_no_event_loop_waits_for_secrets_to_be_found() -> None:
    """They are looked for in a thread: a policy's reason may be long."""
    Watched.seen.clear()

    async def verdict(*asked: object) -> Ask:
        return Ask(Watched("the pin is 1234-5678"))

    came = judge(asked(verdict, SECRET, CARD))
    assert isinstance(came, Coroutine)
    event = asyncio.run(came)

    assert event.verdict == Ask(f"the pin is <pin> {TAKEN_OUT}")
    assert Watched.seen
    assert threading.get_ident() not in Watched.seen


class Given:
    """A policy in a thread: it has begun, may go on, and what it gives is closed."""

    def __init__(self, *, is_async: bool) -> None:
        self.begun, self.go, self.ended = (threading.Event() for _ in range(3))
        self.is_async = is_async

    def __call__(self, *asked: object) -> object:
        """Wait in the thread, and give what is to be awaited, or a verdict."""
        self.begun.set()
        self.go.wait(10)
        threading.Timer(0, self.ended.set).start()
        return self.later() if self.is_async else Allow()

    async def later(self) -> Allow:
        """Never begun, once nobody waits."""
        raise AssertionError


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("is_late", [False, True])
def test_what_nobody_waits_for_is_closed(*, is_async: bool, is_late: bool) -> None:
    """Whether the thread gives it before or after the task was cancelled; else Python warns."""
    policy = Given(is_async=is_async)

    async def cancelled() -> None:
        task = asyncio.create_task(judge_async(asked(policy)))
        while not policy.begun.is_set():  # noqa: ASYNC110 - it begins in a thread
            await asyncio.sleep(0)
        if not is_late:
            policy.go.set()
            assert policy.ended.wait(10)  # in the loop's thread, which hears of it only after this
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()
        policy.go.set()
        assert policy.ended.wait(10)

    asyncio.run(cancelled())
    gc.collect()  # what was not awaited is told of when it is thrown away


def test_a_task_that_waits_for_a_policy_can_be_cancelled() -> None:
    """What the policy had begun is cancelled with it."""
    begun = asyncio.Event()

    async def slow(*asked: object) -> Allow:
        begun.set()
        await asyncio.sleep(60)
        return Allow()

    async def cancelled() -> bool:
        task = asyncio.create_task(judge_async(asked(slow)))
        await begun.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return task.cancelled()

    assert asyncio.run(cancelled())
