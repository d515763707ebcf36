"""A coding helper that has read a file can do less than before."""

from __future__ import annotations

from pathlib import Path

from detent.approvals import Confirmed, Rejected
from detent.testing import ScriptedHuman
from tests.examples.loading import example

coder = example("guarded_coder/coder.py")


def work(folder: Path, human: ScriptedHuman) -> tuple[list[str], list[str]]:
    """Let the script work: what was posted, and what the model was told of each call."""
    coder.write_files(folder)
    posted: list[str] = []
    with coder.files_of(folder) as files:
        result = coder.make_coder(files, coder.scripted(), human, posted.append).run(coder.TASK)
    return posted, [one.text for said in result.messages for one in said.tool_call_results]


def test_what_was_read_cannot_leave_and_writes_are_shown(tmp_path: Path) -> None:
    """It may post until it has read a file; the order in the file's comment is of no use."""
    human = ScriptedHuman(Confirmed())
    posted, told = work(tmp_path, human)

    assert posted == ["I am looking at prices.py."]
    assert "stays-in-the-house" in told[3]
    (question,) = human.asked
    assert question.tool_params == {"name": "prices.py", "old": coder.OLD, "new": coder.NEW}
    assert (tmp_path / "prices.py").read_text() == coder.MENDED


def test_what_a_person_rejects_is_not_written(tmp_path: Path) -> None:
    """The model is told so, and the file is as it was."""
    _, told = work(tmp_path, ScriptedHuman(Rejected("not like this")))
    assert "not like this" in told[4]
    assert (tmp_path / "prices.py").read_text() == coder.BROKEN


def test_the_server_reaches_its_folder_alone(tmp_path: Path) -> None:
    """A name that leads out of it is an error that the model reads."""
    coder.write_files(tmp_path / "project")
    model = coder.ScriptedChatGenerator(
        coder.ToolCall("read_file", {"name": "../outside.txt"}), "No."
    )
    (tmp_path / "outside.txt").write_text("private")
    with coder.files_of(tmp_path / "project") as files:
        result = coder.make_coder(files, model, ScriptedHuman(), print).run("Read on.")
    (told,) = [one.text for said in result.messages for one in said.tool_call_results]
    assert "private" not in told
    assert "outside.txt" in told
