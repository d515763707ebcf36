"""The tools of an MCP server, as a toolset."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast

from detent.adapters.mcp.connection import Connection, MCPServerError
from detent.adapters.mcp.results import MCPToolError, Part, value_of
from detent.adapters.tools.toolsets import Toolset
from detent.core.errors import ToolDefinitionError
from detent.core.tools.tool import Tool
from detent.core.tools.version import hashed

if TYPE_CHECKING:
    from mcp import Client, StdioServerParameters
    from mcp.client import Transport
    from mcp.server import Server
    from mcp.server.mcpserver import MCPServer
    from mcp_types import Tool as ServerTool

Address: TypeAlias = "str | StdioServerParameters | Transport | Server[Any] | MCPServer"
"""Where a server is: a URL, a command, a transport of the SDK, or a server in this process."""

LOGGER = logging.getLogger("detent.mcp")
PAGES_MAX, TOOLS_MAX = 100, 1_000
"""How many pages and tools are read of a server's list."""
RESULT_MAX = 4_000_000
"""How many characters an answer may have."""
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.:-]")


class ToolChangedError(MCPServerError):
    """A tool of a server is another one than the agent knows, and was not called."""


class MCPToolset(Toolset):
    """The tools of a server that speaks the Model Context Protocol.

    It connects at the begin of a ``with`` block, or when an agent warms up, and again when the
    server has gone away. What the tools
    bring is labelled "untrusted", and what the server says of their effects is a claim, that
    counts only with `trust_hints`.

    A tool's version covers the server, the name, the description and the schema: a server that
    changes one of them after somebody has confirmed a call has that question asked anew.

    Args:
        server: a URL, ``StdioServerParameters(command=…, args=[…])`` of the SDK, a transport of it,
            e.g. ``streamable_http_client(url, http_client=…)`` with headers or OAuth, or a server
            object in this process. A transport serves one connection: hand over a function that
            makes it, to have it made anew.
        name: what the server is called in errors, and in the version of its tools; without it what
            the address says.
        prefix: what the names of its tools begin with here: two servers may have the same names.
        only: the names of the tools that are taken, as the server calls them; None is all.
        trust_hints: whether to believe the server that a tool only reads, or may be repeated: then
            it is run again where it is not known how it went.
        labels: what its results bring along.
        timeout_s: how many seconds one call may take; None is no limit.

    Raises:
        ImportError: the extra is missing: ``pip install 'detent[mcp]'``.
    """

    def __init__(
        self,
        server: Address | Callable[[], Address],
        *,
        name: str = "",
        prefix: str = "",
        only: Iterable[str] | None = None,
        trust_hints: bool = False,
        labels: Iterable[str] = ("untrusted",),
        timeout_s: float | None = 60.0,
    ) -> None:
        super().__init__()
        if find_spec("mcp") is None:
            raise ImportError("MCP needs its SDK: pip install 'detent[mcp]'", name="mcp")
        self.name = name or _name_of(server)
        self.left_out: dict[str, str] = {}
        self._server, self._prefix = server, prefix
        self._only = None if only is None else frozenset(only)
        self._trusts, self._labels, self._timeout_s = trust_hints, tuple(labels), timeout_s
        self._connection = Connection(self.name, self._client, self._outdate)
        self._known: dict[str, str] = {}  # the digest of each tool, as the agent knows it
        self._is_current = False

    def __enter__(self) -> Self:
        """Connect: an agent whose rules name a tool must know it from its beginning."""
        try:
            self.warm_up()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Tool]:
        """The tools, in the server's order; asked for anew where they may be others by now."""
        if self._known and not self._is_current:
            self.warm_up()
        return super().__iter__()

    def warm_up(self) -> None:
        """Connect, and ask what tools there are.

        Raises:
            MCPServerError: the server cannot be reached.
            ToolDefinitionError: two of its tools have one name here.
        """
        listed = self._connection.begin(self._listed).result()
        self._tools = list(self._made(listed))
        self._known = {one.name: _digest(one) for one in listed}
        self._is_current = True

    def close(self) -> None:
        """End the connection. A later call begins another."""
        self._connection.close()

    def _client(self) -> Client:
        from mcp import Client

        server = self._server() if callable(self._server) else self._server
        return Client(cast(Any, server), message_handler=self._heard)

    async def _heard(self, message: object) -> None:
        if type(getattr(message, "root", message)).__name__ == "ToolListChangedNotification":
            self._outdate()

    def _outdate(self) -> None:
        self._is_current = False

    async def _listed(self, client: Client) -> list[ServerTool]:
        """All tools of the server."""
        found: list[ServerTool] = []
        cursor: str | None = None
        for _ in range(PAGES_MAX):
            page = await client.list_tools(cursor=cursor, cache_mode="bypass")
            found += page.tools
            cursor = page.next_cursor
            if cursor is None or len(found) > TOOLS_MAX:
                break
        if cursor is not None or len(found) > TOOLS_MAX:
            raise MCPServerError(f"the MCP server {self.name} lists more than {TOOLS_MAX} tools")
        return found

    def _made(self, listed: Iterable[ServerTool]) -> Iterator[Tool]:
        """The tools that can be used; the others are named in `left_out`, and why."""
        taken: dict[str, str] = {}
        self.left_out = {}
        for one in listed:
            if self._only is not None and one.name not in self._only:
                continue
            name = self._prefix + NOT_IN_NAMES.sub("_", one.name)
            if name in taken:
                raise ToolDefinitionError(
                    f"the tools {taken[name]!r} and {one.name!r} of the MCP server {self.name} are "
                    f"both called {name!r} here: take one of them, by only=…"
                )
            taken[name] = one.name
            try:
                yield self._tool(name, one)
            except ToolDefinitionError as error:
                self.left_out[one.name] = str(error)
                LOGGER.warning("the tool %r of %s is left out: %s", one.name, self.name, error)

    def _tool(self, name: str, one: ServerTool) -> Tool:
        hints = one.annotations
        may_repeat = (
            self._trusts
            and hints is not None
            and bool(hints.read_only_hint or hints.idempotent_hint)
        )
        return Tool(
            name,
            one.description or one.title or "",
            {"properties": {}, **one.input_schema},
            # by position: an argument of the tool may be called as a parameter here
            partial(_call, self, self.name, one.name),
            outputs_to_string={"raw_result": True},
            on_unknown="rerun" if may_repeat else "ask",
            labels=self._labels,
            timeout_s=self._timeout_s,
        )

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> str | list[Part]:
        """Call a tool by the name that the server has for it.

        Raises:
            MCPToolError: the tool has failed, as the server says.
            ToolChangedError: it is not the tool any more that the agent knows. It was not called.
            MCPServerError: the server has gone away, or does not keep to the protocol.
        """
        return await self._connection.use(partial(self._called, tool, arguments))

    async def _called(
        self, tool: str, arguments: Mapping[str, Any], client: Client
    ) -> str | list[Part]:
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED
        from pydantic import ValidationError

        try:
            if not self._is_current:
                await self._require_same(tool, client)
            result = await client.call_tool(tool, dict(arguments), self._timeout_s)
        except MCPError as error:
            if error.code == CONNECTION_CLOSED:
                raise  # the connection says what that means
            raise self._refused(tool, error) from error
        except ValidationError as error:
            raise MCPServerError(
                f"the MCP server {self.name} has answered what the protocol does not have"
            ) from error
        return value_of(result, RESULT_MAX)

    def _refused(self, tool: str, error: Exception) -> Exception:
        return MCPToolError(f"{self.name} refuses the call of {tool!r}: {error!s:.2000}")

    async def _require_same(self, tool: str, client: Client) -> None:
        """Raise ToolChangedError unless the server still has the tool that the agent knows."""
        now = {one.name: _digest(one) for one in await self._listed(client)}
        if now.get(tool) != self._known.get(tool):
            what = "has changed" if tool in now else "is not there any more"
            raise ToolChangedError(
                f"the tool {tool!r} of the MCP server {self.name} {what}, and was not called: "
                "begin or resume a run, which looks at the tools anew"
            )
        if now == self._known:
            self._is_current = True


async def _call(toolset: MCPToolset, server: str, tool: str, /, **arguments: Any) -> object:
    """The function of each tool. `server` and `tool` are part of its version."""
    return await toolset.call(tool, arguments)


def _digest(one: ServerTool) -> str:
    return hashed(one.name, one.description, one.title, one.input_schema)


def _name_of(server: object) -> str:
    """What a server is called by its address, without the parts of it that may be secrets."""
    if isinstance(server, str):
        from urllib.parse import urlsplit

        url = urlsplit(server)
        return f"{url.scheme}://{url.hostname}{f':{url.port}' if url.port else ''}{url.path}"
    command = getattr(server, "command", None)
    if isinstance(command, str):
        return PurePath(command).name
    return str(getattr(server, "name", "") or type(server).__name__)
