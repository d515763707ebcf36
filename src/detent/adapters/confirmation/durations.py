"""Until when a question can be answered, and how long that still is, for people."""

from __future__ import annotations

from datetime import UTC, datetime

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def deadline(expires_at: float, now: float) -> str:
    """Until when a call can be confirmed; both are seconds since 1970.

    >>> deadline(250, now=0)
    'It can be confirmed until 1970-01-01 00:04:10 UTC: for another 4 min 10 s.'
    """
    left = expires_at - now
    if left < 0:
        return f"It could be confirmed until {moment(expires_at)}: that is over."
    return f"It can be confirmed until {moment(expires_at)}: for another {duration(left)}."


def duration(seconds: float) -> str:
    """A length of time by its two largest units, rounded down.

    >>> duration(3725), duration(0.4)
    ('1 h 2 min', '0 s')
    """
    if seconds == float("inf"):
        return "ever"
    left, parts = int(seconds), list[str]()
    for size, unit in _UNITS:
        count, left = divmod(left, size)
        if count or parts:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


def moment(seconds: float) -> str:
    """A time since 1970, for people."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S UTC}"
    except (OverflowError, ValueError, OSError):  # later than the last year that there is
        return "the end of days"
