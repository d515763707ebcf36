"""Decided: what was said about which calls, what has come of it, and what waits next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

from attrs import frozen
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from detent.adapters.system.threads_and_loops import in_a_thread
from detent.adapters.web.arguments import Change, changes
from detent.adapters.web.finding import entries_of, host_of, known_secrets
from detent.adapters.web.rendering import base_of, page_beside
from detent.adapters.web.shown import shown_messages
from detent.core.chat.messages import ToolCall
from detent.core.errors import DetentError, StoredDataError
from detent.core.run.approval import Answered, Confirmed, Decision, Modified, Rejected
from detent.core.tools.masking import masked
from detent.core.tools.secrets import SecretValues
from detent.ports.hosting import Host, HostedRun
from detent.ports.journal import Entry, RunNotFoundError
from detent.ports.listing import UnknownAgentError
from detent.ports.pending import PendingCall

CALLS = 50
"""What was said about so many calls is shown; of more, the inbox and the runs tell."""


@frozen
class DecisionView:
    """What somebody has said about a call, and how its run is now.

    Attributes:
        hosted: the run.
        call: the call; None where more people must say so before it counts.
        by: who has said it; "" where nobody knows.
        at: when.
        decision: what was said, in full; None as with `call`.
        tool: the tool; "" where nobody knows any more.
        secrets: what nobody may see of the run.
    """

    hosted: HostedRun
    call: ToolCall | None
    by: str
    at: float | None
    decision: Decision | None
    tool: str
    secrets: SecretValues

    @property
    def words(self) -> str:
        """What it means for the call."""
        match self.decision:
            case Confirmed():
                return "may run as it is"
            case Modified():
                return "may run, with other arguments"
            case Rejected():
                return "may not run"
            case Answered():
                return "does not run: it was answered in its place"
            case None:
                return "has one yes more, and waits for that of somebody else"

    @property
    def text(self) -> str:
        """What the model is told with it."""
        match self.decision:
            case Modified(feedback=text) | Rejected(feedback=text) | Answered(text=text):
                return text or ""
            case _:
                return ""

    @property
    def remember(self) -> str:
        """For what else a yes counts; "" is nothing."""
        scope = self.decision.remember if isinstance(self.decision, Confirmed) else None
        return "" if scope is None or scope == "call" else scope

    @property
    def changed(self) -> tuple[Change, ...]:
        """Where it runs with other arguments than the model's. Secrets are not shown."""
        if self.call is None or not isinstance(self.decision, Modified):
            return ()
        names = self.call.secret
        return changes(masked(self.call.arguments, names), masked(self.decision.arguments, names))

    @property
    def result(self) -> str:
        """What its run has said at its end; "" while it goes on."""
        ended = self.hosted.run.outcome is not None and self.hosted.run.messages
        last = self.hosted.run.messages[-1:] if ended else ()
        return "".join(message.text or "" for message in shown_messages(last, self.secrets))


def to_decided(request: Request, calls: Iterable[PendingCall]) -> Response:
    """On to the page that says what was decided: it can be loaded again, and decides nothing."""
    named = [("call", f"{call.digest}:{call.run_id}") for call in calls][:CALLS]
    return RedirectResponse(f"{base_of(request)}/decided?{urlencode(named)}", 303)


async def decided(request: Request) -> Response:
    """What was decided about some calls."""
    return await page_beside(request, "decided.html", **(await _values(request)))


async def decided_part(request: Request) -> Response:
    """The same without what is around it: for a page that is open."""
    return await page_beside(request, "decided_part.html", **(await _values(request)))


async def _values(request: Request) -> dict[str, Any]:
    host, found, named = (
        host_of(request),
        list[DecisionView](),
        request.query_params.getlist("call"),
    )
    for name in named[:CALLS]:
        digest, _, run_id = name.partition(":")
        record = await _decision_about(host, run_id, digest)
        if record is not None:
            found.append(record)
    waiting = [
        question for question in await host.pending(limit=CALLS) if _is_other(question.call, named)
    ]
    query = urlencode([("call", name) for name in named[:CALLS]])
    return {"said": found, "waiting": waiting, "query": query}


def _is_other(call: PendingCall, named: list[str]) -> bool:
    """Whether it is not one of those that were just decided: some wait for another person."""
    return f"{call.digest}:{call.run_id}" not in named


async def decider_of(host: Host, run_id: str, digest: str) -> str | None:
    """By whom it was said what was last said about a call; None where nobody can tell."""
    try:
        entries = await entries_of(host, (await host.run(run_id)).listed)
    except DetentError:  # it is accepted: nothing that fails now makes it undone
        return None
    events = await _all_about(entries, digest)
    return events[-1].get("by") if events else None


async def _decision_about(host: Host, run_id: str, digest: str) -> DecisionView | None:
    try:
        hosted = await host.run(run_id)
        entries = await entries_of(host, hosted.listed)
    except (RunNotFoundError, UnknownAgentError, StoredDataError):
        return None
    events = await _all_about(entries, digest)
    if not events:
        return None
    secrets = await in_a_thread(lambda: known_secrets(hosted, entries).values)
    latest = events[-1]
    ref, by, at = tuple(latest.get("ref", ())), latest.get("by"), latest.get("at")
    for record in reversed(hosted.run.decisions):
        if (tuple(record.ref), record.by, record.at) == (ref, by, at):
            call = record.call
            return DecisionView(
                hosted, call, by or "", at, record.decision, call.tool_name, secrets
            )
    tools = [call.tool_name for call in hosted.pending if call.digest == digest]
    return DecisionView(hosted, None, by or "", at, None, tools[0] if tools else "", secrets)


async def _all_about(entries: list[Entry], digest: str) -> list[Mapping[str, Any]]:
    """The same of all entries, in a thread: there may be as much as a model and tools have said."""
    return await in_a_thread(lambda: [said for entry in entries for said in _about(entry, digest)])


def _about(entry: Entry, digest: str) -> Iterator[Mapping[str, Any]]:
    """What somebody has said about a call, by what is stored; also of an agent inside."""
    left: list[Any] = [entry.data]
    while left:
        match left.pop():
            case {"digest": str(found), "decision": Mapping()} as record if found == digest:
                yield record
            case Mapping() as data:
                left += [part for part in data.values() if isinstance(part, Mapping | list)]
            case list() as parts:
                left += parts
            case _:
                pass
