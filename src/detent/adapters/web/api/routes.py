"""The JSON face: what the pages show and send, for programs, and for `detent runs --host`.

Who asks shows who they are as on the pages: by a token of `Tokens`, as ``Authorization: Bearer``,
or by what the app around has found out. What changes something takes JSON alone, which no form of
another site can send, and `by` is whose request it is, never what the request says.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any

from attrs import asdict, evolve
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from detent.adapters.stories.quotes import without_quotes
from detent.adapters.stories.secrets import plain_entry
from detent.adapters.system.threads_and_loops import in_a_thread
from detent.adapters.web.api.health import health
from detent.adapters.web.api.requests import (
    PAGING,
    Answer,
    ApiError,
    answered,
    members_of,
    page_of,
    query_of,
    read_first,
    whole,
)
from detent.adapters.web.approving import wanted_of
from detent.adapters.web.decided import decider_of
from detent.adapters.web.finding import (
    entries_of,
    host_of,
    known_secrets,
    plain_entries,
)
from detent.adapters.web.live import event, stream, with_pauses
from detent.adapters.web.people import Person, SignIn
from detent.adapters.web.rendering import json_response
from detent.core.chat.messages import ChatMessage
from detent.core.control.decisions import ToolExecutionDecision
from detent.core.errors import DetentError, StoredDataError
from detent.core.run.events import CancelRequested, MessageReceived
from detent.core.run.outcomes import output_in
from detent.core.values.frozen import thaw
from detent.ports.approvers import Wanted
from detent.ports.hosting import Accepted, Host, HostedRun, HostRefusal, Revoke
from detent.ports.journal import Entry, RunNotFoundError
from detent.ports.listing import HostNotOpenError
from detent.ports.pending import PendingCall, left_over
from detent.ports.results import AgentResult

VERSION = 1
"""Of what is asked and answered: a change that breaks a client is another one."""
STATUSES: Mapping[str, int] = {
    "unknown_run": 404,
    "unknown_agent": 404,
    "invalid": 422,
    "full": 503,
    "shutting_down": 503,
}
"""What a refusal is in HTTP; any other one is a conflict with what is stored."""
ANY = ("GET", "POST", "PUT", "PATCH", "DELETE")


def api_routes(sign_in: SignIn | None) -> list[Route]:
    """What is asked for where."""
    reading: dict[str, Answer] = {
        "/api": about,
        "/api/health": health,
        "/api/runs": runs,
        "/api/pending": pending,
        "/api/run/{run_id:path}": run,
        "/api/entries/{run_id:path}": entries,
        "/api/watch/{run_id:path}": watch,
    }
    changing: dict[str, Answer] = {
        "/api/start": begin,
        "/api/decide": decide,
        "/api/cancel": cancel,
        "/api/send": send,
        "/api/revoke": revoke,
    }
    return [
        *(Route(path, answered(handler, sign_in)) for path, handler in reading.items()),
        *(
            Route(path, answered(read_first(handler), sign_in), methods=["POST"])
            for path, handler in changing.items()
        ),
        Route("/api/{rest:path}", answered(_nothing_at(reading, changing), sign_in), methods=ANY),
    ]


def _nothing_at(reading: Collection[str], changing: Collection[str]) -> Answer:
    """What answers a request that is none: also by what it would be asked."""

    async def nothing(request: Request) -> Response:
        path, method = f"/api/{request.path_params['rest']}", request.method
        if path in changing:
            raise ApiError(405, "invalid", f"{path} is asked by POST, and not by {method}")
        known = ", ".join(sorted({*reading, *changing}))
        raise ApiError(404, "invalid", f"there is no {method} {path}; there are {known}")

    return nothing


async def about(request: Request) -> Response:
    """Whom the host answers, and which agents it has."""
    agents = [asdict(agent) for agent in await host_of(request).agents()]
    return json_response({"api": VERSION, "you": request.state.person.name, "agents": agents})


async def runs(request: Request) -> Response:
    """A page of runs, the one last written to first."""
    query = query_of(request, "status", "agent", "thread_id", "label", *PAGING)
    page = page_of(query)
    found = await host_of(request).runs(**page)
    following = found[-1].cursor if len(found) == page["limit"] else None
    return json_response({"runs": [asdict(listed) for listed in found], "next": following})


async def pending(request: Request) -> Response:
    """The questions of a page of runs."""
    query = query_of(request, "agent", "thread_id", *PAGING)
    found = await host_of(request).pending(**page_of(query))
    following = found[-1].cursor if found else None
    agents = await host_of(request).agents()

    def whole_answer() -> Response:
        asked = [{**one.to_dict(), "wanted": wanted_of(agents, one.agent)} for one in found]
        return json_response({"pending": asked, "next": following})

    return await in_a_thread(whole_answer)


async def run(request: Request) -> Response:
    """A run: what a list says of it, which calls wait, and what it has come to."""
    host = host_of(request)
    hosted = await host.run(request.path_params["run_id"])
    agents = await host.agents()
    of = [agent.tools for agent in agents if agent.has_runs_of(hosted.listed.agent)]
    content = {
        "run": asdict(hosted.listed),
        "outdated": [asdict(one) for one in hosted.outdated],
        "held_by": hosted.held_by,
        "is_bound": hosted.is_bound,
        "grants": [grant.to_dict() for grant in hosted.grants],
        "tools": [*of[0]] if of else [],
        "wanted": wanted_of(agents, hosted.listed.agent),
    }

    def whole_answer() -> Response:
        calls = [call.to_dict() for call in hosted.pending]
        return json_response(content | {"pending": calls, "result": result_of(hosted)})

    return await in_a_thread(whole_answer)


def result_of(hosted: HostedRun) -> dict[str, Any] | None:
    """What a run has come to, as people may see it; None while it goes on.

    An answer of the agent's `output_type` is the object of JSON that the model has given: one of a
    type that is no object has it as its `value`.
    """
    outcome = hosted.run.outcome
    if outcome is None:
        return None
    answer = {"text": AgentResult(hosted.run).text, "output": thaw(output_in(outcome))}
    return {"exit_reason": outcome.exit_reason, **without_quotes(answer, hosted.secrets)}


async def entries(request: Request) -> Response:
    """What is stored of a run, behind the entry that `after` names. Secrets are masked."""
    host, after = host_of(request), _after(request)
    hosted = await host.run(request.path_params["run_id"])
    found = await entries_of(host, hosted.listed)
    return await in_a_thread(lambda: json_response(plain_entries(hosted, found, after)))


def _after(request: Request) -> int:
    said = query_of(request, "after").get("after")
    position = request.headers.get("last-event-id") or said
    return whole("after", position or "-1")


async def watch(request: Request) -> Response:
    """The same as they come, as server-sent events, until the run has ended."""
    host, after = host_of(request), _after(request)
    hosted = await host.run(request.path_params["run_id"])
    if not -1 <= after < hosted.listed.length:
        raise ApiError(422, "invalid", f"after: the run has {hosted.listed.length} entries")
    return stream(_events(host, hosted, after, await entries_of(host, hosted.listed)))


async def _events(
    host: Host, hosted: HostedRun, after: int, known: list[Entry]
) -> AsyncGenerator[str]:
    run_id, secrets = hosted.listed.run_id, known_secrets(hosted)
    wanted = await in_a_thread(partial(secrets.learned_without, known))
    history = {entry.position: entry for entry in wanted}
    try:
        async with (
            aclosing(host.watch(run_id, None if after < 0 else after)) as watched,
            aclosing(with_pauses(watched)) as seen_or_quiet,
        ):
            async for seen in seen_or_quiet:
                if isinstance(seen, Entry):
                    visible = history.pop(seen.position, None)
                    if visible is None:  # later ones may quote what it says
                        (visible,) = await in_a_thread(partial(secrets.learned_without, [seen]))
                    yield event("entry", json.dumps(plain_entry(visible)), str(seen.position))
                elif seen is None:
                    yield ": still here\n\n"
        yield event("ended", run_id)
    except RunNotFoundError:
        yield event("gone", run_id)
    except HostNotOpenError:  # another process tells how it goes on: who watches asks again
        return


async def begin(request: Request) -> Response:
    """Begin a run of an agent. With a `run_id` that is there already, it is that run.

    RULE: the state is what JSON makes of it, and nothing is read into other types: its values are
    held against those of the agent's keys by the host, as those of any other caller.
    """
    names = ("run_id", "thread_id", "state")
    agent, text, run_id, thread_id, state = members_of(
        request, names, agent=str, text=str, run_id=str, thread_id=str, state=dict
    )
    if not text.strip() or run_id == "":
        what = "run_id: expected a name" if text.strip() else "text: there is nothing to say"
        raise ApiError(422, "invalid", what)
    said, name = [ChatMessage.from_user(text)], request.state.person.name
    done = await host_of(request).start(
        agent, said, run_id=run_id, thread_id=thread_id, state=state, started_by=name
    )
    is_new = isinstance(done, Accepted) and done.is_new
    return _outcome(done, by=name, is_new=is_new)


async def decide(request: Request) -> Response:
    """Decide about a call: `decision` is a `ToolExecutionDecision`, with the digest of the call.

    RULE: who decides is whose request it is. A signature it may bring along, which proves nothing
    but that this person has made this decision.

    The answer says as `waits_for` how many more people must say yes before it counts.
    """
    run_id, data = members_of(request, run_id=str, decision=dict)
    person: Person = request.state.person
    host = host_of(request)
    wanted = await _wanted(host, run_id)
    for name in ("by", "credential"):
        if data.get(name) is not None and (name, wanted) != ("credential", "signature"):
            raise ApiError(422, "invalid", f"{name}: who decides is whose request it is")
    try:
        decision = ToolExecutionDecision.from_dict(data)
    except StoredDataError as error:
        raise ApiError(422, "invalid", str(error)) from None
    if decision.digest is None:
        raise ApiError(422, "invalid", "digest: expected that of the call, as it was shown")
    await _require_exact(host, run_id, decision)
    proof = decision.credential if wanted == "signature" else person.credential
    whole = evolve(decision, by=person.name, credential=proof)
    if wanted == "nothing":  # then one is enough: nobody knows whether two are two
        return _outcome(await host.send(run_id, whole), by=person.name, waits_for=0)
    asked = await _call_of(host, run_id, decision.digest)
    done = await host.send(run_id, whole)
    by = await decider_of(host, run_id, decision.digest) or person.name
    return _outcome(done, by=by, waits_for=await _more_votes(host, asked, whole, by))


async def _require_exact(host: Host, run_id: str, decision: ToolExecutionDecision) -> None:
    """Raise ApiError where a change may be none, but a number that a page has rounded."""
    change = decision.final_tool_params
    call = await _call_of(host, run_id, str(decision.digest)) if change else None
    if call is not None and change and (faults := call.rounding_faults(change)):
        raise ApiError(422, "invalid_arguments", "; ".join(faults), tuple(faults))


async def _call_of(host: Host, run_id: str, digest: str) -> PendingCall | None:
    """The call that waits with a digest; None where none does, or nobody can tell."""
    try:
        waiting = (await host.run(run_id)).pending
    except DetentError:  # `send` says it, or has: what fails now makes nothing undone
        return None
    return next((call for call in waiting if call.digest == digest), None)


async def _more_votes(
    host: Host, asked: PendingCall | None, decision: ToolExecutionDecision, by: str
) -> int:
    """How many more people must say yes to a call that was just decided about."""
    if asked is None or asked.approvers.count == 1:
        return 0
    now = await _call_of(host, asked.run_id, asked.digest)
    left = left_over([] if now is None else [now], asked, decision, by)
    return next((call.more_votes for call in left), 0)


async def _wanted(host: Host, run_id: str) -> Wanted:
    """What a decision about a run brings along; what else is wrong with it, `send` says.

    Raises:
        RunNotFoundError: where agents want several things, and there is no such run.
    """
    agents = await host.agents()
    if all(agent.wanted == "nothing" for agent in agents):
        return "nothing"
    try:
        return wanted_of(agents, (await host.run(run_id)).listed.agent)
    except RunNotFoundError:
        raise
    except DetentError:
        return "nothing"


async def cancel(request: Request) -> Response:
    """End a run."""
    run_id, reason = members_of(request, ("reason",), run_id=str, reason=str)
    name = request.state.person.name
    done = await host_of(request).send(run_id, CancelRequested(f"{reason or 'cancelled'} ({name})"))
    return _outcome(done, by=name)


async def send(request: Request) -> Response:
    """Say something more to a run; to one that has ended, in a new run behind it."""
    run_id, text = members_of(request, run_id=str, text=str)
    if not text.strip():
        raise ApiError(422, "invalid", "text: there is nothing to say")
    name = request.state.person.name
    message = MessageReceived(ChatMessage.from_user(text), by=name)
    return _outcome(await host_of(request).send(run_id, message), by=name)


async def revoke(request: Request) -> Response:
    """Have a confirmation count no further: `ref` and `path` are those of one of a run's grants."""
    run_id, ref, path = members_of(request, run_id=str, ref=list, path=list)
    host, name = host_of(request), request.state.person.name
    grant = (await host.run(run_id)).grant(ref, path)
    if grant is None:
        raise ApiError(409, "unknown_call", f"run {run_id!r} has no such grant, or no longer")
    return _outcome(await host.send(run_id, Revoke(grant, by=name)), by=name)


def _outcome(done: Accepted | HostRefusal, by: str, **more: int) -> Response:
    if isinstance(done, HostRefusal):
        status = 422 if done.faults else STATUSES.get(done.why, 409)
        raise ApiError(status, done.why, done.text, done.faults)
    told = {"text": done.text} if done.text else {}
    return json_response({"run_id": done.run_id, "by": by, **more, **told})
