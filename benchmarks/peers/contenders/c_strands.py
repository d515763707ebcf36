"""strands-agents. NullConversationManager, else the default sliding window drops all but 40 messages."""

from __future__ import annotations

import asyncio
import os
import time

import common as c

NAME, VENV, IMPORT, DISTS = "strands", "strands", "from strands import Agent", ("strands-agents",)
VARIANTS = {
    "W2": ["async", "sync-call"],
    "W3": ["agent.state"],
    "W4": ["file-session", "file-session@shm"],
    "W5": ["async"],
    "W6": ["sync-tools", "async-tools"],
    "W7": ["stream"],
    "W8seq": ["agent", "shared-client"],
    "W8conc": ["agent", "shared-client"],
    "W8sse": ["agent"],
}


def setup(workload, n, variant):
    global V, WHERE, TURNS, MAKE
    from strands import Agent, ToolContext, tool
    from strands.agent.conversation_manager import NullConversationManager
    from strands.models import Model

    import sys

    c.loop()
    sys.setrecursionlimit(
        int(os.environ.get("BENCH_RECURSION", "200000"))
    )  # its event loop recurses once for each turn
    V, WHERE, TURNS = variant, "disk", n
    if variant.endswith("@shm"):
        V, WHERE = variant[:-4], "shm"
    if workload == "W5":
        TURNS = c.W5_TURNS
    if workload == "W6":
        TURNS = 1
    width = c.W6_CALLS if workload == "W6" else 1

    class Fake(Model):
        def update_config(self, **kw):
            pass

        def get_config(self):
            return {}

        async def structured_output(self, *a, **kw):
            yield {}

        async def stream(self, messages, tool_specs=None, system_prompt=None, **kw):
            if workload == "W5":
                await asyncio.sleep(c.W5_SLEEP)
            yield {"messageStart": {"role": "assistant"}}
            k = c.turn(len(messages)) if width == 1 else (0 if len(messages) == 1 else 1)
            if workload == "W7":
                for _ in range(TURNS):
                    yield {"contentBlockDelta": {"delta": {"text": c.DELTA}}}
                yield {"contentBlockStop": {}}
                yield {"messageStop": {"stopReason": "end_turn"}}
            elif k < TURNS:
                for i in range(width):
                    yield {
                        "contentBlockStart": {
                            "start": {"toolUse": {"name": "add", "toolUseId": f"c{k}_{i}"}}
                        }
                    }
                    yield {"contentBlockDelta": {"delta": {"toolUse": {"input": c.ARGS_JSON}}}}
                    yield {"contentBlockStop": {}}
                yield {"messageStop": {"stopReason": "tool_use"}}
            else:
                yield {"contentBlockDelta": {"delta": {"text": "done"}}}
                yield {"contentBlockStop": {}}
                yield {"messageStop": {"stopReason": "end_turn"}}
            yield {
                "metadata": {
                    "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
                    "metrics": {"latencyMs": 1},
                }
            }

    if workload == "W3":

        def add(a: int, b: int, tool_context) -> int:
            """Add two numbers."""
            c.Calls.n += 1
            st = tool_context.agent.state
            st.set("items", (st.get("items") or []) + list(range(c.ITEMS_PER_TURN)))
            return a + b

        add.__annotations__ = {"a": int, "b": int, "tool_context": ToolContext, "return": int}
        t = tool(context=True)(add)
    else:
        if workload == "W6" and variant.startswith("sync"):

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
        else:

            async def add(a: int, b: int) -> int:
                """Add two numbers."""
                c.Calls.n += 1
                return a + b

        add.__annotations__ = {"a": int, "b": int, "return": int}
        t = tool(add)
    model = Fake()
    kw0 = {}
    if workload.startswith("W8"):
        from openai import AsyncOpenAI
        from strands.models.openai import OpenAIModel

        a = dict(base_url=c.BASE_URL, api_key="k", max_retries=0)
        how = {"client": AsyncOpenAI(**a)} if variant == "shared-client" else {"client_args": a}
        model = OpenAIModel(model_id="m", stream=workload == "W8sse", **how)
        kw0 = {"system_prompt": "You are a helpful assistant."}

    def MAKE(**kw):  # an Agent holds its messages, so a fresh run needs a fresh Agent
        return Agent(
            model=model,
            tools=[t],
            callback_handler=None,
            conversation_manager=NullConversationManager(),
            **kw0,
            **kw,
        )


def run_w4(n):
    from strands.session.file_session_manager import FileSessionManager

    wd = c.Workdir(WHERE)
    agent = MAKE(
        agent_id="a", session_manager=FileSessionManager(session_id="s", storage_dir=wd.path)
    )
    t0, c0 = time.perf_counter(), time.process_time()
    c.wait(agent.invoke_async("go"))
    d = {"wall": time.perf_counter() - t0, "cpu": time.process_time() - c0, "size": wd.size()}
    d["commits"] = sum(len(f) for _, _, f in os.walk(wd.path))
    d["payload"] = d["size"]
    d["ok"] = len(agent.messages) == 2 * n + 2 and d["commits"] >= 2 * n + 2
    wd.close()
    return d


def run(workload, n):
    global TURNS
    c.Calls.n = 0
    if workload in ("W2", "W3", "W4", "W7"):
        TURNS = n
    if workload in ("W2", "W3"):
        agent = MAKE()
        agent("go") if V == "sync-call" else c.wait(agent.invoke_async("go"))
        ok = c.Calls.n == n and len(agent.messages) == 2 * n + 2
        return {
            "ok": ok and (workload == "W2" or len(agent.state.get("items")) == n * c.ITEMS_PER_TURN)
        }
    if workload == "W4":
        return run_w4(n)
    if workload == "W5":

        async def go():
            return await asyncio.gather(*(MAKE().invoke_async("go") for _ in range(n)))

        r = c.wait(go())
        return {"ok": len(r) == n and c.Calls.n == n * c.W5_TURNS}
    if workload == "W6":
        c.wait(MAKE().invoke_async("go"))
        return {"ok": c.Calls.n == n}
    if workload in ("W7", "W8sse"):
        got = []

        async def go():
            async for e in MAKE().stream_async("go"):
                if "data" in e:
                    got.append(e["data"])

        c.wait(go())
        return {"ok": len(got) == n, "got": len(got)}
    if workload == "W8seq":

        async def go():
            for _ in range(n):
                assert "Hello" in str(await MAKE().invoke_async("go"))

        c.wait(go())
        return {"ok": True}
    if workload == "W8conc":

        async def one(i):
            assert "Hello" in str(await MAKE().invoke_async("go"))

        c.wait(c.gather_limited(n, 50, one))
        return {"ok": True}
    raise NotImplementedError(workload)
