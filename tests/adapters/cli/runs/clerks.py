"""A clerk whose runs are looked into, and the command line that looks."""

from __future__ import annotations

import json
import shlex
import sys
import types
from typing import Annotated, Any

import pytest
from attrs import evolve
from click.testing import CliRunner, Result

from detent import (
    Agent,
    AlwaysAskPolicy,
    ChatMessage,
    ScriptedChatGenerator,
    SecretParameter,
    ToolCall,
    tool,
)
from detent.adapters.agent.inputs import RunRequest
from detent.adapters.cli.main import main
from detent.adapters.drivers.steps import at_once
from detent.adapters.system.program import program
from detent.journals import Journal
from detent.models import ChatReply, Usage

OWN = shlex.join(program())
"""How this program is started again, as the commands say it that are to be pasted."""
HOSTILE = "\x1b[2J\u202egone [bold]▌"


@tool
def look(q: str) -> str:
    """Look something up."""
    return f"found {q}"


@tool
def pay(amount: int, pin: Annotated[str, SecretParameter] = "") -> str:
    """Pay."""
    return f"paid {amount}"


@tool
def fail() -> str:
    """Fail."""
    raise OSError("no disk")


def said(*calls: ToolCall, text: str | None = None, read: int = 0, written: int = 0) -> ChatReply:
    message = ChatMessage.from_assistant(text, tool_calls=calls)
    return ChatReply(message, usage=Usage(read, written))


def clerk(store: Journal | None, *lines: Any, **options: Any) -> Agent[Any]:
    """An agent that pays, and asks first."""
    given: dict[str, Any] = {
        "tools": [look, pay, fail],
        "confirmation_strategies": {"pay": AlwaysAskPolicy()},
        "name": "clerk",
        **options,
    }
    return Agent(chat_generator=ScriptedChatGenerator(*lines), journal=store, **given)


def begin(store: Journal, run_id: str, *lines: Any, **options: Any) -> None:
    clerk(store, *lines, **options).run("Pay Bob", run_id=run_id, raise_at_break_point=False)


def begin_by(engine: str, store: Journal, run_id: str, *lines: Any) -> None:
    """A run that the history of an engine drives, as far as it goes."""
    assembly = evolve(clerk(store, *lines).assembly, engine=engine)
    request: RunRequest[Any] = RunRequest("go", None, None, None, None, None, run_id, {}, None)
    at_once(assembly.begin(request, None)).go(None, raises=False)


PAY = ToolCall("pay", {"amount": 5, "pin": "hush-hush"})


def app(monkeypatch: pytest.MonkeyPatch, *lines: Any, **options: Any) -> str:
    """A module that has the agent, with what its model will say from now on."""
    module = types.ModuleType("the_app")
    vars(module)["agents"] = lambda: [clerk(None, *lines, **options)]
    monkeypatch.setitem(sys.modules, "the_app", module)
    return "the_app:agents"


def call(*words: str, code: int = 0, keys: str | None = None) -> Result:
    result = CliRunner().invoke(main, ["runs", *words], input=keys)
    assert result.exit_code == code, result.output
    return result


def document(*words: str, code: int = 0) -> Any:
    return json.loads(call(*words, "--json", code=code).stdout)
