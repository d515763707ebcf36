"""A nightly batch: an agent files a thousand letters, one run for each, and may be killed any time.

Every letter has a run of its own, named after it, in one journal. Begun again after a kill, the
batch skips the runs that have ended, goes on with those that were under way, and begins the others.
A letter that was being filed when the power went is looked up where it would be, and is not filed
again.
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Literal

from detent import (
    NEVER_RAN,
    Agent,
    ChatMessage,
    Runs,
    ScriptedChatGenerator,
    SQLiteJournal,
    ToolCall,
    chat_generator,
    tool,
)
from detent.journals import RunExistsError
from detent.models import ChatGenerator
from detent.testing import When

Topic = Literal["bill", "complaint", "praise"]
WORDS: Mapping[str, Topic] = {"invoice": "bill", "broken": "complaint", "thank": "praise"}
SENTENCES = (
    "the invoice for lamp {} is enclosed, please pay it by Friday",
    "lamp {} arrived broken, and I want another one",
    "thank you for lamp {}, it is the most beautiful one that we have",
)
PROMPT = (
    "File the letter under its topic, by the tool: bill, if it wants to be paid; complaint, if "
    "something is wrong; praise, if somebody is happy. Then say 'done'."
)
AT_ONCE = 4


class Register:
    """Where letters are filed: a line for each, appended in one write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def file(self, letter: str, topic: str) -> None:
        """Write a letter down. It does not look whether it is there already."""
        line = f"{letter}\t{topic}\n".encode()
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(handle, line)
        finally:
            os.close(handle)

    def filed(self) -> list[tuple[str, str]]:
        """Each line: a letter and its topic."""
        lines = self.path.read_text(encoding="utf-8").splitlines()
        return [(letter, topic) for letter, _, topic in (line.partition("\t") for line in lines)]


def make_agent(register: Register, journal: SQLiteJournal, model: ChatGenerator) -> Agent:
    """The agent that reads one letter and files it."""

    def look_up(arguments: Mapping[str, object], _: str) -> object:
        """Nobody knows whether the letter was filed: the register does."""
        found = dict(register.filed()).get(str(arguments["letter"]))
        return NEVER_RAN if found is None else f"filed under {found}"

    @tool(on_unknown=look_up)
    def file_letter(letter: str, topic: Topic) -> str:
        """File a letter under its topic.

        Args:
            letter: its name, as the question says it.
            topic: what it is about.
        """
        register.file(letter, topic)
        return f"filed under {topic}"

    return Agent(
        name="registrar",
        chat_generator=model,
        tools=[file_letter],
        system_prompt=PROMPT,
        exit_conditions=[file_letter.name],
        max_agent_steps=4,
        journal=journal,
    )


def work_on(agent: Agent, letter: Path) -> str:
    """Begin the run of a letter, or go on with it; gives the name of the letter."""
    text = letter.read_text(encoding="utf-8")
    try:
        agent.run(f"The letter {letter.name}:\n\n{text}", run_id=letter.stem)
    except RunExistsError:
        agent.resume(letter.stem)
    return letter.name


def batch(folder: Path, model: ChatGenerator) -> Iterator[str]:
    """Work on all the letters of a folder that are not done; gives each name when it is."""
    journal = SQLiteJournal(folder / "runs.db")
    agent = make_agent(Register(folder / "register.tsv"), journal, model)
    done = {run.run_id for run in Runs(journal, agent.spec).list("done")}
    open_letters = [each for each in sorted(folder.glob("*.txt")) if each.stem not in done]
    with ThreadPoolExecutor(AT_ONCE) as workers:
        yield from workers.map(partial(work_on, agent), open_letters)


def write_letters(folder: Path, count: int) -> None:
    """Make up letters to work on."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        sentence = SENTENCES[number % len(SENTENCES)].format(number)
        letter = folder / f"letter-{number:04}.txt"
        letter.write_text(f"Dear all,\n\n{sentence}.\n\nYours, A.\n", encoding="utf-8")


def scripted() -> ScriptedChatGenerator:
    """A stand-in for the model: it knows a topic by one word."""

    def answer(messages: Sequence[ChatMessage]) -> ToolCall | str:
        text = messages[-1].text or ""
        name = re.search(r"The letter (\S+):", text)
        topic = next((topic for word, topic in WORDS.items() if word in text), None)
        if name is None or topic is None:
            return "done"
        return ToolCall("file_letter", {"letter": name[1], "topic": topic})

    return ScriptedChatGenerator(When(lambda _: True, answer))


def main() -> None:
    """Work on a folder; say each letter that is done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--make", type=int, default=0, help="first make up so many letters")
    parser.add_argument("--model", help="'local', 'openai:NAME' and so on; a script without it")
    options = parser.parse_args()
    if options.make:
        write_letters(options.folder, options.make)
    model = chat_generator(options.model) if options.model else scripted()
    for name in batch(options.folder, model):
        print(name, flush=True)


if __name__ == "__main__":
    main()
