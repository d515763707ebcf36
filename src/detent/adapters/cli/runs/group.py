"""`detent runs`: the group of the commands."""

from __future__ import annotations

import click

from detent.adapters.cli.endings import CodedGroup
from detent.adapters.cli.runs.deciding import decide
from detent.adapters.cli.runs.granting import grants, revoke
from detent.adapters.cli.runs.keeping import backup, clean, export, verify
from detent.adapters.cli.runs.looking import list_runs, pending, show
from detent.adapters.cli.runs.steering import cancel, resume, send
from detent.adapters.cli.runs.trying import diff, fork, replay
from detent.adapters.cli.runs.watching import watch


@click.group(cls=CodedGroup)
def runs() -> None:
    """Look into the runs of a store or of a host, and steer them.

    A run may be named by the beginning of its id, the newest by the word last. Documents and tables
    go to stdout, messages to stderr. The exit code is 1 where something has failed, 2 for a wrong
    use, 3 where a run waits for a human, 4 where a decision is refused, 5 where something is not
    found, 6 where a run is busy, and 130 after Ctrl-C.
    """


for command in (
    *(list_runs, show, watch, pending, decide, grants, revoke, resume, cancel, send),
    *(fork, replay, diff, export, verify, backup, clean),
):
    runs.add_command(command)
