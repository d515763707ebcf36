"""`fork`, `replay` and `diff`: a run tried again from a place, made again, beside another one."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import click
from rich.console import Console

from detent.adapters.agent.records.proofs import replay_problem
from detent.adapters.cli.endings import FAILED, USAGE, ending
from detent.adapters.cli.runs.apps import agent_for
from detent.adapters.cli.runs.hints import runs_command
from detent.adapters.cli.runs.looking import required_story
from detent.adapters.cli.runs.options import (
    app_option,
    json_option,
    place_option,
    run_argument,
    store_option,
)
from detent.adapters.cli.runs.printing import Line, put_json, put_lines, say, short
from detent.adapters.cli.runs.steering import end_with
from detent.adapters.cli.runs.stores import run_named
from detent.adapters.cli.show import Show
from detent.adapters.drivers.history import Runs
from detent.adapters.drivers.recording import RunExistsError
from detent.adapters.stories.steps import Comparison, steps_of
from detent.core.chat.messages import ChatMessage
from detent.ports.journal import Journal

AROUND = 3
"""So many steps before the first difference are shown."""


@click.command()
@run_argument()
@store_option
@app_option
@click.option(
    "--at",
    type=click.IntRange(1),
    metavar="ENTRIES",
    help="After its first so many: 1 is as it began. [all]",
)
@click.option("--message", metavar="TEXT", help="What the user says next.")
@click.option("--new-id", metavar="ID", help="What the new run is called.")
@click.option("--run", "drives", is_flag=True, help="Go on with it at once.")
@json_option
def fork(
    *,
    run_id: str,
    store: Journal,
    app: str | None,
    at: int | None,
    message: str | None,
    new_id: str | None,
    drives: bool,
    as_json: bool,
) -> None:
    """Begin a new run as another one was after some of its entries. Needs --app.

    `detent runs show RUN --view entries` says for each entry which --at is just behind it. With a
    --message that must be where no call is open. The exit code is 2 where it cannot be there, or
    where there is a run --new-id already.
    """
    name = run_named(store, run_id)
    agent = agent_for(app, required_story(store, name).agent, store, "fork")
    messages = [] if message is None else [ChatMessage.from_user(message)]
    snapshot = Runs(agent.assembly.required_journal, agent.spec).fork(name, at, messages=messages)
    console = Console(stderr=as_json)
    if drives:
        with _id_is_free():
            result = agent.run(
                snapshot=snapshot,
                streaming_callback=Show(console),
                run_id=new_id,
                raise_at_break_point=False,
            )
        end_with(result, console, as_json=as_json)
        return
    with _id_is_free():
        made = agent.begin(snapshot=snapshot, run_id=new_id).result(raises=False).run_id
    if as_json:
        put_json({"run_id": made, "of": name, "after": at})
    else:
        click.echo(made)
        say(f"To go on with it: {runs_command('resume', made)}")


@contextmanager
def _id_is_free() -> Generator[None]:
    """That there is a run of the new one's id is a wrong use, and it is said what is to be done."""
    try:
        yield
    except RunExistsError as error:
        way = runs_command("resume", error.run_id)
        text = (
            f"there is a run {error.run_id!r} already, with {error.found} entries: name another "
            f"--new-id, or go on with that one by {way}"
        )
        raise ending(text, USAGE) from error


@click.command()
@run_argument()
@store_option
@app_option
@json_option
def replay(*, run_id: str, store: Journal, app: str | None, as_json: bool) -> None:
    """Make a run again of all its events, and compare it with what is stored. Needs --app.

    Nothing is asked of a model, and no tool runs. The exit code is 1 where it is another run.
    """
    name = run_named(store, run_id)
    agent = agent_for(app, required_story(store, name).agent, store, "replay")
    problem = replay_problem(agent.assembly.required_journal, agent.spec, name)
    if as_json:
        put_json({"run_id": name, "equal": problem is None, "problem": problem})
    elif problem is None:
        say(f"run {name}: replayed, and the same")
    if problem is not None:
        raise ending(problem, FAILED)


@click.command()
@run_argument("run_a")
@run_argument("run_b")
@place_option
@json_option
def diff(*, run_a: str, run_b: str, store: Journal, as_json: bool) -> None:
    """Show from where on two runs differ, and what each has said and done then.

    A fork is compared from where the other run began. The exit code is 0 also where they differ.
    """
    first, second = run_named(store, run_a), run_named(store, run_b)
    steps = (steps_of(name, store.read(name)) for name in (first, second))
    found = Comparison.of(*steps)
    same = len(found.same)
    if as_json:
        put_json({"a": first, "b": second, "same": same, "in_a": found.in_a, "in_b": found.in_b})
        return
    if not (found.in_a or found.in_b):
        say(f"{first} and {second} did the same, in {same} steps")
        return
    lines: list[Line] = [(f"  {short(step)}", "dim") for step in found.same[-AROUND:]]
    lines += [(f"- {short(step, 200)}", "red") for step in found.in_a]
    lines += [(f"+ {short(step, 200)}", "green") for step in found.in_b]
    put_lines([(f"- {first}", "red"), (f"+ {second}", "green"), *lines])
    say(f"the same in the first {same} steps")
