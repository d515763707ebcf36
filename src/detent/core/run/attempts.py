"""Attempts at a call: which were made before, and what they take of budgets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import evolve

from detent.core.run.run import (
    THINKING,
    AwaitingDecision,
    AwaitingPolicy,
    BackingOff,
    Delegated,
    Pausing,
    Ready,
    Run,
    Running,
    Slot,
    Status,
    Thinking,
    Unknown,
    agent_at,
    charge,
    move,
    with_slot,
)
from detent.core.run.totals import NOTHING, Amounts, largest, once
from detent.core.state.typevars import S
from detent.core.tools import wording
from detent.core.values.frozen import FrozenDict


def has_been_tried(slot: Slot) -> bool:
    """Whether a call that waits may have been carried out by an attempt before.

    RULE: nobody is told of such a call that it was not run: a payment would be made once more.
    """
    return slot.was_begun or slot.suspended is not None or isinstance(slot.status, Unknown)


def begun_before(slot: Slot) -> str:
    """That an attempt may have carried out a call that is asked about anew; "" if none may have."""
    return wording.BEGUN_BEFORE if slot.was_begun and slot.suspended is None else ""


def may_be_known(slot: Slot) -> bool:
    """Whether an attempt has begun, so that the world may know the call by its key."""
    status = slot.status
    if isinstance(status, Running | BackingOff | Delegated) or has_been_tried(slot):
        return True
    return isinstance(status, Ready | AwaitingDecision) and status.attempt > 1


def is_idle(slot: Slot) -> bool:
    """Whether an agent has been given a call, and has come to nothing yet."""
    status = slot.status
    return isinstance(status, Delegated) and (status.run.turn, status.run.phase) == (1, THINKING)


def is_silent(agent: Delegated) -> bool:
    """Whether the model of an agent that has been given a call has not answered yet."""
    return agent.run.turn == 1 and isinstance(agent.run.phase, Thinking | Pausing)


def suspend(slot: Slot) -> Slot:
    """The slot of a call that must be judged again. An agent at work on it waits meanwhile.

    RULE: what it has done is not done again. One that has come to nothing yet begins anew.
    """
    if not isinstance(slot.status, Delegated):
        return slot
    waits = None if is_silent(slot.status) else slot.status
    return evolve(slot, status=AwaitingPolicy(), suspended=waits)


def held_by(slots: Sequence[Slot]) -> Iterator[Amounts]:
    """What calls take of budgets that wait for a human, also in agents inside: none has begun it.

    RULE: of a call that may have begun before, what it takes `once` stays taken. A call that is
    ready may just be begun, whether or not that is written, and gives nothing back.
    """
    for slot in slots:
        if (agent := agent_at(slot)) is not None:
            yield from held_by(agent.run.slots)
        elif isinstance(slot.status, AwaitingDecision):
            spent = once(slot.spends) if has_been_tried(slot) else NOTHING
            yield FrozenDict({k: x for k, x in slot.spends.items() if k not in spent})


def with_spending(run: Run[S], slot: Slot) -> Run[S]:
    """The run with a call that has not begun: what it spends comes in place of what it did.

    Where an agent that has waited goes with it, what that agent's calls have held is given back.

    RULE: an agent at work, or one that waits, has begun: a later verdict, which takes less, gives
    nothing back.
    """
    was = run.slots[slot.ref.place]
    if agent_at(slot) is not None:
        slot = evolve(slot, spends=largest([was.spends, slot.spends]))
    run = charge(run, was.spends, slot.spends)
    if agent_at(was) is not None and agent_at(slot) is None:
        for amounts in held_by([was]):
            run = charge(run, amounts, NOTHING)
    return with_slot(run, slot)


def refund(slot: Slot, status: Status) -> Slot:
    """The slot with another status, of a call that takes nothing until it is judged anew.

    RULE: what it has taken, as it has not begun, is given back by `with_spending`; but not what it
    takes `once`, where an attempt has taken that. A call on which an agent was at work has begun.
    """
    if slot.suspended is not None:
        return move(slot, status)
    spends = once(slot.spends) if has_been_tried(slot) else NOTHING
    return evolve(slot, status=status, spends=spends)


def begin_anew(slot: Slot, status: Status) -> Slot:
    """The slot with another status, of a call that may have run and is judged anew.

    RULE: what it has taken stays spent, by `with_slot`, and what it takes then comes on top, but
    for what it takes `once`. So what had let it run lets it run no more, where it takes of that.
    """
    clear, spends = slot.clearance, once(slot.spends)
    if spends != slot.spends:
        if isinstance(status, AwaitingDecision):
            status = evolve(status, is_stale=True)
        clear = clear and evolve(clear, is_stale=True)
    new = evolve(slot, status=status, clearance=clear, spends=spends, was_begun=True)
    return new if new.suspended is None else evolve(new, suspended=None)


def attempt_in(slot: Slot) -> int:
    """The attempt that begins when the call is let go."""
    attempt = 1 if slot.clearance is None else slot.clearance.attempt
    return slot.status.attempt if isinstance(slot.status, AwaitingDecision | Ready) else attempt
