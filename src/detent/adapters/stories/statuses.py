"""What the statuses of calls, and the decisions about them, are called."""

from __future__ import annotations

WAITS, BEGUN = "waits for a human", "begun"
MAY_RUN, TRIED_AGAIN = "may run", "tried again later"
UNKNOWN, NOT_RUN = "of unknown outcome", "not run"
STATUSES = {
    "AwaitingPolicy": "asked for",
    "AwaitingDecision": WAITS,
    "Ready": MAY_RUN,
    "Running": BEGUN,
    "Unknown": UNKNOWN,
    "BackingOff": TRIED_AGAIN,
    "Delegated": BEGUN,
    "Succeeded": "done",
    "Faulted": "failed",
    "Refused": "refused",
    "AnsweredByHuman": "answered",
    "AnswerAccepted": "done",
    "AnswerInvalid": "failed",
}
"""What the statuses of calls are called."""
SETTLED = {"done", "failed", "refused", "answered"}
DECISIONS = {
    "Confirmed": "confirmed",
    "Modified": "changed",
    "Rejected": "rejected",
    "Answered": "answered",
}
