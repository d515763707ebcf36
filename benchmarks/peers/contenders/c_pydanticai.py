"""pydantic-ai-slim. FunctionModel as the fake; it gets explicit usage, else it would re-count the history each turn."""

from __future__ import annotations

import asyncio
import sqlite3
import time

import common as c

NAME, VENV, IMPORT, DISTS = (
    "pydantic-ai",
    "pydanticai",
    "from pydantic_ai import Agent",
    ("pydantic-ai-slim",),
)
VARIANTS = {
    "W2": ["async", "sync-tool", "run_sync", "bare-model"],
    "W3": ["user-deps"],
    "W4": ["json-history", "json-history@shm"],
    "W5": ["async"],
    "W6": ["sync-tools", "async-tools"],
    "W7": ["stream_text", "events"],
    "W8seq": ["agent"],
    "W8conc": ["agent"],
    "W8sse": ["agent"],
}


async def aadd(a: int, b: int) -> int:
    """Add two numbers."""
    c.Calls.n += 1
    return a + b


def add(a: int, b: int) -> int:
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


class Deps:
    def __init__(self):
        self.items = []


def setup(workload, n, variant):
    global AGENT, V, WHERE, TURNS, LIMITS, ModelMessagesTypeAdapter, Deps
    from pydantic_ai import Agent, RunContext, Tool
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.usage import RequestUsage, UsageLimits

    c.loop()
    V, WHERE, TURNS = variant, "disk", n
    if variant.endswith("@shm"):
        V, WHERE = variant[:-4], "shm"
    LIMITS = UsageLimits(request_limit=None)
    width = c.W6_CALLS if workload == "W6" else 1
    if workload == "W5":
        TURNS = c.W5_TURNS
    if workload == "W6":
        TURNS = 1

    def reply(messages):
        k = c.turn(len(messages))
        if k < TURNS:
            return ModelResponse(
                parts=[ToolCallPart("add", c.ARGS, tool_call_id=f"c{k}_{i}") for i in range(width)],
                usage=RequestUsage(input_tokens=1, output_tokens=1),
            )
        return ModelResponse(
            parts=[TextPart("done")], usage=RequestUsage(input_tokens=1, output_tokens=1)
        )

    async def fake(messages, info):
        if workload == "W5":
            await asyncio.sleep(c.W5_SLEEP)
        return reply(messages)

    async def stream(messages, info):
        for _ in range(TURNS):
            yield c.DELTA

    if workload.startswith("W8"):
        from openai import AsyncOpenAI
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        model = OpenAIChatModel(
            "gpt-4o",
            provider=OpenAIProvider(
                openai_client=AsyncOpenAI(base_url=c.BASE_URL, api_key="k", max_retries=0)
            ),
        )
    elif (
        variant == "bare-model"
    ):  # the smallest Model subclass: shows what FunctionModel itself costs
        from pydantic_ai.models import Model

        class Bare(Model):
            model_name = "bare"
            system = "bare"
            provider = None

            async def request(self, messages, model_settings, params):
                self.prepare_request(model_settings, params)
                return reply(messages)

        model = Bare()
    else:
        model = FunctionModel(fake, stream_function=stream)
    kw = {}
    if workload == "W3":

        async def collect(ctx: RunContext[Deps], a: int, b: int) -> int:
            """Add two numbers."""
            c.Calls.n += 1
            ctx.deps.items.extend(range(c.ITEMS_PER_TURN))
            return a + b

        collect.__annotations__ = {"ctx": RunContext[Deps], "a": int, "b": int, "return": int}
        tool, kw["deps_type"] = collect, Deps
    elif workload == "W6":
        tool = slow if variant.startswith("sync") else aslow
    else:
        tool = add if variant == "sync-tool" else aadd
    AGENT = Agent(model, tools=[Tool(tool, name="add")], **kw)
    if workload.startswith("W8"):
        AGENT = Agent(
            model, tools=[Tool(tool, name="add")], system_prompt="You are a helpful assistant."
        )


async def _w4(n, db, st):
    """AgentRun.iter: the history is dumped each time it has grown, i.e. once for each model turn."""
    async with AGENT.iter("go", usage_limits=LIMITS) as run:
        last = 0
        async for _node in run:
            msgs = run.all_messages()
            if len(msgs) == last:
                continue
            last = len(msgs)
            body = ModelMessagesTypeAdapter.dump_json(msgs)
            st["payload"] += len(body)
            db.execute("INSERT INTO snap VALUES (?,?,?)", ("r", st["commits"], body))
            db.commit()
            st["commits"] += 1
        return run.all_messages()


def run_w4(n):
    wd = c.Workdir(WHERE)
    db = sqlite3.connect(wd.file("s.db"))
    db.execute("PRAGMA journal_mode=WAL")
    db.execute(
        "CREATE TABLE snap (run TEXT, seq INTEGER, body BLOB, PRIMARY KEY (run, seq)) WITHOUT ROWID"
    )
    db.commit()
    st = {"payload": 0, "commits": 0}
    t0, c0 = time.perf_counter(), time.process_time()
    msgs = c.wait(_w4(n, db, st))
    d = {"wall": time.perf_counter() - t0, "cpu": time.process_time() - c0, "size": wd.size(), **st}
    d["ok"] = len(msgs) == 2 * n + 2 and st["commits"] == n + 1
    db.close()
    wd.close()
    return d


def run(workload, n):
    global TURNS
    c.Calls.n = 0
    if workload in ("W2", "W3", "W4", "W7"):
        TURNS = n
    if workload == "W2":
        if V == "run_sync":
            r = AGENT.run_sync("go", usage_limits=LIMITS)
        else:
            r = c.wait(AGENT.run("go", usage_limits=LIMITS))
        return {"ok": c.Calls.n == n and len(r.all_messages()) == 2 * n + 2}
    if workload == "W3":
        deps = Deps()
        c.wait(AGENT.run("go", usage_limits=LIMITS, deps=deps))
        return {"ok": len(deps.items) == n * c.ITEMS_PER_TURN}
    if workload == "W4":
        return run_w4(n)
    if workload == "W5":

        async def go():
            return await asyncio.gather(*(AGENT.run("go") for _ in range(n)))

        r = c.wait(go())
        return {"ok": len(r) == n and c.Calls.n == n * c.W5_TURNS}
    if workload == "W6":
        c.wait(AGENT.run("go", usage_limits=LIMITS))
        return {"ok": c.Calls.n == n}
    if workload in ("W7", "W8sse"):
        got = []

        async def go():
            if V == "events":
                from pydantic_ai.messages import PartDeltaEvent, PartStartEvent

                async with AGENT.run_stream_events("go") as evs:
                    async for e in evs:
                        if isinstance(e, PartDeltaEvent):
                            got.append(e.delta.content_delta)
                        elif isinstance(e, PartStartEvent):
                            got.append(e.part.content)
            else:
                async with AGENT.run_stream("go") as r:
                    async for t in r.stream_text(delta=True, debounce_by=None):
                        got.append(t)

        c.wait(go())
        return {"ok": len(got) == n, "got": len(got)}
    if workload == "W8seq":

        async def go():
            for _ in range(n):
                assert (await AGENT.run("go")).output.startswith("Hello")

        c.wait(go())
        return {"ok": True}
    if workload == "W8conc":

        async def one(i):
            assert (await AGENT.run("go")).output.startswith("Hello")

        c.wait(c.gather_limited(n, 50, one))
        return {"ok": True}
    raise NotImplementedError(workload)
