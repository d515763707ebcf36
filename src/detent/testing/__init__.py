"""What tests of agents need: scripted models and humans, and words for what has happened.

No test framework is needed. A name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detent.adapters.testing.scripted import After as After
    from detent.adapters.testing.scripted import Asked as Asked
    from detent.adapters.testing.scripted import Pieces as Pieces
    from detent.adapters.testing.scripted import ScriptedChatGenerator as ScriptedChatGenerator
    from detent.adapters.testing.scripted import When as When
    from detent.adapters.testing.transcripts import transcript as transcript

_HOMES = {
    "adapters.testing.scripted": "After Asked Pieces ScriptedChatGenerator When",
    "adapters.testing.transcripts": "transcript",
}
"""Where each public name lives: the same as above, for the interpreter."""

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
if not TYPE_CHECKING:
    __all__ = [*_HOME_OF]  # noqa: PLE0604 - names, made from the table

    def __getattr__(name: str) -> object:
        if name not in _HOME_OF:
            raise AttributeError(f"module 'detent.testing' has no attribute {name!r}")
        value: object = getattr(import_module(f"detent.{_HOME_OF[name]}"), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *_HOME_OF})
