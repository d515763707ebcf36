"""A fingerprint of the rules by which the runs of an agent go on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from detent.core.codec.whole_forms import FORMS
from detent.core.run.spec import AgentSpec
from detent.core.tools.tool import Tool
from detent.core.tools.version import hash_of


def rules_fingerprint(spec: AgentSpec[Any]) -> str:
    """A digest of the rules of an agent by which its stored runs are followed.

    An agent with the same one makes the same run of the same events: its tools take the same
    arguments, and write the same to the same state; it ends and tries again for the same reasons.
    What tools do, who is asked, and what the model is told at the beginning are no part of it.
    """
    limits, output = spec.limits, spec.output
    bounds = (limits.max_agent_steps, limits.max_tokens, limits.max_cost, limits.max_seconds)
    calls = (limits.max_tool_calls, limits.max_calls_per_reply)
    noes = (limits.max_rejections, limits.max_tool_rejections)
    return hash_of(
        FORMS,  # by which what a call is bound to is worked out, each time that a run is followed
        sorted(spec.exit_conditions),
        (bounds, calls, noes, limits.final_answer),
        (spec.model_retries.times, spec.fail_on_tool_fault),
        None if output is None else (output.name, output.schema, output.tries, output.native),
        {name: (key.type_name, key.handler) for name, key in spec.state.fields.items()},
        {name: list(_rules(tool)) for name, tool in spec.tools.items()},
        {name: rules_fingerprint(agent) for name, agent in spec.agents.items()},
    )[:16]


def _rules(tool: Tool) -> Iterator[object]:
    yield tool.parameters
    yield [(item.key, item.parameter) for item in tool.inputs]
    yield [(item.key, item.source, item.handler) for item in tool.outputs]
    yield tool.outputs_to_string
    yield (tool.retries.times, tool.max_calls, tool.timeout_s, tool.binds, tool.labels)
    yield from tool.description_labels
    yield tool.defaults  # a call is bound to them as well
    yield tool.on_unknown if isinstance(tool.on_unknown, str) else "a function"
