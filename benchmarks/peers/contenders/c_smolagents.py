"""smolagents ToolCallingAgent: synchronous only; a run ends with its final_answer tool; no durable state of its own.

W8 does not apply: the canned server replies with text, and a ToolCallingAgent run only ends on a final_answer tool call."""

from __future__ import annotations

import io
import time

import common as c

NAME, VENV, IMPORT, DISTS = (
    "smolagents",
    "smolagents",
    "from smolagents import ToolCallingAgent",
    ("smolagents",),
)
VARIANTS = {
    "W2": ["sync"],
    "W6": ["sync-tools", "sync-tools-tuned"],
    "W7": ["stream"],
}


def setup(workload, n, variant):
    global AGENT, V, FAKE
    from smolagents import Tool, ToolCallingAgent
    from smolagents.models import (
        ChatMessage,
        ChatMessageStreamDelta,
        ChatMessageToolCall,
        ChatMessageToolCallFunction,
        ChatMessageToolCallStreamDelta,
        MessageRole,
        Model,
    )
    from smolagents.monitoring import AgentLogger, LogLevel
    from rich.console import Console

    V = variant
    width = c.W6_CALLS if workload == "W6" else 1

    class Fake(Model):
        turns, k = n, 0

        def generate(self, messages, **kw):
            if self.k < self.turns:
                self.k += 1
                calls = [("add", {"a": 1, "b": 2}, f"c{self.k}_{i}") for i in range(width)]
            else:
                calls = [("final_answer", {"answer": "done"}, "cf")]
            return ChatMessage(
                role=MessageRole.ASSISTANT,
                content="",
                tool_calls=[
                    ChatMessageToolCall(
                        function=ChatMessageToolCallFunction(arguments=a, name=nm),
                        id=i,
                        type="function",
                    )
                    for nm, a, i in calls
                ],
            )

        def generate_stream(self, messages, **kw):
            for _ in range(self.turns):
                yield ChatMessageStreamDelta(content=c.DELTA)
            yield ChatMessageStreamDelta(
                tool_calls=[
                    ChatMessageToolCallStreamDelta(
                        index=0,
                        id="cf",
                        type="function",
                        function=ChatMessageToolCallFunction(
                            arguments='{"answer": "done"}', name="final_answer"
                        ),
                    )
                ]
            )

    class Add(Tool):
        name = "add"
        description = "Add two numbers."
        inputs = {
            "a": {"type": "integer", "description": "first"},
            "b": {"type": "integer", "description": "second"},
        }
        output_type = "integer"

        def forward(self, a, b):
            if workload == "W6":
                time.sleep(c.W6_SLEEP)
            c.Calls.n += 1
            return a + b

    FAKE = Fake()
    if workload == "W6":
        FAKE.turns = 1
    kw = {}
    if workload == "W6" and variant.endswith("tuned"):
        kw["max_tool_threads"] = 64
    model = FAKE
    logger = AgentLogger(
        level=LogLevel.OFF, console=Console(file=io.StringIO(), force_terminal=False)
    )
    AGENT = ToolCallingAgent(
        tools=[Add()],
        model=model,
        max_steps=n + 5,
        verbosity_level=LogLevel.OFF,
        logger=logger,
        stream_outputs=workload == "W7",
        **kw,
    )


def run(workload, n):
    c.Calls.n = 0
    FAKE.k = 0
    if workload in ("W2", "W7"):
        FAKE.turns = n
    if workload == "W2":
        r = AGENT.run("go")
        return {"ok": c.Calls.n == n and r == "done"}
    if workload == "W6":
        r = AGENT.run("go")
        return {"ok": c.Calls.n == n and r == "done"}
    if workload == "W7":
        from smolagents.models import ChatMessageStreamDelta

        got = [
            e.content
            for e in AGENT.run("go", stream=True)
            if isinstance(e, ChatMessageStreamDelta) and e.content
        ]
        return {"ok": len(got) == n, "got": len(got)}
    raise NotImplementedError(workload)
