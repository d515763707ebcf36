"""Restate: a service whose handler is a leg; its server calls the workers.

Source: https://docs.restate.dev/develop/python and https://docs.restate.dev/invoke/http.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Unpack
from urllib.parse import quote

from attrs import evolve

from detent.adapters.agent.agent import Agent
from detent.adapters.hosts.engines.driving import Wake
from detent.adapters.hosts.engines.host import (
    EngineHost,
    EngineOptions,
    Leg,
)
from detent.adapters.hosts.engines.restate_registration import Registration
from detent.adapters.hosts.faults import HostHealth, Strangers
from detent.adapters.system.installation import install_command
from detent.ports.journal import Journal

if TYPE_CHECKING:
    from httpx import AsyncClient

    from detent.adapters.hosts.engines.restate_service import Serving

SERVICE = "detent"
"""What the service is called, unless it is said."""
NAME = re.compile(
    r"(?!(?i:restate|openapi\Z))([a-zA-Z]|_[a-zA-Z0-9])[a-zA-Z0-9._-]*"  # these two are its own
)
"""What Restate takes as the name of a service."""
PORTS = 65_536
"""How many ports there are."""
ELSEWHERE = "it calls another address than this worker's"
FOREIGN = "it calls for runs that are not in this journal"
LOOK_S = 1.0
"""How long an answer of the engine waits for what came of a look at the registration."""
HEALTH = "/restate/health"
"""Where the ingress says that it takes calls."""


class RestateHost(EngineHost):
    """Runs whose legs are calls of a service of Restate: ``async with RestateHost(…)``.

    A worker listens, and says to Restate where. Several workers stand behind one address, as
    Restate wants it of every service: it calls the one that it was told last.

    Args:
        agents: by the names that runs are started with; the same in each process.
        journal: where the runs are; one with claims that all processes reach.
        ingress: where Restate takes calls.
        admin: where Restate is told of services.
        listen: where a worker listens: ``HOST:PORT``.
        address: where Restate finds it, if that is another place.
        name: what the service is called in Restate. Deployments that share a server, each with a
            journal of its own, are told apart by it; all processes of one say the same.
        identity_keys: the public keys of the Restate that may call; () is whoever reaches it.
        options: see `EngineOptions`.

    Raises:
        ImportError: restate-sdk is not installed: ``pip install 'detent[restate]'``.
        ValueError: the journal has no claims, there is no agent, Restate takes no such `name`, or
            an address is none.
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
        name: str = SERVICE,
        identity_keys: Sequence[str] = (),
        **options: Unpack[EngineOptions],
    ) -> None:
        super().__init__(agents, journal, **options)
        if NAME.fullmatch(name) is None:
            raise ValueError(
                "'name' is what a service of Restate can be called: letters, digits, '.', '_' and "
                "'-', a letter first, and nothing that begins with 'restate'; "
                f"got {name!r:.80}"
            )
        for option, url in (("ingress", ingress), ("admin", admin)):
            if not url.startswith(("http://", "https://")):
                raise ValueError(
                    f"{option} must be a URL such as http://127.0.0.1:9070, got {url!r:.80}"
                )
        at, _, port = listen.rpartition(":")
        if not (at and port.isdecimal() and int(port) < PORTS):
            raise ValueError(
                f"listen must be HOST:PORT, such as 127.0.0.1:9080, got {listen!r:.80}"
            )
        self._name, self._legs_url = name, f"{ingress}/{name}/leg/send"
        self._ingress, self._admin, self._listen = ingress, admin, listen
        self._address = address or f"http://{listen}"
        self._identity_keys = identity_keys
        self._client: AsyncClient | None = None
        self._serving: Serving | None = None
        self._registration: Registration | None = None
        self._mark = ""  # what the names of wakes end with
        self._strangers = Strangers(self._clock)

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
        self._places = asyncio.Semaphore(self._running)
        try:
            app = await asyncio.to_thread(app_of, self._name, self._placed, self._identity_keys)
            self._serving = Serving(app, self._listen, self._drain_s)
            self._registration = Registration(
                self._client, self._admin, self._name, self._address, self._told_anew
            )
            await self._serving.listening()
            await self._registration.register()
        except BaseException:
            await self._disconnect()  # nothing listens behind a host that is not open
            raise

    async def _placed(self, run_id: str) -> None:
        async with self._places:
            await self._driving.leg_and_wake(run_id)
            if await self._reading.listed(run_id) is None:
                self._strangers.note(run_id)

    def _told_anew(self) -> None:
        """Hand what is owed to Restate anew.

        RULE: what it was told before it may have, and not go on with for a while, as it has tried
        in vain. A wake of the same name were the same one to it.
        """
        self._mark = f"@{self._clock.now():.3f}"
        self._driving.looks.hurry()

    async def _wake(self, wake: Wake) -> None:
        assert self._client is not None  # noqa: S101 - it is open
        pause_s = 0.0 if wake.at is None else max(0.0, wake.at - self._clock.now())
        response = await self._client.post(
            self._legs_url,
            params={"delay": f"{int(pause_s * 1000)}ms"} if pause_s else {},
            # RULE: an id may have any character; a header has those of ASCII, and no space first
            headers={"idempotency-key": quote(wake.name + self._mark, safe="")},
            json=wake.run_id,
        )
        if response.status_code == HTTPStatus.NOT_FOUND and self._registration is not None:
            self._registration.look()
        response.raise_for_status()

    async def _answer(self) -> str | None:
        """Say that the service is not known, where it is not.

        RULE: the ingress is asked, as it takes the calls: a call by another method than POST is
        one that it does not take, of a service that it knows.
        """
        assert self._client is not None  # noqa: S101 - it is open
        (await self._client.get(f"{self._ingress}{HEALTH}")).raise_for_status()
        if self._registration is not None:
            await asyncio.wait([self._registration.look()], timeout=LOOK_S)
        asked = await self._client.put(self._legs_url)
        return (
            f"it knows no service {self._name!r}"
            if asked.status_code == HTTPStatus.NOT_FOUND
            else None
        )

    def health(self) -> HostHealth:
        """How it is. That Restate calls somebody else, or for others, is among the faults."""
        health = super().health()
        is_elsewhere = self._registration is not None and self._registration.is_elsewhere
        if not (is_elsewhere or self._strangers.are_here):
            return health
        fault = {self.engine_name: ELSEWHERE if is_elsewhere else FOREIGN}
        return evolve(health, faults={**fault, **health.faults})

    async def _disconnect(self) -> None:
        async with AsyncExitStack() as stack:  # whatever one of them raises
            if self._client is not None:
                stack.push_async_callback(self._client.aclose)
            if self._serving is not None:
                stack.push_async_callback(self._serving.end)
            if self._registration is not None:
                await self._registration.end()
