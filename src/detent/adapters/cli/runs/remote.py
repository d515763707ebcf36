"""A host by URL: the runs that `detent serve --web` shows, over its JSON face.

For a command it is a store that can be read, so that most commands know nothing of it. What is
decided, said and cancelled goes to the host, which says who it was by the token.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote, urlsplit

import click
from attrs import asdict, frozen

from detent.adapters.cli.endings import FAILED, NOT_FOUND, REFUSED, ending
from detent.adapters.cli.runs.entries import is_same_entry
from detent.core.control.decisions import ToolExecutionDecision
from detent.core.machine.binding import OutdatedQuestion
from detent.ports.approvers import Wanted
from detent.ports.journal import Checkpoint, Entry, RunNotFoundError
from detent.ports.listing import ALL_RUNS, RunQuery, StoredRun
from detent.ports.pending import OutdatedQuestionError, PendingCall

if TYPE_CHECKING:
    from collections.abc import Generator

    import httpx

LOCAL_ONLY = "this works on a store, and not over a host: say which by --store"
ANSWER_S = 60.0
"""How long an answer of the host may take; one that follows a run says each 15 s that it is
there."""
BOUND = (
    "the host cannot: only a worker of the release that the run began with goes on with it, and "
    "takes the answer"
)
PAUSE_S = 0.5
"""How long after a stream has broken off it is begun again."""
TRIES = 20
"""So often, one after the other."""


@frozen
class Waiting:
    """The calls of a run that wait, the names of its agent's tools, and what its approvers want."""

    calls: tuple[PendingCall, ...]
    tools: frozenset[str]
    wanted: Wanted = "nothing"


def waiting_in(run_id: str, found: Mapping[str, Any]) -> Waiting:
    """What waits in a run, as its host says it; an older host says less.

    Raises:
        OutdatedQuestionError: only what the host is about to ask anew, unless another release alone
            can.
    """
    calls = tuple(map(PendingCall.from_dict, found["pending"]))
    outdated = [
        OutdatedQuestion(one["tool_name"], tuple(one["changes"]), tuple(one["agents"]))
        for one in found.get("outdated", ())
    ]
    if outdated and not calls:
        raise OutdatedQuestionError(run_id, outdated, BOUND if found.get("is_bound") else "")
    tools = frozenset(found["tools"]).union(call.tool_name for call in calls)
    return Waiting(calls, tools, found.get("wanted", "nothing"))


class RemoteHost:
    """The host at `url`, of which `token` says who asks.

    Raises:
        ClickException: the URL is none, or would send the token where others can read it.
    """

    def __init__(self, url: str, token: str | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise click.UsageError(
                "--host expects the URL of a host, such as http://127.0.0.1:8000"
            )
        if parts.username or parts.password:
            raise click.UsageError("--host: a token is said by --token-file or DETENT_TOKEN")
        self._is_local = _is_loopback(parts.hostname)
        if token and parts.scheme == "http" and not self._is_local:
            text = f"--host: http:// would show your token to whoever listens on the way to {url}"
            raise click.UsageError(f"{text}: use https://, or a tunnel to this machine")
        self._url, self._token = url.rstrip("/"), token

    @property
    def has_token(self) -> bool:
        """Whether it is said who asks."""
        return self._token is not None

    def __repr__(self) -> str:
        return f"the host at {self._url}"  # as messages name a store

    def read(self, run_id: str, start: int = 0) -> Iterator[Entry]:
        """The entries of a run from a position on, secrets masked; none where there is no run."""
        try:
            found = self._get(f"entries/{_segment(run_id)}", after=start - 1)["entries"]
        except RunNotFoundError:
            return
        for entry in found:
            yield Entry(**entry)

    def runs(self, query: RunQuery = ALL_RUNS) -> Sequence[StoredRun]:
        """As the port `Journal` says."""
        filters = asdict(query, filter=lambda field, value: value is not None)
        if query.before is not None:
            filters["before"] = json.dumps(query.before)
        return [_listed(**listed) for listed in self._get("runs", **filters)["runs"]]

    def checkpoints(self, run_id: str) -> Sequence[Checkpoint]:
        """None: they are a matter of the store."""
        return ()

    def append(
        self, run_id: str, entries: Sequence[Entry], checkpoint: Checkpoint | None = None
    ) -> NoReturn:
        """Nobody writes to a store over a host."""
        raise click.UsageError(LOCAL_ONLY)

    def delete(self, run_id: str) -> NoReturn:
        """Nobody deletes over a host."""
        raise click.UsageError(LOCAL_ONLY)

    def waiting(self, run_id: str) -> Waiting:
        """What waits in a run.

        Raises:
            OutdatedQuestionError: only what the host is about to ask anew, unless another release
                alone can.
            RunNotFoundError: there is no such run.
        """
        return waiting_in(run_id, self._get(f"run/{_segment(run_id)}"))

    def agent_of(self, run_id: str) -> str:
        """The name of the agent whose run it is. Raises RunNotFoundError."""
        return str(self._get(f"run/{_segment(run_id)}")["run"]["agent"])

    def pending(self, limit: int) -> list[dict[str, Any]]:
        """What waits in so many runs, as plain values."""
        return list(self._get("pending", limit=limit)["pending"])

    def decide(self, run_id: str, decision: ToolExecutionDecision) -> tuple[str, str]:
        """Decide about a call; gives who has decided, as the host knows them.

        And what somebody must do until it counts, or "".
        """
        data = {**decision.to_dict(), "by": None}
        done = self._post("decide", {"run_id": run_id, "decision": data})
        return str(done["by"]), str(done.get("text", ""))

    def grants(self, run_id: str) -> list[dict[str, Any]]:
        """The confirmations of a run that count for further calls, as `Grant.to_dict` has them."""
        return list(self._get(f"run/{_segment(run_id)}").get("grants", ()))

    def revoke(self, run_id: str, grant: Mapping[str, Any]) -> None:
        """Have one of them count no further."""
        self._post("revoke", {"run_id": run_id, "ref": grant["ref"], "path": grant["path"]})

    def cancel(self, run_id: str, reason: str) -> str:
        """End a run; gives what somebody must do until it ends, or ""."""
        done = self._post("cancel", {"run_id": run_id, "reason": reason})
        return str(done.get("text", ""))

    def send(self, run_id: str, text: str) -> tuple[str, str]:
        """Say something more; gives the run that hears it: one that has ended is gone on behind.

        And what somebody must do until it is heard, or "".
        """
        done = self._post("send", {"run_id": run_id, "text": text})
        return str(done["run_id"]), str(done.get("text", ""))

    def news(self, run_id: str, start: int, timeout_s: float | None) -> Iterator[dict[str, Any]]:
        """The entries of a run from a position on, as they come, until it has ended.

        It ends `timeout_s` seconds after the last one as well. Where the connection drops, it goes
        on behind the last entry. It asks for that one again: by then another run may have its id.
        """
        since, tries, last = time.monotonic(), 0, dict[str, Any]()
        while tries < TRIES:
            known, after = last, last.get("position", start) - 1
            try:
                for name, data in self._events(run_id, after, _time_left(since, timeout_s)):
                    tries = 0
                    entry = json.loads(data) if name == "entry" else {}
                    if name == "gone" or (entry and known and not is_same_entry(entry, known)):
                        raise ending(f"run {run_id!r} has been deleted", NOT_FOUND)
                    if name == "ended":
                        return
                    if entry and not known:
                        last, since = entry, time.monotonic()
                        yield entry
                    known = known if not entry else {}
                    if timeout_s is not None and _time_left(since, timeout_s) == 0:
                        return
            except _Broken:
                if timeout_s is not None and _time_left(since, timeout_s) == 0:
                    return
            tries += 1
            time.sleep(PAUSE_S)
        raise ending(f"{self._url} breaks off again and again", FAILED)

    def _events(self, run_id: str, after: int, left_s: float | None) -> Iterator[tuple[str, str]]:
        """Events of a run by name, with what they say; one without a name says that all is well."""
        import httpx

        read_s = ANSWER_S if left_s is None else min(ANSWER_S, max(0.01, left_s))
        url = f"/api/watch/{_segment(run_id)}"
        timeout = httpx.Timeout(ANSWER_S, read=read_s)
        try:
            with (
                self._client() as client,
                client.stream(
                    "GET", self._url + url, params={"after": after}, timeout=timeout
                ) as answer,
            ):
                if answer.status_code != HTTPStatus.OK:
                    answer.read()
                    self._result(answer)
                name = ""
                for line in answer.iter_lines():
                    kind, _, text = line.partition(": ")
                    if kind == "event":
                        name = text
                    elif kind == "data":
                        yield name, text
                    elif not kind:
                        yield "", ""
        except httpx.TransportError as error:
            raise _Broken from error

    def _get(self, path: str, **query: Any) -> Any:
        return self._ask("GET", path, params=query)

    def _post(self, path: str, content: Mapping[str, Any]) -> Any:
        return self._ask("POST", path, json=content)

    def _ask(self, method: str, path: str, **options: Any) -> Any:
        import httpx

        try:
            with self._client() as client:
                return self._result(client.request(method, f"{self._url}/api/{path}", **options))
        except httpx.TransportError as error:
            why = str(error) or type(error).__name__
            if self._url.startswith("https://") and "SSL" in why:
                plain = self._url.replace("https", "http", 1)
                why += f"; where nothing is encrypted, as on this machine, say --host {plain}"
            raise ending(f"the host at {self._url} does not answer: {why}", FAILED) from None

    @contextmanager
    def _client(self) -> Generator[httpx.Client]:
        """What asks. A token goes to this host alone: no redirection is followed."""
        import httpx

        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        with httpx.Client(
            headers=headers, timeout=ANSWER_S, trust_env=not self._is_local
        ) as client:
            yield client

    def _result(self, answer: httpx.Response) -> Any:
        """What an answer says.

        Raises:
            RunNotFoundError: there is no such run.
            ClickException: it was refused, or comes from somebody else than a host.
        """
        try:
            content = answer.json()
        except ValueError:
            content = None
        match content:
            case {"error": {"why": "unknown_run", "text": str(text)}}:
                raise RunNotFoundError(text)
            case {"error": {"text": str(text), "faults": list(faults)}}:
                is_nobody = answer.status_code == HTTPStatus.UNAUTHORIZED
                if is_nobody and not self._token:
                    text = f"{self._url} wants to know who asks: --token-file FILE, or DETENT_TOKEN"
                elif is_nobody:
                    text = f"{self._url} does not know this token"
                code = REFUSED if answer.is_client_error else FAILED
                more = (fault for fault in map(str, faults) if fault not in text)
                raise ending("; ".join([text, *more]), code)
            case dict() if answer.is_success:
                return content
            case _:
                status = f"HTTP {answer.status_code}"
                raise ending(f"what answers at {self._url} is no host of Detent ({status})", FAILED)


class _Broken(Exception):  # noqa: N818 - it is no fault of anybody
    """A stream has broken off."""


def _listed(*, pending: Sequence[str], labels: Sequence[str], **rest: Any) -> StoredRun:
    """A run of a list, of what JSON makes of it."""
    return StoredRun(**rest, pending=tuple(pending), labels=tuple(labels))


def _segment(text: str) -> str:
    return quote(text, safe="")


def _time_left(since: float, timeout_s: float | None) -> float | None:
    """How much of a time is left."""
    return None if timeout_s is None else max(0.0, since + timeout_s - time.monotonic())


def _is_loopback(name: str) -> bool:
    try:
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False
