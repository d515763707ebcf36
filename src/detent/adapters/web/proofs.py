"""Proofs: what is stored of a run held against itself, and two runs held against each other."""

from __future__ import annotations

from functools import partial
from itertools import zip_longest
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from detent.adapters.stories.steps import Comparison, steps_of
from detent.adapters.system.threads_and_loops import in_a_thread
from detent.adapters.web.reading import entries_of, host_of
from detent.adapters.web.rendering import page
from detent.core.errors import StoredDataError
from detent.ports.hosting import Host, UnknownAgentError
from detent.ports.journal import Entry, RunNotFoundError

ROWS_MAX = 500
"""How many steps of two runs are shown of those that differ."""


async def proof(request: Request) -> Response:
    """Whether a run is what its entries make, and whether these hang together."""
    run_id = request.path_params["run_id"]
    try:
        found = await host_of(request).verify(run_id)
    except RunNotFoundError:
        return page(request, "refused.html", 404, text="There is no such run.", details=())
    except UnknownAgentError as error:
        return page(request, "refused.html", 409, text=str(error), details=())
    return page(request, "proof.html", run_id=run_id, proof=found)


async def compare(request: Request) -> Response:
    """Two runs side by side, from where on they differ."""
    names = [request.query_params.get(name, "").strip() for name in ("a", "b")]
    try:
        both = [(name, await _entries(host_of(request), name)) for name in names]
    except RunNotFoundError as error:
        return page(request, "refused.html", 404, text=str(error), details=())
    except (UnknownAgentError, StoredDataError) as error:
        return page(request, "refused.html", 409, text=str(error), details=())
    return await in_a_thread(partial(_compared, request, both))


async def _entries(host: Host, run_id: str) -> list[Entry]:
    return await entries_of(host, (await host.run(run_id)).listed)


def _compared(request: Request, both: list[tuple[str, list[Entry]]]) -> Response:
    found = Comparison.of(*(steps_of(run_id, entries) for run_id, entries in both))
    rows = list(zip_longest(found.in_a, found.in_b))
    values: dict[str, Any] = {"a": both[0][0], "b": both[1][0], "rows": rows[:ROWS_MAX]}
    left_out = max(0, len(rows) - ROWS_MAX)
    return page(request, "compare.html", same=found.same, left_out=left_out, **values)
