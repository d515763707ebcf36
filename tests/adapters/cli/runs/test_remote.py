"""The commands over a host by its URL: a real server, whose runs another thread drives."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from attrs import evolve
from click import ClickException

from detent.adapters.cli.runs.remote import RemoteHost, waiting_in
from detent.approvals import OutdatedQuestionError
from detent.hosts import Accepted
from detent.journals import Journal
from detent.web import Tokens
from tests.adapters.cli.runs.clerks import OWN, call, document
from tests.adapters.faces.test_held_up import REMARK, held_up
from tests.adapters.web.browsers import ANN, Site

TOKEN = "a-token-of-32-characters-for-test"  # noqa: S105 - nobody else's
SECRET = {**ANN, "key": "s3cret-value"}


@contextmanager
def at(**options: Any) -> Generator[Site]:
    """A server with a run "one" that waits."""
    found = Site(one=SECRET, **options)
    try:
        yield found
    finally:
        found.close()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A server for this machine alone, which is the place of all commands."""
    with at() as found:
        monkeypatch.setenv("DETENT_HOST", found.url)
        yield found


def test_a_stranger_finds_what_waits_decides_and_sees_it_go_on(site: Site) -> None:
    """By the beginning of an id; no secret is shown."""
    (listed,) = document("list", "--status", "waiting")["runs"]
    assert (listed["run_id"], listed["pending"]) == ("one", ["pay"])
    found = call("pending")
    asked = found.stdout
    assert f"To decide: {OWN} runs decide one --digest " in found.stderr
    assert 'to = "Ann"' in asked
    assert "s3cret-value" not in asked
    assert "waits for a human" in call("show", "on").stdout

    decided = call("decide", "on", "--confirm", "--unseen")
    told = f"pay is decided about by local; the host goes on with it, see {OWN} runs watch one"
    assert told in decided.stderr
    lines = call("watch", "one", "--json").stdout.splitlines()

    assert [json.loads(line)["position"] for line in lines] == [*range(len(lines))]
    assert json.loads(lines[-1])["status"] == "done"
    assert "s3cret-value" not in "".join(lines) + call("export", "one").stdout
    assert site.paid == [{"to": "Ann", "amount": 100, "note": "thanks", "key": "s3cret-value"}]
    assert "did the same" in call("diff", "one", "one").stderr
    assert "Nobody is asked anything" in call("pending").stderr


@pytest.mark.parametrize(
    ("words", "paid"),
    [
        (["--reject", "--reason", "no"], []),
        (["--modify", '{"to": "Ann", "amount": 7, "key": "********"}'], [7]),
        (["--respond", "was paid by hand"], []),
    ],
)
def test_each_way_to_decide(words: list[str], paid: list[int], site: Site) -> None:
    """As over a store."""
    (asked,) = document("pending", "one")["pending"]
    call("decide", "one", *words, "--digest", "0" * 64, code=4)
    said = document("decide", "one", "pay", *words, "--digest", asked["digest"])
    site.wait_for("one")
    assert (said["decided"]["tool_name"], said["pending"]) == ("pay", [])
    assert [one["amount"] for one in site.paid] == paid
    assert "no call waits" in call("decide", "one", "--confirm", "--unseen", code=4).stderr


def test_arguments_that_do_not_fit_are_refused(site: Site) -> None:
    """Before anything is sent."""
    wrong = call("decide", "one", "--modify", '{"to": "Ann", "amount": "x"}', code=4)
    assert "'amount' must be an integer" in wrong.stderr
    assert site.paid == []


def test_watch_tells_what_comes_also_after_a_cut(site: Site) -> None:
    """It goes on behind the last entry that it has seen."""
    seen: list[int] = []
    host = RemoteHost(site.url)

    def watching() -> None:
        for entry in host.news("one", 0, 20):
            if not seen:
                site.cut()
            seen.append(entry["position"])
            if entry["status"] == "waiting" and not said.is_alive():
                said.start()

    said = Thread(target=lambda: call("decide", "one", "--confirm", "--unseen"))
    watching()
    said.join()
    assert seen == [*range(len(seen))]
    assert document("list")["runs"][0]["length"] == len(seen)


def test_watch_does_not_go_on_in_another_run_of_the_same_id(site: Site) -> None:
    """It was deleted while the connection was cut, and begun anew."""
    news = RemoteHost(site.url).news("one", 0, 20)
    assert next(news)["position"] == 0
    host: Any = site.host
    journal: Journal = host._journal
    entries = list(journal.read("one"))
    journal.delete("one")
    journal.append("one", [evolve(one, at=one.at + 1, claim=None) for one in entries])
    site.cut()
    with pytest.raises(ClickException, match="run 'one' has been deleted"):
        list(news)


def test_watch_ends_where_it_is_told_to(site: Site) -> None:
    """Where the run waits, or when nothing has come for a while."""
    assert "run one is waiting" in call("watch", "one", "--until-waiting").stderr
    assert "run one is waiting" in call("watch", "one", "--timeout", "0.1").stderr


def test_cancel_ends_a_run_once(site: Site) -> None:
    """And what is not there is not found."""
    assert document("cancel", "one") == {"run_id": "one", "status": "cancelled"}
    site.wait_for("one")
    call("cancel", "one", code=4)
    assert "no run 'x' in the host at http://" in call("show", "x", code=5).stderr


def test_more_is_said_over_a_host(site: Site) -> None:
    """To the run while it goes on, and in a new one behind its end."""
    assert document("send", "one", "in euros") == {"run_id": "one"}
    call("send", "one", "x", "--by", "me", code=2)
    call("cancel", "one")
    site.wait_for("one")
    told = call("send", "one", "more").stderr
    assert told.startswith("run one.")
    assert "is told: it is new, and goes on behind one, which has ended" in told


def test_a_run_that_goes_on_elsewhere_is_not_said_to_be_asked_anew() -> None:
    """Its host says that only a worker of another release can go on with it."""
    one = {"tool_name": "pay", "changes": ["the tool itself has changed"], "agents": []}
    found = {"pending": [], "outdated": [one], "tools": ["pay"], "is_bound": True}

    with pytest.raises(OutdatedQuestionError, match="only a worker of the release that the run"):
        waiting_in("r", found)


def test_what_must_be_done_until_it_counts_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the host says it, in JSON as well."""
    site = Site(held_up)
    try:
        monkeypatch.setenv("DETENT_HOST", site.url)
        begin = site.host.start("clerk", "Pay!", run_id="one")
        asyncio.run_coroutine_threadsafe(begin, site.loop).result(30)
        assert call("send", "one", "more").stderr == f"run one is told; {REMARK}\n"
        assert call("cancel", "one").stderr == f"run one is to be cancelled; {REMARK}\n"
        assert document("send", "one", "more") == {"run_id": "one", "text": REMARK}
        assert document("cancel", "one")["text"] == REMARK
    finally:
        site.close()


@pytest.mark.parametrize("command", ["resume", "fork", "replay", "clean", "backup", "verify"])
def test_what_works_on_a_store_alone_says_so(command: str, site: Site) -> None:
    """No other store is taken in the place of the host."""
    words = {"clean": ["--older-than", "1d"], "backup": ["x.db"], "verify": []}
    refused = call(command, *words.get(command, ["one"]), code=2)
    assert "DETENT_HOST is set: this works on a store" in refused.stderr


def test_a_store_that_is_said_comes_before_a_host_that_is_not(site: Site, path: str) -> None:
    """Both on one line are a mistake; so is who one is at a host, where there is none."""
    assert "order-1" in call("list", "--store", path).stdout
    call("list", "--store", path, "--host", site.url, code=2)
    call("decide", "one", "--confirm", "--unseen", "--by", "eve", code=2)


def test_a_token_says_who_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of a file, or of a variable; without one, or with a wrong one, nothing is told."""
    file = tmp_path / "token"
    file.write_text(f"# mine\nann {TOKEN}\n")
    with at(sign_in=Tokens({TOKEN: "ann"})) as site:
        nobody = call("list", "--host", site.url, code=4)
        assert "wants to know who asks: --token-file FILE, or DETENT_TOKEN" in nobody.stderr
        assert "one" in call("list", "--host", site.url, "--token-file", str(file)).stdout
        file.write_bytes(b"\x89PNG")
        binary = call("list", "--host", site.url, "--token-file", str(file), code=2).stderr
        assert "token: expected text, in UTF-8" in " ".join(binary.split())
        monkeypatch.setenv("DETENT_TOKEN", "wrong-" + TOKEN)
        assert "does not know this token" in call("list", "--host", site.url, code=4).stderr
        monkeypatch.setenv("DETENT_TOKEN", TOKEN)
        said = call("decide", "one", "--reject", "--host", site.url)
        assert "is decided about by ann" in said.stderr


@pytest.mark.parametrize(
    ("url", "token", "told"),
    [
        ("localhost:8000", None, "expects the URL of a host"),
        ("http://ann:secret@localhost", None, "a token is said by --token-file"),
        ("http://example.com", TOKEN, "would show your token"),
    ],
)
def test_a_url_that_cannot_be_used(
    url: str, token: str | None, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused before anything is sent, and no token is shown."""
    if token:
        monkeypatch.setenv("DETENT_TOKEN", token)
    refused = call("list", "--host", url, code=2)
    assert told in refused.stderr
    assert TOKEN not in refused.stderr


def test_who_does_not_answer_and_who_is_no_host() -> None:
    """They are told apart."""

    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")
        await writer.drain()
        writer.close()

    async def asking() -> list[str]:
        server = await asyncio.start_server(other, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server:
            first = await asyncio.to_thread(call, "list", "--host", url, code=1)
        second = await asyncio.to_thread(call, "list", "--host", url, code=1)
        return [first.stderr, second.stderr]

    first, second = asyncio.run(asking())
    assert "is no host of Detent" in first
    assert "does not answer" in second


def test_https_that_is_typed_for_http_is_told(site: Site) -> None:
    """The words of a TLS library say it to nobody."""
    url = site.url.replace("http://", "https://", 1)
    told = call("list", "--host", url, code=1).stderr
    assert f"where nothing is encrypted, as on this machine, say --host {site.url}" in told


def test_an_id_is_an_id_whatever_stands_in_it(site: Site) -> None:
    """It is no path, and steers no terminal."""
    run_id = "a/b?c#\u202e<b>"
    begin = site.host.start("one", "Pay!", run_id=run_id)
    assert isinstance(asyncio.run_coroutine_threadsafe(begin, site.loop).result(30), Accepted)
    site.wait_for(run_id)
    for words in (["show", run_id], ["watch", "a/b"], ["list"]):
        told = call(*words).output
        assert "\u202e" not in told
        assert "a/b?c#" in told
