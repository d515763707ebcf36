"""Options: what every chat generator over HTTP takes beside its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from detent.core.values.checks import meant

if TYPE_CHECKING:
    import httpx

    from detent.adapters.providers.http.caller import Timeouts
    from detent.adapters.providers.http.secrets import Secret
    from detent.adapters.providers.meaning.server_tools import ServerTool
    from detent.adapters.providers.meaning.thinking import ThinkingLevel


class HttpOptions(TypedDict, total=False):
    """The options of every chat generator over HTTP.

    Attributes:
        generation_kwargs: further members of each request. None leaves a member out.
        thinking: how much the model shall think before it answers: "off", "low", "medium", "high",
            or at most so many tokens; in the words of the provider, as near as it has them. What
            `generation_kwargs` says in the provider's own words wins. By default the model's own.
        server_tools: what the provider runs itself while the model answers: `WebSearch`,
            `CodeExecution`, `FileSearch`; and `ComputerUse`, which the agent's tool ``computer``
            runs. One that the provider has not is refused before anything is sent.
        timeout: seconds for a whole call, or `Timeouts`.
        headers: further request headers; a `Secret` among them never prints.
        http_client: sends the blocking calls, for proxies, certificates and tests; it stays yours.
        async_http_client: the same for coroutines; it must be used in one event loop only.
    """

    generation_kwargs: Mapping[str, object] | None
    thinking: ThinkingLevel | None
    server_tools: Sequence[ServerTool]
    timeout: float | Timeouts
    headers: Mapping[str, str | Secret] | None
    http_client: httpx.Client | None
    async_http_client: httpx.AsyncClient | None


def require_known(owner: str, names: Collection[str]) -> None:
    """Raise TypeError where one of `names` is no option: by its name, and what is near it."""
    known = HttpOptions.__annotations__
    if unknown := sorted({*names} - known.keys()):
        near = meant(unknown[0], (*known, "api_base_url", "api_key"))
        raise TypeError(
            f"{owner} has no option {', '.join(map(repr, unknown))}; beside its own it has "
            f"{', '.join(known)}; what goes into requests is generation_kwargs{near}"
        )
