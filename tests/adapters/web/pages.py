"""A site to test: a host whose agents play a script, and somebody who opens its pages."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import httpx

from detent import (
    Agent,
    AlwaysAskPolicy,
    ChatMessage,
    MemoryJournal,
    SecretParameter,
    ToolCall,
    tool,
)
from detent.adapters.testing.doubles.scripted import ScriptedChatGenerator
from detent.hosts import Accepted, Host, LocalHost
from detent.journals import Journal

HOSTILE = "\x1b[2J</bdi><script>alert(1)</script>\u202egnp.exe\nevent: changed\n\n"
"""What a model or a tool can put anywhere: terminal codes, markup, turned text, an event."""

Paid = list[dict[str, Any]]


def clerk(
    paid: Paid, call: dict[str, Any], policy: Any = None, *, runs: int = 1, **options: Any
) -> Agent[Any, Any]:
    @tool
    def pay(
        to: str,
        amount: int,
        note: str = "thanks",
        key: Annotated[str, SecretParameter] = "none",
    ) -> str:
        """Pay somebody."""
        paid.append({"to": to, "amount": amount, "note": note, "key": key})
        return f"paid {to}"

    script = ScriptedChatGenerator(*[ToolCall("pay", call, "c1")] * runs, "Done.")
    rules = {"pay": policy or AlwaysAskPolicy()}
    return Agent(chat_generator=script, tools=[pay], confirmation_strategies=rules, **options)


def payer_and_signer(paid: Paid) -> Agent[Any, Any]:
    """A clerk that pays and asks for a sign, and waits for both."""

    @tool
    def sign(key: str) -> str:
        """Sign."""
        return key

    call = {"to": "Ann", "amount": 100, "key": "s3cret-value"}
    paying = clerk(paid, call)
    (pay,) = paying.spec.tools.values()
    calls = [ToolCall("pay", call, "c1"), ToolCall("sign", {"key": "k"}, "c2")]
    model = ScriptedChatGenerator(ChatMessage.from_assistant(tool_calls=calls), "Done.")
    rules = {"pay": AlwaysAskPolicy(), "sign": AlwaysAskPolicy()}
    return Agent(chat_generator=model, tools=[pay, sign], confirmation_strategies=rules)


@asynccontextmanager
async def hosted(paid: Paid, **agents: dict[str, Any]) -> AsyncGenerator[Host]:
    """A host; of each agent one run, of its name, that waits for somebody to confirm its call."""
    async with waiting({name: clerk(paid, call) for name, call in agents.items()}) as host:
        yield host


@asynccontextmanager
async def waiting(
    made: dict[str, Agent[Any, Any]], journal: Journal | None = None, *, calls: int = 1
) -> AsyncGenerator[Host]:
    """The same of agents that are made, each of which asks about so many calls at least."""
    async with LocalHost(made, journal or MemoryJournal(), look_s=0.05) as host:
        for name in made:
            said = [ChatMessage.from_user(f"Pay, {name}!")]
            assert isinstance(await host.start(name, said, run_id=name), Accepted)
            async for _ in host.watch(name):
                if len(await host.pending(agent=name)) >= calls:
                    break
        yield host


@asynccontextmanager
async def visitor(app: Any, address: str = "127.0.0.1") -> AsyncGenerator[httpx.AsyncClient]:
    """Somebody with a browser that keeps cookies."""
    transport = httpx.ASGITransport(app, client=(address, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


def token_in(html: str) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', html)
    assert found is not None
    return found[1]
