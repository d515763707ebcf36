"""What a run shows while it goes on, beyond the pieces of the model's replies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from detent.core.replies import StreamingChunk
from detent.core.run import Acting, Run


def tool_result_chunks(before: Run[Any], after: Run[Any]) -> Iterator[StreamingChunk]:
    """The results of a turn's tool calls, in the model's order, once the turn is complete."""
    if len(after.messages) == len(before.messages) or isinstance(after.phase, Acting):
        return
    fresh = after.messages[len(before.messages) :]
    results = [result for message in fresh for result in message.tool_call_results]
    for index, result in enumerate(results):
        yield StreamingChunk(tool_call_result=result, index=index, start=True)
    if results:
        yield StreamingChunk(finish_reason="tool_call_results")
