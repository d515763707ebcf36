"""The rules of this process, held against what other processes have judged by theirs.

By effects, any worker judges a call, any host takes a decision about it, and any worker begins it.
They may be of different releases, and a run is taken up by none of them. So each asks its own
policies before it acts on what others have said, once for each verdict that is not its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

from attrs import evolve

from detent.core.machine.delegation import wrap_event
from detent.core.machine.rejudging import Judgement, is_guarded, judge_anew, judgement_on
from detent.core.machine.step import step
from detent.core.run.effects import Judge
from detent.core.run.events import Event, Judged
from detent.core.run.refs import CallRef, Path
from detent.core.run.run import Run
from detent.core.run.spec import AgentSpec

KNOWN = 10_000
"""Of so many calls it is known what was said of them here."""
AskPolicy: TypeAlias = Callable[[Judge], Awaitable[Event | None]]
"""Has a policy of this process asked."""


class MustWaitError(Exception):
    """A policy is to say something of another call first."""


class OwnRules:
    """Knows what its policies have led to, and asks them about what others have led to."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Path, CallRef], Judgement | None] = {}

    def note(self, spec: AgentSpec[Any], run: Run[Any], effect: Judge, event: Event) -> None:
        """Keep what a verdict of this process leads to."""
        after = step(spec, run, wrap_event(effect.path, event))
        self._keep(after, effect.path, effect.ref)

    def _keep(self, run: Run[Any], path: Path, ref: CallRef) -> None:
        place = (run.id, path, ref)
        self._known.pop(place, None)
        try:
            self._known[place] = judgement_on(run, path, ref)
        except LookupError:  # what was said has ended its turn
            return
        while len(self._known) > KNOWN:
            del self._known[next(iter(self._known))]

    async def said_anew(
        self, spec: AgentSpec[Any], run: Run[Any], path: Path, ref: CallRef, ask: AskPolicy
    ) -> Event | None:
        """What the rules here say of a call, where they want another thing than was said of it.

        Raises:
            MustWaitError: they cannot say it yet.
        """
        is_known = self._known.get((run.id, path, ref)) == judgement_on(run, path, ref)
        if is_known or not is_guarded(spec, run, path, ref):
            return None
        effect = judge_anew(spec, run, path, ref)
        if effect is None:
            raise MustWaitError
        judged = cast("Judged", await ask(effect))
        event = wrap_event(path, evolve(judged, is_anew=True))
        after = step(spec, run, event)
        self._keep(after, path, ref)
        return None if after == run else event
