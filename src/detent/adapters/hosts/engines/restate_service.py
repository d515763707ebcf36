"""The service of Restate whose handler is a leg, and the server in which it is called."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from socket import socket
from typing import Any, TypeAlias, cast

import restate
import uvicorn

ASGI: TypeAlias = Callable[..., Awaitable[object]]
HANDLER = "leg"
LEG_MAX = timedelta(days=365)
"""How long Restate lets a leg be silent. One whose worker has died is not silent: it is gone."""


def app_of(
    service_name: str, leg: Callable[[str], Awaitable[object]], identity_keys: Sequence[str]
) -> object:
    """An ASGI app in which Restate calls legs. It is made in a thread that is not the main one.

    RULE: a process's signals are whoever's program this is. Restate's app, when it is first called,
    takes SIGTERM for itself, unless it cannot: so it is called here, where there are no signals.
    """
    service = restate.Service(service_name, inactivity_timeout=LEG_MAX, abort_timeout=LEG_MAX)

    @service.handler(name=HANDLER)
    async def detent_leg(context: restate.Context, run_id: str) -> None:
        await leg(run_id)

    keys = list(identity_keys) or None
    app = restate.app([service], protocol="request_response", identity_keys=keys)
    asyncio.run(_called_first(app))
    return app


async def _called_first(app: ASGI) -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "lifespan.shutdown"}

    async def send(_: Mapping[str, Any]) -> None:
        """Nobody hears it."""

    with suppress(Exception):  # it has no lifespan, and says so
        await app({"type": "lifespan"}, receive, send)


class Serving:
    """Takes calls in the running event loop, until it is ended."""

    def __init__(self, app: object, listen: str, drain_s: float) -> None:
        host, _, port = listen.rpartition(":")
        config = uvicorn.Config(
            cast(Any, app),
            *(host.strip("[]"), int(port)),
            lifespan="off",
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=max(1, round(drain_s)),
        )
        self._listen = listen
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve(), name="detent restate worker")

    async def listening(self) -> None:
        """Wait until it listens.

        Raises:
            OSError: it cannot, as another program listens there.
            Exception: what has ended it before that.
        """
        listening = self._server.listening
        await asyncio.wait({listening, self._task}, return_when=asyncio.FIRST_COMPLETED)
        try:
            await (listening if listening.done() else self._task)
        except OSError as error:
            why = os.strerror(error.errno or 0)
            said = f"a worker of Restate cannot listen at {self._listen}: {why}"
            raise OSError(error.errno, f"{said}; give it another place by 'listen'") from error

    async def end(self) -> None:
        """Take no more calls. Raises what has ended it before."""
        self._server.should_exit = True
        await self._task


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def startup(self, sockets: list[socket] | None = None) -> None:
        """Listen. RULE: where it cannot, it ends; uvicorn would end the whole program."""
        try:
            await super().startup(sockets)
        except SystemExit as end:
            error = end.__context__
            self.listening.set_exception(error if isinstance(error, OSError) else OSError(str(end)))
            self.should_exit = True
        else:
            self.listening.set_result(None)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """They are whoever's program this is."""
        yield
