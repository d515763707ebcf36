"""Detent: the agent as a user builds it, with a journal in memory where a workload asks for none."""

from __future__ import annotations

import asyncio
import os
import time

import common as c

NAME, VENV = "detent", "detent"
IMPORT, DISTS = "from detent import Agent, State, tool", ("detent",)
IMPORTS = {
    "with a provider": "from detent import Agent, OpenAIChatGenerator, State, tool",
    "with a provider and httpx": "from detent import Agent, OpenAIChatGenerator, State, tool; import httpx",
    "attrs and cattrs alone": "import attrs, cattrs",
    "httpx alone": "import httpx",
}
VARIANTS = {
    "W2": ["async", "sync", "async-no-journal", "sync-no-journal"],
    "W3": ["write", "write+read"],
    "W4": ["sqlite", "sqlite@shm"],
    "W5": ["async"],
    "W6": ["sync-tools", "async-tools"],
    "W7": ["callback", "prebuilt"],
    "W8seq": ["agent", "agent-async"],
    "W8conc": ["agent"],
    "W8sse": ["agent"],
    "W9": ["resume", "fork", "replay"],
    "W11": ["sqlite"],
}


def add(a: int, b: int) -> int:
    """Add two numbers."""
    c.Calls.n += 1
    return a + b


async def aadd(a: int, b: int) -> int:
    """Add two numbers."""
    c.Calls.n += 1
    return a + b


def slow(a: int, b: int) -> int:
    """Add two numbers."""
    time.sleep(c.W6_SLEEP)
    return add(a, b)


async def aslow(a: int, b: int) -> int:
    """Add two numbers."""
    await asyncio.sleep(c.W6_SLEEP)
    return add(a, b)


def collect(a: int, b: int) -> dict:
    """Give ten items."""
    c.Calls.n += 1
    return {"items": list(range(c.ITEMS_PER_TURN)), "total": a + b}


def collect_read(a: int, b: int, seen: list[int]) -> dict:
    """Give ten items, and say how many there were."""
    c.Calls.n += 1
    return {"items": list(range(c.ITEMS_PER_TURN)), "total": len(seen)}


class Fake:
    """A model that calls `add` in each of `turns` turns, `width` times; it tells by the history."""

    def __init__(self, turns, sleep=0.0, width=1):
        self.turns, self.sleep, self.width = turns, sleep, width

    def _reply(self, messages):
        k = c.turn(len(messages)) if self.width == 1 else 0 if len(messages) == 1 else self.turns
        if k >= self.turns:
            return ChatReply(ChatMessage.from_assistant("done"))
        calls = [ToolCall("add", c.ARGS, id=f"c{i}") for i in range(self.width)]
        return ChatReply(ChatMessage.from_assistant(tool_calls=calls))

    def run(self, messages, *, tools=(), generation_kwargs=None, streaming_callback=None):
        if streaming_callback is not None:
            for one in PRE if V == "prebuilt" else map(chunk, range(self.turns)):
                streaming_callback(one)
            return ChatReply(ChatMessage.from_assistant("done"))
        return self._reply(messages)

    async def run_async(
        self, messages, *, tools=(), generation_kwargs=None, streaming_callback=None
    ):
        if self.sleep:
            await asyncio.sleep(self.sleep)
        return self._reply(messages)


def chunk(_=0):
    return StreamingChunk(content=c.DELTA)


def tools_for(workload, variant):
    from detent import create_tool_from_function as made

    if workload == "W3":
        return [
            made(
                collect_read if variant == "write+read" else collect,
                name="add",
                inputs_from_state={"items": "seen"} if variant == "write+read" else None,
                outputs_to_state={"items": {"source": "items"}},
                outputs_to_string={"source": "total"},
            )
        ]
    if workload == "W6":
        return [made(aslow if variant.startswith("async") else slow, name="add")]
    if workload in ("W5", "W11") or variant.startswith("async"):
        return [made(aadd, name="add")]
    return [made(add)]


def agent(chat, workload, n, variant, **more):
    from detent import Agent

    if workload == "W3":
        more["state_schema"] = {"items": {"type": list[int]}}
    tools = tools_for(workload, variant)
    return Agent(chat_generator=chat, tools=tools, max_agent_steps=n + 5, **more)


def setup(workload, n, variant):
    global AGENT, ChatMessage, ChatReply, FAKE, PRE, StreamingChunk, ToolCall, V, WHERE
    from detent import ChatMessage, MemoryJournal, StreamingChunk, ToolCall
    from detent.models import ChatReply

    c.loop()
    V, WHERE, PRE = variant, "disk", []
    if variant.endswith("@shm"):
        V, WHERE = variant[:-4], "shm"
    if workload.startswith("W8"):
        from detent import OpenAIChatGenerator

        os.environ.pop("OPENAI_API_KEY", None)
        FAKE = OpenAIChatGenerator("m", api_base_url=c.BASE_URL, api_key="k")
        AGENT = agent(FAKE, "W8", 5, "", system_prompt="You are a helpful assistant.")
        return
    FAKE = Fake(
        {"W5": c.W5_TURNS, "W6": 1, "W11": c.W5_TURNS}.get(workload, n),
        c.W5_SLEEP if workload == "W5" else 0.0,
        c.W6_CALLS if workload == "W6" else 1,
    )
    if workload in ("W4", "W9", "W11"):
        return
    journal = None if variant.endswith("no-journal") else MemoryJournal()
    AGENT = agent(FAKE, workload, n, variant, journal=journal)


def timed(f):
    t0, c0 = time.perf_counter(), time.process_time()
    r = f()
    return r, {"wall": time.perf_counter() - t0, "cpu": time.process_time() - c0}


def run_w4(n):
    """Every event in SQLite, each append durable when it returns; and the same bytes by bare INSERTs."""
    from detent import SQLiteJournal

    class Counted(SQLiteJournal):
        appends = 0

        def append(self, *given):
            self.appends += 1
            super().append(*given)

    FAKE.turns = n
    wd = c.Workdir(WHERE)
    journal = Counted(wd.file("s.db"))
    durable = agent(FAKE, "W4", n, V, journal=journal)
    r, d = timed(lambda: durable.run("go", run_id="r"))
    stored = wd.stored("s.db")
    _, bare = timed(c.inserting(wd.file("bare.db"), journal.appends, stored["payload"]))
    d.update(
        ok=len(r.messages) == 2 * n + 2 and c.Calls.n == n,
        size=wd.size(),
        of_inserts=d["wall"] / bare["wall"],
        **stored,
    )
    wd.close()
    return d


def run_w11(n):
    """Many runs at once in one event loop, every event of each in SQLite on the disk."""
    from detent import SQLiteJournal

    wd = c.Workdir("disk")
    many = agent(FAKE, "W11", c.W5_TURNS, V, journal=SQLiteJournal(wd.file("s.db")))
    r, d = c.wait(c.at_once(many.run_async("go") for _ in range(n)))
    wd.close()
    return {**d, "ok": len(r) == n and c.Calls.n == n * c.W5_TURNS}


KEPT = {}


def run_w9(n):
    """A finished run of n turns in SQLite is resumed, forked, or replayed from its first event."""
    from detent import Runs, SQLiteJournal

    if n not in KEPT:
        FAKE.turns = n
        wd = c.Workdir("shm")
        agent(FAKE, "W9", n, V, journal=SQLiteJournal(wd.file("s.db"))).run("go", run_id="r")
        KEPT[n] = wd
    journal = SQLiteJournal(KEPT[n].file("s.db"))
    again = agent(FAKE, "W9", n, V, journal=journal)
    runs = Runs(journal, again.spec)
    work = {
        "resume": lambda: again.resume("r").messages,
        "fork": lambda: runs.fork("r", 2 * n) and [0] * (2 * n + 2),
        "replay": lambda: runs.replay("r").messages,
    }[V]
    r, d = timed(work)
    return {**d, "ok": len(r) == 2 * n + 2, "events": sum(1 for _ in journal.read("r"))}


def run(workload, n):
    c.Calls.n = 0
    if workload == "W2":
        FAKE.turns = n
        r = c.wait(AGENT.run_async("go")) if V.startswith("async") else AGENT.run("go")
        return {"ok": c.Calls.n == n and len(r.messages) == 2 * n + 2}
    if workload == "W3":
        FAKE.turns = n
        r = AGENT.run("go", items=[])
        return {"ok": len(r["items"]) == n * c.ITEMS_PER_TURN}
    if workload == "W4":
        return run_w4(n)
    if workload == "W5":

        async def go():
            return await asyncio.gather(*(AGENT.run_async("go") for _ in range(n)))

        r = c.wait(go())
        return {"ok": len(r) == n and c.Calls.n == n * c.W5_TURNS}
    if workload == "W11":
        return run_w11(n)
    if workload == "W6":
        c.wait(AGENT.run_async("go")) if V.startswith("async") else AGENT.run("go")
        return {"ok": c.Calls.n == n}
    if workload == "W7":
        FAKE.turns = n
        got = []
        PRE[:] = [chunk() for _ in range(n)] if V == "prebuilt" else []
        _, d = timed(lambda: AGENT.run("go", lambda one: got.append(one.content)))
        return {"ok": len(got) == n, **d}
    if workload.startswith("W8"):
        return run_w8(workload, n)
    return run_w9(n)


def run_w8(workload, n):
    async def one(_=0):
        assert (await AGENT.run_async("go")).text.startswith("Hello")

    if workload == "W8sse":
        got = []
        c.wait(AGENT.run_async("go", lambda x: got.append(x.content) if x.content else None))
        return {"ok": len(got) == n, "got": len(got)}
    if workload == "W8conc":
        c.wait(c.gather_limited(n, 50, one))
    elif V == "agent":
        for _ in range(n):
            assert AGENT.run("go").text.startswith("Hello")
    else:

        async def go():
            for _ in range(n):
                await one()

        c.wait(go())
    return {"ok": True}
