"""The tools that look into a folder, and no further."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from detent import (
    Agent,
    ChatMessage,
    ScriptedChatGenerator,
    ToolCall,
    before_model,
    before_tool,
)
from detent.adapters.cli.folder import (
    LINE_MAX,
    LINES_PER_READ,
    TOLD_BEFORE,
    Folder,
    Research,
    answer_now,
    answer_of,
    answer_writer,
    calculate,
    folder_tools,
    told_before,
)
from detent.adapters.cli.folder_agent import folder_agent
from detent.adapters.cli.settings import Settings
from detent.models import ChatReply


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A folder with three texts, a hidden one and a picture; a secret lies beside it."""
    root = tmp_path / "notes"
    (root / "deep").mkdir(parents=True)
    (root / "tea.md").write_text("# Tea\n\nGreen tea is brewed at 80 degrees.\n")
    (root / "deep" / "coffee.txt").write_text("Coffee is brewed at 93 degrees.\nBlack.\n")
    (root / "long.md").write_text("\n".join(f"line {n}" for n in range(1, 101)))
    (root / ".hidden.md").write_text("degrees")
    (root / "picture.png").write_bytes(b"degrees")
    (tmp_path / "secret.md").write_text("degrees")
    return Folder(root)


def test_files_are_listed_by_name(folder: Folder) -> None:
    """Text files only, hidden ones left out."""
    assert folder.list_files() == "deep/coffee.txt\nlong.md\ntea.md"


def test_an_empty_folder_says_so(tmp_path: Path) -> None:
    """The model is not left with an empty answer."""
    assert Folder(tmp_path).list_files() == "The folder has no text files."


def test_the_best_matching_lines_come_first(folder: Folder) -> None:
    """A line with both words is before one with a single one; each names its file and line.

    At the end stands how to read on at the best place, as half a line is no answer.
    """
    found = folder.search_files("green degrees")

    assert found["text"] == (
        "tea.md:3: Green tea is brewed at 80 degrees.\n"
        "deep/coffee.txt:1: Coffee is brewed at 93 degrees."
        "\n\nThese are single lines. Read on: read_file('tea.md', from_line=1)"
    )
    assert found["files"] == ["tea.md", "deep/coffee.txt"]


def test_a_search_without_a_match_says_what_to_do(folder: Folder) -> None:
    """It has no sources."""
    found = folder.search_files("cocoa")

    assert found == {"text": "No file has 'cocoa'. Try other words, or list_files.", "files": []}


def test_a_file_is_read_in_pieces(folder: Folder) -> None:
    """Each piece says where it stands."""
    first = folder.read_file("long.md")
    last = folder.read_file("long.md", 90)

    assert first["text"].endswith(f"line {LINES_PER_READ}\n(lines 1 to {LINES_PER_READ} of 100)")
    assert last["text"] == "\n".join(f"line {n}" for n in range(90, 101))
    assert folder.read_file("long.md", 1000)["text"] == "line 100"


@pytest.mark.parametrize("name", ["../secret.md", "/etc/passwd", ".hidden.md", "nope.md", ""])
def test_nothing_outside_the_folder_is_read(folder: Folder, name: str) -> None:
    """Neither are hidden files; the model is told how to find a name."""
    with pytest.raises(ValueError, match="list_files"):
        folder.read_file(name)


@pytest.mark.parametrize(
    "target", ["../secret.md", "/etc/hostname", ".git/config.md", ".hidden.md", "tea.md"]
)
def test_no_link_is_followed(folder: Folder, target: str) -> None:
    """What is outside or hidden is no file of the folder; all else is in it anyway."""
    (folder.root / ".git").mkdir()
    (folder.root / ".git" / "config.md").write_text("degrees of token")
    (folder.root / "link.md").symlink_to(folder.root / target)
    (folder.root / "links").symlink_to((folder.root / target).parent)

    assert "link" not in folder.list_files()
    assert "link" not in folder.search_files("degrees")["text"]
    for name in ("link.md", f"links/{Path(target).name}"):
        with pytest.raises(ValueError, match="list_files"):
            folder.read_file(name)


@pytest.mark.parametrize("swapped", ["tea.md", "deep"])
def test_what_becomes_a_link_after_it_was_listed_is_not_read(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    """Neither a file nor a folder on the way to one: somebody else may change them at any time."""
    outside = folder.root.parent / "outside"
    outside.mkdir()
    (outside / "coffee.txt").write_text("secret degrees")
    found = folder.files()
    (folder.root / swapped).rename(folder.root.parent / "gone")
    target = outside if swapped == "deep" else outside / "coffee.txt"
    (folder.root / swapped).symlink_to(target)
    monkeypatch.setattr(Folder, "files", lambda self: found)  # as it was a moment ago

    name = "deep/coffee.txt" if swapped == "deep" else swapped
    with pytest.raises(ValueError, match="list_files"):
        folder.read_file(name)
    assert "secret" not in folder.search_files("degrees")["text"]


def test_what_becomes_a_pipe_is_not_waited_for(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody would ever write to it."""
    found = folder.files()
    (folder.root / "tea.md").unlink()
    os.mkfifo(folder.root / "tea.md")
    monkeypatch.setattr(Folder, "files", lambda self: found)

    with pytest.raises(ValueError, match="list_files"):
        folder.read_file("tea.md")


def test_a_long_line_is_cut_for_the_model(folder: Folder) -> None:
    """With how much is left."""
    (folder.root / "one-line.json").write_text("x" * 999_000 + "\nshort")

    text = folder.read_file("one-line.json")["text"]

    assert text == f"{'x' * LINE_MAX} … {999_000 - LINE_MAX:,} more characters\nshort"


def test_numbers_are_shown_plainly() -> None:
    """Without the noise of binary fractions."""
    assert calculate("0.1 + 0.2") == "0.3"


def test_an_agent_collects_its_sources_and_writes_its_answer(
    folder: Folder, tmp_path: Path
) -> None:
    """Each source once, in the order in which they were found; writing ends the run."""
    target = tmp_path / "answer.md"
    model = ScriptedChatGenerator(
        ChatMessage.from_assistant(tool_calls=[ToolCall("search_files", {"words": "degrees"})]),
        ChatMessage.from_assistant(tool_calls=[ToolCall("read_file", {"file": "tea.md"})]),
        ChatMessage.from_assistant(tool_calls=[ToolCall("write_answer", {"answer": "80"})]),
    )
    agent = Agent(
        chat_generator=model,
        tools=[*folder_tools(folder), answer_writer(target)],
        exit_conditions=["text", "write_answer"],
        state_schema=Research,
    )

    result = agent.run("How hot?")

    assert result.state.found == ["deep/coffee.txt", "tea.md"]
    assert result.state.sources == ["tea.md"]
    assert target.read_text() == "80\n\nSources:\n\n* tea.md\n"
    assert result.exit_reason == "write_answer"


def test_what_a_model_has_been_told_it_is_not_told_again(folder: Folder) -> None:
    """Small models go round in circles. A failure may be tried again; a new question is new."""
    whole: dict[str, object] = {"file": "tea.md"}
    calls: list[tuple[str, dict[str, object]]] = [
        ("read_file", whole),
        ("read_file", {**whole, "from_line": 3}),
        ("read_file", {"file": "long.md"}),
        ("read_file", {"file": "long.md", "from_line": LINES_PER_READ + 1}),
        ("search_files", {"words": "tea"}),
        ("search_files", {"words": "tea"}),
        ("read_file", {"file": "none.md"}),
        ("read_file", {"file": "none.md"}),
    ]
    script = [ToolCall(name, arguments) for name, arguments in calls]
    again = ToolCall("read_file", whole)
    agent = Agent(
        chat_generator=ScriptedChatGenerator(*script, "Tea.", again, "Tea again."),
        tools=folder_tools(folder),
        state_schema=Research,
        hooks=[before_tool(told_before)],
    )

    first = agent.run("What is tea?")
    told = [one.text == TOLD_BEFORE for m in first.messages for one in m.tool_call_results]
    second = agent.run("And again?", after=first)
    last = [one for m in second.messages for one in m.tool_call_results][-1]

    assert told == [False, True, False, False, False, True, False, False]
    assert last.text != TOLD_BEFORE


def test_a_model_that_goes_round_in_circles_is_left_to_answer(
    folder: Folder, tmp_path: Path
) -> None:
    """Twice told that it has something, it can look for nothing more; it may still write."""
    seen: list[list[str]] = []

    class Circling:
        """A model that asks for one file for ever, as long as it can."""

        def run(self, messages: Any, *, tools: Any = (), **rest: Any) -> ChatReply:
            """Look again, or answer."""
            seen.append([one.name for one in tools])
            if "read_file" in seen[-1]:
                call = ToolCall("read_file", {"file": "tea.md"}, f"c{len(seen)}")
                return ChatReply(ChatMessage.from_assistant(tool_calls=[call]))
            return ChatReply(ChatMessage.from_assistant("Tea is hot."))

    agent = Agent(
        chat_generator=Circling(),
        tools=[*folder_tools(folder), answer_writer(tmp_path / "answer.md")],
        state_schema=Research,
        hooks=[before_tool(told_before), before_model(answer_now)],
    )
    result = agent.run("What is tea?")

    assert (result.text, len(seen)) == ("Tea is hot.", 4)
    assert seen[-1] == ["write_answer"]


def test_where_nothing_may_be_written_the_answer_is_given_to_a_tool(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Once something was read; it needs nobody's yes, and ends the run."""
    monkeypatch.setenv("DETENT_STATE_DIR", str(tmp_path / "state"))
    given = ToolCall("give_answer", {"answer": "At 80 degrees."})
    read = ToolCall("read_file", {"file": "tea.md", "from_line": 1})
    script = ScriptedChatGenerator(given, read, given)
    settings = Settings(folder.root, None, "nobody", None, 9)
    agent = folder_agent(script, settings, asker=None, gives=True)

    result = agent.run("How hot?")

    assert (result.exit_reason, answer_of(result)) == ("give_answer", "At 80 degrees.")
    assert "nothing was read yet" in result.messages[3].tool_call_results[0].text
