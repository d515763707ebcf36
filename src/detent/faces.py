"""Faces: a host's agents for programs that speak a protocol of others, to serve or to mount."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detent.adapters.faces.agui_app import agui_app as agui_app
    from detent.adapters.faces.entrance import ThreadOf as ThreadOf
    from detent.adapters.faces.entrance import own_threads as own_threads
    from detent.adapters.faces.openai_app import openai_app as openai_app
else:
    from detent.exports import lazy_exports

    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {
            "adapters.faces.agui_app": "agui_app",
            "adapters.faces.entrance": "ThreadOf own_threads",
            "adapters.faces.openai_app": "openai_app",
        },
        extra="web",
    )
