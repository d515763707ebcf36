"""Proving who decides: what an agent's approvers know somebody by, or a signature made here.

RULE: a secret comes out of a file or a variable. What stands on a command line, everybody sees who
lists the processes of this machine.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from attrs import evolve, field, frozen

from detent.adapters.cli.endings import REFUSED, ending
from detent.adapters.cli.runs.options import text_of
from detent.adapters.confirmation.signatures import Signer
from detent.core.control.decisions import ToolExecutionDecision
from detent.core.machine.calls import DecisionRefusedError
from detent.ports.approvers import Wanted

F = TypeVar("F", bound=Callable[..., Any])
CREDENTIAL = "DETENT_CREDENTIAL"
SIGNED_S = 300.0
"""So long a signature counts that is made here, in seconds: it is used at once."""
WAYS = {
    "credential": f"--credential-file FILE, or {CREDENTIAL}, is what they know you by",
    "signature": "--key-file FILE signs it, by a line with your name and your private key",
}
"""How a decision gets what approvers want of it."""


def proof_options(command: F) -> F:
    """``--credential-file`` and ``--key-file``: who decides, for an agent with approvers."""
    for option, text in (
        ("--key-file", "Sign it for approvers: a line with your name and a Signer's private_key."),
        (
            "--credential-file",
            f"At a store, what the agent's approvers know you by. [default: {CREDENTIAL}]",
        ),
    ):
        place = click.Path(exists=True, dir_okay=False, path_type=Path)
        command = click.option(option, type=place, help=text)(command)
    return command


@frozen
class Proof:
    """What somebody has at hand to show who they are; nothing is the default."""

    credential: str | None = field(default=None, repr=False)
    signer: Signer | None = None

    @property
    def is_there(self) -> bool:
        """Whether it is anything."""
        return self.credential is not None or self.signer is not None

    def on(self, decision: ToolExecutionDecision) -> ToolExecutionDecision:
        """The decision with it."""
        if self.signer is not None:
            return self.signer.sign(decision, expires_at=time.time() + SIGNED_S)
        return evolve(decision, credential=self.credential)


def proof_in(options: dict[str, Any], *, is_host: bool) -> Proof:
    """What the options and the variable say.

    Raises:
        UsageError: they say several things, or none of them where a file should.
    """
    file, key_file = options["credential_file"], options["key_file"]
    if file is not None and is_host:
        raise click.UsageError("--credential-file is for a store: a host knows you by your token")
    if file is not None and key_file is not None:
        raise click.UsageError("who decides is proven by --credential-file or --key-file, not both")
    if key_file is not None:
        if options["by"] is not None:
            raise click.UsageError("--key-file says who signs: leave out --by")
        return Proof(signer=_signer(key_file))
    if is_host:
        return Proof()
    if file is None:
        return Proof(os.environ.get(CREDENTIAL) or None)
    if not (text := text_of(file, "--credential-file").strip()):
        raise click.UsageError(f"--credential-file {file}: there is nothing in it")
    return Proof(text)


def _signer(file: Path) -> Signer:
    """Whose key is in a file. Raises UsageError, which quotes nothing of it."""
    lines = [line.strip() for line in text_of(file, "--key-file").splitlines()]
    found = [line.rpartition(" ") for line in lines if line and not line.startswith("#")]
    name, _, key = found[0] if len(found) == 1 else ("", "", "")
    signer = Signer(name.strip(), key)
    try:
        is_key = bool(signer.name and signer.public_key)
    except ValueError:
        is_key = False
    if not is_key:
        text = f"--key-file {file}: expected one line, with your name and the private_key of your"
        raise click.UsageError(f"{text} Signer")
    return signer


def words_to_prove(wanted: Wanted, *, is_host: bool) -> str:
    """What a command that decides is to be given, so that it can be pasted."""
    if wanted == "signature":
        return " --key-file FILE"
    if wanted == "credential" and not is_host and not os.environ.get(CREDENTIAL):
        return " --credential-file FILE"
    return ""


@contextmanager
def told_what_is_wanted(wanted: Wanted, proof: Proof) -> Generator[None]:
    """A decision of somebody who has shown nothing is refused with how it is shown."""
    try:
        yield
    except DecisionRefusedError as error:
        if wanted == "nothing" or proof.is_there or error.refusal.why != "unauthenticated":
            raise
        raise ending(f"{error}; {WAYS[wanted]}", REFUSED) from error
