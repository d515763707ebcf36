"""No face shows what a tool was given for a parameter that nobody may see, wherever it stands."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import pytest

from detent import (
    Agent,
    AlwaysAskPolicy,
    ChatMessage,
    MemoryJournal,
    SecretParameter,
    StreamingChunk,
    TextContent,
    ToolCall,
    tool,
)
from detent.faces import a2a_app, agui_app, openai_app
from detent.models import ChatReply
from tests.adapters.faces.acp.test_acp import Editor, editing, say
from tests.adapters.faces.peers import PEOPLE, hosting, peer

PIN, NEW_PIN = "S3CRETpin99", "0therPIN7788"
SAID = {"role": "user", "content": "Go."}
GIVES: dict[str, Callable[[Any], Any]] = {
    "a text": lambda text: text,
    "parts": lambda text: [TextContent("In."), TextContent(text)],
}


class Caller:
    """A model that logs in once for each word of a user."""

    def run(self, messages: Sequence[ChatMessage], **options: object) -> ChatReply:
        """Log in, and say so."""
        if messages[-1].tool_call_results:
            return ChatReply(ChatMessage.from_assistant("Done."))
        call = ToolCall("login", {"site": "x", "pin": PIN}, "c1")
        return ChatReply(ChatMessage.from_assistant(tool_calls=[call]))


def talker(gives: str, *, asks: bool = False) -> Agent[Any, Any]:
    """An agent with a tool that says its secret again."""

    def told(result: Any) -> Any:
        return GIVES[gives](result)

    @tool(outputs_to_string={"raw_result": True, "handler": told})
    def login(site: str, pin: Annotated[str, SecretParameter]) -> str:
        """Log in."""
        return f"welcome at {site}?session={pin}"

    strategies = {"login": AlwaysAskPolicy()} if asks else {}
    return Agent(chat_generator=Caller(), tools=[login], confirmation_strategies=strategies)


async def by_agui(host: Any) -> str:
    """What a front end is told, and what it is told when it comes back."""
    async with peer(agui_app(host, sign_in=PEOPLE)) as client:
        body = {"threadId": "t", "state": {}, "tools": [], "context": [], "forwardedProps": {}}
        said = [{"id": "1", **SAID}]
        answers = [
            await client.post("/clerk", json=body | {"runId": name, "messages": messages})
            for name, messages in (("1", said), ("2", []), ("3", said), ("4", []))
        ]
    return "".join(answer.text for answer in answers)


async def by_openai(host: Any) -> str:
    """What each endpoint says, in pieces and whole."""
    async with peer(openai_app(host, sign_in=PEOPLE)) as client:
        answers = [
            await client.post(path, json={"model": "clerk", "stream": stream, name: [SAID]})
            for path, name in (("/v1/chat/completions", "messages"), ("/v1/responses", "input"))
            for stream in (False, True)
        ]
    return "".join(answer.text for answer in answers)


async def by_a2a(host: Any) -> str:
    """What a task says."""
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Go."}]}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    async with peer(a2a_app(host, url="http://localhost", sign_in=PEOPLE)) as client:
        client.headers["A2A-Version"] = "1.0"
        return (await client.post("/clerk", json=body)).text


async def by_acp(host: Any) -> str:
    """What an editor is told, and one that opens the session again."""
    first, second = Editor(), Editor()
    async with editing(host, first) as client:
        session = (await client.new_session("/src")).session_id
        await say(client, session)
    async with editing(host, second) as client:
        await client.load_session("/src", session)
    assert any(one.session_update == "tool_call_update" for one in second.heard)
    return "".join(one.model_dump_json() for one in (*first.heard, *second.heard))


FACES = {"AG-UI": by_agui, "OpenAI": by_openai, "A2A": by_a2a, "ACP": by_acp}


@pytest.mark.parametrize("gives", GIVES)
@pytest.mark.parametrize("face", FACES)
def test_no_face_shows_a_secret_that_a_result_quotes(face: str, gives: str) -> None:
    """As it comes, and to whoever comes back."""

    async def visit() -> str:
        async with hosting(MemoryJournal(), clerk=talker(gives)) as host, asyncio.timeout(30):
            return await FACES[face](host)

    text = asyncio.run(visit())
    assert "Done." in text
    assert PIN not in text
    assert ("welcome at x?session=<pin>" in text) == (face != "A2A")


def test_nor_one_that_a_human_has_set() -> None:
    """It is that of the call that ran."""

    async def visit() -> str:
        agent = talker("a text", asks=True)
        async with (
            hosting(MemoryJournal(), clerk=agent) as host,
            asyncio.timeout(30),
            peer(agui_app(host, sign_in=PEOPLE)) as client,
        ):
            body = {"threadId": "t", "state": {}, "tools": [], "context": [], "forwardedProps": {}}
            begun = body | {"runId": "1", "messages": [{"id": "1", **SAID}]}
            text = (await client.post("/clerk", json=begun)).text
            last = json.loads(text.strip().splitlines()[-1].removeprefix("data: "))
            (question,) = last["outcome"]["interrupts"]
            edited = {"approved": True, "editedArgs": {"site": "x", "pin": NEW_PIN}}
            entry = {"interruptId": question["id"], "status": "resolved", "payload": edited}
            answer = body | {"runId": "2", "messages": [], "resume": [entry]}
            return text + (await client.post("/clerk", json=answer)).text

    text = asyncio.run(visit())
    assert "welcome at x?session=<pin>" in text
    assert PIN not in text
    assert NEW_PIN not in text


@pytest.mark.parametrize("gives", GIVES)
def test_no_piece_of_a_stream_shows_it_either(gives: str) -> None:
    """Whatever a result is made of."""
    pieces: list[StreamingChunk] = []
    talker(gives).run("Go.", pieces.append)

    (result,) = [piece.tool_call_result for piece in pieces if piece.tool_call_result]
    assert "welcome at x?session=<pin>" in result.text
    assert PIN not in repr(pieces)
