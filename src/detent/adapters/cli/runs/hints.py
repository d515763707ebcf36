"""How the next command finds what this one has found: each command that we name can be pasted."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import click
from click.core import ParameterSource

from detent.adapters.providers.http.endpoints import without_secrets
from detent.adapters.system.program import program

PLACE = "detent.runs.place"


def note_place(ctx: click.Context, options: Mapping[str, object]) -> None:
    """Keep the options that say where the runs are, as they were typed."""
    ctx.meta[PLACE] = options


def is_place_said() -> bool:
    """Whether an option or a variable says where the runs are: else they are those of one's own."""
    return any(click.get_current_context().meta.get(PLACE, {}).values())


def place_words() -> str:
    """The options that were typed and say where the runs are, and their agents' code.

    What a variable says, the next command is told by it, too. A key in a URL is not shown.
    """
    ctx = click.get_current_context()
    typed = [
        f" --{name.replace('_', '-')} {shlex.quote(without_secrets(str(value)))}"
        for name, value in ctx.meta.get(PLACE, {}).items()
        if value and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    return "".join(typed)


def runs_command(*words: str) -> str:
    """A command of `detent runs` as it can be pasted, with the place that was typed here.

    A bare `detent` is found only where the PATH has it, and a program of its own venv has it not.
    """
    return shlex.join([*program(), "runs", *words]) + place_words()


def resume_command(run_id: str) -> str:
    """What goes on with a run, as it can be pasted."""
    return runs_command("resume", run_id)
