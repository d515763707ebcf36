"""The steps of a run, in words that are the same in each run that does the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from detent.adapters.cli.runs.printing import compact
from detent.adapters.cli.runs.story import TAKEN_UP, Story, messages_in, story_of, text_in
from detent.core.tools.masking import masked
from detent.ports.journal import Journal


def steps_of(store: Journal, run_id: str) -> list[str]:
    """What was said, called and given, in order; that of a fork begins with what it has taken over.

    The work of agents inside is left out: their answers are results.
    """
    said = [
        step
        for entry in islice(iter(store.read(run_id)), 1)
        for message in messages_in(entry.data)
        for step in _of_message(message)
    ]
    story = story_of(run_id, store.read(run_id))
    return said if story is None else [*said, *_of_story(story)]


def _of_message(message: Any) -> Iterator[str]:
    """A stored message: of results, only that; a reply has its calls behind its text."""
    parts = message.get("content", ())
    given = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    if "result" in message:
        yield f"result: {text_in(message)}"
        return
    if message.get("role") == "assistant":
        yield f"model: {text_in(message)}"
        for part in given:
            if part.get("$type") == "ToolCall":
                arguments = masked(part.get("arguments", {}), part.get("secret", ()))
                yield f"call: {part.get('tool_name')} {compact(arguments)}"
    elif message.get("role") == "tool":
        yield from (f"result: {text_in(part)}" for part in given)
    else:
        yield f"{message.get('role')}: {text_in(message)}"


def _of_story(story: Story) -> Iterator[str]:
    for turn in story.turns:
        yield from (f"no answer: {failure}" for failure in turn.failures)
        if turn.replied_at is None:
            continue
        yield f"model: {turn.text}"
        yield from (f"call: {call.tool} {compact(call.arguments)}" for call in turn.calls)
        for call in turn.calls:
            if call.ended_at is not None:
                yield f"result: {call.result}"
            elif call.status != "begun":
                yield f"{call.tool} {call.status}"
    yield from (note for note in story.notes if note != TAKEN_UP)
