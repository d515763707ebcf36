"""What goes wrong with agents of A2A."""

from __future__ import annotations

from importlib.util import find_spec

from detent.adapters.system.installation import install_command
from detent.core.errors import DetentError


def require_a2a(what: str) -> None:
    """Raise ImportError with the remedy where the SDK is not installed."""
    if find_spec("a2a") is None:
        raise ImportError(f"{what} needs A2A's SDK; install it with: {install_command('a2a')}")


class A2AAgentError(DetentError):
    """An agent of A2A cannot be reached, does not keep to the protocol, or has failed.

    Attributes:
        url: where it is.
        may_have_run: whether the task had been sent, so that nobody knows what became of it.
    """

    def __init__(self, url: str, text: str, *, may_have_run: bool = False) -> None:
        known = "; it is not known what became of the task" if may_have_run else ""
        super().__init__(f"the agent at {url} {text}{known}")
        self.url, self.may_have_run = url, may_have_run
