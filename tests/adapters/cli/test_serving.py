"""`detent serve`: hosts until it is told to end, and lets nobody in unasked."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Timer
from typing import Any

import click
import httpx
import pytest
from click.testing import CliRunner

from detent import Agent, ScriptedChatGenerator, SQLiteJournal
from detent.adapters.cli.hosting import host_of
from detent.adapters.cli.main import main
from detent.adapters.cli.pages import people_in
from detent.hosts import TemporalHost
from detent.journals import DirectoryJournal
from detent.web import Person
from tests.adapters.hosts.engines.sites import need_sqlite_for_dbos

TOKEN = "a-token-of-ann-that-is-long"  # noqa: S105 - a test's
MODULE = """
from detent import Agent, ScriptedChatGenerator, SQLiteJournal

def agent(text, **options):
    return Agent(chat_generator=ScriptedChatGenerator(text), **options)

agents = {"one": agent("first"), "two": agent("second")}
twice = [agent("first", name="same"), agent("second", name="same")]
own = agent("first", name="own", journal=SQLiteJournal("own.db"))
some = [own, agent("second", name="bare")]

def made():
    return agent("made", name="maker")

class Keys:
    wants_signature = True

    def __call__(self, decision, question):
        return None

asking = {
    "by token": agent("x", approvers=lambda said, _: None),
    "signed": agent("x", approvers=Keys()),
}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a module of agents of its own."""
    name = f"served_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / "tokens").write_text(f"# who may\n\nAnn Lee {TOKEN}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delenv("DETENT_STORE", raising=False)
    return tmp_path / name


@contextmanager
def serving(*words: str, **options: Any) -> Generator[tuple[subprocess.Popen[str], list[str]]]:
    """A process that serves, and what it has said so far: up to that it is ready."""
    program = [sys.executable, "-m", "detent", "serve", *words]
    with subprocess.Popen(program, stderr=subprocess.PIPE, text=True, **options) as process:
        assert process.stderr is not None
        try:
            said = list[str]()
            for line in process.stderr:
                said.append(line)
                if line.endswith("is ready\n"):
                    break
            yield process, said
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)], ids=["term", "ctrl-c"]
)
def test_it_hosts_until_it_is_told_to_end(number: int, code: int, folder: Path) -> None:
    """It says when it begins, is ready, drains and has ended; its exit code says by what."""
    with serving(f"{folder.name}:agents", "--journal", "runs.db") as (process, said):
        process.send_signal(number)
        _, rest = process.communicate(timeout=30)
    said += rest.splitlines(keepends=True)

    app = f"{folder.name}:agents"
    looking = f"{sys.executable} -m detent runs pending --app {app} --store runs.db"
    assert [line.partition("detent.serve: ")[2] for line in said] == [
        "begins, with 'one', 'two'\n",
        f"shows what waits at a terminal: {looking}\n",
        "is ready\n",
        f"drains after {signal.Signals(number).name}; runs at work: 0\n",
        "has ended\n",
    ]
    assert process.returncode == code
    assert SQLiteJournal("runs.db").runs() == []


def test_a_terminal_is_told_where_to_look(folder: Path) -> None:
    """Where there is a page, at an address to which a token may be sent."""
    words = ("--web", "0.0.0.0:0", "--token-file", "tokens")
    with serving(f"{folder.name}:own", *words) as (process, said):
        process.terminate()
    (line,) = [line for line in said if "runs pending" in line]
    assert re.search(r"runs pending --host http://127\.0\.0\.1:\d+ --token-file FILE, ", line)


@pytest.mark.parametrize("tokens", [[], ["--token-file", "tokens"]], ids=["nobody", "people"])
def test_approvers_whom_a_page_can_show_nobody_are_warned_of(
    tokens: list[str], folder: Path
) -> None:
    """Before anybody waits for a button that cannot count."""
    words = ("--journal", "runs.db", "--web", "127.0.0.1:0", *tokens)
    with serving(f"{folder.name}:asking", *words) as (process, said):
        process.terminate()
    warned = [line for line in said if " WARNING " in line]
    assert ["about 'by token' on the page: its approvers" in line for line in warned] == [
        *([] if tokens else [True]),
        False,
    ]
    assert "no page can decide about 'signed': its approvers want a signature" in warned[-1]


def test_a_page_that_is_open_at_the_end_is_no_error(folder: Path) -> None:
    """A probe of logs would be woken by each release, as a browser is left open for days."""
    words = ("--journal", "runs.db", "--web", "127.0.0.1:0")
    with serving(f"{folder.name}:agents", *words) as (process, said):
        (place,) = re.findall(r"its runs at (http://\S+)", "".join(said))
        with (
            httpx.Client(base_url=place, trust_env=False, timeout=30) as client,
            client.stream("GET", "/live/questions") as page,
        ):
            parts = page.iter_text()
            next(parts)
            process.send_signal(signal.SIGTERM)
            assert "".join(parts) == ""  # it ends, and is not broken off
        _, rest = process.communicate(timeout=30)

    assert process.returncode == 0
    assert [line.split()[2] for line in rest.splitlines()] == ["INFO", "INFO"], rest


def test_a_request_that_never_came_whole_is_no_error_at_the_end(folder: Path) -> None:
    """It is told that the process ends; the log says nothing of it."""
    words = ("--journal", "runs.db", "--web", "127.0.0.1:0")
    head = "POST /api/start HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with serving(f"{folder.name}:agents", *words) as (process, said):
        (port,) = re.findall(r"its runs at http://127.0.0.1:(\d+)", "".join(said))
        with socket.create_connection(("127.0.0.1", int(port)), timeout=30) as line:
            line.sendall(f"{head}Content-Length: 500\r\n\r\n{{".encode())
            place = f"http://127.0.0.1:{port}/alive"
            assert httpx.get(place, trust_env=False).status_code == 204  # so it has come
            process.send_signal(signal.SIGTERM)
            answer = line.makefile().read()
        _, rest = process.communicate(timeout=30)

    assert answer.startswith("HTTP/1.1 503 ")
    assert '"shutting_down"' in answer
    assert [line.split()[2] for line in rest.splitlines()] == ["INFO", "INFO"], rest


def test_it_goes_on_with_what_others_have_begun(folder: Path) -> None:
    """And shows it in a browser, to who signs in."""
    journal = DirectoryJournal("runs")

    agent = Agent(chat_generator=ScriptedChatGenerator("x"), name="maker", journal=journal)
    asyncio.run(agent.begin("go", run_id="r").leave_async())
    words = ("--journal", "dir:runs", "--web", "127.0.0.1:0", "--token-file", "tokens")
    with serving(f"{folder.name}:made", *words) as (process, said):
        place = re.search(r"http://\S+", "".join(said))
        assert place is not None
        with httpx.Client(base_url=place[0], follow_redirects=True, trust_env=False) as client:
            page = client.get("/runs")
            assert page.url.path == "/sign-in"
            csrf = re.search(r'name="csrf" value="([^"]+)"', page.text)
            assert csrf is not None
            form = {"token": TOKEN, "csrf": csrf[1]}
            assert "Ann Lee" in client.post("/sign-in", data=form).text
            while "made" not in client.get("/run/r").text:
                assert process.poll() is None
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
    assert process.returncode == 0
    assert journal.runs()[0].status == "done"


def refused(*words: str, code: int = 2) -> str:
    """What it says instead of serving."""
    alarm = Timer(20, partial(os.kill, os.getpid(), signal.SIGINT))  # else it would serve for ever
    alarm.start()
    try:
        result = CliRunner().invoke(main, ["serve", *words])
    finally:
        alarm.cancel()
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


@pytest.mark.parametrize(
    ("app", "words", "text"),
    [
        ("agents", (), "the agents have no journal: a host has one; --journal runs.db names it"),
        ("own", ("--journal", "x.db"), "journal of their own: leave out --journal"),
        ("some", (), "the agents have not all a journal"),
        ("twice", ("--journal", "x.db"), "several agents are called 'same'"),
        ("nobody", (), "has no 'nobody'"),
        ("agnets", (), "has no 'agnets'; did you mean"),
        ("own", ("--token-file", "tokens"), "--token-file is for --web"),
        ("own", ("--web", "127.0.0.1:0", "--token-file", "b.db"), "b.db: expected text, in UTF-8"),
        ("own", ("--secret-file", "short"), "--secret-file is for --web"),
        ("own", ("--https-only",), "--https-only is for --web"),
        ("own", ("--allowed-hosts", "a.example"), "--allowed-hosts is for --web"),
        ("own", ("--web", "--secret-file", "short"), "short is too short: it needs 16 characters"),
        ("own", ("--web", "--allowed-hosts", "a:80"), "a:80: expected the name of a host alone"),
        ("own", ("--port", "8000"), "--web HOST:PORT, as --web 127.0.0.1:8000"),
        ("own", ("--web", "0.0.0.0:0"), "say by --token-file FILE who may sign in"),
        ("own", ("--web", "example.com:0"), "say by --token-file FILE who may sign in"),
        ("own", ("--web", "[::]:0"), "say by --token-file FILE who may sign in"),
        ("own", ("--web", "127.0.0.1"), "expected HOST:PORT"),
        ("own", ("--web", "127.0.0.1:70000"), "expected HOST:PORT"),
    ],
)
def test_what_cannot_be_served_is_said(
    app: str, words: tuple[str, ...], text: str, folder: Path
) -> None:
    """And what to do about it."""
    Path("b.db").write_bytes(b"\x89PNG")
    Path("short").write_text("seventeen\n")
    assert text in refused(f"{folder.name}:{app}", *words)
    assert not Path("x.db").exists()


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_a_page_without_its_extra_says_what_to_install(missing: str, folder: Path) -> None:
    """Whoever followed a page that does not need it has not got it."""
    # In a process of its own: to import the page anew here would leave the others' half old.
    without = f"import sys; sys.modules[{missing!r}] = None; from detent.__main__ import main"
    words = ("serve", f"{folder.name}:own", "--web", "127.0.0.1:0")
    done = subprocess.run(
        [sys.executable, "-c", f"{without}; main()", *words],
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 1
    assert f"--web needs {missing}: " in done.stderr
    assert "detent[web]" in done.stderr


@pytest.mark.parametrize("command", ["serve", "mcp", "acp"])
def test_a_store_that_nobody_has_typed_is_named(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By where it was read."""
    monkeypatch.setenv("DETENT_STORE", "x.db")
    result = CliRunner().invoke(main, [command, f"{folder.name}:own"])
    assert (result.exit_code, Path("x.db").exists()) == (2, False)
    text = "the agents have a journal of their own: DETENT_STORE names another one; unset it for"
    assert text in " ".join(result.output.split())


def test_a_secret_in_a_variable_that_is_empty_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one would be drawn in each process."""
    monkeypatch.setenv("DETENT_SECRET", "")
    assert "DETENT_SECRET is too short" in refused(f"{folder.name}:own", "--web", "127.0.0.1:0")


def test_sessions_go_from_one_process_to_another(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a secret of a file or of a variable; where one is drawn, they do not."""
    Path("secret").write_text("a-secret-for-all-of-them\n")
    words = (f"{folder.name}:own", "--web", "127.0.0.1:0", "--token-file", "tokens")

    def codes(*others: str) -> list[int]:
        with (
            serving(*words, "--secret-file", "secret") as (_, one),
            serving(*words, *others) as (_, two),
            httpx.Client(trust_env=False) as client,
        ):
            here, there = place_in(one), place_in(two)
            csrf = csrf_in(client.get(f"{here}/sign-in"))
            client.post(f"{here}/sign-in", data={"token": TOKEN, "csrf": csrf})
            return [client.get(f"{place}/").status_code for place in (here, there)]

    assert codes() == [200, 303]
    monkeypatch.setenv("DETENT_SECRET", "a-secret-for-all-of-them")
    assert codes() == [200, 200]


def test_the_page_answers_as_it_is_told(folder: Path) -> None:
    """To names that are allowed, and its cookie is for HTTPS."""
    words = ("--web", "127.0.0.1:0", "--token-file", "tokens", "--https-only")
    names = ("--allowed-hosts", "desk.example,*.shop.example", "--allowed-hosts", "other.example")
    hosts = ("desk.example", "a.shop.example", "other.example", "evil.example")
    with (
        serving(f"{folder.name}:own", *words, *names) as (_, said),
        httpx.Client(base_url=place_in(said), trust_env=False) as client,
    ):
        pages = [client.get("/sign-in", headers={"host": name}) for name in hosts]
    assert [page.status_code for page in pages] == [200, 200, 200, 400]
    assert "secure" in pages[0].headers["set-cookie"].lower().split("; ")


def test_who_may_sign_in_is_read_again_while_it_serves(folder: Path) -> None:
    """At once, and told at SIGHUP, which ends no daemon."""
    Path("tokens").write_text(f"Ann {TOKEN}\nBob {'b' * 20}\n")
    words = (f"{folder.name}:own", "--web", "127.0.0.1:0", "--token-file", "tokens")
    with serving(*words, start_new_session=True) as (process, said):

        def codes() -> list[int]:
            headers = [{"authorization": f"Bearer {one}"} for one in (TOKEN, "b" * 20, "c" * 20)]
            url = f"{place_in(said)}/api/runs"
            return [httpx.get(url, headers=one, trust_env=False).status_code for one in headers]

        assert codes() == [200, 200, 401]
        Path("tokens").write_text(f"Bob {'b' * 20}\nCyd {'c' * 20}\n")
        assert codes() == [401, 200, 200]
        Path("tokens").write_text(f"Cyd {'c' * 20}\n")
        process.send_signal(signal.SIGHUP)
        assert process.stderr is not None
        told = [process.stderr.readline() for _ in range(5)]
        stranger = "people: a token that nobody has was shown, from 127.0.0.1\n"
        assert [line.partition("detent.")[2] for line in told] == [
            stranger,
            "people: who may sign in has changed: 1 stand there no more as they did, 1 are new\n",
            stranger,
            "serve: SIGHUP: looks who may sign in\n",
            "people: who may sign in has changed: 1 stand there no more as they did, 0 are new\n",
        ]
        assert codes() == [401, 401, 200]
        process.terminate()
        process.communicate(timeout=30)
    assert process.returncode == 0


def test_a_terminal_that_is_closed_ends_it_with_a_drain(folder: Path) -> None:
    """Whoever closes it leaves nothing behind that nobody sees."""
    master, slave = os.openpty()

    def at_the_terminal() -> None:
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    words = (f"{folder.name}:agents", "--journal", "runs.db")
    with serving(*words, start_new_session=True, pass_fds=(slave,), preexec_fn=at_the_terminal) as (
        process,
        _,
    ):
        os.close(slave)
        os.close(master)
        _, rest = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "drains after SIGHUP; runs at work: 0" in rest
    assert rest.endswith("has ended\n")


def place_in(said: list[str]) -> str:
    """Where the page is."""
    (place,) = re.findall(r"its runs at (http://\S+)", "".join(said))
    return str(place)


def csrf_in(page: httpx.Response) -> str:
    """What a form of the session must carry."""
    found = re.search(r'name="csrf" value="([^"]+)"', page.text)
    assert found is not None
    return found[1]


def test_a_port_that_is_taken_is_told_with_another_one(folder: Path) -> None:
    """By the option that names it; behind the last one comes any that is free."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        words = ["serve", f"{folder.name}:own", "--web", f"127.0.0.1:{port}"]
        told = CliRunner().invoke(main, words)
    assert told.exit_code == 1
    assert f"--web: 127.0.0.1:{port} is taken, by a program that still runs" in told.output
    assert "or listen elsewhere: --web 127.0.0.1:" in told.output


def test_a_browser_that_was_told_https_is_hinted_at(folder: Path) -> None:
    """What it sends is no request of HTTP."""
    with serving(f"{folder.name}:own", "--web", "127.0.0.1:0") as (process, said):
        (port,) = re.findall(r"shows its runs at http://127\.0\.0\.1:(\d+)", "".join(said))
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"https://127.0.0.1:{port}/", trust_env=False)
        assert process.stderr is not None
        assert "perhaps https:// was typed" in process.stderr.readline()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"Ann {TOKEN}\nBob {TOKEN}\n", "tokens: line 2 has a token that stands above"),
        (f"\n{TOKEN}\n", "tokens: line 2 is no name and token"),
        ("Ann short\n", "tokens: a token is too short"),
        ("# nobody\n", "nobody could sign in"),
    ],
)
def test_a_file_of_tokens_that_is_none_is_refused(text: str, why: str) -> None:
    """By the line, and without the token."""
    Path("tokens").write_text(text)
    with pytest.raises(click.UsageError, match=why) as caught:
        people_in(Path("tokens"))
    assert TOKEN not in str(caught.value)


def test_a_file_of_tokens_has_a_line_for_each() -> None:
    """The token is the last word."""
    people = people_in(Path("tokens"))
    assert people.person(TOKEN) == Person("Ann Lee", TOKEN)
    assert people.person("another-of-the-same-length") is None


@pytest.mark.parametrize("mode", [[], ["--engine-option", "mode=effects"]], ids=["legs", "effects"])
def test_it_takes_runs_from_an_engine(mode: list[str], folder: Path) -> None:
    """A worker is one command, whatever the engine keeps of a run."""
    need_sqlite_for_dbos()
    journal = SQLiteJournal("runs.db")
    agent = Agent(chat_generator=ScriptedChatGenerator("never"), name="one", journal=journal)
    asyncio.run(agent.begin("hi", run_id="r").leave_async())
    words = ["--journal", "runs.db", "--engine", "dbos", "--engine-option", "url=sqlite:///q.db"]

    with serving(f"{folder.name}:agents", *words, *mode) as (process, _):
        while journal.runs()[0].status != "done":
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)

    assert process.returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--engine", "dbos"], "--engine dbos needs its database: --engine-option url="),
        (
            ["--engine", "temporal", "--engine-option", "url=x"],
            "--engine-option url=…: temporal takes client=…, queue=…, mode=…",
        ),
        (
            ["--engine", "temporal", "--engine-option", "mode=steps"],
            "--engine-option mode=steps: temporal takes mode=legs or mode=effects",
        ),
        (
            ["--engine", "restate", "--engine-option", "mode=effects"],
            "it drives runs by legs alone: leave mode out, or take dbos or temporal for effects",
        ),
        (
            ["--engine", "restate", "--engine-option", "queue=x"],
            "restate takes ingress=…, admin=…, listen=…, address=…, name=…",
        ),
        (["--engine-option", "url=x"], "--engine-option is for --engine"),
        (["--engine", "cron"], "'cron' is not one of 'dbos', 'restate', 'temporal'"),
    ],
)
def test_an_engine_is_told_what_it_takes(words: list[str], said: str, folder: Path) -> None:
    """Before anything begins."""
    program = ["serve", f"{folder.name}:agents", "--journal", "runs.db", *words]
    result = CliRunner().invoke(main, program)

    assert result.exit_code == 2
    assert said in result.output


@pytest.mark.parametrize("engine", ["temporal", "restate"])
def test_an_engine_has_defaults(engine: str, folder: Path) -> None:
    """Those that its own server has."""
    agents = {"one": Agent(chat_generator=ScriptedChatGenerator("x"))}
    host = host_of(engine, (), agents, SQLiteJournal("runs.db"), running=1, drain_s=1)

    assert type(host).__name__.lower() == f"{engine}host"


@pytest.mark.parametrize(
    ("words", "mode"), [((), "legs"), (("mode=legs",), "legs"), (("mode=effects",), "effects")]
)
def test_an_engine_keeps_what_its_mode_says(
    words: tuple[str, ...], mode: str, folder: Path
) -> None:
    """The option reaches the host."""
    agents = {"one": Agent(chat_generator=ScriptedChatGenerator("x"))}
    host = host_of("temporal", words, agents, SQLiteJournal("runs.db"), running=1, drain_s=1)

    assert isinstance(host, TemporalHost)
    assert host._mode == mode


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import no_such_library", "wrong.py:1: ModuleNotFoundError: No module named 'no_such_l"),
        ("\nagent = (", "wrong.py:2: '(' was never closed"),
        (
            "\n\ndef agent():\n    raise RuntimeError('no database')",
            "wrong.py:4: RuntimeError: no d",
        ),
        ("import detent\nagent = detent.Agent(tols=[])", "wrong.py:2: TypeError: "),
    ],
    ids=["a library is missing", "no Python", "raises", "a wrong option"],
)
def test_a_fault_in_the_agents_code_is_told_with_its_line(
    code: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the user's: a sentence says where, and not what of Detent called it."""
    monkeypatch.delitem(sys.modules, "wrong", raising=False)
    (tmp_path / "wrong.py").write_text(code)
    for command in ("serve", "mcp", "acp"):
        result = CliRunner().invoke(main, [command, "wrong:agent", "--journal", "runs.db"])

        assert result.exit_code == 1
        assert f"Error: wrong:agent: {tmp_path}" in result.output
        assert told in result.output


@pytest.mark.parametrize(
    ("app", "word"),
    [
        ("./desk:desk", "desk:desk"),
        ("desk.py", "desk:agent"),
        ("shop/desk.py:clerk", "shop.desk:clerk"),
        ("../desk:desk", "desk:desk, from its own folder: cd /"),
        ("..desk:desk", "desk:desk"),
        (":desk", "desk:desk"),
    ],
)
def test_a_path_in_the_place_of_a_module_is_told_as_one(app: str, word: str) -> None:
    """With the word that is meant."""
    for command in ("serve", "mcp", "acp"):
        result = CliRunner().invoke(main, [command, app, "--journal", "runs.db"])

        assert result.exit_code == 2
        assert f"Error: {app}: " in result.output
        assert word in result.output
        assert ("from its own folder" in result.output) is ("from its own folder" in word)


def test_options_of_an_engine_may_be_in_a_variable(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database has a password, and command lines are seen."""
    monkeypatch.setenv("DETENT_ENGINE_OPTIONS", "client=temporal:7233 mode=steps")
    words = (f"{folder.name}:agents", "--journal", "runs.db")
    assert "mode=steps: temporal takes" in refused(*words, "--engine", "temporal")
    assert "and so is DETENT_ENGINE_OPTIONS" in refused(*words)


@pytest.mark.parametrize(
    "word", ["postgresql://desk:hunter2@db/desk", "urk=postgresql://:hunter2@db"]
)
def test_no_value_of_an_option_of_an_engine_is_said_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    """Logs are read by many."""
    monkeypatch.setenv("DETENT_ENGINE_OPTIONS", word)
    said = refused(f"{folder.name}:agents", "--journal", "runs.db", "--engine", "dbos")
    assert "dbos takes url=…" in said
    assert "hunter2" not in said


def test_an_option_that_is_typed_leaves_those_of_the_variable(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one option more would put a worker in another mode, or at another queue."""
    monkeypatch.setenv("DETENT_ENGINE_OPTIONS", "client=temporal:7233 mode=steps")
    words = (f"{folder.name}:agents", "--journal", "runs.db", "--engine", "temporal")
    assert "mode=steps: temporal takes" in refused(*words, "--engine-option", "client=other:1")


def test_of_two_options_of_an_engine_the_later_one_counts(folder: Path) -> None:
    """It is the one that was typed."""
    agents = {"one": Agent(chat_generator=ScriptedChatGenerator("x"))}
    texts = ("mode=legs", "client=a:1", "mode=effects")
    host = host_of("temporal", texts, agents, SQLiteJournal("runs.db"), running=1, drain_s=1)

    assert isinstance(host, TemporalHost)
    assert host._mode == "effects"
