"""The A2A face, with the client of the protocol's own SDK and with peers that mean harm."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.client import Client, ClientConfig, create_client
from a2a.client.errors import A2AClientError
from a2a.helpers import new_data_part, new_text_message
from a2a.server.tasks import InMemoryPushNotificationConfigStore
from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    A2AError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from google.protobuf.json_format import MessageToDict

from detent import Agent, ChatMessage, MemoryJournal, ScriptedChatGenerator, SQLiteJournal, ToolCall
from detent.faces import a2a_app
from detent.hosts import Host, LocalHost
from detent.testing import Pieces
from tests.adapters.faces.peers import ANN, BOB, PAY, PEOPLE, Paid, clerk, confirm, hosting, peer

URL = "http://localhost/a2a"
WAITS = TaskState.TASK_STATE_INPUT_REQUIRED
DONE = TaskState.TASK_STATE_COMPLETED


@asynccontextmanager
async def client_of(
    host: Host, token: str = ANN, *, streams: bool = True, **options: Any
) -> AsyncGenerator[Client]:
    """The SDK's client, which has found the agent by its card and asks the app and no network."""
    from starlette.applications import Starlette
    from starlette.routing import Mount

    app = Starlette(routes=[Mount("/a2a", a2a_app(host, url=URL, sign_in=PEOPLE, **options))])
    headers = {"Authorization": f"Bearer {token}"}
    web = httpx.AsyncClient(transport=httpx.ASGITransport(app), headers=headers)
    config = ClientConfig(streaming=streams, httpx_client=web)
    async with web, await create_client(f"{URL}/clerk", config) as client:
        yield client


def said(text: str, *parts: Part, name: str = "", task: str = "", context: str = "") -> Message:
    """A message of a user."""
    message = new_text_message(text, role=Role.ROLE_USER)
    message.message_id = name or message.message_id
    message.task_id, message.context_id = task, context
    if parts:
        del message.parts[:]
        message.parts.extend(parts)
    return message


async def send(client: Client, message: Message, **options: Any) -> list[Any]:
    """What comes of a message."""
    configuration = SendMessageConfiguration(**options)
    request = SendMessageRequest(message=message, configuration=configuration)
    return [getattr(one, one.WhichOneof("payload")) async for one in client.send_message(request)]


async def task_of(client: Client, task_id: str) -> Task:
    return await client.get_task(GetTaskRequest(id=task_id))


def asked(status: Any) -> list[dict[str, Any]]:
    """The questions of a task, as data."""
    return [MessageToDict(p.data) for p in status.message.parts if p.HasField("data")]


def yes(digest: str, **more: Any) -> Part:
    return new_data_part({"digest": digest, "approved": True, **more})


def texts(events: list[Any]) -> str:
    pieces = [part for one in events if hasattr(one, "artifact") for part in one.artifact.parts]
    # whoever comes when all is said is told it with the task
    tasks = [one for one in events if hasattr(one, "artifacts")] if not pieces else []
    pieces += [part for task in tasks for one in task.artifacts for part in one.parts]
    return "".join(part.text for part in pieces)


def test_a_card_says_how_to_come_in() -> None:
    """To everybody; and nothing else is said without a key."""

    async def visit() -> list[Any]:
        async with hosting(MemoryJournal(), clerk=clerk([])) as host:
            app = a2a_app(host, url=URL, sign_in=PEOPLE, about={"clerk": "Pays."})
            async with peer(app, "") as nobody:
                card = await nobody.get("/clerk/.well-known/agent-card.json")
                none = await nobody.get("/boss/.well-known/agent-card.json")
                call = await nobody.post("/clerk", json={})
            transport = httpx.ASGITransport(a2a_app(host, url=URL), client=("10.0.0.9", 1))
            async with httpx.AsyncClient(transport=transport) as there:
                far = await there.get("http://localhost/clerk/.well-known/agent-card.json")
            return [card.json(), none.status_code, call, far.status_code]

    card, none, call, far = asyncio.run(visit())
    (face,) = card["supportedInterfaces"]
    assert (face["url"], face["protocolBinding"]) == (f"{URL}/clerk", "JSONRPC")
    assert (card["name"], card["description"]) == ("clerk", "Pays.")
    assert card["securitySchemes"]["bearer"]["httpAuthSecurityScheme"]["scheme"] == "Bearer"
    assert card["capabilities"] == {"streaming": True, "pushNotifications": False}
    assert (none, call.status_code, far) == (404, 401, 401)
    assert call.headers["WWW-Authenticate"] == "Bearer"


def test_a_task_waits_and_goes_on_in_another_process(tmp_path: Path) -> None:
    """Input is required; the digest answers it; and it counts once, however often it is sent."""
    paid: Paid = []
    store = tmp_path / "runs.db"

    async def first() -> tuple[Any, Any]:
        agent = clerk(paid, PAY)
        async with hosting(SQLiteJournal(store), clerk=agent) as host, client_of(host) as client:
            begun, *_, last = await send(client, said("Pay Cy.", name="m1"))
            return begun, last

    async def second(task: str, digest: str) -> list[Any]:
        agent = clerk(paid, Pieces("Cy ", "has it."))
        async with hosting(SQLiteJournal(store), clerk=agent) as host, client_of(host) as client:
            answer = said("", yes(digest), task=task)
            told = await send(client, answer)
            again = await send(client, answer)
            (run,) = await host.runs()
            by = (await host.run(run.run_id)).run.decisions[0].by
            return [told, again[-1].status.state, by, await task_of(client, task)]

    begun, waits = asyncio.run(first())
    assert begun.status.state == TaskState.TASK_STATE_WORKING
    assert waits.status.state == WAITS
    (question,) = asked(waits.status)
    assert json.loads(question["arguments"]) == {"to": "Cy", "amount": 900}
    assert "Cy" in waits.status.message.parts[0].text
    told, again, by, task = asyncio.run(second(begun.id, question["digest"]))
    assert (texts(told), told[-1].status.state, again) == ("Cy has it.", DONE, DONE)
    assert (paid, by) == ([("Cy", 900)], "ann")
    assert [part.text for one in task.artifacts for part in one.parts] == ["Cy has it."]
    assert [part.text for one in task.history for part in one.parts] == ["Pay Cy."]


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"approved": True}, [("Cy", 900)]),
        ({"approved": True, "editedArgs": {"to": "Cy", "amount": 5}}, [("Cy", 5)]),
        ({"approved": False, "feedback": "No."}, []),
    ],
)
def test_data_with_the_digest_decides(answer: dict[str, Any], outcome: Paid) -> None:
    """Without a stream as well; and whole numbers stay whole."""
    paid: Paid = []

    async def visit() -> tuple[Task, Any]:
        agent = clerk(paid, PAY, "Done.")
        async with (
            hosting(MemoryJournal(), clerk=agent) as host,
            client_of(host, streams=False) as client,
        ):
            (task,) = await send(client, said("Pay Cy."))
            (question,) = asked(task.status)
            part = new_data_part({"digest": question["digest"], **answer})
            await send(client, said("", part, task=task.id))
            (run,) = await host.runs()
            decided = (await host.run(run.run_id)).run.decisions[0]
            return await task_of(client, task.id), decided

    task, decided = asyncio.run(visit())
    assert (task.status.state, paid) == (DONE, outcome)
    changed = getattr(decided.decision, "arguments", {})
    assert all(isinstance(changed[name], int) for name in changed if name == "amount")


def test_nothing_else_decides() -> None:
    """Not "yes", not a made-up digest, not what does not fit; the question is put again."""
    paid: Paid = []

    async def visit() -> list[Any]:
        agent = clerk(paid, PAY, "Done.")
        async with (
            hosting(MemoryJournal(), clerk=agent) as host,
            client_of(host, streams=False) as client,
        ):
            (task,) = await send(client, said("Pay Cy."))
            digest = asked(task.status)[0]["digest"]
            tried = [
                said("yes", task=task.id),
                said("", yes("0" * 64), task=task.id),
                said("", yes(digest, editedArgs={"amount": "lots"}), task=task.id),
                said("", yes(digest, editedArgs="all"), task=task.id),
            ]
            left = [(await send(client, one))[0].status for one in tried]
            bad = [
                new_data_part({"digest": digest}),
                new_data_part({"digest": digest, "approved": "true"}),
                new_data_part({"digest": digest, "approved": 1}),
                new_data_part([digest]),
                new_data_part(None),
                yes(digest, editedArgs={"to": "Cy", "amount": 2**60}),
            ]
            for part in bad:
                with pytest.raises(InvalidParamsError):
                    await send(client, said("", part, task=task.id))
            return [left, len(await host.pending())]

    left, count = asyncio.run(visit())
    assert [one.state for one in left] == [WAITS] * 4
    assert [bool("did not count" in one.message.parts[0].text) for one in left] == [
        False,
        False,
        True,
        True,
    ]
    assert (paid, count) == ([], 1)


def test_several_questions_are_answered_one_by_one() -> None:
    """What the inbox has decided before does nothing, and the rest is asked again."""
    paid: Paid = []
    two = [ToolCall("pay", {"to": "Cy", "amount": n}, f"c{n}") for n in (1, 2)]

    async def visit() -> list[Any]:
        agent = clerk(paid, ChatMessage.from_assistant(tool_calls=two), "Done.")
        async with (
            hosting(MemoryJournal(), clerk=agent) as host,
            client_of(host, streams=False) as client,
        ):
            (task,) = await send(client, said("Pay."))
            one, other = [question["digest"] for question in asked(task.status)]
            (here, _) = await host.pending()
            await host.send(here.call.run_id, here.call.reject(by="boss"))
            (still,) = await send(client, said("", yes(one), task=task.id))
            (done,) = await send(client, said("", yes(one), yes(other), task=task.id))
            return [other, asked(still.status), done.status.state]

    other, still, done = asyncio.run(visit())
    assert [question["digest"] for question in still] == [other]
    assert (done, paid) == (DONE, [("Cy", 2)])


def test_a_conversation_is_a_context_and_a_message_is_one_task() -> None:
    """A repeated message is its task; the next one goes on; ended tasks take no more."""

    async def visit() -> list[Any]:
        agent = clerk([], "Hello.", "Again.")
        async with (
            hosting(MemoryJournal(), clerk=agent) as host,
            client_of(host, streams=False) as client,
        ):
            (one,) = await send(client, said("Hi", name="m1", context="c.1"))
            (same,) = await send(client, said("Hi", name="m1", context="c.1"))
            (two,) = await send(client, said("Hi", name="m2", context="c.1"), history_length=0)
            with pytest.raises(UnsupportedOperationError):
                await send(client, said("more", task=one.id))
            with pytest.raises(InvalidParamsError):
                await send(client, said("more", task=one.id, context="another"))
            listed = await client.list_tasks(
                ListTasksRequest(context_id="c.1", page_size=1, include_artifacts=True)
            )
            more = await client.list_tasks(
                ListTasksRequest(context_id="c.1", page_token=listed.next_page_token)
            )
            none = await client.list_tasks(ListTasksRequest(context_id="c.1", status=WAITS))
            with pytest.raises(UnsupportedOperationError):
                await client.list_tasks(ListTasksRequest())
            (run, _) = await host.runs(thread_id="ann/c.1")
            messages = (await host.run(run.run_id)).run.messages
            return [one, same, two, listed, more, none, [m.text for m in messages]]

    one, same, two, listed, more, none, messages = asyncio.run(visit())
    assert one.id == same.id != two.id
    assert (one.context_id, two.context_id, len(two.history)) == ("c.1", "c.1", 0)
    assert [part.text for task in (two,) for a in task.artifacts for part in a.parts] == ["Again."]
    assert (listed.total_size, [task.id for task in listed.tasks]) == (2, [two.id])
    assert ([task.id for task in more.tasks], more.tasks[0].artifacts) == ([one.id], [])
    assert list(none.tasks) == []
    assert messages == ["Hi", "Hello.", "Hi", "Again."]


def test_whoever_left_hears_the_rest() -> None:
    """By asking for the task, by subscribing, or by sending the message again."""

    async def visit() -> list[Any]:
        agent = clerk([], PAY, Pieces("Cy ", "has it."))
        async with hosting(MemoryJournal(), clerk=agent) as host, client_of(host) as client:
            begun: Any = None
            request = SendMessageRequest(message=said("Pay Cy.", name="m1"))
            async for one in client.send_message(request):
                begun = one.task
                break
            waits = await send(client, said("Pay Cy.", name="m1"))
            heard = client.subscribe(SubscribeToTaskRequest(id=begun.id))
            first = await anext(aiter(heard))
            await confirm(host)
            again = await send(client, said("Pay Cy.", name="m1"))
            with pytest.raises(UnsupportedOperationError):
                _ = [one async for one in client.subscribe(SubscribeToTaskRequest(id=begun.id))]
            return [
                waits[-1].status.state,
                first.task.id == begun.id,
                again,
                len(await host.runs()),
            ]

    waits, is_same, again, count = asyncio.run(visit())
    assert (waits, is_same, count) == (WAITS, True, 1)
    (task, last) = again[0], again[-1]
    assert [part.text for one in task.artifacts for part in one.parts] == ["Cy has it."]
    assert last.status.state == DONE


def test_a_task_is_cancelled_once_and_a_failed_one_says_so() -> None:
    """Not a second time; and nothing of the error's text gets out."""

    async def visit() -> list[Any]:
        agent = clerk([], PAY, RuntimeError("secret host name"))
        async with (
            hosting(MemoryJournal(), clerk=agent) as host,
            client_of(host, streams=False) as client,
        ):
            (task,) = await send(client, said("Pay Cy."))
            ended = await client.cancel_task(CancelTaskRequest(id=task.id))
            with pytest.raises(TaskNotCancelableError):
                await client.cancel_task(CancelTaskRequest(id=task.id))
            (failed,) = await send(client, said("Again."))
            return [ended.status.state, failed.status]

    ended, failed = asyncio.run(visit())
    assert ended == TaskState.TASK_STATE_CANCELED
    assert failed.state == TaskState.TASK_STATE_FAILED
    assert failed.message.parts[0].text == "the run has failed: bug"


def test_somebody_else_s_task_is_not_there() -> None:
    """Not by its id, its context, the digest or the id of its message; nor another agent's."""
    paid: Paid = []

    async def visit() -> list[Any]:
        agents = {"clerk": clerk(paid, PAY, "Hello Bob."), "other": clerk([])}
        async with hosting(MemoryJournal(), **agents) as host:
            async with client_of(host, streams=False) as ann:
                (task,) = await send(ann, said("Pay Cy.", name="m1", context="c"))
            digest = asked(task.status)[0]["digest"]
            refused: list[str] = []
            async with client_of(host, BOB) as bob:
                for trial in (
                    lambda: task_of(bob, task.id),
                    lambda: bob.cancel_task(CancelTaskRequest(id=task.id)),
                    lambda: send(bob, said("", yes(digest), task=task.id)),
                    lambda: anext(aiter(bob.subscribe(SubscribeToTaskRequest(id=task.id)))),
                    lambda: task_of(bob, task.id.replace("c", "../ann/c")),
                    lambda: task_of(bob, "."),
                    lambda: task_of(bob, ""),
                ):
                    with pytest.raises(A2AError) as caught:
                        await trial()
                    refused.append(type(caught.value).__name__)
                mine = await send(bob, said("Hello.", name="m1", context="c"))
                seen = await bob.list_tasks(ListTasksRequest(context_id="c"))
            body = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": task.id}}
            async with peer(a2a_app(host, url=URL, sign_in=PEOPLE)) as ann_again:
                headers = {"A2A-Version": "1.0"}
                other = await ann_again.post("/other", json=body, headers=headers)
            return [refused, mine[-1].status.state, len(seen.tasks), other.json()]

    refused, mine, seen, other = asyncio.run(visit())
    assert set(refused) == {"TaskNotFoundError"}
    assert (mine, seen, paid) == (DONE, 1, [])
    assert other["error"]["code"] == -32001


def test_a_waiting_context_begins_nothing_more() -> None:
    """One task of a context is at work at a time; the other one is refused by name."""

    async def visit() -> int:
        async with (
            hosting(MemoryJournal(), clerk=clerk([], PAY)) as host,
            client_of(host, streams=False) as client,
        ):
            await send(client, said("Pay Cy.", context="c"))
            with pytest.raises(UnsupportedOperationError, match="thread_busy"):
                await send(client, said("And Di.", context="c"))
            return len(await host.runs())

    assert asyncio.run(visit()) == 1


def test_what_a_model_has_written_is_sent_whatever_it_is() -> None:
    """Half characters, numbers that no double has, and data that leads nowhere."""
    big = 2**60 + 1
    hostile = ToolCall("pay", {"to": "\ud800", "amount": big}, "c1")

    async def visit() -> Any:
        agent = clerk([], "half \ud800", hostile)
        async with hosting(MemoryJournal(), clerk=agent) as host, client_of(host) as client:
            told = await send(client, said("Hi."))
            return texts(told), (await send(client, said("Pay.")))[-1]

    half, waits = asyncio.run(visit())
    (question,) = asked(waits.status)
    assert half == "half ?"
    assert json.loads(question["arguments"]) == {"to": "\ud800", "amount": big}


def test_a_client_that_left_is_told_where_it_wants_to_be() -> None:
    """By the SDK's sender: when the task waits, and when it has ended; and to no forbidden URL."""
    told: list[Any] = []
    ended, heard = asyncio.Event(), asyncio.Event()

    async def web(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(int(x[15:]) for x in head.splitlines() if x.lower().startswith("content-len"))
        told.append((head, json.loads(await reader.readexactly(length))))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()
        heard.set()
        if told[-1][1]["task"]["status"]["state"] == "TASK_STATE_COMPLETED":
            ended.set()

    async def visit() -> list[Any]:
        server = await asyncio.start_server(web, "127.0.0.1", 0)
        place = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/told"

        async def ours(url: str) -> bool:
            return url == place

        nonce = "nonce"
        store = InMemoryPushNotificationConfigStore()
        agent = clerk([], PAY, "Cy has it.")
        async with (
            server,
            asyncio.timeout(20),
            hosting(MemoryJournal(), clerk=agent) as host,
            client_of(host, streams=False, push=store, push_to=ours) as client,
            client_of(host, BOB, push=store, push_to=ours) as bob,
        ):
            config = TaskPushNotificationConfig(id="one", url=place, token=nonce)
            (task,) = await send(client, said("Pay Cy."), task_push_notification_config=config)
            bad = TaskPushNotificationConfig(task_id=task.id, url="http://10.0.0.1/")
            with pytest.raises(InvalidParamsError):
                await client.create_task_push_notification_config(bad)
            good = TaskPushNotificationConfig(task_id=task.id, url=place, id="two")
            with pytest.raises(TaskNotFoundError):
                await bob.create_task_push_notification_config(good)
            await client.create_task_push_notification_config(good)
            gone = DeleteTaskPushNotificationConfigRequest(task_id=task.id, id="two")
            await client.delete_task_push_notification_config(gone)
            one = GetTaskPushNotificationConfigRequest(task_id=task.id, id="one")
            found = await client.get_task_push_notification_config(one)
            every = ListTaskPushNotificationConfigsRequest(task_id=task.id)
            listed = await client.list_task_push_notification_configs(every)
            async with client_of(host, push=store, push_to=ours) as restarted:
                await heard.wait()
                heard.clear()
                await task_of(restarted, task.id)
                await heard.wait()
            await confirm(host)
            await ended.wait()
            return [found.url == place, [config.id for config in listed.configs]]

    assert asyncio.run(visit()) == [True, ["one"]]
    heads, bodies = zip(*told, strict=True)
    states = [body["task"]["status"]["state"] for body in bodies]
    assert states[-1] == "TASK_STATE_COMPLETED"
    assert set(states) == {"TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED"}
    assert any("nonce" in head for head in heads)


def test_who_asks_for_the_task_when_told_of_its_end_is_not_told_again() -> None:
    """Else the two of them never rest: such a client asks each time that it is told."""
    told: list[str] = []

    async def web(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        told.append("told")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    async def visit() -> None:
        server = await asyncio.start_server(web, "127.0.0.1", 0)
        place = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/told"

        async def ours(url: str) -> bool:
            return url == place

        store = InMemoryPushNotificationConfigStore()
        async with (
            server,
            asyncio.timeout(20),
            hosting(MemoryJournal(), clerk=clerk([], "Hello.")) as host,
            client_of(host, streams=False, push=store, push_to=ours) as client,
        ):
            (task,) = await send(client, said("Hi."))
            before = asyncio.all_tasks()
            config = TaskPushNotificationConfig(task_id=task.id, url=place, id="one")
            await client.create_task_push_notification_config(config)
            for _ in range(3):
                await asyncio.gather(*asyncio.all_tasks() - before)
                await task_of(client, task.id)

    asyncio.run(visit())
    assert told == ["told"]


def test_without_a_store_nobody_is_told() -> None:
    """The card says so, and the method as well."""

    async def visit() -> None:
        async with (
            hosting(MemoryJournal(), clerk=clerk([], PAY)) as host,
            client_of(host, streams=False) as client,
        ):
            (task,) = await send(client, said("Pay Cy."))
            wanted = TaskPushNotificationConfig(task_id=task.id, url="http://x.example")
            with pytest.raises((PushNotificationNotSupportedError, A2AClientError)):
                await client.create_task_push_notification_config(wanted)

    asyncio.run(visit())


def rpc(params: Any, method: str = "SendMessage") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


HELLO = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Hi"}]}


@pytest.mark.parametrize(
    ("sent", "version", "code"),
    [
        (b"{", "1.0", "not_json"),
        (b"[" * 99_999, "1.0", "not_json"),
        (b'"' + b"x" * 4_000_001 + b'"', "1.0", "too_large"),
        ([], "1.0", -32600),
        ([rpc({"message": HELLO})], "1.0", -32600),
        (rpc({"message": HELLO}, "Nothing"), "1.0", -32601),
        (rpc({"message": HELLO}), "0.3", -32009),
        (rpc({"message": HELLO}), "", -32009),
        (rpc({"message": HELLO}), "99.0", -32009),
        (rpc({"message": []}), "1.0", -32602),
        (rpc({"message": {**HELLO, "parts": []}}), "1.0", -32602),
        (rpc({"message": {**HELLO, "messageId": ""}}), "1.0", -32602),
        (rpc({"message": {**HELLO, "contextId": "x" * 201}}), "1.0", -32602),
        (rpc({"message": {**HELLO, "parts": [{"data": {"a": 1}}]}}), "1.0", -32602),
        (rpc({"message": {**HELLO, "parts": [{"url": "file:///etc"}]}}), "1.0", -32005),
        (rpc({"message": {**HELLO, "taskId": "no.such"}}), "1.0", -32001),
        (rpc({"id": "x", "historyLength": -1}, "GetTask"), "1.0", -32602),
        (rpc({}, "GetExtendedAgentCard"), "1.0", -32007),
        (rpc({"contextId": "c", "pageToken": "9" * 5000}, "ListTasks"), "1.0", -32602),
        (rpc({"contextId": "c", "pageToken": "-5"}, "ListTasks"), "1.0", -32602),
        (rpc({"message": {**HELLO, "parts": [{"data": {"a": 1e999}}]}}), "1.0", "not_json"),
    ],
)
def test_garbage_starts_nothing(sent: Any, version: str, code: str | int) -> None:
    """Each is refused by its status or its error."""

    async def visit() -> tuple[httpx.Response, int]:
        async with (
            hosting(MemoryJournal(), clerk=clerk([])) as host,
            peer(a2a_app(host, url=URL, sign_in=PEOPLE)) as client,
        ):
            content = sent if isinstance(sent, bytes) else json.dumps(sent)
            headers = {"Content-Type": "application/json"}
            if version:
                headers["A2A-Version"] = version
            answer = await client.post("/clerk", content=content, headers=headers)
            return answer, len(await host.runs())

    answer, count = asyncio.run(visit())
    assert (answer.json()["error"]["code"], count) == (code, 0)


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, and not with the first request."""
    monkeypatch.setitem(sys.modules, "a2a", None)
    host = LocalHost({"clerk": clerk([])}, MemoryJournal())
    with pytest.raises(ImportError, match=r"detent\[a2a\]"):
        a2a_app(host, url=URL)


def test_a_text_that_is_no_text_and_one_for_an_agent_of_one_s_own() -> None:
    """Several parts are one text; without people this machine alone is answered."""

    async def visit() -> list[str | None]:
        agent = Agent(chat_generator=ScriptedChatGenerator("Hi."))
        async with (
            hosting(MemoryJournal(), clerk=agent) as host,
            peer(a2a_app(host, url=URL), "") as client,
        ):
            parts = [{"text": "a"}, {"text": "b"}]
            body = rpc({"message": {**HELLO, "parts": parts}})
            answer = await client.post("/clerk", json=body, headers={"A2A-Version": "1.0"})
            (run,) = await host.runs()
            said = (await host.run(run.run_id)).run.messages
            return [answer.json()["result"]["task"]["status"]["state"], said[0].text]

    assert asyncio.run(visit()) == ["TASK_STATE_COMPLETED", "a\nb"]
