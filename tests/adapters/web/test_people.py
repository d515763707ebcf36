"""Who may come in: a file that is looked at again, and people who may look and change nothing."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from detent.adapters.web.app import CHANGING, PAGES, PARTS
from detent.hosts import Host
from detent.web import Person, TokenFile, Tokens, web_app
from tests.adapters.web.browsers import Site
from tests.adapters.web.pages import hosted, token_in, visitor

ANN, BOB, EYE = "token-of-ann-is-long", "token-of-bob-is-long", "token-of-eye-is-long"
CALL = {"to": "Ann", "amount": 100}
CHANGES = ("start", "decide", "cancel", "send", "revoke")


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


async def signed_in(client: httpx.AsyncClient, token: str) -> httpx.Response:
    """A browser, once it has sent a token."""
    csrf = token_in((await client.get("/sign-in")).text)
    return await client.post("/sign-in", data={"csrf": csrf, "token": token})


async def api(client: httpx.AsyncClient, *tokens: str) -> list[int]:
    return [(await client.get("/api/runs", headers=bearer(one))).status_code for one in tokens]


def rewrite(file: Path, text: str | bytes | None) -> None:
    """What an operator does while it is in use; None takes it away."""
    if text is None:
        file.unlink()
    else:
        file.write_bytes(text.encode() if isinstance(text, str) else text)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    file = tmp_path / "people.txt"
    file.write_text(f"Ann {ANN}\nBob {BOB}\nThe Eye read-only {EYE}\n")
    return file


@pytest.fixture(params=[0, 3600], ids=["just written", "written long ago"])
def later(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How far the clock is from when the file was written to."""
    now, seconds = time.time, request.param
    monkeypatch.setattr(time, "time", lambda: now() + seconds)


@pytest.mark.usefixtures("later")
def test_who_is_taken_out_of_the_file_is_let_in_no_more(
    people: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor any session of theirs; whoever is written into it is let in, and no name is logged."""

    async def visit() -> list[Any]:
        async with (
            hosted([], clerk=CALL) as host,
            visitor(web_app(host, sign_in=TokenFile(people))) as client,
        ):
            await signed_in(client, ANN)
            before = [await api(client, ANN, BOB, "c" * 20), (await client.get("/")).status_code]
            rewrite(people, f"Bob {BOB}\nCyd {'c' * 20}\n")
            return [*before, await api(client, ANN, BOB, "c" * 20), await client.get("/")]

    with caplog.at_level(logging.INFO, "detent.people"):
        before, page, after, gone = asyncio.run(visit())
    assert (before, page) == ([200, 200, 401], 200)
    assert (after, gone.status_code, gone.headers["location"]) == ([401, 200, 200], 303, "/sign-in")
    (said,) = [one for one in caplog.messages if "may sign in" in one]
    assert said == "who may sign in has changed: 2 stand there no more as they did, 1 are new"


def test_a_token_that_nobody_has_is_logged_with_its_address(
    people: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """On the page and over HTTP; the token itself is in no log."""

    async def visit() -> None:
        async with (
            hosted([], clerk=CALL) as host,
            visitor(web_app(host, sign_in=TokenFile(people))) as client,
        ):
            assert await api(client, "w" * 20) == [401]
            await signed_in(client, "w" * 20)

    asyncio.run(visit())
    said = [one for one in caplog.messages if one.startswith("a token that nobody has was shown")]
    assert said == ["a token that nobody has was shown, from 127.0.0.1"] * 2
    assert "wwww" not in caplog.text


@pytest.mark.parametrize("broken", ["away", "a line is wrong", "empty", "no text"])
def test_while_the_file_is_none_nobody_is_let_in(
    broken: str, people: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It says so once, and a session goes on once the file is right again."""
    text = people.read_text()
    worse = {"a line is wrong": f"Ann {ANN}\n{BOB}\n".encode(), "empty": b"", "no text": b"\x89P"}

    async def visit() -> list[Any]:
        async with (
            hosted([], clerk=CALL) as host,
            visitor(web_app(host, sign_in=TokenFile(people))) as client,
        ):
            await signed_in(client, ANN)
            rewrite(people, worse.get(broken))
            refused = await client.get("/api/health", headers=bearer(ANN))
            pages = [await client.get("/"), await signed_in(client, BOB)]
            probes = [(await client.get(path)).status_code for path in ("/health", "/alive")]
            rewrite(people, text)
            return [refused, pages, probes, await api(client, ANN), await client.get("/")]

    refused, pages, probes, codes, page = asyncio.run(visit())
    assert (refused.status_code, refused.json()["error"]["why"]) == (503, "nobody_known")
    assert [one.status_code for one in pages] == [503, 503]
    assert all("nobody is let in at the moment" in one.text for one in pages)
    assert (probes, codes, page.status_code) == ([200, 204], [200], 200)
    (error,) = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert "it cannot be read who may sign in" in error.getMessage()
    assert not [token for token in (ANN, BOB, EYE) if token in caplog.text]


def test_who_listens_to_a_run_hears_no_more_of_it_once_their_token_is_gone(people: Path) -> None:
    """Though the connection was there before."""
    site = Site(sign_in=TokenFile(people), clerk=CALL)
    try:
        with httpx.Client(base_url=site.url, headers=bearer(BOB), trust_env=False) as bob:
            known = len(bob.get("/api/entries/clerk").json()["entries"])
            with bob.stream("GET", "/api/watch/clerk", headers=bearer(ANN)) as watched:
                lines = watched.iter_lines()
                for line in lines:
                    known -= line.startswith("event: entry")
                    if not known and not line:
                        break
                people.write_text(f"Bob {BOB}\n")
                call = bob.get("/api/pending").json()["pending"][0]["call"]
                said = {"tool_name": "pay", "execute": True, "digest": call["digest"]}
                done = bob.post("/api/decide", json={"run_id": "clerk", "decision": said})
                assert (done.status_code, [*lines]) == (200, [])
    finally:
        site.close()


def watched_by_the_eye() -> Tokens:
    return Tokens({ANN: "Ann", EYE: "The Eye"}, read_only={EYE})


def test_who_may_only_look_changes_nothing_by_a_program() -> None:
    """Each refusal says why; lists and health are answered."""

    async def visit() -> list[Any]:
        async with (
            hosted([], clerk=CALL) as host,
            visitor(web_app(host, sign_in=watched_by_the_eye())) as client,
        ):
            client.headers.update(bearer(EYE))
            looks = ("", "/health", "/runs", "/pending", "/run/clerk", "/entries/clerk")
            seen = [(await client.get(f"/api{path}")).status_code for path in looks]
            refused = [await client.post(f"/api/{name}", json={}) for name in CHANGES]
            other = await client.delete("/api/run/clerk")
            runs = await host.runs()
            return [seen, [*refused, other], [run.status for run in runs]]

    seen, refused, statuses = asyncio.run(visit())
    assert seen == [200] * 6
    assert [one.status_code for one in refused] == [403] * 6
    assert {one.json()["error"]["why"] for one in refused} == {"read_only"}
    assert statuses == ["waiting"]


def test_who_may_only_look_changes_nothing_on_a_page() -> None:
    """And is offered no button that would."""

    async def visit() -> list[Any]:
        async with (
            hosted([], clerk=CALL) as host,
            visitor(web_app(host, sign_in=watched_by_the_eye())) as client,
        ):
            await signed_in(client, EYE)
            (question,) = await host.pending()
            paths = [
                *(path for path in (*PAGES, *PARTS) if "{" not in path and "compare" not in path)
            ]
            paths += [f"/question/{question.call.digest}/clerk", "/run/clerk", "/moment/clerk?at=1"]
            pages = [await client.get(path) for path in paths if not path.startswith("/live")]
            csrf = token_in(pages[0].text)
            posts = [await client.post(path, data={"csrf": csrf}) for path in CHANGING]
            out = await client.post("/sign-out", data={"csrf": csrf})
            return [pages, posts, len(await host.pending()), out]

    pages, posts, waiting, out = asyncio.run(visit())
    assert {page.status_code for page in pages} == {200}
    for page in pages:
        assert [path for path in CHANGING if f'action="{path}"' in page.text] == [], page.url
    assert "You may look at this, and not decide" in pages[0].text
    assert ", and may only look" in pages[0].text
    assert [one.status_code for one in posts] == [403] * len(CHANGING)
    assert all("your token is read-only" in one.text for one in posts)
    assert (waiting, out.status_code) == (1, 303)


def test_a_session_becomes_read_only_with_its_token(people: Path) -> None:
    """What somebody may do is what stands in the file now."""

    async def visit() -> tuple[int, int]:
        async with (
            hosted([], clerk=CALL) as host,
            visitor(web_app(host, sign_in=TokenFile(people))) as client,
        ):
            await signed_in(client, ANN)
            csrf = token_in((await client.get("/")).text)
            rewrite(people, f"Ann read-only {ANN}\n")
            post = await client.post("/cancel", data={"csrf": csrf, "run_id": "clerk"})
            return post.status_code, len(await host.pending())

    assert asyncio.run(visit()) == (403, 1)


def test_a_mark_at_another_place_lets_nobody_in(people: Path) -> None:
    """It would be part of the name of somebody who may do all."""
    people.write_text(f"Ann {ANN}\nread-only Eye {EYE}\n")
    with pytest.raises(ValueError, match="line 2 has 'read-only'; did you mean"):
        Tokens.read(people)


@pytest.mark.parametrize("mark", ["readonly", "Read-Only", "(read-only)", "read_only", "read-olny"])
def test_a_mark_that_is_misspelt_lets_nobody_in(mark: str, people: Path) -> None:
    """It would be somebody who may decide."""
    people.write_text(f"Ann {ANN}\nEye {mark} {EYE}\n")
    with pytest.raises(ValueError, match=r"line 2 has .* did you mean 'read-only'") as caught:
        Tokens.read(people)
    assert EYE not in str(caught.value)


def test_a_file_says_who_may_only_look(people: Path) -> None:
    """And a program says it by the token, which must be somebody's."""
    assert Tokens.read(people).person(EYE) == Person("The Eye", EYE, is_read_only=True)
    assert TokenFile(people).person(ANN) == Person("Ann", ANN)
    for wrong in ([BOB], EYE):
        with pytest.raises(ValueError, match="read_only has a token that is nobody's"):
            Tokens({ANN: "Ann", EYE: "The Eye"}, wrong)
    people.write_text(f"read-only {EYE}\n")
    with pytest.raises(ValueError, match="line 1 is no name and token"):
        Tokens.read(people)


def test_whoever_the_app_around_knows_may_be_one_who_only_looks() -> None:
    """It says so by the person."""

    async def who(request: Any) -> Person:
        return Person("eye", is_read_only=True)

    async def visit() -> tuple[int, int]:
        async with hosted([], clerk=CALL) as host, visitor(web_app(host, sign_in=who)) as client:
            looked = await client.get("/api/runs")
            return looked.status_code, (await client.post("/api/start", json={})).status_code

    assert asyncio.run(visit()) == (200, 403)


def test_a_process_says_that_it_lives_whatever_its_store_does() -> None:
    """To a probe, with no content: one that kills what is silent kills nobody who waits."""

    async def visit(host: Host, **options: Any) -> list[Any]:
        headers = {"host": "10.0.0.7:8000"}
        async with visitor(web_app(host, **options), "10.0.0.9") as client:
            found = [await client.get(path, headers=headers) for path in ("/alive", "/health")]
            return [(one.status_code, one.text) for one in found]

    async def going() -> list[Any]:
        async with hosted([], clerk=CALL) as host:
            named = {"sign_in": watched_by_the_eye(), "allowed_hosts": ["desk.example"]}
            told = [await visit(host, **named), await visit(host)]
        return [*told, await visit(host, **named)]

    up, alone, down = asyncio.run(going())
    assert up == [(204, ""), (200, json.dumps({"is_ready": True}))]
    assert [code for code, _ in alone] == [400, 400]  # by a name that is not this machine's
    assert down == [(204, ""), (503, json.dumps({"is_ready": False}))]


@pytest.mark.parametrize("secret", ["", "short"])
def test_a_secret_that_can_be_guessed_is_refused(secret: str) -> None:
    """When the app is made. An empty one is what a variable that is not set gives."""

    async def made() -> None:
        async with hosted([], clerk=CALL) as host:
            web_app(host, secret=secret)

    with pytest.raises(ValueError, match="secret is too short: it needs 16 characters"):
        asyncio.run(made())
