"""The audit log is made of the entries of a run, and holds together with it."""

from __future__ import annotations

from detent import Agent, MemoryJournal, ScriptedChatGenerator
from detent.approvals import audit_log


def test_a_run_in_which_nobody_is_asked_has_an_empty_log() -> None:
    """What the model says is in the conversation."""
    journal = MemoryJournal()
    agent = Agent(chat_generator=ScriptedChatGenerator("Hello."), journal=journal)
    agent.run("Hi", run_id="r")

    assert audit_log(journal, agent.spec, "r") == ()
