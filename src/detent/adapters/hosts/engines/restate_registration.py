"""The registration of a worker: what a server of Restate is told, and told again once it forgets.

Source: https://docs.restate.dev/admin-api.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING

from detent.adapters.hosts.engines.host import EngineUnavailableError
from detent.adapters.telemetry.logs import LOGGER

if TYPE_CHECKING:
    from httpx import AsyncClient, Response

LISTENING_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""How long it is waited, again and again, for a worker to listen."""


class Registration:
    """Tells Restate where a worker is, and sees that it still knows.

    RULE: a server has nothing that is not told it by a worker. One that lost its disk, or of which
    somebody has removed a worker, is told by those that live: nobody starts them for it.

    Args:
        client: asks by HTTP.
        admin: where Restate is told of services.
        service: what the service is called.
        address: where Restate finds the worker.
        told_anew: is called when Restate was told again.
    """

    def __init__(
        self,
        client: AsyncClient,
        admin: str,
        service: str,
        address: str,
        told_anew: Callable[[], object],
    ) -> None:
        self._client, self._admin = client, admin
        self._service, self._address = service, address
        self._told_anew = told_anew
        self._looking: asyncio.Task[None] | None = None

    async def register(self) -> None:
        """Tell Restate where the worker is, which may not listen yet.

        Raises:
            EngineUnavailableError: nobody answers, or the worker cannot be reached from there.
        """
        import httpx

        try:
            for pause_s in LISTENING_S:
                response = await self._tell()
                if response.is_success:
                    return
                await asyncio.sleep(pause_s)
            response.raise_for_status()
        except httpx.HTTPError as error:
            place = httpx.URL(self._admin).netloc.decode()
            raise EngineUnavailableError("Restate", f" at {place}", error) from error

    def look(self) -> asyncio.Task[None]:
        """Look whether Restate knows the service, and tell it where not: one look at a time."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name="detent restate registration")
        return self._looking

    async def end(self) -> None:
        """Look no more."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])

    async def _look(self) -> None:
        import httpx

        try:
            found = await self._client.get(f"{self._admin}/services/{self._service}")
            if found.status_code == HTTPStatus.NOT_FOUND:
                await self._tell_anew("it had forgotten")
        except httpx.HTTPError as error:  # the next look asks again, and a health has what ails
            LOGGER.debug("Restate could not be asked where a service is", exc_info=error)

    async def _tell_anew(self, why: str) -> None:
        (await self._tell()).raise_for_status()
        told = "Restate was told again that %r is at %s: %s"
        LOGGER.warning(told, self._service, self._address, why)
        self._told_anew()

    async def _tell(self) -> Response:
        deployment = {"uri": self._address, "force": True, "use_http_11": True}
        return await self._client.post(f"{self._admin}/deployments", json=deployment)
