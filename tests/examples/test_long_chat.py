"""A chat that goes on for weeks, in one thread for each person."""

from __future__ import annotations

from pathlib import Path

from detent import ChatMessage, ScriptedChatGenerator, SQLiteJournal
from tests.examples.loading import example

chat = example("long_chat/chat.py")


def say(folder: Path, person: str, line: str) -> tuple[str, tuple[ChatMessage, ...]]:
    """One question, as a process of its own asks it; the answer, and what the model was sent."""
    model: ScriptedChatGenerator = chat.scripted(line)
    friend = chat.make_friend(model, SQLiteJournal(folder / "chats.db"))
    return friend.run(line, thread_id=person).text, model.calls[-1].messages


def test_a_note_outlives_the_window_of_messages(tmp_path: Path) -> None:
    """After thirty questions the model is sent few messages, and the note from the first day."""
    say(tmp_path, "ada", "Hello, my name is Ada.")
    for day in range(30):
        say(tmp_path, "ada", f"This is day {day}.")
    answer, messages = say(tmp_path, "ada", "Who am I?")

    assert answer == f"I was sent {len(messages)} messages."
    assert "my name is Ada" in str(messages[0].text)
    assert all("Hello" not in str(one.text) for one in messages[1:])
    assert len(messages) <= chat.MESSAGES_SENT + 3


def test_people_are_apart(tmp_path: Path) -> None:
    """Another person's thread has neither messages nor notes of the first."""
    say(tmp_path, "ada", "Hello, my name is Ada.")
    _, messages = say(tmp_path, "bob", "Who am I?")
    assert not any("Ada" in str(one.text) for one in messages)

    journal = SQLiteJournal(tmp_path / "chats.db")
    assert len(chat.history(journal, "ada")) == 1
