"""Faces and clients in JavaScript that others wrote, with an approval and a killed process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.faces import served
from tests.adapters.faces.peers import ANN
from tests.adapters.faces.served import serving

PACKAGES = "@a2a-js/sdk@1 @ag-ui/client@1 @agentclientprotocol/sdk@2"
PROGRAMS = Path(__file__).with_name("npm")
PAID = "Cy 900\n"


def packages() -> Path:
    """The folder of node's packages at DETENT_TEST_NPM."""
    place = os.environ.get("DETENT_TEST_NPM")
    if place is None and os.environ.get("DETENT_WITHOUT_NPM"):
        pytest.xfail(reason="whoever runs the tests says that there are no packages of npm")
    if place is None or shutil.which("node") is None:
        pytest.skip(reason=f"DETENT_TEST_NPM is none: npm install --prefix DIR {PACKAGES}")
    return Path(place) / "node_modules"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the agent works, beside the clients and their packages."""
    (tmp_path / "node_modules").symlink_to(packages(), target_is_directory=True)
    for program in PROGRAMS.iterdir():
        shutil.copy(program, tmp_path)
    (tmp_path / "go").touch()
    return tmp_path


def node(folder: Path, program: str, *args: str) -> list[Any]:
    """What a client has printed."""
    env = {**os.environ, "KEY": ANN, "FOLDER": str(folder)}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    command = ["node", str(folder / f"{program}.mjs"), *args]
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a2a(folder: Path) -> None:
    """The question is data with a digest; the answer is given to another process, and twice."""

    def told(**message: Any) -> list[Any]:
        with serving("a2a", folder) as url:
            return node(folder, "a2a", url, json.dumps({"role": "ROLE_USER", **message}))

    begun = told(messageId="m1", parts=[{"text": "Pay Cy."}])
    status = begun[-1]["statusUpdate"]["status"]
    assert status["state"] == "TASK_STATE_INPUT_REQUIRED"
    (question,) = [part["data"] for part in status["message"]["parts"] if "data" in part]
    assert json.loads(question["arguments"]) == {"to": "Cy", "amount": 900}
    assert not (folder / "paid").exists()

    task = begun[0]["task"]["id"]
    answer = [{"data": {"digest": question["digest"], "approved": True}}]
    for name in ("m2", "m3"):
        ended = told(messageId=name, taskId=task, parts=answer)
        assert ended[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert (folder / "paid").read_text() == PAID


def test_agui(folder: Path) -> None:
    """The question is an interrupt, which another process is told the answer to."""

    def run(**sent: Any) -> Any:
        with serving("agui", folder) as url:
            (told,) = node(folder, "agui", url, json.dumps(sent))
        return told

    begun = run(runId="r1", messages=[{"id": "u1", "role": "user", "content": "Pay Cy."}])
    (interrupt,) = begun["interrupts"]
    assert not (folder / "paid").exists()

    entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
    ended = run(runId="r2", messages=begun["messages"], resume=[entry])
    assert ended["messages"][-1]["content"] == "Cy has it."
    assert (ended["kinds"][-1], ended["interrupts"]) == ("RUN_FINISHED", [])
    assert (folder / "paid").read_text() == PAID


def test_acp(folder: Path) -> None:
    """The agent is killed while it asks for a permission; the next one asks again."""
    program = [sys.executable, str(Path(served.__file__)), "acp", str(folder)]
    (begun,) = node(folder, "acp", "kill", "", *program)
    assert begun["titles"] == ['pay {"to": "Cy", "amount": 900}']
    assert not (folder / "paid").exists()

    (ended,) = node(folder, "acp", "allow_once", begun["session"], *program)
    assert ended["titles"] == begun["titles"] * 2  # and once more, for its own prompt
    assert ended["texts"][-2:] == ["Cy has it.", "Cy has it."]
    assert (ended["reason"], (folder / "paid").read_text()) == ("end_turn", PAID * 2)
