"""The inbox: every question of every run, and what people decide."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from attrs import evolve, frozen
from starlette.requests import Request
from starlette.responses import Response

from detent.adapters.system.threads_and_loops import in_a_thread
from detent.adapters.web.approving import Lack, lack_of, wanted_of
from detent.adapters.web.arguments import (
    Change,
    FormError,
    arguments_in,
    changes,
    fields_of,
)
from detent.adapters.web.decided import to_decided
from detent.adapters.web.finding import entries_of, host_of, known_secrets
from detent.adapters.web.rendering import page, page_beside
from detent.adapters.web.shown import shown_messages
from detent.core.chat.messages import ChatMessage, ChatRole
from detent.core.codec.json_text import read_json
from detent.core.control.decisions import ToolExecutionDecision
from detent.core.errors import StoredDataError
from detent.core.run.approval import SCOPES, Scope
from detent.ports.hosting import (
    Accepted,
    Host,
    HostedAgent,
    HostedRun,
    HostRefusal,
    PendingQuestion,
)
from detent.ports.journal import Entry, RunNotFoundError
from detent.ports.listing import UnknownAgentError
from detent.ports.pending import PendingCall, describe_outdated

BEFORE = 6
"""So many messages are shown that came before a question, the last ones."""
SHORT = 1_500
"""So many characters of them are shown unfolded."""
RUNS = 50
"""Of how many runs a page has the questions."""


def cursor_in(request: Request) -> tuple[float, str] | None:
    """Behind which run a page begins. None is the first."""
    try:
        at, run_id = read_json(request.query_params.get("before", "null")) or (None, None)
        return None if at is None else (float(at), str(run_id))
    except (ValueError, TypeError):
        return None


async def inbox(request: Request) -> Response:
    """The questions that wait."""
    return await page_beside(request, "inbox.html", **(await _questions(request)))


async def questions(request: Request) -> Response:
    """The same without what is around them: for a page that is open."""
    return await page_beside(request, "questions.html", **(await _questions(request)))


async def _questions(request: Request) -> dict[str, Any]:
    agent = request.query_params.get("agent") or None
    found = await host_of(request).pending(agent=agent, before=cursor_in(request), limit=RUNS)
    runs = {question.call.run_id for question in found}
    more = found[-1].cursor if len(runs) == RUNS else None
    # RULE: what comes while the page is open stands below: no question takes the place of another
    in_order = sorted(found, key=lambda one: one.cursor)
    agents = await host_of(request).agents()
    questions = await in_a_thread(lambda: [_view(request, agents, one) for one in in_order])
    held = [] if cursor_in(request) else await _held(host_of(request), agent, runs)
    mark = marked(found)
    return {"questions": questions, "held": held, "more": more, "agent": agent, "mark": mark}


@frozen
class HeldRun:
    """A run that waits for a human, and has no question that can be answered here.

    `is_put_anew` says that its host is just about to ask it by the rules of today, `held_by` which
    process keeps it from doing so, and `is_bound` that only a worker of another release can.
    """

    run_id: str
    why: str
    is_put_anew: bool = False
    held_by: str = ""
    is_bound: bool = False


async def _held(host: Host, agent: str | None, run_ids: Collection[str]) -> list[HeldRun]:
    """Those among the runs that wait, the one last written to first."""
    agents = await host.agents()
    held: list[HeldRun] = []
    busy = await host.runs("running", agent=agent, limit=RUNS)  # some are just asked anew
    waiting = await host.runs("waiting", agent=agent, limit=RUNS)
    for listed in (*(run for run in busy if run.pending), *waiting):
        if listed.run_id in run_ids or not any(one.has_runs_of(listed.agent) for one in agents):
            continue
        try:
            hosted = await host.run(listed.run_id)
        except RunNotFoundError:
            continue
        except StoredDataError as error:
            held.append(HeldRun(listed.run_id, str(error)))
        else:
            if hosted.outdated:
                why, by = describe_outdated(hosted.outdated), (hosted.held_by, hosted.is_bound)
                held.append(HeldRun(listed.run_id, why, not any(by), *by))
    return held


def marked(questions: Iterable[PendingQuestion]) -> str:
    """A short name for what waits: another one where anything else waits."""
    digests = " ".join(question.call.digest for question in questions)
    return hashlib.sha256(digests.encode()).hexdigest()[:16]


@frozen
class QuestionView:
    """A question with what a page makes of it."""

    pending: PendingQuestion
    fields: tuple[Any, ...] = ()
    before: tuple[ChatMessage, ...] = ()
    lack: Lack | None = None

    @property
    def call(self) -> PendingCall:
        """The call that waits."""
        return self.pending.call

    @property
    def is_barred(self) -> bool:
        """Whether no answer that is given on a page can count."""
        return self.lack is not None and self.lack.is_certain

    @property
    def is_short(self) -> bool:
        """Whether what came before can be shown without hiding what can be answered."""
        texts = (message.text or "" for message in self.before)
        results = (result.text for message in self.before for result in message.tool_call_results)
        return sum(map(len, (*texts, *results))) <= SHORT

    @property
    def scopes(self) -> tuple[str, ...]:
        """For what a yes may count."""
        return SCOPES[: SCOPES.index(self.call.answers.remember) + 1]

    @property
    def since(self) -> tuple[Change, ...]:
        """What has changed since it was decided about before."""
        call = self.call
        if not (call.changed and call.former):
            return ()
        return changes({**call.former, **call.former_state}, {**call.arguments, **call.state})


def _view(
    request: Request,
    agents: Iterable[HostedAgent],
    question: PendingQuestion,
    before: Callable[[], tuple[ChatMessage, ...]] = tuple,
) -> QuestionView:
    lack = lack_of(request, wanted_of(agents, question.agent), question.call)
    return QuestionView(question, fields_of(question.call), before(), lack)


async def question(request: Request) -> Response:
    """One question, with all that can be answered."""
    run_id, digest = request.path_params["run_id"], request.path_params["digest"]
    found = await _find(request, run_id, digest)
    if found is None:
        return await _after_question(request, run_id, digest)
    return await page_beside(request, "question.html", question=found, faults=(), entered={})


async def _find(request: Request, run_id: str, digest: str) -> QuestionView | None:
    try:
        hosted = await host_of(request).run(run_id)
    except (RunNotFoundError, UnknownAgentError):
        return None
    listed = hosted.listed
    for call in hosted.pending:
        if call.digest == digest:
            pending = PendingQuestion(listed.agent, listed.thread_id, listed.cursor, call)
            messages = [
                message for message in hosted.run.messages if message.role is not ChatRole.SYSTEM
            ]
            agents = await host_of(request).agents()
            entries = await entries_of(host_of(request), listed)
            last = partial(_shown, messages[-BEFORE:], hosted, entries)
            return await in_a_thread(partial(_view, request, agents, pending, last))
    return None


def _shown(
    messages: Sequence[ChatMessage], hosted: HostedRun, entries: Sequence[Entry]
) -> tuple[ChatMessage, ...]:
    return shown_messages(messages, known_secrets(hosted, entries).values)


async def _after_question(request: Request, run_id: str, digest: str) -> Response:
    """What has become of a question that does not wait any more."""
    try:
        hosted = await host_of(request).run(run_id)
    except RunNotFoundError:
        return page(request, "refused.html", 404, text="There is no such run.", details=())
    except UnknownAgentError as error:
        return page(request, "refused.html", 404, text=str(error), details=())
    latest = hosted.run.decisions[-1:]
    details = [
        f"the last decision in this run was {type(record.decision).__name__.lower()}, about "
        f"{record.call.tool_name}, by {record.by or 'somebody'}"
        for record in latest
    ]
    text = "This question waits no longer: it was answered, or what would run has changed."
    return page(request, "refused.html", 409, text=text, details=details, run_id=run_id)


async def decide(request: Request) -> Response:
    """Decide one question as a form says; a change is shown before it counts."""
    form = request.state.form
    run_id, digest = str(form.get("run_id", "")), str(form.get("digest", ""))
    found = await _find(request, run_id, digest)
    if found is None:
        return await _after_question(request, run_id, digest)
    call, by = found.call, request.state.person.name
    text = str(form.get("text", "")).strip()
    match form.get("answer"):
        case "confirm":
            scopes: dict[str, Scope | None] = {"": None, **{str(scope): scope for scope in SCOPES}}
            chosen = str(form.get("remember", ""))
            if chosen not in scopes:  # as its policy says could be wider than what was meant
                return await _again(
                    request, found, [f"a yes counts for one of {', '.join(SCOPES)}"]
                )
            decision = call.confirm(by=by, remember=scopes[chosen])
        case "reject":
            decision = call.reject(text or None, by=by)
        case "respond" if text:
            decision = call.respond(text, by=by)
        case "review" | "modify" as step:
            return await _modify(request, found, is_final=step == "modify")
        case _:
            return await _again(request, found, ["say what the tool's answer is"])
    return await _send(request, found, decision)


async def _modify(request: Request, found: QuestionView, *, is_final: bool) -> Response:
    form, call = request.state.form, found.call
    try:
        arguments, faults, changed = await in_a_thread(partial(_changed, call, form))
    except FormError as error:
        return await _again(request, found, [str(error)])
    if faults:
        return await _again(request, found, faults)
    if not changed:
        return await _again(request, found, ["nothing is changed: confirm it as it is"])
    if not is_final:
        return await page_beside(request, "review.html", question=found, changes=changed, form=form)
    feedback = str(form.get("text", "")).strip() or None
    decision = call.modify(arguments, feedback, by=request.state.person.name)
    return await _send(request, found, decision)


def _changed(
    call: PendingCall, form: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str], tuple[Change, ...]]:
    """The arguments that a form says, what is wrong with them, and what is other than before."""
    arguments = arguments_in(call, form)
    return arguments, call.faults(arguments), changes(call.arguments, arguments)


async def _again(request: Request, found: QuestionView, faults: list[str]) -> Response:
    entered = {name: str(value) for name, value in request.state.form.items()}
    return await page_beside(
        request, "question.html", 422, question=found, faults=faults, entered=entered
    )


async def _send_decision(
    request: Request, call: PendingCall, decision: ToolExecutionDecision
) -> Accepted | HostRefusal:
    """What the host makes of a decision of the person whose request it is."""
    whose = evolve(decision, credential=request.state.person.credential)
    return await host_of(request).send(call.run_id, whose)


async def _send(request: Request, found: QuestionView, decision: ToolExecutionDecision) -> Response:
    answer = await _send_decision(request, found.call, decision)
    if isinstance(answer, HostRefusal):
        status = 422 if answer.faults else 409
        run_id = found.call.run_id
        return page(
            request, "refused.html", status, text=answer.text, details=answer.faults, run_id=run_id
        )
    if answer.text:
        return page(request, "written.html", texts=[answer.text], run_id=found.call.run_id)
    return to_decided(request, [found.call])


async def decide_many(request: Request) -> Response:
    """Show the questions that were chosen, all of what would run; then decide them alike."""
    form = request.state.form
    chosen: list[QuestionView] = []
    for item in form.getlist("chosen"):
        digest, _, run_id = str(item).partition(":")
        found = await _find(request, run_id, digest)
        if found is None:
            return await _after_question(request, run_id, digest)
        chosen.append(found)
    if not chosen:
        return page(request, "refused.html", 422, text="Nothing is chosen.", details=())
    answer = str(form.get("answer", ""))
    if answer not in {"confirm", "reject"}:
        return await page_beside(request, "many.html", questions=chosen)
    by, text = request.state.person.name, str(form.get("text", "")).strip() or None
    refused, told = list[str](), list[str]()
    for question in chosen:
        decision = (
            question.call.confirm(by=by)
            if answer == "confirm"
            else question.call.reject(text, by=by)
        )
        outcome = await _send_decision(request, question.call, decision)
        if isinstance(outcome, HostRefusal):
            refused.append(
                f"{question.call.tool_name} of run {question.call.run_id}: {outcome.text}"
            )
        elif outcome.text:
            told.append(outcome.text)
    if refused:
        summary = f"{len(chosen) - len(refused)} of {len(chosen)} were decided."
        return page(request, "refused.html", 409, text=summary, details=[*refused, *told])
    if told:
        return page(request, "written.html", texts=told, run_id="")
    return to_decided(request, [question.call for question in chosen])
