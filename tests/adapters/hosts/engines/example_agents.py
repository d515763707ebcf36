"""The agents of the examples, for hosts: what each is told, and a model that does as it says."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from detent import (
    Agent,
    AgentTool,
    ChatMessage,
    MemoryJournal,
    ScriptedChatGenerator,
    ToolCall,
    tool,
)
from detent.approvals import Confirmed
from detent.testing import ScriptedHuman
from tests.examples.loading import example

Told: TypeAlias = dict[str, tuple[Agent[Any, Any], str]]


@tool(timeout_s=0.3)
async def nap(seconds: float) -> str:
    """Sleep."""
    await asyncio.sleep(seconds)
    return "rested"


def boss() -> Agent[Any, Any]:
    """Has another one work, that is too slow once."""
    calls = [ToolCall("nap", {"seconds": 60.0}), ToolCall("nap", {"seconds": 0.0})]
    both = ChatMessage.from_assistant(tool_calls=calls)
    inner = Agent(chat_generator=ScriptedChatGenerator(both, "well"), tools=[nap])
    script = ScriptedChatGenerator(ToolCall("helper", {"task": "rest"}), "content")
    helper = AgentTool(inner, name="helper", description="rests")
    return Agent(chat_generator=script, tools=[helper])


def of_examples(folder: Path) -> Told:
    """The agents of the examples that an engine can follow, and what to say to each."""
    desk, triage = example("refund_desk/desk.py"), example("queue_worker/triage.py")
    batch, policy = example("nightly_batch/batch.py"), example("proven_policy/policy.py")
    word = next(iter(batch.WORDS))
    teller = policy.make_agent(policy.SHIPPED).evolve(
        chat_generator=ScriptedChatGenerator(ToolCall("balance", {}), "It is enough.")
    )
    board, register = triage.Board(folder / "board"), batch.Register(folder / "register")
    journal = MemoryJournal()
    return {
        "desk": (
            desk.make_clerk(desk.Ledger(folder / "ledger"), desk.scripted()),
            "Order A7: broken, 900 euros",
        ),
        "triage": (triage.make_triage(board, triage.scripted()), "Ticket T1: smoke in the hall"),
        "batch": (
            batch.make_agent(register, journal, batch.scripted()),
            f"The letter a.txt:\n\nDear all, {word} number 1.",
        ),
        "teller": (teller, "How much is there?"),
        "boss": (boss(), "Rest."),
    }


def by_legs_alone() -> Told:
    """The agents of the examples with hooks, which no history of effects can follow."""
    research, chat = example("cited_research/research.py"), example("long_chat/chat.py")
    said = "It is my dog."
    writer = research.make_writer(research.library(research.PAPERS), *research.scripted())
    return {
        "writer": (writer, research.QUESTION),
        "friend": (chat.make_friend(chat.scripted(said), MemoryJournal()), said),
    }


@contextmanager
def coder_in(folder: Path) -> Generator[Told]:
    """The guarded coder, whose tools are those of a server, and who asks at a UI of its own."""
    coder = example("guarded_coder/coder.py")
    coder.write_files(folder)
    with coder.files_of(folder) as files:
        agent = coder.make_coder(files, coder.scripted(), ScriptedHuman(Confirmed()), print)
        yield {"coder": (agent, coder.TASK)}
