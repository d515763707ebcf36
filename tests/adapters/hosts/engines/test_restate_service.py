"""A worker of Restate that cannot be begun says so; nobody waits for it for ever."""

from __future__ import annotations

import asyncio

import pytest

from detent.adapters.hosts.engines.restate_service import Serving


class UnusableApp:
    """Cannot be looked at, as uvicorn does before it listens."""

    @property
    def __call__(self) -> object:
        """It is none."""
        raise LookupError("no app")


def test_a_server_that_fails_before_it_listens_is_not_waited_for() -> None:
    """What has ended it is raised, and is so again at the end."""

    async def visit() -> None:
        serving = Serving(UnusableApp(), "127.0.0.1:0", 1.0)
        with pytest.raises(LookupError, match="no app"):
            await asyncio.wait_for(serving.listening(), 5)
        with pytest.raises(LookupError, match="no app"):
            await serving.end()

    asyncio.run(visit())
