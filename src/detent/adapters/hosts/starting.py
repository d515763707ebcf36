"""Starting: a run is begun once, however often that is asked for, and then lives by itself."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any, Protocol
from weakref import WeakValueDictionary

from attrs import evolve, frozen

from detent.adapters.agent.continuation import ThreadNotEndedError
from detent.adapters.drivers.history import Runs
from detent.adapters.drivers.recording import RunExistsError
from detent.adapters.hosts.channels import Channels
from detent.adapters.hosts.legs import AnyHandle, Legs, told_by
from detent.adapters.hosts.reading import Reading, asked
from detent.core.errors import StateError, StoredDataError, UnstorableError
from detent.core.machine.recovery import begun_by
from detent.core.run.events import Event, MessageReceived
from detent.core.run.run import Run
from detent.core.storage.snapshot import AgentSnapshot, snapshot_of
from detent.core.tools.version import hash_of
from detent.ports.chat import Messages
from detent.ports.claims import RunBusyError
from detent.ports.hosting import Accepted, Fork, HostRefusal
from detent.ports.journal import JournalDamagedError
from detent.ports.listing import ENDED, StoredRun, UnknownAgentError
from detent.ports.names import NAME_MAX
from detent.ports.results import AgentResult

BUSY_S = 0.05
"""How long it is waited for another process that is just beginning the same run."""
BUSY_TRIES = 100
BEHIND = 16
"""So many hexadecimal digits end the id of a run that goes on behind another one."""
FOLLOWS = re.compile(rf"\.[0-9a-f]{{{BEHIND}}}\Z")
"""What ends such an id, which that of the one behind it has in its place, and not besides."""


@frozen
class NewRun:
    """A run that is to begin."""

    listed: StoredRun
    messages: Messages
    state: Mapping[str, object] | None = None
    after: AgentResult[Any, Any] | None = None
    started_by: str | None = None
    snapshot: AgentSnapshot | None = None


class Drives(Protocol):
    """Sees that runs go on, here or elsewhere."""

    def refusal(self) -> HostRefusal | None:
        """Why no run is begun now."""
        ...

    async def begin(self, run: StoredRun, begin: Callable[[], Awaitable[AnyHandle]]) -> None:
        """Begin a run, and see that it goes on. Raises what `begin` does."""
        ...

    async def ask_anew(self, run: StoredRun) -> None:
        """Have a run that waits with an outdated question put it anew."""
        ...

    def is_bound(self, run_id: str) -> bool:
        """Whether a run goes on by a worker of another release alone, as far as that is known."""
        ...

    async def go_on(self, run: StoredRun) -> None:
        """See that a run goes on to which somebody has just spoken."""
        ...

    def hear(self, run_id: str, event: Event) -> bool:
        """Tell a run that goes on here what somebody has said; whether there is one."""
        ...


class Starting:
    """Begins runs."""

    def __init__(
        self,
        legs: Mapping[str, Legs],
        reading: Reading,
        drives: Drives,
        channels: Channels,
    ) -> None:
        self._legs, self._reading, self._drives = legs, reading, drives
        self._channels = channels
        self._threads: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def start(self, new: NewRun) -> Accepted | HostRefusal:
        """Begin it, unless it is there: then it is that run."""
        thread_id = new.listed.thread_id
        if not thread_id:
            return await self._start(new)
        async with self._threads.setdefault(thread_id, asyncio.Lock()):
            return await self._start(new)

    async def _start(self, new: NewRun) -> Accepted | HostRefusal:
        listed = new.listed
        name: object = listed.agent
        if not (isinstance(name, str) and name in self._legs):
            return unknown_agent(listed.agent, self._legs)
        for _ in range(BUSY_TRIES):
            if (found := await self._reading.listed(listed.run_id)) is not None:
                return _same(found, listed)
            if (refusal := self._drives.refusal()) is not None:
                return refusal
            if (begun := await self._tried(new)) is not None:
                return begun
        text = f"another process has been about to begin run {listed.run_id!r} for long: try again"
        return HostRefusal("full", text)

    async def _tried(self, new: NewRun) -> Accepted | HostRefusal | None:
        """Begin it, or say why not; None where somebody else is just doing so, or has."""
        run_id = new.listed.run_id
        try:
            await self._drives.begin(new.listed, partial(self._begun, new))
        except RunExistsError:
            return None
        except RunBusyError:
            await asyncio.sleep(BUSY_S)
            return None
        except ThreadNotEndedError as error:
            return None if error.run_id == run_id else thread_busy(error.last)
        except StoredDataError as error:
            return HostRefusal("unreadable", str(error))
        except (StateError, UnstorableError, TypeError, ValueError) as error:
            return HostRefusal("invalid", str(error))
        return Accepted(run_id, is_new=True)

    async def _begun(self, new: NewRun) -> AnyHandle:
        listed = new.listed
        return await self._legs[listed.agent].begin(
            *(listed.run_id, new.messages, told_by(self._channels, listed.run_id)),
            thread_id=listed.thread_id or None,
            state=new.state,
            after=new.after,
            started_by=new.started_by,
            snapshot=new.snapshot,
        )

    async def fork(self, run_id: str, fork: Fork, new_id: str) -> Accepted | HostRefusal:
        """Begin a run as another one was."""
        last = await self._reading.listed(run_id)
        if last is None:
            return unknown_run(run_id)
        if last.agent not in self._legs:
            return other_agent(last, self._legs)
        length: object = last.length if fork.length is None else fork.length
        if not (isinstance(length, int) and 1 <= length <= last.length):
            text = f"run {run_id!r} has {last.length} entries, and not {fork.length!r:.80}"
            return HostRefusal("invalid", text)
        snapshot = await asked(partial(self._forked, last, fork))
        if isinstance(snapshot, HostRefusal):
            return snapshot
        new = StoredRun(new_id, 0, "running", last.at, fork.agent or last.agent)
        return await self.start(NewRun(new, [], snapshot=snapshot))

    def _forked(self, last: StoredRun, fork: Fork) -> AgentSnapshot | HostRefusal:
        said = [] if fork.message is None else [fork.message]
        try:
            spec = self._reading.spec_of(last)
            new = Runs(self._reading.journal, spec).forked(last.run_id, fork.length, said, {})
        except (StoredDataError, JournalDamagedError) as error:
            return HostRefusal("unreadable", str(error))
        except ValueError as error:
            return HostRefusal("invalid", str(error))
        return evolve(snapshot_of(spec, begun_by(new.run, fork.by)), fork_of=new.fork_of)

    async def say(self, run_id: str, said: MessageReceived, new_id: str) -> Accepted | HostRefusal:
        """Go on with the conversation of a run that has ended, in a run of its own.

        RULE: who speaks has begun it: they must not approve what it does as somebody else's. Where
        nobody knows who that was, it is nobody's, and not of who began the one before.
        """
        last = await self._reading.listed(run_id)
        if last is None:
            return unknown_run(run_id)
        if last.agent not in self._legs:
            return other_agent(last, self._legs)
        if last.status not in ENDED:
            text = f"run {run_id!r} goes on again, it is {last.status}: say it once more"
            return HostRefusal("not_ended", text)
        new = evolve(last, run_id=new_id, length=0, status="running", wake_at=None, pending=())
        try:
            run = (await self._reading.run(run_id)).run
        except StoredDataError as error:
            return HostRefusal("unreadable", str(error))
        message, by = said.message, said.by
        if last.thread_id:
            return await self.start(NewRun(new, message, started_by=by))
        new = evolve(new, run_id=_id_behind(run, last.length))
        behind = NewRun(new, message, after=AgentResult(run), started_by=by)
        begun = await self.start(behind)
        if isinstance(begun, Accepted) and not begun.is_new:
            text = (
                f"somebody else has just gone on behind run {run_id!r}, and this was not said: the "
                f"conversation is in run {new.run_id!r} by now; read that, and say it there"
            )
            return HostRefusal("thread_busy", text)
        return begun


def _id_behind(run: Run[Any], length: int) -> str:
    """What the run is called that goes on behind one without a thread that has so many entries.

    RULE: the same whoever speaks, so that two who speak at once do not both go on; and one that
    nobody gives a run of their own: they do not know what the run has drawn when it began.
    """
    drawn = hash_of(run.id, run.nonce, length)[:BEHIND]
    return f"{FOLLOWS.sub('', run.id)[: NAME_MAX - BEHIND - 1]}.{drawn}"


def _same(found: StoredRun, wanted: StoredRun) -> Accepted | HostRefusal:
    if found.agent == wanted.agent:
        return Accepted(found.run_id)
    text = f"there is a run {found.run_id!r}, of agent {found.agent!r} and not {wanted.agent!r}"
    return HostRefusal("other_agent", text)


def unknown_agent(name: str, known: Iterable[str]) -> HostRefusal:
    """There is no such agent."""
    return HostRefusal("unknown_agent", str(UnknownAgentError(name, sorted(known))))


def other_agent(run: StoredRun, known: Iterable[str]) -> HostRefusal:
    """The run is of an agent that is not here."""
    why = UnknownAgentError(run.agent, sorted(known), run.run_id)
    return HostRefusal("other_agent", str(why))


def unknown_run(run_id: str) -> HostRefusal:
    """There is no such run."""
    return HostRefusal("unknown_run", f"this host has no run {run_id!r}")


def thread_busy(last: StoredRun) -> HostRefusal:
    """A thread has one run at a time, and is asked for another one."""
    asked = ", ".join(map(repr, dict.fromkeys(last.pending)))
    first = f"decide about its calls of {asked}" if asked else "wait for its end"
    text = (
        f"thread {last.thread_id!r} has one run at a time, and run {last.run_id!r} is "
        f"{last.status}: nothing was begun; {first}, say it to that run, or cancel it, and begin "
        "the next one once it has ended"
    )
    return HostRefusal("thread_busy", text)


def too_many_write(run_id: str) -> HostRefusal:
    """Others were faster at each try."""
    text = f"others write to run {run_id!r} all the time, and this is not written: try again later"
    return HostRefusal("full", text)
