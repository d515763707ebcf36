"""The version of Detent that is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final


def _installed() -> str:
    try:
        return version("detent")
    except PackageNotFoundError:  # its code is on the path, and nobody has installed it
        return "unknown"


__version__: Final[str] = _installed()
"""Such as "0.1.0"; "unknown" where the code was copied and not installed."""
