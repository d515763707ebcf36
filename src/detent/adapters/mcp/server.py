"""A server: the agents and tools of a host, for clients that speak the protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from detent.adapters.mcp.faults import require_sdk
from detent.core.tools.tool import Tool
from detent.ports.hosting import Host

if TYPE_CHECKING:
    from mcp.server import Server


def principal() -> str | None:
    """Who calls, as the access token of an HTTP request says; None without one."""
    from mcp.server.auth.middleware.auth_context import get_access_token

    token = get_access_token()
    return None if token is None else (token.subject or token.client_id)


def mcp_server(
    host: Host,
    *,
    name: str = "detent",
    about: Mapping[str, str] | None = None,
    tools: Mapping[str, Iterable[Tool]] | None = None,
    inbox: str | None = None,
    asks_client: bool = False,
    by: Callable[[], str | None] = principal,
    wait_s: float | None = 300.0,
) -> Server[Any]:
    """A server of the SDK that has each agent of a host as a tool.

    A call of such a tool is a run of the host, which lives on when the client leaves. Where the run
    asks a human, the result says that it waits, where that is decided, and that the tool
    ``run_result`` gives the end; or, where `asks_client` lets it, the client is asked to show the
    question. ``run_cancel`` ends a run. A client sees its own runs alone.

    Serve it by ``detent mcp``, or by the SDK: ``server.run`` over stdio, `streamable_http_app`.

    Args:
        host: where the runs live. It must be open while the server is used.
        name: what clients are told.
        about: what each agent can do, for the client's model.
        tools: by the name of an agent made by `agent_of_tools`, tools of it that are served as
            tools, with schemas of their own.
        inbox: the address of a page where questions are decided, to be told to clients.
        asks_client: whether a client may show a question and send the decision. The protocol does
            not say who fills in a form: the client's own model might. Say True where you know that
            a human does; else people decide elsewhere, such as at the `inbox`.
        by: who calls: the one who has decided, where the client is asked, and whose runs they are.
        wait_s: seconds that a call waits for the end, and for answers; None is no limit.

    Raises:
        ImportError: the SDK is not installed: the extra ``mcp`` brings it.
    """
    require_sdk()
    import mcp_types as types
    from mcp.server import Server

    from detent.adapters.mcp.serving import Serving

    served = {tool.name: (agent, tool) for agent, its in (tools or {}).items() for tool in its}
    made = Serving(host, dict(about or {}), served, inbox, asks_client, by, wait_s)
    server: Server[Any] = Server(name, on_list_tools=made.list_tools, on_call_tool=made.call_tool)
    server.add_notification_handler(
        "notifications/cancelled", types.CancelledNotificationParams, made.cancelled
    )
    return server
