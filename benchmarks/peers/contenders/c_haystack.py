"""haystack-ai 3.x Agent. Also the base of c_haystack222.py (2.22.0), which differs in tools and snapshots."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time

import common as c

NAME, VENV, IMPORT, DISTS = (
    "haystack 3.4",
    "haystack",
    "from haystack.components.agents import Agent",
    ("haystack-ai",),
)
VARIANTS = {
    "W2": ["sync", "async"],
    "W3": ["write", "write+read"],
    "W4": ["hook+sqlite", "hook+sqlite@shm"],
    "W5": ["async"],
    "W6": ["sync-tools", "sync-tools-tuned", "async-tools", "async-tools-tuned"],
    "W7": ["callback", "prebuilt"],
    "W8seq": ["agent", "agent-async"],
    "W8conc": ["agent"],
    "W8sse": ["agent"],
}
V3 = True
SPEC = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}


def add(a: int, b: int) -> int:
    c.Calls.n += 1
    return a + b


async def aadd(a: int, b: int) -> int:
    c.Calls.n += 1
    return a + b


def slow(a: int, b: int) -> int:
    time.sleep(c.W6_SLEEP)
    return add(a, b)


async def aslow(a: int, b: int) -> int:
    await asyncio.sleep(c.W6_SLEEP)
    return add(a, b)


def collect(a: int, b: int) -> dict:
    c.Calls.n += 1
    return {"items": list(range(c.ITEMS_PER_TURN)), "total": a + b}


def collect_read(a: int, b: int, seen: list) -> dict:
    c.Calls.n += 1
    return {"items": list(range(c.ITEMS_PER_TURN)), "total": len(seen)}


def make_fake(n, sleep=0.0, width=1):
    from haystack import component
    from haystack.dataclasses import ChatMessage, StreamingChunk, ToolCall

    global chunk, PRE
    PRE = []

    def chunk(_=0):
        return StreamingChunk(content=c.DELTA)

    @component
    class Fake:
        turns = n

        @component.output_types(replies=list[ChatMessage])
        def run(
            self,
            messages: list[ChatMessage],
            tools=None,
            streaming_callback=None,
            generation_kwargs=None,
        ):
            if streaming_callback is not None:
                for ch in PRE if V == "prebuilt" else map(chunk, range(self.turns)):
                    streaming_callback(ch)
                return {"replies": [ChatMessage.from_assistant("done")]}
            k = c.turn(len(messages)) if width == 1 else (0 if len(messages) == 1 else self.turns)
            if k < self.turns:
                return {
                    "replies": [
                        ChatMessage.from_assistant(
                            tool_calls=[
                                ToolCall(tool_name="add", arguments={"a": 1, "b": 2}, id=f"c{i}")
                                for i in range(width)
                            ]
                        )
                    ]
                }
            return {"replies": [ChatMessage.from_assistant("done")]}

        @component.output_types(replies=list[ChatMessage])
        async def run_async(
            self,
            messages: list[ChatMessage],
            tools=None,
            streaming_callback=None,
            generation_kwargs=None,
        ):
            if sleep:
                await asyncio.sleep(sleep)
            return self.run(messages, tools)

    return Fake()


def make_tool(workload, variant):
    from haystack.tools import Tool

    kw = dict(name="add", description="Add two numbers.", parameters=SPEC)
    if workload == "W3":
        if variant == "write+read":
            kw["inputs_from_state"] = {"items": "seen"}
        return Tool(
            function=collect_read if variant == "write+read" else collect,
            outputs_to_state={"items": {"source": "items"}},
            outputs_to_string={"source": "total"},
            **kw,
        )
    if workload == "W6":
        if variant.startswith("async") and V3:
            return Tool(async_function=aslow, **kw)
        return Tool(function=slow, **kw)
    if V3 and (workload == "W5" or variant == "async"):
        return Tool(async_function=aadd, **kw)
    return Tool(function=add, **kw)


def agent_kwargs(workload, variant):
    if workload == "W6" and variant.endswith("tuned"):
        return {"tool_concurrency_limit": 64}
    return {}


def setup(workload, n, variant):
    global AGENT, V, WL, FAKE, ChatMessage, WHERE, DB
    from haystack.components.agents import Agent
    from haystack.dataclasses import ChatMessage

    c.loop()
    V, WL, WHERE = variant, workload, "disk"
    if variant.endswith("@shm"):
        V, WHERE = variant[:-4], "shm"
    kw = agent_kwargs(workload, variant)
    if workload == "W3":
        kw["state_schema"] = {"items": {"type": list[int]}}
    if workload.startswith("W8"):
        from haystack.components.generators.chat import OpenAIChatGenerator
        from haystack.utils import Secret

        FAKE = OpenAIChatGenerator(
            api_key=Secret.from_token("k"), model="m", api_base_url=c.BASE_URL, max_retries=0
        )
        AGENT = Agent(
            chat_generator=FAKE,
            tools=[make_tool("W8", "")],
            system_prompt="You are a helpful assistant.",
        )
    else:
        FAKE = make_fake(
            c.W5_TURNS if workload == "W5" else 1 if workload == "W6" else n,
            c.W5_SLEEP if workload == "W5" else 0.0,
            c.W6_CALLS if workload == "W6" else 1,
        )
        if workload == "W4" and V3:
            kw["hooks"] = {"after_tool": [SaveHook()], "on_exit": [SaveHook()]}
        AGENT = Agent(
            chat_generator=FAKE, tools=[make_tool(workload, variant)], max_agent_steps=n + 5, **kw
        )
    if hasattr(AGENT, "warm_up"):
        AGENT.warm_up()


class Db:
    """The hand-written part of W4: one table, one commit for each step, WAL as the peers use."""

    def __init__(self, wd):
        self.con = sqlite3.connect(wd.file("s.db"), check_same_thread=False)
        self.con.execute("PRAGMA journal_mode=WAL")
        self.con.execute(
            "CREATE TABLE snap (run TEXT, seq INTEGER, body TEXT, PRIMARY KEY (run, seq)) WITHOUT ROWID"
        )
        self.con.commit()
        self.payload = self.seq = 0


class SaveHook:
    """W4 for 3.x, which has no snapshots of its own: State.to_dict() after every step, by hand."""

    def run(self, state) -> None:
        body = json.dumps(state.to_dict(skip_keys=["tools", "hook_context"]))
        DB.payload += len(body)
        DB.con.execute("INSERT INTO snap VALUES (?,?,?)", ("r", DB.seq, body))
        DB.con.commit()
        DB.seq += 1


def timed(wd, f):
    """Runs f and times it without the folder's creation and removal."""
    t0, c0 = time.perf_counter(), time.process_time()
    r = f()
    t1, c1 = time.perf_counter(), time.process_time()
    return r, {"wall": t1 - t0, "cpu": c1 - c0, "size": wd.size()}


def run_w4(n):
    global DB
    FAKE.turns = n
    wd = c.Workdir(WHERE)
    DB = Db(wd)
    r, d = timed(wd, lambda: AGENT.run(messages=[ChatMessage.from_user("go")]))
    d.update(
        ok=len(r["messages"]) == 2 * n + 2 and DB.seq == n + 1, payload=DB.payload, commits=DB.seq
    )
    DB.con.close()
    wd.close()
    return d


def run(workload, n):
    c.Calls.n = 0
    user = [ChatMessage.from_user("go")]
    if workload == "W2":
        FAKE.turns = n
        r = AGENT.run(messages=user) if V == "sync" else c.wait(AGENT.run_async(messages=user))
        return {"ok": c.Calls.n == n and len(r["messages"]) == 2 * n + 2}
    if workload == "W3":
        FAKE.turns = n
        r = AGENT.run(messages=user, items=[])
        return {"ok": len(r["items"]) == n * c.ITEMS_PER_TURN}
    if workload == "W4":
        return run_w4(n)
    if workload == "W5":

        async def go():
            return await asyncio.gather(
                *(AGENT.run_async(messages=[ChatMessage.from_user("go")]) for _ in range(n))
            )

        r = c.wait(go())
        return {"ok": len(r) == n and c.Calls.n == n * c.W5_TURNS}
    if workload == "W6":
        r = (
            AGENT.run(messages=user)
            if V.startswith("sync")
            else c.wait(AGENT.run_async(messages=user))
        )
        return {"ok": c.Calls.n == n}
    if workload == "W7":
        FAKE.turns = n
        got = []
        if V == "prebuilt":
            PRE[:] = [chunk() for _ in range(n)]
        t0, c0 = time.perf_counter(), time.process_time()
        AGENT.run(messages=user, streaming_callback=lambda ch: got.append(ch.content))
        return {
            "ok": len(got) == n,
            "wall": time.perf_counter() - t0,
            "cpu": time.process_time() - c0,
        }
    if workload == "W8seq":
        if V == "agent":
            for _ in range(n):
                assert AGENT.run(messages=user)["last_message"].text.startswith("Hello")
        else:

            async def go():
                for _ in range(n):
                    await AGENT.run_async(messages=user)

            c.wait(go())
        return {"ok": True}
    if workload == "W8conc":

        async def one(i):
            assert (await AGENT.run_async(messages=[ChatMessage.from_user("go")]))[
                "last_message"
            ].text.startswith("Hello")

        c.wait(c.gather_limited(n, 50, one))
        return {"ok": True}
    if workload == "W8sse":
        got = []

        async def cb(ch):
            if ch.content:
                got.append(ch.content)

        c.wait(AGENT.run_async(messages=user, streaming_callback=cb))
        return {"ok": len(got) == n, "got": len(got)}
    raise NotImplementedError(workload)
