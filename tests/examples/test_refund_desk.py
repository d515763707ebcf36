"""The refund desk pays small refunds at once, asks people about the others, and pays once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from detent import Agent, AlwaysAskPolicy, SQLiteJournal, tool
from detent.hosts import LocalHost
from tests.examples.loading import example

TOKEN = "a-token-of-32-characters-for-test"  # noqa: S105 - made up
desk = example("refund_desk/desk.py")


@asynccontextmanager
async def customers(folder: Path) -> AsyncGenerator[httpx.AsyncClient]:
    """The service with a client, from its start to its end."""
    app = desk.make_app(desk.make_host(folder), {TOKEN: "ada"})
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://desk.example") as client,
    ):
        yield client


async def sent(client: httpx.AsyncClient, order: str, text: str) -> int:
    return (await client.post("/refunds", json={"order": order, "text": text})).status_code


async def told(
    client: httpx.AsyncClient, order: str, *, unlike: str = "running"
) -> dict[str, object]:
    """How far the order is, once that is something else."""
    path = f"/refunds/{order}"
    said: dict[str, object]
    while (said := (await client.get(path)).json())["status"] == unlike:  # noqa: ASYNC110 - a browser
        await asyncio.sleep(0.01)
    return said


async def decide(client: httpx.AsyncClient, answer: str) -> None:
    """Sign in and answer the one question that is on the page, as a browser does."""
    page = await client.get("/desk/sign-in")
    form = {"csrf": hidden(page.text, "csrf"), "token": TOKEN}
    await client.post("/desk/sign-in", data=form)
    page = await client.get("/desk/")
    names = ("csrf", "run_id", "digest")
    form = {"answer": answer} | {name: hidden(page.text, name) for name in names}
    assert (await client.post("/desk/decide", data=form)).status_code == 303


def hidden(html: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]+)"', html)
    assert found is not None, html
    return found[1]


def paid(folder: Path) -> list[list[object]]:
    rows: list[list[object]] = list(desk.Ledger(folder / "ledger.db").payments().values())
    return rows


def test_a_small_refund_is_paid_at_once_and_once(tmp_path: Path) -> None:
    """The same order, sent again, is the same run."""

    async def visit() -> object:
        async with customers(tmp_path) as client:
            assert await sent(client, "7", "broken cup, 12.50 euros") == 202
            assert await sent(client, "7", "broken cup, 12.50 euros") == 202
            return await told(client, "7")

    assert asyncio.run(visit()) == {"status": "done", "answer": "Done: 12.5 refunded."}
    assert paid(tmp_path) == [["7", 12.5]]


def test_a_large_refund_waits_for_a_person_across_a_restart(tmp_path: Path) -> None:
    """Asked by one process of the service, decided in the browser at another one."""

    async def ask() -> object:
        async with customers(tmp_path) as client:
            assert await sent(client, "8", "a table, 300 euros") == 202
            return await told(client, "8")

    async def answer() -> object:
        async with customers(tmp_path) as client:
            await decide(client, "confirm")
            await told(client, "8", unlike="waiting")
            return await told(client, "8")

    assert asyncio.run(ask()) == {"status": "waiting", "answer": None}
    assert paid(tmp_path) == []
    assert asyncio.run(answer()) == {"status": "done", "answer": "Done: 300.0 refunded."}
    assert paid(tmp_path) == [["8", 300.0]]


def test_nobody_decides_who_is_not_signed_in(tmp_path: Path) -> None:
    """The inbox asks for a token; an order that there is not is said to be none."""

    async def visit() -> tuple[int, int]:
        async with customers(tmp_path) as client:
            inbox, order = await client.get("/desk/"), await client.get("/refunds/9")
            return inbox.status_code, order.status_code

    assert asyncio.run(visit()) == (303, 404)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"order 7",
        b"[]",
        b'"7"',
        b'{"order": "7"}',
        b'{"text": "a cup, 5 euros"}',
        b"\xff",
    ],
)
def test_what_is_no_order_begins_nothing(body: bytes, tmp_path: Path) -> None:
    """The answer says what to send."""

    async def visit() -> tuple[int, str]:
        async with customers(tmp_path) as client:
            answer = await client.post("/refunds", content=body)
            assert (await client.get("/refunds/7")).status_code == 404
            return answer.status_code, answer.json()["error"]

    code, error = asyncio.run(visit())
    assert code == 400
    assert '{"order": "7", "text": ' in error


@pytest.mark.parametrize("missing", ["DESK_TOKEN", "DESK_SECRET"])
def test_a_served_desk_has_secrets_of_its_own(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token of a first look is public: whoever reads the program could decide."""
    for name in {"DESK_TOKEN", "DESK_SECRET"} - {missing}:
        monkeypatch.setenv(name, "something-that-nobody-guesses")
    monkeypatch.delenv(missing, raising=False)
    monkeypatch.setenv("DESK_FOLDER", str(tmp_path / "not" / "there"))
    with pytest.raises(SystemExit, match=r"^set DESK_TOKEN and DESK_SECRET, each to a "):
        desk.served()

    monkeypatch.setenv(missing, "something-that-nobody-guesses")
    desk.served()
    assert (tmp_path / "not" / "there" / "ledger.db").exists()


def test_an_order_that_another_release_has_taken_in_is_no_error_of_the_service(
    tmp_path: Path,
) -> None:
    """Whoever asks is told what is the matter."""

    @tool
    def refund(name: str) -> str:
        """Give money back to somebody."""
        return name

    rules = {"refund": AlwaysAskPolicy()}
    clerk: Agent[Any] = Agent(
        chat_generator=desk.scripted(), tools=[refund], confirmation_strategies=rules
    )

    async def visit() -> httpx.Response:
        async with customers(tmp_path) as client:
            assert await sent(client, "8", "a table, 300 euros") == 202
            await told(client, "8")
        later = LocalHost({"clerk": clerk}, SQLiteJournal(tmp_path / "runs.db"))
        transport = httpx.ASGITransport(desk.make_app(later, {TOKEN: "ada"}))
        async with (
            later,
            httpx.AsyncClient(transport=transport, base_url="http://desk.example") as client,
        ):
            return await client.get("/refunds/8")

    answer = asyncio.run(visit())
    assert answer.status_code == 409
    assert "Go on with the agent as it was" in answer.json()["error"]
