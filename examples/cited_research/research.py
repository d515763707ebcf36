"""Research with sub-agents: two readers find, a writer writes, and every citation is checked.

A citation is right when the words that it quotes stand in the paper that it names. That is looked
up by a hook, not asked of a model: an answer with a made-up quotation goes back to the writer.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from detent import (
    Agent,
    AgentTool,
    ChatMessage,
    Hook,
    OutputError,
    OutputType,
    ScriptedChatGenerator,
    State,
    ToolCall,
    chat_generator,
    on_exit,
    tool,
)
from detent.machine import Finished, Run
from detent.models import ChatGenerator
from detent.testing import When

PAPERS = Path(__file__).resolve().parent / "papers"
QUESTION = "How did clocks become exact, and what is a detent?"
QUOTE_WORDS = 3
"""How many words a quotation has at least."""


@frozen
class Claim:
    """One sentence of a report, and what it rests on.

    Attributes:
        text: the sentence.
        paper: the name of the paper that says so.
        quote: its very words, a part of a sentence or more.
    """

    text: str
    paper: str
    quote: str


@frozen
class Report:
    """What was found out: two claims or more."""

    claims: tuple[Claim, ...]


def library(folder: Path) -> dict[str, str]:
    """The papers of a folder by name, each as one line of text."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.txt"))}
    return {name: " ".join(text.split()) for name, text in texts.items()}


def faults(claims: Iterable[Claim], papers: Mapping[str, str]) -> list[str]:
    """A sentence for each citation that is wrong."""
    found: list[str] = []
    for claim in claims:
        is_long = len(claim.quote.split()) >= QUOTE_WORDS
        where = [name for name, text in papers.items() if is_long and claim.quote in text]
        if claim.paper in where:
            continue
        if where:
            found.append(f"{claim.quote!r} is of the paper {where[0]!r}, not {claim.paper!r}")
        elif claim.paper not in papers:
            found.append(f"there is no paper {claim.paper!r}, only {', '.join(papers)}")
        else:
            found.append(f"{claim.quote!r} does not stand in the paper {claim.paper!r}")
    return found


def quotes_stand_in_papers(papers: Mapping[str, str]) -> Hook:
    """Send a report back to the writer as long as one of its citations is wrong."""

    def checked(run: Run[State]) -> str | None:
        given = run.outcome.answer if isinstance(run.outcome, Finished) else {}
        claims: Any = given.get("claims", ())  # of the output type: it has been checked
        wrong = faults([Claim(**claim) for claim in claims], papers)
        return f"Mend these citations, and report: {'; '.join(wrong)}." if wrong else None

    return on_exit(checked)


def make_writer(
    papers: Mapping[str, str], writing: ChatGenerator, reading: ChatGenerator
) -> Agent[State, Report]:
    """The writer, whose tool is a reader with tools of its own."""

    @tool
    def search(words: str) -> list[str]:
        """Find the sentences with any of these words, each behind the name of its paper."""
        wanted = [word.lower() for word in re.findall(r"\w{4,}", words)]
        return [
            f"{name}: {sentence}"
            for name, text in papers.items()
            for sentence in re.split(r"(?<=[.]) ", text)
            if any(word in sentence.lower() for word in wanted)
        ]

    @tool
    def read(paper: str) -> str:
        """Read a paper, by its name."""
        return papers.get(paper, f"there is no paper {paper!r}, only {', '.join(papers)}")

    reader = Agent(
        chat_generator=reading,
        tools=[search, read],
        system_prompt="Search the papers, and read on where that helps. Then answer by copying the "
        "sentences that answer the question, word for word, each behind the name of its paper.",
        max_agent_steps=8,
    )
    return Agent(
        name="writer",
        chat_generator=writing,
        tools=[AgentTool(reader, name="reader", description="Reads up on one question.")],
        system_prompt="Let the reader read up on each part of the question, several at once. Then "
        "report: a claim in your words, the paper, and a quotation copied from what was read.",
        output_type=OutputType(Report, name="report"),
        max_agent_steps=10,
        hooks=[quotes_stand_in_papers(papers)],
    )


def printed(report: Report) -> str:
    """The report with its notes, for people."""
    said = "\n".join(f"{claim.text} [{n}]" for n, claim in enumerate(report.claims, 1))
    notes = [f"[{n}] {one.paper}: “{one.quote}”" for n, one in enumerate(report.claims, 1)]
    return "\n".join([said, "", *notes])


def scripted() -> tuple[ScriptedChatGenerator, ScriptedChatGenerator]:
    """Stand-ins for the models: the writer makes up a quotation, and mends it when it is told."""
    said = "let a clock's wheel turn by one tooth at a time"
    clocks = {"text": "An escapement made clocks possible.", "paper": "clocks", "quote": said}
    detents = {
        "text": "A detent holds on until it is released.",
        "paper": "detents",
        "quote": "A detent holds a mechanism in place until it is deliberately released.",
    }
    mended = clocks | {"quote": "which lets a wheel turn by one tooth at a time"}
    writer = ScriptedChatGenerator(
        ChatMessage.from_assistant(
            tool_calls=[
                ToolCall("reader", {"task": "What made clocks exact?"}),
                ToolCall("reader", {"task": "What is a detent?"}),
            ]
        ),
        ToolCall("report", {"claims": [clocks, detents]}),
        ToolCall("report", {"claims": [mended, detents]}),
    )

    def read_up(messages: Sequence[ChatMessage]) -> ToolCall | str:
        last = messages[-1]
        if not last.tool_call_results:
            return ToolCall("search", {"words": last.text or ""})
        (result,) = last.tool_call_results
        if result.origin.tool_name == "search":
            return ToolCall("read", {"paper": "detents" if "detents:" in result.text else "clocks"})
        return result.text

    return writer, ScriptedChatGenerator(When(lambda _: True, read_up))


def main() -> None:
    """Print a report about the question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("question", nargs="?", default=QUESTION)
    parser.add_argument("--papers", type=Path, default=PAPERS)
    parser.add_argument("--model", help="'local', 'openai:NAME' and so on; a script without it")
    options = parser.parse_args()
    model = chat_generator(options.model) if options.model else None
    writing, reading = (model, model) if model else scripted()
    result = make_writer(library(options.papers), writing, reading).run(options.question)
    try:
        print(printed(result.output))
    except OutputError as error:  # as small models do
        sys.exit(f"there is no report: {error}")


if __name__ == "__main__":
    main()
