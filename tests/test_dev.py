"""dev.py sets up once, carries on after an interruption and says what to do when it cannot."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent
NOWHERE = "http://127.0.0.1:9/simple"


class Processes:
    """Takes the place of the processes that a set-up starts: keeps what it was asked to start."""

    def __init__(self, venv: Path) -> None:
        self.venv = venv
        self.started: list[str] = []
        self.interrupt_at = ""
        self.is_source_there = False

    def __call__(self, command: list[str]) -> None:
        """Do as `hidden` does, without a process."""
        line = " ".join(command)
        self.started.append(line)
        if self.interrupt_at and self.interrupt_at in line:
            raise KeyboardInterrupt
        if "--clear" in command:
            shutil.rmtree(self.venv, ignore_errors=True)
            self.venv.mkdir()
        self.is_source_there |= "--editable" in command


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A folder with what a set-up reads."""
    for name in ("dev.py", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


@pytest.fixture
def dev(house: Path) -> ModuleType:
    """The script in that folder, as a module."""
    spec = importlib.util.spec_from_file_location("dev", house / "dev.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def processes(dev: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Processes:
    """What the script starts."""
    processes = Processes(dev.VENV)
    monkeypatch.setattr(dev, "hidden", processes)
    monkeypatch.setattr(dev, "imports_source", lambda: processes.is_source_there)
    return processes


def test_an_older_python_can_read_it() -> None:
    """Python 3.8 gets as far as the message that it is too old."""
    assert ast.parse((ROOT / "dev.py").read_text(encoding="utf-8"), feature_version=(3, 8))


def test_an_older_python_is_told_what_is_needed(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the version that is needed; nothing is set up."""
    monkeypatch.setattr(dev, "OLDEST", (99, 1))
    assert dev.main(["test"]) == 1
    assert "99.1 or newer is needed" in capsys.readouterr().err
    assert not dev.VENV.exists()


def test_a_python_without_venv_is_told_how_to_get_it(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Some systems pack the standard module apart."""
    monkeypatch.setattr(dev, "VENV_MODULES", ("venv", "no_such_module"))
    assert dev.main(["test"]) == 1
    assert "no_such_module: add it" in capsys.readouterr().err


def test_a_test_that_there_is_not_is_told_before_anything_is_set_up(
    dev: ModuleType, processes: Processes, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the one that may be meant; what is an option's value is no file."""
    (dev.ROOT / "tests" / "core").mkdir(parents=True)
    (dev.ROOT / "tests" / "core" / "test_tea.py").touch()

    for wrong in (["nosuch.py"], ["-q", "a/b.py", "tests/no/test_milk.py::test_it"]):
        assert dev.main(["test", *wrong]) == 2
        assert f"there is no {wrong[-1].partition('::')[0]} in" in capsys.readouterr().err
    assert dev.main(["test", "test_tea.py"]) == 2
    meant = Path("tests", "core", "test_tea.py")
    assert f"did you mean {meant}?" in capsys.readouterr().err
    assert processes.started == []

    dev.require_files(["tests/core/test_tea.py::test_it", "-k", "a/b", "-x", "tests/core"])


def test_a_full_disk_is_seen_before_anything_is_done(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message says how much is needed."""
    monkeypatch.setattr(dev, "SPACE_NEEDED_MB", 10**9)
    assert dev.main(["setup"]) == 1
    assert "needs 1000000000 MB" in capsys.readouterr().err
    assert not dev.VENV.exists()


def test_a_finished_set_up_is_not_done_again(dev: ModuleType, processes: Processes) -> None:
    """The second command starts no process to set up, nor does one that needs less."""
    dev.set_up(dev.FOR_WORK)
    done = len(processes.started)
    dev.set_up(dev.FOR_WORK)
    dev.set_up(dev.FOR_RUN)
    assert len(processes.started) == done > 0


def test_more_is_added_to_what_is_there(dev: ModuleType, processes: Processes) -> None:
    """Running first and testing then sets up .venv once and keeps what is in it."""
    dev.set_up(dev.FOR_RUN)
    dev.set_up(dev.FOR_WORK)
    assert sum("--clear" in line for line in processes.started) == 1
    assert processes.started[-1].endswith("[cli,dev,local]")


def test_a_copy_in_the_place_of_the_source_is_seen(
    house: Path,
    dev: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Otherwise what is run and tested is not what is edited: a real .venv is looked into."""
    started: list[list[str]] = []

    def hidden(command: list[str]) -> None:
        started.append(command)
        if "--clear" in command:
            venv.create(dev.VENV)

    monkeypatch.setattr(dev, "hidden", hidden)
    monkeypatch.setenv("PYTHONPATH", str(house / "src"))  # makes no copy the source
    (house / "src" / "detent").mkdir(parents=True)
    (house / "src" / "detent" / "__init__.py").touch()
    dev.set_up(dev.FOR_WORK)
    (packages,) = dev.VENV.glob("[Ll]ib/**/site-packages")
    (packages / "source.pth").write_text(str(house / "src"), encoding="utf-8")

    started.clear()
    dev.set_up(dev.FOR_WORK)
    assert started == []

    (packages / "source.pth").unlink()
    (packages / "detent").mkdir()
    (packages / "detent" / "__init__.py").touch()
    dev.set_up(dev.FOR_RUN)
    assert not any("--clear" in command for command in started)
    assert started[-1][-2:] == ["--editable", f"{house}[cli,dev,local]"]
    assert ".venv does not take detent from src/" in capsys.readouterr().err


@pytest.mark.parametrize("moment", ["--clear", "hatchling", "--editable"])
def test_an_interrupted_set_up_is_done_again(
    moment: str, dev: ModuleType, processes: Processes
) -> None:
    """Whatever was interrupted, the next command starts afresh and finishes."""
    processes.interrupt_at = moment
    assert dev.main(["setup"]) == dev.INTERRUPTED
    processes.interrupt_at = ""
    processes.started.clear()
    assert dev.main(["setup"]) == 0
    assert "--clear" in processes.started[0]


def test_new_versions_are_installed(house: Path, dev: ModuleType, processes: Processes) -> None:
    """A change in constraints.txt sets up again; a change in a linter's options does not."""
    dev.set_up(dev.FOR_RUN)
    pyproject = (house / "pyproject.toml").read_text(encoding="utf-8")
    (house / "pyproject.toml").write_text(pyproject + "\n[tool.other]\n", encoding="utf-8")
    processes.started.clear()
    dev.set_up(dev.FOR_RUN)
    assert processes.started == []
    (house / "constraints.txt").write_text("attrs==1\n", encoding="utf-8")
    dev.set_up(dev.FOR_RUN)
    assert "--clear" in processes.started[0]


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("ERROR: Could not install packages: [Errno 28] No space left on device", "disk is full"),
        ("Failed to establish a new connection: [Errno -3] name resolution", "check network"),
        ("ERROR: No matching distribution found for xllamacpp", "has not got"),
        ("something else", "what is said above"),
    ],
)
def test_a_failure_says_what_to_do(said: str, advice: str, dev: ModuleType) -> None:
    """The end of what the failed program said decides the advice."""
    with pytest.raises(dev.DevError, match=advice):
        dev.hidden([sys.executable, "-c", f"import sys; sys.exit({said!r})"])


def test_without_network_it_says_so(house: Path) -> None:
    """A real set-up that cannot reach the package index ends with advice and can be repeated."""
    offline = {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": NOWHERE, "PIP_RETRIES": "1"}
    done = subprocess.run(
        [sys.executable, "dev.py", "setup"],
        check=False,
        cwd=house,
        env=os.environ | offline,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "the package index cannot be reached" in done.stderr.splitlines()[-1]
    assert not (house / ".venv" / "set-up-done").exists()


def test_the_exit_code_of_the_main_job_is_kept(dev: ModuleType) -> None:
    """What runs in sight of the user decides how the command ends."""
    with pytest.raises(dev.DevError) as failure:
        dev.in_sight([sys.executable, "-c", "import sys; sys.exit(3)"], Path.cwd())
    assert failure.value.code == 3


@pytest.mark.parametrize(("arguments", "code"), [([], 0), (["help"], 0), (["tset"], 2)])
def test_an_unknown_command_shows_the_known_ones(
    arguments: list[str], code: int, dev: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only a wrong word is an error."""
    assert dev.main(arguments) == code
    assert "dev.py run" in capsys.readouterr().err


def test_every_command_that_is_told_of_is_there(dev: ModuleType) -> None:
    """And the other way round."""
    told = set(re.findall(r"^python3 dev\.py (\w+)", dev.__doc__ or "", re.MULTILINE))

    assert told == set(dev.COMMANDS)


@pytest.mark.parametrize(
    ("failing", "told"),
    [
        ("", "and all the tests passed"),
        ("tests/core", "failed: tests of the core;"),
        ("coverage", "failed: branches of the core;"),
        ("--ignore=tests/core", "failed: other tests;"),
    ],
)
def test_the_tests_of_the_core_must_pass_over_all_of_it(
    failing: str,
    told: str,
    dev: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They run first and alone; the others run, too, whatever comes of that.

    Each of them keeps what Python makes of a module, so that not every process makes it anew.
    """
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    ran: list[list[str]] = []

    def in_sight(command: list[str], folder: Path) -> None:
        assert "PYTHONDONTWRITEBYTECODE" not in os.environ
        ran.append(command)
        if failing in command:
            raise dev.DevError("failed with exit code 1; see above")

    monkeypatch.setattr(dev, "set_up", lambda extras: None)
    monkeypatch.setattr(dev, "passes", lambda name: True)
    monkeypatch.setattr(dev, "in_sight", in_sight)

    assert dev.main(["test"]) == bool(failing)
    assert told in capsys.readouterr().err
    assert [{"tests/core", "--cov"} <= {*ran[0]}, *ran[1][2:5], "--cov" in ran[2]] == [
        True, "coverage", "report", f"--include={dev.CORE}", False
    ]  # fmt: skip


def test_what_shares_a_store_is_killed_by_the_same_command(
    dev: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With as many rounds as one says; all else is for what hosts and engines run on."""
    ran: list[list[str]] = []
    monkeypatch.setattr(dev, "set_up", lambda extras: None)
    monkeypatch.setattr(dev, "in_sight", lambda command, folder: ran.append(command[2:]))

    assert dev.main(["crashes", "stores", "5"]) == 0
    assert dev.main(["crashes", "dbos", "5"]) == 0
    assert dev.main(["crashes", "desk", "dbos", "5"]) == 0
    assert dev.main(["crashes", "desk", "dbos", "5"]) == 0
    assert ran == [
        ["tests.adapters.journals.kill_table", "5"],
        ["tests.adapters.journals.rivals_table", "5"],
        ["tests.adapters.hosts.engines.crashes", "dbos", "5"],
        ["tests.examples.desk_crashes", "dbos", "5"],
        ["tests.examples.desk_crashes", "dbos", "5"],
    ]
