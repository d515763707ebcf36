"""langchain create_agent on langgraph, with an in-process fake BaseChatModel."""

from __future__ import annotations

import asyncio
import operator
import sqlite3
import time

import common as c

NAME, VENV, IMPORT, DISTS = (
    "langgraph",
    "langgraph",
    "from langchain.agents import create_agent",
    ("langchain", "langgraph"),
)
VARIANTS = {
    "W2": ["sync", "async"],
    "W3": ["write", "write+read"],
    "W4": ["sqlite", "sqlite@shm", "sqlite-sync", "sqlite-sync@shm", "sqlite-delta@shm"],
    "W5": ["async"],
    "W6": ["sync-tools", "sync-tools-tuned", "async-tools"],
    "W7": ["messages", "messages-async", "prebuilt"],
    "W8seq": ["agent", "agent-async"],
    "W8conc": ["agent"],
    "W8sse": ["agent"],
    "W11": ["sqlite"],
}


def setup(workload, n, variant):
    global AGENT, V, WHERE, TURNS, HumanMessage, MAKE
    from typing import Annotated, Any

    from langchain.agents import create_agent
    from langchain.agents.middleware import AgentState
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
    from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
    from langchain_core.tools import tool

    c.loop()
    V, WHERE, TURNS = variant, "disk", n
    if variant.endswith("@shm"):
        V, WHERE = variant[:-4], "shm"
    if workload in ("W5", "W11"):
        TURNS = c.W5_TURNS
    if workload == "W6":
        TURNS = 1
    width = c.W6_CALLS if workload == "W6" else 1

    def reply(messages):
        k = c.turn(len(messages)) if width == 1 else (0 if len(messages) == 1 else 1)
        if k < TURNS:
            m = AIMessage(
                content="",
                tool_calls=[
                    {"name": "add", "args": {"a": 1, "b": 2}, "id": f"c{k}_{i}"}
                    for i in range(width)
                ],
            )
        else:
            m = AIMessage(content="done")
        return ChatResult(generations=[ChatGeneration(message=m)])

    class Fake(BaseChatModel):
        @property
        def _llm_type(self):
            return "fake"

        def bind_tools(self, tools, **kw):
            return self

        def _generate(self, messages, stop=None, run_manager=None, **kw):
            return reply(messages)

        async def _agenerate(self, messages, stop=None, run_manager=None, **kw):
            if workload == "W5":
                await asyncio.sleep(c.W5_SLEEP)
            return reply(messages)

    global chunk, PRE

    def chunk():
        return ChatGenerationChunk(message=AIMessageChunk(content=c.DELTA))

    PRE = []

    class FakeStream(Fake):
        def _stream(self, messages, stop=None, run_manager=None, **kw):
            for ch in PRE if V == "prebuilt" else (chunk() for _ in range(TURNS)):
                if run_manager:
                    run_manager.on_llm_new_token(c.DELTA, chunk=ch)
                yield ch

        async def _astream(self, messages, stop=None, run_manager=None, **kw):
            for _ in range(TURNS):
                ch = ChatGenerationChunk(message=AIMessageChunk(content=c.DELTA))
                if run_manager:
                    await run_manager.on_llm_new_token(c.DELTA, chunk=ch)
                yield ch

    if workload == "W3":
        from langchain.tools import ToolRuntime
        from langgraph.types import Command

        class S(AgentState):
            items: Annotated[list, operator.add]

        S.__annotations__["items"] = Annotated[list, operator.add]

        def collect(a: int, b: int, runtime) -> Any:
            """Add two numbers."""
            c.Calls.n += 1
            total = len(runtime.state["items"]) if variant == "write+read" else a + b
            return Command(
                update={
                    "items": list(range(c.ITEMS_PER_TURN)),
                    "messages": [ToolMessage(str(total), tool_call_id=runtime.tool_call_id)],
                }
            )

        collect.__annotations__ = {"a": int, "b": int, "runtime": ToolRuntime}
        AGENT = create_agent(Fake(), tools=[tool("add")(collect)], state_schema=S)
        return

    if workload == "W6":
        if variant.startswith("sync"):

            def add(a: int, b: int) -> int:
                """Add two numbers."""
                time.sleep(c.W6_SLEEP)
                c.Calls.n += 1
                return a + b
        else:

            async def add(a: int, b: int) -> int:
                """Add two numbers."""
                await asyncio.sleep(c.W6_SLEEP)
                c.Calls.n += 1
                return a + b
    elif variant == "async" or workload in ("W5", "W11"):

        async def add(a: int, b: int) -> int:
            """Add two numbers."""
            c.Calls.n += 1
            return a + b
    else:

        def add(a: int, b: int) -> int:
            """Add two numbers."""
            c.Calls.n += 1
            return a + b

    add.__annotations__ = {"a": int, "b": int, "return": int}
    t = tool("add")(add)
    if workload in ("W4", "W11"):

        def MAKE(saver):
            if not V.endswith("-delta"):
                return create_agent(Fake(), tools=[t], checkpointer=saver)
            from langchain_core.messages import AnyMessage
            from langgraph.channels.delta import DeltaChannel

            def merge(state, writes):  # append-only reducer over the beta DeltaChannel
                out = list(state or [])
                for w in writes:
                    out.extend(w if isinstance(w, list) else [w])
                return out

            class S(AgentState):
                pass

            S.__annotations__["messages"] = Annotated[list[AnyMessage], DeltaChannel(merge)]
            return create_agent(Fake(), tools=[t], checkpointer=saver, state_schema=S)

        return
    if workload.startswith("W8"):
        from langchain_openai import ChatOpenAI

        m = ChatOpenAI(
            model="m", base_url=c.BASE_URL, api_key="k", max_retries=0, stream_usage=True
        )
        AGENT = create_agent(m, tools=[t], system_prompt="You are a helpful assistant.")
        return
    AGENT = create_agent((FakeStream if workload == "W7" else Fake)(), tools=[t])


def inp():
    return {"messages": [HumanMessage("go")]}


def run_w4(n):
    from langgraph.checkpoint.sqlite import SqliteSaver

    wd = c.Workdir(WHERE)
    con = sqlite3.connect(wd.file("s.db"), check_same_thread=False)
    saver = SqliteSaver(con)
    saver.setup()
    agent = MAKE(saver)
    kw = {"durability": "sync"} if V.endswith("-sync") else {}
    t0, c0 = time.perf_counter(), time.process_time()
    r = agent.invoke(
        inp(), {"recursion_limit": 4 * n + 20, "configurable": {"thread_id": "1"}}, **kw
    )
    d = {"wall": time.perf_counter() - t0, "cpu": time.process_time() - c0, "size": wd.size()}
    d["commits"] = con.execute("select count(*) from checkpoints").fetchone()[0]
    d["payload"] = sum(
        con.execute(q).fetchone()[0] or 0
        for q in (
            "select sum(length(checkpoint)+length(metadata)) from checkpoints",
            "select sum(length(value)) from writes",
        )
    )
    d["ok"] = len(r["messages"]) == 2 * n + 2
    con.close()
    wd.close()
    return d


def run_w11(n):
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    wd = c.Workdir("disk")

    async def go():
        async with AsyncSqliteSaver.from_conn_string(wd.file("s.db")) as saver:
            await saver.setup()
            agent = MAKE(saver)
            configs = [
                {"recursion_limit": 50, "configurable": {"thread_id": str(i)}} for i in range(n)
            ]
            r, d = await c.at_once(agent.ainvoke(inp(), one) for one in configs)
            return {**d, "ok": len(r) == n and c.Calls.n == n * c.W5_TURNS}

    d = c.wait(go())
    wd.close()
    return d


def run(workload, n):
    global TURNS
    c.Calls.n = 0
    if workload in ("W2", "W3", "W4", "W7"):
        TURNS = n
    cfg = {"recursion_limit": 4 * n + 20}
    if workload == "W2":
        r = AGENT.invoke(inp(), cfg) if V == "sync" else c.wait(AGENT.ainvoke(inp(), cfg))
        return {"ok": c.Calls.n == n and len(r["messages"]) == 2 * n + 2}
    if workload == "W3":
        r = AGENT.invoke({**inp(), "items": []}, cfg)
        return {"ok": len(r["items"]) == n * c.ITEMS_PER_TURN}
    if workload == "W4":
        return run_w4(n)
    if workload == "W11":
        return run_w11(n)
    if workload == "W5":

        async def go():
            return await asyncio.gather(
                *(AGENT.ainvoke(inp(), {"recursion_limit": 50}) for _ in range(n))
            )

        r = c.wait(go())
        return {"ok": len(r) == n and c.Calls.n == n * c.W5_TURNS}
    if workload == "W6":
        if V == "sync-tools-tuned":
            cfg["max_concurrency"] = 64
        r = AGENT.invoke(inp(), cfg) if V.startswith("sync") else c.wait(AGENT.ainvoke(inp(), cfg))
        return {"ok": c.Calls.n == n}
    if workload == "W7" or workload == "W8sse":
        got = []
        if V == "prebuilt":
            PRE[:] = [chunk() for _ in range(n)]
        t0, c0 = time.perf_counter(), time.process_time()
        if V in ("messages", "prebuilt"):
            for ch, meta in AGENT.stream(inp(), cfg, stream_mode="messages"):
                if ch.content:
                    got.append(ch.content)
        else:

            async def go():
                async for ch, meta in AGENT.astream(inp(), cfg, stream_mode="messages"):
                    if ch.content:
                        got.append(ch.content)

            c.wait(go())
        d = {"wall": time.perf_counter() - t0, "cpu": time.process_time() - c0}
        return {"ok": len(got) == n, "got": len(got), **d}
    if workload == "W8seq":
        if V == "agent":
            for _ in range(n):
                assert AGENT.invoke(inp())["messages"][-1].content.startswith("Hello")
        else:

            async def go():
                for _ in range(n):
                    assert (await AGENT.ainvoke(inp()))["messages"][-1].content.startswith("Hello")

            c.wait(go())
        return {"ok": True}
    if workload == "W8conc":

        async def one(i):
            assert (await AGENT.ainvoke(inp()))["messages"][-1].content.startswith("Hello")

        c.wait(c.gather_limited(n, 50, one))
        return {"ok": True}
    raise NotImplementedError(workload)
