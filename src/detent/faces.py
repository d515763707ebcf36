"""Faces: agents for programs that speak a protocol of others, and agents of others as tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detent.adapters.faces.a2a.app import a2a_app as a2a_app
    from detent.adapters.faces.a2a.faults import A2AAgentError as A2AAgentError
    from detent.adapters.faces.a2a.tool import A2AAgentTool as A2AAgentTool
    from detent.adapters.faces.acp.files import NoEditorError as NoEditorError
    from detent.adapters.faces.acp.files import editor_files as editor_files
    from detent.adapters.faces.acp.stdio import run_acp as run_acp
    from detent.adapters.faces.agui_app import agui_app as agui_app
    from detent.adapters.faces.entrance import ThreadOf as ThreadOf
    from detent.adapters.faces.entrance import own_threads as own_threads
    from detent.adapters.faces.openai_app import openai_app as openai_app
else:
    from detent.exports import lazy_exports

    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "adapters.faces.a2a.app": "a2a_app",
            "adapters.faces.a2a.faults": "A2AAgentError",
            "adapters.faces.a2a.tool": "A2AAgentTool",
            "adapters.faces.acp.files": "NoEditorError editor_files",
            "adapters.faces.acp.stdio": "run_acp",
            "adapters.faces.agui_app": "agui_app",
            "adapters.faces.entrance": "ThreadOf own_threads",
            "adapters.faces.openai_app": "openai_app",
        },
        extra="web",
    )
