"""The physical limit: a hand-written while loop over plain dicts, and raw HTTP clients."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import common as c

NAME, VENV, IMPORT, DISTS = "baseline", "baseline", "import json, sqlite3, asyncio", ()
VARIANTS = {
    "W2": ["bare", "bare-async", "frozen", "json"],
    "W3": ["write", "write+read"],
    "W4": ["journal", "journal@shm", "snapshot@shm"],
    "W5": ["async"],
    "W6": ["sync-tools", "async-tools"],
    "W7": ["callback", "async-iter"],
    "W8seq": [
        "httpcore",
        "httpx",
        "httpx-async",
        "aiohttp",
        "socket-async",
        "openai-sdk",
        "openai-sdk-async",
    ],
    "W8conc": ["httpcore-async", "httpx-async", "aiohttp", "socket-async", "openai-sdk-async"],
    "W8sse": ["httpx-async", "aiohttp", "socket-async", "openai-sdk-async"],
}
CALL = {"id": "c", "name": "add", "arguments": c.ARGS}


def add(a, b):
    c.Calls.n += 1
    return a + b


async def aadd(a, b):
    c.Calls.n += 1
    return a + b


def model(messages, n):
    if c.turn(len(messages)) < n:
        return {
            "role": "assistant",
            "tool_calls": [{"id": "c", "name": "add", "arguments": c.ARGS}],
        }
    return {"role": "assistant", "content": "done"}


async def amodel(messages, n):
    return model(messages, n)


TOOLS, ATOOLS = {"add": add}, {"add": aadd}


def w2_bare(n):
    messages = [{"role": "user", "content": "go"}]
    while True:
        reply = model(messages, n)
        messages.append(reply)
        calls = reply.get("tool_calls")
        if not calls:
            return messages
        for call in calls:
            out = TOOLS[call["name"]](**call["arguments"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(out)})


async def w2_async(n):
    messages = [{"role": "user", "content": "go"}]
    while True:
        reply = await amodel(messages, n)
        messages.append(reply)
        calls = reply.get("tool_calls")
        if not calls:
            return messages
        for call in calls:
            out = await ATOOLS[call["name"]](**call["arguments"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(out)})


def w2_json(n):
    """As bare, with the arguments decoded from JSON text, as they arrive from a real provider."""
    messages = [{"role": "user", "content": "go"}]
    while True:
        if c.turn(len(messages)) < n:
            reply = {
                "role": "assistant",
                "tool_calls": [{"id": "c", "name": "add", "arguments": c.ARGS_JSON}],
            }
        else:
            reply = {"role": "assistant", "content": "done"}
        messages.append(reply)
        calls = reply.get("tool_calls")
        if not calls:
            return messages
        for call in calls:
            out = TOOLS[call["name"]](**json.loads(call["arguments"]))
            messages.append(
                {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(out)}
            )


class State(NamedTuple):
    messages: tuple
    step: int


def w2_frozen(n):
    """Immutable state, pure step function; messages is a plain tuple copied on each append (O(n) pointers)."""

    def step(s: State) -> tuple[State, bool]:
        reply = model(s.messages, n)
        calls = reply.get("tool_calls")
        if not calls:
            return State((*s.messages, reply), s.step + 1), True
        outs = [
            {
                "role": "tool",
                "tool_call_id": k["id"],
                "content": str(TOOLS[k["name"]](**k["arguments"])),
            }
            for k in calls
        ]
        return State((*s.messages, reply, *outs), s.step + 1), False

    s, done = State(({"role": "user", "content": "go"},), 0), False
    while not done:
        s, done = step(s)
    return s.messages


def w3(n, read):
    items, messages = [], [{"role": "user", "content": "go"}]
    total = 0
    while True:
        reply = model(messages, n)
        messages.append(reply)
        calls = reply.get("tool_calls")
        if not calls:
            return items
        for call in calls:
            if read:
                total += len(items)
            c.Calls.n += 1
            items.extend(range(c.ITEMS_PER_TURN))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": "3"})


def w4(n, variant):
    wd = c.Workdir(WHERE)
    db = sqlite3.connect(wd.file("s.db"))
    db.execute("PRAGMA journal_mode=WAL")
    db.execute(
        "CREATE TABLE log (run TEXT, seq INTEGER, body TEXT, PRIMARY KEY (run, seq)) WITHOUT ROWID"
    )
    db.commit()
    payload = seq = 0
    messages = [{"role": "user", "content": "go"}]
    saved = 0

    def save():
        nonlocal payload, seq, saved
        if variant == "journal":  # only what is new since the last step
            body = json.dumps(messages[saved:])
            saved = len(messages)
        else:  # the whole state, each step
            body = json.dumps(messages)
        payload += len(body)
        db.execute("INSERT INTO log VALUES (?,?,?)", ("r", seq, body))
        db.commit()
        seq += 1

    t0, c0 = time.perf_counter(), time.process_time()
    while True:
        reply = model(messages, n)
        messages.append(reply)
        calls = reply.get("tool_calls")
        if not calls:
            save()
            break
        for call in calls:
            out = TOOLS[call["name"]](**call["arguments"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(out)})
        save()
    t1, c1 = time.perf_counter(), time.process_time()
    size = wd.size()
    db.close()
    wd.close()
    return {"wall": t1 - t0, "cpu": c1 - c0, "payload": payload, "size": size, "commits": seq}


async def w5(n_runs):
    async def one():
        messages = [{"role": "user", "content": "go"}]
        while True:
            await asyncio.sleep(c.W5_SLEEP)
            reply = model(messages, c.W5_TURNS)
            messages.append(reply)
            calls = reply.get("tool_calls")
            if not calls:
                return messages
            for call in calls:
                out = await aadd(**call["arguments"])
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": str(out)})

    return await asyncio.gather(*(one() for _ in range(n_runs)))


def _sleeper(a, b):
    time.sleep(c.W6_SLEEP)
    return add(a, b)


async def _asleeper(a, b):
    await asyncio.sleep(c.W6_SLEEP)
    return add(a, b)


def gen(n):
    for _ in range(n):
        yield {"type": "delta", "text": c.DELTA}


async def agen(n):
    for _ in range(n):
        yield {"type": "delta", "text": c.DELTA}


# ---- W8: raw clients -------------------------------------------------------------------------------------------
def text_of(payload):
    """The text of one SSE event; the last one carries usage and no choices."""
    ch = json.loads(payload)["choices"]
    return ch[0]["delta"].get("content") if ch else None


BODY = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": "go"},
    ],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "add",
                "description": "Add two numbers.",
                "parameters": {
                    "type": "object",
                    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                    "required": ["a", "b"],
                },
            },
        }
    ],
}
HDR = {"authorization": "Bearer k", "content-type": "application/json"}


class SocketPool:
    """Hand-written HTTP/1.1 over asyncio streams with keep-alive: the floor for one asyncio request."""

    def __init__(self, host, port):
        self.host, self.port, self.free = host, port, []

    async def post(self, body: bytes, on_line=None):
        r, w = (
            self.free.pop()
            if self.free
            else await asyncio.open_connection(self.host, self.port, limit=2**20)
        )
        w.write(
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer k\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
            % len(body)
            + body
        )
        head = await r.readuntil(b"\r\n\r\n")
        if b"chunked" in head:
            buf = b""
            while True:
                size = int(await r.readuntil(b"\r\n"), 16)
                data = await r.readexactly(size + 2)
                if size == 0:
                    break
                buf += data[:-2]
                while (i := buf.find(b"\n\n")) >= 0:
                    on_line(buf[:i])
                    buf = buf[i + 2 :]
            out = None
        else:
            i = head.lower().index(b"content-length:") + 15
            out = await r.readexactly(int(head[i : head.index(b"\r\n", i)]))
        self.free.append((r, w))
        return out


def setup(workload, n, variant):
    global V, WHERE, CLIENT
    V, WHERE = variant, "disk"
    if workload == "W4" and variant.endswith("@shm"):
        V, WHERE = variant[:-4], "shm"
    CLIENT = None
    if workload.startswith("W8"):
        from urllib.parse import urlsplit

        u = urlsplit(c.BASE_URL)
        url = c.BASE_URL + "/chat/completions"
        c.loop()
        if variant == "httpx":
            import httpx

            CLIENT = httpx.Client()
            CLIENT.U = url
        elif variant == "httpx-async":
            import httpx

            CLIENT = httpx.AsyncClient(limits=httpx.Limits(max_connections=100))
            CLIENT.U = url
        elif variant == "httpcore":
            import httpcore

            CLIENT = (httpcore.ConnectionPool(), url)
        elif variant == "httpcore-async":
            import httpcore

            CLIENT = (httpcore.AsyncConnectionPool(max_connections=100), url)
        elif variant == "aiohttp":
            import aiohttp

            async def mk():
                return aiohttp.ClientSession()

            CLIENT = (c.wait(mk()), url)
        elif variant == "socket-async":
            CLIENT = SocketPool(u.hostname, u.port)
        elif variant == "openai-sdk":
            import openai

            CLIENT = openai.OpenAI(base_url=c.BASE_URL, api_key="k", max_retries=0)
        elif variant == "openai-sdk-async":
            import openai

            CLIENT = openai.AsyncOpenAI(base_url=c.BASE_URL, api_key="k", max_retries=0)


def _sync_request():
    if V == "httpx":
        return CLIENT.post(CLIENT.U, json=BODY, headers=HDR).json()["choices"][0]["message"][
            "content"
        ]
    if V == "httpcore":
        pool, url = CLIENT
        r = pool.request("POST", url, headers=HDR, content=json.dumps(BODY).encode())
        return json.loads(r.content)["choices"][0]["message"]["content"]
    return CLIENT.chat.completions.create(**BODY).choices[0].message.content


async def _async_request(_=0):
    if V == "httpx-async":
        r = await CLIENT.post(CLIENT.U, json=BODY, headers=HDR)
        return r.json()["choices"][0]["message"]["content"]
    if V == "httpcore-async":
        pool, url = CLIENT
        r = await pool.request("POST", url, headers=HDR, content=json.dumps(BODY).encode())
        return json.loads(r.content)["choices"][0]["message"]["content"]
    if V == "aiohttp":
        s, url = CLIENT
        async with s.post(url, json=BODY, headers=HDR) as r:
            return (await r.json())["choices"][0]["message"]["content"]
    if V == "socket-async":
        return json.loads(await CLIENT.post(json.dumps(BODY).encode()))["choices"][0]["message"][
            "content"
        ]
    return (await CLIENT.chat.completions.create(**BODY)).choices[0].message.content


async def _sse(cb):
    body = {**BODY, "stream": True}
    if V == "httpx-async":
        async with CLIENT.stream("POST", CLIENT.U, json=body, headers=HDR) as r:
            async for line in r.aiter_lines():
                if line.startswith("data: ") and line != "data: [DONE]":
                    d = text_of(line[6:])
                    if d:
                        cb(d)
    elif V == "aiohttp":
        s, url = CLIENT
        async with s.post(url, json=body, headers=HDR) as r:
            async for line in r.content:
                if line.startswith(b"data: ") and not line.startswith(b"data: [DONE]"):
                    d = text_of(line[6:])
                    if d:
                        cb(d)
    elif V == "socket-async":

        def on(line):
            if line != b"data: [DONE]":
                d = text_of(line[6:])
                if d:
                    cb(d)

        await CLIENT.post(json.dumps(body).encode(), on)
    else:
        async for ch in await CLIENT.chat.completions.create(**body):
            if ch.choices and ch.choices[0].delta.content:
                cb(ch.choices[0].delta.content)


def run(workload, n):
    c.Calls.n = 0
    if workload == "W2":
        m = (
            {"bare": w2_bare, "json": w2_json, "frozen": w2_frozen}[V](n)
            if V != "bare-async"
            else c.wait(w2_async(n))
        )
        return {"ok": c.Calls.n == n and len(m) == 2 * n + 2}
    if workload == "W3":
        return {"ok": len(w3(n, V == "write+read")) == n * c.ITEMS_PER_TURN}
    if workload == "W4":
        return {"ok": True, **w4(n, V)}
    if workload == "W5":
        r = c.wait(w5(n))
        return {"ok": len(r) == n and c.Calls.n == n * c.W5_TURNS}
    if workload == "W6":
        if V == "sync-tools":
            with ThreadPoolExecutor(n) as ex:
                list(ex.map(lambda _: _sleeper(**c.ARGS), range(n)))
        else:

            async def go():
                await asyncio.gather(*(_asleeper(**c.ARGS) for _ in range(n)))

            c.wait(go())
        return {"ok": c.Calls.n == n}
    if workload == "W7":
        got = []
        if V == "callback":
            for e in gen(n):
                got.append(e["text"])
        else:

            async def go():
                async for e in agen(n):
                    got.append(e["text"])

            c.wait(go())
        return {"ok": len(got) == n}
    if workload == "W8seq":
        if V in ("httpx", "httpcore", "openai-sdk"):
            for _ in range(n):
                assert _sync_request() == "Hello! How can I help?"
        else:

            async def go():
                for _ in range(n):
                    assert await _async_request() == "Hello! How can I help?"

            c.wait(go())
        return {"ok": True}
    if workload == "W8conc":
        c.wait(c.gather_limited(n, 50, _async_request))
        return {"ok": True}
    if workload == "W8sse":
        got = []
        c.wait(_sse(got.append))
        return {"ok": len(got) == n, "got": len(got)}
    raise NotImplementedError(workload)
