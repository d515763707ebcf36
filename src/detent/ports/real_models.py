"""Whether chat generators may reach real models. In tests they must not, unless it is meant."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

ALL = "*"
IN_PROCESS = "in-process"
"""What stands in place of a host for a model that runs in this process."""

_allowed: list[tuple[str, ...]] = [(ALL,)]


class RealModelForbiddenError(AssertionError):
    """A test was about to call a real model: that is slow, costs money and never ends the same."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"a real model was about to be called, at {host}, where that is forbidden: script the "
            f"model, replay a recording, or allow it: allow_real_models({host!r})"
        )
        self.host = host


@contextmanager
def forbid_real_models() -> Generator[None]:
    """Within the block, in this whole process, a call of a real model raises.

    The error is a `RealModelForbiddenError`. A client of httpx's whose transport is a mock or an
    application calls no model. Blocks may be nested; the innermost counts.
    """
    with _ruled(()):
        yield


@contextmanager
def allow_real_models(*hosts: str) -> Generator[None]:
    """Within the block, these hosts may be called, or, if none is named, all.

    A host is as in a URL, with its port if it has one; ``"in-process"`` is the embedded model.
    """
    with _ruled(hosts or (ALL,)):
        yield


def require_real_model_allowed(host: str) -> None:
    """Raise RealModelForbiddenError if a model at this host may not be called now.

    A chat generator asks this before it reaches out.
    """
    if not {ALL, host} & set(_allowed[-1]):
        raise RealModelForbiddenError(host)


@contextmanager
def _ruled(allowed: tuple[str, ...]) -> Generator[None]:
    _allowed.append(allowed)
    try:
        yield
    finally:
        _allowed.pop()
