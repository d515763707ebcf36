"""An agent with approvers is decided about by who signs in, and a page says where it cannot be."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from detent import AlwaysAskPolicy
from detent.approvals import (
    ApproverKey,
    ApproverKeys,
    Approvers,
    Authenticator,
    PendingCall,
    Policy,
    Principal,
    Signer,
    ToolExecutionDecision,
    WithApprovers,
)
from detent.hosts import Host
from detent.web import Tokens, web_app
from tests.adapters.web.pages import Paid, clerk, token_in, visitor, waiting

ANN = {"to": "Ann", "amount": 100, "key": "s3cret-value"}
ADAS, BOBS = "a-token-of-ada-for-this-test", "a-token-of-bob-for-this-test"
TOKENS = Tokens({ADAS: "Ada", BOBS: "Bob"})
ADA, BOB = Signer.new("Ada"), Signer.new("Bob")
KEYS = ApproverKeys({each.name: ApproverKey(each.public_key) for each in (ADA, BOB)})


def by_token(decision: ToolExecutionDecision, question: PendingCall) -> Principal | None:
    """Whom the desk calls by another name than the page does; Bob may not decide."""
    return Principal("Ada of finance") if decision.credential == ADAS else None


def visited(
    visit: Callable[[Host, httpx.AsyncClient], Awaitable[Any]],
    approvers: Authenticator,
    policy: Policy | None = None,
    **options: Any,
) -> tuple[Any, Paid]:
    """What somebody finds at a host whose clerk waits, and what was paid then."""
    paid: Paid = []
    options = {"sign_in": TOKENS, **options}

    async def going() -> Any:
        made = {"clerk": clerk(paid, ANN, policy, approvers=approvers)}
        async with waiting(made) as host, visitor(web_app(host, **options)) as client:
            return await visit(host, client)

    return asyncio.run(going()), paid


async def sign_in(client: httpx.AsyncClient, token: str) -> None:
    """By the page, as a person does."""
    form = {"token": token, "csrf": token_in((await client.get("/sign-in")).text)}
    assert (await client.post("/sign-in", data=form)).status_code == 303


async def pressed(host: Host, client: httpx.AsyncClient) -> httpx.Response:
    """What comes of the button that says yes."""
    (question,) = await host.pending()
    csrf = token_in((await client.get("/")).text)
    form = {"run_id": "clerk", "digest": question.call.digest, "answer": "confirm", "csrf": csrf}
    return await client.post("/decide", data=form)


async def posted(
    host: Host, client: httpx.AsyncClient, token: str, run_id: str = "clerk", **more: Any
) -> httpx.Response:
    """What comes of a yes over the JSON face."""
    (question,) = await host.pending()
    decision = {**question.call.confirm().to_dict(), **more}
    headers = {"Authorization": f"Bearer {token}"}
    said = {"run_id": run_id, "decision": decision}
    return await client.post("/api/decide", json=said, headers=headers)


def test_who_has_signed_in_is_known_to_approvers_by_the_token() -> None:
    """On the page: the session has no token, and the app knows whose it is."""

    async def visit(host: Host, client: httpx.AsyncClient) -> list[Any]:
        await sign_in(client, BOBS)
        bob = await pressed(host, client)
        await sign_in(client, ADAS)
        ada = await pressed(host, client)
        ended = await host.result("clerk", timeout=10)
        return [bob.status_code, ada.status_code, [one.by for one in ended.run.decisions]]

    found, paid = visited(visit, by_token)
    assert found == [409, 303, ["Ada of finance"]]
    assert len(paid) == 1


def test_the_json_face_says_whom_the_approvers_have_named() -> None:
    """And takes no credential of the request's own: nobody decides in another one's name."""

    async def visit(host: Host, client: httpx.AsyncClient) -> list[httpx.Response]:
        headers = {"Authorization": f"Bearer {BOBS}"}
        asked = await client.get("/api/pending", headers=headers)
        return [
            asked,
            await posted(host, client, BOBS, credential=ADAS),
            await posted(host, client, BOBS),
            await posted(host, client, ADAS),
        ]

    (asked, borrowed, bob, ada), _ = visited(visit, by_token)
    assert [one["wanted"] for one in asked.json()["pending"]] == ["credential"]
    assert (borrowed.status_code, borrowed.json()["error"]["why"]) == (422, "invalid")
    assert (bob.status_code, bob.json()["error"]["why"]) == (409, "unauthenticated")
    assert ada.json() == {"run_id": "clerk", "by": "Ada of finance", "waits_for": 0}


def test_the_json_face_says_how_many_more_must_say_yes() -> None:
    """A yes that is not enough is told as one; a no is enough."""

    def either(decision: ToolExecutionDecision, question: PendingCall) -> Principal | None:
        name = {ADAS: "Ada", BOBS: "Bob"}.get(decision.credential or "")
        return None if name is None else Principal(name)

    async def visit(host: Host, client: httpx.AsyncClient) -> list[Any]:
        answers = [(await posted(host, client, token)).json() for token in (ADAS, BOBS)]
        await host.result("clerk", timeout=10)
        return answers

    async def refuse(host: Host, client: httpx.AsyncClient) -> Any:
        return (await posted(host, client, ADAS, execute=False)).json()

    policy = WithApprovers(AlwaysAskPolicy(), Approvers(2))
    (first, second), paid = visited(visit, either, policy)
    assert first == {"run_id": "clerk", "by": "Ada", "waits_for": 1}
    assert second == {"run_id": "clerk", "by": "Bob", "waits_for": 0}
    assert len(paid) == 1
    assert visited(refuse, either, policy) == ({"run_id": "clerk", "by": "Ada", "waits_for": 0}, [])


def test_a_signature_is_sent_by_whose_it_is() -> None:
    """What Ada has signed, Bob's token does not send; nor does a token alone decide."""

    async def visit(host: Host, client: httpx.AsyncClient) -> list[httpx.Response]:
        (question,) = await host.pending()
        signed = ADA.sign(question.call.confirm(), expires_at=time.time() + 60)
        return [
            await posted(host, client, ADAS),
            await posted(host, client, BOBS, credential=signed.credential),
            await posted(host, client, ADAS, credential=signed.credential, by="Ada"),
            await posted(host, client, ADAS, credential=signed.credential),
        ]

    (alone, bob, named, ada), _ = visited(visit, KEYS)
    refused = [one.json()["error"]["why"] for one in (alone, bob, named)]
    assert refused == ["unauthenticated", "unauthenticated", "invalid"]
    assert ada.json() == {"run_id": "clerk", "by": "Ada", "waits_for": 0}


def test_a_run_that_is_not_there_is_what_a_signature_for_it_is_told() -> None:
    """And not that no signature is wanted: whose run it would be, nobody knows."""

    async def visit(host: Host, client: httpx.AsyncClient) -> list[httpx.Response]:
        none = [await posted(host, client, ADAS, "nope", credential="signed")]
        return [*none, await posted(host, client, ADAS, "nope")]

    found, _ = visited(visit, KEYS)
    told = [(one.status_code, one.json()["error"]["why"]) for one in found]
    assert told == [(404, "unknown_run")] * 2


@pytest.mark.parametrize("path", ["/", "/question/{digest}/clerk"])
def test_a_page_that_no_signature_is_made_on_says_where_one_is(path: str) -> None:
    """It has no button that could not count."""

    async def visit(host: Host, client: httpx.AsyncClient) -> tuple[str, str]:
        (question,) = await host.pending()
        await sign_in(client, ADAS)
        digest = question.call.digest
        return (await client.get(path.format(digest=digest))).text, digest

    (html, digest), _ = visited(visit, KEYS)
    command = "detent runs decide clerk --host http://localhost --token-file FILE --key-file KEY"
    assert f"<code><bdi>{command} --digest {digest[:12]} --confirm</bdi></code>" in html
    assert 'name="answer"' not in html
    assert 'name="chosen"' not in html
    assert "that are ticked" not in html


def test_a_page_where_nobody_signs_in_says_that_approvers_know_nobody() -> None:
    """The answer is theirs all the same."""

    async def visit(host: Host, client: httpx.AsyncClient) -> tuple[str, int]:
        return (await client.get("/")).text, (await pressed(host, client)).status_code

    (html, status), paid = visited(visit, by_token, sign_in=None)
    assert "nothing here proves who local is: have people sign in, by detent serve" in html
    assert (status, paid) == (409, [])


def test_tokens_show_no_token() -> None:
    """What goes with each decision stands in no log."""
    person = TOKENS.person(ADAS)
    assert person is not None
    assert (person.name, person.credential) == ("Ada", ADAS)
    assert ADAS not in repr(person) + repr(TOKENS)
