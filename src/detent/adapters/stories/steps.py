"""The steps of a run, in words that are the same in each run that does the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from attrs import frozen

from detent.adapters.stories.entries import compact, messages_in, text_in
from detent.adapters.stories.parts import Story
from detent.adapters.stories.story import RESUMED, story_of
from detent.core.tools.masking import masked
from detent.ports.journal import Entry


@frozen
class Comparison:
    """Two runs beside each other: the steps that both begin with, and those of each behind them.

    A fork is compared from where the other run began.
    """

    same: Sequence[str]
    in_a: Sequence[str]
    in_b: Sequence[str]

    @classmethod
    def of(cls, left: Sequence[str], right: Sequence[str]) -> Comparison:
        """Compare the steps of two runs."""
        pairs = enumerate(zip_longest(left, right))
        same = next((at for at, (step, other) in pairs if step != other), len(left))
        return cls(left[:same], left[same:], right[same:])


def steps_of(run_id: str, entries: Iterable[Entry]) -> list[str]:
    """What was said, called and given, in order; that of a fork begins with what it has taken over.

    The work of agents inside is left out: their answers are results.
    """
    known = list(entries)
    message_steps = [
        step
        for entry in known[:1]
        for message in messages_in(entry.data)
        for step in _of_message(message)
    ]
    story = story_of(run_id, known)
    return message_steps if story is None else [*message_steps, *_of_story(story)]


def _of_message(message: Any) -> Iterator[str]:
    """A stored message: of results, only that; a reply has its calls behind its text."""
    parts = message.get("content", ())
    known_parts = (
        [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    )
    if "result" in message:
        yield f"result: {text_in(message)}"
        return
    if message.get("role") == "assistant":
        yield f"model: {text_in(message)}"
        for part in known_parts:
            if part.get("$type") == "ToolCall":
                arguments = masked(part.get("arguments", {}), part.get("secret", ()))
                yield f"call: {part.get('tool_name')} {compact(arguments)}"
    elif message.get("role") == "tool":
        yield from (f"result: {text_in(part)}" for part in known_parts)
    else:
        yield f"{message.get('role')}: {text_in(message)}"


def _of_story(story: Story) -> Iterator[str]:
    for turn in story.turns:
        yield from (f"no answer: {failure}" for failure in turn.failures)
        if turn.replied_at is None:
            yield from _said(turn.notes)
            continue
        yield f"model: {turn.text}"
        yield from (f"call: {call.tool} {compact(call.arguments)}" for call in turn.calls)
        for call in turn.calls:
            if call.ended_at is not None:
                yield f"result: {call.result}"
            elif call.status != "begun":
                yield f"{call.tool} {call.status}"
        yield from _said(turn.notes)
    yield from _said(story.notes)


def _said(notes: Iterable[str]) -> Iterator[str]:
    """But that the run goes on, which is no step of it."""
    return (note for note in notes if note not in RESUMED)
