"""An agent elsewhere, that speaks A2A, as a tool: https://a2a-protocol.org."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from uuid import uuid4

from attrs import field

from detent.adapters.faces.a2a.faults import require_a2a
from detent.core.tools.idempotency import NO_KEY, IdempotencyKey, OnUnknown
from detent.core.tools.signature import ToolFunction
from detent.core.tools.tool import Tool
from detent.ports.confirmation import ConfirmationUI

if TYPE_CHECKING:
    import httpx

    from detent.adapters.faces.a2a.calls import Line

TASK = "What is to be done, in words."
LOOK = "The id of a task that has not ended, to hear how it is; leave `task` out then."
ANSWER = "The id of a task that has not ended: with `task` to answer it, without to hear how it is."


class A2AAgentTool(Tool):
    """An agent elsewhere, as a tool with a ``task``. A call is a task of that agent.

    What it says is a claim, and bears the label "untrusted". Where it asks, the `ui` is shown the
    question, while the call lives. Without one, or where that gives no answer, the model is told
    that the task waits, and by which ``task_id`` it hears more. A question with a digest, as an
    agent of `a2a_app` asks it, is never answered by the model: no text is an answer to it.

    Args:
        url: where the agent is: what its card stands behind.
        name: what the model calls it.
        description: what it can do, for the model: its card is not believed.
        headers: sent with each request, such as an authorization, and to no other server.
        ui: who answers what the agent asks.
        model_answers: whether the model may answer, in words, what the agent asks in words. Another
            agent may take these for the yes of a human: have such calls confirmed.
        wait_s: seconds that a call waits for the agent, each time.
        on_unknown: as for `Tool`. "rerun" fits where the agent takes a message that comes twice, by
            its id, for one: so do those of `a2a_app`.
        labels: what its results bring along.
        client: makes the HTTP client, where it needs more than headers.

    Raises:
        ToolDefinitionError: the parts do not make a tool.
        ImportError: the extra ``detent[a2a]`` is not installed.
    """

    url: str = field(default="", kw_only=True)
    _query: str = field(default="", init=False, repr=False)

    def __init__(
        self,
        url: str,
        *,
        name: str,
        description: str,
        headers: Mapping[str, str] | None = None,
        ui: ConfirmationUI | None = None,
        model_answers: bool = False,
        wait_s: float = 300.0,
        on_unknown: OnUnknown = "ask",
        labels: Iterable[str] = ("untrusted",),
        client: Callable[[], httpx.AsyncClient] | None = None,
    ) -> None:
        require_a2a("A2AAgentTool")
        from detent.adapters.faces.a2a.calls import Line

        where = urlsplit(url)
        details = (
            f"{where.scheme}://{where.hostname}{f':{where.port}' if where.port else ''}{where.path}"
        )
        line = Line(name, url, details, dict(headers or {}), ui, wait_s, client)
        properties = {
            "task": {"type": "string", "description": TASK},
            "task_id": {"type": "string", "description": ANSWER if model_answers else LOOK},
        }
        super().__init__(
            name,
            description,
            {"type": "object", "properties": properties, "additionalProperties": False},
            _function(line, model_answers=model_answers),
            on_unknown=on_unknown,
            labels=labels,
        )
        object.__setattr__(self, "url", details)
        object.__setattr__(self, "_query", where.query)

    def _parts(self) -> tuple[object, ...]:
        return (*super()._parts(), self.url, self._query)  # that may say whose agent it is


def _function(line: Line, *, model_answers: bool) -> ToolFunction:
    async def call_agent(
        task: str = "", task_id: str = "", *, detent_call: IdempotencyKey = NO_KEY
    ) -> str:
        if not (task or task_id):
            raise ValueError("the agent needs a task, or the task_id of one")
        if task and task_id and not model_answers:
            raise ValueError("what the agent asks is answered by people; leave task or task_id out")
        name = sha256(detent_call.encode()).hexdigest()[:32] if detent_call else uuid4().hex
        return await line.call(task, task_id, name)

    return call_agent
