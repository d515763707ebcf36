"""The redacted store: it keeps the laws, and what is redacted is nowhere in what it keeps."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from detent import (
    Agent,
    AlwaysAskPolicy,
    ChatMessage,
    HITLBreakpointException,
    MemoryJournal,
    ScriptedChatGenerator,
    ToolCall,
    chat_generator,
    create_tool_from_function,
)
from detent.adapters.control.breakpoints import break_every_step
from detent.adapters.drivers import recording
from detent.approvals import OutdatedQuestionError
from detent.journals import (
    AuditedJournal,
    Checkpoint,
    Entry,
    JournalUnavailableError,
    RedactedJournal,
)
from detent.ports.chat import ChatGeneratorError
from detent.ports.laws import check_journal

CARD = re.compile(r"\b\d{16}\b")


def without_cards(text: str) -> str:
    return CARD.sub("<card>", text)


def kept_in(journal: MemoryJournal, run_id: str = "r") -> str:
    """Everything that a store has of a run."""
    kept = [*journal.read(run_id), *journal.checkpoints(run_id)]
    return repr([*kept, *(one.text for one in kept), *journal.runs()])


def test_the_store_keeps_all_laws() -> None:
    """Those of the store inside, for what needs no redaction."""
    journal = MemoryJournal()
    check_journal(lambda: RedactedJournal(journal, without_cards))


def paying(journal: RedactedJournal, seen: list[str]) -> Agent[Any]:
    def pay(card: str) -> str:
        """Pay."""
        seen.append(card)
        return f"paid with {card}"

    calls = [ToolCall("pay", {"card": "4242424242424242"})]
    return Agent(
        chat_generator=ScriptedChatGenerator(ChatMessage.from_assistant(tool_calls=calls), "done"),
        tools=[create_tool_from_function(pay)],
        journal=journal,
    )


def test_what_is_redacted_is_nowhere_in_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """In no message, argument, result or checkpoint; the run itself has it."""
    monkeypatch.setattr(recording, "ENTRIES", 2)
    inside, seen = MemoryJournal(), list[str]()

    result = paying(RedactedJournal(inside, without_cards), seen).run(
        "pay with 4242424242424242", run_id="r"
    )

    assert seen == ["4242424242424242"]
    assert "4242424242424242" in repr(result.messages)
    assert "42424242" not in kept_in(inside)
    assert kept_in(inside).count("<card>") > 5


def test_a_run_that_goes_on_has_what_was_kept() -> None:
    """That is what redaction costs."""
    inside, seen = MemoryJournal(), list[str]()
    agent = paying(RedactedJournal(inside, without_cards), seen)
    options: dict[str, Any] = {"break_point": break_every_step, "raise_at_break_point": False}
    agent.run("pay with 4242424242424242", run_id="r", **options)
    agent.resume("r", **options)

    result = agent.resume("r")

    assert seen == ["<card>"]
    assert result.messages[0].text == "pay with <card>"


def test_a_question_about_what_was_redacted_is_put_anew() -> None:
    """It was about another card: a yes to that is none to what would run."""
    seen = list[str]()
    journal = RedactedJournal(MemoryJournal(), without_cards)
    agent = paying(journal, seen).evolve(confirmation_strategies={"pay": AlwaysAskPolicy()})
    with pytest.raises(HITLBreakpointException):
        agent.run("pay", run_id="r")
    with pytest.raises(OutdatedQuestionError, match="the arguments have changed"):
        agent.pending("r")

    with pytest.raises(HITLBreakpointException) as raised:
        agent.resume("r")
    agent.decide("r", *(call.confirm() for call in raised.value.pending))
    agent.resume("r")

    assert seen == ["<card>"]


KEYS = {
    "openai:gpt-4.1": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "openai-responses:gpt-4.1": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "anthropic:claude-sonnet-4-5": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
}
KEY = "sk-none-of-your-business-0123456789"


def echo(handler: BaseHTTPRequestHandler) -> None:
    """A server that refuses a key and says everything that it was sent."""
    told = json.dumps({"error": {"message": f"bad key: {dict(handler.headers)}"}}).encode()
    handler.send_response(401)
    handler.send_header("content-length", str(len(told)))
    handler.send_header("content-type", "application/json")
    handler.end_headers()
    handler.wfile.write(told)


@pytest.mark.parametrize("model", KEYS)
def test_no_key_of_the_environment_reaches_a_journal(
    model: str, monkeypatch: pytest.MonkeyPatch, serve: Callable[[Any], str]
) -> None:
    """Also when a call fails, and the server says what it was sent: no wrapper is needed."""
    for name, value in zip(KEYS[model], (KEY, serve(echo)), strict=True):
        monkeypatch.setenv(name, value)
    journal = MemoryJournal()
    with chat_generator(model) as chat:
        agent = Agent(chat_generator=chat, journal=journal)
        with pytest.raises(ChatGeneratorError, match="bad key") as caught:
            agent.run("hello", run_id="r", generation_kwargs={"temperature": 0})

    assert "ModelFailed" in kept_in(journal)
    assert "bad key" in kept_in(journal)
    assert KEY not in kept_in(journal) + str(caught.value)


class Unheard(MemoryJournal):
    """Goes away, behind each append once, before it has said that all is safe."""

    def __init__(self) -> None:
        super().__init__()
        self.said = set[tuple[str, int]]()

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> None:
        """As the port says."""
        super().append(run_id, entries, checkpoint)
        place = run_id, entries[0].position
        if place not in self.said:
            self.said.add(place)
            raise JournalUnavailableError("the store has gone away")


@pytest.mark.parametrize("around", [lambda journal: journal, AuditedJournal])
def test_what_was_written_and_not_told_is_recognised(
    around: Callable[[RedactedJournal], Any],
) -> None:
    """Although what is read back is not what was written."""
    seen: list[str] = []
    agent = paying(around(RedactedJournal(Unheard(), without_cards)), seen)

    assert agent.run("pay with 4242424242424242", run_id="r").last_message.text == "done"
    assert seen == ["4242424242424242"]
