"""ACP, with the client of the protocol's own SDK: in this process, and as a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from getpass import getuser
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError, spawn_agent_process, text_block
from acp._transport import memory_transport_pair
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    DeniedOutcome,
    FileSystemCapabilities,
    ImageContentBlock,
    ReadTextFileResponse,
    RequestPermissionResponse,
    ResourceContentBlock,
)

from detent import (
    Agent,
    AlwaysAskPolicy,
    AskOncePolicy,
    MemoryJournal,
    ScriptedChatGenerator,
    SQLiteJournal,
    ToolCall,
)
from detent.adapters.faces.acp.stdio import Lines
from detent.faces import editor_files, run_acp
from detent.hosts import Host, LocalHost
from detent.testing import Pieces
from detent.web import Person
from tests.adapters.faces import served
from tests.adapters.faces.peers import PAY, Paid, clerk, confirm, hosting

ANN = Person("ann")


class Editor:
    """An editor: it answers permissions as told, and has files."""

    def __init__(self, *answers: str, files: dict[str, str] | None = None) -> None:
        self.answers, self.files = list(answers), {} if files is None else files
        self.heard: list[Any] = []
        self.asked: list[Any] = []
        self.may = asyncio.Event()
        self.may.set()
        self.is_asked, self.news = asyncio.Event(), asyncio.Event()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **kwargs: Any
    ) -> Any:
        """Choose the option of a kind; "made up" is one that nobody offered, "" is none."""
        self.asked.append((tool_call, options))
        self.is_asked.set()
        await self.may.wait()
        kind = self.answers.pop(0)
        if not kind:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        ids = {one.kind: one.option_id for one in options}
        chosen = AllowedOutcome(outcome="selected", option_id=ids.get(kind, kind))
        return RequestPermissionResponse(outcome=chosen)

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        """Write down what is told."""
        self.heard.append(update)
        self.news.set()

    async def read_text_file(self, session_id: str, path: str, **kwargs: Any) -> Any:
        """The file, where there is one."""
        if path not in self.files:
            raise RequestError.resource_not_found(path)
        return ReadTextFileResponse(content=self.files[path])

    async def write_text_file(
        self, session_id: str, path: str, content: str, **kwargs: Any
    ) -> None:
        """Change the file."""
        self.files[path] = content

    def on_connect(self, conn: Any) -> None:
        """Nothing."""

    def text(self, kind: str = "agent_message_chunk") -> str:
        """All that was said."""
        return "".join(one.content.text for one in self.heard if one.session_update == kind)

    def calls(self) -> list[tuple[str, str]]:
        """What was told of calls: what, and how far each is."""
        kinds = ("tool_call", "tool_call_update")
        return [(o.session_update, o.status) for o in self.heard if o.session_update in kinds]


@asynccontextmanager
async def editing(
    host: Host, editor: Editor, person: Person = ANN, *, files: bool = True
) -> AsyncGenerator[ClientSideConnection]:
    """An editor that is connected to an agent in this process."""
    here, there = memory_transport_pair()
    serving = asyncio.create_task(run_acp(host, "clerk", person=person, transport=there))
    client = ClientSideConnection(editor, here)  # type: ignore[arg-type]  # it has what is asked of it
    able = FileSystemCapabilities(read_text_file=files, write_text_file=files)
    await client.initialize(protocol_version=1, client_capabilities=ClientCapabilities(fs=able))
    try:
        yield client
    finally:
        await client.close()
        await serving


async def say(client: Any, session: str, text: str = "Pay Cy.") -> str:
    """Why the turn is over."""
    return str((await client.prompt(session, [text_block(text)])).stop_reason)


def visit(
    scene: Callable[[LocalHost], Any], *script: Any, paid: Paid | None = None, policy: Any = None
) -> Any:
    """What a scene with a host comes to."""

    async def run() -> Any:
        agent = clerk([] if paid is None else paid, *script, policy=policy)
        async with hosting(MemoryJournal(), clerk=agent) as host, asyncio.timeout(30):
            return await scene(host)

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [("allow_once", [("Cy", 900)]), ("allow_always", [("Cy", 900)]), ("reject_once", [])],
)
def test_a_permission_is_our_question(kind: str, outcome: Paid) -> None:
    """It shows all that would run; the answer is the user's, by the digest."""
    paid: Paid = []
    editor = Editor(kind)

    async def scene(host: LocalHost) -> Any:
        async with editing(host, editor) as client:
            session = (await client.new_session("/src")).session_id
            reason = await say(client, session)
            (run,) = await host.runs()
            return reason, run.thread_id == f"ann/{session}", await host.run(run.run_id)

    reason, is_own, hosted = visit(scene, PAY, Pieces("Cy ", "has it."), paid=paid)
    ((asked, options),) = editor.asked
    assert (reason, is_own, editor.text(), paid) == ("end_turn", True, "Cy has it.", outcome)
    assert asked.raw_input == {"to": "Cy", "amount": 900}
    assert [one.kind for one in options] == ["allow_once", "allow_always", "reject_once"]
    digest = asked.field_meta["detent"]["digest"]
    assert all(digest in one.option_id for one in options)
    (record,) = hosted.run.decisions
    assert (record.by, len(hosted.run.grants)) == ("ann", int(kind == "allow_always"))
    assert [what for what, _ in editor.calls()] == ["tool_call", "tool_call_update"]


def test_once_is_once_whatever_the_policy_remembers() -> None:
    """An equal call is asked about again: the editor has offered "always" beside it."""
    editor, paid = Editor("allow_once", "reject_once"), list[tuple[str, int]]()

    async def scene(host: LocalHost) -> None:
        async with editing(host, editor) as client:
            await say(client, (await client.new_session("/src")).session_id)

    visit(scene, PAY, PAY, "Once.", paid=paid, policy=AskOncePolicy())
    assert (paid, len(editor.asked)) == ([("Cy", 900)], 2)


def test_each_call_is_told_though_a_model_repeats_an_id() -> None:
    """Also behind a question, and what has come of each stands at its own."""
    editor, paid = Editor("allow_once", "allow_once"), list[tuple[str, int]]()
    again = [ToolCall("pay", {"to": to, "amount": 900}, "same") for to in ("Cy", "Di")]

    async def scene(host: LocalHost) -> None:
        async with editing(host, editor) as client:
            await say(client, (await client.new_session("/src")).session_id)

    visit(scene, *again, "Both.", paid=paid)
    assert paid == [("Cy", 900), ("Di", 900)]
    told = [one for one in editor.heard if one.session_update.startswith("tool_call")]
    begun = [one.tool_call_id for one in told if one.session_update == "tool_call"]
    ended = [one.tool_call_id for one in told if one.status == "completed"]
    assert begun == ended == [one.tool_call_id for one, _ in editor.asked]
    assert len(set(begun)) == 2


@pytest.mark.parametrize("answer", ["", "made up", "allow " + "0" * 64])
def test_no_answer_is_none(answer: str) -> None:
    """The call waits; the next prompt asks again before it begins anything."""
    paid: Paid = []
    editor = Editor(answer, "allow_once")

    async def scene(host: LocalHost) -> Any:
        async with editing(host, editor) as client:
            session = (await client.new_session("/src")).session_id
            first = await say(client, session)
            waits = (len(await host.pending()), list(paid), editor.text())
            return first, waits, await say(client, session, "And now?")

    first, waits, then = visit(scene, PAY, "Cy has it.", "Nothing more.", paid=paid)
    text = "This still waits for a decision, and goes on once it is made."
    assert (first, waits, then) == ("end_turn", (1, [], text), "end_turn")
    assert editor.text() == f"{text}Cy has it.Nothing more."
    assert (paid, len(editor.asked)) == ([("Cy", 900)], 2)


def test_what_the_inbox_decides_is_not_waited_for() -> None:
    """The turn goes on at once, and the editor's late answer counts for nothing."""
    paid: Paid = []
    editor = Editor("reject_once")
    editor.may.clear()

    async def scene(host: LocalHost) -> str:
        async with editing(host, editor) as client:
            session = (await client.new_session("/src")).session_id
            turn = asyncio.create_task(say(client, session))
            await editor.is_asked.wait()
            await confirm(host)
            reason = await turn
            editor.may.set()
            return reason

    assert visit(scene, PAY, "Cy has it.", paid=paid) == "end_turn"
    assert (paid, editor.text()) == ([("Cy", 900)], "Cy has it.")


def test_an_editor_that_does_as_it_likes_begins_nothing() -> None:
    """A version of its own is answered in ours; no session, or one that is busy, has no turn."""
    editor = Editor("allow_once")
    editor.may.clear()

    async def scene(host: LocalHost) -> Any:
        async with editing(host, editor) as client:
            ours = await client.initialize(protocol_version=99)
            session = (await client.new_session("/src")).session_id
            turn = asyncio.create_task(say(client, session))
            await editor.is_asked.wait()
            codes: list[int] = []
            for prompt in (
                say(client, session),
                say(client, "made up"),
                client.prompt(session, []),
            ):
                with pytest.raises(RequestError) as refused:
                    await prompt
                codes.append(refused.value.code)
            with suppress(RequestError):
                await client.cancel("made up")
            editor.may.set()
            return ours.protocol_version, codes, await turn, len(await host.runs())

    told = visit(scene, PAY, "Done.")
    assert told == (1, [-32600, -32602, -32602], "end_turn", 1)


def test_a_turn_is_cancelled() -> None:
    """Also while it asks; the run ends."""
    editor = Editor("allow_once")
    editor.may.clear()

    async def scene(host: LocalHost) -> Any:
        async with editing(host, editor) as client:
            session = (await client.new_session("/src")).session_id
            turn = asyncio.create_task(say(client, session))
            await editor.is_asked.wait()
            with pytest.raises(RequestError):
                await say(client, session, "another one meanwhile")
            await client.cancel(session)
            reason = await turn
            editor.may.set()
            return reason, len(await host.pending()), await say(client, session, "Hello?")

    assert visit(scene, PAY, "Hello.") == ("cancelled", 0, "end_turn")


def test_a_turn_that_is_cancelled_before_it_has_begun_does_not_begin() -> None:
    """The word for it comes while the turn still looks what was there before."""
    paid: Paid = []
    editor = Editor("allow_once")

    async def scene(host: LocalHost) -> Any:
        async with editing(host, editor) as client:
            session = (await client.new_session("/src")).session_id
            reason, _ = await asyncio.gather(say(client, session), client.cancel(session))
            return reason, len(editor.asked), await say(client, session, "Hello?")

    assert visit(scene, "Hello.", paid=paid) == ("cancelled", 0, "end_turn")
    assert editor.text() == "Hello."


def test_a_permission_that_an_editor_withdraws_is_part_of_its_cancelling() -> None:
    """Both come at once: the turn is cancelled, and nobody is told that it waits."""
    editor = Editor("")
    editor.may.clear()

    async def scene(host: LocalHost) -> Any:
        async with editing(host, editor) as client:
            session = (await client.new_session("/src")).session_id
            turn = asyncio.create_task(say(client, session))
            await editor.is_asked.wait()
            await client.cancel(session)
            editor.may.set()
            return await turn, len(await host.pending())

    assert (visit(scene, PAY), editor.text()) == (("cancelled", 0), "")


def test_a_failed_run_says_so_and_nothing_more() -> None:
    """Its error's text stays here."""
    editor = Editor()

    async def scene(host: LocalHost) -> RequestError:
        async with editing(host, editor) as client:
            session = (await client.new_session("/src")).session_id
            with pytest.raises(RequestError) as caught:
                await say(client, session)
            return caught.value

    assert visit(scene, RuntimeError("secret")).data == {"details": "the run has failed: bug"}


def test_a_session_is_opened_again(tmp_path: Path) -> None:
    """In another process: what was said is told, what waits is asked again, once."""
    paid: Paid = []
    first, second = Editor(""), Editor("allow_once")
    store = tmp_path / "runs.db"

    async def begin() -> str:
        agent = clerk(paid, "Hello.", PAY)
        async with (
            hosting(SQLiteJournal(store), clerk=agent) as host,
            editing(host, first) as client,
        ):
            session = (await client.new_session("/src")).session_id
            await say(client, session, "Hi.")
            await say(client, session)
            return session

    async def go_on(session: str) -> list[str]:
        agent = clerk(paid, "Cy has it.", "Bye.")
        async with (
            hosting(SQLiteJournal(store), clerk=agent) as host,
            asyncio.timeout(30),
            editing(host, second) as client,
        ):
            await client.load_session("/src", session)
            past = [second.text("user_message_chunk"), second.text()]
            return [*past, await say(client, session, "Thanks.")]

    session = asyncio.run(begin())
    user, said, reason = asyncio.run(go_on(session))
    assert (user, said.startswith("Hello."), reason) == ("Hi.Pay Cy.", True, "end_turn")
    assert second.text() == "Hello.Cy has it.Bye."
    assert (len(second.asked), paid) == (1, [("Cy", 900)])


def test_a_session_that_is_open_is_opened_again() -> None:
    """Where nothing was said in it that is refused, and it stays open; its folder may change."""
    editor = Editor(files={"/new/a.py": "one"})
    read = ToolCall("read_file", {"path": "a.py"}, "c1")
    agent = Agent(chat_generator=ScriptedChatGenerator("Hi.", read, "Done."), tools=editor_files())

    async def run() -> list[str]:
        async with (
            hosting(MemoryJournal(), clerk=agent) as host,
            asyncio.timeout(30),
            editing(host, editor) as client,
        ):
            session = (await client.new_session("/src")).session_id
            with pytest.raises(RequestError):
                await client.load_session("/src", session)
            await say(client, session, "Hi.")
            await client.load_session("/new", session)
            await say(client, session, "Read.")
            (last, _) = await host.runs()
            messages = (await host.run(last.run_id)).run.messages
            return [one.text for m in messages for one in m.tool_call_results]

    assert asyncio.run(run()) == ["one"]


def test_a_session_of_somebody_else_is_not_there() -> None:
    """Nor one that nobody has; and one that was not opened takes no prompt."""

    async def scene(host: LocalHost) -> list[int]:
        async with editing(host, Editor()) as client:
            session = (await client.new_session("/src")).session_id
            await say(client, session, "Hi.")
        codes: list[int] = []
        async with editing(host, Editor(), Person("bob")) as client:
            for trial in (
                lambda: client.load_session("/src", session),
                lambda: client.load_session("/src", f"../ann/{session}"),
                lambda: client.load_session("/src", ""),
                lambda: say(client, session),
            ):
                with pytest.raises(RequestError) as caught:
                    await trial()
                codes.append(caught.value.code)
        return codes

    assert visit(scene, "Hello.") == [-32002, -32002, -32002, -32602]


def test_a_prompt_is_texts_and_links() -> None:
    """All else is refused before anything is begun."""
    editor = Editor()

    async def scene(host: LocalHost) -> Any:
        async with editing(host, editor) as client:
            session = (await client.new_session("/src")).session_id
            image = ImageContentBlock(type="image", data="", mime_type="image/png")
            bad_ones: list[list[Any]] = [[image], [text_block("")], []]
            for bad in bad_ones:
                with pytest.raises(RequestError):
                    await client.prompt(session, bad)
            link = ResourceContentBlock(type="resource_link", name="a.py", uri="file:///src/a.py")
            await client.prompt(session, [text_block("Look at"), link])
            (run,) = await host.runs()
            return (await host.run(run.run_id)).run.messages[0].text

    assert visit(scene, "\ud800") == "Look at\n[a.py](file:///src/a.py)"
    assert editor.text() == "?"


@pytest.mark.parametrize("gives", ["files", "none"])
def test_files_are_the_editor_s(gives: str) -> None:
    """Read and written by it alone, and only where it gives them; a run without one has none."""
    editor = Editor("allow_once", files={"/src/a.py": "one"})
    script: list[Any] = [
        ToolCall("read_file", {"path": "a.py"}, "c1"),
        ToolCall("read_file", {"path": "/etc/passwd"}, "c2"),
        ToolCall("write_file", {"path": "b.py", "text": "two"}, "c3"),
        "Done.",
    ]
    agent = Agent(
        chat_generator=ScriptedChatGenerator(*script, *script),
        tools=editor_files(),
        confirmation_strategies={"write_file": AlwaysAskPolicy()},
    )

    async def run() -> list[str]:
        async with hosting(MemoryJournal(), clerk=agent) as host, asyncio.timeout(30):
            async with editing(host, editor, files=gives == "files") as client:
                await say(client, (await client.new_session("/src")).session_id, "Copy.")
            begun: Any = await host.start("clerk", "Without an editor.")
            async for _ in host.watch(begun.run_id):
                if await host.pending():
                    await confirm(host)
            told: list[str] = []
            for one in await host.runs():
                messages = (await host.run(one.run_id)).run.messages
                told += [r.text for m in messages for r in m.tool_call_results]
            return told

    told = asyncio.run(run())
    assert all("no editor is there" in text for text in told[:3])
    if gives == "files":
        assert (told[3], told[5]) == ("one", "wrote b.py")
        assert "does not read this file" in told[4]
        assert editor.files == {"/src/a.py": "one", "/src/b.py": "two"}
    else:
        assert all("the editor" in text for text in told[3:])
        assert editor.files == {"/src/a.py": "one"}


def test_lines_that_are_no_messages_are_passed_over() -> None:
    """Garbage, numbers, something nested without end; a line without end is the end."""

    async def read(*lines: bytes) -> list[Any]:
        reader = asyncio.StreamReader(limit=200_000)
        reader.feed_data(b"".join(lines))
        reader.feed_eof()
        way, found = Lines(reader, None), []  # type: ignore[arg-type]  # it has what is asked of it
        while (one := await way.receive()) is not None:
            found.append(one)
        return found

    good = b'{"id": 1, "method": "x"}\n'
    bad = [b"{\n", b"[]\n", b"5\n", b"\n", b"\xff\n", b"[" * 99_999 + b"\n", b'{"method": 5}\n']
    assert asyncio.run(read(*bad, good, b"x" * 300_000 + b"\n", good)) == [json.loads(good)]


@asynccontextmanager
async def process(editor: Editor, folder: Path, *program: str) -> AsyncGenerator[Any]:
    """An agent as an editor begins it."""
    path = os.pathsep.join(filter(None, sys.path))
    env = {**os.environ, "PYTHONPATH": path, "FOLDER": str(folder)}
    way: Any = spawn_agent_process(editor, sys.executable, *program, env=env)  # type: ignore[arg-type]  # it has what is asked of it
    async with asyncio.timeout(60), way as (client, running):
        await client.initialize(protocol_version=1)
        yield client, running


def test_an_agent_in_an_editor_outlives_its_process(tmp_path: Path) -> None:
    """Killed while a tool works, and opened again: what waits is asked, once."""
    program = (served.__file__, "acp", str(tmp_path))
    editor = Editor("allow_once")

    async def begin() -> str:
        async with process(Editor(), tmp_path, *program) as (client, running):
            session = (await client.new_session(str(tmp_path))).session_id
            turn = asyncio.create_task(say(client, session))
            await asyncio.to_thread(served.until, tmp_path / "held")
            running.kill()
            with suppress(ConnectionError, RequestError):
                await turn
            return str(session)

    async def go_on(session: str) -> None:
        async with process(editor, tmp_path, *program) as (client, _):
            await client.load_session(str(tmp_path), session)
            while "Cy has it." not in editor.text():
                await editor.news.wait()
                editor.news.clear()

    session = asyncio.run(begin())
    (tmp_path / "go").touch()
    asyncio.run(go_on(session))
    assert (tmp_path / "paid").read_text() == "Cy 900\n"
    assert [asked.raw_input["to"] for asked, _ in editor.asked] == ["Cy"]
    assert editor.text("user_message_chunk") == "Pay Cy."


def test_the_command_serves_an_editor(tmp_path: Path) -> None:
    """What the agent prints does not get into the protocol; the decision is the OS user's."""
    (tmp_path / "go").touch()
    editor = Editor("allow_once")
    store = tmp_path / "runs.db"
    app = f"{served.__name__}:editor_agent"

    async def visit() -> tuple[str, list[Any]]:
        program = ("-m", "detent", "acp", app, "--journal", str(store))
        async with process(editor, tmp_path, *program) as (client, _):
            session = (await client.new_session(str(tmp_path))).session_id
            reason = await say(client, session)
        async with served.host_of(tmp_path) as host:
            (run,) = await host.runs()
            return reason, [one.by for one in (await host.run(run.run_id)).run.decisions]

    assert asyncio.run(visit()) == ("end_turn", [getuser()])
    assert editor.text() == "Cy has it."


@pytest.mark.parametrize("kind", ["nothing", "a file"])
def test_it_ends_where_what_comes_in_does(kind: str, tmp_path: Path) -> None:
    """Also where standard input is nothing that an event loop can watch."""
    asked = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}
    source = tmp_path / "said"
    source.write_text(json.dumps(asked) + "\n" if kind == "a file" else "")
    program = ("acp", f"{served.__name__}:editor_agent", "--journal", str(tmp_path / "runs.db"))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with (Path(os.devnull) if kind == "nothing" else source).open("rb") as given:
        done = subprocess.run(
            [sys.executable, "-m", "detent", *program],
            check=False,
            stdin=given,
            capture_output=True,
            timeout=60,
            env={**env, "FOLDER": str(tmp_path)},
        )

    assert (done.returncode, done.stderr) == (0, b"")
    assert (b'"protocolVersion"' in done.stdout) is (kind == "a file")


def test_without_the_extra_the_error_names_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """At once."""
    monkeypatch.setitem(sys.modules, "acp", None)
    with pytest.raises(ImportError, match=r"detent\[acp\]"):
        asyncio.run(run_acp(served.host_of(tmp_path), "clerk"))
