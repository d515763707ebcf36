"""Jobs: an effect as plain JSON, performed by any process that has the agents, and reported back.

For loops of one's own over the workers of a queue or of an engine: whoever holds the session makes
jobs and reads reports, whoever has the agents performs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from detent.adapters.agent.agent import Agent
from detent.adapters.agent.assembly import Assembly, nested_performers
from detent.adapters.drivers.run_handle import NestedPerformers
from detent.adapters.hosts.effects.stored import effect_from_json, effect_to_json, report_to_json
from detent.core.errors import StoredDataError
from detent.core.run.effects import Effect
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.ports.listing import UnknownAgentError


def make_job(agent: str, spec: AgentSpec[Any], run: Run[Any], effect: Effect) -> dict[str, Any]:
    """An effect of `run`, for whoever has an agent of this name with the same rules.

    Raises:
        UnstorableError: as `effect_to_json`.
    """
    return {"agent": agent, "job": effect_to_json(spec, run, effect)}


def perform_job(agents: Mapping[str, Agent[Any, Any]], job: Mapping[str, object]) -> dict[str, Any]:
    """Perform what `make_job` gave, blocking, and report: `report_from_json` reads it.

    Raises:
        UnknownAgentError: there is no agent of this name here.
        AgentChangedError: it has other rules than that of the job. Nothing was performed.
        StoredDataError: it is no job.
        UnstorableError: what came of it cannot be written as JSON.
    """
    assembly, spec, effect = _found(agents, job)
    assembly.warm_up()
    return report_to_json(spec, effect, _performers(assembly, spec).perform(effect))


async def perform_job_async(
    agents: Mapping[str, Agent[Any, Any]], job: Mapping[str, object]
) -> dict[str, Any]:
    """As `perform_job`, without blocking the event loop."""
    from detent.adapters.system.threads_and_loops import in_a_thread

    assembly, spec, effect = _found(agents, job)
    if not assembly.is_warm:
        await in_a_thread(assembly.warm_up)
    return report_to_json(spec, effect, await _performers(assembly, spec).perform_async(effect))


def _found(
    agents: Mapping[str, Agent[Any, Any]], job: Mapping[str, object]
) -> tuple[Assembly[Any], AgentSpec[Any], Effect]:
    match job:
        case {"agent": str(name), "job": Mapping() as data}:
            pass
        case _:
            raise StoredDataError("this is no job, as `make_job` gives it")
    if name not in agents:
        raise UnknownAgentError(name, sorted(agents))
    assembly = agents[name].assembly
    spec = assembly.current_spec
    return assembly, spec, effect_from_json(spec, data)


def _performers(assembly: Assembly[Any], spec: AgentSpec[Any]) -> NestedPerformers:
    """Those of any run, which nobody here holds: there is no claim to look at."""
    return nested_performers(spec, assembly.performer(spec, assembly.streaming_callback, None))
