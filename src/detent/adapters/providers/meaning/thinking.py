"""How much a model shall think before it answers: one setting, in the words of every provider."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from detent.adapters.providers.meaning.wire import cannot_send

Level: TypeAlias = Literal["low", "medium", "high"]
ThinkingLevel: TypeAlias = Literal["off", "low", "medium", "high"] | int
"""Not at all, little, some, much; or at most so many tokens. None leaves it to the model."""

Members: TypeAlias = dict[str, Any]
ThinkingMembers: TypeAlias = Callable[[str, ThinkingLevel], Members]
"""The members of a request to a model that say how much it shall think."""

BUDGETS: Mapping[Level, int] = {"low": 2048, "medium": 8192, "high": 24_576}
"""What a level is where a provider takes tokens."""

LEAST_BUDGET = 1024
BEFORE_ADAPTIVE = re.compile(r"claude-(?:3|(?:opus|sonnet|haiku)-4(?:-[015]\b|[@-]20|$))")
"""The Claudes that are told how many tokens they may think, and not how hard.

Source: https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking
"""

ALWAYS_THINKS = re.compile(r"(?:.*/)?o[134](?:-|$)")
LEAST_IS_MINIMAL = re.compile(r"(?:.*/)?gpt-5(?:-mini|-nano)?(?:-20|$)")


def require_thinking(value: object) -> None:
    """Raise ValueError unless `value` is a `ThinkingLevel`, or None."""
    is_number = isinstance(value, int) and not isinstance(value, bool) and value > 0
    if not (value in {None, "off", *BUDGETS} or is_number):
        levels = ", ".join(map(repr, ("off", *BUDGETS)))
        raise ValueError(f"thinking must be {levels} or a number of tokens above 0, got {value!r}")


def level_of(thinking: ThinkingLevel) -> Level | None:
    """The level, where a provider takes no tokens; None for "off".

    >>> level_of("high"), level_of(3000), level_of(100_000), level_of("off")
    ('high', 'medium', 'high', None)
    """
    match thinking:
        case "off":
            return None
        case "low" | "medium" | "high":
            return thinking
        case tokens:
            for level, most in BUDGETS.items():
                if tokens <= most:
                    return level
            return "high"


def budget_of(thinking: ThinkingLevel) -> int:
    """The tokens, where a provider takes them; 0 for "off".

    >>> budget_of("low"), budget_of(3000), budget_of("off")
    (2048, 3000, 0)
    """
    if isinstance(thinking, int):
        return thinking
    return 0 if thinking == "off" else BUDGETS[thinking]


def openai_effort(model: str, thinking: ThinkingLevel) -> str:
    """The effort of OpenAI's models, the older of which cannot do without any.

    Raises:
        ChatGeneratorError: the model always thinks.
    """
    level = level_of(thinking)
    if level is None and ALWAYS_THINKS.match(model):
        raise cannot_send("this API", f"thinking='off' for {model!r}, which always thinks")
    return level or ("minimal" if LEAST_IS_MINIMAL.match(model) else "none")


def as_effort(model: str, thinking: ThinkingLevel) -> Members:
    """As `reasoning_effort`, OpenAI's member, which most servers have taken over."""
    return {"reasoning_effort": openai_effort(model, thinking)}


def as_claude(model: str, thinking: ThinkingLevel) -> Members:
    """As Claude is told: how many tokens, or how hard, as newer models know themselves how long."""
    if thinking == "off":
        return {"thinking": {"type": "disabled"}}
    if BEFORE_ADAPTIVE.search(model):
        budget = max(budget_of(thinking), LEAST_BUDGET)
        return {"thinking": {"type": "enabled", "budget_tokens": budget}}
    return {"thinking": {"type": "adaptive"}, "output_config": {"effort": level_of(thinking)}}


def as_switch(_: str, thinking: ThinkingLevel) -> Members:
    """As `thinking`, which is on or off (DeepSeek, Moonshot, Z.AI)."""
    return {"thinking": {"type": "disabled" if thinking == "off" else "enabled"}}


def as_reasoning(_: str, thinking: ThinkingLevel) -> Members:
    """As `reasoning`, with an effort or a number of tokens (OpenRouter, Vercel)."""
    if isinstance(thinking, int):
        return {"reasoning": {"max_tokens": thinking}}
    return {"reasoning": {"enabled": False} if thinking == "off" else {"effort": thinking}}


def as_template(_: str, thinking: ThinkingLevel) -> Members:
    """As an argument of the model's chat template (vLLM, llama.cpp): on or off."""
    return {"chat_template_kwargs": {"enable_thinking": thinking != "off"}}
