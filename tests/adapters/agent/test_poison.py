"""A tool that ends each process that begins it: a human is asked in the end."""

from __future__ import annotations

from pathlib import Path

import pytest

from detent import Agent, Retries, Runs, ScriptedChatGenerator, SQLiteJournal, ToolCall, tool


@pytest.mark.parametrize(("retries", "most"), [(0, 3), (4, 3)])
def test_a_tool_that_ends_each_process_has_a_human_asked(
    retries: int, most: int, tmp_path: Path
) -> None:
    """Each process reads the run out of the store; what they count is what a replay counts."""
    begun = list[str]()

    @tool(on_unknown="rerun", retries=Retries(retries, backoff_s=0))
    def crunch() -> str:
        """Take all memory."""
        begun.append("crunch")
        raise KeyboardInterrupt  # which ends the process, as far as the run knows

    def process() -> Agent:
        lines = [ToolCall("crunch")] if not begun else []
        return Agent(
            chat_generator=ScriptedChatGenerator(*lines, "answered in its place"),
            tools=[crunch],
            journal=SQLiteJournal(tmp_path / "runs.db"),
        )

    with pytest.raises(KeyboardInterrupt):
        process().run("go", run_id="r")
    for _ in range(most - 1):
        with pytest.raises(KeyboardInterrupt):
            process().resume("r")
    waiting = process().resume("r")
    assert len(begun) == most
    (question,) = waiting.pending
    assert f"in the middle of it, {most} times in a row" in question.reason
    last = process()
    assert Runs(SQLiteJournal(tmp_path / "runs.db"), last.spec).at("r") == waiting.run
    last.decide("r", question.respond("no, it is too large", by="Ann"))
    assert process().resume("r").text == "answered in its place"
