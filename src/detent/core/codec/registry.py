"""What the packages above tell the codec of their own classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OWN_FORMS: dict[type, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {}
"""How classes are written and read that look the same wherever they stand: messages."""

WITH_AGENT: set[type] = set()
"""Records that belong to the agent in their `tool_name`, whose names mean what it says."""
