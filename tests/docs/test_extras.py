"""Each how-to says at its head which extras its programs need."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [page for page in sorted((ROOT / "docs/how-to").glob("*.md")) if page.stem != "index"]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
FOR_WORK = {"docs", "test", "typing", "dev"}
HEAD = re.compile(r"\A# .+\n\n\[Extra\]\(index\.md#extras\): (.+)\.\n\n")
NEEDS = {
    "a2a": r"\ba2a_app\b|\bA2AAgentTool\b",
    "acp": r"\brun_acp\b|\bdetent acp\b",
    "agui": r"\bagui_app\b",
    "aws": r"\bAwsProfile\b",
    "cli": r"^(?:\$ )?detent (?:run|runs|chat|serve|models|mcp)\b|\bRichConsoleUI\b",
    "dbos": r"\bDBOSHost\b|--engine dbos",
    "http": r"\bchat_generator\(\"(?!local)|\b(?:OpenAI|Anthropic|Fallback|Http)\w*ChatGenerator\b",
    "local": r"\bLocalChatGenerator\b|\bchat_generator\(\"local",
    "mcp": r"\bMCPToolset\b|\bdetent mcp\b",
    "otel": r"\bOpenTelemetry\(",
    "postgres": r"\bPostgresJournal\b|postgresql://",
    "restate": r"\bRestateHost\b|--engine restate",
    "signed": r"\bSigner\b",
    "temporal": r"\bTemporalHost\b|--engine temporal",
    "web": r"\bweb_app\b|\bopenai_app\b|--web\b",
}
"""By what on a page an extra is used."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_names_its_extras_at_its_head(page: Path) -> None:
    """Whoever begins there installs what is needed, before the first program fails."""
    text = page.read_text(encoding="utf-8")
    head = HEAD.match(text)
    assert head is not None, "the line below the title says [Extra](index.md#extras): …"
    body = text[head.end() :]
    used = {extra for extra, sign in NEEDS.items() if re.search(sign, body, re.MULTILINE)}
    named = set(re.findall(r"`(\w+)`", head[1])) & EXTRAS.keys()
    assert used - named == set()


def test_all_extras_are_known() -> None:
    """An extra that is new has a sign, and stands in the tables of README and tutorial."""
    users = EXTRAS.keys() - FOR_WORK
    assert NEEDS.keys() == users
    for page in ("README.md", "docs/tutorial/index.md"):
        table = "\n".join(re.findall(r"^\| `.*", (ROOT / page).read_text(), re.MULTILINE))
        assert users - set(re.findall(r"`(\w+)`", table)) == set()
