"""Restate: a service whose handler is a leg; its server calls the workers.

Source: https://docs.restate.dev/develop/python and https://docs.restate.dev/invoke/http.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack
from urllib.parse import quote

from detent.adapters.agent.agent import Agent
from detent.adapters.hosts.engines.driving import Wake
from detent.adapters.hosts.engines.host import (
    EngineHost,
    EngineOptions,
    EngineUnavailableError,
    Leg,
)
from detent.adapters.system.installation import install_command
from detent.ports.journal import Journal

if TYPE_CHECKING:
    from httpx import AsyncClient

    from detent.adapters.hosts.engines.restate_service import Serving

LEGS = "/detent/leg/send"
"""Where the ingress takes a call that nobody waits for."""

HEALTH = "/restate/health"
"""Where the ingress says that it takes calls."""


class RestateHost(EngineHost):
    """Runs whose legs are calls of a service of Restate: ``async with RestateHost(…)``.

    A worker listens, and says to Restate where. Several workers stand behind one address, as
    Restate wants it of every service.

    Args:
        agents: by the names that runs are started with; the same in each process.
        journal: where the runs are; one with claims that all processes reach.
        ingress: where Restate takes calls.
        admin: where Restate is told of services.
        listen: where a worker listens: ``HOST:PORT``.
        address: where Restate finds it, if that is another place.
        identity_keys: the public keys of the Restate that may call; () is whoever reaches it.
        options: see `EngineOptions`.

    Raises:
        ImportError: restate-sdk is not installed: ``pip install 'detent[restate]'``.
        ValueError: the journal has no claims, or there is no agent.
    """

    engine_name = "Restate"

    def __init__(
        self,
        agents: Mapping[str, Agent[Any, Any]],
        journal: Journal,
        *,
        ingress: str = "http://127.0.0.1:8080",
        admin: str = "http://127.0.0.1:9070",
        listen: str = "127.0.0.1:9080",
        address: str | None = None,
        identity_keys: Sequence[str] = (),
        **options: Unpack[EngineOptions],
    ) -> None:
        super().__init__(agents, journal, **options)
        self._ingress, self._admin, self._listen = ingress, admin, listen
        self._address = address or f"http://{listen}"
        self._identity_keys = identity_keys
        self._client: AsyncClient | None = None
        self._serving: Serving | None = None

    async def _connect(self, leg: Leg | None) -> None:
        try:
            import httpx

            from detent.adapters.hosts.engines.restate_service import Serving, app_of
        except ModuleNotFoundError as error:
            raise ImportError(
                f"RestateHost needs restate-sdk: {install_command('restate')}"
            ) from error
        self._client = httpx.AsyncClient(timeout=10)
        if leg is None:
            return
        places = asyncio.Semaphore(self._running)

        async def placed(run_id: str) -> None:
            async with places:
                await self._driving.leg_and_wake(run_id)

        app = await asyncio.to_thread(app_of, placed, self._identity_keys)
        self._serving = Serving(app, self._listen, self._drain_s)
        try:
            await self._register()
        except EngineUnavailableError:
            await self._disconnect()  # nothing listens behind a host that is not open
            raise

    async def _register(self) -> None:
        """Tell Restate where this worker is."""
        assert self._client is not None  # noqa: S101 - it is open
        import httpx

        deployment = {"uri": self._address, "force": True, "use_http_11": True}
        try:
            for pause_s in (0.05, 0.1, 0.2, 0.4, 0.8, 1.6):
                response = await self._client.post(f"{self._admin}/deployments", json=deployment)
                if response.is_success:
                    return
                await asyncio.sleep(pause_s)  # the worker may not listen yet
            response.raise_for_status()
        except httpx.HTTPError as error:
            place = httpx.URL(self._admin).netloc.decode()
            raise EngineUnavailableError("Restate", f" at {place}", error) from error

    async def _wake(self, wake: Wake) -> None:
        assert self._client is not None  # noqa: S101 - it is open
        pause_s = 0.0 if wake.at is None else max(0.0, wake.at - self._clock.now())
        response = await self._client.post(
            f"{self._ingress}{LEGS}",
            params={"delay": f"{int(pause_s * 1000)}ms"} if pause_s else {},
            # RULE: an id may have any character; a header has those of ASCII, and no space first
            headers={"idempotency-key": quote(wake.name, safe="")},
            json=wake.run_id,
        )
        response.raise_for_status()

    async def _answer(self) -> None:
        assert self._client is not None  # noqa: S101 - it is open
        (await self._client.get(f"{self._ingress}{HEALTH}")).raise_for_status()

    async def _disconnect(self) -> None:
        if self._serving is not None:
            await self._serving.end()
        if self._client is not None:
            await self._client.aclose()
