"""A confirmation UI on the terminal: prints the call, reads an answer."""

from __future__ import annotations

import json
from threading import Lock
from typing import Any

from detent.ports.confirmation import ConfirmationUIResult

ONE_AT_A_TIME = Lock()
"""Prompts of several runs in one process do not interleave."""


class SimpleConsoleUI:
    """Asks with `print` and `input`: confirm, reject or modify."""

    def get_user_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> ConfirmationUIResult:
        """Ask until the answer is one. Ctrl-C and end of input pass through and decide nothing."""
        with ONE_AT_A_TIME:
            print(f"\n--- {visible(tool_name)} wants to run ---")
            if tool_description:
                print(visible(tool_description))
            for name, value in tool_params.items():
                print(f"  {_quoted(name)} = {_quoted(value)}")
            return self._answer(tool_params)

    def _answer(self, tool_params: dict[str, Any]) -> ConfirmationUIResult:
        while True:
            choice = input("Run it? [y]es / [n]o / [m]odify: ").strip().lower()
            if choice in ("y", "yes"):
                return ConfirmationUIResult("confirm")
            if choice in ("n", "no"):
                feedback = input("Why not? (may be empty): ").strip()
                return ConfirmationUIResult("reject", feedback or None)
            if choice in ("m", "modify"):
                return ConfirmationUIResult("modify", new_tool_params=_modified(tool_params))
            print("Please answer y, n or m.")


def visible(text: str) -> str:
    """`text` with control characters made visible: what a model wrote cannot steer the terminal."""
    return "".join(
        char if char.isprintable() or char in "\n\t" else repr(char)[1:-1] for char in text
    )


def _modified(tool_params: dict[str, Any]) -> dict[str, Any]:
    """Every parameter, as it is or as the human retypes it: strings plain, all else as JSON."""
    return {name: _retyped(name, value) for name, value in tool_params.items()}


def _retyped(name: str, value: object) -> object:
    while True:
        text = input(f"  {_quoted(name)} [{_quoted(value)}]: ")
        if not text:
            return value
        if isinstance(value, str):
            return text
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            print(f"  That is not JSON: {error}")


def _quoted(value: object) -> str:
    """The value for the screen, its further lines barred: none passes for one of ours."""
    return visible(_shown(value)).replace("\n", "\n    | ")


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
