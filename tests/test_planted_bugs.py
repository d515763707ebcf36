"""The planted bugs fit the code, and the simulator finds them; all in one: planted_bugs.py."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def script() -> ModuleType:
    """The script beside this file."""
    spec = importlib.util.spec_from_file_location(
        "planted_bugs", Path(__file__).with_name("planted_bugs.py")
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


planted_bugs = script()


@pytest.mark.parametrize("bug", planted_bugs.BUGS, ids=lambda bug: bug.name)
def test_a_bug_can_be_planted(bug: Any, tmp_path: Path) -> None:
    """The text that it replaces is there, once."""
    for module in {edit.module for edit in bug.edits}:  # to copy the whole package takes longest
        (tmp_path / module).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(planted_bugs.PACKAGE / module, tmp_path / module)
    planted_bugs.plant(bug, tmp_path)


def test_a_bug_is_code_that_could_have_been_written(tmp_path: Path) -> None:
    """A name that nothing has would be found by whatever reads the line, and prove nothing."""
    for place, bug in enumerate(planted_bugs.BUGS):
        for module in {edit.module for edit in bug.edits}:
            (tmp_path / str(place) / module).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(planted_bugs.PACKAGE / module, tmp_path / str(place) / module)
        planted_bugs.plant(bug, tmp_path / str(place))
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "E9,F821"]
    done = subprocess.run([*command, str(tmp_path)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_code_that_has_moved_is_told(tmp_path: Path) -> None:
    """A bug that is no longer planted is no success."""
    shutil.copytree(planted_bugs.PACKAGE / "core", tmp_path / "core")
    bug = planted_bugs.Bug("b", planted_bugs.Edit("core/machine/step.py", "xyz", ""))
    with pytest.raises(
        planted_bugs.CodeHasMovedError, match=r"'b': core/machine/step.py has 'xyz' 0"
    ):
        planted_bugs.plant(bug, tmp_path)


@pytest.mark.parametrize("place", [0, 1, 3, -5])
def test_a_planted_bug_is_found(place: int) -> None:
    """By an invariant, and not by chance."""
    bug = planted_bugs.BUGS[place]

    assert planted_bugs.search(bug).found.startswith("seed ")


def test_without_a_bug_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the bug that is found."""
    monkeypatch.setattr(planted_bugs, "SEEDS", 50)

    assert planted_bugs.search(planted_bugs.Bug("none")).found == ""
