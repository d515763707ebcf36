"""What a first hour goes wrong with, and what it reads then: whose fault, and what to do.

Each pair of blocks in `mistakes.md` is a mistake as somebody makes it, and its error to the letter:
who changes a text sees there how it reads beside the others.
"""

from __future__ import annotations

import builtins
import re
from pathlib import Path
from typing import Any

import pytest

from detent import DetentError

PAGE = Path(__file__).with_name("mistakes.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(?:python|text)\n(.*?)\n```$", re.MULTILINE | re.DOTALL)
SETTING, *BLOCKS = BLOCK.findall(PAGE)
MISTAKES = list(zip(BLOCKS[::2], BLOCKS[1::2], strict=True))


@pytest.mark.parametrize(("code", "told"), MISTAKES, ids=[code for code, _ in MISTAKES])
def test_a_mistake_is_told_in_words(
    code: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its text to the letter, by an error that is ours or one that Python has for it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    space: dict[str, Any] = {}
    exec(SETTING, space)  # noqa: S102 - the page is our own
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the text is compared whole
        exec(code, space)  # noqa: S102 - as above

    kind = type(caught.value)
    text = str(caught.value).replace(f"{tmp_path}/", "/home/ada/")
    assert f"{kind.__name__}: {text}" == told
    assert issubclass(kind, DetentError) or hasattr(builtins, kind.__name__)


def test_the_page_has_what_is_typical() -> None:
    """A hundred and twenty mistakes at least, each once."""
    codes = [code for code, _ in MISTAKES]
    assert len(set(codes)) == len(codes) >= 120
