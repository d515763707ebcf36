"""What a server answers: calls become runs of a host, and their questions are put to clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, TypeAlias, cast
from uuid import uuid4

import mcp_types as types
from attrs import field, frozen
from mcp.server import ServerRequestContext
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from detent.adapters.faces.answers import decide
from detent.adapters.faces.replies import failure_text, sound, unreadable
from detent.adapters.mcp.callers import call_message
from detent.adapters.mcp.questions import answer_in, form_of
from detent.core.chat.messages import (
    ChatMessage,
    FileContent,
    ImageContent,
    ResultPart,
    TextContent,
    ToolCall,
)
from detent.core.errors import DetentError
from detent.core.run.events import CancelRequested
from detent.core.run.outcomes import Failed
from detent.core.tools.invocation import argument_faults
from detent.core.tools.tool import Tool
from detent.core.values.frozen import thaw
from detent.ports.hosting import Host, HostRefusal
from detent.ports.journal import Entry, RunNotFoundError
from detent.ports.pending import PendingCall
from detent.ports.results import AgentResult

Context: TypeAlias = ServerRequestContext[Any, Any]
Answer: TypeAlias = types.CallToolResult | types.InputRequiredResult

RESULT, CANCEL = "run_result", "run_cancel"

CALLS_MAX = 10_000
"""How many calls are known by which their runs can be ended."""

TASK: dict[str, Any] = {
    "type": "object",
    "properties": {
        "task": {"type": "string", "description": "What is to be done, in words."},
        "thread": {
            "type": "string",
            "description": "The name of a conversation that this goes on with.",
        },
    },
    "required": ["task"],
    "additionalProperties": False,
}
RUN: dict[str, Any] = {
    "type": "object",
    "properties": {"run_id": {"type": "string"}},
    "required": ["run_id"],
    "additionalProperties": False,
}


@frozen
class Serving:
    """The handlers of a server; the fields are those of `mcp_server`."""

    host: Host
    about: Mapping[str, str]
    tools: Mapping[str, tuple[str, Tool]]
    inbox: str | None
    asks_client: bool
    by: Callable[[], str | None]
    wait_s: float | None
    _calls: dict[tuple[str | None, object], str] = field(factory=dict, init=False)

    async def list_tools(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """The agents, the tools, and what looks after runs."""
        listed = [
            types.Tool(
                name=agent.name,
                description=self.about.get(agent.name, f"Have the agent {agent.name} work."),
                input_schema=TASK,
            )
            for agent in await self.host.agents()
            if agent.name not in self.behind
        ]
        for tool in (served for _, served in self.tools.values()):
            schema = cast("dict[str, Any]", thaw(tool.spec.parameters))
            named = types.Tool(name=tool.name, description=tool.description, input_schema=schema)
            listed.append(named)
        result = "What has become of a run: its result, or what it waits for."
        read = types.ToolAnnotations(read_only_hint=True)
        listed.append(
            types.Tool(name=RESULT, description=result, input_schema=RUN, annotations=read)
        )
        listed.append(types.Tool(name=CANCEL, description="End a run.", input_schema=RUN))
        return types.ListToolsResult(tools=listed)

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> Answer:
        """Begin a run, or look after one."""
        arguments = params.arguments or {}
        if params.name in (RESULT, CANCEL):
            run_id = str(arguments.get("run_id"))
            return await self._looked_after(context, params, run_id)
        if params.request_state is not None:
            return await self._followed(context, params, params.request_state)
        served = self.tools.get(params.name)
        if served is None and params.name in self.behind:
            return _text_result(f"there is no tool {params.name!r:.80}", is_error=True)
        if faults := _faults(params.name, arguments, served):
            return _text_result("; ".join(faults), is_error=True)
        agent = params.name if served is None else served[0]
        task = await self._call(params.name, arguments) if served else arguments["task"]
        thread = None if served else arguments.get("thread")
        begun = await self.host.start(
            agent,
            task,
            run_id=self._run_id(context),
            thread_id=f"{self._whose()}{thread}" if thread else None,
            started_by=self.by(),
        )
        if isinstance(begun, HostRefusal):
            return _text_result(begun.text, is_error=True)
        return await self._followed(context, params, begun.run_id)

    async def _call(self, tool: str, arguments: Mapping[str, Any]) -> list[ChatMessage]:
        """What a run is begun with that makes one call.

        RULE: it bears all labels that anything here may bring along. Each call is a run of its own,
        and who makes it may hand on what another one has read: a policy by labels would never ask.
        """
        labels = {label for agent in await self.host.agents() for label in agent.labels}
        text, meta = call_message(tool, arguments), {"labels": sorted(labels)}
        return [ChatMessage.from_user(text, meta=meta)]

    @property
    def behind(self) -> set[str]:
        """The agents that only run tools: who could begin one could call tools that none serve."""
        return {agent for agent, _ in self.tools.values()}

    def _whose(self) -> str:
        """What the names of all runs of this caller begin with: nobody else gets at them."""
        return f"mcp-{sha256((self.by() or '').encode()).hexdigest()[:16]}-"

    def _run_id(self, context: Context) -> str:
        """A new name; the same for a call that its client makes once more."""
        key = cast("Mapping[str, Any]", context.meta or {}).get("detent/call")
        name = (
            sha256(key.encode()).hexdigest()[:32] if isinstance(key, str) and key else uuid4().hex
        )
        return f"{self._whose()}{name}"

    async def cancelled(self, context: Context, params: types.CancelledNotificationParams) -> None:
        """End the run of a call that its client gives up."""
        run_id = self._calls.pop((_session(context), params.request_id), None)
        if run_id is not None and run_id.startswith(self._whose()):
            await self.host.send(run_id, CancelRequested("its client wants it no more"))

    async def _looked_after(
        self, context: Context, params: types.CallToolRequestParams, run_id: str
    ) -> Answer:
        if not run_id.startswith(self._whose()):
            return _text_result(f"there is no run {run_id!r:.80}", is_error=True)
        if params.name == CANCEL:
            sent = await self.host.send(run_id, CancelRequested("its client wants it no more"))
            ends = f"Run {run_id} ends once this is done: {sent.text}" if sent.text else ""
            said = sent.text if isinstance(sent, HostRefusal) else ends or f"Run {run_id} ends."
            return _text_result(said)
        return await self._followed(context, params, run_id)

    async def _followed(
        self, context: Context, params: types.CallToolRequestParams, run_id: str
    ) -> Answer:
        """What a run has come to, once it has ended or nobody here can say how it goes on."""
        if not run_id.startswith(self._whose()):
            return _text_result(f"there is no run {run_id!r:.80}", is_error=True)
        place = (session := _session(context), context.request_id)
        if session is not None:
            self._calls[place] = run_id
        if len(self._calls) > CALLS_MAX:  # of clients that have left
            self._calls.pop(next(iter(self._calls)))
        try:
            async with asyncio.timeout(self.wait_s):
                answer = await _Following(self, context, params, run_id).end()
        except TimeoutError:
            answer = _text_result(
                f"Run {run_id} goes on. Call {RESULT} with its run_id for the end."
            )
        except RunNotFoundError:
            answer = _text_result(f"there is no run {run_id!r:.80}", is_error=True)
        # RULE: not where this is cancelled: the client's word for it may come after
        self._calls.pop(place, None)
        return answer


@frozen
class _Following:
    """One call that waits for a run."""

    serving: Serving
    context: Context
    params: types.CallToolRequestParams
    run_id: str

    async def end(self) -> Answer:
        """The result, a question for the client, or that the run waits."""
        note = await self._decided(self.params.input_responses or {})
        if note:
            return self._waits(note)
        async for item in self.serving.host.watch(self.run_id):
            if not isinstance(item, Entry):
                continue
            await self.context.session.report_progress(item.position, None, item.kind)
            if item.status == "waiting" and (calls := await self._pending()):
                if not self._can_ask():
                    return self._waits("It waits for a human.")
                if self.context.protocol_version in MODERN_PROTOCOL_VERSIONS:
                    forms: dict[str, Any] = {call.digest: form_of(call) for call in calls}
                    return types.InputRequiredResult(
                        input_requests=forms, request_state=self.run_id
                    )
                if note := await self._ask_client(calls[0]):
                    return self._waits(note)
        return await self._result()

    async def _pending(self) -> tuple[PendingCall, ...]:
        return (await self.serving.host.run(self.run_id)).pending

    def _can_ask(self) -> bool:
        capabilities = self.context.session.client_capabilities
        able = None if capabilities is None else capabilities.elicitation
        return self.serving.asks_client and able is not None and bool(able.form or not able.url)

    async def _ask_client(self, call: PendingCall) -> str:
        """Ask the client about a call; "" where that has decided it."""
        params = cast(types.ElicitRequestFormParams, form_of(call).params)
        response = await self.context.session.elicit_form(
            params.message, params.requested_schema, self.context.request_id
        )
        return await self._decided({call.digest: response})

    async def _decided(self, responses: Mapping[str, object]) -> str:
        """Send the decisions among the answers; why there is none, or ""."""
        if not (responses and self.serving.asks_client):
            return ""
        waiting = await self._pending()
        by_digest = {call.digest: answer_in(responses.get(call.digest)) for call in waiting}
        answers = [(digest, answer) for digest, answer in by_digest.items() if answer is not None]
        answered = await decide(self.serving.host, waiting, answers, self.serving.by())
        if answered.remarks:
            return " ".join(answered.remarks)
        if len(answers) < len(by_digest):  # what was decided elsewhere is so already
            return "It waits for a human, who has not decided here."
        return " ".join(f"It waits for a human. {note}" for note in answered.notes.values())

    def _waits(self, why: str) -> types.CallToolResult:
        at = f" It is decided at {self.serving.inbox}." if self.serving.inbox else ""
        text = f"Run {self.run_id} has not ended. {why}{at} Call {RESULT} with its run_id later."
        return _text_result(text, structured={"run_id": self.run_id, "status": "waiting"})

    async def _result(self) -> types.CallToolResult:
        try:
            hosted = await self.serving.host.run(self.run_id)
            if isinstance(outcome := hosted.run.outcome, Failed):
                _, why = failure_text(outcome)
                return _text_result(f"Run {self.run_id}: {why}", is_error=True)
            result = await self.serving.host.result(self.run_id)
        except RunNotFoundError:
            raise
        except DetentError as error:
            return _text_result(f"Run {self.run_id}: {unreadable(error)}", is_error=True)
        if hosted.listed.agent in self.serving.behind:
            return _of_tool(result)
        return _text_result(result.text or f"Run {self.run_id} has ended without an answer.")


def _faults(name: str, arguments: dict[str, Any], served: tuple[str, Tool] | None) -> list[str]:
    """What is wrong with the arguments of a call."""
    if served is not None:
        return argument_faults(ToolCall(name, arguments), served[1])
    texts = all(isinstance(value, str) for value in arguments.values())
    fits = "task" in arguments and arguments.keys() <= {"task", "thread"} and texts
    return [] if fits else ["an agent takes a task, and a thread if you like, in words"]


def _session(context: Context) -> str | None:
    """Which connection a request has come by; over stdio there is one.

    None where HTTP has none: there the number of a request, by which it would be given up, may be
    that of anybody's.
    """
    headers = getattr(context.request, "headers", None)
    return "" if headers is None else headers.get("mcp-session-id")


def _text_result(
    text: str, *, is_error: bool = False, structured: object = None
) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(text=sound(text))],
        is_error=is_error,
        structured_content=structured,
    )


def _of_tool(result: AgentResult[Any, Any]) -> types.CallToolResult:
    """What the one call of a run has given."""
    found = [
        tool_result for message in result.messages for tool_result in message.tool_call_results
    ]
    if not found:
        return _text_result("the call was not made", is_error=True)
    content = found[-1].result
    parts = [TextContent(content)] if isinstance(content, str) else content
    blocks: list[types.ContentBlock] = [_block(part) for part in parts]
    return types.CallToolResult(content=blocks, is_error=found[-1].error)


def _block(part: ResultPart) -> types.ContentBlock:
    match part:
        case TextContent(text):
            return types.TextContent(text=sound(text))
        case ImageContent():
            return types.ImageContent(data=part.base64_image, mime_type=part.mime_type)
        case FileContent():
            held = types.BlobResourceContents(
                uri=f"file:///{part.filename or 'file'}",
                blob=part.base64_data,
                mime_type=part.mime_type,
            )
            return types.EmbeddedResource(resource=held)
