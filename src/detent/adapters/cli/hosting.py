"""The host of a command: in its own process, or on an engine that `--engine` names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import click
from click.core import ParameterSource

from detent.adapters.agent.agent import Agent
from detent.adapters.hosts.engines.dbos import DBOSHost
from detent.adapters.hosts.engines.host import EngineHost, EngineOptions, Mode
from detent.adapters.hosts.engines.restate import RestateHost
from detent.adapters.hosts.engines.temporal import TemporalHost
from detent.adapters.hosts.local import LocalHost
from detent.adapters.hosts.places import HostLimits
from detent.adapters.hosts.stored import StoredHost
from detent.ports.journal import Journal

ENGINES: Mapping[str, tuple[str, ...]] = {
    "dbos": ("url", "name", "queue", "mode"),
    "temporal": ("client", "queue", "mode"),
    "restate": ("ingress", "admin", "listen", "address", "name"),
}
"""What each engine can be told."""


def with_environment(
    context: click.Context, option: click.Parameter, typed: tuple[str, ...]
) -> tuple[str, ...]:
    """What a variable says, and behind it what was typed, which counts where both say a name.

    RULE: what is typed replaces no more than that. click leaves the whole variable out then: a
    worker would be in another mode, or at another queue, than all others, and nobody would know.
    """
    if context.get_parameter_source(option.name or "") is not ParameterSource.COMMANDLINE:
        return typed
    return (*(option.value_from_envvar(context) or ()), *typed)


def host_of(
    engine: str | None,
    texts: Sequence[str],
    agents: Mapping[str, Agent[Any, Any]],
    journal: Journal,
    *,
    running: int,
    drain_s: float,
) -> StoredHost:
    """A host that works, where `--engine` and `--engine-option` say.

    Raises:
        UsageError: an option is none of the engine's, or one is missing.
    """
    if engine is None:
        if texts:
            raise click.UsageError(
                "--engine-option is for --engine, and so is DETENT_ENGINE_OPTIONS"
            )
        return LocalHost(agents, journal, limits=HostLimits(running=running), drain_s=drain_s)
    where = dict(_engine_option(engine, text) for text in texts)
    options: EngineOptions = {"running": running, "drain_s": drain_s}
    return _on(engine, where, agents, journal, options)


def _engine_option(engine: str, text: str) -> tuple[str, str]:
    name, is_said, value = text.partition("=")
    if not is_said or name not in ENGINES[engine]:
        known = ", ".join(f"{option}=…" for option in ENGINES[engine])
        why = f"{engine} takes {known}"
        if name == "mode":  # what it has is no option, and a typing error it is not
            others = " or ".join(one for one in ENGINES if "mode" in ENGINES[one])
            why += f"; it drives runs by legs alone: leave mode out, or take {others} for effects"
        # RULE: a value is not said again: it may be an address with a password in it
        option = f"--engine-option {name}=…" if is_said else "an --engine-option without a '='"
        raise click.UsageError(f"{option}: {why}")
    if name == "mode" and value not in (modes := get_args(Mode)):
        known = " or ".join(f"mode={one}" for one in modes)
        raise click.UsageError(f"--engine-option {text}: {engine} takes {known}")
    return name, value


def _on(
    engine: str,
    where: Mapping[str, Any],
    agents: Mapping[str, Agent[Any, Any]],
    journal: Journal,
    options: EngineOptions,
) -> EngineHost:
    match engine:
        case "temporal":
            return TemporalHost(agents, journal, **where, **options)
        case "restate":
            return RestateHost(agents, journal, **where, **options)
        case _ if "url" not in where:
            raise click.UsageError(
                "--engine dbos needs its database: --engine-option url=sqlite:///queue.db"
            )
        case _:
            return DBOSHost(agents, journal, **where, **options)
