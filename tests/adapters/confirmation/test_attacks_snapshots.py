"""Attacks on who decides: what is written into a snapshot, or carried in place of what was signed.

Each test is called by the promise that it attacks.
"""

from __future__ import annotations

import json
import string
from base64 import b64encode
from collections.abc import Callable
from math import nan
from typing import Any, Literal

import pytest
from attrs import evolve

from detent import (
    Agent,
    AgentSnapshot,
    AgentTool,
    AlwaysAskPolicy,
    HITLBreakpointException,
    MemoryJournal,
    ScriptedChatGenerator,
    ToolCall,
    tool,
)
from detent.approvals import (
    ApproverKey,
    ApproverKeys,
    Approvers,
    DecisionRefusedError,
    PendingCall,
    Signer,
    WithApprovers,
    WithQuestionOptions,
)
from detent.core.codec.json_text import TAG

LATER = 4e9
ADA, BOB = Signer.new("Ada"), Signer.new("Bob")
KEYS = ApproverKeys({one.name: ApproverKey(one.public_key, ("f",)) for one in (ADA, BOB)})
TWO = WithApprovers(AlwaysAskPolicy(), Approvers(2, roles=("f",), apart=True))
Written = dict[str, Any]


class Desk:
    """An agent that pays once two people have signed, without a journal."""

    def __init__(self, on_unknown: Literal["ask", "rerun"] = "ask") -> None:
        self.paid: list[int] = []
        self.on_unknown: Literal["ask", "rerun"] = on_unknown

    def agent(self, *script: Any) -> Agent[Any]:
        """For one process."""

        @tool(on_unknown=self.on_unknown)
        def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return "paid"

        return Agent(
            chat_generator=ScriptedChatGenerator(*script),
            tools=[pay],
            approvers=KEYS,
            confirmation_strategies={"pay": TWO},
        )

    def stopped(self, *script: Any, **begin: Any) -> tuple[PendingCall, AgentSnapshot]:
        """What waits when a run stops, and the run."""
        with pytest.raises(HITLBreakpointException) as raised:
            self.agent(*script).run(**begin)
        return raised.value.pending[0], raised.value.snapshot

    def begun(self) -> tuple[PendingCall, AgentSnapshot]:
        """A run that Cyd has begun, who wants 900."""
        return self.stopped(ToolCall("pay", {"amount": 900}), messages="go", started_by="Cyd")


def rewritten(snapshot: AgentSnapshot, change: Callable[[Written, Written], None]) -> AgentSnapshot:
    """The snapshot as somebody has changed it, who is given the run and its call."""
    data = json.loads(json.dumps(snapshot.to_dict()))
    change(data["run"], data["run"]["phase"]["slots"][0])
    return AgentSnapshot.from_dict(data)


def vote(_: Written, slot: Written) -> None:
    slot["status"]["votes"] = [
        {"ref": [1, 0], "call": slot["call"], "decision": {TAG: "Confirmed"}, "by": "Ada"}
    ]


def named_vote(run: Written, slot: Written) -> None:
    vote(run, slot)
    slot["status"]["votes"][0]["who"] = {"name": "Ada", "roles": ["f"]}


def grant(run: Written, slot: Written) -> None:
    asked = slot["status"]
    run["grants"] = [
        {
            "ref": [1, 0],
            "call": slot["call"],
            "scope": "tool",
            "binding": asked["binding"],
            "by": "Ada",
            "approvers": asked["ask"]["approvers"],
        }
    ]
    slot["status"] = {TAG: "AwaitingPolicy"}


def clearance(run: Written, slot: Written) -> None:
    asked = slot["status"]
    run["decisions"] = [
        {
            "ref": [1, 0],
            "call": slot["call"],
            "decision": {TAG: "Confirmed"},
            "by": "Ada",
            "who": {"name": "Ada", "roles": ["f"]},
        }
    ]
    slot["clearance"] = {"binding": asked["binding"], "ask": asked["ask"]}
    slot["status"] = {TAG: "Ready"}


def changed_call(run: Written, slot: Written) -> None:
    clearance(run, slot)
    slot["clearance"]["is_unjudged"] = True
    slot["status"] = {TAG: "AwaitingPolicy"}


def begun_call(run: Written, slot: Written) -> None:
    clearance(run, slot)
    slot["status"] = {TAG: "Running"}


def begun_without_asking(run: Written, slot: Written) -> None:
    slot["status"] = {TAG: "Running"}


CHANGES = [vote, named_vote, grant, clearance, changed_call, begun_call, begun_without_asking]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("on_unknown", ["ask", "rerun"])
def test_what_is_written_into_a_snapshot_is_nobodys_yes(change: Any, on_unknown: Any) -> None:
    """One signature beside it is one."""
    desk = Desk(on_unknown)
    call, snapshot = desk.begun()
    signed = [BOB.sign(call.confirm(), expires_at=LATER)] if change in {vote, named_vote} else []
    forged = rewritten(snapshot, change).with_decisions(signed)

    waiting, _ = desk.stopped("done", snapshot=forged)

    assert (waiting.tool_name, waiting.approvers.count, desk.paid) == ("pay", 2, [])


def test_two_who_sign_one_after_the_other_are_two() -> None:
    """The first one's yes goes along in the snapshot, with its proof."""
    desk = Desk()
    call, snapshot = desk.begun()
    first = snapshot.with_decisions([ADA.sign(call.confirm(), expires_at=LATER)])
    call, snapshot = desk.stopped("done", snapshot=first)

    desk.agent("done").run(
        snapshot=snapshot.with_decisions([BOB.sign(call.confirm(), expires_at=LATER)])
    )

    assert desk.paid == [900]


def test_what_is_written_for_an_agent_inside_is_nobodys_yes() -> None:
    """It asks by the same people; who has really signed is heard."""
    desk = Desk()
    clerk = AgentTool(
        desk.agent(ToolCall("pay", {"amount": 900}), "paid"), name="clerk", description="Pays."
    )
    task = ToolCall("clerk", {"task": "pay"})
    outer: Agent[Any] = Agent(
        chat_generator=ScriptedChatGenerator(task, "done"), tools=[clerk], approvers=KEYS
    )
    with pytest.raises(HITLBreakpointException) as raised:
        outer.run("go", started_by="Cyd")
    (call,) = raised.value.pending

    def forge(run: Written, slot: Written) -> None:
        inner = slot["status"]["run"]
        vote(inner, inner["phase"]["slots"][0])

    forged = rewritten(raised.value.snapshot, forge)
    with pytest.raises(HITLBreakpointException) as raised:
        outer.run(snapshot=forged.with_decisions([BOB.sign(call.confirm(), expires_at=LATER)]))
    assert desk.paid == []
    outer.run(
        snapshot=raised.value.snapshot.with_decisions(
            [ADA.sign(raised.value.pending[0].confirm(), expires_at=LATER)]
        )
    )
    assert desk.paid == [900]


SIGNED = [(1, True), (0, False), (1, 1.0), (0.0, -0.0), (2**53, float(2**53))]


@pytest.mark.parametrize(("signed", "sent"), [*SIGNED, *((b, a) for a, b in SIGNED)])
def test_what_was_signed_is_that_and_not_what_python_calls_equal(signed: Any, sent: Any) -> None:
    """A number is no truth value, and 1 is not 1.0, wherever in the arguments."""
    ran: list[Any] = []

    @tool
    def act(options: dict[str, Any]) -> str:
        """Act."""
        ran.append(options)
        return "ok"

    journal = MemoryJournal()
    agent: Agent[Any] = Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("act", {"options": {"limit": 5}}), "done"),
        tools=[act],
        approvers=KEYS,
        confirmation_strategies={"act": AlwaysAskPolicy()},
        journal=journal,
    )
    agent.run("go", run_id="r", raise_at_break_point=False)
    (call,) = agent.pending("r")
    decision = ADA.sign(call.modify({"options": {"limit": [signed]}}), expires_at=LATER)

    with pytest.raises(DecisionRefusedError, match="what was signed is another decision"):
        agent.decide("r", evolve(decision, final_tool_params={"options": {"limit": [sent]}}))
    agent.decide("r", decision)
    agent.resume("r")

    assert repr(ran) == repr([{"limit": [signed]}])


@pytest.mark.parametrize(
    "options",
    [
        {"attempts": 0},
        {"attempts": -1},
        {"attempts": True},
        {"attempts": "1"},
        {"expires_s": "3600"},
        {"expires_s": nan},
        {"expires_s": True},
        {"answers": "all"},
    ],
)
def test_no_rule_is_lost_by_a_question_that_cannot_be_put(options: Any) -> None:
    """It is refused where the rule is made: later, the question would be put as any other."""
    with pytest.raises((TypeError, ValueError)):
        WithQuestionOptions(TWO, **options)


def test_one_person_is_not_two_by_two_names_of_one_key() -> None:
    """Nor is a key without an end made by what is no time."""
    with pytest.raises(ValueError, match="one person is not two"):
        ApproverKeys({name: ApproverKey(ADA.public_key) for name in ("Ada", "Eve")})
    for until in (nan, "2026-01-01"):
        with pytest.raises((TypeError, ValueError), match="'until' of ApproverKey"):
            ApproverKey(ADA.public_key, until=until)  # type: ignore[arg-type]  # on purpose


def encoded(y: int, sign: int = 0) -> str:
    """A point of the curve as a public key is written."""
    return b64encode((y | sign << 255).to_bytes(32, "little")).decode()


P = 2**255 - 19
PUBLIC = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
"""The first of RFC 8032."""
OF_ORDER_8 = 0x7A03AC9277FDC74EC6CC392CFA53202A0F67100D760B3CBA4FD84D3D706A17C7
"""The y of one; the curve has four such points, with this one and with its negative."""
WEAK = [
    *(encoded(y) for y in (1, P - 1)),
    *(encoded(y, sign) for y in (0, OF_ORDER_8, P - OF_ORDER_8) for sign in (0, 1)),
]


@pytest.mark.parametrize("key", WEAK)
def test_a_key_by_which_nobody_in_particular_signs_is_none(key: str) -> None:
    """With such a point, a signature that anybody can write fits messages that nobody signed."""
    with pytest.raises(ValueError, match="'public_key' of ApproverKey is weak"):
        ApproverKey(key)


@pytest.mark.parametrize(
    "key",
    [
        "",
        "Ada",
        "☃" * 44,
        PUBLIC[:-1],
        PUBLIC + "\n",
        b64encode(bytes(31)).decode(),
        b64encode(bytes(33)).decode(),
        encoded(2),  # no point of the curve has that y
        encoded(P + 3),  # a y that is written in a second way
        encoded(1, 1),  # a sign, where x is 0
    ],
)
def test_what_is_no_public_key_is_refused_where_it_is_given(key: str) -> None:
    """And not with the first decision, as a signature that is none."""
    with pytest.raises(ValueError, match="'public_key' of ApproverKey is 32 bytes in Base64"):
        ApproverKey(key)


def test_one_person_is_not_two_by_two_spellings_of_one_key() -> None:
    """The last letter of Base64 has bits that nobody reads."""
    letters = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
    last = letters[letters.index(PUBLIC[-2]) ^ 1]
    with pytest.raises(ValueError, match="32 bytes in Base64"):
        ApproverKey(PUBLIC[:-2] + last + "=")


def test_each_new_key_is_one() -> None:
    """Of whoever signs."""
    assert ApproverKey(PUBLIC).public_key == PUBLIC
    for _ in range(50):
        assert ApproverKey(Signer.new("Ada").public_key).roles == ()


def test_a_run_that_nobody_has_begun_is_nobodys() -> None:
    """A name without a letter is none."""
    desk = Desk()
    call, snapshot = desk.stopped(ToolCall("pay", {"amount": 900}), messages="go", started_by="")
    signed = snapshot.with_decisions([ADA.sign(call.confirm(), expires_at=LATER)])

    with pytest.raises(DecisionRefusedError, match="not known who did"):
        desk.agent("done").run(snapshot=signed)
