"""What type checkers must accept, and what they must find.

The files in `pass` and `fail` are read by mypy, pyright and pyrefly and never run. A file in `pass`
has no error, but for the lines whose end names a checker that is wrong about them. In a file in
`fail` each line that ends in `# E` has an error for all checkers, and no other line has one.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
GOOD = sorted((HERE / "pass").glob("*.py"))
BAD = sorted((HERE / "fail").glob("*.py"))
EXPECTED = re.compile(r"# E$")
WRONG = re.compile(r"# no error, but for (\w+)$")

Finding = tuple[Path, int, str]


def output(*command: str) -> str:
    """What a checker prints about the two folders; fails only if it could not do its work."""
    line = [sys.executable, "-m", *command]
    done = subprocess.run(line, check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    return done.stdout


def mypy() -> Iterator[Finding]:
    files = map(str, [*GOOD, *BAD])
    for line in output("mypy", "--strict", "--output", "json", *files).splitlines():
        error = json.loads(line)
        if error["severity"] == "error":
            yield ROOT / error["file"], error["line"], error["message"]


def pyright() -> Iterator[Finding]:
    options = ("--project", str(HERE), "--pythonpath", sys.executable, "--outputjson")
    for error in json.loads(output("pyright", *options))["generalDiagnostics"]:
        if error["severity"] == "error":
            yield Path(error["file"]), error["range"]["start"]["line"] + 1, error["message"]


def pyrefly() -> Iterator[Finding]:
    files = map(str, [*GOOD, *BAD])
    options = ("--python-interpreter-path", sys.executable, "--search-path", str(ROOT / "src"))
    for error in json.loads(output("pyrefly", "check", *options, *SAID, *files))["errors"]:
        yield ROOT / error["path"], error["line"], error["description"]


SAID = ("--output-format", "json", "--python-version", "3.11")
CHECKERS = {"mypy": mypy, "pyright": pyright, "pyrefly": pyrefly}


@cache
def findings(checker: str) -> tuple[Finding, ...]:
    """The errors of a checker in all files: it reads them, and the package, once."""
    return tuple(CHECKERS[checker]())


def found(checker: str, path: Path) -> dict[int, str]:
    """The errors of a checker in a file, by line."""
    return {line: message for file, line, message in findings(checker) if file == path}


@pytest.mark.parametrize("checker", CHECKERS)
@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_a_right_program_is_accepted(checker: str, path: Path) -> None:
    """A checker has nothing to say about a file in `pass`, but for what is known of it."""
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    known = {number for number, line in lines if checker in WRONG.findall(line)}
    errors = found(checker, path)
    assert {number: errors[number] for number in errors.keys() - known} == {}
    assert known - errors.keys() == set(), "it is right by now: take the mark away"


@pytest.mark.parametrize(
    ("checker", "said"),
    [("mypy", 'No overload variant of "Agent" matches'), ("pyright", '"max_agent_steps"')],
)
def test_a_wrong_option_is_told_as_the_tutorial_says(checker: str, said: str) -> None:
    """By its name, or by all forms that a call may have."""
    path = HERE / "fail" / "agent.py"
    lines = path.read_text(encoding="utf-8").splitlines()
    number = next(at for at, line in enumerate(lines, start=1) if "max_agent_steps" in line)
    assert said in found(checker, path)[number]
    assert "says `No overload variant" in (ROOT / "docs/tutorial/state.md").read_text()


@pytest.mark.parametrize("checker", CHECKERS)
@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_each_mistake_is_found(checker: str, path: Path) -> None:
    """A checker finds every marked mistake in a file in `fail`, and nothing else."""
    lines = enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
    expected = {number for number, line in lines if EXPECTED.search(line)}
    errors = found(checker, path)
    assert expected, "a file in `fail` has a line that ends in `# E`"
    assert {number: errors[number] for number in errors.keys() - expected} == {}
    assert expected - errors.keys() == set()
