"""ACP by stdio: an editor begins this process, and speaks with it line by line."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import sys
import threading
from getpass import getuser
from importlib.util import find_spec
from stat import S_ISFIFO, S_ISREG, S_ISSOCK
from typing import TYPE_CHECKING, Any

from detent.adapters.faces.entrance import ThreadOf, own_threads
from detent.adapters.system.installation import install_command
from detent.adapters.web.people import Person
from detent.core.codec.json_text import read_json
from detent.ports.hosting import Host

if TYPE_CHECKING:
    from acp._transport import Transport

MESSAGE_BYTES = 16 * 1024 * 1024
"""How many bytes one message of an editor may have."""

_log = logging.getLogger("detent.acp")


async def run_acp(
    host: Host,
    agent: str,
    *,
    person: Person | None = None,
    thread_of: ThreadOf = own_threads,
    transport: Transport | None = None,
) -> None:
    """Serve an agent of a host to the editor that has begun this process, until it leaves.

    A session is a thread, a prompt a run, and what it asks a permission, which the user of the
    editor gives. The runs outlive the editor. Standard output belongs to the protocol: what else is
    printed goes to standard error.

    Args:
        host: where the runs live. It must be open.
        agent: the name of its agent.
        person: who is at the editor; without it the user of this process.
        thread_of: which thread of the host the person means by the id of a session.
        transport: of the SDK, in place of standard input and output.

    Raises:
        ImportError: the extra ``detent[acp]`` is not installed.
    """
    if find_spec("acp") is None:
        raise ImportError(f"run_acp needs ACP's SDK; install it with: {install_command('acp')}")
    from acp.agent.connection import AgentSideConnection

    from detent.adapters.faces.acp.agent import EditorAgent

    serving = EditorAgent(host, agent, person or Person(getuser()), thread_of)
    way = transport or await _stdio()
    line = AgentSideConnection(serving, way, listening=False)  # type: ignore[arg-type]  # optional methods
    try:
        await line.listen()
    finally:
        await asyncio.shield(line.close())


async def _stdio() -> Transport:
    """Standard input and output, which nothing else writes to from here on."""
    from acp.stdio import stdio_streams

    if sys.platform != "win32":
        if sys.stdin is None or S_ISREG(os.fstat(1).st_mode):
            what = "input is closed" if sys.stdin is None else "output is a file"
            raise ValueError(f"ACP is spoken by pipes with an editor: standard {what}")
        _make_input_watchable()
        sys.stdout.flush()
        own = os.dup(1)
        os.dup2(2, 1)
        sys.stdout = os.fdopen(own, "w")
    reader, writer = await stdio_streams(limit=MESSAGE_BYTES)
    if sys.platform != "win32":
        sys.stdout = sys.stderr
    return Lines(reader, writer)


def _make_input_watchable() -> None:
    """Pass on what comes in by a pipe, where an event loop cannot watch it: a file, `/dev/null`."""
    if S_ISFIFO(kind := os.fstat(0).st_mode) or S_ISSOCK(kind) or os.isatty(0):
        return
    standard_input, (end, beginning) = os.dup(0), os.pipe()
    os.dup2(end, 0)
    os.close(end)

    def pass_on() -> None:
        with os.fdopen(standard_input, "rb") as source, os.fdopen(beginning, "wb") as pipe:
            shutil.copyfileobj(source, pipe)

    threading.Thread(target=pass_on, name="detent-acp-input", daemon=True).start()


class Lines:
    """Messages, a line for each. A line that is no message is passed over."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._turn = asyncio.Lock()

    async def send(self, message: dict[str, Any]) -> None:
        """Send one."""
        async with self._turn:
            self._writer.write(json.dumps(message).encode() + b"\n")
            await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """The next one; None at the end, or where a line is longer than a message may be."""
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.IncompleteReadError:
                return None
            except asyncio.LimitOverrunError:
                _log.error("a message has more than %d bytes: the connection ends", MESSAGE_BYTES)
                return None
            try:
                message = read_json(line)
            except ValueError:
                message = None
            if isinstance(message, dict) and isinstance(message.get("method", ""), str):
                return message
            _log.warning("a line of %d bytes is no message", len(line))

    async def close(self) -> None:
        """Send nothing more."""
        self._writer.close()
