"""Strategies and policies: when a human is asked about a tool call, and by whom."""

from __future__ import annotations

from typing import Any, Protocol

from attrs import frozen

from detent.ports.confirmation import ConfirmationUI


class ConfirmationPolicy(Protocol):
    """Says whether a human must be asked about a call. It is asked once for each call."""

    def should_ask(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> bool:
        """Whether a human must decide about this call."""
        ...


@frozen
class AlwaysAskPolicy:
    """Every call is asked about."""

    def should_ask(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> bool:
        """Always True."""
        return True


@frozen
class NeverAskPolicy:
    """No call is asked about."""

    def should_ask(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> bool:
        """Always False."""
        return False


@frozen
class BlockingConfirmationStrategy:
    """Asks through `confirmation_ui`, and waits, whenever `confirmation_policy` says so."""

    confirmation_policy: ConfirmationPolicy
    confirmation_ui: ConfirmationUI
