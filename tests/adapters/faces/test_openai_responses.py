"""The responses of the OpenAI-compatible endpoint, with OpenAI's own client."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import openai
import pytest

from detent import ChatMessage, MemoryJournal, SQLiteJournal
from detent.faces import openai_app
from detent.models import ChatReply, Usage
from detent.testing import Pieces
from tests.adapters.faces.peers import BOB, PAY, PEOPLE, Paid, clerk, confirm, hosting, peer
from tests.adapters.faces.test_openai_app import INBOX, client_of

ASKS = {"role": "user", "content": "Hi"}


async def respond(client: openai.AsyncOpenAI, text: Any, **options: Any) -> Any:
    return await client.responses.create(model="clerk", input=text, **options)


def test_a_conversation_goes_on_from_a_response(tmp_path: Path) -> None:
    """With a question in the middle, in another process; a repeated request is the same one."""
    paid: Paid = []
    store = tmp_path / "runs.db"

    async def first() -> Any:
        agent = clerk(paid, "Hello.", PAY)
        async with hosting(SQLiteJournal(store), clerk=agent) as host, client_of(host) as client:
            hello = await respond(client, "Hi.")
            return hello, await respond(client, "Pay Cy.", previous_response_id=hello.id)

    async def second(hello: Any, asked: Any) -> list[Any]:
        agent = clerk(paid, "Cy has it.", "You are welcome.")
        async with hosting(SQLiteJournal(store), clerk=agent) as host, client_of(host) as client:
            yes = await respond(client, "yes", previous_response_id=asked.id)
            assert (yes.id, yes.output_text, paid) == (asked.id, asked.output_text, [])
            await confirm(host)
            done = await client.responses.retrieve(asked.id)
            again = await respond(client, "Pay Cy.", previous_response_id=hello.id)
            thanks = await respond(client, "Thanks!", previous_response_id=asked.id)
            with pytest.raises(openai.ConflictError):
                await respond(client, "Something else.", previous_response_id=hello.id)
            late = await respond(client, "Pay Cy.", previous_response_id=hello.id)
            runs = await host.runs()
            assert len({run.thread_id for run in runs}) == 1
            texts = [one.output_text for one in (done, again, thanks, late)]
            return [*texts, len(runs), done.id == again.id == late.id]

    hello, asked = asyncio.run(first())
    assert (hello.output_text, hello.status, asked.status) == ("Hello.", "completed", "completed")
    assert f"{INBOX}/question/" in asked.output_text
    assert asked.previous_response_id == hello.id
    told = asyncio.run(second(hello, asked))
    assert told == ["Cy has it.", "Cy has it.", "You are welcome.", "Cy has it.", 3, True]
    assert paid == [("Cy", 900)]


def test_the_same_words_later_are_another_response() -> None:
    """Of what comes with a response before it, only the last message is taken."""

    async def visit() -> Any:
        agent = clerk([], "One.", "Two.", "Three.")
        async with hosting(MemoryJournal(), clerk=agent) as host, client_of(host) as client:
            one = await respond(client, "Go on.")
            two = await respond(client, "Go on.", previous_response_id=one.id)
            items = [{"role": "user", "content": text} for text in ("Made up.", "Go on.")]
            three = await respond(client, items, previous_response_id=two.id)
            messages = (await host.run((await host.runs())[0].run_id)).run.messages
            return [one.output_text, two.output_text, three.output_text], [m.text for m in messages]

    told, messages = asyncio.run(visit())
    assert told == ["One.", "Two.", "Three."]
    assert messages == ["Go on.", "One.", "Go on.", "Two.", "Go on.", "Three."]


def test_a_response_is_streamed() -> None:
    """By the events that the client puts together by itself."""

    async def visit() -> Any:
        reply = Pieces("Cy ", "has ", "it.")
        async with (
            hosting(MemoryJournal(), clerk=clerk([], reply)) as host,
            client_of(host) as client,
        ):
            streaming = client.responses.stream(model="clerk", input="Did Cy?")
            async with streaming as stream:
                events = [event async for event in stream]
                return events, await stream.get_final_response()

    events, final = asyncio.run(visit())
    kinds = [event.type.removeprefix("response.") for event in events]
    assert [kind for kind, after in zip(kinds, [*kinds[1:], ""], strict=True) if kind != after] == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    assert final.output_text == "Cy has it."


def test_usage_idempotency_and_an_end_that_was_cut() -> None:
    """A key makes two requests one; an answer that was cut says why."""

    async def visit() -> Any:
        cut = ChatReply(
            ChatMessage.from_assistant("Wel"), usage=Usage(3, 4), finish_reason="length"
        )
        async with (
            hosting(MemoryJournal(), clerk=clerk([], cut)) as host,
            client_of(host) as client,
        ):
            key = {"extra_headers": {"Idempotency-Key": "k"}}
            items = [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]},
                {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": "Go"}],
                },
            ]
            one, two = [await respond(client, items, **key) for _ in range(2)]
            (run,) = await host.runs()
            messages = (await host.run(run.run_id)).run.messages
            return one, two.id == one.id, [m.text for m in messages]

    one, is_same, messages = asyncio.run(visit())
    assert (one.status, one.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    usage = one.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (3, 4, 7)
    assert is_same
    assert messages == ["Hi", "Hello.", "Go", "Wel"]


def test_a_response_is_its_owner_s() -> None:
    """Nobody else reads it or goes on from it, and no other agent."""

    async def visit() -> list[int]:
        agents = {"clerk": clerk([], "Hello."), "other": clerk([])}
        async with hosting(MemoryJournal(), **agents) as host:
            async with client_of(host) as ann:
                mine = (await respond(ann, "Hi.")).id
                with pytest.raises(openai.NotFoundError):
                    await ann.responses.create(model="other", input="x", previous_response_id=mine)
            async with client_of(host, BOB) as bob:
                for name in (mine, mine.replace(".", ".../ann/"), "resp_x.y", "nothing"):
                    with pytest.raises(openai.NotFoundError):
                        await bob.responses.retrieve(name)
                    with pytest.raises(openai.NotFoundError):
                        await respond(bob, "x", previous_response_id=name)
            return [len(await host.runs())]

    assert asyncio.run(visit()) == [1]


def test_a_failed_run_says_so() -> None:
    """As a status, and in a stream as an event."""

    async def visit() -> Any:
        agent = clerk([], RuntimeError("secret"), RuntimeError("secret"))
        async with hosting(MemoryJournal(), clerk=agent) as host, client_of(host) as client:
            with pytest.raises(openai.InternalServerError, match="has failed: bug"):
                await respond(client, "Hi")
            return [event async for event in await respond(client, "Hi", stream=True)][-1]

    failed = asyncio.run(visit())
    assert (failed.type, failed.response.status) == ("response.failed", "failed")
    assert "has failed: bug" in failed.response.error.message


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ([], 400),
        ({"model": "clerk"}, 400),
        ({"model": "clerk", "input": []}, 400),
        ({"model": "clerk", "input": [5]}, 400),
        ({"model": "clerk", "input": [{"type": "function_call_output", "output": "x"}]}, 400),
        ({"model": "clerk", "input": [ASKS, {"type": "function_call", "name": "pay"}]}, 400),
        ({"model": "nobody", "input": "Hi"}, 404),
        ({"model": "clerk", "input": "Hi", "previous_response_id": 5}, 404),
    ],
)
def test_garbage_starts_nothing(sent: Any, status: int) -> None:
    """Each has an answer in OpenAI's shape, and no run."""

    async def visit() -> tuple[int, str, int]:
        async with (
            hosting(MemoryJournal(), clerk=clerk([])) as host,
            peer(openai_app(host, sign_in=PEOPLE)) as client,
        ):
            answer = await client.post("/v1/responses", json=sent)
            return answer.status_code, answer.json()["error"]["type"], len(await host.runs())

    assert asyncio.run(visit()) == (status, "invalid_request_error", 0)
