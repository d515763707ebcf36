"""The parts of a story: its turns, its calls, and the stretches of time that each took."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from attrs import asdict, define, field

from detent.adapters.stories.statuses import MAY_RUN, NOT_RUN, WAITS

Kind: TypeAlias = Literal["model", "work", "wait"]
CUT_SHORT, FAILED, DECIDED, TIMED_OUT = "cut short", "failed", "decided", "timed out"
"""What a stretch has come to, where it did not just end."""
NEVER_BEGUN = frozenset({"failed", "refused", NOT_RUN})
"""What may become of a call that was neither worked on nor asked about."""


@define
class Stretch:
    """A time in which a model or a tool was at work, or a human was waited for.

    Attributes:
        ended_at: None goes on. Of work that was cut short, the last moment at which anything is
            known of its process: nobody saw when it ended.
        came_to: "" or "failed"; of work that was "cut short" or "timed out" that, of a wait
            "decided"; "not run" of the moment in which it was settled that there is no work.
    """

    kind: Kind
    began_at: float
    ended_at: float | None = None
    came_to: str = ""


@define
class Call:
    """A call of a tool: what of it, since when, and what came of it.

    Attributes:
        status: "asked for", "waits for a human", "begun", "done", "failed", "refused", "answered";
            of a turn that was cut short also "not run" and "of unknown outcome".
        stretches: when it was worked on and when a human was waited for, in order: each attempt
            and each wait has its own.
        ended_at: since when it has its answer.
        reason: why a policy has a human asked.
        trouble: why nobody knows whether its last attempt was carried out; "" where that is known.
        said: what people and policies have said of it, in order.
        inside: the run of the agent that works on it.
        secret: the names of its arguments that nobody is shown.
    """

    turn: int
    place: int
    tool: str
    arguments: dict[str, Any]
    call_id: str | None = None
    status: str = "asked for"
    stretches: list[Stretch] = field(factory=list)
    decided_at: float | None = None
    ended_at: float | None = None
    attempts: int = 0
    reason: str = ""
    trouble: str = ""
    expires_s: float | None = None
    result: str = ""
    said: list[str] = field(factory=list)
    inside: Story | None = None
    secret: list[str] = field(factory=list)

    @property
    def why(self) -> str:
        """Why a human is asked about it, in the words of the question."""
        return "; ".join(filter(None, (self.trouble, self.reason)))

    @property
    def asked_at(self) -> float | None:
        """Since when a human is asked about it, or when one last was."""
        return next((wait.began_at for wait in reversed(self.of("wait"))), None)

    @property
    def is_decided(self) -> bool:
        """Whether it may run because a human has said so."""
        last = self.stretches[-1:]
        return self.status == MAY_RUN and any(stretch.came_to == DECIDED for stretch in last)

    @property
    def drawn(self) -> list[Stretch]:
        """What a line of time shows of it.

        Where nothing took time, as a policy has denied it or its arguments are wrong, that is the
        moment in which this was settled.
        """
        at = self.ended_at
        if self.stretches or at is None or self.status not in NEVER_BEGUN:
            return self.stretches
        return [Stretch("work", at, at, NOT_RUN)]

    def of(self, kind: Kind) -> list[Stretch]:
        """Its stretches of one kind, in order."""
        return [stretch for stretch in self.stretches if stretch.kind == kind]

    def become(self, status: str, at: float) -> None:
        """Have a status: a human is waited for as long as it says so."""
        if status == WAITS:
            last = self.stretches[-1:]
            if [one for one in last if one.kind == "wait" and one.came_to != DECIDED]:
                last[0].ended_at = None  # once more only to look whether it is the same
            else:
                self.begin("wait", at)
        else:
            self.close("wait", at)
        self.status = status

    def begin(self, kind: Kind, at: float) -> None:
        """Begin a stretch, unless one of its kind goes on."""
        if self._open(kind) is None:
            self.stretches.append(Stretch(kind, at))

    def close(self, kind: Kind, at: float, came_to: str = "") -> None:
        """End the stretch that goes on.

        A wait that took no time was none, nor did an agent work that was only looked at.
        """
        if stretch := self._open(kind):
            stretch.ended_at, stretch.came_to = max(at, stretch.began_at), came_to
            is_seen = bool(came_to) or (kind == "work" and self.inside is None)
            if at == stretch.began_at and not is_seen:
                self.stretches.remove(stretch)

    def never_worked(self) -> None:
        """Take back the last attempt: it turned out that it was not carried out."""
        for work in self.of("work")[-1:]:
            self.stretches.remove(work)

    def _open(self, kind: Kind) -> Stretch | None:
        return next((one for one in self.of(kind)[-1:] if one.ended_at is None), None)


@define
class Turn:
    """A turn: what the model was asked and said, and the calls that it made.

    Attributes:
        began_at: when it was to be asked, in seconds since 1970.
        asked: when the model was at work on it: each attempt has its own stretch.
        cost: what its answers have cost, where the agent had a price list; with the tokens of one
            that could not be taken, and was paid for.
        before: what has become of the run while the model was to answer.
        notes: what was said to the run since: the next turn is the first that reads it for sure.
    """

    number: int
    began_at: float
    replied_at: float | None = None
    asked: list[Stretch] = field(factory=list)
    model: str = ""
    text: str = ""
    finish_reason: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    failures: list[str] = field(factory=list)
    calls: list[Call] = field(factory=list)
    before: list[str] = field(factory=list)
    notes: list[str] = field(factory=list)


@define
class Story:
    """What a journal says of a run.

    Attributes:
        woken_at: when a process last took it up.
        lived_at: the last moment at which a process is known to have been at it.
        rests: whether nothing was at work when an entry was last written: it waits, or has ended.
        before: who said what in the runs that it goes on behind, or is a fork of.
        asked: what the users said with whom it begins.
        fork_of: of which run it is a fork, and after how many of its `entries`; None where that is
            not on record.
        used_before: the tokens and the cost that it began with, as a fork does: they are none of
            its own, and count for its limits.
    """

    run_id: str
    agent: str = ""
    thread_id: str = ""
    status: str = "running"
    entries: int = 0
    began_at: float = 0.0
    last_at: float = 0.0
    woken_at: float = 0.0
    lived_at: float = 0.0
    rests: bool = False
    before: list[tuple[str, str]] = field(factory=list)
    asked: list[str] = field(factory=list)
    fork_of: dict[str, Any] | None = None
    used_before: dict[str, float] = field(factory=dict)
    turns: list[Turn] = field(factory=list)
    notes: list[str] = field(factory=list)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return asdict(self)

    @property
    def every_turn(self) -> list[Turn]:
        """The turns, and those of the agents inside."""
        found = list(self.turns)
        for call in self.calls:
            found += call.inside.every_turn if call.inside else []
        return found

    @property
    def calls(self) -> list[Call]:
        """The calls in order."""
        return [call for turn in self.turns for call in turn.calls]

    @property
    def tokens(self) -> tuple[int, int]:
        """The tokens read and written, by agents inside as well."""
        turns = self.every_turn
        return sum(turn.input_tokens for turn in turns), sum(turn.output_tokens for turn in turns)

    @property
    def cost(self) -> float | None:
        """What all replies have cost; None where no price was known."""
        known = [turn.cost for turn in self.every_turn if turn.cost is not None]
        return sum(known) if known else None

    def waiting(self, agents: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Call]]:
        """The calls that wait for a human, each with the agents around it."""
        found: list[tuple[tuple[str, ...], Call]] = []
        for call in self.calls:
            if call.status == WAITS:  # an agent that was at work on it waits for that as well
                found.append((agents, call))
            elif call.inside is not None and call.ended_at is None:
                found += call.inside.waiting((*agents, call.tool))
        return found
