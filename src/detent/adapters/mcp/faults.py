"""What goes wrong with a tool server."""

from __future__ import annotations

from importlib.util import find_spec

from detent.adapters.system.installation import install_command
from detent.core.errors import DetentError

TEXT_MAX = 1000
"""How many characters of what a server says about a failure are told."""


class MCPServerError(DetentError):
    """An MCP server cannot be reached, went away, or does not keep to the protocol.

    Attributes:
        server: what the toolset calls it.
        may_have_run: whether the call had been sent, so that nobody knows if it was done.
    """

    def __init__(self, server: str, text: str, *, may_have_run: bool = False) -> None:
        known = "; it is not known what became of the call" if may_have_run else ""
        super().__init__(f"the MCP server {server} {text}{known}")
        self.server = server
        self.may_have_run = may_have_run


class ToolChangedError(MCPServerError):
    """A tool of a server is another one than the agent knows, and was not called."""


class MCPToolError(DetentError):
    """A tool of a server says that it has failed. The text is what it says."""


def require_sdk() -> None:
    """Raise ImportError with the remedy where the SDK is not installed."""
    if find_spec("mcp") is None or find_spec("mcp_types") is None:  # 1.x has no mcp_types
        raise ImportError(f"MCP needs its SDK, 2.3 or later: {install_command('mcp')}", name="mcp")


def error_text(error: BaseException) -> str:
    """What an error says, cut; of a library's own error its kind alone, for a URL may be in it."""
    if isinstance(error, BaseExceptionGroup):
        return error_text(error.exceptions[0])
    is_answer = type(error).__name__ == "MCPError"  # the SDK's: it carries what the server said
    own = isinstance(error, FileNotFoundError | PermissionError | DetentError)
    return str(error)[:TEXT_MAX] if is_answer or own else type(error).__name__
