"""What a release needs is there, and says one and the same version."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from trove_classifiers import classifiers

from tests.cut_release import CHANGELOG, PLACES, ReleaseError, cut, parts, version_in

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
FRAGMENTS = sorted((ROOT / "changelog.d").glob("*.md"))
PYTHON = re.compile(r"Programming Language :: Python :: (3\.\d+)")
WORKFLOW = ROOT / ".github" / "workflows" / "tests.yml"


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_the_changelog_can_be_built(tmp_path: Path) -> None:
    """Of every fragment, in a copy: the fragments stay until the release is cut."""
    for name in ("pyproject.toml", "changelog.d", "docs/changelog.md", "src/detent/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    command = (sys.executable, "-m", "towncrier", "build", "--yes", "--date", "2026-01-31")
    said = ("--version", PROJECT["version"], "--dir", str(tmp_path))
    done = subprocess.run(
        [*command, *said], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr

    page = (tmp_path / "docs" / "changelog.md").read_text(encoding="utf-8")
    assert f"## {PROJECT['version']} (2026-01-31)" in page
    flat = " ".join(page.split())
    unsaid = [
        one.name
        for one in FRAGMENTS
        if " ".join(text(f"changelog.d/{one.name}").split()[:5]) not in flat
    ]
    assert FRAGMENTS
    assert unsaid == []


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A repository with what a release changes, committed."""
    for name in (*PLACES, CHANGELOG, "changelog.d", "src/detent/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run([*git, *words], cwd=tmp_path, check=True)
    return tmp_path


def test_a_release_is_cut_by_one_command(copied: Path) -> None:
    """First the version that is there, then the next: each place says it, each fragment is told."""
    new = "{}.{}.0".format(*(parts(PROJECT["version"])[0], parts(PROJECT["version"])[1] + 1))
    cut(copied, PROJECT["version"], "2026-01-31")
    assert list((copied / "changelog.d").glob("*.md")) == []

    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run([*git, "commit", "-qam", "first"], cwd=copied, check=True)
    with pytest.raises(ReleaseError, match="the changelog has"):
        cut(copied, PROJECT["version"], "2026-02-01")
    (copied / "changelog.d").mkdir(exist_ok=True)
    (copied / "changelog.d" / "+new.feature.md").write_text("Something new.\n")
    with pytest.raises(ReleaseError, match="commit or put away"):
        cut(copied, new, "2026-02-01")
    subprocess.run([*git, "add", "-A"], cwd=copied, check=True)
    subprocess.run([*git, "commit", "-qm", "new"], cwd=copied, check=True)
    cut(copied, new, "2026-02-01")

    page = (copied / CHANGELOG).read_text(encoding="utf-8")
    assert page.index(f"## {new} (2026-02-01)") < page.index(
        f"## {PROJECT['version']} (2026-01-31)"
    )
    for path, form in PLACES.items():
        assert form.format(new) in (copied / path).read_text(encoding="utf-8")
    assert version_in(copied) == new


@pytest.mark.parametrize(
    ("version", "why"), [("9.9.9", "does not follow"), ("1.0", "three numbers")]
)
def test_what_is_no_next_version_is_refused(copied: Path, version: str, why: str) -> None:
    """And nothing is changed."""
    with pytest.raises(ReleaseError, match=why):
        cut(copied, version, "2026-02-01")
    assert version_in(copied) == PROJECT["version"]


def test_every_place_says_the_same_version() -> None:
    """The metadata, the citation, and what is installed."""
    for path, form in PLACES.items():
        assert form.format(PROJECT["version"]) in text(path)
    assert version("detent") == PROJECT["version"]
    assert f"license: {PROJECT['license']}\n" in text("CITATION.cff")


def test_the_metadata_is_known_and_invents_no_place() -> None:
    """The index takes the classifiers; a link is only there when there is something behind it."""
    assert set(PROJECT["classifiers"]) <= classifiers
    assert "urls" not in PROJECT
    assert (ROOT / "src" / "detent" / "py.typed").exists()


def test_what_is_promised_is_what_others_are_told_to_test() -> None:
    """The Pythons of the classifiers are those of the workflow, from the oldest that is taken."""
    promised = PYTHON.findall("\n".join(PROJECT["classifiers"]))
    (tested,) = re.findall(r"python: \[(.*)\]", WORKFLOW.read_text(encoding="utf-8"))
    assert re.findall(r"3\.\d+", tested) == promised
    assert PROJECT["requires-python"] == f">={promised[0]}"


def test_the_workflow_calls_commands_that_there_are() -> None:
    """Each step is one of dev.py's, so that what a forge does can be done at home."""
    commands = re.findall(r"run: python dev\.py (\w+)", WORKFLOW.read_text(encoding="utf-8"))
    there = subprocess.run(
        [sys.executable, str(ROOT / "dev.py")], check=False, capture_output=True, text=True
    ).stderr
    assert len(commands) == WORKFLOW.read_text(encoding="utf-8").count("run: ")
    assert [name for name in commands if f"dev.py {name} " not in there] == []


@pytest.mark.parametrize("page", ["SECURITY.md", "CODE_OF_CONDUCT.md", "CITATION.cff", "LICENSE"])
def test_what_people_look_for_is_there(page: str) -> None:
    """At the top of the repository, where forges look, and in the source distribution."""
    assert text(page).strip()
    assert (
        page == "LICENSE"
        or page in PYPROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]
    )
