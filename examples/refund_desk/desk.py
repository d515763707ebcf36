"""A refund desk: customers write to a web service, and people decide what is not small.

The runs belong to a host with a journal, and not to the request that began them. So the service may
be stopped while somebody thinks about a refund, and the same order sent twice is paid once.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sqlite3
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from detent import (
    NEVER_RAN,
    Agent,
    AskAbove,
    ChatMessage,
    IdempotencyKey,
    ScriptedChatGenerator,
    SQLiteJournal,
    StoredDataError,
    ToolCall,
    chat_generator,
    tool,
)
from detent.hosts import (
    DBOSHost,
    HostRefusal,
    LocalHost,
    RestateHost,
    TemporalHost,
    UnknownAgentError,
)
from detent.journals import PostgresJournal, RunNotFoundError
from detent.models import ChatGenerator
from detent.testing import When
from detent.web import Tokens, web_app

AnyHost: TypeAlias = LocalHost | DBOSHost | TemporalHost | RestateHost
"""The service is the same on each."""
ASKED_ABOVE = 50.0
"""Euros: what costs more is decided by a person."""
TOKEN = os.environ.get("DESK_TOKEN", "a-token-of-32-characters-or-more")  # for a first look
PROMPT = (
    "You work at a refund desk. The customer writes what is wrong with an order and what it cost. "
    "Refund that amount by the tool, once, and say in one sentence what you have done."
)


class Ledger:
    """The bank, for this example: a table in which each payment has a key of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._connected() as bank, bank:
            bank.execute("CREATE TABLE IF NOT EXISTS paid (key TEXT PRIMARY KEY, row TEXT)")

    def pay(self, key: str, order: str, euros: float) -> None:
        """Write a payment down; the same key a second time changes nothing."""
        with self._connected() as bank, bank:
            row = json.dumps([order, euros])
            bank.execute("INSERT OR IGNORE INTO paid VALUES (?, ?)", (key, row))

    def payments(self) -> dict[str, list[object]]:
        """All payments, by their keys."""
        with self._connected() as bank:
            return {key: json.loads(row) for key, row in bank.execute("SELECT * FROM paid")}

    def _connected(self) -> closing[sqlite3.Connection]:
        return closing(sqlite3.connect(self.path))


def make_clerk(ledger: Ledger, model: ChatGenerator) -> Agent:
    """The agent, with its one tool and the one rule about it."""

    def look_up(arguments: Mapping[str, object], key: str) -> object:
        """After a crash the ledger knows whether the payment was made."""
        return f"{arguments['euros']} refunded" if key in ledger.payments() else NEVER_RAN

    @tool(on_unknown=look_up)
    def refund(order: str, euros: float, key: IdempotencyKey) -> str:
        """Give the customer's money back.

        Args:
            order: the number of the order.
            euros: how much.
            key: the same for every attempt at this one refund; the model does not see it.
        """
        ledger.pay(key, order, euros)
        return f"{euros} refunded"

    return Agent(
        name="clerk",
        chat_generator=model,
        tools=[refund],
        system_prompt=PROMPT,
        confirmation_strategies={"refund": AskAbove("euros", ASKED_ABOVE)},
    )


def make_app(host: AnyHost, tokens: Mapping[str, str], secret: str | None = None) -> Starlette:
    """The service: orders come in by JSON, people decide at `/desk`.

    Args:
        host: where the runs of the clerk live.
        tokens: who may decide: a name for each token.
        secret: what sessions are signed with; several processes need the same.
    """

    @asynccontextmanager
    async def opened(_: Starlette) -> AsyncGenerator[None]:
        async with host:
            yield

    async def begin(request: Request) -> JSONResponse:
        """Take an order in; the same one again is the same run."""
        try:
            sent = await request.json()
            order, text = str(sent["order"]), str(sent["text"])
        except (ValueError, KeyError, TypeError):
            return JSONResponse({"error": 'send JSON: {"order": "7", "text": "…"}'}, 400)
        said = await host.start("clerk", f"Order {order}: {text}", run_id=f"order-{order}")
        if isinstance(said, HostRefusal):
            return JSONResponse({"error": said.text}, 409)
        return JSONResponse({"refund": f"/refunds/{order}"}, 202)

    async def tell(request: Request) -> JSONResponse:
        """Say how far an order is."""
        try:
            run = await host.run(f"order-{request.path_params['order']}")
        except (RunNotFoundError, UnknownAgentError):
            return JSONResponse({"error": "there is no such order"}, 404)
        except StoredDataError as error:  # of another release of the clerk, say
            return JSONResponse({"error": str(error)}, 409)
        answer = run.run.messages[-1].text if run.listed.status == "done" else None
        return JSONResponse({"status": run.listed.status, "answer": answer})

    return Starlette(
        routes=[
            Route("/refunds", begin, methods=["POST"]),
            Route("/refunds/{order}", tell),
            Mount("/desk", web_app(host, sign_in=Tokens(tokens), secret=secret)),
        ],
        lifespan=opened,
    )


def scripted() -> ScriptedChatGenerator:
    """A stand-in for the model: it refunds the first number with a currency that it reads."""

    def answer(messages: Sequence[ChatMessage]) -> ToolCall | str:
        last = messages[-1]
        if last.tool_call_results:
            return f"Done: {last.tool_call_results[0].text}."
        found = re.search(r"Order (\w+):.*?([\d.]+) euros", last.text or "")
        if found is None:
            return "What did it cost?"
        return ToolCall("refund", {"order": found[1], "euros": float(found[2])})

    return ScriptedChatGenerator(When(lambda _: True, answer))


def make_host(folder: Path, model: str = "", store: str = "", engine: str = "local") -> AnyHost:
    """A host in this process, or on an engine; agent and service are the same on each.

    Args:
        folder: where the ledger is, and the runs, and the queue of DBOS.
        model: who answers; a script without it.
        store: where the runs are, if not in the folder: the URL of PostgreSQL.
        engine: "local", "dbos", "temporal" or "restate"; behind a colon, where that is, unless it
            is where it is by default: "dbos:URL", "temporal:ADDRESS", and, for Restate, its two
            addresses, where this process listens, and where it is called if that is another place,
            "restate:INGRESS,ADMIN,LISTEN,ADDRESS".

    Raises:
        ValueError: there is no such engine.
    """
    folder.mkdir(parents=True, exist_ok=True)
    answers = chat_generator(model) if model else scripted()
    agents = {"clerk": make_clerk(Ledger(folder / "ledger.db"), answers)}
    journal = PostgresJournal(store) if store else SQLiteJournal(folder / "runs.db")
    name, _, where = engine.partition(":")
    match name:
        case "local":
            return LocalHost(agents, journal)
        case "dbos":
            return DBOSHost(agents, journal, url=where or f"sqlite:///{folder / 'queue.db'}")
        case "temporal":
            return TemporalHost(agents, journal, client=where or "localhost:7233")
        case "restate":
            default = "http://127.0.0.1:8080,http://127.0.0.1:9070,127.0.0.1:9080"
            ingress, admin, listen, *other = (where or default).split(",")
            at = other[0] if other else None
            return RestateHost(
                agents, journal, ingress=ingress, admin=admin, listen=listen, address=at
            )
        case _:
            raise ValueError(f"there is no engine {name!r}: local, dbos, temporal or restate")


def served() -> Starlette:
    """The service as each of several workers makes it, by what the environment says."""
    said = os.environ.get
    if not said("DESK_TOKEN") or not said("DESK_SECRET"):  # TOKEN is there for everybody to read
        raise SystemExit("set DESK_TOKEN and DESK_SECRET, each to a secrets.token_urlsafe()")
    folder, model, store = Path(said("DESK_FOLDER", ".")), said("DESK_MODEL"), said("DESK_STORE")
    host = make_host(folder, model or "", store or "", said("DESK_ENGINE") or "local")
    return make_app(host, {said("DESK_TOKEN", TOKEN): "ada"}, said("DESK_SECRET"))


def main() -> None:
    """Serve the desk on this machine."""
    import uvicorn

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", default="local", help="'dbos', 'temporal', 'restate'; :WHERE")
    parser.add_argument("--model", default="", help="'local', 'openai:NAME'; a script without it")
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    host = make_host(options.folder, options.model, engine=options.engine)
    app = make_app(host, {os.environ.get("DESK_TOKEN", TOKEN): "ada"})
    uvicorn.run(app, host="127.0.0.1", port=options.port)


if __name__ == "__main__":
    main()
