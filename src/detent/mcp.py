"""The Model Context Protocol: tools of other people's servers, and a server of one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detent.adapters.mcp.callers import agent_of_tools as agent_of_tools
    from detent.adapters.mcp.definitions import MCPTool as MCPTool
    from detent.adapters.mcp.faults import MCPServerError as MCPServerError
    from detent.adapters.mcp.faults import MCPToolError as MCPToolError
    from detent.adapters.mcp.faults import ToolChangedError as ToolChangedError
    from detent.adapters.mcp.policies import AskUnlessReadOnly as AskUnlessReadOnly
    from detent.adapters.mcp.server import mcp_server as mcp_server
    from detent.adapters.mcp.toolset import MCPProgress as MCPProgress
    from detent.adapters.mcp.toolset import MCPToolset as MCPToolset
else:
    from detent.exports import lazy_exports

    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "adapters.mcp.callers": "agent_of_tools",
            "adapters.mcp.definitions": "MCPTool",
            "adapters.mcp.faults": "MCPServerError MCPToolError ToolChangedError",
            "adapters.mcp.policies": "AskUnlessReadOnly",
            "adapters.mcp.server": "mcp_server",
            "adapters.mcp.toolset": "MCPProgress MCPToolset",
        },
    )
