"""The story of a run, told from its journal alone: no code of its agent is needed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from attrs import define, field

from detent.adapters.drivers.company.mark_words import words_in
from detent.adapters.stories.entries import (
    Json,
    list_of,
    messages_in,
    object_of,
    role_in,
    text_in,
)
from detent.adapters.stories.statuses import (
    BEGUN,
    DECISIONS,
    NOT_RUN,
    SETTLED,
    STATUSES,
    UNKNOWN,
    WAITS,
)
from detent.core.tools.masking import MASK, masked
from detent.core.tools.wording import PROCESS_ENDED
from detent.ports.journal import Entry, with_data


@define
class Call:
    """A call of a tool: what of it, since when, and what came of it.

    Attributes:
        status: "asked for", "waits for a human", "begun", "done", "failed", "refused", "answered";
            of a turn that was cut short also "not run" and "of unknown outcome".
        reason: why a policy has a human asked.
        trouble: why nobody knows whether its last attempt was carried out; "" where that is known.
        said: what people and policies have said of it, in order.
        inside: the run of the agent that works on it.
    """

    turn: int
    place: int
    tool: str
    arguments: dict[str, Any]
    call_id: str | None = None
    status: str = "asked for"
    asked_at: float | None = None
    decided_at: float | None = None
    began_at: float | None = None
    ended_at: float | None = None
    attempts: int = 0
    reason: str = ""
    trouble: str = ""
    expires_s: float | None = None
    result: str = ""
    said: list[str] = field(factory=list)
    inside: Story | None = None

    @property
    def why(self) -> str:
        """Why a human is asked about it, in the words of the question."""
        return "; ".join(filter(None, (self.trouble, self.reason)))


@define
class Turn:
    """A turn: what the model was asked and said, and the calls that it made.

    Attributes:
        began_at: when it was to be asked, in seconds since 1970.
        cost: what the reply has cost, where the agent had a price list.
        notes: what was said to the run since: the next turn is the first that reads it for sure.
    """

    number: int
    began_at: float
    replied_at: float | None = None
    model: str = ""
    text: str = ""
    finish_reason: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    failures: list[str] = field(factory=list)
    calls: list[Call] = field(factory=list)
    notes: list[str] = field(factory=list)


@define
class Story:
    """What a journal says of a run.

    Attributes:
        before: who said what in the runs of its thread before it.
        asked: what the users said with whom it begins.
    """

    run_id: str
    agent: str = ""
    thread_id: str = ""
    status: str = "running"
    entries: int = 0
    began_at: float = 0.0
    last_at: float = 0.0
    before: list[tuple[str, str]] = field(factory=list)
    asked: list[str] = field(factory=list)
    turns: list[Turn] = field(factory=list)
    notes: list[str] = field(factory=list)

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
            if call.status == WAITS:
                found.append((agents, call))
            if call.inside is not None and call.ended_at is None:
                found += call.inside.waiting((*agents, call.tool))
        return found


SEALED = "what it holds is sealed: --store app:MODULE:NAME reads it by its agent's journal"
TAKEN_UP = "a process has taken it up again"


def story_of(run_id: str, entries: Iterable[Entry]) -> Story | None:
    """The story that entries tell; None where there is no entry."""
    story = Story(run_id)
    for entry, data in with_data(entries):
        if entry.position == 0:
            _begin(story, entry.at, data)
        elif entry.kind == "Stopped":
            story.notes.append(f"stopped before {data.get('about_to', '')}")
        else:
            _take(story, entry.at, entry.kind, data)
        story.entries, story.status, story.last_at = story.entries + 1, entry.status, entry.at
    return story if story.entries else None


def _begin(story: Story, at: float, data: Json) -> None:
    story.agent, story.thread_id = str(data.get("name", "")), str(data.get("thread_id", ""))
    story.began_at = story.last_at = at
    messages = messages_in(data)
    answered = [place for place, message in enumerate(messages) if message.get("role") != "user"]
    own = answered[-1] + 1 if story.thread_id and answered else 0
    own = 0 if own == len(messages) else own  # a fork: what it was asked lies further back
    texts = [(role_in(message), text_in(message)) for message in messages]
    story.before = [(role, text) for role, text in texts[:own] if role != "system" and text]
    story.asked = [text for role, text in texts[own:] if role == "user"]
    if "sealed" in data:
        story.notes.append(SEALED)
    _open(story, at, object_of(data.get("run")))


def _open(story: Story, at: float, run: Json) -> None:
    """Take up a run that had come further when its story began: a fork, or a snapshot."""
    phase = object_of(run.get("phase"))
    turn = _turn(story, int(run.get("turn", 1)), at)
    if phase.get("$type") != "Acting":
        return
    turn.replied_at = at
    turn.text = text_in(object_of(object_of(phase.get("reply")).get("message")))
    for slot in map(object_of, list_of(phase.get("slots"))):
        call = _call_of(turn, len(turn.calls), object_of(slot.get("call")))
        status = object_of(slot.get("status"))
        call.status = STATUSES.get(str(status.get("$type")), "asked for")
        call.trouble = str(status.get("trouble") or "")
        whole = "" if call.trouble else status.get("reason")  # it has the trouble in it
        call.reason = str(object_of(status.get("ask")).get("reason") or whole or "")
        call.asked_at = at if call.status == WAITS else None
        if call.status in SETTLED:
            _settle(call, at, call.status, _result_text(status))
        if "run" in status:
            call.inside = Story(f"{story.run_id}/{turn.number}.{call.place}", call.tool)
            call.began_at = call.inside.began_at = at
            _open(call.inside, at, object_of(status["run"]))


def _result_text(status: Json) -> str:
    """What a settled call has given."""
    for part in ("result", "fault"):
        if part in status:
            content = object_of(status[part])
            return str(content.get("message") or text_in(content))
    return str(status.get("text", ""))


def _take(story: Story, at: float, kind: str, data: Json) -> None:
    """Take in one event."""
    if "ref" in data:
        call = _call(story, data["ref"])
        if call is not None:
            _take_of_call(story, call, at, kind, data)
    elif kind == "ModelReplied":
        _replied(story, at, data)
    elif kind == "ModelFailed":
        failure = object_of(data.get("failure"))
        text = f"{failure.get('cause')}: {failure.get('message')}"
        _turn(story, int(data.get("turn", 1)), at).failures.append(text)
    elif kind == "CancelRequested":
        story.notes.append(f"cancelled: {data.get('reason', '')}")
    elif kind == "MessageReceived":
        notes = story.turns[-1].notes if story.turns else story.notes  # the next turn reads it
        notes.append(f"said: {text_in(object_of(data.get('message')))}")
    elif kind == "AnswerRejected":
        story.notes.append(f"the answer was sent back: {data.get('text', '')}")
    elif kind == "Resumed":
        story.notes.append(TAKEN_UP)
    story.last_at = at
    _mark(story, at, str(data.get("mark", "")), is_reply=kind == "ModelReplied")


def _replied(story: Story, at: float, data: Json) -> None:
    turn = _turn(story, int(data.get("turn", 1)), at)
    reply, cost = object_of(data.get("reply")), data.get("cost")
    message, usage = object_of(reply.get("message")), object_of(reply.get("usage"))
    turn.replied_at, turn.model = at, str(reply.get("model", ""))
    turn.text = text_in(message)
    turn.finish_reason = str(reply.get("finish_reason", "stop"))
    turn.input_tokens += int(usage.get("input_tokens", 0))
    turn.output_tokens += int(usage.get("output_tokens", 0))
    turn.cached_tokens += int(usage.get("cached_tokens", 0))
    if isinstance(cost, int | float) and cost:
        turn.cost = (turn.cost or 0.0) + cost
    for part in map(object_of, list_of(message.get("content"))):
        if part.get("$type") == "ToolCall":
            _call_of(turn, len(turn.calls), part)


def _take_of_call(story: Story, call: Call, at: float, kind: str, data: Json) -> None:
    match kind:
        case "HappenedInside":
            if call.inside is None:
                call.inside = Story(f"{story.run_id}/{call.turn}.{call.place}", call.tool)
                call.inside.began_at = call.inside.last_at = call.began_at or at
                _turn(call.inside, 1, call.inside.began_at)
            event = object_of(data.get("event"))
            _take(call.inside, at, str(event.get("$type")), event)
        case "ToolStarted":
            # An attempt whose process ended took nobody knows how long: it counts from the next on.
            call.began_at = at if call.trouble else call.began_at or at
            call.status, call.attempts = BEGUN, int(data.get("attempt", 1))
            call.trouble = ""
        case "ToolReturned":
            _settle(call, at, "done", text_in(object_of(data.get("result"))))
        case "ToolRaised" if object_of(data.get("fault")).get("kind") == "unknown_outcome":
            call.trouble = str(
                object_of(data["fault"]).get("message", "")
            )  # nobody could look it up
        case "ToolRaised":
            _settle(call, at, "failed", str(object_of(data.get("fault")).get("message", "")))
        case "ToolLost":
            call.trouble = str(data.get("reason", ""))
        case "Judged":
            _judged(call, at, object_of(data.get("verdict")))
        case "HumanDecided":
            _decided(call, at, data)
        case _:
            call.said.append(kind)


def _judged(call: Call, at: float, verdict: Json) -> None:
    call.reason = str(verdict.get("reason") or call.reason)
    match verdict.get("$type"):
        case "Ask":
            call.status, call.expires_s = WAITS, verdict.get("expires_s")
            call.asked_at = call.asked_at or at  # once more only to look whether it is the same
        case "Deny":
            _settle(call, at, "refused", call.reason)
        case _:
            call.status = "may run"


def _decided(call: Call, at: float, data: Json) -> None:
    decision = object_of(data.get("decision"))
    word = DECISIONS.get(str(decision.get("$type")), "decided")
    by, more = data.get("by"), decision.get("feedback") or decision.get("text")
    call.decided_at, call.status = at, "may run"
    call.said.append(word + (f" by {by}" if by else "") + (f": {more}" if more else ""))
    if word == "changed":
        secret = [name for name, value in call.arguments.items() if value == MASK]
        call.arguments = masked(dict(object_of(decision.get("arguments"))), secret)
    if word == "rejected":
        _settle(call, at, "refused", str(more or ""))
    if word == "answered":
        _settle(call, at, "answered", str(more or ""))


def _settle(call: Call, at: float, status: str, result: str) -> None:
    call.status, call.ended_at, call.result = status, at, result


def _mark(story: Story, at: float, mark: str, *, is_reply: bool = False) -> None:
    """Take over what an entry says of how far all calls of the turn have come."""
    match words_in(mark):
        case [turn, phase, _, *statuses] if turn.isdecimal():
            number = int(turn)
        case _:
            return
    if phase == "Acting":
        for call, word in zip(_turn(story, number, at).calls, statuses, strict=False):
            _mark_call(call, at, word)
        return
    for call in story.turns[-1].calls if story.turns else ():  # the turn is over: all have answers
        if call.status not in SETTLED:
            call.status = _closed(call, is_reply=is_reply, is_end=phase == "Done")
        _end(call, at)
    if phase != "Done":
        _turn(story, number, at)


def _mark_call(call: Call, at: float, word: str) -> None:
    name, _, inner = word.partition("(")
    status = STATUSES.get(name, call.status)
    if call.status == BEGUN and status in {"may run", UNKNOWN}:
        call.began_at = None  # its process has ended, and it was not at work since
    if status == WAITS and call.status in {BEGUN, UNKNOWN}:
        # No policy had it asked: without these words a yes would seem to be the first.
        call.trouble, call.asked_at = call.trouble or PROCESS_ENDED, at
    call.status = status
    if call.status in SETTLED:
        _end(call, at)
    if inner and call.inside is not None:
        _mark(call.inside, at, inner[:-1])


def _closed(call: Call, *, is_reply: bool, is_end: bool) -> str:
    """What a call has come to of which no event says so, when its turn is over."""
    if is_reply:  # the answer itself, or a call of what is not there
        return "done" if is_end else "failed"
    if call.inside is not None:
        return "done"
    has_begun = call.began_at is not None or call.trouble or call.status == UNKNOWN
    return UNKNOWN if has_begun else NOT_RUN


def _end(call: Call, at: float) -> None:
    """A call has its answer; that of an agent is the last that it has said."""
    if call.ended_at is None:
        call.ended_at = at
        if call.inside is not None and call.inside.turns and not call.result:
            call.result = call.inside.turns[-1].text


def _turn(story: Story, number: int, at: float) -> Turn:
    if not story.turns or story.turns[-1].number < number:
        story.turns.append(Turn(number, at))
    return story.turns[-1]


def _call_of(turn: Turn, place: int, data: Json) -> Call:
    arguments = masked(dict(object_of(data.get("arguments"))), list_of(data.get("secret")))
    name, call_id = str(data.get("tool_name", "")), data.get("id")
    call = Call(turn.number, place, name, arguments, call_id)
    turn.calls.append(call)
    return call


def _call(story: Story, ref: object) -> Call | None:
    match ref:
        case [int(number), int(place)]:
            turn = next(
                (candidate for candidate in reversed(story.turns) if candidate.number == number),
                None,
            )
            found = turn.calls if turn else []
            return found[place] if 0 <= place < len(found) else None
        case _:
            return None
