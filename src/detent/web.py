"""The web face: an inbox of questions and a view of runs, to serve or to mount into another app."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detent.adapters.web.app import web_app as web_app
    from detent.adapters.web.people import Person as Person
    from detent.adapters.web.people import SignIn as SignIn
    from detent.adapters.web.people import TokenFile as TokenFile
    from detent.adapters.web.people import Tokens as Tokens
else:
    from detent.exports import lazy_exports

    __getattr__, __dir__, __all__ = lazy_exports(
        __name__,
        {"adapters.web.app": "web_app", "adapters.web.people": "Person SignIn TokenFile Tokens"},
        extra="web",
    )
