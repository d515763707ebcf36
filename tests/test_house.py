"""The files around the code agree with each other and keep what they promise."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
EXTRAS = PROJECT["optional-dependencies"]
KINDS_OF_CHANGE = {kind["directory"] for kind in PYPROJECT["tool"]["towncrier"]["type"]}
OPTIONAL_MODULES = {"click", "httpx", "mcp", "opentelemetry", "platformdirs", "rich", "xllamacpp"}
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def requirements() -> dict[str, Requirement]:
    """All that pyproject.toml asks for, other than the project itself."""
    asked = [*PROJECT["dependencies"], *PYPROJECT["build-system"]["requires"]]
    asked += [line for lines in EXTRAS.values() for line in lines]
    wanted = {line: Requirement(line) for line in asked}
    return {line: one for line, one in wanted.items() if one.name != PROJECT["name"]}


def pins() -> dict[str, SpecifierSet]:
    """The version of each distribution in constraints.txt, for the Python at hand."""
    lines = [line for line in text("constraints.txt").splitlines() if not line.startswith("#")]
    pinned = map(Requirement, lines)
    here = [one for one in pinned if one.marker is None or one.marker.evaluate()]
    return {canonicalize_name(one.name): one.specifier for one in here}


@pytest.mark.parametrize("layer", ["core", "ports", "adapters"])
def test_a_layer_is_linked_to_at_the_top(layer: str) -> None:
    """The link leads to the package and works wherever the repository lies."""
    link = ROOT / layer
    assert link.readlink() == Path("src", "detent", layer)
    assert (link / "__init__.py").is_file()


def test_what_is_wanted_is_pinned() -> None:
    """constraints.txt names one version, and it is one that pyproject.toml allows."""
    pinned = pins()
    for wanted, requirement in requirements().items():
        (pin,) = pinned[canonicalize_name(requirement.name)]
        assert pin.operator == "==", wanted
        assert pin.version in requirement.specifier, wanted


def test_constraints_name_no_server() -> None:
    """Every package index will do."""
    assert not re.search(r"://|--(extra-)?index|--find-links", text("constraints.txt"))


def test_dev_has_every_other_extra() -> None:
    """Who works on the project has all of it."""
    wanted = [Requirement(line) for line in EXTRAS["dev"] + EXTRAS["test"]]
    assert EXTRAS.keys() - {"dev"} <= {extra for one in wanted for extra in one.extras}


def test_classifiers_begin_with_the_oldest_python() -> None:
    """What is announced and what is required are the same."""
    announced = [line for line in PROJECT["classifiers"] if ":: Python :: 3." in line]
    assert announced[0].endswith(PROJECT["requires-python"].replace(">=", ":: "))


def test_importing_detent_loads_nothing_optional() -> None:
    """The package is light until a part of it is used."""
    code = "import sys, detent; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not OPTIONAL_MODULES & set(done.stdout.split())


def test_ci_runs_the_command_of_the_readme() -> None:
    """What is promised at the top of the README is what is proved."""
    command = "python3 dev.py test"
    assert re.search(rf"^(\$ )?{command}\b", text("README.md"), re.MULTILINE)
    assert re.search(rf"\b{command}$", text(".ci/run"), re.MULTILINE)


def test_a_page_can_be_reached() -> None:
    """It is in the navigation of the documentation."""
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in PAGES]
    assert [page for page in pages if f'"{page}"' not in text("zensical.toml")] == []


def test_a_change_is_told_in_sentences() -> None:
    """A fragment of the changelog has a known kind and ends like a sentence."""
    fragments = sorted((ROOT / "changelog.d").glob("*.md"))
    kinds = {one.name: one.name.split(".")[-2] for one in fragments}
    assert {name: kind for name, kind in kinds.items() if kind not in KINDS_OF_CHANGE} == {}
    texts = {one.name: one.read_text(encoding="utf-8") for one in fragments}
    assert [name for name, said in texts.items() if not said.endswith(".\n")] == []
