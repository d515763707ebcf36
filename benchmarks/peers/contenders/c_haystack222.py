"""haystack-ai 2.22.0: the version with Agent breakpoints and snapshots (W4)."""

from __future__ import annotations

import os

import c_haystack as h
import common as c

NAME, VENV, IMPORT, DISTS = (
    "haystack 2.22",
    "haystack222",
    "from haystack.components.agents import Agent",
    ("haystack-ai",),
)
VARIANTS = {
    **h.VARIANTS,
    "W4": ["snapshots", "snapshots@shm"],
    "W6": ["sync-tools", "sync-tools-tuned"],
}
h.V3 = False
h.agent_kwargs = lambda workload, variant: (
    {"tool_invoker_kwargs": {"max_workers": 64}}
    if workload == "W6" and variant.endswith("tuned")
    else {}
)
setup = h.setup


def run_w4(n):
    """Break before every model call, let Haystack write its snapshot file, load it and resume: its one durable path."""
    from haystack.core.errors import BreakpointException
    from haystack.core.pipeline.breakpoint import load_pipeline_snapshot
    from haystack.dataclasses.breakpoints import AgentBreakpoint, Breakpoint

    h.FAKE.turns = n
    wd = c.Workdir(h.WHERE)
    count = payload = 0

    def go():
        nonlocal count, payload
        snap, k = None, 1
        while True:
            bp = AgentBreakpoint(
                agent_name="agent",
                break_point=Breakpoint(
                    "chat_generator", visit_count=k, snapshot_file_path=wd.file("s")
                ),
            )
            try:
                return h.AGENT.run(
                    messages=[h.ChatMessage.from_user("go")], break_point=bp, snapshot=snap
                )
            except BreakpointException as e:
                count += 1
                path = e.pipeline_snapshot_file_path
                payload += os.path.getsize(path)
                snap = load_pipeline_snapshot(path).agent_snapshot
                k += 1

    r, d = h.timed(wd, go)
    d.update(ok=len(r["messages"]) == 2 * n + 2 and count == n, payload=payload, commits=count)
    wd.close()
    return d


h.run_w4 = run_w4
run = h.run
