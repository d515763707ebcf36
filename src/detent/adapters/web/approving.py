"""Approving: what the approvers of an agent want, and what is done where a page cannot give it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from attrs import frozen
from starlette.requests import Request

from detent.adapters.web.people import Person, TokenSignIn
from detent.adapters.web.rendering import base_of
from detent.ports.approvers import Wanted
from detent.ports.hosting import HostedAgent
from detent.ports.pending import PendingCall

DIGEST_SHOWN = 12
"""The characters of a digest that a command names."""


@frozen
class Lack:
    """Why a decision that is made on a page will not count: in words, and by a command.

    `is_certain` says that none can, whoever is signed in.
    """

    text: str
    command: str = ""
    is_certain: bool = False


def wanted_of(agents: Iterable[HostedAgent], name: str) -> Wanted:
    """What decisions about runs of an agent bring along."""
    for agent in agents:
        if agent.has_runs_of(name):
            return agent.wanted
    return "nothing"


def lack_of(request: Request, wanted: Wanted, call: PendingCall) -> Lack | None:
    """What the person whose request it is lacks to decide about a call; None is nothing."""
    person: Person = request.state.person
    if person.is_read_only:
        text = "You may look at this, and not decide: your token is read-only."
        return Lack(text, is_certain=True)
    if wanted == "nothing" or (wanted == "credential" and person.credential is not None):
        return None
    if wanted == "credential":
        return Lack(
            "Its approvers want to know who decides, and nothing here proves who "
            f"{person.name} is: have people sign in, by detent serve --token-file FILE or "
            "web_app(…, sign_in=…), or decide where the store is, by detent runs decide "
            "--credential-file FILE."
        )
    place = f"{request.url.scheme}://{request.url.netloc}{base_of(request)}"
    # an id that looks like an option stands behind them all: `--` says that it is none
    is_optionlike = call.run_id.startswith("-")
    before, behind = ([], ["--", call.run_id]) if is_optionlike else ([call.run_id], [])
    words = ["detent", "runs", "decide", *before, "--host", place]
    if isinstance(request.app.state.sign_in, TokenSignIn):
        words += ["--token-file", "FILE"]
    words += ["--key-file", "KEY", "--digest", call.digest[:DIGEST_SHOWN], "--confirm", *behind]
    text = (
        "Its approvers want a signature, which is made where your key is, and not on a page. To "
        "confirm it there (or to --reject, --modify or --respond):"
    )
    return Lack(text, shlex.join(words), is_certain=True)
