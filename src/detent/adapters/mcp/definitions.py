"""The tools of a server, as it describes them, and what becomes of each description."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from typing import Any

from attrs import field, frozen

from detent.adapters.mcp.schemas import SchemaRefusedError, plain_schema
from detent.core.errors import ToolDefinitionError
from detent.core.tools.masking import masked_in
from detent.core.tools.signature import ToolFunction
from detent.core.tools.tool import Tool
from detent.core.tools.version import hash_of
from detent.core.values.frozen import FrozenDict, frozen_mapping

NAME_MAX = 64
"""How long the name of a tool may be: so much every provider takes."""

SIZE_MAX = 64 * 1024
"""How many characters a tool's description with its schemas may have."""


@frozen
class MCPTool(Tool):
    """A tool of an MCP server.

    Attributes:
        server: what its toolset calls the server.
        remote_name: what the server calls the tool.
        identity: a digest of where the server is and what it says that it is, of the whole
            definition, and of nothing else. With another one it is another tool: what a human has
            approved does not count for it.
        is_read_only: whether it changes nothing; known only where the hints are trusted.
        is_destructive: whether it may destroy something; so unless hints that are trusted deny it.
        title: what the server would have people read; a claim like all of it.
        may_mask: whether what the server says of its tools is trusted: also that an argument is a
            secret (``"writeOnly": true``), which no human is shown then.
    """

    server: str = field(default="", kw_only=True)
    remote_name: str = field(default="", kw_only=True)
    identity: str = field(default="", kw_only=True, repr=False)
    is_read_only: bool = field(default=False, kw_only=True)
    is_destructive: bool = field(default=True, kw_only=True)
    title: str = field(default="", kw_only=True)
    may_mask: bool = field(default=False, kw_only=True, repr=False)

    @cached_property
    def masked(self) -> frozenset[str]:
        """The arguments that no human is shown.

        RULE: not on a stranger's word: it would choose what is left out of a question, and of what
        is on record, about its own tool.
        """
        return masked_in({}, self.parameters) if self.may_mask else frozenset()

    @property
    def description_labels(self) -> tuple[str, ...]:
        """Those of its results, as the same server has written it; none where that is trusted."""
        return () if self.may_mask else self.labels

    def _parts(self) -> tuple[object, ...]:
        return (*super()._parts(), self.server, self.remote_name, self.identity)


@frozen
class Definition:
    """What a server has said of a tool, and the digest of it."""

    name: str
    data: FrozenDict[str, Any] = field(converter=frozen_mapping, repr=False)
    identity: str = field(repr=False)


@frozen
class Listing:
    """What a server offers: the definitions by name, and why each other one is left out."""

    definitions: Mapping[str, Definition] = field(factory=dict)
    left_out: Mapping[str, str] = field(factory=dict)


@frozen
class ToolRule:
    """How tools are made of definitions: as the toolset was told."""

    server: str
    prefix: str
    only: frozenset[str] | None
    trust_hints: bool
    timeout_s: float | None
    labels: tuple[str, ...]


def listing_of(server: tuple[object, ...], described: Iterable[Mapping[str, Any]]) -> Listing:
    """The definitions in what a server has sent. `server` is where and what it is."""
    listed = list(described)
    counts = Counter(_clean(str(entry.get("name"))) for entry in listed)
    definitions: dict[str, Definition] = {}
    left_out: dict[str, str] = {}
    for entry in listed:
        name = str(entry.get("name"))
        if reason := _fault(entry, counts[_clean(name)]):
            left_out[name] = reason
        else:
            definitions[name] = Definition(name, entry, hash_of(*server, entry))
    return Listing(definitions, left_out)


def _clean(name: str) -> str:
    """The name as one may be here. Two that become one are both left out."""
    return re.sub(r"[^\w.:-]", "_", name, flags=re.ASCII)


def _fault(described: Mapping[str, Any], count: int) -> str:
    if count > 1:
        return f"{count} tools have this name here"
    try:
        size = len(json.dumps(described))
    except (ValueError, TypeError, RecursionError):
        return "its definition is no JSON, or is nested too deep"
    return f"its definition has more than {SIZE_MAX} characters" if size > SIZE_MAX else ""


def tools_of(
    listing: Listing, rule: ToolRule, function: Callable[[Definition], ToolFunction]
) -> tuple[tuple[MCPTool, ...], dict[str, str]]:
    """The tools that can be used, and why each other one cannot."""
    tools: list[MCPTool] = []
    left_out = dict(listing.left_out)
    for name, definition in listing.definitions.items():
        if rule.only is not None and name not in rule.only:
            continue
        try:
            tools.append(_tool(definition, rule, function(definition)))
        except (ToolDefinitionError, SchemaRefusedError, RecursionError) as error:
            left_out[name] = str(error) or "its schema is nested too deep"
    return tuple(tools), left_out


def missing(only: Collection[str] | None, listing: Listing) -> list[str]:
    """The names that were asked for and that the server does not have."""
    return sorted(set(only or ()) - {*listing.definitions, *listing.left_out})


def _tool(definition: Definition, rule: ToolRule, function: ToolFunction) -> MCPTool:
    name = f"{rule.prefix}{_clean(definition.name)}"
    if len(name) > NAME_MAX:
        raise ToolDefinitionError(f"its name {name!r} has more than {NAME_MAX} characters")
    data = definition.data
    hints = data.get("annotations", {}) if rule.trust_hints else {}
    is_read_only = hints.get("readOnlyHint") is True
    may_repeat = is_read_only or hints.get("idempotentHint") is True
    schema = plain_schema(data.get("inputSchema"), fills_in=True)
    return MCPTool(
        name,
        data.get("description", ""),
        {**schema, "type": "object"},
        function,
        timeout_s=rule.timeout_s,
        on_unknown="rerun" if may_repeat else "ask",
        labels=rule.labels,
        server=rule.server,
        remote_name=definition.name,
        identity=definition.identity,
        is_read_only=is_read_only,
        is_destructive=not is_read_only and hints.get("destructiveHint") is not False,
        may_mask=rule.trust_hints,
        title=data.get("title") or data.get("annotations", {}).get("title") or "",
    )
