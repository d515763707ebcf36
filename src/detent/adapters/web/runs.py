"""Runs: the list of them, and one with its conversation, its time and its events."""

from __future__ import annotations

import time
from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from detent.adapters.stories.entries import object_of, used_before
from detent.adapters.system.threads_and_loops import in_a_thread
from detent.adapters.web.decided import DecisionView
from detent.adapters.web.finding import (
    entries_of,
    found_runs,
    host_of,
    known_secrets,
    plain_entries,
)
from detent.adapters.web.inbox import QuestionView, cursor_in
from detent.adapters.web.rendering import base_of, json_response, page
from detent.adapters.web.shown import shown_messages
from detent.adapters.web.timeline import picture_of
from detent.core.chat.messages import ChatMessage
from detent.core.codec.json_text import read_json
from detent.core.errors import StoredDataError
from detent.core.run.events import CancelRequested, MessageReceived
from detent.ports.hosting import (
    Accepted,
    HostedRun,
    HostRefusal,
    PendingQuestion,
    Revoke,
    Sent,
    TryAgain,
)
from detent.ports.journal import Entry, RunNotFoundError
from detent.ports.listing import STATUSES, RunQuery, UnknownAgentError

FILTERS = ("status", "agent", "thread_id", "label", "text", "since", "until")
EVENTS_MAX, MESSAGES_MAX = 500, 200
"""How many entries and messages of a run are shown, the last ones; all are in the raw data."""


async def runs(request: Request) -> Response:
    """A page of runs, the one last written to first."""
    query = request.query_params
    chosen = {name: query.get(name) or None for name in FILTERS}
    try:
        RunQuery(chosen["status"])
    except ValueError as error:
        return page(request, "refused.html", 400, text=str(error), details=())
    found = await found_runs(host_of(request), chosen, cursor_in(request))
    agents = await host_of(request).agents()
    values: dict[str, Any] = {"found": found, "chosen": chosen, "agents": agents}
    return page(request, "runs.html", **values, statuses=STATUSES)


async def run(request: Request) -> Response:
    """One run."""
    return await _run(request, "run.html")


async def run_part(request: Request) -> Response:
    """The same without what is around it: for a page that is open."""
    return await _run(request, "run_part.html")


async def _run(request: Request, template: str) -> Response:
    run_id = request.path_params["run_id"]
    host = host_of(request)
    try:
        hosted = await host.run(run_id)
        entries = await entries_of(host, hosted.listed)
    except RunNotFoundError:
        return page(request, "refused.html", 404, text="There is no such run.", details=())
    except (UnknownAgentError, StoredDataError) as error:
        return page(request, "refused.html", 409, text=str(error), details=())
    # In a thread: to make the page of a long run must not stop all that runs beside.
    return await in_a_thread(partial(_run_page, request, template, hosted, entries))


def _run_page(request: Request, template: str, hosted: HostedRun, entries: list[Entry]) -> Response:
    listed, messages = hosted.listed, hosted.run.messages
    questions = [
        QuestionView(PendingQuestion(listed.agent, listed.thread_id, listed.cursor, call))
        for call in hosted.pending
    ]
    begun = entries[0].data if entries else {}
    secrets = known_secrets(hosted, entries)
    values: dict[str, Any] = {
        "hosted": hosted,
        "questions": questions,
        "decided": [
            DecisionView(
                hosted,
                record.call,
                record.by or "",
                record.at,
                record.decision,
                record.call.tool_name,
                secrets.values,
            )
            for record in hosted.run.decisions
        ],
        "grants": [grant.to_dict() for grant in hosted.grants],
        "messages": shown_messages(messages[-MESSAGES_MAX:], secrets.values),
        "unread": shown_messages(hosted.run.unread, secrets.values),
        "earlier": max(0, len(messages) - MESSAGES_MAX),
        "entries": secrets.without(entries[-EVENTS_MAX:]),
        "picture": picture_of(entries, time.time()),
        "fork_of": object_of(begun.get("fork_of")),
        "used_before": used_before(begun),
    }
    return page(request, template, **values)


async def raw(request: Request) -> Response:
    """All entries of a run as JSON."""
    host = host_of(request)
    try:
        hosted = await host.run(request.path_params["run_id"])
    except (RunNotFoundError, UnknownAgentError) as error:
        return json_response({"error": str(error)}, 404)
    entries = await entries_of(host, hosted.listed)
    return await in_a_thread(lambda: json_response(plain_entries(hosted, entries)))


async def begin(request: Request) -> Response:
    """Begin a run of an agent, with what somebody says."""
    form = request.state.form
    text, thread = str(form.get("text", "")).strip(), str(form.get("thread_id", "")).strip()
    if not text:
        return page(request, "refused.html", 422, text="There is nothing to say.", details=())
    messages, by = [ChatMessage.from_user(text)], request.state.person.name
    agent = str(form.get("agent", ""))
    done = await host_of(request).start(agent, messages, thread_id=thread or None, started_by=by)
    return _answered(request, done)


async def cancel(request: Request) -> Response:
    """End a run."""
    reason = str(request.state.form.get("text", "")).strip() or "ended in the web page"
    return await say(request, CancelRequested(f"{reason} ({request.state.person.name})"))


async def try_again(request: Request) -> Response:
    """Have the model asked again in a run that has failed."""
    return await say(request, TryAgain(by=request.state.person.name))


async def revoke(request: Request) -> Response:
    """Have a confirmation count for no further calls."""
    form = request.state.form
    run_id = str(form.get("run_id", ""))
    try:
        hosted = await host_of(request).run(run_id)
        grant = hosted.grant(*(read_json(str(form.get(name))) for name in ("ref", "path")))
    except (RunNotFoundError, UnknownAgentError, StoredDataError, ValueError) as error:
        return page(request, "refused.html", 409, text=str(error), details=(), run_id=run_id)
    if grant is None:
        text = "That counts for no further calls any more."
        return page(request, "refused.html", 409, text=text, details=(), run_id=run_id)
    return await say(request, Revoke(grant, by=request.state.person.name))


async def go_on(request: Request) -> Response:
    """Say something more to a run; behind one that has ended, a new one goes on with it."""
    text = str(request.state.form.get("text", "")).strip()
    if not text:
        return page(request, "refused.html", 422, text="There is nothing to say.", details=())
    name = request.state.person.name
    return await say(request, MessageReceived(ChatMessage.from_user(text), by=name))


async def say(request: Request, content: Sent) -> Response:
    """Say something to the run that a form names."""
    run_id = str(request.state.form.get("run_id", ""))
    try:
        done = await host_of(request).send(run_id, content)
    except RunNotFoundError as error:
        return page(request, "refused.html", 404, text=str(error), details=())
    return _answered(request, done, run_id)


def _answered(request: Request, done: Accepted | HostRefusal, run_id: str = "") -> Response:
    if isinstance(done, HostRefusal):
        values = {"text": done.text, "details": done.faults, "run_id": run_id}
        return page(request, "refused.html", 409, **values)
    if done.text:
        return page(request, "written.html", texts=[done.text], run_id=done.run_id)
    return RedirectResponse(f"{base_of(request)}/run/{quote(done.run_id, safe='')}", 303)
