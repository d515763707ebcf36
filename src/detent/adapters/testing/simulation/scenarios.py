"""A scenario: a run as its start and what happened to it. It can be told, kept and played again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Generic

from attrs import field, frozen

from detent.adapters.drivers.loading import FORGOTTEN, STOPPED, loaded, marked_event
from detent.adapters.testing.doubles.transcripts import transcript
from detent.adapters.testing.simulation.trace import event_text
from detent.core.machine.step import step
from detent.core.run.events import Event
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec
from detent.core.state.typevars import S
from detent.core.storage.journal import event_from_json, event_to_json, progress_mark
from detent.core.storage.snapshot import AgentSnapshot, run_of, snapshot_of
from detent.ports.journal import Journal


@frozen
class Scenario(Generic[S]):
    """What happened to a run. `spec` is the agent that it is played with."""

    spec: AgentSpec[S] = field(repr=False)
    start: Run[S]
    events: tuple[Event, ...]

    def runs(self) -> Iterator[Run[S]]:
        """The run at its start, and after each event."""
        run = self.start
        yield run
        for event in self.events:
            run = step(self.spec, run, event)
            yield run

    def play(self) -> Run[S]:
        """The run after all that happened."""
        return list(self.runs())[-1]

    def to_json(self) -> str:
        """As text, to keep beside a test.

        Raises:
            UnstorableError: a value in it cannot be written as JSON.
        """
        start = snapshot_of(self.spec, self.start).to_dict()
        events = [event_to_json(self.spec, event) for event in self.events]
        return json.dumps({"start": start, "events": events}, ensure_ascii=False, indent=1)

    @classmethod
    def from_json(cls, spec: AgentSpec[S], text: str) -> Scenario[S]:
        """What `to_json` gave, for this agent.

        Raises:
            StoredDataError: this agent cannot play it.
        """
        data: dict[str, Any] = json.loads(text)
        start = run_of(spec, AgentSnapshot.from_dict(data["start"]))
        return cls(spec, start, tuple(event_from_json(spec, event) for event in data["events"]))

    def __str__(self) -> str:
        """What happened, a line for each event, and the run as it is then."""
        runs = list(self.runs())
        steps = zip(self.events, runs[1:], strict=True)
        lines = [f"{event_text(event)} -> {progress_mark(after)}" for event, after in steps]
        return "\n".join([*lines, transcript(runs[-1])])


def scenario_of(journal: Journal, spec: AgentSpec[S], run_id: str) -> Scenario[S]:
    """What a journal says about a run.

    Raises:
        RunNotFoundError: there is no such run.
        StoredDataError: what is stored is damaged, or this agent cannot play it.
    """
    begun = loaded(journal, spec, run_id, 1)
    events = tuple(
        marked_event(spec, entry.kind, entry.data).event
        for entry in journal.read(run_id, 1)
        if entry.kind not in (STOPPED, FORGOTTEN)
    )
    return Scenario(spec, begun.run, events)
