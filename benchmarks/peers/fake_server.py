"""A tiny OpenAI-compatible server on raw asyncio protocols: canned chat.completions, JSON or SSE, replied at once.

python fake_server.py PORT SSE_DELTAS
"""

from __future__ import annotations

import asyncio
import json
import sys

DELTAS = int(sys.argv[2]) if len(sys.argv) > 2 else 500
_JSON = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "m",
        "system_fingerprint": "fp",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "Hello! How can I help?",
                    "refusal": None,
                },
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 20, "completion_tokens": 7, "total_tokens": 27},
    }
).encode()
REPLY = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(_JSON)
    + _JSON
)


def _chunk(delta, finish=None, usage=None):
    d = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1700000000,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}],
    }
    if usage:
        d["choices"], d["usage"] = [], usage
    line = b"data: " + json.dumps(d).encode() + b"\n\n"
    return b"%x\r\n" % len(line) + line + b"\r\n"


_done = b"data: [DONE]\n\n"
SSE = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    + _chunk({"role": "assistant", "content": ""})
    + b"".join(_chunk({"content": "word "}) for _ in range(DELTAS))
    + _chunk({}, "stop")
    + _chunk(
        {}, None, {"prompt_tokens": 20, "completion_tokens": DELTAS, "total_tokens": 20 + DELTAS}
    )
    + b"%x\r\n" % len(_done)
    + _done
    + b"\r\n0\r\n\r\n"
)


class P(asyncio.Protocol):
    def connection_made(self, tr):
        self.tr, self.buf = tr, b""

    def data_received(self, data):
        self.buf += data
        while True:
            i = self.buf.find(b"\r\n\r\n")
            if i < 0:
                return
            head = self.buf[:i].lower()
            j = head.find(b"content-length:")
            need = 0 if j < 0 else int(head[j + 15 :].split(b"\r\n", 1)[0])
            if len(self.buf) < i + 4 + need:
                return
            body, self.buf = self.buf[i + 4 : i + 4 + need], self.buf[i + 4 + need :]
            stream = b'"stream":true' in body or b'"stream": true' in body
            self.tr.write(SSE if stream else REPLY)


async def main():
    s = await asyncio.get_running_loop().create_server(
        P, "127.0.0.1", int(sys.argv[1]), backlog=1024
    )
    print("ready", flush=True)
    await s.serve_forever()


asyncio.run(main())
