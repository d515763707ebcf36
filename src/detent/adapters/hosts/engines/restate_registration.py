"""The registration of a worker: where a server of Restate is told to call, and is told again.

Source: https://docs.restate.dev/admin-api.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING

from detent.adapters.hosts.engines.host import EngineUnavailableError
from detent.adapters.telemetry.logs import LOGGER
from detent.adapters.telemetry.trails import trail_of

if TYPE_CHECKING:
    from httpx import AsyncClient, Response

LISTENING_S = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""How long it is waited, again and again, for a worker to listen."""
TELL_MAX_S = 10.0
"""How long a server may take to hear of a worker, which it asks what it serves."""
ANSWER_S = 5.0
"""How long a worker at another address may take to say what it serves."""
MISSES_MAX = 2
"""After so many looks at which another address does not answer, this one is told again."""


class Registration:
    """Tells Restate where a worker is, and sees that it is still called there.

    RULE: a server has nothing that is not told it by a worker. One that lost its disk, or of which
    somebody has removed a worker, is told by those that live: nobody starts them for it.

    RULE: a server calls the address that it was told last, and no other one. Where Restate itself
    finds nobody there any more, a worker that lives has it call its own. Who is there keeps it:
    two that took the calls from each other in turn would help nobody. Calls under way need no
    hand: a leg is answered in one piece, and until then Restate makes it wherever it calls by then.

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
        self._id = ""  # what Restate calls the address
        self._elsewhere: str | None = None
        self._misses = 0

    @property
    def is_elsewhere(self) -> bool:
        """Whether Restate calls another address."""
        return self._elsewhere is not None

    async def register(self) -> None:
        """Tell Restate where the worker is, which may not listen yet.

        Raises:
            EngineUnavailableError: nobody answers, or somebody else, or the worker cannot be
                reached from there.
        """
        import httpx

        try:
            response = await self._tell(self._address)
            for pause_s in LISTENING_S:
                if response.is_success:
                    break
                await asyncio.sleep(pause_s)
                response = await self._tell(self._address)
            self._id = str(response.raise_for_status().json()["id"])
        except (httpx.HTTPError, LookupError, TypeError, ValueError) as error:
            place = httpx.URL(self._admin).netloc.decode()
            if not isinstance(error, httpx.HTTPError):
                error = ValueError("what answers there is not the admin of Restate")
            raise EngineUnavailableError("Restate", f" at {place}", error) from error

    def look(self) -> asyncio.Task[None]:
        """Look whether Restate calls this worker, and tell it where not: one look at a time."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(), name="detent restate registration")
        return self._looking

    async def end(self) -> None:
        """Look no more."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])

    async def _look(self) -> None:
        try:
            place = await self._called()
            if place is None:
                await self._tell_anew("it had forgotten")
            elif _same(place, self._address):
                self._note(None)
            else:
                self._note(place)
                await self._look_at(place)
        except Exception as error:  # noqa: BLE001 - an engine that is away comes back
            LOGGER.debug("Restate could not be asked where it calls: %s", trail_of(error))

    async def _called(self) -> str | None:
        """Where Restate calls the service; None where it does not know it."""
        service = await self._client.get(f"{self._admin}/services/{self._service}")
        if service.status_code == HTTPStatus.NOT_FOUND:
            return None
        found = str(service.raise_for_status().json()["deployment_id"])
        if found == self._id:
            return self._address
        deployment = await self._client.get(f"{self._admin}/deployments/{found}")
        return str(deployment.raise_for_status().json()["uri"])

    def _note(self, place: str | None) -> None:
        if place not in {None, self._elsewhere}:
            said = (
                "Restate calls %r at %s, as it was told last, and not at %s: no run goes on here. "
                "Give each deployment a name, or its workers one address"
            )
            LOGGER.warning(said, self._service, place, self._address)
        self._misses = self._misses if place == self._elsewhere else 0
        self._elsewhere = place

    async def _look_at(self, place: str) -> None:
        """Have Restate call this worker, where it finds nobody at the place that it calls."""
        self._misses = 0 if await self._is_served(place) else self._misses + 1
        if self._misses >= MISSES_MAX:
            await self._tell_anew(f"nobody serves it at {place}")
            self._note(None)

    async def _is_served(self, place: str) -> bool:
        """Whether Restate finds the service at a place, as it would if it were told of it now."""
        import httpx

        try:
            response = await self._tell(place, is_dry=True)
        except httpx.ReadTimeout:
            return False
        return response.is_success and any(
            service["name"] == self._service for service in response.json()["services"]
        )

    async def _tell_anew(self, why: str) -> None:
        self._id = str((await self._tell(self._address)).raise_for_status().json()["id"])
        told = "Restate was told again that %r is at %s: %s"
        LOGGER.warning(told, self._service, self._address, why)
        self._told_anew()

    async def _tell(self, place: str, *, is_dry: bool = False) -> Response:
        deployment = {"uri": place, "force": True, "use_http_11": True, "dry_run": is_dry}
        wait_s = ANSWER_S if is_dry else TELL_MAX_S
        return await self._client.post(
            f"{self._admin}/deployments", json=deployment, timeout=wait_s
        )


def _same(one: str, other: str) -> bool:
    """Whether two addresses are the same, however they are spelled."""
    import httpx

    return str(httpx.URL(one)).rstrip("/") == str(httpx.URL(other)).rstrip("/")
