"""What is not installed is named, together with the extra that brings it."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from detent import ChatMessage, chat_generator
from tests.clean_environments import FOR_WORK, TRIALS

ROOT = Path(__file__).resolve().parent.parent
BROUGHT = {  # what each extra brings, by the names that are imported
    "a2a": ("a2a",),
    "acp": ("acp",),
    "agui": ("ag_ui",),
    "aws": ("botocore",),
    "cli": ("click",),
    "dbos": ("dbos",),
    "http": ("httpx",),
    "local": ("xllamacpp",),
    "mcp": ("mcp",),
    "otel": ("opentelemetry",),
    "postgres": ("psycopg",),
    "restate": ("restate",),
    "signed": ("cryptography",),
    "temporal": ("temporalio",),
    "web": ("starlette",),
}


def test_each_extra_is_tried() -> None:
    """Whoever adds an extra says what it is for."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = set(pyproject["project"]["optional-dependencies"]) - FOR_WORK
    assert set(TRIALS) == set(BROUGHT) == extras


@pytest.mark.parametrize("extra", sorted(TRIALS))
def test_without_an_extra_its_name_is_said(extra: str, tmp_path: Path) -> None:
    """One error, which is what to install, and no word of a module that nobody has asked for."""
    hidden = f"import sys; sys.modules |= dict.fromkeys({BROUGHT[extra]!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", hidden + TRIALS[extra]],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    said = re.escape(f"pip install 'detent[{extra}]'")
    assert done.returncode
    assert re.search(rf"^(ImportError: |the command line).*{said}$", done.stderr, re.MULTILINE)


def test_what_is_to_be_installed_is_said_before_what_is_to_be_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever has neither a provider's library nor its key is not sent for the key alone."""
    monkeypatch.setitem(sys.modules, "httpx", None)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    model = chat_generator("openai:gpt-5-mini")

    with pytest.raises(ImportError, match=re.escape("pip install 'detent[http]'")):
        model.run([ChatMessage.from_user("hi")])
