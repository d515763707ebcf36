"""What is missing is installed where the program runs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from detent.adapters.system import installation
from detent.adapters.system.installation import install_command


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the environment of this Python, none of whose programs the shell finds."""
    own, elsewhere = tmp_path / "my env" / "bin", tmp_path / "elsewhere"
    for folder in (own, elsewhere):
        folder.mkdir(parents=True)
        (folder / "pip").touch(0o755)
    monkeypatch.setattr(sys, "executable", str(own / "python"))
    monkeypatch.setenv("PATH", str(elsewhere))
    return own


def test_where_the_shell_finds_another_pip_this_python_is_named(shell: Path) -> None:
    """That of a system, or of another environment, would install beside what runs."""
    command = install_command("web")
    assert command == f"'{shell / 'python'}' -m pip install 'detent[web]'"


def test_where_the_shell_finds_the_one_of_this_python_it_is_enough(
    shell: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in an environment that is activated."""
    monkeypatch.setenv("PATH", str(shell))
    assert install_command("local", "-U") == "pip install -U 'detent[local]'"


def test_an_environment_without_pip_is_filled_by_who_made_it(
    shell: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By uv: it puts no pip into those that it makes."""
    monkeypatch.setattr(installation, "find_spec", lambda name: None)
    (shell.parent.parent / "elsewhere" / "uv").touch(0o755)
    command = install_command("web")
    assert command == f"uv pip install --python '{shell / 'python'}' 'detent[web]'"
