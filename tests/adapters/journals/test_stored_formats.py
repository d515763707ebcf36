"""What any earlier Detent has stored is gone on with by this one.

`python tests/adapters/journals/test_stored_formats.py` adds files of the present
format to `stored`.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, timedelta
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from detent import (
    Agent,
    AgentResult,
    BlockingConfirmationStrategy,
    ChatMessage,
    ConfirmationUIResult,
    Reply,
    Runs,
    ScriptedChatGenerator,
    ToolCall,
    create_tool_from_function,
    load_snapshot,
    save_snapshot,
)
from detent.adapters.drivers import recording
from detent.core.storage.upgrades import FORMAT
from detent.journals import DirectoryJournal
from detent.machine import Effect, Event, Run, ToolStarted, Write

STORED = Path(__file__).parent / "stored"
FORMATS = range(1, FORMAT + 1)


class Colour(Enum):
    """A choice."""

    RED = "red"


@frozen
class Page:
    """A record."""

    title: str
    made: date | None = None


def longest(current: timedelta | None, update: timedelta) -> timedelta:
    """A handler."""
    return max(current or timedelta(), update)


SCHEMA: dict[str, Any] = {
    "pages": {"type": list[Page]},
    "span": {"type": timedelta, "handler": longest},
    "colour": {"type": Colour},
    "tags": {"type": set[str]},
    "either": {"type": date | int},
    "free": {"type": dict},
    "pair": {"type": tuple[int, ...]},
}


def look(n: int) -> Reply:
    """Look, and write all there is to write."""
    return Reply(
        f"looked {n}",
        Write("pages", Page("one", date(2026, 1, n))),
        Write("pages", [Page("two")]),
        Write("span", timedelta(days=n, microseconds=1)),
        Write("colour", Colour.RED),
        Write("either", date(2026, 1, n)),
        Write("tags", {"b", "a"}),
        Write("free", {"n": [n, None, {"is": "free"}]}),
        Write("pair", (n, 2)),
    )


def slow(n: int) -> str:
    """Be under way when the process ends."""
    return f"slow {n}"


def answer(messages: Sequence[ChatMessage]) -> ChatMessage | str:
    """Two turns with two calls each, then a text."""
    turn = 1 + sum(1 for message in messages if message.tool_calls)
    if turn == 3:
        return "done"
    calls = [ToolCall(name, {"n": turn}, f"{name}{turn}") for name in ("look", "slow", "nobody")]
    return ChatMessage.from_assistant("let me see", tool_calls=calls, reasoning="hm")


def agent_of(folder: Path | None = None, **options: Any) -> Agent[Any]:
    return Agent(
        chat_generator=ScriptedChatGenerator(*[answer] * 9),
        tools=[create_tool_from_function(one, on_unknown="rerun") for one in (look, slow)],
        state_schema=SCHEMA,
        parallel_tool_calls=1,
        journal=None if folder is None else DirectoryJournal(folder),
        **options,
    )


def last_call(run: Run[Any], effect: Effect) -> bool:
    """A breakpoint behind a call that has written to the state, in a turn that is still open."""
    return effect.key[:3] == ("tool", 2, 1)


def write_fixtures() -> None:
    """A run that was cut off while a call was under way, and one that has stopped."""
    folder = STORED / f"runs_{FORMAT}"
    shutil.rmtree(folder, ignore_errors=True)
    recording.ENTRIES = 4
    with suppress(Killed):
        agent_of(folder, observers=[kill_in_last_call]).run("go", run_id="r")
    stopped = agent_of().run("go", break_point=last_call, raise_at_break_point=False)
    save_snapshot(stopped.snapshot, folder).rename(folder / "stopped.json")


class Killed(BaseException):
    """As if the process had ended."""


def kill_in_last_call(before: Run[Any], event: Event, after: Run[Any]) -> None:
    """An observer."""
    if isinstance(event, ToolStarted) and event.ref == (2, 1):
        raise Killed


def assert_whole(result: AgentResult[Any]) -> None:
    """As if it had never stopped."""
    whole = agent_of().run("go")
    assert list(result.messages) == list(whole.messages)
    assert result.state == whole.state
    assert result.text == "done"


@pytest.mark.parametrize("version", FORMATS)
def test_a_run_of_each_format_goes_on(version: int, tmp_path: Path) -> None:
    """It gets entries of the present format behind the old ones, and is read again as a whole."""
    folder = shutil.copytree(STORED / f"runs_{version}", tmp_path / "runs")

    assert_whole(agent_of(folder).resume("r"))
    assert_whole(agent_of(folder).resume("r"))

    runs = Runs(DirectoryJournal(folder), agent_of().spec)
    assert runs.replay("r") == runs.at("r")


@pytest.mark.parametrize("version", FORMATS)
def test_a_snapshot_of_each_format_goes_on(version: int) -> None:
    """With what its state holds, and with what tools have written in the turn that is open."""
    snapshot = load_snapshot(STORED / f"runs_{version}" / "stopped.json")

    assert_whole(agent_of().run(snapshot=snapshot))
    assert "look" in snapshot.summary()


@pytest.mark.parametrize("version", FORMATS)
def test_the_files_are_of_their_format(version: int) -> None:
    """Or the other tests would prove nothing."""
    first = next(DirectoryJournal(STORED / f"runs_{version}").read("r"))

    assert first.data["format"] == version


def test_a_run_in_a_directory_of_layout_2_goes_on(tmp_path: Path) -> None:
    """Those of the formats up to 3 are of layout 1."""
    folder = shutil.copytree(STORED / "layout_2", tmp_path / "runs")
    assert b'"layout":2' in (folder / "r.jsonl").read_bytes()

    assert_whole(agent_of(folder).resume("r"))


class Above:
    """A policy that looks at the amount."""

    def should_ask(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> bool:
        """Ask about more than one."""
        return bool(tool_params["n"] > 1)


class Human:
    """Somebody who says yes."""

    def get_user_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> ConfirmationUIResult:
        """Confirm."""
        return ConfirmationUIResult("confirm")


def test_a_question_of_format_2_is_still_asked(tmp_path: Path) -> None:
    """What the policy said stood in the model's reply: of two calls it asked about one."""
    folder = shutil.copytree(STORED / "runs_2", tmp_path / "runs")
    paid: list[int] = []

    def pay(n: int) -> str:
        """Pay."""
        paid.append(n)
        return f"paid {n}"

    agent = Agent(
        chat_generator=ScriptedChatGenerator("done"),
        tools=[create_tool_from_function(pay)],
        confirmation_strategies={"pay": BlockingConfirmationStrategy(Above(), Human())},
        journal=DirectoryJournal(folder),
    )

    result = agent.resume("asked")

    assert result.text == "done"
    assert paid == [2]


if __name__ == "__main__":
    write_fixtures()
