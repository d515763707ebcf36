"""Agents by name: what needs their code is given it by ``--app module:name``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from copy import copy
from difflib import get_close_matches
from importlib import import_module
from inspect import signature
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

import click
from attrs import evolve
from click.shell_completion import CompletionItem

from detent.adapters.agent.agent import Agent
from detent.adapters.cli.endings import ending
from detent.core.tools.tool import Tool
from detent.ports.journal import Journal


def file_names(context: click.Context, param: click.Parameter, typed: str) -> list[CompletionItem]:
    """What Tab completes where a module or a store is named, each of which may be a file."""
    return [CompletionItem(typed, type="file")]


app_argument = click.argument(
    "app", metavar="MODULE:NAME", envvar="DETENT_APP", shell_complete=file_names
)
"""Of each command that hosts runs: whose."""
USUAL = ("agents", "agent")
"""What is looked for in a module where no name is given."""


def agents_at(app: str) -> list[Agent[Any, Any]]:
    """The agents that ``module:name`` names: an agent, several, or a function that makes them.

    The current folder is looked in, too.

    Raises:
        ClickException: there are none.
    """
    return [agent for _, agent in _named_agents(app)]


def agents_by_name(app: str) -> dict[str, Agent[Any, Any]]:
    """The same by the keys of a mapping, or else by their own names.

    Raises:
        ClickException: there are none, or two have one name.
    """
    named = _named_agents(app)
    names = [name for name, _ in named]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise click.UsageError(
            f"{app}: several agents are called {twice[0]!r}: give each a name=, or name a mapping"
        )
    return dict(named)


def _named_agents(app: str) -> list[tuple[str, Agent[Any, Any]]]:
    """The agents, each with what it is called."""
    content = _content_at(app)
    if isinstance(content, Mapping):
        pairs = [(str(name), agent) for name, agent in content.items()]
    else:
        several = (
            content if isinstance(content, Iterable) and not isinstance(content, str) else [content]
        )
        pairs = [(agent.assembly.name, agent) for agent in several if isinstance(agent, Agent)]
        if len(pairs) == 1:  # one without a name is called as it is in its module
            ((name, agent),) = pairs
            pairs = [(name or app.partition(":")[2] or USUAL[-1], agent)]
    agents = [(name, agent) for name, agent in pairs if isinstance(agent, Agent)]
    if not agents:
        raise click.UsageError(
            f"{app} is no agent, no list of agents, and nothing that makes one: {content!r:.80}"
        )
    return agents


def _content_at(app: str) -> object:
    """What stands there, or what the function that does so makes."""
    module_name, _, name = app.partition(":")
    _require_module_name(app, module_name, name or USUAL[-1])
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise _fault(app, error) from error
        hint = _module_suggestion(module_name, name)
        raise click.UsageError(f"{app}: there is no module {module_name!r}{hint}") from error
    except Exception as error:
        raise _fault(app, error) from error
    names = [name] if name else [usual for usual in USUAL if hasattr(module, usual)]
    if not names or not hasattr(module, names[0]):
        wanted = repr(name) if name else " or ".join(map(repr, USUAL))
        hint = _name_suggestion(module, module_name, name)
        raise click.UsageError(f"{app}: module {module_name!r} has no {wanted}{hint}")
    found = getattr(module, names[0])
    if not _makes(found):
        return found
    try:
        return found()
    except Exception as error:
        raise _fault(app, error) from error


def _name_suggestion(module: ModuleType, module_name: str, name: str) -> str:
    """Which name of the module may have been meant: one like it, or that of an agent."""
    public = [each for each in vars(module) if not each.startswith("_")]
    close = get_close_matches(name, public, n=1)
    agents = [f"{module_name}:{each}" for each in public if isinstance(vars(module)[each], Agent)]
    if not agents and not close:  # a function that makes them, as far as its name says so
        close = [each for each in public if _is_maker(module, each)]
    has = f" Its agents are {', '.join(agents)}" if len(agents) > 1 else ""
    found = [f"{module_name}:{each}" for each in close] or agents
    none = "" if name else f"; name what is its agent, or makes one: {module_name}:NAME"
    return f"; did you mean {found[0]}?{has}" if found else none


def _is_maker(module: ModuleType, name: str) -> bool:
    found = vars(module)[name]
    is_own = getattr(found, "__module__", None) == module.__name__
    return is_own and not isinstance(found, type) and "agent" in name.lower() and _makes(found)


def _module_suggestion(module_name: str, name: str) -> str:
    """Which module of this folder may have been meant, or where they are looked for."""
    here = Path.cwd()
    known = [path.stem for path in sorted(here.glob("*.py"))]
    known += [path.parent.name for path in sorted(here.glob("*/__init__.py"))]
    if found := get_close_matches(module_name.partition(".")[0], known, n=1):
        return f"; did you mean {found[0]}{f':{name}' if name else ''}?"
    has = f"which has {', '.join(known[:9])}" if known else "which has no Python file"
    return f" here, in {here}, {has}, nor is one installed"


def _require_module_name(app: str, module: str, name: str) -> None:
    """Raise UsageError for a path, and say how what is in it is named."""
    path = Path(module)
    if not module.startswith(".") and module and path.suffix != ".py" and len(path.parts) == 1:
        return
    if not module.strip("."):
        raise click.UsageError(f"{app}: name a module and what is in it, such as desk:{name}")
    here = Path.cwd()
    where = here / (module.lstrip("./") if len(path.parts) == 1 else path)
    where = where.resolve().parent / where.name.removesuffix(".py")
    is_here = where.is_relative_to(here)
    word = ".".join(where.relative_to(here).parts) if is_here else where.name
    folder = "" if is_here else f", from its own folder: cd {where.parent}"
    raise click.UsageError(f"{app}: a module is named as an import does: {word}:{name}{folder}")


def _fault(app: str, error: Exception) -> click.ClickException:
    """What is wrong with the agents' own code, and on which of its lines."""
    if isinstance(error, SyntaxError):
        return ending(f"{app}: {error.filename}:{error.lineno}: {error.msg}")
    frames = [frame for frame in extract_tb(error.__traceback__) if _is_of_user(frame.filename)]
    where = f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""
    return ending(f"{app}: {where}{type(error).__name__}: {error}")


def _is_of_user(file: str) -> bool:
    """Whether it is neither Detent's, nor a library's."""
    return not file.startswith(("<", OWN)) and "site-packages" not in file


OWN = str(Path(__file__).parents[3])
"""Where Detent's own code is."""


def _makes(found: object) -> bool:
    """Whether it is a function that can be called as it is."""
    if not callable(found) or isinstance(found, Agent | Tool):
        return False
    try:
        signature(found).bind()
    except (TypeError, ValueError):
        return False
    return True


def agent_for(app: str | None, name: str, store: Journal, what: str) -> Agent[Any, Any]:
    """The agent called `name`. One without a journal has its runs in `store`.

    One that has a journal keeps it: it may seal or redact what is written.

    Raises:
        ClickException: there is no `app`, or it has no such agent.
    """
    if app is None:
        raise click.UsageError(
            f"to {what} a run needs its agent's code: --app module:name, where the name is that of "
            "an agent, of several, or of a function that makes them; a run of detent run goes on "
            "by detent run --resume, one of detent chat by detent chat --thread"
        )
    agents = _named_agents(app)
    named = [pair for pair in agents if name in {pair[0], pair[1].assembly.name}]
    if len(named or agents) > 1:
        has = ", ".join(repr(own) for own, _ in agents)
        raise click.UsageError(
            f"the run is of agent {name!r}, and {app} has {has}: give each agent a name=, or name "
            "a mapping by the names that runs are started with"
        )
    ((_, agent),) = named or agents
    if agent.assembly.journal is not None:
        return agent
    bound = copy(agent)
    vars(bound)["_assembly"] = evolve(agent.assembly, journal=store)
    return bound


def journal_of_app(app: str) -> Journal | None:
    """The journal that all agents there have; None if they have none, or several."""
    found = {
        id(journal): journal for journal in (agent.assembly.journal for agent in agents_at(app))
    }
    return next(iter(found.values())) if len(found) == 1 else None
