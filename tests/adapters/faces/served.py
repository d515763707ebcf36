"""A face in a process of its own, to be killed: ``python served.py FACE FOLDER``.

Its agent holds until there is a file `go`, asks before it pays, and writes down what it pays.
"""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from detent import Agent, AlwaysAskPolicy, ChatMessage, SQLiteJournal, ToolCall, tool
from detent.hosts import LocalHost
from detent.models import ChatReply
from detent.web import Person
from tests.adapters.faces.peers import PEOPLE

ROOT = Path(__file__).parents[3]


class Clerk:
    """A model whose next reply follows from the conversation: it goes on in any process."""

    def run(self, messages: Sequence[ChatMessage], **options: object) -> ChatReply:
        """Hold, pay, and say so."""
        results = messages[-1].tool_call_results
        if not results:
            return _calls(ToolCall("hold", {}, "c1"))
        if results[0].origin.tool_name == "hold":
            return _calls(ToolCall("pay", {"to": "Cy", "amount": 900}, "c2"))
        return ChatReply(ChatMessage.from_assistant("Cy has it."))


def _calls(call: ToolCall) -> ChatReply:
    return ChatReply(ChatMessage.from_assistant(tool_calls=[call]))


def clerk(folder: Path) -> Agent[Any, Any]:
    """The agent that works in a folder."""

    @tool(on_unknown="rerun")
    async def hold() -> str:
        """Wait until there is a file."""
        with (folder / "held").open("a") as file:
            file.write("held\n")
        print("held")  # noqa: T201 - no face may send it anywhere
        while not (folder / "go").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        return "held"

    @tool
    def pay(to: str, amount: int) -> str:
        """Pay somebody."""
        with (folder / "paid").open("a") as file:
            file.write(f"{to} {amount}\n")
        return f"paid {to}"

    strategies = {"pay": AlwaysAskPolicy()}
    return Agent(chat_generator=Clerk(), tools=[hold, pay], confirmation_strategies=strategies)


def editor_agent() -> dict[str, Agent[Any, Any]]:
    """For `detent acp`: the agent that works in the folder which the environment names."""
    return {"clerk": clerk(Path(os.environ["FOLDER"]))}


def host_of(folder: Path) -> LocalHost:
    """A host on the store in a folder."""
    journal = SQLiteJournal(folder / "runs.db")
    return LocalHost({"clerk": clerk(folder)}, journal, look_s=0.05, claim_s=1.0)


def smallest_page(host: LocalHost) -> Any:
    """The page of the documentation, with AG-UI behind it."""
    from starlette.applications import Starlette
    from starlette.responses import HTMLResponse
    from starlette.routing import Mount, Route

    from detent.faces import agui_app

    text = (ROOT / "docs/how-to/agui.md").read_text(encoding="utf-8")
    page = HTMLResponse(text.partition("```html\n")[2].partition("```")[0])
    return Starlette(routes=[Route("/", lambda _: page), Mount("/agui", agui_app(host))])


async def main(face: str, folder: Path) -> None:
    """Serve until killed."""
    import uvicorn

    from detent.faces import a2a_app, agui_app, openai_app, run_acp

    if face == "acp":
        async with host_of(folder) as host:
            await run_acp(host, "clerk", person=Person("ann"))
        return
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    async with host_of(folder) as host:
        a2a = partial(a2a_app, url=url)
        apps: dict[str, Any] = {"a2a": a2a, "agui": agui_app, "openai": openai_app}
        app = smallest_page(host) if face == "page" else apps[face](host, sign_in=PEOPLE)
        sys.stdout.write(f"{url}\n")
        sys.stdout.flush()
        config = uvicorn.Config(app, log_config=None, access_log=False)
        await uvicorn.Server(config).serve(sockets=[listener])


@contextmanager
def serving(face: str, folder: Path) -> Generator[str]:
    """The URL of a face, whose process is killed at the end of the block."""
    program = [sys.executable, __file__, face, str(folder)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, env=env) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def until(path: Path) -> None:
    """Wait until another process has made a file."""
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.01)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
