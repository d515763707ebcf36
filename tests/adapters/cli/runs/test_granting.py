"""`grants` and `revoke`: which confirmations count for further calls, and their end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from detent import AlwaysAskPolicy, SQLiteJournal, ToolCall
from detent.core.run.approval import Scope
from tests.adapters.cli.runs.clerks import PAY, app, begin, call, clerk, document, said
from tests.adapters.web.browsers import Site
from tests.adapters.web.pages import payer_and_signer, waiting

SECOND = ToolCall("pay", {"amount": 6, "pin": "hush-hush"}, "c2")
ASKS = {"pay": AlwaysAskPolicy()}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SQLiteJournal:
    """A run "r" of which two calls wait, where all commands look."""
    path = tmp_path / "runs.db"
    monkeypatch.setenv("DETENT_STORE", str(path))
    journal = SQLiteJournal(path)
    begin(journal, "r", said(PAY, SECOND))
    return journal


def remember(journal: SQLiteJournal, number: int, scope: Scope) -> None:
    agent = clerk(journal)
    (waiting,) = [one for one in agent.pending("r") if one.arguments["amount"] == number]
    agent.decide("r", waiting.confirm(by="Ada", remember=scope))


def test_what_counts_further_is_listed_and_taken_back(
    store: SQLiteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Secrets are masked; who takes it back is written down."""
    code = app(monkeypatch)
    nothing = call("grants", "r", "--app", code)
    assert "each yes counts for its own call alone" in nothing.stderr
    call("revoke", "r", "--app", code, code=4)

    remember(store, 5, "arguments")
    listed = call("grants", "r", "--app", code)
    assert listed.stdout.startswith(
        '1  pay with {"amount": 5, "pin": "********"}: confirmed by Ada'
    )
    assert "To take one back: " in listed.stderr
    (shown,) = document("grants", "r", "--app", code)["grants"]
    assert (shown["tool_name"], shown["scope"], shown["path"]) == ("pay", "arguments", [])

    done = document("revoke", "r", "--app", code, "--by", "Bob")
    assert done == {"run_id": "r", "revoked": shown}
    assert clerk(store).grants("r") == ()
    last = list(store.read("r"))[-1]
    assert (last.kind, last.data["by"]) == ("GrantRevoked", "Bob")


def test_of_several_one_is_named(store: SQLiteJournal, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its number in the list."""
    code = app(monkeypatch)
    remember(store, 5, "arguments")
    remember(store, 6, "tool")
    several = call("revoke", "r", "--app", code, code=2)
    assert "2  pay with any arguments: confirmed by Ada" in several.stdout
    assert "more than one counts, say which: 1 to 2" in several.stderr
    assert (
        "has no confirmation 3: it has 2" in call("revoke", "r", "3", "--app", code, code=4).stderr
    )
    assert "counts for no further calls" in call("revoke", "r", "2", "--app", code).stderr
    assert [grant.scope for grant in clerk(store).grants("r")] == ["arguments"]


def test_of_a_run_that_has_ended_nothing_is_listed(
    store: SQLiteJournal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is advised is never refused: there is nothing to take back any more."""
    code = app(monkeypatch)
    remember(store, 5, "arguments")
    call("cancel", "r")

    listed = call("grants", "r", "--app", code)
    assert (listed.stdout, "To take one back" in listed.stderr) == ("", False)
    assert "run r has ended: no yes counts any further" in listed.stderr
    assert "run r has ended" in call("revoke", "r", "--app", code, code=4).stderr


def test_over_a_host_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who takes it back is who the token says."""
    site = Site(lambda: waiting({"one": payer_and_signer([])}, calls=2))
    try:
        monkeypatch.setenv("DETENT_HOST", site.url)
        assert document("grants", "one") == {"run_id": "one", "grants": []}
        call("decide", "one", "pay", "--confirm", "--unseen", "--remember", "tool")
        assert "--by is for a store" in call("revoke", "one", "--by", "me", code=2).stderr
        (shown,) = document("grants", "one")["grants"]
        assert "s3cret-value" not in json.dumps(shown)
        assert document("revoke", "one") == {"run_id": "one", "revoked": shown}
        assert "its own call alone" in call("revoke", "one", code=4).stderr
        call("decide", "one", "sign", "--confirm", "--unseen", "--remember", "tool")
        site.wait_for("one")
        assert document("grants", "one")["grants"] == []
        assert "has ended" in call("revoke", "one", code=4).stderr
    finally:
        site.close()
