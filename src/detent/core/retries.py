"""Retries: how often a failed tool call is tried again, and how long to wait before."""

from __future__ import annotations

from attrs import field, frozen
from attrs.validators import ge


@frozen
class Retries:
    """What happens after a call has failed or taken too long.

    Attributes:
        times: how many more times it is tried. Bad arguments and results that do not fit are not
            tried again: they would fail again.
        backoff_s: seconds to wait before the second attempt; twice as long before each further one.
        backoff_max_s: seconds to wait at most.
        on: the exceptions after which another attempt makes sense; a time-out is always one.
    """

    times: int = field(validator=ge(0))
    backoff_s: float = field(default=1.0, kw_only=True, validator=ge(0))
    backoff_max_s: float = field(default=60.0, kw_only=True, validator=ge(0))
    on: tuple[type[Exception], ...] = field(default=(Exception,), kw_only=True)

    def pause_s(self, attempt: int, chance: float) -> float:
        """Seconds to wait after `attempt`, counted from 1, has failed.

        `chance`, from 0 to 1, spreads calls that failed together: it takes off up to half of the
        time.

        >>> Retries(3, backoff_s=1).pause_s(attempt=3, chance=0)
        4.0
        """
        longest = min(self.backoff_s * 2.0 ** min(attempt - 1, 99), self.backoff_max_s)
        return longest * (1 - chance / 2)


def retries_of(value: Retries | int) -> Retries:
    """A number stands for that many further attempts."""
    return value if isinstance(value, Retries) else Retries(value)
