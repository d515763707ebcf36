"""Calls of a computer that the application has, as the Responses API writes them. Pure.

Source: https://developers.openai.com/api/docs/guides/tools-computer-use
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from detent.core.chat.messages import ImageContent, ToolCallResult
from detent.core.values.frozen import thaw

Json: TypeAlias = dict[str, Any]

COMPUTER_CALL = "computer_call"
DECLARED = frozenset({"computer", "computer_use_preview"})
ARGUMENTS = ("action", "actions", "pending_safety_checks")
"""What the model asks for in such a call: one action or several, and what was found unsafe."""

NO_SCREEN = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8"
    "AAAAASUVORK5CYII="
)
"""One pixel, for a call of which there is no picture: the API takes no words in its place."""


def has_computer(options: Mapping[str, Any]) -> bool:
    """Whether the tools that are asked for have a computer among them."""
    return any(tool.get("type") in DECLARED for tool in options.get("tools") or ())


def arguments_of_item(item: Mapping[str, Any]) -> Json:
    """The arguments of the call that an item is."""
    return {name: item[name] for name in ARGUMENTS if item.get(name)}


def item_of_arguments(arguments: Mapping[str, object]) -> Json:
    """The members of the item that a call with these arguments is."""
    item = {name: thaw(arguments[name]) for name in ARGUMENTS if name in arguments}
    return {"pending_safety_checks": [], **item}


def results(result: ToolCallResult, call_id: str) -> Iterator[Json]:
    """A result: the last picture in it is the screen; its words are a user's.

    Who has had the call run has seen what was found unsafe, and taken it upon them.
    """
    parts = () if isinstance(result.result, str) else result.result
    images = [part for part in parts if isinstance(part, ImageContent)]
    image_url = (
        f"data:{images[-1].mime_type};base64,{images[-1].base64_image}" if images else NO_SCREEN
    )
    checks = result.origin.arguments.get("pending_safety_checks")
    wire: Json = {
        "type": f"{COMPUTER_CALL}_output",
        "call_id": call_id,
        "output": {"type": "computer_screenshot", "image_url": image_url},
    }
    yield wire | ({"acknowledged_safety_checks": thaw(checks)} if checks else {})
    if result.text:
        yield {"role": "user", "content": result.text}
