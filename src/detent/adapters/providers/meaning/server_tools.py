"""Tools that providers know: one way to ask for them, in the words of those who have them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Literal, TypeAlias

from attrs import asdict, evolve, field, fields, frozen

from detent.adapters.providers.meaning.wire import cannot_send
from detent.core.chat.messages import UNTRUSTED, labels_of
from detent.core.chat.replies import ChatReply
from detent.ports.chat import StreamingChunk


def _strings(values: Iterable[str]) -> tuple[str, ...]:
    if isinstance(values, str):
        raise TypeError(f"expected a list of strings, got the string {values!r}")
    return tuple(values)


def _labels(values: Iterable[str]) -> tuple[str, ...]:
    labels = _strings(values)
    if not all(isinstance(label, str) and label for label in labels):
        raise TypeError(f"labels are a list of texts, got {values!r:.80}")
    return tuple(sorted(set(labels)))


@frozen(kw_only=True)
class WebSearch:
    """The provider searches the web while the model answers.

    Attributes:
        domains: search only in these, such as ``("example.org",)``; by default everywhere.
        max_uses: at most so many searches in an answer; by default as many as the model wants.
        labels: what it brings along: the run bears it from the reply on in which it was used, also
            for the calls of that reply; see `Tool.labels`.
    """

    kind: ClassVar = "web_search"
    domains: tuple[str, ...] = field(default=(), converter=_strings)
    max_uses: int | None = None
    labels: tuple[str, ...] = field(default=UNTRUSTED, converter=_labels)


@frozen
class CodeExecution:
    """The provider runs code that the model writes, in a container of the provider.

    Attributes:
        labels: as of `WebSearch`; it reads nothing, unless you have given it files.
    """

    kind: ClassVar = "code_execution"
    labels: tuple[str, ...] = field(default=(), converter=_labels, kw_only=True)


@frozen
class FileSearch:
    """The provider searches files that were given to it before.

    Attributes:
        stores: the names that the provider gave to the stores of the files.
        labels: as of `WebSearch`.
    """

    kind: ClassVar = "file_search"
    stores: tuple[str, ...] = field(converter=_strings)
    labels: tuple[str, ...] = field(default=UNTRUSTED, converter=_labels, kw_only=True)


Environment: TypeAlias = Literal["browser", "linux", "mac", "windows"]


@frozen(kw_only=True)
class ComputerUse:
    """The model operates a computer of yours: it sees its screen, and says what to do.

    Nothing runs at the provider. The agent needs a tool named ``computer``, which does what the
    model asks for, in the words of the provider, and gives back a picture of the screen.

    Attributes:
        width: of the screen, in pixels.
        height: of the screen, in pixels.
        environment: what is on the screen.
    """

    kind: ClassVar = "computer_use"
    width: int
    height: int
    environment: Environment = "browser"


ServerTool: TypeAlias = WebSearch | CodeExecution | FileSearch | ComputerUse
"""A tool that providers know: all but `ComputerUse` run there."""

COMPUTER = "computer"
"""The agent's tool that operates the computer, as both APIs call it."""

ServerToolMember: TypeAlias = Callable[[ServerTool], dict[str, Any]]
"""Writes one as an entry of `tools` in a request."""

KINDS: Mapping[str, type[ServerTool]] = {
    kind.kind: kind for kind in (WebSearch, CodeExecution, FileSearch, ComputerUse)
}


def require_server_tools(tools: Iterable[object]) -> tuple[ServerTool, ...]:
    """The tools, each as itself or as `server_tool_data` wrote it.

    Raises:
        TypeError: one is none, or has an option that there is not.
    """
    return tuple(map(_server_tool, tools))


def _server_tool(tool: object) -> ServerTool:
    if isinstance(tool, Mapping) and tool.get("kind") in KINDS:
        return KINDS[tool["kind"]](**{name: tool[name] for name in tool if name != "kind"})
    if isinstance(tool, ServerTool):
        return tool
    known = ", ".join(kind.__name__ for kind in KINDS.values())
    raise TypeError(
        f"server_tools are instances of {known}, got {type(tool).__name__}; what only one "
        'provider has is given as generation_kwargs={"tools": […]}'
    )


def server_tool_data(tool: ServerTool) -> dict[str, Any]:
    """A tool as data, without what it leaves to the provider."""
    left = {item.name for item in fields(type(tool)) if getattr(tool, item.name) == item.default}
    return {"kind": tool.kind} | {n: value for n, value in asdict(tool).items() if n not in left}


BEFORE_ZOOM = re.compile(r"claude-(3-7|haiku-4-5|sonnet-4-5|(opus|sonnet)-4(-0|-1|-2025|$))")
"""The models that know the first form of a computer."""


def computer_version(model: str) -> tuple[str, str]:
    """The type of the computer that a model of Anthropic knows, and the beta that allows it.

    Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/computer-use-tool

    >>> computer_version("claude-sonnet-4-5"), computer_version("claude-opus-4-6")[0]
    (('computer_20250124', 'computer-use-2025-01-24'), 'computer_20251124')
    """
    is_first = BEFORE_ZOOM.match(model) is not None
    date = "2025-01-24" if is_first else "2025-11-24"
    return f"computer_{date.replace('-', '')}", f"computer-use-{date}"


def for_claude(tool: ServerTool, *, model: str = "") -> dict[str, Any]:
    """For Anthropic's Messages API.

    Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool
    """
    match tool:
        case WebSearch(domains=domains, max_uses=uses):
            limits = {"allowed_domains": domains, "max_uses": uses}
            return {"type": "web_search_20250305", "name": "web_search", **_present(limits)}
        case CodeExecution():
            return {"type": "code_execution_20250825", "name": "code_execution"}
        case FileSearch():
            raise cannot_send("the Messages API", "FileSearch")
        case ComputerUse(width=width, height=height):
            size = {"display_width_px": width, "display_height_px": height}
            return {"type": computer_version(model)[0], "name": COMPUTER, **size}


def for_claude_on_vertex(tool: ServerTool) -> dict[str, Any]:
    """For Claude on Vertex AI, which searches the web, and no more."""
    if isinstance(tool, CodeExecution | ComputerUse):
        raise cannot_send("Claude on Vertex AI", type(tool).__name__)
    return for_claude(tool)


def for_responses(tool: ServerTool, *, model: str = "") -> dict[str, Any]:
    """For OpenAI's Responses API.

    Source: https://platform.openai.com/docs/guides/tools
    """
    match tool:
        case WebSearch(max_uses=int()):
            what = "WebSearch(max_uses=…); max_tool_calls in generation_kwargs bounds all tools"
            raise cannot_send("the Responses API", what)
        case WebSearch(domains=domains):
            filters = {"allowed_domains": domains} if domains else None
            return {"type": "web_search", **_present({"filters": filters})}
        case CodeExecution():
            return {"type": "code_interpreter", "container": {"type": "auto"}}
        case FileSearch(stores):
            return {"type": "file_search", "vector_store_ids": stores}
        case ComputerUse() if not model.startswith("computer-use-preview"):
            return {"type": COMPUTER}  # it takes the size from the first picture
        case ComputerUse(width=width, height=height, environment=environment):
            size = {"display_width": width, "display_height": height}
            return {"type": "computer_use_preview", "environment": environment, **size}


def for_gemini(tool: ServerTool) -> dict[str, Any]:
    """For Gemini's generateContent.

    Source: https://ai.google.dev/gemini-api/docs/google-search
    """
    match tool:
        case WebSearch(domains=domains, max_uses=uses) if domains or uses:
            raise cannot_send("generateContent", "WebSearch with domains or max_uses")
        case WebSearch():
            return {"googleSearch": {}}
        case CodeExecution():
            return {"codeExecution": {}}
        case FileSearch(stores):
            return {"fileSearch": {"fileSearchStoreNames": stores}}
        case ComputerUse():
            what = "ComputerUse: its actions are functions of Google's own names"
            raise cannot_send("generateContent", what)


def _present(members: Mapping[str, object]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value}


NAMES = {
    "bash_code_execution": "code_execution",
    "code_interpreter_call": "code_execution",
    "executableCode": "code_execution",
    "file_search_call": "file_search",
    "text_editor_code_execution": "code_execution",
    "web_search_call": "web_search",
}
"""What providers call the tools of `KINDS` in their answers, where they call them otherwise."""


def server_tool_begun(name: object) -> tuple[StreamingChunk]:
    """The piece that tells that a provider has begun to run a tool, named as in a request."""
    return (StreamingChunk(server_tool=NAMES.get(str(name), str(name))),)


def uses(names: Iterable[object]) -> dict[str, dict[str, int]]:
    """How often tools ran at the provider, as the reply's `extra` tells it: they cost by the use.

    >>> uses(["web_search_call", "web_search_call", "x_search"])
    {'server_tools': {'web_search': 2, 'x_search': 1}}
    >>> uses([])
    {}
    """
    used = [NAMES.get(str(name), str(name)) for name in names]
    return {"server_tools": dict(Counter(used))} if used else {}


def all_labels(tools: Iterable[ServerTool]) -> tuple[str, ...]:
    """What a reply may bring along: the labels of all of them, and what `with_labels` adds.

    RULE: "untrusted" in any case. What is asked for in the provider's own words may come with one
    call of the model alone, and a provider may search where nobody has asked.
    """
    found = (tool.labels for tool in tools if not isinstance(tool, ComputerUse))
    return tuple(sorted({label for labels in (UNTRUSTED, *found) for label in labels}))


def with_labels(reply: ChatReply, tools: Iterable[ServerTool]) -> ChatReply:
    """The reply, whose message bears the labels of those of `tools` that it tells of.

    Of one that is none of these, as it was asked for in the provider's own words, it is that of its
    kind, and else "untrusted". What has sources in the web, or was grounded, and does not say by
    what, was by any of them.
    """
    labels: dict[str, tuple[str, ...]] = {}
    for tool in tools:
        if not isinstance(tool, ComputerUse):  # whose results come by a tool of the agent
            labels[tool.kind] = labels.get(tool.kind, ()) + tool.labels
    used: Any = reply.extra.get("server_tools") or {}
    found = {label for name in used for label in labels.get(name, OWN.get(name, UNTRUSTED))}
    if _has_sources(reply) and not used.keys() & {WebSearch.kind, FileSearch.kind}:
        found.update(*labels.values() or [UNTRUSTED])
    if not found:
        return reply
    message, names = reply.message, sorted({*found, *labels_of([reply.message])})
    return evolve(reply, message=evolve(message, meta={**message.meta, "labels": names}))


OWN: Mapping[str, tuple[str, ...]] = {CodeExecution.kind: (), "image_generation_call": ()}
"""What bears no label unless it is given one."""

GROUNDED = ("groundingMetadata", "urlContextMetadata")
"""What Gemini says of an answer that rests on what it has read."""


def _has_sources(reply: ChatReply) -> bool:
    urls = (source.url or "" for source in reply.message.citations)
    is_cited = any(url.startswith(("http://", "https://")) for url in urls)
    return is_cited or any(map(reply.extra.get, GROUNDED))
