"""`decide` about an agent with approvers: who it is comes out of a file, and is never typed."""

from __future__ import annotations

import shlex
from collections.abc import Generator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

from detent import AlwaysAskPolicy, SQLiteJournal
from detent.approvals import (
    ApproverKey,
    ApproverKeys,
    Approvers,
    Authenticator,
    PendingCall,
    Principal,
    Signer,
    ToolExecutionDecision,
    WithApprovers,
)
from detent.web import Tokens
from tests.adapters.cli.runs.clerks import PAY, app, begin, call, document
from tests.adapters.web.browsers import ANN, Site
from tests.adapters.web.pages import Paid, clerk, token_in, waiting

REFUSED = 4
TOKEN = "a-token-of-32-characters-for-test"  # noqa: S105 - nobody else's
BOBS_TOKEN = "another-token-of-32-characters-or"  # noqa: S105 - nobody's either
ADA = Signer.new("Ada")
KEYS = ApproverKeys({"Ada": ApproverKey(ADA.public_key)})


def by_token(decision: ToolExecutionDecision, question: PendingCall) -> Principal | None:
    name = {TOKEN: "Ada", BOBS_TOKEN: "Bob"}.get(decision.credential or "")
    return None if name is None else Principal(name)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder, with what people know in files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DETENT_STORE", "runs.db")
    for name in ("DETENT_CREDENTIAL", "DETENT_TOKEN", "DETENT_HOST"):
        monkeypatch.delenv(name, raising=False)
    Path("mine").write_text(f"{TOKEN}\n")
    Path("people").write_text(f"Ada {TOKEN}\n")
    Path("key").write_text(f"# mine\nAda {ADA.private_key}\n")


def waiting_at_a_store(monkeypatch: pytest.MonkeyPatch, approvers: Authenticator) -> list[str]:
    """A run that waits, and the words that say whose code it is."""
    begin(SQLiteJournal("runs.db"), "order-1", PAY, approvers=approvers)
    return ["--app", app(monkeypatch, approvers=approvers)]


@contextmanager
def waiting_at_a_host(
    approvers: Authenticator, tokens: Tokens | None, policy: Any = None
) -> Generator[Site]:
    """A server with a run "one" that waits."""
    paid: Paid = []
    made = {"one": clerk(paid, ANN, policy, approvers=approvers)}
    site = Site(lambda: waiting(made), sign_in=tokens)
    try:
        yield site
    finally:
        site.close()


@pytest.mark.parametrize(
    ("approvers", "way", "variable"),
    [
        (by_token, ["--credential-file", "mine"], ""),
        (by_token, [], TOKEN),
        (KEYS, ["--key-file", "key"], ""),
    ],
    ids=["file", "variable", "key"],
)
def test_a_store_is_told_who_decides(
    approvers: Authenticator, way: list[str], variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who it was is what approvers say."""
    where = waiting_at_a_store(monkeypatch, approvers)
    monkeypatch.setenv("DETENT_CREDENTIAL", variable)
    call("decide", "order-1", "--confirm", "--unseen", *way, *where)
    (decided,) = document("show", "order-1")["turns"][0]["calls"]
    assert decided["said"] == ["confirmed by Ada"]


@pytest.mark.parametrize(
    ("approvers", "wanted", "words"),
    [
        (by_token, "credential", "--credential-file FILE"),
        (KEYS, "signature", "--key-file FILE"),
    ],
)
def test_what_waits_at_a_store_is_shown_with_what_its_approvers_want(
    approvers: Authenticator, wanted: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever leaves it out is told again, and nothing is decided."""
    where = waiting_at_a_store(monkeypatch, approvers)
    told = call("pending", *where).stderr
    assert f"{words} --confirm, or --reject" in told
    refused = call("decide", "order-1", "--confirm", "--unseen", *where, code=REFUSED).stderr
    assert "it is not known who decides" in refused or "nobody called" in refused
    assert words in refused
    assert document("pending", *where)["pending"][0]["wanted"] == wanted


def test_a_host_is_told_by_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is what its agent's approvers know somebody by."""
    with waiting_at_a_host(by_token, Tokens({TOKEN: "Ada"})) as site:
        where = ["--host", site.url, "--token-file", "people"]
        assert "--confirm, or --reject" in call("pending", *where).stderr
        said = call("decide", "one", "--confirm", "--unseen", *where).stderr
        site.wait_for("one")
    assert "is decided about by Ada" in said


def test_a_yes_that_is_not_enough_is_told_as_one_at_a_host() -> None:
    """How many more must say it; the last one lets the call run."""
    Path("people").write_text(f"Ada {TOKEN}\nBob {BOBS_TOKEN}\n")
    Path("bob").write_text(f"{BOBS_TOKEN}\n")
    tokens = Tokens({TOKEN: "Ada", BOBS_TOKEN: "Bob"})
    policy = WithApprovers(AlwaysAskPolicy(), Approvers(2))
    words = ["decide", "one", "--confirm", "--unseen", "--token-file"]
    with waiting_at_a_host(by_token, tokens, policy) as site:
        first = call(*words, "mine", "--host", site.url)
        shown = document("pending", "one", "--host", site.url, "--token-file", "bob")
        second = call(*words, "bob", "--host", site.url).stderr
        site.wait_for("one")
    told = "Ada has said yes to pay; 1 more person must say yes, too; 1 call still waits"
    assert f"run one: {told}" in first.stderr
    assert "so far: Ada." in first.stdout
    assert [one["votes"] for one in shown["pending"]] == [["Ada"]]
    assert "pay is decided about by Bob; the host goes on with it" in second


def test_nor_is_it_enough_at_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words are the same."""
    rules = {"pay": WithApprovers(AlwaysAskPolicy(), Approvers(3))}
    options: dict[str, Any] = {"approvers": by_token, "confirmation_strategies": rules}
    begin(SQLiteJournal("runs.db"), "order-1", PAY, **options)
    where = ["--app", app(monkeypatch, **options), "--credential-file", "mine"]
    words = ["decide", "order-1", "--confirm", "--unseen", *where]

    told = "Ada has said yes to pay; 2 more people must say yes, too; 1 call still waits"
    assert told in call(*words).stderr


def test_a_host_at_which_nobody_signs_in_is_told_of() -> None:
    """There a question of approvers cannot be answered, and `pending` says what to do."""
    with waiting_at_a_host(by_token, None) as site:
        told = call("pending", "--host", site.url).stderr
        call("decide", "one", "--confirm", "--unseen", "--host", site.url, code=REFUSED)
    assert "have people sign in, by detent serve --token-file FILE, or decide where" in told


def test_a_signature_is_made_here_and_sent_to_a_host() -> None:
    """The key stays on this machine; without it nothing is sent."""
    with waiting_at_a_host(KEYS, Tokens({TOKEN: "Ada"})) as site:
        where = ["--host", site.url, "--token-file", "people"]
        assert "--key-file FILE --confirm, or" in call("pending", "one", *where).stderr
        none = call("decide", "one", "--confirm", "--unseen", *where, code=REFUSED).stderr
        said = call("decide", "one", "--confirm", "--unseen", "--key-file", "key", *where).stderr
        site.wait_for("one")
    assert "want a signature: --key-file FILE" in none
    assert "is decided about by Ada" in said


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--key-file", "key", "--by", "Ada"], "leave out --by"),
        (["--key-file", "key", "--credential-file", "mine"], "not both"),
        (["--key-file", "people"], "your name and the private_key"),
        (["--credential-file", "empty"], "there is nothing in it"),
        (["--credential-file", "binary"], "--credential-file binary: expected text, in UTF-8"),
        (["--key-file", "binary"], "--key-file binary: expected text, in UTF-8"),
    ],
)
def test_files_that_say_nobody_are_refused(
    words: list[str], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in them is not quoted."""
    Path("empty").write_text("\n")
    Path("binary").write_bytes(b"\x89PNG")
    where = waiting_at_a_store(monkeypatch, KEYS)
    told = call("decide", "order-1", "--confirm", "--unseen", *words, *where, code=2).stderr
    assert why in " ".join(told.split())
    assert TOKEN not in told


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--credential-file", "mine"], "a host knows you by your token"),
        (["--key-file", "key"], "nobody at this host checks signatures"),
    ],
)
def test_a_host_that_has_no_use_for_them_is_given_none(words: list[str], why: str) -> None:
    """A secret goes nowhere where it is not wanted."""
    with waiting_at_a_host(by_token, Tokens({TOKEN: "Ada"})) as site:
        where = ["--host", site.url, "--token-file", "people"]
        told = call("decide", "one", "--confirm", "--unseen", *words, *where, code=2).stderr
    assert why in told


def test_the_command_of_a_page_decides_about_a_run_whose_id_looks_like_an_option() -> None:
    """As it stands there: the id is one, and nothing is rejected."""
    made = {"--reject": clerk([], ANN, approvers=KEYS)}
    site = Site(lambda: waiting(made), sign_in=Tokens({TOKEN: "Ada"}))
    try:
        with httpx.Client(base_url=site.url, follow_redirects=True) as client:
            csrf = token_in(client.get("/sign-in").text)
            page = client.post("/sign-in", data={"token": TOKEN, "csrf": csrf}).text
        shown = page.partition("<code><bdi>detent runs ")[2].partition("</bdi>")[0]
        files = {"FILE": "people", "KEY": "key"}
        words = [files.get(word, word) for word in shlex.split(unescape(shown))]
        said = call(*words).stderr
        site.wait_for("--reject")
    finally:
        site.close()
    assert "is decided about by Ada" in said
