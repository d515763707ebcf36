"""Faces whose process is killed in the middle of a run, and clients that come back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
import httpx2
import openai
import pytest
from a2a.client import ClientConfig, create_client
from a2a.client.errors import A2AClientError
from a2a.helpers import new_data_message, new_text_message
from a2a.types import Role, SendMessageRequest, TaskState
from google.protobuf.json_format import MessageToDict

from tests.adapters.faces.peers import ANN, confirm
from tests.adapters.faces.served import host_of, serving, until

HEADERS = {"Authorization": f"Bearer {ANN}"}


Heard = asyncio.Queue[Any]


async def a2a_events(url: str, message: Any, heard: Heard) -> None:
    """Hear all that comes of a message."""
    web = httpx.AsyncClient(headers=HEADERS, timeout=60)
    config = ClientConfig(httpx_client=web)
    async with web, await create_client(f"{url}/clerk", config) as client:
        coming: Any = client.send_message(SendMessageRequest(message=message))
        async with aclosing(coming):
            async for one in coming:
                heard.put_nowait(getattr(one, one.WhichOneof("payload")))


def a2a_told(url: str, message: Any) -> list[Any]:
    """All that comes of a message."""
    heard = Heard()
    asyncio.run(a2a_events(url, message, heard))
    return [heard.get_nowait() for _ in range(heard.qsize())]


def test_an_a2a_task_outlives_its_process(tmp_path: Path) -> None:
    """Killed while a tool works, and again while it waits: the payment is made once."""
    begun = new_text_message("Pay Cy.", role=Role.ROLE_USER)

    async def cut_off() -> Any:
        heard = Heard()
        with serving("a2a", tmp_path) as url:
            coming = asyncio.create_task(a2a_events(url, begun, heard))
            first = await heard.get()
            await asyncio.to_thread(until, tmp_path / "held")
        await asyncio.gather(coming, return_exceptions=True)
        assert isinstance(coming.exception(), A2AClientError)
        return first

    task = asyncio.run(cut_off())
    (tmp_path / "go").touch()
    with serving("a2a", tmp_path) as url:
        again = a2a_told(url, begun)
    status = again[-1].status
    assert (again[0].id, status.state) == (task.id, TaskState.TASK_STATE_INPUT_REQUIRED)
    (question,) = [MessageToDict(p.data) for p in status.message.parts if p.HasField("data")]

    answer = new_data_message(
        {"digest": question["digest"], "approved": True}, task_id=task.id, role=Role.ROLE_USER
    )
    with serving("a2a", tmp_path) as url:
        ended = [a2a_told(url, answer)[-1], a2a_told(url, answer)[-1]]
    assert [one.status.state for one in ended] == [TaskState.TASK_STATE_COMPLETED] * 2
    assert (tmp_path / "paid").read_text() == "Cy 900\n"
    assert len((tmp_path / "held").read_text().split()) == 2


def test_an_agui_run_outlives_its_process(tmp_path: Path) -> None:
    """Killed in a stream, and again while it waits; what is sent twice pays once."""

    async def told(url: str, run_id: str, **more: Any) -> list[Any]:
        sent = {"threadId": "chat", "runId": run_id, "messages": [], **more}
        async with httpx.AsyncClient(headers=HEADERS, timeout=60) as client:
            answer = await client.post(f"{url}/clerk", json=sent)
        lines = [line for line in answer.text.splitlines() if line.startswith("data: ")]
        return [json.loads(line[6:]) for line in lines]

    begun = {"messages": [{"id": "u1", "role": "user", "content": "Pay Cy."}]}

    async def cut_off() -> None:
        with serving("agui", tmp_path) as url:
            asking = asyncio.create_task(told(url, "r1", **begun))
            await asyncio.to_thread(until, tmp_path / "held")
        with pytest.raises(httpx.HTTPError):
            await asking

    asyncio.run(cut_off())
    (tmp_path / "go").touch()
    with serving("agui", tmp_path) as url:
        (question,) = asyncio.run(told(url, "r1", **begun))[-1]["outcome"]["interrupts"]
    resume = [{"interruptId": question["id"], "status": "resolved", "payload": {"approved": True}}]
    with serving("agui", tmp_path) as url:
        ends = [asyncio.run(told(url, name, resume=resume))[-1] for name in ("r2", "r2", "r3")]
    assert [end["outcome"]["type"] for end in ends] == ["success"] * 3
    assert (tmp_path / "paid").read_text() == "Cy 900\n"


Ask = Callable[[openai.AsyncOpenAI], Coroutine[Any, Any, str]]


async def chat(client: openai.AsyncOpenAI) -> str:
    """Ask by chat completions, as a stream."""
    stream = await client.chat.completions.create(
        model="clerk",
        messages=[{"role": "user", "content": "Pay Cy."}],
        stream=True,
        extra_headers={"X-Thread-Id": "chat"},
    )
    return "".join([one.choices[0].delta.content or "" async for one in stream])


async def response(client: openai.AsyncOpenAI) -> str:
    """Ask by responses, as a stream; a key says that it is the same message."""
    stream = await client.responses.create(
        model="clerk", input="Pay Cy.", stream=True, extra_headers={"Idempotency-Key": "one"}
    )
    return "".join([one.delta async for one in stream if one.type == "response.output_text.delta"])


@pytest.mark.parametrize("way", [chat, response])
def test_an_answer_of_the_openai_face_outlives_its_process(way: Ask, tmp_path: Path) -> None:
    """Killed in a stream; the same message is the same run, which is told once it was decided."""

    async def ask(url: str) -> str:
        async with openai.AsyncOpenAI(api_key=ANN, base_url=f"{url}/v1", max_retries=0) as client:
            return await way(client)

    async def cut_off() -> None:
        with serving("openai", tmp_path) as url:
            asking = asyncio.create_task(ask(url))
            await asyncio.to_thread(until, tmp_path / "held")
        with pytest.raises((httpx2.HTTPError, openai.APIConnectionError)):
            await asking

    async def decided() -> None:
        async with host_of(tmp_path) as host:
            await confirm(host)

    asyncio.run(cut_off())
    (tmp_path / "go").touch()
    with serving("openai", tmp_path) as url:
        waits = asyncio.run(ask(url))
    asyncio.run(decided())
    with serving("openai", tmp_path) as url:
        done = asyncio.run(ask(url))
    assert waits.startswith("This waits for a decision:")
    assert done == "Cy has it."
    assert (tmp_path / "paid").read_text() == "Cy 900\n"
