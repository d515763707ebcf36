"""What is on record of a run says no secret of its calls, whoever has said it."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest

from detent import (
    Agent,
    AgentTool,
    AlwaysAskPolicy,
    MemoryJournal,
    ScriptedChatGenerator,
    SecretParameter,
    ToolCall,
    tool,
)
from detent.adapters.cli.runs.entries import entries_of
from detent.adapters.stories.story import story_of
from detent.approvals import audit_log
from detent.web import web_app
from tests.adapters.faces.peers import hosting, peer

PIN = "hush-hush-77"


@tool
def look_up(name: str) -> str:
    """Look up what is kept of somebody."""
    return f"{name} has {PIN}"


@tool
def stamp(pin: Annotated[str, SecretParameter]) -> str:
    """Stamp."""
    return "stamped"


@tool
def tell(text: str) -> str:
    """Tell somebody."""
    return f"told {text.split(maxsplit=1)[0]}"


def clerk(**options: Any) -> Agent[Any]:
    """An agent whose model finds a secret, uses it, and tells it."""
    lines: list[ToolCall | str] = [
        ToolCall("look_up", {"name": "Ann"}, "c1"),
        ToolCall("stamp", {"pin": PIN}, "c2"),
        ToolCall("tell", {"text": f"Ann's is {PIN}"}, "c3"),
        f"I stamped with {PIN}.",
    ]
    return Agent(
        chat_generator=ScriptedChatGenerator(*lines),
        tools=[look_up, stamp, tell],
        name="clerk",
        **options,
    )


def test_a_story() -> None:
    """The result of another tool, and the answer; not what was approved, or could have been."""
    journal = MemoryJournal()
    agent = clerk(journal=journal)

    result = agent.run(f"Use {PIN}.", run_id="r")

    assert PIN in (result.text or "")
    story = story_of("r", journal.read("r"))
    assert story is not None
    assert story.asked == ["Use <pin>."]
    assert [turn.text for turn in story.turns][-1] == "I stamped with <pin>."
    assert [call.result for call in story.calls] == ["Ann has <pin>", "stamped", "told Ann's"]
    assert story.calls[-1].arguments == {"text": f"Ann's is {PIN}"}


@pytest.mark.parametrize("path", ["/run/r", "/moment/r?at=0", "/api/run/r", "/api/entries/r"])
def test_the_pages_of_a_run(path: str) -> None:
    """Also of what came before anybody knew that it is one. What ran is shown as it ran."""

    async def told() -> str:
        async with hosting(MemoryJournal(), clerk=clerk()) as host, asyncio.timeout(30):
            await host.start("clerk", f"Use {PIN}.", run_id="r")
            await host.result("r")
            async with peer(web_app(host)) as client:
                return (await client.get(path)).raise_for_status().text

    text = asyncio.run(told())
    assert PIN not in text.replace(f"s is {PIN}", "")
    assert "&lt;pin&gt;" in text or "<pin>" in text


def test_what_a_human_adds_that_the_model_has_left_out() -> None:
    """The call names what would be secret, also where it has no arguments at all."""
    journal = MemoryJournal()

    @tool
    def login(pin: Annotated[str, SecretParameter] = "none") -> str:
        """Log in."""
        return f"welcome by {pin}"

    rules = {"login": AlwaysAskPolicy()}
    script = ScriptedChatGenerator(ToolCall("login", {}, "c"), "Done.")
    agent = Agent(
        chat_generator=script, tools=[login], journal=journal, confirmation_strategies=rules
    )
    agent.run("Go.", run_id="r", raise_at_break_point=False)
    (question,) = agent.pending("r")
    agent.decide("r", question.modify({"pin": PIN}))
    agent.resume("r")

    story = story_of("r", journal.read("r"))
    assert story is not None
    assert PIN not in repr(story)
    assert story.calls[0].result == "welcome by <pin>"
    assert PIN not in repr(entries_of(journal, "r"))


def telling(**options: Any) -> Agent[Any]:
    """An agent whose agent inside uses a secret, and tells it."""
    inner = Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("stamp", {"pin": PIN}, "c"), f"By {PIN}."),
        tools=[stamp],
    )
    middle = Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("inner", {"task": "go"}, "i"), f"So {PIN}."),
        tools=[AgentTool(inner, name="inner", description="Stamps.")],
    )
    return Agent(
        chat_generator=ScriptedChatGenerator(
            ToolCall("middle", {"task": "go"}, "m"), f"It is {PIN}."
        ),
        tools=[AgentTool(middle, name="middle", description="Has it stamped.")],
        name="clerk",
        **options,
    )


def test_agents_inside_that_have_ended() -> None:
    """Their calls are in no run any more, and the entries tell of them."""
    journal = MemoryJournal()
    agent = telling(journal=journal)
    agent.run("Go.", run_id="r")
    returned = [one.text for one in audit_log(journal, agent.spec, "r") if one.what == "returned"]
    assert returned == ["stamped", "By <pin>.", "So <pin>."]

    async def told() -> str:
        async with hosting(MemoryJournal(), clerk=telling()) as host, asyncio.timeout(30):
            await host.start("clerk", "Go.", run_id="r")
            await host.result("r")
            async with peer(web_app(host)) as client:
                return (await client.get("/run/r")).raise_for_status().text

    text = asyncio.run(told())
    assert PIN not in text
    assert "It is &lt;pin&gt;." in text


def test_the_page_of_a_question() -> None:
    """It shows what came before: there is a call that knows what is secret in it."""

    async def told() -> str:
        agent = clerk(confirmation_strategies={"tell": AlwaysAskPolicy()})
        async with hosting(MemoryJournal(), clerk=agent) as host, asyncio.timeout(30):
            await host.start("clerk", "Go.", run_id="r")
            while not (found := await host.pending()):  # noqa: ASYNC110 - it comes elsewhere
                await asyncio.sleep(0.005)
            async with peer(web_app(host)) as client:
                page = await client.get(f"/question/{found[0].call.digest}/r")
                return page.raise_for_status().text

    text = asyncio.run(told())
    assert "Ann has &lt;pin&gt;" in text
