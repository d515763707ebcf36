"""The pages over a real host: what is shown, what is decided, and who is turned away."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Sequence
from threading import Event
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount

from detent import (
    Agent,
    AlwaysAskPolicy,
    AskOncePolicy,
    ChatMessage,
    MemoryJournal,
    ScriptedChatGenerator,
    Tool,
    ToolCall,
    create_tool_from_function,
    tool,
)
from detent.adapters.web.arguments import VALUE
from detent.adapters.web.live import event
from detent.adapters.web.people import SESSION_S
from detent.approvals import Approvers, Ask, Principal, WithApprovers
from detent.hosts import Accepted, Host, LocalHost
from detent.journals import Entry
from detent.machine import Cancelled, OutcomeUnknownError
from detent.models import ChatGeneratorError, ModelFailure
from detent.ports.journal import JournalUnavailableError
from detent.web import Person, Tokens, web_app
from tests.adapters.web.pages import (
    HOSTILE,
    Paid,
    clerk,
    hosted,
    payer_and_signer,
    token_in,
    visitor,
    waiting,
)

CHANGING = (
    *("begin", "fork", "decide", "decide-many", "revoke", "cancel", "go-on", "try-again"),
    "sign-out",
)
ANN = {"to": "Ann", "amount": 100, "key": "s3cret-value"}


async def asked(client: httpx.AsyncClient, host: Host, agent: str | None = None) -> dict[str, str]:
    """What a form about the first question, of an agent, carries."""
    page = await client.get("/")
    (question, *_) = await host.pending(agent=agent)
    return {
        "csrf": token_in(page.text),
        "run_id": question.call.run_id,
        "digest": question.call.digest,
    }


def test_the_inbox_shows_all_that_would_run() -> None:
    """Types in sight, defaults and where they are from, no secret."""

    async def visit() -> str:
        async with hosted([], clerk=ANN) as host, visitor(web_app(host)) as client:
            return (await client.get("/")).text

    text = asyncio.run(visit())
    assert "&#34;Ann&#34;" in text
    assert "<bdi>100</bdi>" in text
    assert "default of the tool" in text
    assert "secret, not shown" in text
    assert "s3cret-value" not in text


@pytest.mark.parametrize(
    ("form", "outcome"),
    [
        ({"answer": "confirm"}, [{"to": "Ann", "amount": 100, "note": "thanks"}]),
        (
            {"answer": "modify", VALUE + "amount": "5"},
            [{"to": "Ann", "amount": 5, "note": "thanks"}],
        ),
        ({"answer": "reject", "text": "no"}, []),
        ({"answer": "respond", "text": "already paid"}, []),
    ],
)
def test_each_answer_does_what_it_says(form: dict[str, str], outcome: list[Any]) -> None:
    """What runs is what was shown, with the secret that nobody saw; and who said so is known."""
    paid: Paid = []

    async def visit() -> tuple[int, str | None]:
        async with hosted(paid, clerk=ANN) as host, visitor(web_app(host)) as client:
            sent = await client.post("/decide", data={**await asked(client, host), **form})
            await host.result("clerk", timeout=10)
            (said,) = (await host.run("clerk")).run.decisions
            return sent.status_code, said.by

    assert asyncio.run(visit()) == (303, "local")
    assert paid == [{**one, "key": "s3cret-value"} for one in outcome]


@pytest.mark.parametrize(
    ("said", "count"),
    [({}, 1), ({"remember": ""}, 1), ({"remember": "call"}, 0), ({"remember": "tool"}, 1)],
)
def test_a_yes_counts_for_what_the_form_says(said: dict[str, str], count: int) -> None:
    """For this call only is what it says; who says nothing leaves it to the policy."""
    paid: Paid = []

    async def visit() -> tuple[bool, int]:
        agents = {"clerk": clerk(paid, ANN, AskOncePolicy())}
        async with waiting(agents) as host, visitor(web_app(host)) as client:
            form = await asked(client, host)
            page = await client.get(f"/question/{form['digest']}/{form['run_id']}")
            await client.post("/decide", data={**form, "answer": "confirm", **said})
            await host.result("clerk", timeout=10)
            return "this call only" in page.text, len((await host.run("clerk")).run.grants)

    assert asyncio.run(visit()) == (True, count)


def test_a_yes_of_no_known_reach_is_none() -> None:
    """As its policy says, it could count for more than what was meant."""
    paid: Paid = []

    async def visit() -> httpx.Response:
        agents = {"clerk": clerk(paid, ANN, AskOncePolicy())}
        async with waiting(agents) as host, visitor(web_app(host)) as client:
            form = {**await asked(client, host), "answer": "confirm", "remember": "Call"}
            return await client.post("/decide", data=form)

    answer = asyncio.run(visit())
    assert (answer.status_code, paid) == (422, [])
    assert "a yes counts for one of call, arguments, tool" in answer.text


def test_a_yes_to_what_may_have_been_done_already_is_marked_so() -> None:
    """Nobody knows whether it was: the button says that it would be once more, and warns."""

    @tool
    def fax(to: str) -> str:
        """Fax an order."""
        raise OutcomeUnknownError("the fax gave no receipt")

    async def visit() -> tuple[str, str, str]:
        script = ScriptedChatGenerator(ToolCall("fax", {"to": "Ann"}), "Done.")
        agents = {"clerk": Agent(chat_generator=script, tools=[fax])}
        async with waiting(agents) as host, visitor(web_app(host)) as client:
            form = await asked(client, host)
            inbox = (await client.get("/")).text
            question = (await client.get(f"/question/{form['digest']}/clerk")).text
            chosen = {"csrf": form["csrf"], "chosen": f"{form['digest']}:clerk"}
            return inbox, question, (await client.post("/decide-many", data=chosen)).text

    inbox, question, many = asyncio.run(visit())
    for page in (inbox, question):
        assert 'value="confirm" class="again">Run it AGAIN<' in page
        assert "Run it as it is" not in page
    assert "It may have been done already, and is then done twice." in question
    assert "1 of them may have been done already, and would be done AGAIN." in many
    assert 'class="again">Run all 1 as they are' in many


def test_a_question_says_what_came_before_it() -> None:
    """So that nobody decides without what was asked for; the menu says where one is."""

    async def visit() -> tuple[str, str]:
        async with hosted([], clerk=ANN) as host, visitor(web_app(host)) as client:
            (asked,) = await host.pending()
            page = await client.get(f"/question/{asked.call.digest}/clerk")
            return page.text, (await client.get("/runs")).text

    question, runs = asyncio.run(visit())
    assert "<details open><summary>What came before</summary>" in question
    assert "<bdi>Pay, clerk!</bdi>" in question
    assert '<a href="/runs" aria-current="page">Runs</a>' in runs
    assert "aria-current" not in question


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"answer": "modify", VALUE + "amount": "5"}, ["modified by", "<ins><code><bdi>5<"]),
        ({"answer": "reject", "text": "not <b>him</b>"}, ["rejected by", "not &lt;b&gt;him&lt;"]),
    ],
)
def test_the_page_of_a_run_says_what_a_decision_was(form: dict[str, str], told: list[str]) -> None:
    """What the call was changed to, and why it may not run: more than the word for it."""

    async def visit() -> tuple[str, str]:
        async with hosted([], clerk=ANN) as host, visitor(web_app(host)) as client:
            inbox = (await client.get("/")).text
            await client.post("/decide", data={**await asked(client, host, "clerk"), **form})
            await host.result("clerk", timeout=10)
            return inbox, (await client.get("/run/clerk")).text

    inbox, page = asyncio.run(visit())
    no = inbox[inbox.rindex("<form", 0, inbox.index('value="reject"')) :]
    assert '<input name="text">' in no.partition("</form>")[0], "a no is asked why"
    assert 'value="confirm"' not in no.partition("</form>")[0], "Enter in the reason is no yes"
    decisions = page.partition("<h2>Decisions</h2>")[2].partition("</section>")[0]
    assert [words for words in told if words not in decisions] == []


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ({"answer": "confirm"}, ["may run as it is", "It said: <q><bdi>Done.</bdi>"]),
        ({"answer": "modify", VALUE + "amount": "5"}, ["other arguments", "<ins><code><bdi>5<"]),
        ({"answer": "reject", "text": "not <b>him</b>"}, ["may not run", "not &lt;b&gt;him&lt;"]),
        ({"answer": "respond", "text": "was paid"}, ["answered in its place", "was paid"]),
    ],
)
def test_after_a_decision_the_page_says_what_was_decided(
    form: dict[str, str], told: list[str]
) -> None:
    """For which call, by whom, and how its run goes on; and what waits next, with a way there."""

    async def visit() -> tuple[str, str, str]:
        async with hosted([], clerk=ANN, other=ANN) as host, visitor(web_app(host)) as client:
            about = {**await asked(client, host, "clerk"), **form}
            sent = await client.post("/decide", data=about)
            await host.result("clerk", timeout=10)
            page = await client.get(sent.headers["location"])
            (left,) = await host.pending()
            about = {**await asked(client, host, "other"), "answer": "reject"}
            sent = await client.post("/decide", data=about)
            return page.text, left.call.digest, (await client.get(sent.headers["location"])).text

    page, digest, last = asyncio.run(visit())
    wanted = ["<bdi>pay</bdi>", "Said by <bdi>local</bdi>", 'href="/run/clerk"', *told]
    assert [text for text in wanted if text not in page] == []
    assert f'href="/question/{digest}/other"' in page
    assert "s3cret-value" not in page
    assert "Nothing else waits for you." in last


def test_many_that_are_decided_are_told_together() -> None:
    """Each with its run; what nobody knows of is left out."""

    async def visit() -> str:
        two = {"one": ANN, "two": {"to": "Bob", "amount": 2}}
        async with hosted([], **two) as host, visitor(web_app(host)) as client:
            chosen = [f"{one.call.digest}:{one.call.run_id}" for one in await host.pending()]
            form: dict[str, Any] = {**await asked(client, host), "chosen": chosen}
            sent = await client.post("/decide-many", data={**form, "answer": "reject"})
            return (await client.get(sent.headers["location"] + "&call=x:nobody")).text

    page = asyncio.run(visit())
    assert "2 decided" in page
    assert page.count("may not run") == 2
    assert ('href="/run/one"' in page, 'href="/run/two"' in page) == (True, True)


def test_a_change_is_shown_before_it_counts() -> None:
    """And what does not fit, or is no change, is not sent: what was entered stays."""
    paid: Paid = []

    async def visit() -> list[httpx.Response]:
        async with hosted(paid, clerk=ANN) as host, visitor(web_app(host)) as client:
            about = await asked(client, host)
            forms: tuple[dict[str, str], ...] = (
                {VALUE + "amount": "7"},
                {VALUE + "amount": "lots"},
                {VALUE + "amount": '"7"'},
                {},
            )
            return [
                await client.post("/decide", data={**about, "answer": "review", **form})
                for form in forms
            ]

    good, no_json, misfit, same = asyncio.run(visit())
    assert "<del>" in good.text
    assert "<bdi>7</bdi>" in good.text
    assert [one.status_code for one in (good, no_json, misfit, same)] == [200, 422, 422, 422]
    assert "this is no JSON" in no_json.text
    assert "lots</textarea>" in no_json.text
    assert "integer" in misfit.text
    assert "nothing is changed" in same.text
    assert paid == []


def test_two_people_answer_for_one_call() -> None:
    """Whom the agent's approvers know by what the sign-in hands on; one person counts once."""
    paid: Paid = []
    known = {"key of ann": Principal("ann"), "key of bob": Principal("bob")}

    async def who(request: Request) -> Person | None:
        name = request.headers["x-user"]
        return Person(name, f"key of {name}")

    two = WithApprovers(AlwaysAskPolicy(), Approvers(2))
    agent = clerk(paid, ANN, two, approvers=lambda said, _: known.get(said.credential))

    async def visit() -> list[httpx.Response]:
        async with waiting({"clerk": agent}) as host, visitor(web_app(host, sign_in=who)) as client:
            found: list[httpx.Response] = []
            for name in ("eve", "ann", "ann", "bob"):
                client.headers["x-user"] = name
                form = {**await asked(client, host), "answer": "confirm"}
                sent = await client.post("/decide", data=form)
                place = sent.headers.get("location", "/")
                found += [sent, await client.get("/"), await client.get(place)]
                assert len(paid) == 0 or name == "bob"
            await host.result("clerk", timeout=10)
            return found

    eve, _, _, ann, page, half, again, _, _, bob, _, _ = asyncio.run(visit())
    assert [one.status_code for one in (eve, ann, again, bob)] == [409, 303, 409, 303]
    assert "has one yes more, and waits for that of somebody else" in half.text
    assert "Said by <bdi>ann</bdi>" in half.text
    assert "2 people; said yes: <bdi>ann</bdi>" in page.text
    assert len(paid) == 1


def test_what_one_person_was_shown_is_not_sent_in_the_name_of_another() -> None:
    """An app around may have somebody else sign in, in the same browser, with a page still open."""
    paid: Paid = []

    async def who(request: Request) -> Person | None:
        name = request.headers.get("x-user")
        return None if name is None else Person(name, name)

    two = WithApprovers(AlwaysAskPolicy(), Approvers(2))
    agent = clerk(paid, ANN, two, approvers=lambda said, _: Principal(said.credential or "?"))

    async def visit() -> list[Any]:
        async with waiting({"clerk": agent}) as host, visitor(web_app(host, sign_in=who)) as client:
            client.headers["x-user"] = "ann"
            form = {**await asked(client, host), "answer": "confirm"}
            page = {"detent-page": form["csrf"]}
            found: list[Any] = [await client.post("/decide", data=form)]
            found.append(await client.get("/part/questions", headers=page))
            client.headers["x-user"] = "bob"
            found.append(await client.post("/decide", data=form))
            found.append(await client.get("/part/questions", headers=page))
            (question,) = await host.pending()
            own = {**await asked(client, host), "answer": "confirm"}
            found += [question.call.votes, await client.post("/decide", data=own)]
            await host.result("clerk", timeout=10)
            return found

    ann, part, old, other, votes, bob = asyncio.run(visit())
    assert (ann.status_code, part.status_code, old.status_code) == (303, 200, 403)
    assert "or of somebody else: open the page again" in old.text
    assert (other.status_code, other.headers["hx-refresh"], other.text) == (204, "true", "")
    assert (votes, bob.status_code, len(paid)) == (("ann",), 303, 1)


def test_the_second_of_two_answers_is_told_that_it_comes_too_late() -> None:
    """By whom it was decided first; and nothing runs twice."""
    paid: Paid = []

    async def visit() -> httpx.Response:
        async with hosted(paid, clerk=ANN) as host, visitor(web_app(host)) as client:
            about = {**await asked(client, host), "answer": "confirm"}
            await client.post("/decide", data=about)
            await host.result("clerk", timeout=10)
            return await client.post("/decide", data=about)

    late = asyncio.run(visit())
    assert late.status_code == 409
    assert "confirmed, about pay, by local" in late.text
    assert len(paid) == 1


def test_many_are_decided_together_after_one_look_at_all() -> None:
    """The first form only shows them."""
    paid: Paid = []

    async def visit() -> httpx.Response:
        two = {"one": ANN, "two": {"to": "Bob", "amount": 2}}
        async with hosted(paid, **two) as host, visitor(web_app(host)) as client:
            csrf = (await asked(client, host))["csrf"]
            calls = [one.call for one in await host.pending()]
            form: dict[str, Any] = {
                "csrf": csrf,
                "chosen": [f"{call.digest}:{call.run_id}" for call in calls],
            }
            shown = await client.post("/decide-many", data=form)
            assert paid == []
            await client.post("/decide-many", data={**form, "answer": "confirm"})
            for call in calls:
                await host.result(call.run_id, timeout=10)
            return shown

    shown = asyncio.run(visit())
    assert "Run all 2 as they are" in shown.text
    assert {one["to"] for one in paid} == {"Ann", "Bob"}


def test_a_run_that_has_failed_says_why() -> None:
    """On its page, as text."""
    broken = ChatGeneratorError(ModelFailure("server", f"no such model {HOSTILE}"))

    async def visit() -> str:
        agent = Agent(chat_generator=ScriptedChatGenerator(broken))
        async with LocalHost({"a": agent}, MemoryJournal()) as host:
            begun = await host.start("a", "Hello?", run_id="r")
            assert isinstance(begun, Accepted)
            with pytest.raises(ChatGeneratorError):
                await host.result("r", timeout=10)
            async with visitor(web_app(host)) as client:
                return (await client.get("/run/r")).text

    shown = asyncio.run(visit())
    assert "<dt>Failure</dt><dd><bdi>no such model" in shown
    assert "<script>alert" not in shown


@pytest.mark.parametrize(
    ("path", "forged"),
    [
        ("/decide", {"csrf": "wrong"}),
        ("/decide", {"csrf": ""}),
        ("/decide-many", {"csrf": "wrong"}),
        ("/cancel", {"csrf": "wrong"}),
        ("/decide", {"sec-fetch-site": "cross-site"}),
        ("/cancel", {"sec-fetch-site": "same-site"}),
    ],
)
def test_what_another_site_has_made_does_nothing(path: str, forged: dict[str, str]) -> None:
    """Neither a form without this session's token, nor one that another site has sent."""
    paid: Paid = []

    async def visit() -> tuple[int, int]:
        async with hosted(paid, clerk=ANN) as host, visitor(web_app(host)) as client:
            about = {**await asked(client, host), "answer": "confirm"}
            headers = {name: it for name, it in forged.items() if name != "csrf"}
            about |= {name: it for name, it in forged.items() if name == "csrf"}
            refused = await client.post(path, data=about, headers=headers)
            return refused.status_code, len(await host.pending())

    assert asyncio.run(visit()) == (403, 1)


def test_nothing_is_decided_by_opening_a_page() -> None:
    """Whatever a link says."""

    async def visit() -> set[int]:
        async with hosted([], clerk=ANN) as host, visitor(web_app(host)) as client:
            return {(await client.get(f"/{name}")).status_code for name in CHANGING}

    assert asyncio.run(visit()) <= {404, 405}


def test_who_is_not_signed_in_sees_nothing() -> None:
    """A token opens the pages, its name is who decides, and signing out ends that."""
    tokens = Tokens({"a" * 16: "ann", "b" * 16: "bob"})
    paths = ("/", "/runs", "/run/clerk", "/raw/clerk", "/live/run/clerk", "/part/questions")

    async def visit() -> tuple[set[int], int, str, int]:
        async with hosted([], clerk=ANN) as host, visitor(web_app(host, sign_in=tokens)) as client:
            closed = {(await client.get(path)).status_code for path in paths}
            csrf = token_in((await client.get("/sign-in")).text)
            wrong = await client.post("/sign-in", data={"csrf": csrf, "token": "c" * 16})
            await client.post("/sign-in", data={"csrf": csrf, "token": "a" * 16})
            page = await client.get("/")
            assert token_in(page.text) != csrf  # what others may know
            await client.post("/sign-out", data={"csrf": token_in(page.text)})
            return closed, wrong.status_code, page.text, (await client.get("/")).status_code

    closed, wrong, page, after = asyncio.run(visit())
    assert (closed, wrong, after) == ({303}, 403, 303)
    assert "You are <bdi>ann</bdi>" in page


def test_a_session_ends_with_its_token_and_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cookie may have been copied: another token of the same person does not open it."""

    async def visit() -> list[int]:
        async with hosted([], clerk=ANN) as host:
            apps = [
                web_app(host, sign_in=Tokens({token * 16: "ann"}), secret="s" * 32)
                for token in ("a", "b")
            ]
            async with visitor(apps[0]) as client:
                csrf = token_in((await client.get("/sign-in")).text)
                await client.post("/sign-in", data={"csrf": csrf, "token": "a" * 16})
                codes = [(await client.get("/")).status_code]
                cookies = dict(client.cookies)
            for app in apps:
                async with visitor(app) as client:
                    client.cookies.update(cookies)
                    codes.append((await client.get("/")).status_code)
            now = time.time
            for hours in (SESSION_S / 2, SESSION_S):  # it is used meanwhile, and its cookie renewed
                monkeypatch.setattr(time, "time", lambda later=hours: now() + later)
                async with visitor(apps[0]) as client:
                    client.cookies.update(cookies)
                    codes.append((await client.get("/")).status_code)
                    cookies = dict(client.cookies)
            return codes

    assert asyncio.run(visit()) == [200, 200, 303, 200, 303]


def test_without_sign_in_only_this_machine_is_answered() -> None:
    """By its own names: a page of another site that has its name point here is none of them."""

    async def visit() -> tuple[int, int]:
        async with hosted([], clerk=ANN) as host:
            app = web_app(host)
            async with visitor(app, "192.0.2.7") as client:
                far = await client.get("/")
            async with visitor(app) as client:
                other = await client.get("/", headers={"host": "evil.example"})
            return far.status_code, other.status_code

    assert asyncio.run(visit()) == (403, 400)


@pytest.mark.parametrize("token", ["", "short"])
def test_a_token_that_can_be_guessed_is_refused(token: str) -> None:
    """When the app is made."""
    with pytest.raises(ValueError, match="16 characters"):
        Tokens({token: "ann"})
    with pytest.raises(ValueError, match="at least one"):
        Tokens({})


def test_hostile_texts_are_texts() -> None:
    """Wherever a model, a tool or a caller can put one: nothing is markup, or unseen."""
    call = {"to": HOSTILE, "amount": 1, "note": HOSTILE}

    async def visit() -> list[str]:
        async with hosted([], clerk=call) as host, visitor(web_app(host)) as client:
            about = await asked(client, host)
            pages = [
                await client.get("/"),
                await client.get(f"/question/{about['digest']}/clerk"),
                await client.get("/run/clerk"),
                await client.get("/runs", params={"thread_id": HOSTILE}),
                await client.post(
                    "/decide", data={**about, "answer": "review", VALUE + "to": HOSTILE}
                ),
            ]
            await client.post("/decide", data={**about, "answer": "reject", "text": HOSTILE})
            await host.result("clerk", timeout=10)
            return [one.text for one in (*pages, await client.get("/run/clerk"))]

    for text in asyncio.run(visit()):
        assert "<script>alert" not in text
        assert "</bdi><script" not in text
        seen = re.sub(
            r"(<textarea[^>]*>.*?</textarea>|value=\"[^\"]*\")", "", text, flags=re.DOTALL
        )
        assert "\x1b" not in seen
        assert "\u202e" not in seen


def test_every_answer_says_that_no_foreign_code_runs() -> None:
    """Pages, parts, errors and what is not there."""

    async def visit() -> list[httpx.Headers]:
        async with hosted([], clerk=ANN) as host, visitor(web_app(host)) as client:
            paths = ("/", "/run/none", "/nowhere", "/static/htmx.min.js", "/question/x/clerk")
            return [(await client.get(path)).headers for path in paths]

    for headers in asyncio.run(visit()):
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-frame-options"] == "DENY"


def test_what_counts_further_is_taken_back_from_the_page_of_a_run() -> None:
    """With a button; once, and what is no grant is refused."""

    async def visit() -> tuple[str, list[httpx.Response], str]:
        agents = {"clerk": payer_and_signer([])}
        async with waiting(agents, calls=2) as host, visitor(web_app(host)) as client:
            about = await asked(client, host)
            await client.post("/decide", data={**about, "answer": "confirm", "remember": "tool"})
            shown = (await client.get("/run/clerk")).text
            form = {**about, "ref": "[1, 0]", "path": "[]"}
            wrong = [{"ref": "[9, 9]"}, {"ref": "["}, {"run_id": "nobody"}]
            answers = [await client.post("/revoke", data=form | part) for part in wrong]
            answers += [await client.post("/revoke", data=form) for _ in range(2)]
            return shown, answers, (await client.get("/run/clerk")).text

    shown, answers, left = asyncio.run(visit())
    assert [answer.status_code for answer in answers] == [409, 409, 409, 303, 409]
    assert "counts for no further calls any more" in answers[-1].text
    assert "<h2>Counts for further calls</h2>" in shown
    assert "whatever its arguments: said by <bdi>local</bdi>" in shown
    assert "Take it back" not in left


def test_a_run_can_be_ended_and_gone_on_with() -> None:
    """From its page; the reason names who did it."""

    async def visit() -> tuple[str, str, str]:
        async with hosted([], clerk=ANN) as host, visitor(web_app(host)) as client:
            about = await asked(client, host)
            await client.post("/cancel", data={**about, "text": "too much"})
            outcome = (await host.result("clerk", timeout=10)).run.outcome
            assert outcome == Cancelled("too much (local)")
            ended = await client.get("/run/clerk")
            gone_on = await client.post("/go-on", data={**about, "text": "And now?"})
            page = await client.get(gone_on.headers["location"])
            return ended.text, gone_on.headers["location"], page.text

    ended, location, page = asyncio.run(visit())
    assert "by <bdi>cancelled</bdi>" in ended
    assert location.startswith("/run/")
    assert location != "/run/clerk"
    assert "And now?" in page


@given(st.text())
def test_an_event_is_one_event_whatever_it_says(text: str) -> None:
    """No line of it begins another."""
    lines = re.split(r"\r\n|\r|\n", event("changed", text, "7"))
    assert [line.partition(":")[0] for line in lines] == ["event", "data", "id", "", ""]


def test_a_run_can_be_begun() -> None:
    """Of an agent of the host, by whoever has signed in; an unknown one is refused."""

    async def visit() -> tuple[str | None, httpx.Response, int]:
        async with hosted([], clerk=ANN) as host, visitor(web_app(host)) as client:
            form = {"csrf": (await asked(client, host))["csrf"], "text": "Pay!", "agent": "clerk"}
            begun = await client.post("/begin", data={**form, "thread_id": "march"})
            (run,) = await host.runs(thread_id="march")
            assert begun.headers["location"] == f"/run/{run.run_id}"
            whose = (await host.run(run.run_id)).run.started_by
            unknown = await client.post("/begin", data={**form, "agent": "nobody"})
            return (
                whose,
                unknown,
                (await client.post("/begin", data={**form, "text": " "})).status_code,
            )

    whose, unknown, empty = asyncio.run(visit())
    assert (whose, unknown.status_code, empty) == ("local", 409, 422)
    assert "there is no agent" in unknown.text


def test_what_is_not_there_is_said_so() -> None:
    """With a way back, and nothing of what was asked for as markup."""

    async def visit() -> list[int]:
        async with hosted([], clerk=ANN) as host, visitor(web_app(host)) as client:
            paths = ("/run/none", "/question/x/none", "/question/x/clerk", "/raw/none")
            return [(await client.get(path)).status_code for path in paths]

    assert asyncio.run(visit()) == [404, 404, 409, 404]


def test_a_status_that_there_is_not_is_said() -> None:
    """No run is like that, and yet the list would not be true."""

    async def visit() -> httpx.Response:
        async with hosted([], clerk=ANN) as host, visitor(web_app(host)) as client:
            return await client.get("/runs?status=wating")

    answer = asyncio.run(visit())
    assert (answer.status_code, "did you mean &#39;waiting&#39;?" in answer.text) == (400, True)


def test_lists_of_runs_are_paged_and_filtered() -> None:
    """By status, agent and thread; the next page begins behind the last run of this one."""

    async def visit() -> tuple[str, str, str]:
        async with hosted([], clerk=ANN) as host, visitor(web_app(host)) as client:
            for number in range(60):
                said = [ChatMessage.from_user("Pay!")]
                await host.start("clerk", said, run_id=f"more-{number}", thread_id=f"t{number}")
            first = (await client.get("/runs")).text
            found = re.search(r'href="(/runs\?before=[^"]+)"', first)
            assert found is not None
            second = (await client.get(found[1].replace("&amp;", "&"))).text
            one = (await client.get("/runs", params={"thread_id": "t7"})).text
            return first, second, one

    first, second, one = asyncio.run(visit())
    in_first, in_second = (
        set(re.findall(r"<bdi>(more-\d+|clerk)</bdi></a>", it)) for it in (first, second)
    )
    assert (len(in_first), len(in_second), in_first & in_second) == (50, 11, set())
    assert set(re.findall(r"<bdi>(more-\d+)</bdi></a>", one)) == {"more-7"}


def test_the_page_of_a_long_run_is_short() -> None:
    """It shows the last of what happened, and says how much there was before."""
    look = create_tool_from_function(lambda: "x" * 100, name="look", description="Look.")
    script = [ToolCall("look", {}, f"c{turn}") for turn in range(300)]
    model = ScriptedChatGenerator(*script, "Done.")
    agent = Agent(chat_generator=model, tools=[look], max_agent_steps=1000)

    async def visit() -> httpx.Response:
        host = LocalHost({"a": agent}, MemoryJournal())
        async with host, visitor(web_app(host)) as client:
            await host.start("a", [ChatMessage.from_user("Go.")], run_id="long")
            await host.result("long", timeout=60)
            return await client.get("/run/long")

    found = asyncio.run(visit())
    assert f"{3 * 300 + 2 - 500} earlier events" in found.text
    assert f"{2 * 300 + 2 - 200} earlier messages" in found.text
    assert found.text.count("<tr id=") == 500


class Broken(MemoryJournal):
    """A store that cannot be read for a while."""

    is_down = False

    def read(self, run_id: str, start: int = 0) -> Sequence[Entry]:
        """Unless it is down."""
        if self.is_down:
            raise JournalUnavailableError("the disk is asleep")
        return super().read(run_id, start)


def test_a_store_that_cannot_be_read_is_said_so() -> None:
    """And comes back: nothing of the question is lost."""
    journal, agents = Broken(), {"clerk": clerk([], ANN)}

    async def visit() -> tuple[httpx.Response, int]:
        async with waiting(agents, journal) as host, visitor(web_app(host)) as client:
            journal.is_down = True
            down = await client.get("/run/clerk")
            journal.is_down = False
            return down, (await client.get("/run/clerk")).status_code

    down, after = asyncio.run(visit())
    assert (down.status_code, after) == (503, 200)
    assert "the disk is asleep" in down.text


def test_raw_data_has_no_secrets() -> None:
    """All of what happened, as JSON."""

    async def visit() -> httpx.Response:
        async with hosted([], clerk=ANN) as host, visitor(web_app(host)) as client:
            return await client.get("/raw/clerk")

    found = asyncio.run(visit())
    assert [one["kind"] for one in found.json()["entries"]] == ["Started", "ModelReplied", "Judged"]
    assert "s3cret-value" not in found.text
    assert "Ann" in found.text


@tool(name="pay")
def pay_twice(to: str, amount: int, note: str = "", key: str = "") -> str:
    """Pay somebody twice."""
    return to


@tool(name="pay")
def pay_by_name(name: str) -> str:
    """Pay somebody."""
    return name


def payer(paying: Tool, rule: Any) -> Agent[Any, Any]:
    """Another release of the clerk."""
    script = ScriptedChatGenerator("Done.")
    return Agent(chat_generator=script, tools=[paying], confirmation_strategies={"pay": rule})


def test_a_run_that_this_release_cannot_follow_is_not_silently_left_out() -> None:
    """What its call says fits the tool no longer: the release that has begun it can go on."""

    async def visit() -> str:
        journal = MemoryJournal()
        async with waiting({"clerk": clerk([], ANN)}, journal):
            pass
        later = {"clerk": payer(pay_by_name, AlwaysAskPolicy())}
        async with LocalHost(later, journal) as host, visitor(web_app(host)) as client:
            return (await client.get("/")).text

    page = asyncio.run(visit())
    assert "Waits for another release" in page
    assert "Go on with the agent as it was" in page


def test_a_run_that_asks_by_another_release_is_not_silently_left_out() -> None:
    """Until this one's rules have been asked, its question can be answered by nobody here."""
    may_ask = Event()

    def slow_rule(call: object, tool: object, run: object) -> Ask:
        may_ask.wait(30)
        return Ask("sure?")

    async def visit() -> tuple[str, str, Any]:
        journal = MemoryJournal()
        async with waiting({"clerk": clerk([], ANN)}, journal):
            pass
        async with (
            LocalHost({"clerk": payer(pay_twice, slow_rule)}, journal) as host,
            visitor(web_app(host)) as client,
        ):
            try:
                inbox, run = (await client.get("/")).text, (await client.get("/run/clerk")).text
                said = (await client.get("/api/run/clerk")).json()
            finally:
                may_ask.set()
            async for _ in host.watch("clerk"):
                if await host.pending():
                    break
            assert "Is asked anew" not in (await client.get("/")).text
        return inbox, run, said

    inbox, run, said = asyncio.run(visit())
    for page in (inbox, run):
        assert "Is asked anew" in page
        assert "its question is put anew, and stands here then" in page
        assert "the tool itself has changed" in page
    assert (said["pending"], said["outdated"][0]["tool_name"]) == ([], "pay")


def test_a_run_that_another_release_keeps_says_so() -> None:
    """Its question is answered there, for as long as that one is up."""

    async def visit() -> tuple[str, str, Any]:
        journal = MemoryJournal()
        old, new = (
            waiting({"clerk": clerk([], ANN)}, journal),
            LocalHost({"clerk": payer(pay_twice, lambda call, tool, run: Ask("sure?"))}, journal),
        )
        async with old as host, new, visitor(web_app(host)) as client, asyncio.timeout(30):
            while not await new.pending():  # noqa: ASYNC110 - each look has it asked
                await asyncio.sleep(0.01)
            inbox, run = (await client.get("/")).text, (await client.get("/run/clerk")).text
            return inbox, run, (await client.get("/api/run/clerk")).json()

    inbox, run, said = asyncio.run(visit())
    for page in (inbox, run):
        assert "Waits for another release" in page
        assert f"(process {os.getpid()} on " in page
        assert "the tool itself has changed" in page
    assert said["held_by"].startswith(f"process {os.getpid()} on ")


def test_an_address_of_nothing_has_a_way_back() -> None:
    """Also where the pages stand in another app."""

    async def visit() -> list[httpx.Response]:
        async with hosted([], clerk=ANN) as host:
            inner = web_app(host)
            outer = Starlette(routes=[Mount("/desk", inner)])
            async with visitor(inner) as alone, visitor(outer) as inside:
                return [await alone.get("/nope"), await inside.get("/desk/nope")]

    for answer, base in zip(asyncio.run(visit()), ("", "/desk"), strict=True):
        assert answer.status_code == 404
        assert "There is no such page." in answer.text
        assert f'<a href="{base}/">The inbox</a>' in answer.text
