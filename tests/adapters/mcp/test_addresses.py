"""Where a server is, by which approvals are bound: what is another place, and what is none."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import StdioServerParameters, stdio_client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import MCPServer

from detent.adapters.mcp.addresses import digest_of

URL = "https://shop.example/mcp"
SHOP = StdioServerParameters(command="shop", args=["test"])
ELSEWHERE: Mapping[str, Any] = {
    "args": ["live"],
    "command": "other",
    "cwd": Path("elsewhere"),
}


@asynccontextmanager
async def tunnel(to: StdioServerParameters) -> AsyncGenerator[Any]:
    """A transport of one's own."""
    async with stdio_client(to) as streams:
        yield streams


def test_a_transport_of_the_sdk_is_where_its_address_says() -> None:
    """However it was made; credentials, and where errors are logged, are no part of it."""
    renewed = SHOP.model_copy(update={"env": {"TOKEN": "t2"}})
    commands = [
        *(SHOP, renewed, stdio_client(SHOP), stdio_client(server=renewed)),
        stdio_client(SHOP, errlog=StringIO()),
    ]
    assert len({digest_of(one, str(at)) for at, one in enumerate(commands)}) == 1
    client = httpx2.AsyncClient(headers={"x-token": "t1"})
    urls = [
        *(URL, streamable_http_client(URL), streamable_http_client(url=URL, http_client=client)),
        *(sse_client(URL, {"x-token": "t2"}), sse_client(url=URL)),
    ]
    assert len({digest_of(one, str(at)) for at, one in enumerate(urls)}) == 1


@pytest.mark.parametrize("changed", [*ELSEWHERE])
def test_another_command_is_another_place(changed: str) -> None:
    """Also where a function of the SDK was given it."""
    other = SHOP.model_copy(update={changed: ELSEWHERE[changed]})
    assert digest_of(stdio_client(SHOP), "") != digest_of(stdio_client(other), "")


def test_another_url_is_another_place() -> None:
    """Its query, too; and a path alone is anywhere, as a client completes it."""
    live, path = streamable_http_client(f"{URL}?tenant=live"), streamable_http_client("/mcp")
    assert digest_of(streamable_http_client(URL), "") != digest_of(live, "")
    assert digest_of(path, "a") != digest_of(streamable_http_client("/mcp"), "b")


def test_where_a_transport_of_one_s_own_leads_is_unknown() -> None:
    """Its function may read that from anywhere: it is another place in each toolset."""
    own = tunnel(SHOP)
    assert digest_of(own, "a") == digest_of(tunnel(SHOP), "a") != digest_of(own, "b")


def test_a_server_in_this_process_is_called_by_its_name() -> None:
    """It is a part of the program, like a tool."""
    shop = digest_of(MCPServer("shop"), "a")
    assert shop == digest_of(MCPServer("shop"), "b") != digest_of(MCPServer("other"), "a")
