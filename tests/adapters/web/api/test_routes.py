"""The JSON face says what the pages say, to whoever may open them, and takes what they take."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import httpx
import pytest
from attrs import define
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from detent import (
    Agent,
    AlwaysAskPolicy,
    ChatMessage,
    MemoryJournal,
    Replaced,
    ScriptedChatGenerator,
    SecretParameter,
    ToolCall,
    TypedState,
    tool,
)
from detent.adapters.system.threads_and_loops import NoThreadError
from detent.adapters.web.api.requests import said_in_json
from detent.core.run.events import CancelRequested
from detent.hosts import Host, LocalHost
from detent.ports.journal import Entry
from detent.web import Person, Tokens, web_app
from tests.adapters.web.pages import (
    Paid,
    clerk,
    hosted,
    payer_and_signer,
    token_in,
    visitor,
    waiting,
)

ANN = {"to": "Ann", "amount": 100, "key": "s3cret-value"}
TOKEN = "a-token-of-32-characters-for-test"  # noqa: S105 - nobody else's
PATHS = ("", "/health", "/runs", "/pending", "/run/clerk", "/entries/clerk", "/watch/clerk")


def visited(
    visit: Callable[[Host, httpx.AsyncClient], Awaitable[Any]],
    paid: Paid | None = None,
    address: str = "127.0.0.1",
    **options: Any,
) -> Any:
    """What somebody finds at a host whose clerk waits."""

    async def going() -> Any:
        async with (
            hosted([] if paid is None else paid, clerk=ANN) as host,
            visitor(web_app(host, **options), address) as client,
        ):
            return await visit(host, client)

    return asyncio.run(going())


async def confirmed(client: httpx.AsyncClient, **more: Any) -> httpx.Response:
    """What comes of a yes to what waits."""
    asked, *_ = (await client.get("/api/pending")).json()["pending"]
    assert asked["asked_at"] == asked["cursor"][0]
    call = asked["call"]
    said = {"tool_name": call["tool_name"], "execute": True, "digest": call["digest"], **more}
    return await client.post("/api/decide", json={"run_id": call["run_id"], "decision": said})


def test_a_program_finds_what_waits_decides_and_sees_the_run_go_on() -> None:
    """Who it was is known; no secret is said."""
    paid: Paid = []

    async def visit(host: Host, client: httpx.AsyncClient) -> list[Any]:
        listed = (await client.get("/api/runs", params={"status": "waiting"})).json()
        done = (await confirmed(client)).json()
        lines = (await client.get("/api/watch/clerk")).text
        run = (await client.get("/api/run/clerk")).json()
        return [listed, done, lines, run, (await host.run("clerk")).run.decisions]

    listed, done, lines, run, (decision,) = visited(visit, paid)
    assert [(one["run_id"], one["pending"]) for one in listed["runs"]] == [("clerk", ["pay"])]
    assert done == {"run_id": "clerk", "by": "local", "waits_for": 0}
    assert (run["run"]["status"], run["pending"], run["tools"]) == ("done", [], ["pay"])
    assert (decision.by, len(paid)) == ("local", 1)
    told = [line.partition(": ") for line in lines.splitlines()]
    entries = [json.loads(text) for name, _, text in told if name == "data" and text[0] == "{"]
    assert [one["position"] for one in entries] == list(range(run["run"]["length"]))
    assert [text for name, _, text in told if name == "event"][-1] == "ended"
    assert "s3cret-value" not in lines


def test_a_number_that_a_page_has_rounded_is_no_change() -> None:
    """JavaScript sends back another one than it was shown; who changes it by a program may."""
    paid: Paid = []
    account = 2**53 + 1
    asked = {"to": "Ann", "amount": account}

    async def visit() -> list[httpx.Response]:
        async with (
            hosted(paid, clerk=asked) as host,
            visitor(web_app(host)) as client,
        ):
            shown = (await client.get("/api/pending")).json()["pending"][0]["call"]["arguments"]
            answers = [
                await confirmed(client, final_tool_params={**shown, "amount": amount, "to": "Bob"})
                for amount in (float(account), int(float(account)), account)
            ]
            await host.result("clerk", timeout=10)
            return answers

    *rounded, exact = asyncio.run(visit())
    assert [one.status_code for one in (*rounded, exact)] == [422, 422, 200]
    assert {one.json()["error"]["why"] for one in rounded} == {"invalid_arguments"}
    assert "is perhaps 9007199254740993, rounded" in rounded[1].json()["error"]["text"]
    assert [(one["to"], one["amount"]) for one in paid] == [("Bob", account)]


def test_entries_come_from_where_one_stands() -> None:
    """As JSON, and as a stream after a connection has dropped. What is masked stays so."""

    async def visit(host: Host, client: httpx.AsyncClient) -> list[Any]:
        await confirmed(client)
        await host.result("clerk", timeout=10)
        some = (await client.get("/api/entries/clerk?after=2")).json()["entries"]
        more = await client.get("/api/watch/clerk", headers={"last-event-id": "2"})
        beyond = await client.get("/api/watch/clerk?after=99")
        return [some, more.text, beyond, (await client.get("/api/entries/clerk")).text]

    some, more, beyond, whole = visited(visit)
    assert some[0]["position"] == 3
    assert "id: 3\n" in more
    assert "id: 2\n" not in more
    assert beyond.status_code == 422
    assert "s3cret-value" not in whole + more


def test_no_digest_tells_who_guesses_a_secret_that_it_is_the_one() -> None:
    """Nor the nonce of the run, which the digest of the question is made of."""

    async def visit(host: Host, client: httpx.AsyncClient) -> tuple[list[Any], list[str]]:
        await confirmed(client)
        await host.result("clerk", timeout=10)
        stored = [one.data async for one in host.watch("clerk") if isinstance(one, Entry)]
        pages = ("raw/clerk", "run/clerk", "moment/clerk?at=2", "api/entries/clerk")
        texts = [(await client.get(f"/{path}")).text for path in (*pages, "api/watch/clerk")]
        return stored, texts

    stored, shown = visited(visit)
    binding = next(data["binding"] for data in stored if "binding" in data)
    guessable = {binding[name] for name in ("arguments", "inputs", "run")}
    for text in shown:
        assert binding["tool"] in text
        assert not [one for one in (*guessable, stored[0]["run"]["nonce"]) if one in text]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("runs?stauts=waiting", "got 'stauts'; did you mean 'status'?"),
        ("runs?status=wating", "got 'wating'; did you mean 'waiting'?"),
        ("runs?status=", "status must be one of running, waiting, failed"),
        ("pending?status=done", "expected no more than agent, thread_id, limit, before"),
        ("entries/clerk?before=2", "expected no more than after, got 'before'"),
        ("watch/clerk?aftre=2", "got 'aftre'; did you mean 'after'?"),
    ],
)
def test_a_query_says_nothing_that_is_not_known(asked: str, told: str) -> None:
    """A filter that is left out in silence lists what nobody has asked for."""

    async def visit(host: Host, client: httpx.AsyncClient) -> httpx.Response:
        return await client.get(f"/api/{asked}")

    answer = visited(visit)
    assert (answer.status_code, answer.json()["error"]["why"]) == (400, "invalid")
    assert told in answer.json()["error"]["text"]


@pytest.mark.parametrize("path", PATHS)
def test_who_has_not_shown_who_they_are_is_told_nothing(path: str) -> None:
    """A token is said with each request: the session of a browser does not count here."""

    async def visit(host: Host, client: httpx.AsyncClient) -> list[httpx.Response]:
        page = await client.get("/sign-in")
        form = {"csrf": token_in(page.text), "token": TOKEN}
        assert (await client.post("/sign-in", data=form)).status_code == 303
        said = ("Bearer wrong", f"Basic {TOKEN}", "", f"Bearer {TOKEN}")
        url = f"/api{path}"
        return [
            *[await client.get(url, headers={"authorization": one}) for one in said[:3]],
            await client.get("/api", headers={"authorization": said[3]}),
        ]

    *refused, mine = visited(visit, sign_in=Tokens({TOKEN: "ann"}))
    assert [one.status_code for one in refused] == [401] * 3
    assert [one.headers["www-authenticate"] for one in refused] == ["Bearer"] * 3
    assert mine.json()["you"] == "ann"


def test_an_app_around_says_who_it_is() -> None:
    """By what it has found out, and with what the agent's approvers know them by."""

    async def who(request: Request) -> Person | None:
        name = request.headers.get("x-user")
        return Person(name) if name else None

    async def visit(host: Host, client: httpx.AsyncClient) -> list[Any]:
        nobody = await client.get("/api/runs")
        client.headers["x-user"] = "eve"
        return [nobody.status_code, (await confirmed(client)).json()["by"]]

    assert visited(visit, sign_in=who) == [401, "eve"]


@pytest.mark.parametrize("root", ["", "/desk"], ids=["served", "mounted"])
def test_a_probe_is_answered_whatever_it_calls_this_host(root: str) -> None:
    """It asks for the number of a container; whoever asks for more says a name that is allowed."""
    tokens = Tokens({TOKEN: "ann"})

    async def going() -> list[tuple[int, str]]:
        async with hosted([], clerk=ANN) as host:
            app = web_app(host, sign_in=tokens, allowed_hosts=["desk.example"])
            served = Starlette(routes=[Mount(root, app)]) if root else app
            async with visitor(served) as client:
                headers = {"host": "10.0.0.7:8000", "authorization": f"Bearer {TOKEN}"}
                paths = ("/health", "/api/health", "/api/runs", "/", "/x/health")
                found = [await client.get(root + path, headers=headers) for path in paths]
                return [(one.status_code, one.text) for one in found]

    probe, *others = asyncio.run(going())
    assert probe == (200, '{"is_ready": true}')
    assert others == [(400, "Invalid host header")] * 4


def test_without_sign_in_only_this_machine_is_answered() -> None:
    """And only by its own names."""

    async def visit(host: Host, client: httpx.AsyncClient) -> list[int]:
        other = await client.get("/api/runs", headers={"host": "evil.example"})
        return [(await client.get("/api/runs")).status_code, other.status_code]

    assert visited(visit, address="10.0.0.7") == [403, 400]
    assert visited(visit) == [200, 400]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": "application/json", "sec-fetch-site": "cross-site"}, 403),
        ({"content-type": "application/json", "sec-fetch-site": "same-site"}, 403),
    ],
)
def test_what_another_site_can_send_does_nothing(headers: dict[str, str], status: int) -> None:
    """A form has no JSON to send, and a browser says where a request comes from."""
    paid: Paid = []

    async def visit(host: Host, client: httpx.AsyncClient) -> list[int]:
        (asked,) = await host.pending()
        said = asked.call.confirm().to_dict()
        body = json.dumps({"run_id": "clerk", "decision": said})
        answers = [
            await client.post(f"/api/{path}", content=body, headers=headers)
            for path in ("decide", "cancel")
        ]
        assert len(await host.pending()) == 1
        return [one.status_code for one in answers]

    assert visited(visit, paid) == [status] * 2
    assert paid == []


@pytest.mark.parametrize(
    ("more", "status", "told"),
    [
        ({"by": "the boss"}, 422, "by: who decides is whose request it is"),
        ({"credential": "key"}, 422, "credential: who decides"),
        ({"digest": None}, 422, "digest: expected that of the call"),
        ({"execute": "yes"}, 422, "execute"),
        ({"more": 1}, 422, "this is no decision"),
        ({"final_tool_params": {"to": "Ann"}}, 422, "amount"),
        ({"digest": "0" * 64}, 409, ""),
    ],
)
def test_a_decision_that_cannot_count_says_why(
    more: dict[str, Any], status: int, told: str
) -> None:
    """And nothing has run."""
    paid: Paid = []

    async def visit(host: Host, client: httpx.AsyncClient) -> httpx.Response:
        answer = await confirmed(client, **more)
        assert len(await host.pending()) == 1
        return answer

    answer: httpx.Response = visited(visit, paid)
    assert answer.status_code == status
    assert told in json.dumps(answer.json()["error"])
    assert paid == []


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("decide", b"[]", 422),
        ("decide", b"{", 422),
        ("decide", b'{"run_id": 3, "decision": {}}', 422),
        ("cancel", b'{"run_id": "clerk", "reason": "x", "by": "eve"}', 422),
        ("cancel", b'{"run_id": "nobody", "reason": "x"}', 404),
        ("cancel", b" " * 1_000_001, 413),
    ],
)
def test_what_is_no_request_is_refused(path: str, body: bytes, status: int) -> None:
    """In JSON, as everything here."""
    headers = {"content-type": "application/json"}

    async def visit(host: Host, client: httpx.AsyncClient) -> httpx.Response:
        return await client.post(f"/api/{path}", content=body, headers=headers)

    answer: httpx.Response = visited(visit)
    assert (answer.status_code, bool(answer.json()["error"]["text"])) == (status, True)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/run/nobody", 404),
        ("/entries/nobody", 404),
        ("/watch/nobody", 404),
        ("/runs?limit=x", 422),
        ("/runs?limit=0", 422),
        ("/runs?before=3", 422),
        ("/runs?before=[3]", 422),
        ("/entries/clerk?after=x", 422),
    ],
)
def test_what_is_not_there_is_said_so(path: str, status: int) -> None:
    """By a word for programs and a sentence for people."""

    async def visit(host: Host, client: httpx.AsyncClient) -> httpx.Response:
        return await client.get(f"/api{path}")

    answer: httpx.Response = visited(visit)
    assert answer.status_code == status
    assert {*answer.json()["error"]} == {"why", "text", "faults"}
    assert "invalid literal" not in answer.text


def test_more_is_said_to_a_run() -> None:
    """Where there is something to say."""

    async def visit(host: Host, client: httpx.AsyncClient) -> list[Any]:
        said = {"run_id": "clerk", "text": "in euros"}
        told = await client.post("/api/send", json=said)
        empty = await client.post("/api/send", json=said | {"text": " "})
        run = (await host.run("clerk")).run
        return [told.json(), empty.status_code, [one.text for one in run.unread]]

    assert visited(visit) == [{"run_id": "clerk", "by": "local"}, 422, ["in euros"]]


def test_a_program_begins_a_run_and_asking_twice_begins_one() -> None:
    """In the name of whose request it is; the id of the run is the number of an order, say."""

    async def visit(host: Host, client: httpx.AsyncClient) -> list[Any]:
        said = {"agent": "clerk", "text": "Pay Bob.", "run_id": "order-7", "thread_id": "bob"}
        first = (await client.post("/api/start", json=said)).json()
        again = (await client.post("/api/start", json=said)).json()
        other = (await client.post("/api/start", json={"agent": "clerk", "text": "Pay."})).json()
        hosted = await host.run("order-7")
        told = [hosted.run.messages[0].text, hosted.run.started_by, hosted.listed.thread_id]
        return [first, again, other, told]

    first, again, other, told = visited(visit)
    assert first == {"run_id": "order-7", "by": "local", "is_new": True}
    assert again == {"run_id": "order-7", "by": "local", "is_new": False}
    assert (other["is_new"], other["run_id"] not in {"order-7", "clerk"}) == (True, True)
    assert told == ["Pay Bob.", "local", "bob"]


async def at_a_desk(
    agent: Agent[Any, Any], visit: Callable[[Host, httpx.AsyncClient], Awaitable[Any]]
) -> Any:
    """What somebody finds at a host that has this agent, and no run."""
    journal = MemoryJournal()
    async with LocalHost({"desk": agent}, journal) as host, visitor(web_app(host)) as client:
        return await visit(host, client)


class Desk(TypedState):
    """What is known of who asks."""

    requester = Replaced("")
    urgent = Replaced(0)


def test_a_program_begins_a_run_with_values_in_its_state() -> None:
    """Those of JSON, by key."""

    async def visit(host: Host, client: httpx.AsyncClient) -> Desk:
        said = {"agent": "desk", "text": "Hi.", "state": {"requester": "Ann", "urgent": 2}}
        run_id = (await client.post("/api/start", json=said)).json()["run_id"]
        state: Desk = (await host.run(run_id)).run.state
        return state

    agent = Agent(chat_generator=ScriptedChatGenerator("Done."), state_schema=Desk)
    state = asyncio.run(at_a_desk(agent, visit))
    assert (state.requester, state.urgent) == ("Ann", 2)


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ({"requster": "Ann"}, "'requster' is"),
        ({"requester": 7}, "state key 'requester' holds str, got int: 7"),
        ({"urgent": "yes"}, "state key 'urgent' holds int, got str: 'yes'"),
        ({"messages": ["Hi."]}, "state key 'messages' holds list[ChatMessage]"),
        ([], "state: expected dict"),
    ],
)
def test_a_state_that_does_not_fit_says_by_which_key(state: Any, told: str) -> None:
    """And no run is begun."""

    async def visit(host: Host, client: httpx.AsyncClient) -> tuple[httpx.Response, int]:
        said = {"agent": "desk", "text": "Hi.", "state": state}
        body, headers = json.dumps(said), {"content-type": "application/json"}
        answer = await client.post("/api/start", content=body, headers=headers)
        return answer, len(await host.runs())

    agent = Agent(chat_generator=ScriptedChatGenerator("Done."), state_schema=Desk)
    answer, length = asyncio.run(at_a_desk(agent, visit))
    assert (answer.status_code, answer.json()["error"]["why"], length) == (422, "invalid", 0)
    assert told in answer.json()["error"]["text"]


@define
class Verdict:
    """What a desk comes to."""

    is_paid: bool
    notes: list[str]


@pytest.mark.parametrize(
    ("kind", "line", "result"),
    [
        (None, "Done.", {"exit_reason": "text", "text": "Done.", "output": None}),
        (
            Verdict,
            '{"is_paid": true, "notes": ["a"]}',
            {
                "exit_reason": "output",
                "text": '{"is_paid": true, "notes": ["a"]}',
                "output": {"is_paid": True, "notes": ["a"]},
            },
        ),
        (
            int,
            ToolCall("final_answer", {"value": 3}, "c1"),
            {"exit_reason": "output", "text": None, "output": {"value": 3}},
        ),
    ],
)
def test_a_program_is_given_the_answer_once_the_run_has_ended(
    kind: Any, line: Any, result: dict[str, Any]
) -> None:
    """With the output as JSON, where the agent has an `output_type`."""

    async def visit(host: Host, client: httpx.AsyncClient) -> Any:
        said = {"agent": "desk", "text": "Hi.", "run_id": "order-7"}
        await client.post("/api/start", json=said)
        await client.get("/api/watch/order-7")
        return (await client.get("/api/run/order-7")).json()["result"]

    agent: Agent[Any, Any] = Agent(chat_generator=ScriptedChatGenerator(line), output_type=kind)
    assert asyncio.run(at_a_desk(agent, visit)) == result


def test_an_answer_quotes_no_secret_and_there_is_none_while_the_run_goes_on() -> None:
    """Nor does an output; one that was cancelled says that it was."""

    @tool
    def sign(key: Annotated[str, SecretParameter]) -> str:
        """Sign."""
        return "signed"

    async def visit(host: Host, client: httpx.AsyncClient) -> list[Any]:
        found = list[Any]()
        for run_id in ("one", "two"):
            await host.start("desk", [ChatMessage.from_user("Hi.")], run_id=run_id)
            async for _ in host.watch(run_id):
                if await host.pending():
                    break
            (asked,) = await host.pending()
            found.append((await client.get(f"/api/run/{run_id}")).json()["result"])
            said = asked.call.confirm() if run_id == "one" else CancelRequested("enough")
            await host.send(run_id, said)
            await client.get(f"/api/watch/{run_id}")
            found.append((await client.get(f"/api/run/{run_id}")).json()["result"])
        return found

    answer = '{"is_paid": true, "notes": ["by s3cret-value"]}'
    call = ToolCall("sign", {"key": "s3cret-value"}, "c1")
    agent = Agent(
        chat_generator=ScriptedChatGenerator(call, answer, call),
        tools=[sign],
        output_type=Verdict,
        confirmation_strategies={"sign": AlwaysAskPolicy()},
    )
    before, ended, waiting, cancelled = asyncio.run(at_a_desk(agent, visit))
    assert (before, waiting) == (None, None)
    assert ended == {
        "exit_reason": "output",
        "text": '{"is_paid": true, "notes": ["by <key>"]}',
        "output": {"is_paid": True, "notes": ["by <key>"]},
    }
    assert cancelled == {"exit_reason": "cancelled", "text": None, "output": None}


@pytest.mark.parametrize(
    ("said", "status", "why"),
    [
        ({"agent": "nobody", "text": "Pay."}, 404, "unknown_agent"),
        ({"agent": "clerk", "text": " "}, 422, "invalid"),
        ({"agent": "clerk"}, 422, "invalid"),
        ({"agent": "clerk", "text": "Pay.", "run_id": 7}, 422, "invalid"),
        ({"agent": "clerk", "text": "Pay.", "run_id": ""}, 422, "invalid"),
        ({"agent": "clerk", "text": "Pay.", "thread_id": ""}, 422, "invalid"),
        ({"agent": "clerk", "text": "Pay.", "started_by": "eve"}, 422, "invalid"),
        ({"agent": "other", "text": "Pay.", "run_id": "clerk"}, 409, "other_agent"),
    ],
)
def test_what_begins_no_run_says_why(said: dict[str, Any], status: int, why: str) -> None:
    """And none is begun."""

    async def visit() -> tuple[httpx.Response, int]:
        async with hosted([], clerk=ANN, other=ANN) as host, visitor(web_app(host)) as client:
            return await client.post("/api/start", json=said), len(await host.runs())

    answer, length = asyncio.run(visit())
    assert (answer.status_code, answer.json()["error"]["why"], length) == (status, why, 2)


def test_a_process_without_threads_says_that_it_is_full() -> None:
    """In JSON, as all else: the machine may have some again a moment later."""

    async def begin(request: Request) -> Response:
        raise NoThreadError("can't start new thread")

    async def visit() -> httpx.Response:
        app = Starlette(routes=[Route("/api/start", said_in_json(begin), methods=["POST"])])
        async with visitor(app) as client:
            return await client.post("/api/start")

    answer = asyncio.run(visit())
    assert (answer.status_code, answer.json()["error"]["why"]) == (503, "full")


async def _health(client: httpx.AsyncClient) -> tuple[int, Any, int, Any]:
    probe, whole = await client.get("/health"), await client.get("/api/health")
    return probe.status_code, probe.json(), whole.status_code, whole.json()


def test_a_probe_learns_whether_the_host_is_ready() -> None:
    """By the status; whoever is known here also learns how much goes on, and what does not."""

    async def visit() -> list[Any]:
        async with hosted([], clerk=ANN) as host, visitor(web_app(host)) as client:
            ready = await _health(client)
            await client.post("/api/start", json={"agent": "clerk", "text": "Pay."})
        async with visitor(web_app(host)) as client:
            said = {"agent": "clerk", "text": "Pay."}
            refused = await client.post("/api/start", json=said)
            return [ready, await _health(client), refused]

    ready, closed, refused = asyncio.run(visit())
    assert ready[:3] == (200, {"is_ready": True}, 200)
    names = {
        "is_ready",
        "running",
        "waiting",
        "faults",
        "more_faults",
        "why_not_ready",
        "questions",
    }
    assert {*ready[3]} == names
    asked = ready[3]["questions"]
    assert (asked["count"], type(asked["oldest_at"])) == (1, float)
    assert asked["at"] >= asked["oldest_at"]
    whole = {"running": 0, "waiting": 0, "faults": {}, "questions": closed[3]["questions"]}
    whole["more_faults"] = {}
    whole["why_not_ready"] = "this host is closed: ask another one"
    assert closed == (503, {"is_ready": False}, 503, {"is_ready": False, **whole})
    assert (refused.status_code, refused.json()["error"]["why"]) == (503, "shutting_down")


@pytest.mark.parametrize(
    "name", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via", "X-Forwarded-Host"]
)
def test_what_a_proxy_hands_on_is_not_from_this_machine(name: str) -> None:
    """Though the proxy is: people sign in there, and it is said how."""

    async def visit(host: Host, client: httpx.AsyncClient) -> list[httpx.Response]:
        headers = {name: "for=203.0.113.9"}
        places = ("/api/runs", "/", "/health")
        return [await client.get(place, headers=headers) for place in places]

    for answer in visited(visit):
        assert answer.status_code == 403
        assert "by a proxy" in answer.text
        assert "give the app sign_in=" in answer.text

    async def visit_signed(host: Host, client: httpx.AsyncClient) -> int:
        headers = {name: "for=203.0.113.9", "Authorization": f"Bearer {TOKEN}"}
        return (await client.get("/api/runs", headers=headers)).status_code

    assert visited(visit_signed, sign_in=Tokens({TOKEN: "ann"})) == 200


def test_a_probe_needs_no_token_and_learns_nothing_else() -> None:
    """From another machine too, where people sign in; where nobody can, this machine alone asks."""

    async def visit(host: Host, client: httpx.AsyncClient) -> httpx.Response:
        return await client.get("/health")

    signed: httpx.Response = visited(visit, address="10.0.0.7", sign_in=Tokens({TOKEN: "ann"}))
    assert (signed.status_code, signed.json()) == (200, {"is_ready": True})
    unsigned: httpx.Response = visited(visit, address="10.0.0.7")
    assert unsigned.status_code == 403


class Unwell:
    """A host of one's own that says nothing of its health."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def __getattr__(self, name: str) -> Any:
        if name in {"health", "questions"}:
            raise AttributeError(name)
        return getattr(self._host, name)


def test_a_host_that_tells_no_health_is_asked_for_its_agents() -> None:
    """It answers, and so it is ready."""

    async def visit() -> tuple[int, Any, int, Any]:
        async with hosted([], clerk=ANN) as host:
            silent: Any = Unwell(host)
            async with visitor(web_app(silent)) as client:
                return await _health(client)

    assert asyncio.run(visit()) == (200, {"is_ready": True}, 200, {"is_ready": True})


def test_a_run_is_cancelled_in_the_name_of_who_asks() -> None:
    """Once: then it has ended."""

    async def visit(host: Host, client: httpx.AsyncClient) -> list[Any]:
        said = {"run_id": "clerk", "reason": "no longer wanted"}
        first = await client.post("/api/cancel", json=said)
        await host.result("clerk", timeout=10)
        again = await client.post("/api/cancel", json=said)
        return [first.json(), again.status_code, (await client.get("/api/entries/clerk")).text]

    first, again, entries = visited(visit)
    assert (first, again) == ({"run_id": "clerk", "by": "local"}, 409)
    assert "no longer wanted (local)" in entries


def test_what_counts_further_is_taken_back_in_the_name_of_who_asks() -> None:
    """Once; what is none of the run's is refused, and one that has ended has none."""
    paid: Paid = []

    async def visit() -> list[Any]:
        agents = {"clerk": clerk(paid, ANN, runs=2)}
        async with waiting(agents) as host, visitor(web_app(host)) as client:
            await confirmed(client, remember="arguments")
            assert (await host.result("clerk", timeout=10)).text == "Done."
            return [(await client.get("/api/run/clerk")).json()["grants"], await revoked(client)]

    async def waits() -> list[Any]:
        agents = {"clerk": payer_and_signer(paid)}
        async with waiting(agents, calls=2) as host, visitor(web_app(host)) as client:
            await confirmed(client, remember="tool")
            (grant,) = (await client.get("/api/run/clerk")).json()["grants"]
            answers = [await revoked(client, ref=[9, 9]), await revoked(client, ref="x")]
            answers += [await revoked(client), await revoked(client)]
            left = (await client.get("/api/run/clerk")).json()["grants"]
            return [grant, [answer.status_code for answer in answers], left]

    none, late = asyncio.run(visit())
    assert (none, late.status_code, late.json()["error"]["why"]) == ([], 409, "unknown_call")
    assert len(paid) == 2
    grant, codes, left = asyncio.run(waits())
    assert (grant["tool_name"], grant["scope"], grant["by"]) == ("pay", "tool", "local")
    assert (grant["arguments"]["key"], codes, left) == ("********", [409, 422, 200, 409], [])


async def revoked(client: httpx.AsyncClient, **more: Any) -> httpx.Response:
    """What comes of taking back the first yes."""
    said = {"run_id": "clerk", "ref": [1, 0], "path": [], **more}
    return await client.post("/api/revoke", json=said)


def test_one_run_whose_call_cannot_be_encoded_hides_no_other() -> None:
    """A model may write half a character, as a value or as a name: JSON has it as an escape."""
    odd = {"to": "Bob\ud800", "amount": 1, "note": "\udfff"}

    async def visit() -> list[httpx.Response]:
        async with hosted([], clerk=ANN, odd=odd) as host, visitor(web_app(host)) as client:
            paths = (
                "/api/pending",
                "/api/run/odd",
                "/api/entries/odd",
                "/raw/odd",
                "/",
                "/run/odd",
            )
            return [await client.get(path) for path in paths]

    answers = asyncio.run(visit())
    assert {one.status_code for one in answers} == {200}
    waiting = {one["call"]["run_id"]: one["call"] for one in answers[0].json()["pending"]}
    assert waiting.keys() == {"clerk", "odd"}
    assert waiting["odd"]["arguments"]["to"] == "Bob\ud800"


def test_what_is_no_request_says_what_there_is() -> None:
    """In JSON, as every error here; and to cancel takes no reason."""

    async def visit(_host: Host, client: httpx.AsyncClient) -> list[httpx.Response]:
        answers = [await client.get(path) for path in ("/api/nope", "/api/decide")]
        answers.append(await client.post("/api/cancel", json={"run_id": "clerk"}))
        return [*answers, await client.get("/api/run/clerk")]

    missing, wrong, done, run = visited(visit)
    assert missing.status_code == 404
    text = missing.json()["error"]["text"]
    assert text.startswith("there is no GET /api/nope; there are /api, /api/cancel, /api/decide, ")
    assert wrong.status_code == 405
    assert wrong.json()["error"]["text"] == "/api/decide is asked by POST, and not by GET"
    assert done.json() == {"run_id": "clerk", "by": "local"}
    assert run.json()["run"]["status"] == "cancelled"
