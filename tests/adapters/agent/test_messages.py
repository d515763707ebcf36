"""`Agent.send` and `Agent.cancel`: what is said to a run from anywhere while it is driven."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from detent import (
    Agent,
    AgentResult,
    AlwaysAskPolicy,
    ChatMessage,
    HITLBreakpointException,
    Inbox,
    MemoryJournal,
    ScriptedChatGenerator,
    SQLiteJournal,
    ToolCall,
    tool,
)
from detent.adapters.agent.records.audit import audit_log
from detent.core.chat.messages import ChatRole
from detent.core.errors import UnstorableError
from detent.journals import (
    AuditedJournal,
    DirectoryJournal,
    EncryptedJournal,
    Journal,
    RedactedJournal,
    RunEndedError,
    RunNotFoundError,
    Runs,
)
from detent.machine import MessageReceived

RUN = "told"
MAIL = ChatMessage.from_user("and by card 1234", meta={"labels": ["mail"]})
STORES: dict[str, Callable[[Path], Journal]] = {
    "memory": lambda place: MemoryJournal(),
    "directory": lambda place: DirectoryJournal(place / "runs"),
    "sqlite": lambda place: SQLiteJournal(place / "runs.db"),
    "audited": lambda place: AuditedJournal(MemoryJournal()),
    "encrypted": lambda place: EncryptedJournal(
        SQLiteJournal(place / "runs.db"), lambda said: said[::-1], lambda said: said[::-1]
    ),
    "redacted": lambda place: RedactedJournal(
        MemoryJournal(), lambda text: text.replace("1234", "****")
    ),
}


@pytest.fixture(params=STORES)
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Journal:
    """A journal that a driver and somebody else have."""
    return STORES[request.param](tmp_path)


def texts(result: AgentResult[Any, Any]) -> list[str]:
    """The conversation."""
    return [one.text or f"<{one.role.value}>" for one in result.messages]


def drive(agent: Agent[Any, Any], *, is_async: bool) -> AgentResult[Any, Any]:
    """Begin the run, in either colour."""
    if is_async:
        return asyncio.run(agent.run_async("go", run_id=RUN))
    return agent.run("go", run_id=RUN)


@pytest.mark.parametrize("is_async", [False, True])
def test_what_is_said_while_a_tool_is_at_work_is_read_behind_its_result(
    journal: Journal, *, is_async: bool
) -> None:
    """By the driver, in every store; the journal replays to the same run, with its labels."""

    @tool
    def work() -> str:
        """Work, while somebody speaks."""
        other.send(RUN, MAIL, by="Ada")
        other.send(RUN, "quickly")
        return "worked"

    model = ScriptedChatGenerator(ToolCall("work", id="w"), "done")
    agent: Agent[Any, Any] = Agent(chat_generator=model, tools=[work], journal=journal)
    other = agent.evolve(chat_generator=ScriptedChatGenerator())

    result = drive(agent, is_async=is_async)

    card = f"and by card {'****' if isinstance(journal, RedactedJournal) else '1234'}"
    assert texts(result) == ["go", "<assistant>", "<tool>", card, "quickly", "done"]
    assert (result.run.labels, result.run.unread) == (("mail",), ())
    kinds = [entry.kind for entry in journal.read(RUN)]
    assert kinds.count("MessageReceived") == 2
    assert kinds.index("MessageReceived") < kinds.index("ToolReturned")
    assert Runs(journal, agent.spec).replay(RUN) == result.run
    assert [one.labels for one in journal.runs()] == [("mail",)]


@pytest.mark.parametrize("is_async", [False, True])
def test_what_is_said_while_the_model_answers_keeps_the_run_going(*, is_async: bool) -> None:
    """Its answer does not know of it."""

    def answer(messages: Sequence[ChatMessage]) -> str:
        agent.send(RUN, "more")
        return "done"

    agent: Agent[Any, Any] = Agent(
        chat_generator=ScriptedChatGenerator(answer, "all of it"), journal=MemoryJournal()
    )
    assert texts(drive(agent, is_async=is_async)) == ["go", "done", "more", "all of it"]


def test_what_is_said_to_a_run_that_waits_is_read_once_it_is_decided() -> None:
    """No call is parted from its answer."""

    @tool
    def pay() -> str:
        """Pay it."""
        return "paid"

    agent: Agent[Any, Any] = Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("pay", id="p"), "done"),
        tools=[pay],
        confirmation_strategies={"pay": AlwaysAskPolicy()},
        journal=MemoryJournal(),
    )
    with pytest.raises(HITLBreakpointException):
        agent.run("go", run_id=RUN)
    agent.send(RUN, "in euros")
    (call,) = agent.pending(RUN)
    agent.decide(RUN, call.confirm())
    result = agent.resume(RUN)
    assert texts(result) == ["go", "<assistant>", "<tool>", "in euros", "done"]


def test_what_is_said_to_a_run_that_nobody_drives_is_read_by_who_resumes_it() -> None:
    """Whoever asked the model before is gone."""

    def falls_over(messages: Sequence[ChatMessage]) -> str:
        raise KeyboardInterrupt

    journal = MemoryJournal()
    agent: Agent[Any, Any] = Agent(
        chat_generator=ScriptedChatGenerator(falls_over), journal=journal
    )
    with pytest.raises(KeyboardInterrupt):
        agent.run("go", run_id=RUN)
    agent.send(RUN, "more")
    later = agent.evolve(chat_generator=ScriptedChatGenerator("done"))
    assert texts(later.resume(RUN)) == ["go", "more", "done"]


def test_a_run_that_has_ended_is_told_nothing() -> None:
    """The error says how to go on; the run is as it was."""
    agent = Agent(chat_generator=ScriptedChatGenerator("done", "more"), journal=MemoryJournal())
    first = agent.run("go", run_id=RUN)
    for say in (partial(agent.send, RUN, "more"), partial(agent.cancel, RUN, "enough")):
        with pytest.raises(RunEndedError, match=r"it is done; .*after=result") as refused:
            say()
        assert (refused.value.run_id, refused.value.status) == (RUN, "done")
    assert texts(agent.run("more", after=first))[-2:] == ["more", "more"]


@pytest.mark.parametrize(
    ("message", "error", "why"),
    [
        (ChatMessage.from_assistant("I did"), ValueError, "a user's message"),
        (ChatMessage.from_user("x", meta={"labels": 1}), ValueError, "a list of texts"),
        (ChatMessage.from_user("x", meta={"a": ChatRole}), UnstorableError, "cannot be stored"),
    ],
)
def test_what_cannot_be_said_is_refused(
    message: ChatMessage, error: type[Exception], why: str
) -> None:
    """And nothing is written."""

    def answer(messages: Sequence[ChatMessage]) -> str:
        with pytest.raises(error, match=why):
            agent.send(RUN, message)
        return "done"

    agent: Agent[Any, Any] = Agent(
        chat_generator=ScriptedChatGenerator(answer), journal=MemoryJournal()
    )
    assert texts(agent.run("go", run_id=RUN)) == ["go", "done"]
    with pytest.raises(RunNotFoundError):
        agent.send("nowhere", "x")


def test_what_stays_unread_is_read_by_the_run_behind() -> None:
    """A limit was in the way: nobody's word is lost, nor its labels."""

    def answer(messages: Sequence[ChatMessage]) -> str:
        agent.send(RUN, MAIL)
        return "done"

    journal = MemoryJournal()
    agent: Agent[Any, Any] = Agent(
        chat_generator=ScriptedChatGenerator(answer, "next", "fork"),
        max_agent_steps=1,
        journal=journal,
    )
    first = agent.run("go", run_id=RUN, thread_id="t")
    assert (first.run.unread, first.text) == ((MAIL,), "done")
    second = agent.run("on", thread_id="t")
    assert texts(second) == ["go", "done", "and by card 1234", "on", "next"]
    assert second.run.labels == ("mail",)
    fork = Runs(journal, agent.spec).fork(RUN, messages=[ChatMessage.from_user("else")])
    more = agent.evolve(max_agent_steps=3)
    assert texts(more.run(snapshot=fork)) == ["go", "done", "and by card 1234", "else", "fork"]


def test_an_inbox_tells_it_without_a_journal() -> None:
    """Whoever follows the run sees it."""
    inbox = Inbox()
    said = MessageReceived(ChatMessage.from_user("more"))

    def answer(messages: Sequence[ChatMessage]) -> str:
        inbox.put(said)
        return "done"

    seen: list[Any] = []
    agent: Agent[Any, Any] = Agent(
        chat_generator=ScriptedChatGenerator(answer, "all of it"),
        observers=[lambda before, event, after: seen.append(event)],
    )
    result = agent.run("go", inbox=inbox)
    assert texts(result)[-2:] == ["more", "all of it"]
    assert said in seen


def test_an_audit_says_who_has_said_what() -> None:
    """It is on record beside what was decided."""

    def answer(messages: Sequence[ChatMessage]) -> str:
        agent.send(RUN, "more", by="Ada")
        return "done"

    journal = MemoryJournal()
    agent: Agent[Any, Any] = Agent(
        chat_generator=ScriptedChatGenerator(answer, "all"), journal=journal
    )
    agent.run("go", run_id=RUN)
    (record,) = audit_log(journal, agent.spec, RUN)
    assert (record.what, record.by, record.text) == ("said", "Ada", "more")


def test_what_another_process_says_is_read(tmp_path: Path) -> None:
    """It knows nothing of the agent but its rules."""
    journal = SQLiteJournal(tmp_path / "runs.db")
    program = (
        "from detent import Agent, ScriptedChatGenerator, SQLiteJournal\n"
        f"journal = SQLiteJournal({str(tmp_path / 'runs.db')!r})\n"
        "agent = Agent(chat_generator=ScriptedChatGenerator(), journal=journal)\n"
        f"agent.send({RUN!r}, 'more')\n"
    )

    def answer(messages: Sequence[ChatMessage]) -> str:
        subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
        return "done"

    agent: Agent[Any, Any] = Agent(
        chat_generator=ScriptedChatGenerator(answer, "all"), journal=journal
    )
    assert texts(agent.run("go", run_id=RUN)) == ["go", "done", "more", "all"]


def test_a_run_is_cancelled_from_anywhere() -> None:
    """Its driver hears of it while it works."""

    @tool
    def work() -> str:
        """Work, while somebody cancels the run."""
        agent.cancel(RUN, "enough")
        return "worked"

    agent: Agent[Any, Any] = Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("work", id="w")),
        tools=[work],
        journal=MemoryJournal(),
    )
    result = agent.run("go", run_id=RUN)
    assert result.exit_reason == "cancelled"
