"""OAuth by the SDK's own client and server: a toolset signs in, and calls with its token."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
import uvicorn
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyHttpUrl, AnyUrl

from detent import Agent, ScriptedChatGenerator, ToolCall
from detent.mcp import MCPServerError, MCPToolset


class Issuer:
    """Lets Ann in, each time that it is asked, and remembers for which server."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.tokens: dict[str, AccessToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        """Who has registered."""
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Register one."""
        self.clients[str(client_info.client_id)] = client_info

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        """Where a browser is sent back to."""
        code = f"code-{len(self.codes)}"
        self.codes[code] = AuthorizationCode(
            code=code,
            client_id=str(client.client_id),
            scopes=[],
            expires_at=time.time() + 60,
            subject="ann",
            **params.model_dump(exclude={"state", "scopes"}),
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(self, client: Any, code: str) -> AuthorizationCode | None:
        """A code that was handed out."""
        return self.codes.get(code)

    async def exchange_authorization_code(self, client: Any, code: AuthorizationCode) -> OAuthToken:
        """A token for a code, once."""
        del self.codes[code.code]
        token = f"token-{len(self.tokens)}"
        self.tokens[token] = AccessToken(
            token=token, client_id=code.client_id, scopes=[], subject="ann", resource=code.resource
        )
        return OAuthToken(access_token=token)

    async def load_access_token(self, token: str) -> AccessToken | None:
        """Whose token it is."""
        return self.tokens.get(token)


class Memory:
    """Where the client keeps its tokens."""

    tokens: OAuthToken | None = None
    info: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """Those that it has."""
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep them."""
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """As whom it has registered."""
        return self.info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep that."""
        self.info = client_info


@contextmanager
def shop(issuer: Issuer) -> Generator[str]:
    """The URL of a server that lets in who has a token for it."""
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    provider: Any = issuer
    server = MCPServer(
        "shop",
        auth_server_provider=provider,
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(url),
            resource_server_url=AnyHttpUrl(f"{url}/mcp"),
            client_registration_options=ClientRegistrationOptions(enabled=True),
            validate_token_resource=True,
        ),
    )

    @server.tool()
    def whose() -> str:
        """Say who calls."""
        token = get_access_token()
        return str(token and token.subject)

    config = uvicorn.Config(server.streamable_http_app(), log_config=None)
    serving = uvicorn.Server(config)
    thread = threading.Thread(target=serving.run, kwargs={"sockets": [listener]})
    thread.start()
    yield f"{url}/mcp"
    serving.should_exit = True
    thread.join(30)


def signing_in(url: str, memory: Memory) -> OAuthClientProvider:
    """The SDK's client, whose browser is at once where it is sent."""
    back: list[str] = []

    async def browse(where: str) -> None:
        async with httpx2.AsyncClient() as browser:
            back.append((await browser.get(where)).headers["location"])

    async def returned() -> AuthorizationCodeResult:
        said = parse_qs(urlsplit(back[-1]).query)
        return AuthorizationCodeResult(code=said["code"][0], state=said["state"][0])

    wanted = OAuthClientMetadata(
        redirect_uris=[AnyUrl("http://127.0.0.1:1/back")],
        token_endpoint_auth_method="none",  # noqa: S106 - it has none
    )
    return OAuthClientProvider(url, wanted, memory, browse, returned)


def test_a_toolset_signs_in_once() -> None:
    """Who calls is whom the server let in; without it, and with a token of others, nobody."""
    issuer, memory = Issuer(), Memory()
    with shop(issuer) as url:
        for headers in (None, {"Authorization": "Bearer guessed"}):
            with pytest.raises(MCPServerError):
                MCPToolset(url, headers=headers).warm_up()
        for _ in range(2):  # the second time with the token that was kept
            with MCPToolset(url, auth=signing_in(url, memory)) as tools:
                model = ScriptedChatGenerator(ToolCall("whose", {}, "c1"), "Done.")
                messages = Agent(chat_generator=model, tools=[tools]).run("Who am I?").messages
                assert [r.text for m in messages for r in m.tool_call_results] == ["ann"]
    assert [token.resource for token in issuer.tokens.values()] == [url]
