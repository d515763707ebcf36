"""What the documentation says was recorded of each provider is what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import pytest

from detent.adapters.providers.capabilities import CAPABILITIES
from tests.adapters.providers.http.recorded import Record, needs_records, records

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "providers" / "index.md"
BEGIN, END = "<!-- recorded -->", "<!-- /recorded -->"
COMPATIBLE = "openai_compatible"
LABELS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "anthropic": ("anthropic", ("anthropic",)),
    "azure": ("openai_chat", ("azure",)),
    "bedrock": ("bedrock_converse", ("bedrock",)),
    "cerebras": (COMPATIBLE, ("cerebras",)),
    "cohere": ("cohere", ("cohere",)),
    "deepseek": (COMPATIBLE, ("deepseek",)),
    "fireworks": (COMPATIBLE, ("fireworks",)),
    "gemini": ("gemini", ("google", "gemini")),
    "groq": ("groq", ("groq",)),
    "huggingface": (COMPATIBLE, ("huggingface",)),
    "litellm": (COMPATIBLE, ("litellm-proxy",)),
    "llamacpp": (COMPATIBLE, ("llamacpp",)),
    "mistral": ("mistral", ("mistral",)),
    "moonshot": (COMPATIBLE, ("moonshot", "moonshotai")),
    "ollama": ("ollama", ("ollama",)),
    "ollama-v1": (COMPATIBLE, ("ollama-openai",)),
    "openai": ("openai_chat", ("openai",)),
    "openai-responses": ("openai_responses", ("openai", "chatgpt", "azure")),
    "openrouter": ("openrouter", ("openrouter",)),
    "perplexity": (COMPATIBLE, ("perplexity",)),
    "snowflake": (COMPATIBLE, ("snowflake",)),
    "together": (COMPATIBLE, ("together",)),
    "vercel": (COMPATIBLE, ("vercel-gateway",)),
    "vertex": ("gemini", ("vertex",)),
    "xai": (COMPATIBLE, ("xai",)),
    "zai": (COMPATIBLE, ("zai",)),
}
"""The file with the records of each provider, and what it is called in them."""


def tagged(*tags: str) -> Callable[[Record], bool]:
    """Whether a record has one of these features."""
    return lambda record: not {*tags}.isdisjoint(record["features"])


COLUMNS: Mapping[str, Callable[[Record], bool]] = {
    "Answers": lambda record: record["status"] < 300,
    "Streams": lambda record: bool(record["stream"]),
    "Calls": tagged("tool_calls"),
    "Results": tagged("tool_results"),
    "Thinking": tagged("thinking", "thinking_signature", "reasoning_tokens"),
    "JSON Schema": tagged("structured_output"),
    "Images": tagged("image_input"),
    "Errors": lambda record: record["status"] >= 300,
}


def recorded(name: str) -> list[Record]:
    """What was recorded of a provider."""
    if name not in LABELS:
        return []
    file, labels = LABELS[name]
    return [record for record in records(file) if record["provider"] in labels]


def row(cells: Iterable[object]) -> str:
    """A row of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def table() -> str:
    """What was recorded of each, and how often; nothing where it was not."""
    lines = [row(["Name", *COLUMNS]), row(["---", *["--:"] * len(COLUMNS)])]
    for name in CAPABILITIES:
        there = recorded(name)
        counts = (sum(map(has, there)) for has in COLUMNS.values())
        lines.append(row([f"`{name}`", *(count or "" for count in counts)]))
    return "\n".join(lines)


@needs_records
def test_the_table_of_what_was_recorded_is_right() -> None:
    """Whoever has other records writes it anew."""
    page = PAGE.read_text(encoding="utf-8")
    shown = page.partition(BEGIN)[2].partition(END)[0].strip()
    assert shown == table(), table()


@needs_records
@pytest.mark.parametrize("name", CAPABILITIES)
def test_a_provider_is_held_against_recordings_if_there_are_some(name: str) -> None:
    """And else against its documentation."""
    assert CAPABILITIES[name].recorded == bool(recorded(name))
