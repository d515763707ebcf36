"""The server over HTTP: who its clients are, and those that mean harm."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from pydantic import AnyHttpUrl

from detent.hosts import LocalHost
from tests.adapters.mcp.test_server import Desk, Human, said, text

URL = "http://localhost:8080/mcp"
TOKENS = {"token-of-ann": ("ann", URL), "token-of-bob": ("bob", URL)}
TOKENS["for-another-server"] = ("ann", "https://elsewhere.example/mcp")


class Verifier:
    """Knows some tokens, and which server each was issued for."""

    async def verify_token(self, token: str) -> AccessToken | None:
        """Whose it is."""
        if token not in TOKENS:
            return None
        subject, server = TOKENS[token]
        return AccessToken(
            token=token, client_id="app", scopes=[], subject=subject, resource=server
        )


@asynccontextmanager
async def served(desk: Desk, **options: Any) -> AsyncGenerator[tuple[LocalHost, Any]]:
    """The host, and the app of a server whose clients need a token."""
    settings = AuthSettings(
        issuer_url=AnyHttpUrl("https://issuer.example"),
        resource_server_url=AnyHttpUrl("http://localhost:8080/mcp"),
        validate_token_resource=True,
    )
    async with desk.opened() as (host, server):
        app = server.streamable_http_app(auth=settings, token_verifier=Verifier(), **options)
        async with app.router.lifespan_context(app):
            yield host, app


def web(app: Any, token: str = "") -> httpx2.AsyncClient:
    """What sends requests to an app and to no network."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), headers=headers)


def test_who_decides_is_whose_token_it_is() -> None:
    """And whose run it is: with the token of somebody else it is not there."""

    async def visit() -> list[Any]:
        desk = Desk()
        async with served(desk) as (host, app):

            @asynccontextmanager
            async def client(token: str, *answers: types.ElicitResult) -> AsyncGenerator[Client]:
                human = Human(*answers)
                async with (
                    web(app, token) as client,
                    Client(
                        streamable_http_client(URL, http_client=client),
                        elicitation_callback=human,
                    ) as made,
                ):
                    yield made

            async with client("token-of-ann", said("approve")) as ann:
                paid = text(await ann.call_tool("pay", {"to": "Cy"}))
            (run,) = await host.runs()
            by = [one.by for one in (await host.run(run.run_id)).run.decisions]
            async with client("token-of-bob") as bob:
                stolen = text(await bob.call_tool("run_result", {"run_id": run.run_id}))
            return [paid, by, run.run_id in stolen and "there is no run" in stolen, desk.paid]

    assert asyncio.run(visit()) == ["paid Cy", ["ann"], True, ["Cy 1"]]


def rpc(method: str, params: Any = None) -> bytes:
    """A request of the protocol."""
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


CALL = rpc("tools/call", {"name": "clerk", "arguments": {"task": "Pay Ann."}})
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
ANN = {**JSON, "authorization": "Bearer token-of-ann"}


@pytest.mark.parametrize("token", ["token-of-bob", "token-of-ann"])
def test_without_sessions_nobody_gives_up_a_call_by_its_number(
    token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each client counts its requests from 1: the one that is meant may be anybody's."""
    sent: list[str] = []
    send = LocalHost.send

    def noted(host: LocalHost, run_id: str, what: Any) -> Any:
        """Send, and write down that it was begun: such a request is not waited for to the end."""
        sent.append(run_id)
        return send(host, run_id, what)

    monkeypatch.setattr(LocalHost, "send", noted)

    async def visit() -> None:
        desk = Desk()
        call = rpc("tools/call", {"name": "sleeper", "arguments": {"task": "Sleep."}})
        given_up = {"method": "notifications/cancelled", "params": {"requestId": 1}}
        content = json.dumps({"jsonrpc": "2.0", **given_up}).encode()
        async with (
            served(desk, stateless_http=True) as (host, app),
            web(app, "token-of-ann") as ann,
            web(app, token) as other,
        ):
            calling = asyncio.create_task(ann.post(URL, content=call, headers=JSON))
            await desk.began.wait()
            assert (await other.post(URL, content=content, headers=JSON)).status_code == 202
            assert len(await host.runs()) == 1
            calling.cancel()

    asyncio.run(visit())
    assert sent == []


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (CALL, JSON, 401),
        (CALL, {**JSON, "authorization": "Bearer guessed"}, 401),
        (CALL, {**JSON, "authorization": "Bearer for-another-server"}, 401),
        (CALL, {**JSON, "authorization": "Basic YW5uOmFubg=="}, 401),
        (CALL, {**ANN, "host": "evil.example"}, 421),
        (CALL, {**ANN, "origin": "https://evil.example"}, 403),
        (CALL, {**ANN, "mcp-protocol-version": "99"}, 400),
        (CALL, {**ANN, "mcp-session-id": "made-up"}, 404),
        (CALL, {**ANN, "content-type": "text/plain"}, 400),
        (b"{", ANN, 400),
        (b"[" * 99_999, ANN, 400),
        (b"5", ANN, 400),
        (rpc("tools/call", 5), ANN, 400),
        (b'"' + b"x" * 5_000_000 + b'"', ANN, 413),
    ],
    ids=str.split(
        "none guessed elsewhere basic host origin version session type half deep number params "
        "large"
    ),
)
def test_what_is_no_call_begins_nothing(
    content: bytes, headers: dict[str, str], status: int
) -> None:
    """Each is refused by its status, and no run is begun."""

    async def visit() -> tuple[int, int]:
        async with served(Desk()) as (host, app), web(app) as client:
            answer = await client.post(URL, content=content, headers=headers)
            return answer.status_code, len(await host.runs())

    assert asyncio.run(visit()) == (status, 0)
