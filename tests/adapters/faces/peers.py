"""Peers of a face: a host whose agents play a script, and programs that talk to it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from detent import Agent, AlwaysAskPolicy, ScriptedChatGenerator, ToolCall, tool
from detent.hosts import Host, LocalHost
from detent.ports.journal import Journal
from detent.web import Tokens

ANN, BOB = "ann-has-a-long-token-0123456789", "bob-has-a-long-token-0123456789"
PEOPLE = Tokens({ANN: "ann", BOB: "bob"})
PAY = ToolCall("pay", {"to": "Cy", "amount": 900}, "c1")

Paid = list[tuple[str, int]]


def clerk(paid: Paid, *script: Any, policy: Any = None) -> Agent[Any, Any]:
    @tool
    def pay(to: str, amount: int) -> str:
        """Pay somebody."""
        paid.append((to, amount))
        return f"paid {to}"

    return Agent(
        chat_generator=ScriptedChatGenerator(*script),
        tools=[pay],
        confirmation_strategies={"pay": policy or AlwaysAskPolicy()},
    )


@asynccontextmanager
async def hosting(journal: Journal, **agents: Agent[Any, Any]) -> AsyncGenerator[LocalHost]:
    """A host, for as long as this process lives."""
    async with LocalHost(agents, journal, look_s=0.05) as host:
        yield host


@asynccontextmanager
async def peer(app: Any, token: str = ANN) -> AsyncGenerator[httpx.AsyncClient]:
    """A program with a key."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 1))
    url = "http://localhost"
    async with httpx.AsyncClient(transport=transport, base_url=url, headers=headers) as client:
        yield client


async def confirm(host: Host) -> None:
    """Somebody confirms the question that waits, elsewhere."""
    (question,) = await host.pending()
    await host.send(question.call.run_id, question.call.confirm(by="boss"))
    await host.result(question.call.run_id, timeout=10)
