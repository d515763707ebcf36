"""A server on stdio, without the SDK, that misbehaves as its first argument says."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

HOW = sys.argv[1]
LOG = Path(sys.argv[2])
VERSION = "2025-11-25"
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}


def send(message: Any) -> None:
    """Write a line."""
    text = message if isinstance(message, str) else json.dumps({"jsonrpc": "2.0", **message})
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def result(asked: dict[str, Any], value: dict[str, Any]) -> None:
    """Answer a request."""
    send({"id": asked["id"], "result": value})


def text(value: str) -> dict[str, Any]:
    """The result of a tool."""
    return {"content": [{"type": "text", "text": value}]}


def called(asked: dict[str, Any]) -> None:
    """Answer a call, or do not."""
    with LOG.open("a") as log:
        log.write(f"{json.dumps(asked['params'])}\n")
    if not floods(asked):
        answers(asked)


def floods(asked: dict[str, Any]) -> bool:  # noqa: C901 - a case for each way
    """Write what is no answer; whether there is none at all."""
    match HOW:
        case "garbage":
            for line in ("", "{", "[]", '{"id": 1}', "\x00\x1b[2J", '"' * 1000, "[" * 5000):
                send(line)
        case "endless":
            while True:
                sys.stdout.write("x" * 65536)
        case "endless lines":
            while True:
                send("nonsense")
        case "dies":
            os._exit(1)
        case "dies once" if len(LOG.read_text().splitlines()) == 1:
            os._exit(1)
        case "hangs":
            LOG.with_name("pid").write_text(str(os.getpid()))
            time.sleep(600)
        case "holds":
            sys.stdin.read()  # until its client is no more
            os._exit(0)
        case "late":
            return bool(asked["params"]["arguments"]["n"] == 1)
        case _:
            pass
    return False


def answers(asked: dict[str, Any]) -> None:
    """Answer a call somehow."""
    match HOW:
        case "huge":
            result(asked, text("x" * 9_000_000))
        case "twice":
            result(asked, text("first"))
            result(asked, text("second"))
            result({"id": 4711}, text("unasked"))
        case "late":
            result({"id": asked["id"] - 1}, text("too late"))
            result(asked, text("in time"))
        case "no result":
            result(asked, {"nonsense": 1})
        case _:
            result(asked, text("done"))


def tools() -> list[dict[str, Any]]:
    """What it offers."""
    work: dict[str, Any] = {"name": "work", "description": "Work.", "inputSchema": SCHEMA}
    work |= {"annotations": {"idempotentHint": True}}
    if HOW != "odd tools":
        return [work]
    refs = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(40)}
    deep: dict[str, Any] = {}
    for _ in range(90):
        deep = {"properties": {"a": deep}}
    loop = {"properties": {"a": {"$ref": "#"}, "b": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}}
    backtracking = {"properties": {"a": {"type": "string", "pattern": "^(?!x)(a+)+$"}}}
    odd = {
        "bomb": {"$defs": {**refs, "d40": {}}, "properties": {"a": {"$ref": "#/$defs/d0"}}},
        "deep": deep,
        "outside": {"properties": {"a": {"$ref": "https://evil.example/schema"}}},
        "nowhere": {"properties": {"a": {"$ref": "#/$defs/none"}}},
        "wrong": {"properties": {"a": {"type": "integr"}}},
        "loop": loop,
        "backtracking": backtracking,
        "x" * 60: {},
        "evil\x1b[2J": {},
        "two words": {},
    }
    made = [{"name": n, "inputSchema": {"type": "object", **s}} for n, s in odd.items()]
    return [work, *made, {**work, "name": "same"}, {**work, "name": "same"}]


def main() -> None:
    """Serve."""
    for line in sys.stdin:
        asked = json.loads(line)
        match asked.get("method"):
            case "initialize":
                version = "1999-01-01" if HOW == "wrong version" else VERSION
                if HOW == "silent":
                    time.sleep(600)
                info = {"name": "peer", "version": "1"}
                capabilities = {"tools": {"listChanged": True}}
                known = {"protocolVersion": version, "capabilities": capabilities}
                result(asked, {**known, "serverInfo": info})
            case "tools/list" if HOW == "endless list":
                result(asked, {"tools": tools(), "nextCursor": "more"})
            case "tools/list":
                result(asked, {"tools": tools()})
            case "tools/call":
                called(asked)
            case "notifications/cancelled":
                with LOG.open("a") as log:
                    log.write("cancelled\n")
            case str() if "id" in asked:
                send({"id": asked["id"], "error": {"code": -32601, "message": "unknown"}})
            case _:
                pass


main()
