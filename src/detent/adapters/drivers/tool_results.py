"""What a run shows while it goes on, beyond the pieces of the model's replies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attrs import evolve

from detent.core.chat.messages import ToolCallResult
from detent.core.machine.turns import answer
from detent.core.run.events import Event
from detent.core.run.run import Acting, Delegated, Run
from detent.core.run.spec import AgentSpec
from detent.core.tools.masking import masked
from detent.ports.chat import StreamingChunk
from detent.ports.observer import Observer


def tool_result_chunks(
    spec: AgentSpec[Any], before: Run[Any], after: Run[Any]
) -> Iterator[StreamingChunk]:
    """The results of tool calls that `before` had not, each with its place among the turn's calls.

    A result comes when its call has ended. One that does not fit the state comes a second time when
    the turn is complete, as the fault that the model is told. Those of agents at work are marked
    with the agents' names.
    """
    for was, now in zip(before.slots, after.slots, strict=False):
        if isinstance(was.status, Delegated) and isinstance(now.status, Delegated):
            name = now.status.tool_name
            inner = spec.agents[name]
            for chunk in tool_result_chunks(inner, was.status.run, now.status.run):
                yield evolve(chunk, agents=(name, *chunk.agents))
    known = [answer(slot) for slot in before.slots]
    results = _results(before, after)
    for index, result in enumerate(results):
        # a place is compared with itself alone: two calls of a turn may have equal results
        if result is not None and result not in known[index : index + 1]:
            part = _masked(spec, result)
            yield StreamingChunk(tool_call_result=part, index=index, start=True)
    if results and not isinstance(after.phase, Acting):
        yield StreamingChunk(finish_reason="tool_call_results")


def _masked(spec: AgentSpec[Any], result: ToolCallResult) -> ToolCallResult:
    """The result with the arguments of its call as people may see them."""
    call = result.origin
    tool = spec.tools.get(call.tool_name)
    if tool is None or tool.masked.isdisjoint(call.arguments):
        return result
    return evolve(result, origin=evolve(call, arguments=masked(call.arguments, tool.masked)))


def _results(before: Run[Any], after: Run[Any]) -> list[ToolCallResult | None]:
    """What is known of the turn's calls, while it is open or when it has just ended."""
    if isinstance(after.phase, Acting):
        return [answer(slot) for slot in after.slots]
    fresh = after.messages[len(before.messages) :]
    return [result for message in fresh for result in message.tool_call_results]


def telling_results(spec: AgentSpec[Any], tell: Callable[[StreamingChunk], object]) -> Observer:
    """An observer that tells of the results of tools, as they come."""

    def observe(before: Run[Any], event: Event, after: Run[Any]) -> None:
        for chunk in tool_result_chunks(spec, before, after):
            tell(chunk)

    return observe
