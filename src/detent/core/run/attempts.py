"""Attempts at a call: which were made before, and what they take of budgets."""

from __future__ import annotations

from attrs import evolve

from detent.core.run.approval import NOTHING, once
from detent.core.run.run import AwaitingDecision, Slot, Status, Unknown


def has_been_tried(slot: Slot) -> bool:
    """Whether a call that waits may have been carried out by an attempt before.

    RULE: nobody is told of such a call that it was not run: a payment would be made once more.
    """
    return slot.was_begun or isinstance(slot.status, Unknown)


def refund(slot: Slot, status: Status) -> Slot:
    """The slot with another status, of a call that takes nothing until it is judged anew.

    RULE: what it has taken, as it has not begun, is given back by `with_spending`; but not what it
    takes `once`, where an attempt has taken that.
    """
    spends = once(slot.spends) if has_been_tried(slot) else NOTHING
    return Slot(slot.ref, slot.call, status, slot.clearance, spends, slot.was_begun)


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
    return Slot(slot.ref, slot.call, status, clear, spends, was_begun=True)
