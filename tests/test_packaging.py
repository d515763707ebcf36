"""Wheel and sdist hold what they should, and install on a clean machine."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parent.parent
DISTRIBUTIONS_MAX = 7
LIST_INSTALLED = """
import importlib.metadata, detent
print(*sorted(each.name for each in importlib.metadata.distributions()))
"""


def run(*command: str | Path) -> str:
    """What a program prints; a failure shows it."""
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode and re.search(r"NewConnection|Max retries", done.stderr):
        pytest.skip(reason="the package index cannot be reached")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the sdist and the wheel that was made from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    """The wheel."""
    return next(built.glob("*.whl"))


@pytest.fixture(scope="module")
def sdist(built: Path) -> Path:
    """The source distribution."""
    return next(built.glob("*.tar.gz"))


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    """All of it, the marker for type checkers and the licence; no tests, no `core` at the top."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    files = [path.relative_to(ROOT / "src") for path in (ROOT / "src").rglob("*") if path.is_file()]
    sources = {path.as_posix() for path in files if "__pycache__" not in path.parts}
    metadata = {name for name in names if ".dist-info/" in name}
    assert names - metadata == sources
    assert "detent/py.typed" in sources
    licences = {PurePosixPath(name).name for name in metadata if "/licenses/" in name}
    assert licences == {"LICENSE", "htmx-LICENSE.txt"}  # ours, and that of the scripts of pages


def test_the_sdist_holds_real_files(sdist: Path) -> None:
    """No links, and all that is needed to build and to test again."""
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    tops = {PurePosixPath(member.name).parts[1] for member in members}
    assert [member.name for member in members if not (member.isfile() or member.isdir())] == []
    assert {
        "src",
        "tests",
        "docs",
        "benchmarks",
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "dev.py",
    } <= tops
    assert not {"core", "ports", "adapters"} & tops


def test_the_page_of_an_index_leads_nowhere_that_is_not_there(wheel: Path) -> None:
    """It is README.md with all its words and code, without links and pictures of the repository."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = message_from_bytes(archive.read(name))
    content = metadata.get_payload(decode=True)
    assert isinstance(content, bytes)
    page, readme = content.decode(), (ROOT / "README.md").read_text(encoding="utf-8")
    fences = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)

    assert metadata["Description-Content-Type"] == "text/markdown"
    assert fences.findall(page) == fences.findall(readme)
    assert re.findall(r"\]\((?!https:)[^)]*\)|<(?:img|a) ", fences.sub("", page)) == []
    assert "From here: hosts, the browser,\nruns at the terminal" in page
    assert "A run in the browser" not in page


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_it_installs_in_a_clean_environment(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It can be imported there with what it depends on by default, which is little."""
    environment = tmp_path / "venv"
    venv.create(environment)
    python = environment / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--no-compile")
    monkeypatch.setenv("PIP_RETRIES", "1")
    run(*pip, "--constraint", ROOT / "constraints.txt", request.getfixturevalue(kind))
    installed = run(python, "-I", "-c", LIST_INSTALLED).split()
    assert "detent" in installed
    assert len(installed) - 1 <= DISTRIBUTIONS_MAX, installed
