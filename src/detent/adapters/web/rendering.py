"""Rendering: pages of templates, in which no text is markup."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import escape
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from detent.adapters.stories.entries import event_path
from detent.adapters.system.threads_and_loops import in_a_thread
from detent.adapters.web.people import Person
from detent.adapters.web.protection import form_token
from detent.adapters.web.shown import ago, as_json, clock_time, moment, visible
from detent.core.chat.messages import ToolCall, ToolCallResult
from detent.core.tools.masking import masked, shown_result

ENVIRONMENT = Environment(
    loader=PackageLoader("detent.adapters.web"),
    autoescape=True,
    finalize=visible,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def json_response(
    content: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """JSON in ASCII: what a model has written may be no text that can be encoded.

    RULE: what cannot be told of one run must not keep from anybody what is told of the others.
    """
    return Response(json.dumps(content), status, headers, "application/json")


def _shown_arguments(call: ToolCall) -> dict[str, Any]:
    return masked(call.arguments, call.secret)


def _told(result: ToolCallResult) -> str:
    """What a call has given, without what it was given for its secret parameters."""
    return shown_result(result).text


def _ago(at: float) -> str:
    return ago(time.time() - at)


def _wide_json(value: object) -> str:
    return as_json(value, is_wide=True)


def _segment(text: str) -> str:
    return quote(text, safe="")


FILTERS: dict[str, Callable[..., Any]] = {
    "ago": _ago,
    "as_json": as_json,
    "clock_time": clock_time,
    "event_path": event_path,
    # what a form sends back must be what it was, to the letter: it is markup for nobody, and unseen
    "forms": escape,
    "masked": _shown_arguments,
    "moment": moment,
    "segment": _segment,
    "told": _told,
    "wide_json": _wide_json,
}
ENVIRONMENT.filters |= FILTERS


def base_of(request: Request) -> str:
    """The path under which an app around has mounted these pages."""
    return str(request.scope.get("root_path", ""))


def page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """A page, or a part of one."""
    person: Person | None = getattr(request.state, "person", None)
    base = base_of(request)
    here = request.url.path.removeprefix(base)
    token = form_token(request, person)
    common = {"base": base, "here": here, "token": token, "person": person}
    text = ENVIRONMENT.get_template(template).render(common | values)
    return HTMLResponse(text, status)


async def page_beside(
    request: Request, template: str, status: int = 200, **values: Any
) -> Response:
    """The same from a thread.

    RULE: so is each page made that shows what a model has written: to make one of long texts takes
    seconds, in which nothing else that the loop drives may stand still.
    """
    return await in_a_thread(partial(page, request, template, status, **values))
