"""What Temporal's replayer says of what is stored."""

from __future__ import annotations

from typing import Any

from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from detent import Agent
from detent.adapters.hosts.engines.temporal_follow import DetentEffects, Followers


async def replay_failure(agent: Agent[Any, Any], name: str, history: WorkflowHistory) -> str:
    """What is wrong with a history of runs by effects, with this agent; "" is nothing."""
    replayer = Replayer(
        workflows=[DetentEffects],
        interceptors=[Followers({name: agent.spec})],
        workflow_runner=UnsandboxedWorkflowRunner(),
    )
    found = await replayer.replay_workflow(history, raise_on_replay_failure=False)
    return str(found.replay_failure or "")
