"""The Model Context Protocol: tools of servers that others wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detent.adapters.mcp.connection import MCPServerError as MCPServerError
    from detent.adapters.mcp.results import MCPToolError as MCPToolError
    from detent.adapters.mcp.toolset import MCPToolset as MCPToolset
    from detent.adapters.mcp.toolset import ToolChangedError as ToolChangedError
else:
    from detent.exports import lazy_exports

    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "adapters.mcp.connection": "MCPServerError",
            "adapters.mcp.results": "MCPToolError",
            "adapters.mcp.toolset": "MCPToolset ToolChangedError",
        },
    )
