"""The tests on other Pythons, and with the oldest and the newest versions of what we depend on.

``python tests/versions.py [--python 3.12 …] [--with oldest …] [--tests PATH …]``

Without options it takes each Python from 3.11 to 3.14 that is found: on the path, and among those
of pyenv. Each gets an environment for each of these: "pinned" has what `constraints.txt` names,
"oldest" the lowest versions that `pyproject.toml` allows of what users install, "newest" whatever
is newest today. Tests whose server or browser is not there are left out, and say so.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:  # as a program it finds its neighbour by the same name as a test does
    sys.path.insert(0, str(ROOT))

from tests.clean_environments import FOR_WORK  # noqa: E402 - found by the lines above

Which: TypeAlias = Literal["pinned", "oldest", "newest"]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
TOOLS = {  # of the extra `test`: what the tests below need that users do not
    *("anthropic", "griffelib", "hypothesis", "jsonschema", "openai"),
    *("opentelemetry-exporter-otlp-proto-http", "opentelemetry-sdk"),
    *("packaging", "playwright", "pydantic"),
    *("pytest", "pytest-cov", "pytest-xdist", "trio"),
}
TESTS = ("tests/core", "tests/adapters")
NAME = re.compile(r"[\w.-]+")


def name_of(requirement: str) -> str:
    """What a requirement is of."""
    found = NAME.match(requirement)
    assert found is not None, requirement
    return found[0].lower()


def required() -> tuple[list[str], list[str], list[str]]:
    """What users install, the extras that they install it by, and the tools of the tests."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project: dict[str, Any] = pyproject["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]
    for_users = sorted(set(extras) - FOR_WORK)
    given = [*project["dependencies"], *(one for extra in for_users for one in extras[extra])]
    tools = [one for one in extras["test"] if name_of(one) in TOOLS]
    return [one for one in given if name_of(one) != "detent"], for_users, tools


def interpreters() -> Iterator[tuple[str, str]]:
    """Each Python that is here, by its version; the first that starts is taken."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for version in PYTHONS:
        kept = sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True)
        this = sys.executable if version == "{}.{}".format(*sys.version_info) else None
        for path in (this, shutil.which(f"python{version}"), *map(str, kept)):
            if (
                path
                and not subprocess.run([path, "-V"], check=False, capture_output=True).returncode
            ):
                yield version, path
                break


def uv(*arguments: str | Path) -> str:
    """What uv prints; where it fails, that is shown, and ends the program."""
    program = shutil.which(
        "uv", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    )
    if program is None:
        sys.exit("this needs uv: pip install 'detent[dev]'")
    done = subprocess.run([program, *arguments], check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"uv {' '.join(map(str, arguments))[:200]}\n{done.stderr[-3000:]}")
    return done.stdout


def bounds(python: str, folder: Path) -> list[str]:
    """The lowest versions of all that users install directly; what those need is the newest."""
    users, _, _ = required()
    wanted = folder / "wanted.in"
    wanted.write_text("\n".join(users), encoding="utf-8")
    plain = ("--quiet", "--no-annotate", "--no-header")
    lowest = ("--resolution", "lowest-direct", "--python", python)
    said = uv("pip", "compile", *plain, *lowest, wanted)
    direct = set(map(name_of, users))
    return [line for line in said.splitlines() if name_of(line) in direct]


def environment(python: str, which: Which, folder: Path) -> Path:
    """An environment with the project, as it is here, and the tools; gives its Python."""
    uv("venv", "--quiet", "--seed", "--python", python, folder / "venv")
    inside = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    limits = folder / "limits.txt"
    match which:
        case "pinned":
            shutil.copy(ROOT / "constraints.txt", limits)
        case "oldest":
            limits.write_text("\n".join(bounds(python, folder)), encoding="utf-8")
        case "newest":
            limits.touch()
    _, extras, tools = required()
    project = f"{ROOT}[{','.join(extras)}]"
    options = ("--quiet", "--python", inside, "--constraint", limits)
    uv("pip", "install", *options, *tools, "--editable", project)
    return inside


def passes(python: str, which: Which, tests: Sequence[str]) -> bool:
    """Whether the tests pass; what they print is shown."""
    with tempfile.TemporaryDirectory() as folder:
        inside = environment(python, which, Path(folder))
        options = (
            "-q",
            "-n",
            "auto",
            "--dist",
            "loadfile",
            "-m",
            "not model",
            "-p",
            "no:cacheprovider",
        )
        left_out = "--ignore=tests/adapters/web/test_browser.py"
        command: list[str | Path] = [inside, "-m", "pytest", *options, left_out, *tests]
        alone = {
            name: value for name, value in os.environ.items() if name not in {"CI", "PYTHONPATH"}
        }
        return not subprocess.run(command, check=False, cwd=ROOT, env=alone).returncode


def main(arguments: Sequence[str]) -> int:
    """Test with each Python and each set of versions, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", nargs="+", choices=PYTHONS)
    parser.add_argument("--with", dest="which", nargs="+", choices=get_args(Which))
    parser.add_argument("--tests", nargs="+", default=TESTS)
    parser.add_argument("--list", action="store_true", help="only say which Pythons there are")
    options = parser.parse_args(arguments)
    found = {one: at for one, at in interpreters() if one in (options.python or PYTHONS)}
    missing = [one for one in options.python or PYTHONS if one not in found]
    sys.stdout.write(f"found {found}\nnot here: {', '.join(missing) or 'none'}\n")
    verdicts: dict[str, bool] = {}
    if not options.list:
        for version, python in found.items():
            for which in options.which or get_args(Which):
                started = time.monotonic()
                good = verdicts[f"{version} {which}"] = passes(python, which, options.tests)
                verdict = "passed" if good else "FAILED"
                seconds = time.monotonic() - started
                sys.stdout.write(f"{version} {which:8} {verdict} ({seconds:.0f} s)\n")
                sys.stdout.flush()
    return int(not found or not all(verdicts.values()) or bool(options.python and missing))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
