"""DBOS as the truth about runs: a workflow for each, whose effects are steps."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import TypeVar

import dbos
from sqlalchemy.exc import SQLAlchemyError

from detent.adapters.drivers.company.identity import nonce_in
from detent.adapters.drivers.leases import Keeper
from detent.adapters.drivers.steps import in_event_loop
from detent.adapters.hosts.effects.changed import ChangedRuns
from detent.adapters.hosts.effects.contract import require_rules
from detent.adapters.hosts.effects.history import NOTHING_SAID, Json
from detent.adapters.hosts.effects.identity import workflow_id
from detent.adapters.hosts.effects.lost import HistoryLostError
from detent.adapters.hosts.effects.outside import Outside
from detent.adapters.hosts.effects.parts import EffectParts
from detent.adapters.hosts.engines.dbos_follow import ANSWER, TOPIC
from detent.adapters.hosts.engines.dbos_follower import DBOSFollower
from detent.adapters.hosts.engines.dbos_process import VERSION, client_of, launch
from detent.adapters.hosts.engines.host import EngineUnavailableError
from detent.adapters.hosts.reading import asked
from detent.ports.claims import RunBusyError
from detent.ports.journal import (
    Journal,
    JournalUnavailableError,
    RunNotFoundError,
)
from detent.ports.listing import StoredRun

T = TypeVar("T")

WORKFLOW = "detent_effects"
SAY_S = 10.0
"""How long a word waits for a worker to hear it."""
ANSWER_S = 1.0
"""How long an answer is waited for until it is looked whether anybody is there to give it."""
ENDED = frozenset({"SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"})


class DBOSEffects:
    """What `EffectsDriving` asks of DBOS.

    A worker has the claim of each run that it follows: one whose claim is free has lost its worker,
    and is handed on.
    """

    def __init__(  # noqa: PLR0917 - what a worker is made of
        self,
        url: str,
        name: str,
        queue: str,
        poll_s: float,
        journal: Journal,
        keeper: Keeper,
        parts: Mapping[str, EffectParts],
        outside: Outside,
        *,
        running: int,
        drain_s: float,
    ) -> None:
        self._url, self._name, self._queue, self._poll_s = url, name, queue, poll_s
        self._journal, self._keeper = journal, keeper
        self._parts, self._drain_s = parts, drain_s
        self._follower = DBOSFollower(keeper, parts, outside, asyncio.Semaphore(running))
        self._works = False

    async def connect(self, *, works: bool) -> None:
        """Begin to take runs."""
        self._works = works
        try:
            if works:
                await asyncio.to_thread(self._launch)
            self._client = await asyncio.to_thread(client_of, self._url)
            self._follower.client.set_result(self._client)
        except SQLAlchemyError as error:
            if works:  # or no other host of this process could begin
                await asyncio.to_thread(dbos.DBOS.destroy, destroy_registry=True)
            raise EngineUnavailableError("the database of DBOS", "", error) from error

    def _launch(self) -> None:
        async def detent_effects(opening: Json) -> Json:
            return await self._follower.follow(opening)

        launch(
            detent_effects,
            workflow_name=WORKFLOW,
            url=self._url,
            name=self._name,
            queue=self._queue,
            poll_s=self._poll_s,
            concurrency=None,  # one that waits takes no place of those that work
        )

    @property
    def changed(self) -> ChangedRuns:
        """The runs that cannot be followed here, as their agents have changed."""
        return self._follower.changed

    async def answer(self) -> None:
        """Have the database answer."""
        await asked(self._client.check_connection)

    async def disconnect(self) -> None:
        """Begin nothing more, hear out what is at work for a while, and leave the rest."""
        if self._works:
            await self._follower.drain(self._drain_s)
            await asyncio.to_thread(
                dbos.DBOS.destroy, destroy_registry=True, workflow_completion_timeout_sec=1
            )
        await asyncio.to_thread(self._client.destroy)

    async def begin(self, given: Json, *, is_again: bool) -> bool:
        """Enqueue a workflow. RULE: an id is of one workflow, however often it is begun."""
        tried = given["length"] if is_again else 0
        await self._client.enqueue_async(
            {
                "queue_name": self._queue,
                "workflow_name": WORKFLOW,
                "workflow_id": workflow_id(given["run_id"], given["nonce"], tried),
                "app_version": VERSION,
            },
            given,
        )
        return True

    async def say(self, run_id: str, said: Json) -> bool:
        """A message, which the workflow answers by an event."""
        workflow_id = await self._workflow_of(run_id)
        try:
            await self._client.send_async(workflow_id, said, TOPIC, idempotency_key=said["id"])
        except dbos.error.DBOSNonExistentWorkflowError:
            return False
        key = f"{ANSWER} {said['id']}"
        for _ in range(int(SAY_S / ANSWER_S)):
            answer = await self._client.get_event_async(workflow_id, key, ANSWER_S)
            if answer is not None:
                return bool(answer)
            (status, *_) = await self._client.list_workflows_async(workflow_ids=[workflow_id])
            if status.status in ENDED:
                return False
            await self._handed_on(run_id, workflow_id)
        (status, *_) = await self._client.list_workflows_async(workflow_ids=[workflow_id])
        self._require_followed(run_id, status)
        raise JournalUnavailableError(
            f"no worker has heard yet what was said to run {run_id!r}: see that one is there"
        )

    def _require_followed(self, run_id: str, status: dbos.WorkflowStatus) -> None:
        opening: Json = status.input["args"][0] if status.input is not None else {}
        agent = opening.get("agent", "")
        if agent in self._parts:
            require_rules(self._parts[agent].spec, agent, run_id, opening["rules"])

    async def _handed_on(self, run_id: str, workflow_id: str) -> None:
        """Have another worker follow a run whose worker has died."""
        try:
            await in_event_loop(self._keeper.require_free(run_id))
        except RunBusyError:
            return
        (status, *_) = await self._client.list_workflows_async(workflow_ids=[workflow_id])
        if status.status == "PENDING":  # and not in the queue
            await self._client.resume_workflow_async(workflow_id, queue_name=self._queue)

    async def require_followable(self, run_id: str) -> None:
        """By what the workflow was given, and by its status."""
        for status in (found := await self._found(await self._workflow_of(run_id))):
            self._require_followed(run_id, status)
        _require_alive(run_id, found)

    async def _found(self, workflow_id: str) -> list[dbos.WorkflowStatus]:
        """The workflow, if it is there."""
        try:
            return await self._client.list_workflows_async(workflow_ids=[workflow_id])
        except SQLAlchemyError as error:
            raise JournalUnavailableError("the database of DBOS cannot be reached") from error

    async def _workflow_of(self, run_id: str) -> str:
        return await asked(partial(self._id_of, run_id))

    async def look(self, run: StoredRun, message: Json = NOTHING_SAID) -> None:
        """Hand on a run that nobody follows; one that somebody does looks at the journal."""
        workflow_id = await self._workflow_of(run.run_id)
        _require_alive(run.run_id, await self._found(workflow_id))
        told = {name: message[name] for name in message if name != "id"}  # nobody waits
        await self._client.send_async(workflow_id, told | {"look": True}, TOPIC)
        await self._handed_on(run.run_id, workflow_id)

    def _id_of(self, run_id: str) -> str:
        """The workflow that has the run now: each time that it is tried again, it is another."""
        entries = list(self._journal.read(run_id))
        if not entries:
            raise RunNotFoundError(f"there is no run {run_id!r}")
        tried = [entry.position for entry in entries if entry.kind == "Resumed"]
        return workflow_id(run_id, nonce_in(entries[0]) or "", tried[-1] if tried else 0)


def _require_alive(run_id: str, found: list[dbos.WorkflowStatus]) -> None:
    """Raise HistoryLostError where there is no workflow of a run that goes on."""
    if not any(status.status not in ENDED for status in found):
        raise HistoryLostError(run_id, "DBOS")
