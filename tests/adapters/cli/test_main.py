"""The command line, as a person at a terminal and as a script meets it."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from detent import SQLiteJournal
from detent.adapters.cli.folder_agent import own_runs
from detent.adapters.cli.main import main
from detent.adapters.cli.show import progress_bar
from detent.adapters.providers.registry import PROVIDERS
from detent.adapters.system.program import program
from tests.adapters.providers.http.fake_server import Play, serving

Serve = Callable[[Callable[[BaseHTTPRequestHandler], None]], str]
Message = Mapping[str, object]


def calls(name: str, **arguments: object) -> Message:
    """A model's message with one tool call."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"content": None, "tool_calls": [{"id": name, "type": "function", "function": function}]}


# Ctrl-C is set up as a shell does it: a program that is started in the background ignores it.
PROGRAM = """
import signal
from detent.adapters.cli.folder_agent import own_runs
from detent.adapters.cli.main import main
from detent.adapters.providers.registry import PROVIDERS
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""
PATIENCE_S = 20

SCRIPT: list[Message] = [
    calls("search_files", words="tea"),
    calls("read_file", file="tea.md"),
    calls("write_answer", answer="At 80 degrees."),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one text, and no answer yet; runs are kept beside it."""
    monkeypatch.setenv("DETENT_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "tea.md").write_text("Green tea is brewed at 80 degrees.\n")
    return tmp_path


@pytest.fixture
def model(serve: Serve) -> Callable[[Sequence[Message]], list[str]]:
    """A server that says the given messages in turn, as options of the command line."""

    def options(script: Sequence[Message]) -> list[str]:
        lines = iter(script)

        def play(handler: BaseHTTPRequestHandler) -> None:
            choice = {"message": {"role": "assistant", **next(lines)}, "finish_reason": "stop"}
            usage = {"prompt_tokens": 100, "completion_tokens": 10}
            body = json.dumps({"choices": [choice], "usage": usage}).encode()
            handler.send_response(200)
            handler.send_header("content-type", "application/json")
            handler.send_header("content-length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)

        return ["--model", "openai:scripted", "--base-url", serve(play)]

    return options


def at_terminal(
    arguments: list[str],
    folder: Path,
    answer: bytes | signal.Signals,
    until: bytes = b"odify: ",
    *,
    more: tuple[bytes, bytes] | None = None,
) -> tuple[str, int]:
    """What a person at a real terminal sees who answers or interrupts, and the exit code.

    With `more`, they see the first of it then, and type the second.
    """
    ours, theirs = pty.openpty()
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *arguments],
        cwd=folder,
        env={**os.environ, "TERM": "dumb", "COLUMNS": "200"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    try:
        shown = b""
        while until not in shown and (piece := _read(ours)):
            shown += piece
        if isinstance(answer, bytes):
            os.write(ours, answer)
        else:
            _interrupt(program, answer, ours)
        while piece := _read(ours):
            shown += piece
            if more is not None and more[0] in shown:
                os.write(ours, more[1])
                more = None
        return shown.decode(), program.wait(PATIENCE_S)
    finally:
        program.kill()
        program.wait()
        os.close(ours)


def _interrupt(program: subprocess.Popen[bytes], how: signal.Signals, terminal: int) -> None:
    """Press Ctrl-C until the program says something.

    One that comes between a prompt and the wait for its answer is only heard with the next key.
    """
    for _ in range(PATIENCE_S):
        program.send_signal(how)
        if select.select([terminal], [], [], 1)[0]:
            return


def _read(terminal: int) -> bytes:
    ready, _, _ = select.select([terminal], [], [], PATIENCE_S)
    assert ready, "the program neither says anything nor ends"
    try:
        return os.read(terminal, 4096)
    except OSError:  # how Linux says that the other end is closed
        return b""


def test_a_question_is_answered_into_a_file(
    folder: Path, model: Callable[[Sequence[Message]], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --yes nobody is asked; the end says where the answer is and what it took."""
    result = CliRunner().invoke(main, ["run", "How hot?", "--yes", *model(SCRIPT)])

    assert result.exit_code == 0, result.output
    assert (folder / "answer.md").read_text() == "At 80 degrees.\n\nSources:\n\n* tea.md\n"
    for line in ("answer   answer.md", "sources  tea.md", "steps    3", "tokens   300 read, 30"):
        assert line in result.output


def test_without_a_terminal_nothing_hangs_and_nothing_is_written(
    folder: Path, model: Callable[[Sequence[Message]], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is shown, and how it would have been written."""
    result = CliRunner().invoke(main, ["run", "How hot?", *model([{"content": "At 80."}])])

    assert result.exit_code == 0, result.output
    assert "At 80." in result.output
    assert "no terminal to ask at, --yes writes it without asking:" in result.output
    assert not (folder / "answer.md").exists()

    words = shlex.split(result.output.rstrip().splitlines()[-5])
    written = CliRunner().invoke(main, words[words.index("run") :])

    assert (written.exit_code, "answer   answer.md" in written.output) == (0, True), written.output
    assert (folder / "answer.md").read_text() == "At 80.\n\nSources:\n\nNone was read.\n"


def test_an_answer_that_the_model_did_not_ask_to_write_is_written(
    folder: Path, model: Callable[[Sequence[Message]], list[str]]
) -> None:
    """--yes says that it is to be in a file, whichever way the model gave it."""
    script = [*SCRIPT[:2], {"content": "At 80."}]

    result = CliRunner().invoke(main, ["run", "How hot?", "--yes", *model(script)])

    assert result.exit_code == 0, result.output
    assert "answer   answer.md" in result.output
    assert (folder / "answer.md").read_text() == "At 80.\n\nSources:\n\n* tea.md\n"


def test_who_sits_at_a_terminal_is_told_why_nothing_was_written(
    folder: Path, model: Callable[[Sequence[Message]], list[str]]
) -> None:
    """They were asked nothing."""
    arguments = ["run", "How hot?", *model([{"content": "At 80."}])]
    shown, code = at_terminal(arguments, folder, b"", until=b"seconds")

    assert code == 0, shown
    assert "above; the model did not ask to write it to a file, --yes writes it" in shown


def test_an_answer_that_is_not_in_the_file_that_was_named_has_its_own_code(
    folder: Path, model: Callable[[Sequence[Message]], list[str]]
) -> None:
    """A script that goes on with the file must not; --yes writes it later, wherever it is to be."""
    words = ["run", "How hot?", "--output", "tea.txt", *model([{"content": "At 80."}])]
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, "At 80." in result.output) == (7, True), result.output
    assert "Error: the answer was not written to tea.txt" in result.output

    again = ["run", "--resume", "last", "--output", "later.txt"]
    shown = CliRunner().invoke(main, again)
    assert shown.exit_code == 7, shown.output
    assert "above; the run has ended without a file, --yes writes it" in shown.output
    assert CliRunner().invoke(main, [*again, "--yes"]).exit_code == 0
    assert (folder / "later.txt").read_text().startswith("At 80.")


def test_an_answer_that_is_in_a_file_is_written_to_another_one_by_yes(
    folder: Path, model: Callable[[Sequence[Message]], list[str]]
) -> None:
    """Without it, it is said where it is."""
    asked = CliRunner().invoke(main, ["run", "How hot?", "--yes", *model(SCRIPT)])
    assert asked.exit_code == 0, asked.output

    again = ["run", "--resume", "last", "--output", "later.md"]
    shown = CliRunner().invoke(main, again)
    assert shown.exit_code == 7, shown.output
    assert "answer   above; the run has written it to answer.md" in shown.output
    assert CliRunner().invoke(main, [*again, "--yes"]).exit_code == 0
    assert (folder / "later.md").read_text() == (folder / "answer.md").read_text()


@pytest.mark.parametrize("model", ["openai:gpt", "anthropic:claude"])
def test_a_missing_key_is_told_as_what_a_terminal_knows(
    folder: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the name of its variable: an argument of a program is none."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    told = CliRunner().invoke(main, ["run", "How hot?", "--model", model])

    assert told.exit_code == 1
    assert "_API_KEY is not set, or is empty; set it\n" in told.output
    assert "api_key=" not in told.output


@pytest.mark.parametrize("lack", ["OPENAI_API_KEY is not set", "needs httpx"])
@pytest.mark.parametrize("words", [["run", "How hot?"], ["chat"]], ids=["run", "chat"])
def test_what_a_model_lacks_is_said_before_it_is_asked(
    folder: Path, words: list[str], lack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody types a question in vain, and no run is begun that cannot go on."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    if "httpx" in lack:
        monkeypatch.setitem(sys.modules, "httpx", None)
    else:
        monkeypatch.delenv("OPENAI_API_KEY")
    told = CliRunner().invoke(main, [*words, "--model", "openai:x"], input="How hot?\n\n")

    assert (told.exit_code, lack in told.output) == (1, True), told.output
    assert "you: " not in told.output
    assert not (folder / "state" / "runs.db").exists() or own_runs().runs() == []


def test_a_run_that_has_ended_shows_its_answer(
    folder: Path, model: Callable[[Sequence[Message]], list[str]]
) -> None:
    """Without a model: none is named here that could answer."""
    asked = CliRunner().invoke(main, ["run", "How hot?", "--yes", *model(SCRIPT)])
    assert asked.exit_code == 0, asked.output
    (folder / "answer.md").unlink()

    again = CliRunner().invoke(main, ["run", "--resume", "last", "--model", "nobody:knows"])
    assert again.exit_code == 0, again.output
    assert "At 80 degrees." in again.output
    assert "answer   above; the run has written it to answer.md" in again.output
    assert "seconds" not in again.output
    assert not (folder / "answer.md").exists()

    told = CliRunner().invoke(main, ["run", "--resume", "last", "--json"])
    assert json.loads(told.stdout)["answer"] == "At 80 degrees."


def test_a_run_that_ended_by_its_steps_shows_its_answer(
    folder: Path, model: Callable[[Sequence[Message]], list[str]]
) -> None:
    """So many steps need not be allowed again."""
    script = [*SCRIPT[:2], {"content": "80 degrees, says tea.md."}]
    asked = CliRunner().invoke(main, ["run", "How hot?", "--max-steps", "2", *model(script)])
    assert asked.exit_code == 0, asked.output

    again = CliRunner().invoke(main, ["run", "--resume", "last"])

    assert again.exit_code == 0, again.output
    assert "80 degrees, says tea.md." in again.output


def test_a_question_beside_a_run_to_go_on_with_is_refused(
    folder: Path,
    model: Callable[[Sequence[Message]], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nobody would answer it. One that a script has set up is not meant."""
    arguments = model([{"content": "At 80."}])
    assert CliRunner().invoke(main, ["run", "How hot?", *arguments]).exit_code == 0

    refused = CliRunner().invoke(main, ["run", "And?", "--resume", "last"])
    assert refused.exit_code == 2
    assert "leave QUESTION out" in refused.output
    assert "detent chat" in refused.output

    monkeypatch.setenv("DETENT_QUESTION", "And?")
    assert CliRunner().invoke(main, ["run", "--resume", "last"]).exit_code == 0


@pytest.mark.parametrize("words", [["run", "How hot?"], ["chat"]])
def test_a_folder_that_is_not_there_is_missed_before_a_model_is_asked(words: list[str]) -> None:
    """Else its answer is paid for, and cannot be written down."""
    refused = CliRunner().invoke(main, [*words, "--output", "reports/tea.md"])

    assert refused.exit_code == 2
    assert "there is no folder 'reports' to write it to: make it" in refused.output


def test_why_a_tool_failed_is_said_in_full(
    folder: Path, model: Callable[[Sequence[Message]], list[str]]
) -> None:
    """Behind the arguments, which stand there already, it would be off the screen."""
    long = "We open at nine. " * 20
    script = [calls("write_answer", answer=long), {"content": "At nine."}]

    result = CliRunner().invoke(main, ["run", "When?", "--yes", *model(script)])
    shown = CliRunner().invoke(main, ["runs", "list", "--json"])
    run_id = json.loads(shown.stdout)["runs"][0]["run_id"]
    looked = CliRunner().invoke(main, ["runs", "show", run_id])

    fault = "ValueError: nothing was read yet: read the file that has the answer first"
    assert f"  failed: {fault}" in result.output
    assert f": {fault}\n" in looked.output


@pytest.mark.parametrize(("typed", "written"), [(b"y\n", True), (b"n\n", False)])
def test_a_person_at_a_terminal_is_asked(
    folder: Path,
    model: Callable[[Sequence[Message]], list[str]],
    typed: bytes,
    written: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """The file is written only when they say so."""
    script = SCRIPT if written else [*SCRIPT, {"content": "Then not."}]

    why = None if written else (b"Why", b"not now\n")
    shown, code = at_terminal(["run", "How hot?", *model(script)], folder, typed, more=why)

    assert code == (0 if written else 7), shown
    assert "write_answer wants to run" in shown
    assert 'answer = "At 80 degrees."' in shown
    assert (folder / "answer.md").exists() == written


@pytest.mark.parametrize("key", [signal.SIGINT, b"\x04"], ids=["Ctrl-C", "Ctrl-D"])
def test_a_key_that_stops_says_how_to_go_on(
    key: bytes | signal.Signals, folder: Path, model: Callable[[Sequence[Message]], list[str]]
) -> None:
    """No traceback, nothing written, and the exit code that shells know."""
    shown, code = at_terminal(["run", "How hot?", *model(SCRIPT)], folder, key)

    assert code == 128 + signal.SIGINT, shown
    assert "Traceback" not in shown
    assert not (folder / "answer.md").exists()

    command = next(line for line in shown.splitlines() if "--resume" in line)
    pasted = f"{command} --yes --base-url http://127.0.0.1:9/v1"
    done = subprocess.run(
        ["/bin/sh", "-c", pasted],
        check=False,
        cwd=folder,
        env={**os.environ, "PATH": "/usr/bin:/bin"},  # of a shell in which nothing is activated
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "answer.md").read_text().startswith("At 80 degrees.")


def test_when_the_model_gives_no_answer_it_is_said_how_to_go_on(
    folder: Path, model: Callable[[Sequence[Message]], list[str]], serve: Serve
) -> None:
    """The command asks the model again, of the same server; what was found stays."""
    arguments = model([*SCRIPT[:2], {"tool_calls": 7}, *SCRIPT[2:]])

    failed = CliRunner().invoke(main, ["run", "How hot?", "--yes", *arguments])
    assert failed.exit_code == 1
    command = next(line for line in failed.output.splitlines() if "--resume" in line)
    words = shlex.split(command)
    again = CliRunner().invoke(main, words[words.index("run") :])

    assert again.exit_code == 0, again.output
    assert "sources  tea.md" in again.output
    assert (folder / "answer.md").read_text().startswith("At 80 degrees.")


@pytest.mark.parametrize("by", ["option", "variable", "key in the URL"])
def test_a_server_that_got_no_key_is_told_as_such(
    by: str, folder: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The environment's key goes to the server that the environment names, and to no other."""
    keys: list[str | None] = []

    def refuse(handler: BaseHTTPRequestHandler) -> None:
        keys.append(handler.headers["Authorization"])
        handler.send_response(401)
        handler.send_header("content-length", "0")
        handler.end_headers()

    url = serve(refuse)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
    if by == "variable":
        monkeypatch.setenv("OPENAI_BASE_URL", url)
    named = {"option": url, "key in the URL": f"{url}?key=k"}.get(by)
    options = [] if named is None else ["--base-url", named]

    result = CliRunner().invoke(main, ["run", "How hot?", "--model", "openai:x", *options])

    assert result.exit_code == 1
    assert keys == ["Bearer sk-x" if by == "variable" else None]
    why = "no key was sent: OPENAI_API_KEY goes to api.openai.com and to the server that"
    assert (why in result.output) == (by == "option")
    assert ("check the API key" in result.output) == (by != "option")


def test_a_chat_remembers_what_was_said(
    folder: Path, model: Callable[[Sequence[Message]], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty line ends it."""
    said = [{"content": "Tea is a drink."}, {"content": "You asked about tea."}]

    result = CliRunner().invoke(main, ["chat", *model(said)], input="What is tea?\nAnd?\n\n")

    assert result.exit_code == 0, result.output
    assert "You asked about tea." in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "nobody:knows"], "nobody"),
        (["--model", "local:no-such-model"], "no local model 'no-such-model'"),
        (["--model", "openai:x", "--base-url", "http://127.0.0.1:9/v1"], "127.0.0.1:9"),
        (["--folder", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_done_is_said_plainly(
    arguments: list[str], message: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One message, no traceback, an exit code that is not 0."""
    result = CliRunner().invoke(main, ["run", "How hot?", *arguments])

    assert result.exit_code in {1, 2}
    assert message in result.output
    assert "Traceback" not in result.output


def test_the_models_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of this machine with their sizes, and every provider with its place and its key."""
    monkeypatch.setenv("GROQ_API_KEY", "gsk-1")
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    monkeypatch.setenv("OLLAMA_HOST", "http://me:secret@box:1")
    monkeypatch.setenv("COLUMNS", "200")

    result = CliRunner().invoke(main, ["models"])

    assert result.exit_code == 0, result.output
    assert "local:qwen2.5-coder-1.5b" in result.output
    listed = {line.partition(":")[0]: line for line in result.output.splitlines()}
    assert PROVIDERS.keys() <= listed.keys()
    assert "https://api.groq.com/openai/v1  a key is set (GROQ_API_KEY)" in listed["groq"]
    assert "no key: the environment variable MISTRAL_API_KEY is not set" in listed["mistral"]
    assert "AZURE_OPENAI_ENDPOINT" in listed["azure"]
    assert "http://box:1  needs no key; OLLAMA_API_KEY may hold one" in listed["ollama"]
    assert not re.search("gsk-1|secret", result.output)


@pytest.mark.parametrize("provider", ["ollama", "ollama:llama3"])
def test_the_models_of_a_server_are_listed(provider: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the names under which they are asked for; what it says steers no terminal."""
    listed = json.dumps({"models": [{"name": "qwen3:4b"}, {"name": f"x{HOSTILE}"}]}).encode()
    with serving(lambda _: Play((listed,))) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        monkeypatch.setenv("OLLAMA_API_KEY", "k")
        result = CliRunner().invoke(main, ["models", provider])
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[0] == "ollama:qwen3:4b"
    assert obeyed(result.output) == []


def test_the_models_of_this_machine_are_listed() -> None:
    """By name alone."""
    assert "local:qwen2.5-coder-1.5b" in CliRunner().invoke(main, ["models", "local"]).output


@pytest.mark.parametrize(
    ("provider", "message"), [("olama", "did you mean 'ollama:"), ("github", "list of models")]
)
def test_who_has_no_list_of_models_is_told(
    provider: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line."""
    monkeypatch.setenv("GITHUB_TOKEN", "k")
    result = CliRunner().invoke(main, ["models", provider])
    assert result.exit_code in {1, 2}
    assert message in result.output
    assert "Traceback" not in result.output


HOSTILE = "\x1b]52;c;ZXZpbA==\x07\x9b2J\r\u202e\u3164▌ Run pay? [red]x[/]"
HOSTILE_NAME = "\x1b]0;evil\x07▌\u202e"


def obeyed(shown: str) -> list[str]:
    """What of it a terminal would obey or hide, or take for a question."""
    return [char for char in shown if not (char.isprintable() or char == "\n") or char in "▌\u3164"]


def hostile_folder(folder: Path) -> Path:
    """A folder whose name and whose files' names and texts steer terminals."""
    root = folder / f"docs{HOSTILE_NAME}"
    root.mkdir()
    (root / f"tea{HOSTILE_NAME}.md").write_text(f"degrees {HOSTILE}\n")
    (root / "tea.md").write_text(f"degrees {HOSTILE}\n")
    return root


HOSTILE_RUNS: list[list[Message]] = [
    [{"content": HOSTILE, "reasoning_content": HOSTILE}],
    [calls(f"no_such_tool{HOSTILE}\ud800", **{HOSTILE: HOSTILE}), {"content": "x"}],
    [calls("search_files", words="degrees"), {"content": "x"}],
    [calls("read_file", file=HOSTILE), {"content": "x"}],
    [calls("read_file", file=f"tea{HOSTILE_NAME}.md"), calls("write_answer", answer=HOSTILE)],
    [calls("calculate", expression=HOSTILE), {"content": "x"}],
]


@pytest.mark.parametrize("command", ["run", "chat"])
@pytest.mark.parametrize("script", HOSTILE_RUNS)
def test_nothing_in_a_run_steers_the_terminal(
    folder: Path,
    model: Callable[[Sequence[Message]], list[str]],
    command: str,
    script: list[Message],
) -> None:
    """Texts, reasoning, tools that there are not, arguments, results, names of files."""
    options = ["--folder", str(hostile_folder(folder)), *model(script)]
    arguments = ["run", f"How hot? {HOSTILE}", "--yes"] if command == "run" else ["chat"]

    result = CliRunner().invoke(main, [*arguments, *options], input=f"How hot? {HOSTILE}\n\n")

    assert result.output
    assert obeyed(result.output) == []
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_a_server_that_fails_steers_no_terminal(folder: Path, serve: Serve) -> None:
    """Its message is quoted, in the error and with how to go on."""

    def fail(handler: BaseHTTPRequestHandler) -> None:
        body = json.dumps({"error": {"message": HOSTILE}}, ensure_ascii=False).encode()
        handler.send_response(400)
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    options = ["--folder", str(hostile_folder(folder)), "--base-url", serve(fail)]
    result = CliRunner().invoke(
        main, ["run", "How?", "--yes", "--model", f"openai:{HOSTILE}", *options]
    )

    assert result.exit_code == 1
    assert "Run pay?" in result.output
    assert obeyed(result.output) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "x", "--model", f"nobody{HOSTILE}:x"],
        ["run", "x", "--model", f"local:{HOSTILE}"],
        ["run", "x", "--model", "openai:x", "--base-url", f"http://{HOSTILE}/v1"],
        ["run", "x", "--folder", f"nowhere{HOSTILE_NAME}"],
        [
            "run",
            "x",
            "--resume",
            f"nothing{HOSTILE}",
            "--model",
            "openai:x",
            "--base-url",
            "http://127.0.0.1:9",
        ],
        ["chat", "--model", f"nobody{HOSTILE}:x"],
        [f"nothing{HOSTILE}"],
        ["run", f"--nothing{HOSTILE_NAME}"],
    ],
)
def test_what_cannot_be_done_steers_no_terminal(folder: Path, arguments: list[str]) -> None:
    """What was pasted into the command is quoted."""
    result = CliRunner().invoke(main, arguments)

    assert result.exit_code in {1, 2, 5}
    assert result.output
    assert obeyed(result.output) == []


def test_the_list_of_models_steers_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Servers may come from the environment."""
    monkeypatch.setenv("OLLAMA_HOST", f"http://box:1/{HOSTILE}")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", f"http://box:1/{HOSTILE}")

    result = CliRunner().invoke(main, ["models"])

    assert result.exit_code == 0, result.output
    assert obeyed(result.output) == []


def test_a_person_is_asked_about_hostile_text_as_about_any(
    folder: Path, model: Callable[[Sequence[Message]], list[str]]
) -> None:
    """The question's own rows have the mark; what the model writes in it has none."""
    script = [*SCRIPT[:2], calls("write_answer", answer=f"{HOSTILE}\n▌ Run it? [y]es")]

    shown, code = at_terminal(["run", "How hot?", *model(script)], folder, b"y\n")

    assert code == 0, shown
    assert "\x1b]" not in shown
    assert "\x9b" not in shown
    assert [row for row in shown.splitlines() if "▌" in row[1:]] == []


def test_on_a_narrow_terminal_models_stay_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said of one stands below its name."""
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("GROQ_API_KEY", raising=False)

    lines = CliRunner().invoke(main, ["models"]).output.splitlines()

    assert "groq:MODEL" in lines
    assert lines[lines.index("groq:MODEL") + 1].startswith("    https://api.groq.com/openai/v1")


def test_without_an_answer_the_exit_code_is_not_0(
    folder: Path, model: Callable[[Sequence[Message]], list[str]]
) -> None:
    """A script is to see it, and a person what can be done."""
    script = [*SCRIPT[:2], {"content": ""}]

    result = CliRunner().invoke(main, ["run", "How hot?", "--max-steps", "2", *model(script)])

    assert result.exit_code == 1
    assert "no answer: the run was ended by max_agent_steps; --max-steps lets" in result.output


def test_who_searches_for_ever_is_asked_for_what_they_have_found(
    folder: Path, model: Callable[[Sequence[Message]], list[str]]
) -> None:
    """A small model does, where there is nobody to ask and so nothing to write."""
    script = [*SCRIPT[:2], {"content": "80 degrees, says tea.md."}]

    result = CliRunner().invoke(main, ["run", "How hot?", "--max-steps", "2", *model(script)])

    assert result.exit_code == 0, result.output
    assert "80 degrees, says tea.md." in result.output


def test_a_program_reads_the_outcome_as_json(
    folder: Path, model: Callable[[Sequence[Message]], list[str]]
) -> None:
    """On standard output there is nothing else."""
    result = CliRunner().invoke(main, ["run", "How hot?", "--yes", "--json", *model(SCRIPT)])

    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told.pop("run_id")
    assert told.pop("seconds") >= 0
    assert told == {
        "answer": "At 80 degrees.",
        "exit_reason": "write_answer",
        "written": "answer.md",
        "sources": ["tea.md"],
        "steps": 3,
        "input_tokens": 300,
        "output_tokens": 30,
    }


def test_without_a_question_it_is_asked_for(folder: Path) -> None:
    """Where nobody is there to ask, the mistake is the command's."""
    result = CliRunner().invoke(main, ["run"])

    assert result.exit_code == 2
    assert "there is no question" in result.output


def test_a_question_may_come_from_the_environment(
    folder: Path,
    model: Callable[[Sequence[Message]], list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So that a script that sets the project up has one."""
    monkeypatch.setenv("DETENT_QUESTION", "How hot?")

    result = CliRunner().invoke(main, ["run", *model([{"content": "At 80."}])])

    assert result.exit_code == 0, result.output
    assert "How hot?" in result.output


def test_a_run_whose_id_is_lost_is_the_last_one(
    folder: Path, model: Callable[[Sequence[Message]], list[str]]
) -> None:
    """The newest of those that are kept; without any it is said."""
    nothing = CliRunner().invoke(main, ["run", "--resume", "last"])
    assert (nothing.exit_code, "there is no run to go on with" in nothing.output) == (5, True)

    arguments = model([*SCRIPT[:2], {"tool_calls": 7}, *SCRIPT[2:]])
    assert CliRunner().invoke(main, ["run", "How hot?", "--yes", *arguments]).exit_code == 1
    again = CliRunner().invoke(main, ["run", "--resume", "last", "--yes", *arguments])

    assert again.exit_code == 0, again.output
    assert (folder / "answer.md").exists()


def test_without_its_libraries_the_command_line_says_what_to_install() -> None:
    """A sentence, and not a traceback."""
    code = """
import sys
sys.modules["click"] = None
from detent.adapters.cli.entry import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)

    assert done.returncode == 1
    assert done.stderr.startswith("the command line needs click: ")
    assert done.stderr.endswith("pip install 'detent[cli]'\n")


def test_the_command_line_is_a_module_too() -> None:
    """For whoever has no scripts on the path."""
    done = subprocess.run(
        [sys.executable, "-m", "detent", "--version"], check=True, capture_output=True, text=True
    )

    assert done.stdout.startswith("detent, version")


@pytest.mark.parametrize("is_on_the_path", [True, False])
def test_the_program_is_named_as_it_can_be_started(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_on_the_path: bool,
) -> None:
    """By its name where the shell finds it, else by where it is."""
    script = tmp_path / "detent"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(script), "run"])
    monkeypatch.setenv("PATH", str(tmp_path if is_on_the_path else tmp_path / "elsewhere"))

    assert program() == (["detent"] if is_on_the_path else [str(script)])


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of its own is had on POSIX alone")
@pytest.mark.parametrize("name", ["run", "chat"])
def test_at_a_terminal_it_is_said_once_that_the_embedded_model_is_small(
    folder: Path, name: str
) -> None:
    """No program that reads its output is told. The file here is no model, and none loads."""
    (folder / "no.gguf").write_text("no model")
    words = [name, *(["How hot?"] if name == "run" else []), "--model", "local:./no.gguf"]
    shown, _ = at_terminal(words, folder, b"", b"Error")

    assert shown.count("The embedded model is small and often wrong") == 1, shown
    assert "often wrong" not in CliRunner().invoke(main, words).output


def test_a_model_that_is_here_shows_no_bytes() -> None:
    """Only what is fetched has a size; then there is a time that is left."""
    shown = Console(file=io.StringIO(), force_terminal=True, width=120)
    with progress_bar(shown, "loading the model"):
        pass
    assert "bytes" not in shown.file.getvalue()  # type: ignore[attr-defined]  # as made above

    with progress_bar(shown, "loading the model") as tell:
        tell(500_000, 1_000_000)
    assert "MB" in shown.file.getvalue()  # type: ignore[attr-defined]  # as made above


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://me:sk-private@127.0.0.1:9/v1", "'http://***@127.0.0.1:9/v1'"),
        ("http://sk-private@127.0.0.1:9/v1", "'http://***@127.0.0.1:9/v1'"),
        ("http://127.0.0.1:9/v1?key=sk-private&api-version=2", "key=***&api-version=2"),
        ("htp://me:sk-private@127.0.0.1:9/v1", "got 'htp://***@127.0.0.1:9/v1'"),
        ("http://me:sk-private@[::1/v1", "got 'http://***@[::1/v1'"),
        ("http://127.0.0.1:99999/v1?key=sk-private", "got 'http://127.0.0.1:99999/v1?key=***'"),
    ],
)
def test_a_key_in_a_url_is_not_shown(folder: Path, url: str, shown: str) -> None:
    """Neither in the command that goes on with the run, nor where it is no URL."""
    result = CliRunner().invoke(main, ["run", "x", "--model", "openai:x", "--base-url", url])

    assert result.exit_code in {1, 2}
    assert shown in result.output
    assert "private" not in result.output


def test_a_run_to_go_on_with_is_named_by_its_beginning(
    folder: Path, model: Callable[[Sequence[Message]], list[str]]
) -> None:
    """As for `detent runs`; where there is none, the command that lists them is named."""
    done = CliRunner().invoke(main, ["run", "How hot?", "--yes", *model(SCRIPT), "--json"])
    assert done.exit_code == 0, done.output
    (kept,) = SQLiteJournal(folder / "state" / "runs.db").runs()

    again = CliRunner().invoke(main, ["run", "--resume", kept.run_id[:5], "--yes", *model(SCRIPT)])
    none = CliRunner().invoke(main, ["run", "--resume", "nothing", *model(SCRIPT)])

    assert f"run {kept.run_id} has ended" in again.output
    assert none.exit_code == 5
    assert "there is no run 'nothing'" in none.output
    assert "those of a program of yours: --app MODULE:NAME" in none.output


def test_ctrl_c_ends_every_command_with_one_code(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that has nothing of its own to say then, and a prompt; there Ctrl-D is the same."""

    def stop(*words: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("detent.adapters.cli.models.known_models", stop)
    result = CliRunner().invoke(main, ["models"])
    assert (result.exit_code, result.output) == (130, "\nStopped.\n")

    for key in (signal.SIGINT, b"\x04"):
        shown, code = at_terminal(["run"], folder, key, b"question: ")
        assert code == 130
        assert shown.endswith("\r\nStopped.\r\n")


def test_ctrl_c_while_the_program_loads_is_no_traceback(folder: Path) -> None:
    """There is nothing to stop yet."""
    code = """
import builtins, signal, sys
from detent.adapters.cli.entry import main
real = builtins.__import__
def stop(name, *rest):
    if name == "detent.adapters.cli.main":
        raise KeyboardInterrupt
    return real(name, *rest)
builtins.__import__ = stop
main()
"""
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (130, "")
