"""Measuring: the legs of a run, one for each time that a process drives it, and who measures them.

Without telemetry, nothing of that is there. And what each reply has cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import isfinite
from typing import Any

from attrs import frozen

from detent.adapters.drivers.run_handle import MeasuredPerformers, NestedPerformers
from detent.adapters.drivers.steps import Steps, answer
from detent.adapters.telemetry.logs import LOGGER
from detent.adapters.telemetry.trails import trail_of
from detent.core.chat.replies import ChatReply
from detent.core.errors import require_failure
from detent.core.run.limits import Limits
from detent.core.run.refs import CallRef
from detent.core.run.run import Run
from detent.ports.journal import Journal
from detent.ports.telemetry import Drive, Leg, Telemetry


def first_leg(
    telemetry: Telemetry | None,
    agent: str,
    run_id: str,
    thread_id: str | None,
    journal: Journal | None,
) -> Leg | None:
    """The first leg of a new run, if it is measured."""
    if telemetry is None:
        return None
    return telemetry.begin(Drive(agent, run_id, thread_id or run_id, redact=_redact_of(journal)))


def later_leg(
    telemetry: Telemetry | None, agent: str, run: Run[Any], journal: Journal | None
) -> Steps[Leg | None]:
    """A leg of a run that was begun before, perhaps by another process.

    Raises:
        JournalError: the journal cannot be read.
    """
    if telemetry is None:
        return None
    thread_id, asked_at = yield from answer(journal, partial(_history, journal, run))
    conversation_id = thread_id or run.id
    redact = _redact_of(journal)
    return telemetry.begin(Drive(agent, run.id, conversation_id, run.nonce, asked_at, redact))


def measured(performers: NestedPerformers, leg: Leg, run: Run[Any]) -> NestedPerformers:
    """The performers of a run, measured by its leg from here on."""
    leg.take_up(run)
    return MeasuredPerformers(performers.own, performers.agents, leg=leg)


def _history(journal: Journal | None, run: Run[Any]) -> tuple[str, Mapping[CallRef, float]]:
    """The thread of a run, and when each question of its last turns was asked."""
    thread_id, asked_at = "", dict[CallRef, float]()
    for entry in () if journal is None else journal.read(run.id):
        if entry.position == 0:
            thread_id = str(entry.data.get("thread_id", ""))
        elif entry.kind == "Judged":
            turn, place = entry.data["ref"]
            if turn >= run.turn - 1:  # a no ends the turn at once
                asked_at[CallRef(turn, place)] = entry.at
    return thread_id, asked_at


def _redact_of(journal: Journal | None) -> Any:
    return getattr(journal, "redact", None)


@frozen
class KnownCost:
    """What each reply has cost by `price`, and `most` where that does not say it.

    RULE: a reply is paid for by then, and is kept. Whoever took it for none would have the model
    asked again, and pay again, as often as somebody goes on with the run.
    """

    price: Callable[[ChatReply], float]
    most: float

    def __call__(self, reply: ChatReply) -> float:
        """What a reply has cost."""
        try:
            cost = float(self.price(reply))
            if isfinite(cost) and cost >= 0:  # less would make room for more
                return cost
            why = f"gave {cost}"
        except BaseException as error:  # noqa: BLE001 - whatever a function of users raises
            require_failure(error)
            why = f"raised {type(error).__name__}"
            LOGGER.debug("the price of a reply is not known: %s", trail_of(error))
        text = "what a reply of model %r has cost is not known, and counts as %s: `price` %s"
        LOGGER.warning(text, reply.model, self.most, why)
        return self.most


def known_cost(
    limits: Limits, outer: Callable[[ChatReply], float] | None = None
) -> Callable[[ChatReply], float] | None:
    """What says what the replies of an agent have cost; `outer` does for whom it works.

    What nobody knows is as much as may be spent: no limit is passed by it, and a run ends there.
    """
    if limits.price is None:
        return outer
    most = outer.most if isinstance(outer, KnownCost) else 0.0
    own = limits.max_cost or 0.0
    return KnownCost(limits.price, max(most, own if isfinite(own) else 0.0))
