"""Retries: how often a failed call is tried again, and how long to wait before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import field, frozen

from detent.core.errors import ToolDefinitionError
from detent.core.values.checks import names_told, number

if TYPE_CHECKING:
    from detent.core.chat.replies import ModelFailure


@names_told
@frozen
class Retries:
    """What happens after a call of a tool or of the model has failed or taken too long.

    Attributes:
        times: how many more times it is tried. What would fail again is not: bad arguments and
            results of a tool that do not fit, or a failure of the model that is not `retryable`.
        backoff_s: seconds to wait before the second attempt; twice as long before each further one.
        backoff_max_s: seconds to wait at most. A provider that asks to be left alone for longer is
            not asked again.
        on: a tool's exceptions after which another attempt makes sense; a time-out is always one.
    """

    times: int = field(validator=number(0, is_whole=True))
    backoff_s: float = field(default=1.0, kw_only=True, validator=number(0))
    backoff_max_s: float = field(default=60.0, kw_only=True, validator=number(0))
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

    def model_pause_s(self, failure: ModelFailure, attempt: int, chance: float) -> float | None:
        """Seconds to wait before the model is asked again; None says that it is not.

        The pause comes after the time that the provider has asked for: all whom it has sent away
        together would else be back together.
        """
        asked_s = failure.retry_after_s or 0.0
        if not failure.retryable or attempt > self.times or asked_s > self.backoff_max_s:
            return None
        return asked_s + self.pause_s(attempt, chance)


def retries_of(value: Retries | int, name: str = "retries") -> Retries:
    """A number stands for that many further attempts; `name` is what the option is called.

    Raises:
        ToolDefinitionError: it is neither that nor a `Retries`.
    """
    if isinstance(value, bool) or not isinstance(value, Retries | int):
        raise ToolDefinitionError(f"{name} is a number of attempts or a Retries, got {value!r}")
    return value if isinstance(value, Retries) else Retries(value)
