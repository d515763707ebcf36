"""openai-agents with a custom Model class; tracing is switched off by environment (OPENAI_AGENTS_DISABLE_TRACING=1)."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time

import common as c

NAME, VENV, IMPORT, DISTS = (
    "openai-agents",
    "openaiagents",
    "from agents import Agent",
    ("openai-agents",),
)
VARIANTS = {
    "W2": ["async", "sync-tool", "run_sync"],
    "W3": ["user-context"],
    "W4": ["sqlite-session", "sqlite-session@shm", "runstate", "runstate@shm"],
    "W5": ["async"],
    "W6": ["sync-tools", "async-tools"],
    "W7": ["stream", "prebuilt"],
    "W8seq": ["agent"],
    "W8conc": ["agent"],
    "W8sse": ["agent"],
}


def setup(workload, n, variant):
    global AGENT, V, WHERE, TURNS, Runner, RunHooks, RunConfig, ONSTEP
    from agents import (
        Agent,
        ModelSettings,
        RunContextWrapper,
        RunHooks,
        Runner,
        function_tool,
        set_tracing_disabled,
    )
    from agents.items import ModelResponse
    from agents.models.interface import Model
    from agents.usage import Usage
    from openai.types.responses import (
        Response,
        ResponseCompletedEvent,
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
        ResponseTextDeltaEvent,
    )

    c.loop()
    set_tracing_disabled(True)
    V, WHERE, TURNS, ONSTEP = variant, "disk", n, None
    if variant.endswith("@shm"):
        V, WHERE = variant[:-4], "shm"
    if workload == "W5":
        TURNS = c.W5_TURNS
    if workload == "W6":
        TURNS = 1
    width = c.W6_CALLS if workload == "W6" else 1

    def text():
        return ResponseOutputMessage(
            id="m",
            role="assistant",
            status="completed",
            type="message",
            content=[ResponseOutputText(text="done", type="output_text", annotations=[])],
        )

    def output(items):
        k = c.turn(len(items)) if width == 1 else (0 if len(items) == 1 else 1)
        if k < TURNS:
            return [
                ResponseFunctionToolCall(
                    arguments=c.ARGS_JSON, call_id=f"c{k}_{i}", name="add", type="function_call"
                )
                for i in range(width)
            ]
        return [text()]

    global event, PRE

    def event(i):
        return ResponseTextDeltaEvent(
            content_index=0,
            delta=c.DELTA,
            item_id="m",
            output_index=0,
            sequence_number=i,
            type="response.output_text.delta",
            logprobs=[],
        )

    PRE = []

    class Fake(Model):
        async def get_response(self, system_instructions, input, *a, **kw):
            if workload == "W5":
                await asyncio.sleep(c.W5_SLEEP)
            return ModelResponse(
                output=output(input if isinstance(input, list) else [input]),
                usage=Usage(),
                response_id=None,
            )

        async def stream_response(self, system_instructions, input, *a, **kw):
            if workload == "W7":
                for e in PRE if V == "prebuilt" else map(event, range(TURNS)):
                    yield e
                out = [text()]
            else:
                out = output(input if isinstance(input, list) else [input])
            yield ResponseCompletedEvent(
                sequence_number=TURNS,
                type="response.completed",
                response=Response(
                    id="r",
                    created_at=0,
                    model="m",
                    object="response",
                    output=out,
                    tool_choice="auto",
                    tools=[],
                    parallel_tool_calls=True,
                ),
            )

    if workload == "W3":

        def add(ctx, a: int, b: int) -> int:
            """Add two numbers."""
            c.Calls.n += 1
            ctx.context.extend(range(c.ITEMS_PER_TURN))
            return a + b

        add.__annotations__ = {"ctx": RunContextWrapper[list], "a": int, "b": int, "return": int}
    elif workload == "W6" and variant.startswith("sync"):

        def add(a: int, b: int) -> int:
            """Add two numbers."""
            time.sleep(c.W6_SLEEP)
            c.Calls.n += 1
            return a + b
    elif workload == "W6":

        async def add(a: int, b: int) -> int:
            """Add two numbers."""
            await asyncio.sleep(c.W6_SLEEP)
            c.Calls.n += 1
            return a + b
    elif variant == "sync-tool":

        def add(a: int, b: int) -> int:
            """Add two numbers."""
            c.Calls.n += 1
            return a + b
    else:

        async def add(a: int, b: int) -> int:
            """Add two numbers."""
            c.Calls.n += 1
            return a + b

    if workload != "W3":
        add.__annotations__ = {"a": int, "b": int, "return": int}
    model = Fake()
    kw = {}
    if workload.startswith("W8"):
        from agents.models.openai_chatcompletions import OpenAIChatCompletionsModel
        from openai import AsyncOpenAI

        model = OpenAIChatCompletionsModel(
            "m", AsyncOpenAI(base_url=c.BASE_URL, api_key="k", max_retries=0)
        )
        kw = {"instructions": "You are a helpful assistant."}
    AGENT = Agent(name="a", model=model, tools=[function_tool(add)], **kw)


async def _session(n, wd):
    from agents import SQLiteSession

    s = SQLiteSession("s", wd.file("s.db"))
    r = await Runner.run(AGENT, "go", max_turns=n + 5, session=s)
    con = sqlite3.connect(wd.file("s.db"))
    rows, payload = con.execute(
        "select count(*), sum(length(message_data)) from agent_messages"
    ).fetchone()
    con.close()
    return r, {"commits": rows, "payload": payload, "rows_ok": rows >= 2 * n + 2}


async def _runstate(n, wd):
    """RunState.to_json() of the streamed run after every tool output, stored by hand."""
    db = sqlite3.connect(wd.file("s.db"))
    db.execute("PRAGMA journal_mode=WAL")
    db.execute(
        "CREATE TABLE snap (run TEXT, seq INTEGER, body TEXT, PRIMARY KEY (run, seq)) WITHOUT ROWID"
    )
    db.commit()
    st = {"payload": 0, "commits": 0}
    r = Runner.run_streamed(AGENT, "go", max_turns=n + 5)
    async for e in r.stream_events():
        if e.type == "run_item_stream_event" and e.name in (
            "tool_output",
            "message_output_created",
        ):
            body = json.dumps(r.to_state().to_json())
            st["payload"] += len(body)
            db.execute("INSERT INTO snap VALUES (?,?,?)", ("r", st["commits"], body))
            db.commit()
            st["commits"] += 1
    db.close()
    return r, st


def run_w4(n):
    wd = c.Workdir(WHERE)
    t0, c0 = time.perf_counter(), time.process_time()
    r, st = c.wait((_session if V == "sqlite-session" else _runstate)(n, wd))
    d = {"wall": time.perf_counter() - t0, "cpu": time.process_time() - c0, "size": wd.size(), **st}
    d["ok"] = len(r.new_items) == 2 * n + 1 and st.get("rows_ok", st["commits"] == n + 1)
    wd.close()
    return d


def run(workload, n):
    global TURNS
    c.Calls.n = 0
    if workload in ("W2", "W3", "W4", "W7"):
        TURNS = n
    if workload == "W2":
        if V == "run_sync":
            r = Runner.run_sync(AGENT, "go", max_turns=n + 5)
        else:
            r = c.wait(Runner.run(AGENT, "go", max_turns=n + 5))
        return {"ok": c.Calls.n == n and len(r.new_items) == 2 * n + 1}
    if workload == "W3":
        ctx = []
        c.wait(Runner.run(AGENT, "go", max_turns=n + 5, context=ctx))
        return {"ok": len(ctx) == n * c.ITEMS_PER_TURN}
    if workload == "W4":
        return run_w4(n)
    if workload == "W5":

        async def go():
            return await asyncio.gather(*(Runner.run(AGENT, "go") for _ in range(n)))

        r = c.wait(go())
        return {"ok": len(r) == n and c.Calls.n == n * c.W5_TURNS}
    if workload == "W6":
        c.wait(Runner.run(AGENT, "go"))
        return {"ok": c.Calls.n == n}
    if workload in ("W7", "W8sse"):
        got = []

        async def go():
            r = Runner.run_streamed(AGENT, "go")
            async for e in r.stream_events():
                if e.type == "raw_response_event" and e.data.type == "response.output_text.delta":
                    got.append(e.data.delta)

        if V == "prebuilt":
            PRE[:] = [event(i) for i in range(n)]
        t0, c0 = time.perf_counter(), time.process_time()
        c.wait(go())
        d = {"wall": time.perf_counter() - t0, "cpu": time.process_time() - c0}
        return {"ok": len(got) - n in (0, 1), "got": len(got), **d}
    if workload == "W8seq":

        async def go():
            for _ in range(n):
                assert (await Runner.run(AGENT, "go")).final_output.startswith("Hello")

        c.wait(go())
        return {"ok": True}
    if workload == "W8conc":

        async def one(i):
            assert (await Runner.run(AGENT, "go")).final_output.startswith("Hello")

        c.wait(c.gather_limited(n, 50, one))
        return {"ok": True}
    raise NotImplementedError(workload)
