"""apache-burr: a model/tools/done state machine; Burr has no agent, tool or provider layer, so W6 and W8 do not apply."""

from __future__ import annotations

import asyncio
import os
import time

import common as c

NAME, VENV, IMPORT, DISTS = (
    "burr",
    "burr",
    "from burr.core import ApplicationBuilder, State, action",
    ("apache-burr",),
)
VARIANTS = {
    "W2": ["sync-update", "sync-append", "async-update"],
    "W3": ["extend", "update"],
    "W4": ["sqlite", "sqlite@shm"],
    "W5": ["async"],
    "W7": ["stream"],
}


def setup(workload, n, variant):
    global V, WHERE, TURNS, BUILD
    from burr.core import ApplicationBuilder, State, action, when

    c.loop()
    V, WHERE, TURNS = variant, "disk", n
    if variant.endswith("@shm"):
        V, WHERE = variant[:-4], "shm"
    if workload == "W5":
        TURNS = c.W5_TURNS
    append = V == "sync-append"

    def reply(messages):
        if c.turn(len(messages)) < TURNS:
            return {
                "role": "assistant",
                "tool_calls": [{"id": "c", "name": "add", "arguments": {"a": 1, "b": 2}}],
            }
        return {"role": "assistant", "content": "done"}

    def put(
        s, key, values
    ):  # append/extend deep-copies the list; update with a new list copies pointers only
        return (
            s.extend(**{key: values})
            if append or V == "extend"
            else s.update(**{key: [*s[key], *values]})
        )

    def model_(state):
        m = reply(state["messages"])
        return put(state, "messages", [m]).update(final="content" in m)

    def tools_(state):
        call = state["messages"][-1]["tool_calls"][0]
        c.Calls.n += 1
        out = call["arguments"]["a"] + call["arguments"]["b"]
        s = put(
            state, "messages", [{"role": "tool", "tool_call_id": call["id"], "content": str(out)}]
        )
        if workload == "W3":
            s = put(s, "items", list(range(c.ITEMS_PER_TURN)))
        return s

    extra = ["items"] if workload == "W3" else []
    if workload == "W5" or V.startswith("async"):

        @action(reads=["messages"], writes=["messages", "final"])
        async def model(state: State) -> State:
            if workload == "W5":
                await asyncio.sleep(c.W5_SLEEP)
            return model_(state)

        @action(reads=["messages", *extra], writes=["messages", *extra])
        async def tools(state: State) -> State:
            return tools_(state)
    else:

        @action(reads=["messages"], writes=["messages", "final"])
        def model(state: State) -> State:
            return model_(state)

        @action(reads=["messages", *extra], writes=["messages", *extra])
        def tools(state: State) -> State:
            return tools_(state)

    @action(reads=["messages"], writes=[])
    def done(state: State) -> State:
        return state

    if workload == "W7":
        from burr.core.action import streaming_action

        @streaming_action(reads=["messages"], writes=["final"])
        def talk(state: State):
            for _ in range(TURNS):
                yield {"delta": c.DELTA}, None
            yield {"delta": ""}, state.update(final=True)

        BUILD = lambda saver=None: (
            ApplicationBuilder()
            .with_actions(talk=talk)
            .with_entrypoint("talk")  # noqa: E731
            .with_state(messages=[], final=False)
            .build()
        )
        return

    def BUILD(saver=None):
        b = (
            ApplicationBuilder()
            .with_actions(model=model, tools=tools, done=done)
            .with_transitions(
                ("model", "done", when(final=True)), ("model", "tools"), ("tools", "model")
            )
            .with_entrypoint("model")
            .with_state(
                messages=[{"role": "user", "content": "go"}],
                final=False,
                **({"items": []} if extra else {}),
            )
        )
        if saver is not None:
            b = b.with_identifiers(app_id="r").with_state_persister(saver)
        return b.build()


def run_w4(n):
    from burr.core.persistence import SQLitePersister

    wd = c.Workdir(WHERE)
    p = SQLitePersister.from_values(wd.file("s.db"))
    p.initialize()
    app = BUILD(p)
    t0, c0 = time.perf_counter(), time.process_time()
    _, _, s = app.run(halt_after=["done"])
    d = {"wall": time.perf_counter() - t0, "cpu": time.process_time() - c0, "size": wd.size()}
    d["commits"], d["payload"] = p.connection.execute(
        "select count(*), sum(length(state)) from burr_state"
    ).fetchone()
    d["ok"] = len(s["messages"]) == 2 * n + 2
    p.cleanup()
    wd.close()
    return d


def run(workload, n):
    global TURNS
    c.Calls.n = 0
    if workload in ("W2", "W3", "W4", "W7"):
        TURNS = n
    if workload in ("W2", "W3"):
        app = BUILD()
        _, _, s = (
            c.wait(app.arun(halt_after=["done"]))
            if V.startswith("async")
            else app.run(halt_after=["done"])
        )
        ok = c.Calls.n == n and len(s["messages"]) == 2 * n + 2
        return {"ok": ok and (workload == "W2" or len(s["items"]) == n * c.ITEMS_PER_TURN)}
    if workload == "W4":
        return run_w4(n)
    if workload == "W5":

        async def go():
            return await asyncio.gather(*(BUILD().arun(halt_after=["done"]) for _ in range(n)))

        r = c.wait(go())
        return {"ok": len(r) == n and c.Calls.n == n * c.W5_TURNS}
    if workload == "W7":
        got = []
        _, stream = BUILD().stream_result(halt_after=["talk"])
        for item in stream:
            got.append(item["delta"])
        return {"ok": n <= len(got) <= n + 1, "got": len(got)}
    raise NotImplementedError(workload)
