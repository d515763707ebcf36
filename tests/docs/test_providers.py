"""The table of providers in the documentation is what the code does."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx
import pytest

from detent.adapters.providers.capabilities import CAPABILITIES
from detent.adapters.providers.registry import PROVIDERS, chat_generator
from detent.core.chat.messages import ChatMessage, FileContent, ImageContent, UserPart
from detent.core.tools.tool import ToolSpec
from detent.ports.chat import ChatGeneratorError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "providers" / "index.md"

NEEDED = {
    "AWS_REGION": "eu-central-1",
    "AZURE_OPENAI_ENDPOINT": "https://example.openai.azure.com",
    "GOOGLE_CLOUD_PROJECT": "p",
    "SNOWFLAKE_ACCOUNT": "a",
}
ADD = ToolSpec("add", "Adds.", {"type": "object"})
SCHEMA = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}}
PROBES: Mapping[str, tuple[Sequence[UserPart], Mapping[str, object]]] = {
    "Images": ((ImageContent("aGk=", "image/png"),), {}),
    "PDF": ((FileContent("aGk=", "application/pdf", "a.pdf"),), {}),
    "Some tool": ((), {"tool_choice": "required"}),
    "This tool": ((), {"tool_choice": "add"}),
    "JSON Schema": ((), {"response_format": SCHEMA}),
}


def asked(provider: str, parts: Sequence[UserPart] = (), **options: object) -> str:
    """The error of a call that gets no answer."""

    def silent(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("nobody is there")

    message = ChatMessage.from_user(content_parts=["Hi", *parts])
    with httpx.Client(transport=httpx.MockTransport(silent)) as client:
        generator = chat_generator(f"{provider}:m", http_client=client)
        with pytest.raises(ChatGeneratorError) as caught:
            generator.run([message], tools=[ADD], generation_kwargs=options)
    return str(caught.value)


def row(provider: str) -> str:
    """What can be asked of a provider: all but what leads to a request that cannot be written."""
    refused = [
        "cannot be written" in asked(provider, parts, **options)
        for parts, options in PROBES.values()
    ]
    can = CAPABILITIES[provider]
    assert [can.images, can.schema] == [not refused[0], not refused[-1]]
    said = re.search(r"environment variable (.*?) is not set", asked(provider))
    key = said[1].replace(" or ", "`, `") if said else ""
    cells = [
        f"`{provider}`",
        f"`{PROVIDERS[provider].rpartition('.')[2]}`",
        f"`{key}`" if key else "",
        *("no" if no else "yes" for no in refused),
        "yes" if can.tools else "not documented",
        can.thinking or "no",
        can.caching or "no",
        "recordings" if can.recorded else "documentation",
    ]
    return f"| {' | '.join(cells)} |"


def test_the_table_of_providers_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request is written, or refused before it is sent; and a missing key is named."""
    for name in re.findall(r"[A-Z]+_[A-Z_]+", PAGE.read_text(encoding="utf-8")):
        monkeypatch.delenv(name, raising=False)
    for name, value in NEEDED.items():
        monkeypatch.setenv(name, value)
    head = ["Name", "Generator", "Key", *PROBES, "Tools", "Thinking", "Caching", "Held against"]
    rows = [row(provider) for provider in sorted(PROVIDERS.keys() - {"local"})]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}", *rows]
    assert "\n".join(lines) in PAGE.read_text(encoding="utf-8"), "\n" + "\n".join(lines)


@pytest.mark.parametrize("path", sorted(PAGE.parent.glob("*.md")), ids=lambda path: path.stem)
def test_the_names_on_a_page_are_those_of_the_front_door(path: Path) -> None:
    """What a page asks for by name is there."""
    text = path.read_text(encoding="utf-8")
    assert set(re.findall(r'chat_generator\("([\w-]+):', text)) <= PROVIDERS.keys()
