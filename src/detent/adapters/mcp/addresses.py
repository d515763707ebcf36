"""Where a server is: what it is called by that, and a digest that approvals are bound to."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from detent.core.tools.version import hash_of

if TYPE_CHECKING:
    from mcp import StdioServerParameters


def name_of(server: object) -> str:
    """What a server is called by its address, without the parts of it that may be secrets."""
    if isinstance(server, str):
        url = urlsplit(server)
        return f"{url.scheme}://{url.hostname}{f':{url.port}' if url.port else ''}{url.path}"
    if isinstance(command := getattr(server, "command", None), str):
        return PurePath(command).name
    return str(getattr(server, "name", "") or type(server).__name__)


def digest_of(server: object, unknown: str) -> str:
    """All of where a server is, as the program says it: the query of a URL, a command's arguments.

    RULE: as a digest alone: there may be secrets in them. They are not looked up, which gives
    another path on another machine; nor do headers and the environment count, where credentials
    are, and what is another in every process.

    RULE: a transport of the SDK leads where the address says that it was made with, whichever code
    has made it. Of any other one nobody can say where it leads, its code neither: that may read the
    address from anywhere. It is `unknown`, which is to be as no other toolset has it.

    Args:
        server: the address; a transport that was not entered yet.
        unknown: stands for where a transport leads that does not say so.
    """
    from mcp import StdioServerParameters

    if isinstance(server, str):
        return hash_of("url", server)
    if isinstance(server, StdioServerParameters):
        return hash_of("command", server.command, server.args, server.cwd and str(server.cwd))
    if not hasattr(server, "__aenter__"):  # a server in this process
        return hash_of("object", name_of(server))
    if (address := _address_in(server)) is None:
        return hash_of("unknown", unknown)
    return digest_of(address, unknown)


def _address_in(transport: Any) -> str | StdioServerParameters | None:
    """What a function of the SDK has made a transport with: the first argument, in all of them.

    None where it is of no such function; or a path alone, which the client of it completes.
    """
    from mcp import StdioServerParameters

    function: Any = getattr(transport, "func", None)
    if not str(getattr(function, "__module__", "")).startswith("mcp.client."):
        return None
    first = function.__code__.co_varnames[0]
    address = transport.args[0] if transport.args else transport.kwds.get(first)
    if isinstance(address, str):
        return address if urlsplit(address).netloc else None
    return address if isinstance(address, StdioServerParameters) else None
