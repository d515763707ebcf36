"""The code that README, tutorial and how-tos print passes `mypy --strict`, once it is copied."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_code_blocks import ROOT, WITH_CODE, blocks

UNTYPED = {
    "docs/how-to/a2a.md",
    "docs/how-to/acp.md",
    "docs/how-to/agui.md",
    "docs/how-to/mcp.md",
    "docs/how-to/openai-endpoint.md",
    "docs/how-to/opentelemetry.md",
    "docs/how-to/your-own-loop.md",
}
"""Pages whose helpers have no types yet: mostly the code of another library, or of a loop."""

CACHE = ROOT / ".mypy_cache"
SETTINGS = """
[[tool.mypy.overrides]]
module = {names}
allow_redefinition = true # a page says `agent = …` more than once, and a program would not
local_partial_types = true
disable_error_code = ["no-redef"]
"""
"""For the pages, beside our own: by others mypy reads the package and all libraries anew."""


def module(page: Path) -> str:
    """The page's code, each line where the page has it."""
    lines: list[str] = []
    for code in blocks(page):
        for number, line in enumerate(code.splitlines()):
            if number == len(lines):
                lines.append(line)
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What mypy says of each page."""
    folder = tmp_path_factory.mktemp("pages")
    pages = {page.relative_to(ROOT).as_posix(): page for page in WITH_CODE}
    names = {name.replace("/", "__").replace("-", "_")[:-3]: name for name in pages}
    for stem, name in names.items():
        (folder / f"{stem}.py").write_text(module(pages[name]), encoding="utf-8")
    settings = folder / "settings.toml"
    ours = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    settings.write_text(ours + SETTINGS.format(names=[*names]), encoding="utf-8")
    if CACHE.exists():  # a copy: two that write to one cache wait for each other, and not for long
        shutil.copytree(CACHE, folder / "cache")
    command = [sys.executable, "-m", "mypy", "--config-file", str(settings)]
    command += ["--cache-dir", str(folder / "cache"), *(f"{folder / stem}.py" for stem in names)]
    environment = {**os.environ, "MYPYPATH": str(folder)}  # where the modules of the pages begin
    done = subprocess.run(
        command, check=False, cwd=ROOT, capture_output=True, text=True, env=environment
    )
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    said: dict[str, list[str]] = {name: [] for name in pages}
    for line in done.stdout.splitlines():
        file, _, complaint = line.partition(".py:")
        if ": error: " in complaint:
            said[names[Path(file).name]].append(complaint)
    return said


@pytest.mark.parametrize(
    "name", sorted({page.relative_to(ROOT).as_posix() for page in WITH_CODE} - UNTYPED)
)
def test_what_a_page_prints_passes_mypy(name: str, complaints: dict[str, list[str]]) -> None:
    """A complaint begins with the line of the page."""
    assert complaints[name] == []


@pytest.mark.parametrize("name", sorted(UNTYPED))
def test_a_page_without_types_is_named_as_long_as_it_has_none(
    name: str, complaints: dict[str, list[str]]
) -> None:
    """A page that passes by now leaves the list, so that it stays so."""
    assert complaints[name] != []
