"""The story of a run, told from its journal alone: no code of its agent is needed."""

from __future__ import annotations

from collections.abc import Iterable

from detent.adapters.drivers.company.mark_words import words_in
from detent.adapters.stories.entries import (
    Json,
    conversation_in,
    event_path,
    list_of,
    object_of,
    text_in,
    used_before,
)
from detent.adapters.stories.lapses import TIMES, lapse, only_waits, open_calls
from detent.adapters.stories.parts import CUT_SHORT, DECIDED, FAILED, Call, Story, Stretch, Turn
from detent.adapters.stories.secrets import RunSecrets
from detent.adapters.stories.statuses import (
    BEGUN,
    DECISIONS,
    MAY_RUN,
    NOT_RUN,
    SETTLED,
    STATUSES,
    TRIED_AGAIN,
    UNKNOWN,
    WAITS,
)
from detent.core.tools.masking import masked
from detent.core.tools.wording import PROCESS_ENDED
from detent.ports.journal import Entry, with_data

SEALED = "what it holds is sealed: --store app:MODULE:NAME reads it by its agent's journal"
TAKEN_UP = "a process has taken it up again"
WENT_ON = "it has gone on"
TRIED_ANEW = "the model was asked anew"
RESUMED = frozenset({TAKEN_UP, WENT_ON, TRIED_ANEW})
"""That a run goes on: from the middle of its work, from a stop, or from where it had failed."""
FROM_OUTSIDE = frozenset({"HumanDecided", "GrantRevoked", "CancelRequested", "MessageReceived"})
"""What anybody may write: it proves no process of the run."""


def story_of(run_id: str, entries: Iterable[Entry]) -> Story | None:
    """The story that entries tell; None where there is no entry."""
    story, secrets = Story(run_id), RunSecrets()
    for entry, data in with_data(entries):
        secrets.learn(data)
        if entry.position == 0:
            _begin(story, entry.at, data)
        elif entry.kind == "Stopped":
            story.notes.append(f"stopped before {data.get('about_to', '')}")
        else:
            _take(story, entry.at, entry.kind, data)
        story.entries, story.status, story.last_at = story.entries + 1, entry.status, entry.at
        rests = entry.kind == "Stopped" or entry.status == "waiting"
        # whoever has taken it up looks first at what a human is asked
        rests = rests or (entry.kind == "Resumed" and only_waits(story))
        if event_path(entry.kind, data)[-1] not in FROM_OUTSIDE:
            story.lived_at, story.rests = entry.at, rests
        if rests:  # its process may well end here
            _interrupt(story, entry.at)
    secrets.leave(story)
    return story if story.entries else None


def _begin(story: Story, at: float, data: Json) -> None:
    story.agent, story.thread_id = str(data.get("name", "")), str(data.get("thread_id", ""))
    story.began_at = story.last_at = story.woken_at = story.lived_at = at
    story.before, story.asked = conversation_in(data)
    story.used_before = used_before(data)
    story.fork_of = dict(object_of(data.get("fork_of"))) or None
    if "sealed" in data:
        story.notes.append(SEALED)
    _open(story, at, object_of(data.get("run")))


def _open(story: Story, at: float, run: Json) -> None:
    """Take up a run that had come further when its story began: a fork, or a snapshot."""
    phase = object_of(run.get("phase"))
    if phase.get("$type") == "Done":  # its turns are over, and the conversation before it has them
        return
    turn = _turn(story, int(run.get("turn", 1)), at)
    if phase.get("$type") != "Acting":
        return
    turn.replied_at = at
    turn.text = text_in(object_of(object_of(phase.get("reply")).get("message")))
    for slot in map(object_of, list_of(phase.get("slots"))):
        call = _call_of(turn, len(turn.calls), object_of(slot.get("call")))
        status = object_of(slot.get("status"))
        call.become(STATUSES.get(str(status.get("$type")), "asked for"), at)
        call.trouble = str(status.get("trouble") or "")
        whole = "" if call.trouble else status.get("reason")  # it has the trouble in it
        call.reason = str(object_of(status.get("ask")).get("reason") or whole or "")
        if call.status in SETTLED:
            _settle(call, at, call.status, _result_text(status))
        if "run" in status:
            call.inside = Story(f"{story.run_id}/{turn.number}.{call.place}", call.tool)
            call.inside.began_at = call.inside.woken_at = at
            call.begin("work", at)
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
    before = open_calls(story) if kind in TIMES else ()
    if "ref" in data:
        call = _call(story, data["ref"])
        if call is not None:
            _take_of_call(story, call, at, kind, data)
    elif kind == "ModelReplied":
        _replied(story, at, data)
    elif kind == "ModelFailed":
        failure = object_of(data.get("failure"))
        turn = _turn(story, int(data.get("turn", 1)), at)
        turn.failures.append(f"{failure.get('cause')}: {failure.get('message')}")
        _asked(story, turn, at, FAILED)
        _spend(turn, object_of(data.get("usage")), data.get("cost"))  # it may have been paid for
    elif kind == "CancelRequested":
        story.notes.append(f"cancelled: {data.get('reason', '')}")
        _interrupt(story, story.lived_at, CUT_SHORT)  # its process may have ended long before
    elif kind == "MessageReceived":
        _note(story, f"said: {text_in(object_of(data.get('message')))}")  # the next turn reads it
    elif kind == "AnswerRejected":
        story.notes.append(f"the answer was sent back: {data.get('text', '')}")
    elif kind == "Resumed":
        _resumed(story)
        _interrupt(story, story.lived_at, CUT_SHORT)
        _wake(story, at)
    story.last_at = at
    _mark(story, at, str(data.get("mark", "")), is_reply=kind == "ModelReplied")
    lapse(before, at, kind)


def _note(story: Story, text: str) -> None:
    """Keep what was said, or has happened, where the run had come to."""
    (story.turns[-1].notes if story.turns else story.notes).append(text)


def _resumed(story: Story) -> None:
    """Keep that the run goes on, behind what it goes on from.

    That its process has ended is known of none that stood still.
    """
    turn = story.turns[-1] if story.turns else None
    text = WENT_ON if story.rests else TAKEN_UP
    text = TRIED_ANEW if story.status == "failed" else text
    if turn is not None and turn.replied_at is None:
        turn.before.append(text)
    else:
        _note(story, text)


def _interrupt(story: Story, at: float, came_to: str = "") -> None:
    """End the work that goes on: of its process nothing is heard, or it waits for a human."""
    for turn in story.turns[-1:]:
        for call in turn.calls:
            if call.ended_at is None:
                call.close("work", at, came_to)
                if call.inside is not None:
                    _interrupt(call.inside, at, came_to)


def _wake(story: Story, at: float) -> None:
    """Another process goes on with the run, and with those of the agents inside."""
    story.woken_at = at
    for turn in story.turns[-1:]:
        for call in turn.calls:
            if call.inside is not None and call.ended_at is None:
                call.begin("work", at)
                _wake(call.inside, at)


def _asked(story: Story, turn: Turn, at: float, came_to: str = "") -> None:
    """The model has answered, or failed to.

    When it was asked is not recorded: that its turn began, its last attempt failed, or another
    process took the run up came before.
    """
    ends = [stretch.ended_at or at for stretch in turn.asked[-1:]]
    turn.asked.append(Stretch("model", max(turn.began_at, story.woken_at, *ends), at, came_to))


def _replied(story: Story, at: float, data: Json) -> None:
    turn = _turn(story, int(data.get("turn", 1)), at)
    _asked(story, turn, at)
    reply = object_of(data.get("reply"))
    message = object_of(reply.get("message"))
    turn.replied_at, turn.model = at, str(reply.get("model", ""))
    turn.text = text_in(message)
    turn.finish_reason = str(reply.get("finish_reason", "stop"))
    _spend(turn, object_of(reply.get("usage")), data.get("cost"))
    for part in map(object_of, list_of(message.get("content"))):
        if part.get("$type") == "ToolCall":
            _call_of(turn, len(turn.calls), part)
    for fault in map(object_of, list_of(data.get("faults"))):
        for place in list_of(fault.get("places")):
            if (call := _call(story, [turn.number, place])) is not None:
                _settle(call, at, "failed", str(fault.get("text", "")))


def _spend(turn: Turn, usage: Json, cost: object) -> None:
    turn.input_tokens += int(usage.get("input_tokens", 0))
    turn.output_tokens += int(usage.get("output_tokens", 0))
    turn.cached_tokens += int(usage.get("cached_tokens", 0))
    if isinstance(cost, int | float) and cost:
        turn.cost = (turn.cost or 0.0) + cost


def _take_of_call(story: Story, call: Call, at: float, kind: str, data: Json) -> None:
    match kind:
        case "HappenedInside":
            _take_inside(story, call, at, data)
        case "ToolStarted":
            call.become(BEGUN, at)
            call.begin("work", at)
            call.attempts, call.trouble = int(data.get("attempt", 1)), ""
        case "ToolReturned":
            call.close("work", at)
            _settle(call, at, "done", text_in(object_of(data.get("result"))))
        case "ToolRaised" if object_of(data.get("fault")).get("kind") == "unknown_outcome":
            call.trouble = str(
                object_of(data["fault"]).get("message", "")
            )  # nobody could look it up
        case "ToolRaised":
            call.close("work", at, FAILED)
            _settle(call, at, "failed", str(object_of(data.get("fault")).get("message", "")))
        case "ToolLost":
            call.close("work", at, FAILED)
            call.trouble = str(data.get("reason", ""))
        case "Judged":
            _judged(call, at, object_of(data.get("verdict")))
        case "HumanDecided":
            _decided(call, at, data)
        case "ToolNeverRan" if call.attempts == data.get("attempt"):
            call.never_worked()
        case _:
            call.said.append(_heard(kind, data))


def _heard(kind: str, data: Json) -> str:
    """What has happened to a call that changes nothing of it."""
    if kind != "GrantRevoked":
        return kind
    by = data.get("by")
    return "counts for no further calls" + (f", says {by}" if by else "")


def _take_inside(story: Story, call: Call, at: float, data: Json) -> None:
    """Take in what has happened in the run of an agent at work on a call."""
    if event_path("HappenedInside", data)[-1] not in FROM_OUTSIDE:
        call.begin("work", at)
    if call.inside is None:
        began_at = call.stretches[-1].began_at if call.stretches else at
        inside = Story(f"{story.run_id}/{call.turn}.{call.place}", call.tool)
        inside.began_at = inside.last_at = inside.woken_at = began_at
        call.inside = inside
        _turn(inside, 1, inside.began_at)
    call.inside.lived_at = story.lived_at
    event = object_of(data.get("event"))
    faults = {"faults": data["faults"]} if "faults" in data else {}
    _take(call.inside, at, str(event.get("$type")), {**event, **faults})


def _judged(call: Call, at: float, verdict: Json) -> None:
    call.reason = str(verdict.get("reason") or call.reason)
    match verdict.get("$type"):
        case "Ask":
            if not call.is_decided:  # else only looked at once more: a mark says if it is not
                call.become(WAITS, at)
            call.expires_s = verdict.get("expires_s")
        case "Deny":
            _settle(call, at, "refused", call.reason)
        case _:
            call.become(MAY_RUN, at)


def _decided(call: Call, at: float, data: Json) -> None:
    decision = object_of(data.get("decision"))
    word = DECISIONS.get(str(decision.get("$type")), "decided")
    by, more = data.get("by"), decision.get("feedback") or decision.get("text")
    call.close("wait", at, DECIDED)
    call.decided_at, call.status = at, MAY_RUN
    call.said.append(word + (f" by {by}" if by else "") + (f": {more}" if more else ""))
    if word == "changed":
        call.arguments = masked(dict(object_of(decision.get("arguments"))), call.secret)
    if status := {"rejected": "refused", "answered": "answered"}.get(word):
        _settle(call, at, status, str(more or ""))


def _settle(call: Call, at: float, status: str, result: str) -> None:
    call.become(status, at)
    call.ended_at = at
    call.result = result


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
            call.become(_closed(call, is_reply=is_reply, is_end=phase == "Done"), at)
        if call.status == UNKNOWN:
            call.close("work", at, CUT_SHORT)
        _end(call, at)
    if phase != "Done":
        _turn(story, number, at)


def _mark_call(call: Call, at: float, word: str) -> None:
    name, _, inner = word.partition("(")
    status = STATUSES.get(name, call.status)
    if status == WAITS and call.status in {BEGUN, UNKNOWN}:
        # No policy had it asked: without these words a yes would seem to be the first.
        call.trouble = call.trouble or PROCESS_ENDED
    call.become(status, at)
    if call.status == TRIED_AGAIN:
        call.ended_at, call.result = None, ""
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
    has_begun = call.of("work") or call.trouble or call.status == UNKNOWN
    return UNKNOWN if has_begun else NOT_RUN


def _end(call: Call, at: float) -> None:
    """A call has its answer; that of an agent is the last that it has said."""
    call.close("work", at)
    if call.ended_at is None:
        call.ended_at = at
        if call.inside is not None and call.inside.turns and not call.result:
            call.result = call.inside.turns[-1].text


def _turn(story: Story, number: int, at: float) -> Turn:
    if not story.turns or story.turns[-1].number < number:
        story.turns.append(Turn(number, at))
    return story.turns[-1]


def _call_of(turn: Turn, place: int, data: Json) -> Call:
    secret = [*map(str, list_of(data.get("secret")))]
    arguments = masked(dict(object_of(data.get("arguments"))), secret)
    call = Call(turn.number, place, str(data.get("tool_name", "")), arguments, data.get("id"))
    call.secret = secret
    turn.calls.append(call)
    return call


def _call(story: Story, ref: object) -> Call | None:
    match ref:
        case [int(number), int(place)]:
            turns = [turn for turn in story.turns if turn.number == number]
            found = turns[-1].calls if turns else []
            return found[place] if 0 <= place < len(found) else None
        case _:
            return None
