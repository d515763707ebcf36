#!/usr/bin/env python3
"""Sets the project up and runs it. All it needs is Python 3.11 or newer with pip and venv.

python3 dev.py run [arguments of detent run]   the main job, with the embedded model
python3 dev.py test                            every check, the documentation, all the tests
python3 dev.py test [arguments of pytest]      only the tests that these arguments choose
python3 dev.py coverage                        all the tests: which lines does none of them reach?
python3 dev.py simulate [--seeds N]            thousands of runs in worlds where all goes wrong
python3 dev.py crashes [HOST [ROUNDS]]         kill, freeze and cut what hosts and engines run on
python3 dev.py crashes desk [HOST [ROUNDS]]    the same under the refund desk, as it is deployed
python3 dev.py crashes stores [ROUNDS]         kill and freeze processes that share stores
python3 dev.py bugs                            plant bugs in a copy and have the simulator find them
python3 dev.py mutate [--sample N] [patterns]  break the core in small ways: do its tests see it?
python3 dev.py properties [options of pytest]  a thousand examples of each property, not thirty
python3 dev.py matrices [options of pytest]    the rest of what the tests try a sample of
python3 dev.py linear [words in names]         hostile texts of 1, 2 and 4 MB: is all time linear?
python3 dev.py examples [names]                the programs of examples/, with the embedded model
python3 dev.py docs                            build the documentation into site/
python3 dev.py packages [extras]               try the wheel in clean environments, each extra alone
python3 dev.py versions [options]              test on every Python and range of versions here
python3 dev.py release VERSION                 write the version and the changelog; commits nothing
python3 dev.py setup                           only set up .venv, for an editor
"""
# The syntax is that of Python 3.8: an older Python must get as far as saying that it is too old.

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent
SOURCE = ROOT / "src" / "detent"
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = str(BIN / "python")
STAMP = VENV / "set-up-done"
CONSTRAINTS = ROOT / "constraints.txt"
QUIET = dict(os.environ, NO_COLOR="1", PIP_DISABLE_PIP_VERSION_CHECK="1")

OLDEST = (3, 11)
VENV_MODULES = ("venv", "ensurepip")
NEWER = ("python3.14", "python3.13", "python3.12", "python3.11")
QUESTION = "Which two functions is a Detent agent made of, and what does each of them do?"
FOR_RUN = frozenset({"cli", "local"})
FOR_WORK = FOR_RUN | {"dev"}
INTERRUPTED = 130
WHERE = "from importlib.util import find_spec as find; print(getattr(find('detent'), 'origin', ''))"
"""Prints which file the `detent` is that a Python imports."""
TAIL_LINES = 15
GOODBYE_S = 10
SPACE_NEEDED_MB = 1000

CHECKS = {
    "ruff check": ("ruff", "check"),
    "ruff format": ("ruff", "format", "--check"),
    "floors": ("lint-imports", "--no-cache"),
    "mypy": ("mypy",),
    "pyright": ("pyright", "--pythonpath", PYTHON),
    "docs": ("zensical", "build", "--clean", "--strict"),
}
PYTEST = ("pytest", "-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder")
"""A file is a worker's: what its tests share, such as a run of a type checker, is made once."""

ONE_MORE = ("-n", str((os.cpu_count() or 1) + 1))
"""One worker more than processors: one of them mostly waits for a server or for a process."""

CORE = (
    "src/detent/core/*,*/ports/claims.py,*/ports/pending.py,*/ports/results.py,"
    "*/adapters/control/*,*/confirmation/policies.py,"
    "*/confirmation/tallies.py,*/drivers/judging.py,*/hosts/effects/stored.py,*/adapters/state/*"
)
CORE_TESTS = (
    "tests/core",
    "tests/ports/test_claims.py",
    "tests/ports/test_pending.py",
    "tests/ports/test_results.py",
    "tests/adapters/confirmation",
    "tests/adapters/control",
    "tests/adapters/drivers/test_judging.py",
    "tests/adapters/hosts/effects/test_stored.py",
    "tests/adapters/state",
)
"""The core, and what else decides (who drives, what may run): there no branch goes untried."""

TESTS = {  # in this order: the second looks at what the first has passed over
    "tests of the core": (*PYTEST, *CORE_TESTS, "--cov", "--cov-report=", "--cov-fail-under=0"),
    "branches of the core": ("coverage", "report", f"--include={CORE}", "--fail-under=100"),
    "other tests": (*PYTEST, *ONE_MORE, *(f"--ignore={path}" for path in CORE_TESTS)),
}

NO_SPACE = r"No space left|Errno 28|not enough space"
NO_NETWORK = (
    r"NewConnection|ConnectionError|Connect(ion)? ?Timeout|ReadTimeout|ProxyError|Max retries|"
    r"Connection (refused|reset)|name resolution|getaddrinfo|Network is unreachable"
)
NO_PACKAGE = r"No matching distribution|Could not find a version|ResolutionImpossible"
ADVICE = {  # what a failed set-up says, and what to do then; the first that matches is meant
    NO_SPACE: "the disk is full, or that of the temporary folder: free 1 GB and run this again",
    NO_NETWORK: "the package index cannot be reached: check network and proxy, and run this again",
    NO_PACKAGE: (
        "the package index has not got what this Python and machine need: see `pip config list`; "
        "wanted is CPython 3.11 to 3.14 on Linux, macOS or Windows"
    ),
    "": "put right what is said above, and run this again",
}


class DevError(Exception):
    """What went wrong and how to put it right, with the exit code to end with."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


def main(arguments: list[str]) -> int:
    """Carry out the command, end with one line that says how it went, give the exit code."""
    command, rest = (arguments or ["help"])[0], arguments[1:]
    if command not in COMMANDS:
        say((__doc__ or "").strip())
        if command in {"help", "-h", "--help"}:
            return 0
        say(f"there is no command {command!r}", "31")
        return 2
    started = time.monotonic()
    try:
        require_python()
        outcome, code = COMMANDS[command](rest), 0
    except DevError as error:
        outcome, code = str(error), error.code
    except KeyboardInterrupt:
        outcome, code = "interrupted", INTERRUPTED
    say(f"dev.py {command}: {outcome} ({time.monotonic() - started:.0f} s)", "31" if code else "32")
    return code


def run(arguments: list[str]) -> str:
    """Do the main job, in the folder where the user stands."""
    set_up(FOR_RUN)
    if Path.cwd() == ROOT:  # a question among the arguments comes first
        os.environ.setdefault("DETENT_QUESTION", QUESTION)
    in_sight([str(BIN / "detent"), "run", *arguments], Path.cwd())
    return "done"


def test(arguments: list[str]) -> str:
    """Do all the checks and tests, or only the tests that the arguments choose."""
    require_files(arguments)
    set_up(FOR_WORK)
    # Tests begin hundreds of Pythons: without this each would compile all that it imports anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if arguments:
        in_sight([PYTHON, "-m", "pytest", *arguments], ROOT)
        return "passed"
    with ThreadPoolExecutor() as together:
        passed = dict(zip(CHECKS, together.map(passes, CHECKS)))
    failed = [name for name in CHECKS if not passed[name]]
    failed += [name for name, command in TESTS.items() if not works(command)]
    if failed:
        raise DevError(f"failed: {', '.join(failed)}; put it right and run this again")
    return f"{', '.join(CHECKS)} and all the tests passed"


def require_files(arguments: list[str]) -> None:
    """Refuse a file of tests that there is not: pytest would say so after minutes of set-up.

    What stands behind an option may be its value, and is left to pytest.
    """
    before = ["", *arguments]
    for option, argument in zip(before, arguments):
        name = argument.partition("::")[0]
        is_path = name.endswith(".py") or "/" in name
        if is_path and not (argument.startswith("-") or option.startswith("-")):
            if (ROOT / name).exists():
                continue
            found = sorted((ROOT / "tests").rglob(Path(name).name))
            meant = f"; did you mean {found[0].relative_to(ROOT)}?" if found else ""
            raise DevError(f"there is no {name} in {ROOT}{meant}", 2)


def coverage(_: list[str]) -> str:
    """Count what the tests reach, which makes them slower by half; too little fails it."""
    set_up(FOR_WORK)
    in_sight([PYTHON, "-m", *PYTEST, *ONE_MORE, "--cov"], ROOT)
    return "the tests reach enough"


def simulate(arguments: list[str]) -> str:
    """Play runs of made-up agents; an invariant that is broken fails it."""
    set_up(FOR_WORK)
    in_sight([PYTHON, "-m", "detent.adapters.testing.simulation", *arguments], ROOT)
    return "every invariant holds"


def crashes(arguments: list[str]) -> str:
    """Kill, freeze and cut workers and servers; anything lost or done twice fails it."""
    set_up(FOR_WORK)
    scripts = ["adapters.hosts.engines.crashes"]
    if arguments[:1] == ["stores"]:
        scripts = ["adapters.journals.kill_table", "adapters.journals.rivals_table"]
        arguments = arguments[1:]
    elif arguments[:1] == ["desk"]:
        scripts, arguments = ["examples.desk_crashes"], arguments[1:]
    for script in scripts:
        in_sight([PYTHON, "-m", f"tests.{script}", *arguments], ROOT)
    return "nothing was lost, and nothing done twice"


def bugs(_: list[str]) -> str:
    """Plant bugs, one at a time; one that is not found fails it."""
    set_up(FOR_WORK)
    in_sight([PYTHON, str(ROOT / "tests" / "planted_bugs.py")], ROOT)
    return "every bug was found"


def mutate(arguments: list[str]) -> str:
    """Break the core in small ways; its own tests must find nearly all of them."""
    set_up(FOR_WORK)
    in_sight([PYTHON, str(ROOT / "tests" / "mutants.py"), *arguments], ROOT)
    return "nine of ten mutants were found"


def properties(arguments: list[str]) -> str:
    """Try each property on a thousand examples; one that does not hold fails it."""
    set_up(FOR_WORK)
    chosen = ("-m", "hypothesis", "--hypothesis-profile", "thorough")
    in_sight([PYTHON, "-m", *PYTEST, *chosen, *arguments], ROOT)
    return "every property holds"


def matrices(arguments: list[str]) -> str:
    """Try what is left out of each test: the tests try a sample of long matrices."""
    set_up(FOR_WORK)
    in_sight([PYTHON, "-m", *PYTEST, "-m", "matrix", *arguments], ROOT)
    return "the rest of each matrix passed"


def linear(arguments: list[str]) -> str:
    """Feed ever longer hostile texts to what takes texts; more than linear time fails it."""
    set_up(FOR_WORK)
    in_sight([PYTHON, str(ROOT / "tests" / "linear.py"), *arguments], ROOT)
    return "nothing is worse than linear"


def examples(arguments: list[str]) -> str:
    """Run the examples with the embedded model; one where the model wanders fails it."""
    set_up(FOR_WORK)
    in_sight([PYTHON, "-m", "tests.examples.embedded", *arguments], ROOT)
    return "each did what its page says"


def docs(_: list[str]) -> str:
    """Build the documentation; a warning fails it."""
    set_up(FOR_WORK)
    if not passes("docs"):
        raise DevError("put right what is said above, and run this again")
    return f"open {ROOT / 'site' / 'index.html'}"


def packages(arguments: list[str]) -> str:
    """Build the wheel, and use it as users get it; an extra that does not work alone fails it."""
    set_up(FOR_WORK)
    in_sight([PYTHON, str(ROOT / "tests" / "clean_environments.py"), *arguments], ROOT)
    return "the wheel works, and each extra alone"


def versions(arguments: list[str]) -> str:
    """Test on each Python that is found, and with other versions of what we depend on."""
    set_up(FOR_WORK)
    in_sight([PYTHON, str(ROOT / "tests" / "versions.py"), *arguments], ROOT)
    return "the tests pass with all of them"


def release(arguments: list[str]) -> str:
    """Write the version into every place that says it, and the changelog of all fragments."""
    set_up(FOR_WORK)
    in_sight([PYTHON, str(ROOT / "tests" / "cut_release.py"), *arguments], ROOT)
    return "nothing is committed yet"


def setup(_: list[str]) -> str:
    """Only set up."""
    set_up(FOR_WORK)
    return f"{VENV} is ready"


COMMANDS = {
    "run": run,
    "test": test,
    "coverage": coverage,
    "simulate": simulate,
    "crashes": crashes,
    "bugs": bugs,
    "mutate": mutate,
    "properties": properties,
    "matrices": matrices,
    "linear": linear,
    "examples": examples,
    "docs": docs,
    "packages": packages,
    "versions": versions,
    "release": release,
    "setup": setup,
}


def require_python() -> None:
    """Refuse a Python that is too old or cannot make a virtual environment."""
    needed = ".".join(map(str, OLDEST))
    if sys.version_info < OLDEST:
        this = ".".join(map(str, sys.version_info[:3]))
        newer = next(filter(starts, NEWER), None)
        advice = f"use {newer} in place of python3" if newer else f"install Python {needed}"
        raise DevError(f"this is Python {this}, but {needed} or newer is needed: {advice}")
    missing = [name for name in VENV_MODULES if importlib.util.find_spec(name) is None]
    if missing:
        raise DevError(
            f"{sys.executable} comes without the standard module {missing[0]}: add it "
            "(on Debian and Ubuntu: apt install python3-venv) and run this again"
        )


def starts(name: str) -> bool:
    """Whether this program is here and starts: version managers leave some that do not."""
    path = shutil.which(name)
    if path is None:
        return False
    return subprocess.run([path, "-V"], check=False, capture_output=True).returncode == 0


def require_space() -> None:
    """Refuse to fill the disk to the brim."""
    free_mb = shutil.disk_usage(ROOT).free // 10**6
    if free_mb < SPACE_NEEDED_MB:
        raise DevError(
            f"the disk of {ROOT} has {free_mb} MB left, and setting up needs {SPACE_NEEDED_MB} MB: "
            "free some and run this again"
        )


def set_up(extras: frozenset[str]) -> None:
    """See to it that .venv holds the project, editable, with these extras.

    The stamp is taken away first and written last. Without it the set-up was never finished, and
    with another fingerprint it is out of date; either way it starts afresh. A copy of the project
    that pip has put into .venv since makes way for src/: what is edited is what runs.
    """
    import tomllib

    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = (pyproject["project"], pyproject["build-system"], CONSTRAINTS.read_text())
    fingerprint = hashlib.sha256(
        json.dumps((wanted, str(ROOT), sys.version, sys.base_prefix)).encode()
    ).hexdigest()
    stamped, *present = STAMP.read_text().split() if STAMP.exists() else [""]
    is_whole = stamped == fingerprint and extras <= set(present)
    if is_whole and imports_source():
        return
    require_space()
    if is_whole:
        say(".venv does not take detent from src/: installing it again")
    else:
        say("setting up .venv, which takes a minute or two, once")
    if stamped == fingerprint:
        STAMP.unlink()
        extras |= set(present)
    else:
        hidden([sys.executable, "-m", "venv", "--clear", str(VENV)])
    install(*pyproject["build-system"]["requires"])
    install("--no-build-isolation", "--editable", f"{ROOT}[{','.join(sorted(extras))}]")
    STAMP.write_text(" ".join([fingerprint, *sorted(extras)]))


def imports_source() -> bool:
    """Whether the `detent` of .venv is src/, whatever a PYTHONPATH would put before it."""
    done = subprocess.run(
        [PYTHON, "-I", "-c", WHERE], check=False, cwd=ROOT, capture_output=True, text=True
    )
    return Path(done.stdout.strip()) == SOURCE / "__init__.py"


def install(*what: str) -> None:
    """Have pip install it, at the versions of constraints.txt."""
    hidden([PYTHON, "-m", "pip", "install", "--constraint", str(CONSTRAINTS), *what])


def hidden(command: list[str]) -> None:
    """Run it, showing only its latest line, and that only on a terminal.

    Raises:
        DevError: it failed; says the end of its output and what to do.
    """
    lines = []
    with subprocess.Popen(
        command, env=QUIET, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout or ():
            lines.append(line.rstrip())
            show_briefly(lines[-1])
    show_briefly("")
    if process.returncode:
        output = "\n".join(lines)
        say("\n".join(lines[-TAIL_LINES:]))
        raise DevError(next(advice for sign, advice in ADVICE.items() if re.search(sign, output)))


def passes(name: str) -> bool:
    """Run one of the checks and say whether it passes; show its output only if it does not."""
    started = time.monotonic()
    program, *options = CHECKS[name]
    command = [str(BIN / program), *options]
    done = subprocess.run(command, check=False, cwd=ROOT, env=QUIET, capture_output=True, text=True)
    good = done.returncode == 0
    if not good:
        say((done.stdout + done.stderr).rstrip())
    verdict = "passed" if good else "FAILED"
    say(f"{name:12} {verdict} ({time.monotonic() - started:.1f} s)", "32" if good else "31")
    return good


def works(command: tuple[str, ...]) -> bool:
    """Run a module of Python's, in sight, and say whether all went well."""
    try:
        in_sight([PYTHON, "-m", *command], ROOT)
    except DevError:
        return False
    return True


def in_sight(command: list[str], folder: Path) -> None:
    """Run it with the terminal as its own; after Ctrl-C give it time to say goodbye.

    Raises:
        DevError: it failed; has its exit code.
    """
    with subprocess.Popen(command, cwd=folder) as process:
        try:
            code = process.wait()
        except KeyboardInterrupt:
            try:
                process.wait(GOODBYE_S)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
    if code:
        raise DevError(f"failed with exit code {code}; see above", code)


def say(text: str, colour: str = "") -> None:
    """Tell the user, beside the output of the programs: on standard error."""
    coloured = colour and sys.stderr.isatty() and "NO_COLOR" not in os.environ
    print(f"\033[{colour}m{text}\033[0m" if coloured else text, file=sys.stderr, flush=True)


def show_briefly(line: str) -> None:
    """Show a line that the next one replaces."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 1
        print(f"\r{line[:width]:{width}}\r", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
