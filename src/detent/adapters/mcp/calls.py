"""Calls to a server, by the connection to it that there is."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from typing import Any, cast

import mcp_types as types
from attrs import frozen
from mcp import Client, MCPError
from mcp.client import ClientRequestContext
from pydantic import TypeAdapter

from detent.adapters.mcp.definitions import Definition
from detent.adapters.mcp.faults import MCPServerError, MCPToolError, ToolChangedError, error_text
from detent.adapters.mcp.sessions import BROKEN, Session, Way

ROUNDS_MAX = 10
"""How often a call may ask back."""

POLL_S = 0.25
"""How long to wait before a server is asked again that has asked for time."""

NOT_RUN = frozenset(
    {
        *(types.INVALID_PARAMS, types.INVALID_REQUEST, types.METHOD_NOT_FOUND),
        *(types.HEADER_MISMATCH, types.MISSING_REQUIRED_CLIENT_CAPABILITY),
        types.URL_ELICITATION_REQUIRED,
    }
)
"""Answers of a server that say that it has done nothing."""

ANSWER: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)
"""The answers to a call. Asked for without the library's own check of structured results: that runs
patterns which the server has chosen on an engine with backtracking."""


@frozen
class ToolRequest:
    """A call of a tool: what is sent, and who hears how far it is."""

    definition: Definition
    arguments: dict[str, Any]
    key: str
    on_progress: Callable[[float, float | None, str | None], None]


class Line:
    """The way to a server, with the connection that there is now; a broken one is replaced.

    All but `__init__` runs in the background event loop.
    """

    def __init__(self, way: Way) -> None:
        self._way = way
        self._forget()

    def _forget(self) -> None:
        self._process = os.getpid()
        self._opening = asyncio.Lock()
        self._session: Session | None = None
        self._retired: set[Session] = set()

    async def session(self) -> Session:
        """A connection that works as far as anybody knows.

        Raises:
            MCPServerError: there is none to be had.
        """
        if self._process != os.getpid():
            self._forget()  # no connection survives a fork
        async with self._opening:
            if self._session is None or not self._session.is_usable:
                self._retire()
                session = Session(self._way)
                await session.open()
                self._session = session
            session = self._session
        await session.settled()
        return session

    def _retire(self) -> None:
        if self._session is not None:
            self._session.close()
            self._retired.add(self._session)
            self._session = None

    async def close(self) -> None:
        """End all connections."""
        async with self._opening:
            self._retire()
            retired, self._retired = self._retired, set()
            for session in retired:
                await session.wait_closed()

    async def call(self, request: ToolRequest) -> types.CallToolResult:
        """What came of a call.

        Raises:
            MCPServerError: nothing came, or the tool is another one by now.
            MCPToolError: it cannot be made so, or has failed.
        """
        _require_whole(request.arguments)
        session = await self.session()
        name = request.definition.name
        current = session.listing.definitions.get(name)
        if current is None or current.identity != request.definition.identity:
            what = "has gone" if current is None else "has changed"
            text = f"has another tool {name!r} by now: it {what}, and was not called"
            raise ToolChangedError(self._way.server, text)
        try:
            async with session.used() as client:
                return await self._answered(client, request)
        except MCPError as error:
            session.is_usable &= error.code == types.INVALID_PARAMS
            if error.code in NOT_RUN:
                text = f"{self._way.server} refuses the call of {name!r}: {error_text(error)}"
                raise MCPToolError(text) from error
            raise self._broken(error) from error
        except BROKEN as error:
            session.is_usable = False
            raise self._broken(error) from error

    def _broken(self, error: Exception) -> MCPServerError:
        is_gone = isinstance(error, MCPError) and error.code == types.CONNECTION_CLOSED
        text = "has gone away" if is_gone else f"gave no result ({error_text(error)})"
        return MCPServerError(self._way.server, text, may_have_run=True)

    async def _answered(self, client: Client, request: ToolRequest) -> types.CallToolResult:
        """The result, after the questions that the server asks before it gives one."""

        async def progressed(progress: float, total: float | None, message: str | None) -> None:
            request.on_progress(progress, total, message)

        responses: types.InputResponses | None = None
        state: str | None = None
        meta = cast(types.RequestParamsMeta, {"detent/call": request.key}) if request.key else None
        for _ in range(ROUNDS_MAX):
            params = types.CallToolRequestParams(
                name=request.definition.name,
                arguments=request.arguments,
                input_responses=responses,
                request_state=state,
                _meta=meta,
            )
            answer = await client.session.send_request(
                types.CallToolRequest(params=params), ANSWER, progress_callback=progressed
            )
            if isinstance(answer, types.CallToolResult):
                return answer
            responses, state = await self._responses(client, answer), answer.request_state
        text = f"has asked {ROUNDS_MAX} times, and given no result"
        raise MCPServerError(self._way.server, text, may_have_run=True)

    async def _responses(
        self, client: Client, answer: types.InputRequiredResult
    ) -> types.InputResponses | None:
        if not answer.input_requests:
            await asyncio.sleep(POLL_S)
            return None
        responses: types.InputResponses = {}
        for key, request in answer.input_requests.items():
            context = ClientRequestContext(session=client.session, request_id=key)
            response = await client.session.dispatch_input_request(context, request)
            if isinstance(response, types.ErrorData):
                raise MCPError.from_error_data(response)
            responses[key] = response
        return responses


def _require_whole(arguments: dict[str, Any]) -> None:
    """Raise MCPToolError where a text cannot be encoded: sending it would break the connection."""
    try:
        json.dumps(arguments, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise MCPToolError("its arguments have half a character, which cannot be sent") from None
