"""Moments: a run before and after each of its events, a new one from there, proofs, comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

from attrs import frozen
from starlette.requests import Request
from starlette.responses import Response

from detent.adapters.state.diff import diff
from detent.adapters.stories.statuses import STATUSES
from detent.adapters.stories.steps import Comparison, steps_of
from detent.adapters.system.threads_and_loops import in_a_thread
from detent.adapters.web.arguments import Change, changes
from detent.adapters.web.finding import entries_of, host_of, known_secrets
from detent.adapters.web.rendering import page
from detent.adapters.web.runs import say
from detent.adapters.web.shown import as_json, shown_messages
from detent.core.chat.messages import ChatMessage
from detent.core.errors import StoredDataError
from detent.core.run.run import Acting, Run
from detent.core.state.keys import UNSET
from detent.core.tools.redaction import without_secrets
from detent.core.tools.secrets import SecretValues
from detent.core.values.frozen import EMPTY
from detent.ports.hosting import Fork, Host, HostedAgent, HostedRun
from detent.ports.journal import Entry, RunNotFoundError
from detent.ports.listing import UnknownAgentError


@frozen
class StateChange:
    """A key of the state whose value an event has changed.

    Attributes:
        key: its name.
        before: the value as JSON; None where it had none, or where it has only grown.
        after: the same; where a list has grown, what it has got.
        messages: the messages that the conversation has got.
    """

    key: str
    before: str | None
    after: str | None
    messages: tuple[ChatMessage, ...] = ()


def state_changes(
    before: Run[Any], after: Run[Any], secrets: SecretValues = EMPTY
) -> tuple[StateChange, ...]:
    """What an event has changed in the state of its run, without what is secret in that."""
    return tuple(_state_changes(before, after, secrets))


def _state_changes(
    before: Run[Any], after: Run[Any], secrets: SecretValues
) -> Iterator[StateChange]:
    def text(value: object) -> str | None:
        plain = _json(value)
        return None if plain is None else without_secrets(plain, secrets, secrets)

    for change in diff(before.state, after.state):
        added = change.added
        messages = tuple(part for part in added or () if isinstance(part, ChatMessage))
        if added is not None and len(messages) == len(added):
            yield StateChange(change.key, None, None, shown_messages(messages, secrets))
        elif added is not None:
            yield StateChange(change.key, None, text(list(added)))
        else:
            yield StateChange(change.key, text(change.before), text(change.after))


def _json(value: object) -> str | None:
    return None if value is UNSET else as_json(value, is_wide=True)


def progress(before: Run[Any] | None, after: Run[Any]) -> tuple[Change, ...]:
    """What an event has changed in how far its run has come."""
    return changes({} if before is None else _facts(before), _facts(after))


def _facts(run: Run[Any]) -> Mapping[str, object]:
    """What changes from event to event beside the state, in words."""
    facts: dict[str, object] = {
        "turn": run.turn,
        "what it does": type(run.phase).__name__,
        "tokens read": run.usage.input_tokens,
        "tokens written": run.usage.output_tokens,
        "cost": run.cost,
        "decisions": len(run.decisions),
    }
    for number, slot in enumerate(run.slots, 1):
        status = type(slot.status).__name__
        facts[f"call {number}, {slot.call.tool_name}"] = STATUSES.get(status, status)
    return facts


async def moment(request: Request) -> Response:
    """A run before and after one of its events."""
    return await _moment(request, "moment.html")


async def moment_part(request: Request) -> Response:
    """The same without what is around it: for a page whose slider is moved."""
    return await _moment(request, "moment_part.html")


@frozen
class Moment:
    """An event of a run: what the run is now, was before it and after it, and all up to it."""

    now: HostedRun
    before: Run[Any] | None
    after: Run[Any]
    entries: list[Entry]


async def _moment(request: Request, template: str) -> Response:
    try:
        seen = await _moment_of(request)
    except RunNotFoundError:
        return page(request, "refused.html", 404, text="There is no such run.", details=())
    except (UnknownAgentError, StoredDataError) as error:
        return page(request, "refused.html", 409, text=str(error), details=())
    agents = await host_of(request).agents()
    return await in_a_thread(partial(_moment_page, request, template, seen, agents))


async def _moment_of(request: Request) -> Moment:
    run_id, host = request.path_params["run_id"], host_of(request)
    now = await host.run(run_id)
    at = _place(request, now.listed.length)
    after = await host.run(run_id, at + 1)
    before = (await host.run(run_id, at)).run if at else None
    entries = await entries_of(host, now.listed)
    return Moment(now, before, after.run, entries[: at + 1])


def _moment_page(
    request: Request, template: str, seen: Moment, agents: Sequence[HostedAgent]
) -> Response:
    before, after, entries = seen.before, seen.after, seen.entries
    secrets = known_secrets(seen.now, entries)
    values: dict[str, Any] = {
        "listed": seen.now.listed,
        "at": entries[-1].position,
        "last": seen.now.listed.length - 1,
        "entry": secrets.without(entries[-1:])[0],
        "state": () if before is None else state_changes(before, after, secrets.values),
        "progress": progress(before, after),
        "opening": () if before else shown_messages(after.messages, secrets.values),
        "has_calls": isinstance(after.phase, Acting),
        "agents": agents,
    }
    return page(request, template, **values)


def _place(request: Request, length: int) -> int:
    """The position that is asked for, or the nearest; the last one without."""
    text = request.query_params.get("at", "")
    position = (
        int(text) if text.isascii() and text.isdigit() and len(text) < len("1" * 18) else length
    )
    return min(position, length - 1)


async def fork(request: Request) -> Response:
    """Begin a new run as this one was after an event."""
    form = request.state.form
    text, length = str(form.get("text", "")).strip(), str(form.get("length", ""))
    if not (length.isascii() and length.isdigit() and len(length) < len("1" * 18)):
        return page(request, "refused.html", 422, text="It is not said from where.", details=())
    message = ChatMessage.from_user(text) if text else None
    agent = str(form.get("agent", "")) or None
    return await say(request, Fork(int(length), message, agent, request.state.person.name))


ROWS_MAX = 500
"""How many steps of two runs are shown of those that differ."""


async def proof(request: Request) -> Response:
    """Whether a run is what its entries make, and whether these hang together."""
    run_id = request.path_params["run_id"]
    try:
        found = await host_of(request).verify(run_id)
    except RunNotFoundError:
        return page(request, "refused.html", 404, text="There is no such run.", details=())
    except UnknownAgentError as error:
        return page(request, "refused.html", 409, text=str(error), details=())
    return page(request, "proof.html", run_id=run_id, proof=found)


async def compare(request: Request) -> Response:
    """Two runs side by side, from where on they differ."""
    names = [request.query_params.get(name, "").strip() for name in ("a", "b")]
    try:
        both = [(name, await _entries(host_of(request), name)) for name in names]
    except RunNotFoundError as error:
        return page(request, "refused.html", 404, text=str(error), details=())
    except (UnknownAgentError, StoredDataError) as error:
        return page(request, "refused.html", 409, text=str(error), details=())
    return await in_a_thread(partial(_compared, request, both))


async def _entries(host: Host, run_id: str) -> list[Entry]:
    return await entries_of(host, (await host.run(run_id)).listed)


def _compared(request: Request, both: list[tuple[str, list[Entry]]]) -> Response:
    found = Comparison.of(*(steps_of(run_id, entries) for run_id, entries in both))
    rows = list(zip_longest(found.in_a, found.in_b))
    values: dict[str, Any] = {"a": both[0][0], "b": both[1][0], "rows": rows[:ROWS_MAX]}
    left_out = max(0, len(rows) - ROWS_MAX)
    return page(request, "compare.html", same=found.same, left_out=left_out, **values)
