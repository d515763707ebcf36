"""The tools of an MCP server, as a toolset."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from hashlib import sha256
from math import inf
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, cast
from uuid import uuid4

from attrs import field, frozen

from detent.adapters.mcp.addresses import digest_of, name_of
from detent.adapters.mcp.definitions import (
    Definition,
    Listing,
    MCPTool,
    ToolRule,
    missing,
    tools_of,
)
from detent.adapters.mcp.faults import MCPServerError, require_sdk
from detent.adapters.system.threads_and_loops import in_background
from detent.adapters.system.version import __version__
from detent.adapters.tools.toolsets import Toolset
from detent.core.chat.messages import ResultPart
from detent.core.tools.idempotency import NO_KEY, IdempotencyKey
from detent.core.tools.signature import ToolFunction
from detent.core.tools.tool import Tool
from detent.core.values.frozen import thaw
from detent.ports.chat import AsyncChatGenerator, ChatGenerator
from detent.ports.confirmation import ConfirmationUI

if TYPE_CHECKING:
    import httpx2
    from mcp import StdioServerParameters
    from mcp.client import Transport
    from mcp.client.session import MessageHandlerFnT
    from mcp.server import Server
    from mcp.server.mcpserver import MCPServer

    from detent.adapters.mcp.asking import Answering
    from detent.adapters.mcp.sessions import Reached

MESSAGE_MAX = 16 * 1024 * 1024
"""How many bytes one message of a server may have, unless said otherwise."""

Address: TypeAlias = "str | StdioServerParameters | Transport | Server[Any] | MCPServer"
"""Where a server is: a URL, a command, a transport of the SDK, or a server in this process. A
transport serves one connection: hand over a function that makes it."""


@frozen
class MCPProgress:
    """How far a call is, as its server says: a claim.

    Attributes:
        server: what the toolset calls the server.
        tool: what the agent calls the tool.
        call: the call's `IdempotencyKey`.
        progress: how much is done.
        total: of how much; None where that is not known.
        message: in words.
    """

    server: str
    tool: str
    call: str
    progress: float
    total: float | None = None
    message: str | None = None


class MCPToolset(Toolset):
    """The tools of an MCP server, over stdio, over streamable HTTP, or in this process.

    It connects at the begin of a ``with`` block, or when an agent warms up, and again when the
    server has gone away. What a server says of changes, by the protocol's notice, counts for the
    next run; one that changes a tool and says nothing is found out when it is connected to again.
    It serves blocking and async agents at the same time, in an event loop of its own.
    Whoever makes it closes it: by `close`, or by ``with``.

    What a server says of itself is a claim. Its results bear the label "untrusted"; its hints count
    for nothing unless `trust_hints` says so. What a human approves is bound to where the server is
    (the whole URL, or the command with its arguments and folder), to what it says that it is, and
    to the whole definition of the tool: if any of it changes, the call is asked about again, or,
    where it has begun already, is not made. Credentials that change belong into headers, `auth` or
    the environment, to which nothing is bound. A transport of the SDK is where the URL or command
    is that it was made with; where one of your own leads nobody can say, so that it is asked about
    again in each other toolset, and in each other process.

    Attributes:
        name: what the server is called here.
        left_out: why each tool of the server that cannot be used is left out, by its name.

    Args:
        server: its URL, ``StdioServerParameters(command=…, args=[…])`` of the SDK, a server in this
            process, or a function that makes a transport of the SDK, or any of these.
        name: what it is called in errors and questions, and in the version of its tools; without it
            what the address says.
        prefix: what the names of its tools begin with here: two servers may have the same names.
        only: the names of the tools that are taken, as the server calls them; None is all.
        trust_hints: whether what the server says of its tools counts: that one changes nothing
            (`MCPTool.is_read_only`), or may be called twice (then ``on_unknown`` is "rerun").
        labels: what the results bring along, and the descriptions, which a model reads first: a run
            with such tools bears them from its beginning, but for a server that is trusted.
        headers: sent with each HTTP request, such as an authorization.
        auth: of httpx2: for OAuth the SDK's `OAuthClientProvider`.
        ui: who answers what the server asks; without it, it cannot ask.
        sampling: the model that the server may ask, each time that the `ui` allows it; without it,
            it may ask none.
        on_progress: is told how far calls are, in the event loop of the connection.
        connect_timeout_s: seconds that connecting and listing may take.
        timeout_s: seconds that a call may take, with all that is asked meanwhile; None is no limit.
        message_max: bytes that one message of the server may have.
        mode: of the SDK: which era of the protocol to speak.

    Raises:
        ValueError: an option does not fit the others.
        TypeError: `only` or `labels` is one text.
        ImportError: the SDK is not installed: the extra ``mcp`` brings it.
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
        headers: Mapping[str, str] | None = None,
        auth: httpx2.Auth | None = None,
        ui: ConfirmationUI | None = None,
        sampling: ChatGenerator | AsyncChatGenerator | None = None,
        on_progress: Callable[[MCPProgress], object] | None = None,
        connect_timeout_s: float = 30.0,
        timeout_s: float | None = 60.0,
        message_max: int = MESSAGE_MAX,
        mode: Literal["auto", "legacy"] = "auto",
    ) -> None:
        super().__init__()
        _require(ui, sampling, {"only": only, "labels": labels}, connect_timeout_s)
        names = None if only is None else frozenset(only)
        self.name = name or name_of(server)
        self._rule = ToolRule(self.name, prefix, names, trust_hints, timeout_s, tuple(labels))
        self._on_progress = on_progress
        self._listed: tuple[MCPTool, ...] = ()
        self.left_out: Mapping[str, str] = {}
        from detent.adapters.mcp.asking import Answering
        from detent.adapters.mcp.calls import Line
        from detent.adapters.mcp.sessions import Way

        answering = Answering(self.name, ui, sampling)
        reach = _Reach(server, headers, auth, message_max, mode, answering)
        self._line = Line(Way(self.name, reach.reach, connect_timeout_s, self._take))

    def __iter__(self) -> Iterator[Tool]:
        """The tools that the server offered when it was last asked, and those that were added."""
        return iter((*self._listed, *self._tools))

    @property
    def labels(self) -> tuple[str, ...]:
        """What its tools bring along, whichever the server offers now."""
        return tuple(sorted({*self._rule.labels, *super().labels}))

    def warm_up(self) -> None:
        """Connect, and look which tools there are.

        Raises:
            MCPServerError: that does not work, or the server lacks a tool that is wanted.
        """
        session = in_background(self._line.session()).result()
        if lacking := missing(self._rule.only, session.listing):
            raise MCPServerError(self.name, f"has no tools {lacking}")

    def close(self) -> None:
        """End the connection, and the server if it is a process of ours. A later call connects."""
        in_background(self._line.close()).result()

    def __enter__(self) -> Self:
        """Connect: an agent whose rules name a tool must know it from its beginning."""
        try:
            self.warm_up()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _take(self, listing: Listing) -> None:
        self._listed, self.left_out = tools_of(listing, self._rule, self._function)

    def _function(self, definition: Definition) -> ToolFunction:
        """What calls a tool, from any event loop."""
        from detent.adapters.mcp.calls import ToolRequest
        from detent.adapters.mcp.results import parts_of

        async def call_at_server(
            *, detent_call: IdempotencyKey = NO_KEY, **arguments: object
        ) -> str | list[ResultPart]:
            key = sha256(detent_call.encode()).hexdigest() if detent_call else ""
            on_progress = partial(self._report_progress, definition.name, detent_call)
            plain_arguments = cast("dict[str, Any]", thaw(arguments))
            request = ToolRequest(definition, plain_arguments, key, on_progress)
            result = await asyncio.wrap_future(in_background(self._line.call(request)))
            return parts_of(result, definition.data.get("outputSchema"))

        return call_at_server

    def _report_progress(
        self, tool: str, call: str, progress: float, total: float | None, message: str | None
    ) -> None:
        if self._on_progress is not None:
            name = f"{self._rule.prefix}{tool}"
            self._on_progress(MCPProgress(self.name, name, call, progress, total, message))


@frozen
class _Reach:
    """Where the server is, and how it is spoken to. `unknown` is where nobody can say it."""

    server: Any
    headers: Mapping[str, str] | None
    auth: Any
    message_max: int
    mode: Literal["auto", "legacy"]
    answering: Answering
    unknown: str = field(factory=lambda: uuid4().hex, init=False)

    def reach(self, on_message: MessageHandlerFnT) -> Reached:
        """What connects to it."""
        from mcp import Client
        from mcp_types import Implementation

        from detent.adapters.mcp.sessions import Reached

        server = self.server() if callable(self.server) else self.server
        client = Client(
            self._target(server),
            cache=None,
            mode=self.mode,
            message_handler=on_message,
            client_info=Implementation(name="detent", version=__version__),
            elicitation_callback=self.answering.elicit if self.answering.ui else None,
            sampling_callback=self.answering.sample if self.answering.sampling else None,
        )
        return Reached(client, digest_of(server, self.unknown))

    def _target(self, server: Any) -> Any:
        from mcp import StdioServerParameters

        from detent.adapters.mcp.transports import bounded_http, bounded_stdio

        if isinstance(server, str):
            return bounded_http(server, self.headers, self.auth, self.message_max)
        if isinstance(server, StdioServerParameters):
            return bounded_stdio(server, self.message_max)
        return server


def _require(
    ui: object, sampling: object, lists: Mapping[str, object], connect_timeout_s: float
) -> None:
    """Raise unless the SDK is there and the options fit each other."""
    require_sdk()
    if sampling is not None and ui is None:
        raise ValueError("sampling needs a ui, which is asked each time before the model is")
    for option, names in lists.items():
        if isinstance(names, str):  # whose letters would be the names
            raise TypeError(f"{option} are names in a list: {option}=[{names!r}]")
    if not 0 < connect_timeout_s < inf:
        raise ValueError(f"connect_timeout_s is a number above 0, got {connect_timeout_s!r}")
