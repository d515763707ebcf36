"""A chat with memory over weeks: each question is a run, all runs of a person are one thread.

Nothing runs between two questions, and each may come in another process. The model is sent the
last messages only. What it shall not forget it notes itself: notes are a key of the state, which
goes from run to run, and a hook shows them to the model with each question.
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path

from attrs import evolve

from detent import (
    Agent,
    ChatMessage,
    Hook,
    Reply,
    Runs,
    ScriptedChatGenerator,
    SQLiteJournal,
    ToolCall,
    TypedState,
    Unique,
    before_model,
    chat_generator,
    keep_last_messages,
    tool,
)
from detent.journals import Journal
from detent.machine import AskModel, Run
from detent.models import ChatGenerator

MESSAGES_SENT = 12
PROMPT = (
    "You are a friend who remembers. If the user tells a fact about themselves, call note. If the "
    "user asks a question, answer it from what you know."
)


class Memory(TypedState):
    """What goes from run to run beside the messages."""

    notes = Unique[str]()


@tool
def note(state: Memory, sentence: str) -> Reply:
    """Note a new fact that the user has told about themselves. Not for questions.

    Args:
        state: the notes so far.
        sentence: the fact, in words that are understood in weeks.
    """
    return Reply(f"noted, as number {len(state.notes) + 1}", Memory.notes.put([sentence]))


def shown_notes() -> Hook:
    """Show the model all notes, wherever the window of messages begins."""

    def shown(ask: AskModel, run: Run[Memory]) -> AskModel | None:
        if not run.state.notes:
            return None
        facts = "\n".join(f"- {one}" for one in run.state.notes)
        notes = ChatMessage.from_system(f"What you know about the user:\n{facts}")
        return evolve(ask, messages=[notes, *ask.messages])

    return before_model(shown)


def make_friend(model: ChatGenerator, journal: Journal) -> Agent[Memory, None]:
    """The agent: it is made anew for each question, and knows nothing by itself."""
    return Agent(
        name="friend",
        chat_generator=model,
        tools=[note],
        state_schema=Memory,
        system_prompt=PROMPT,
        journal=journal,
        hooks=[shown_notes(), keep_last_messages(MESSAGES_SENT)],
    )


def history(journal: Journal, person: str) -> list[str]:
    """When this person asked: a line for each run, the oldest first."""
    runs = Runs(journal, make_friend(scripted(""), journal).spec).list(thread_id=person)
    times = {run.run_id: datetime.fromtimestamp(run.at, UTC) for run in reversed(runs)}
    return [f"{at:%Y-%m-%d %H:%M} {run_id}" for run_id, at in times.items()]


def scripted(said: str) -> ScriptedChatGenerator:
    """A stand-in for the model: it notes every sentence with "my", and else counts."""
    if " my " in f" {said} ".lower():
        return ScriptedChatGenerator(ToolCall("note", {"sentence": said}), "I'll remember that.")
    return ScriptedChatGenerator(lambda messages: f"I was sent {len(messages)} messages.")


def main() -> None:
    """Answer one question, or each line of the terminal."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("person")
    parser.add_argument("question", nargs="?", help="without one, lines are read")
    parser.add_argument(
        "--journal", type=Path, default=Path("chats.db"), help="the file that keeps the chats"
    )
    parser.add_argument("--model", help="'local', 'openai:NAME' and so on; a script without it")
    options = parser.parse_args()
    journal = SQLiteJournal(options.journal)
    model = chat_generator(options.model) if options.model else None
    for line in [options.question] if options.question else sys.stdin:
        friend = make_friend(model or scripted(line.strip()), journal)
        print(friend.run(line.strip(), thread_id=options.person).text)
    print(*history(journal, options.person), sep="\n", file=sys.stderr)


if __name__ == "__main__":
    main()
