"""`decide`: what somebody says about a call that waits, at a store or over a host."""

from __future__ import annotations

import getpass
import shlex
import sys
from collections.abc import Collection, Iterable, Sequence
from operator import itemgetter
from typing import Any

import click
from rich.console import Console

from detent.adapters.cli.asking import is_yes
from detent.adapters.cli.endings import REFUSED, ending
from detent.adapters.cli.runs.apps import agent_for
from detent.adapters.cli.runs.hints import resume_command, runs_command
from detent.adapters.cli.runs.looking import (
    DIGEST_SHOWN,
    question_lines,
    required_story,
    told_if_outdated,
)
from detent.adapters.cli.runs.options import app_option, json_option, place_option, run_argument
from detent.adapters.cli.runs.printing import exact_row, one_row, put_json, put_lines, say
from detent.adapters.cli.runs.proving import (
    WAYS,
    Proof,
    proof_in,
    proof_options,
    told_what_is_wanted,
)
from detent.adapters.cli.runs.remote import RemoteHost
from detent.adapters.cli.runs.stores import run_named
from detent.adapters.cli.show import put
from detent.adapters.stories.entries import compact
from detent.adapters.stories.parts import Story
from detent.core.codec.json_text import read_json
from detent.core.control.decisions import ToolExecutionDecision
from detent.core.run.approval import SCOPES
from detent.core.tools.masking import MASK, masked
from detent.core.values.frozen import thaw
from detent.ports.approvers import Wanted, wanted_by
from detent.ports.journal import Journal
from detent.ports.pending import PendingCall, left_over

DIGEST_LEAST = 8
"""With so many characters nobody hits upon another question: its run's nonce is in the digest."""

ABOUT_THIS = "Is it about this?"


@click.command()
@run_argument()
@click.argument("call", metavar="[CALL]", required=False)
@place_option
@app_option
@click.option("--confirm", is_flag=True, help="Let it run as it is.")
@click.option("--reject", is_flag=True, help="Do not let it run.")
@click.option("--modify", metavar="JSON", help="Let it run with these arguments changed.")
@click.option("--respond", metavar="TEXT", help="Answer in the tool's place.")
@click.option("--reason", metavar="TEXT", help="For the model, with --reject and --modify.")
@click.option(
    "--remember",
    type=click.Choice(SCOPES),
    help="What a yes counts for, in this run. [default: what its policy says]",
)
@click.option("--digest", metavar="TEXT", help="Of the question seen: 8 characters or more.")
@click.option("--unseen", is_flag=True, help="Without --digest: about whatever waits by now.")
@click.option("--by", metavar="NAME", help="Who decides. [default: the name of the user]")
@proof_options
@json_option
def decide(
    *, run_id: str, call: str | None, store: Journal, app: str | None, as_json: bool, **options: Any
) -> None:
    """Decide about a call that waits: CALL is its id or its tool, if more than one waits.

    Needs --app or --host. The run goes on where it is driven, or with `detent runs resume`. All
    but --reject is about the question with the --digest that `pending` shows, in a store and over a
    host: another may wait by now, and then nothing is decided (exit code 4). Without --digest, a
    terminal shows what waits and asks. An agent with approvers takes what they know you by, at a
    host your token, or what you sign.
    """
    name = run_named(store, run_id)
    if isinstance(store, RemoteHost):
        _decide_over(store, name, call, options, as_json=as_json)
        return
    agent = agent_for(app, required_story(store, name).agent, store, "decide about")
    with told_if_outdated(store):
        waiting = agent.pending(name)
    pending = _pending_call(waiting, name, call, agent.spec.tools, store)
    proof = proof_in(options, is_host=False)
    decision = proof.on(_decision(pending, options, as_json=as_json))
    with told_what_is_wanted(wanted_by(agent.assembly.approvers), proof):
        left = agent.decide(name, decision)
    way = f"; it goes on where it is driven, or by {resume_command(name)}"
    _put_decided(pending, left, "" if left else way, as_json=as_json)


def _decide_over(
    host: RemoteHost, run_id: str, call: str | None, options: dict[str, Any], *, as_json: bool
) -> None:
    """Decide at a host, which knows by the token who it is, and goes on with the run."""
    if options["by"] is not None:
        raise click.UsageError("--by is for a store: a host knows who you are by your token")
    proof = proof_in(options, is_host=True)
    with told_if_outdated(host):
        waiting = host.waiting(run_id)
    pending = _pending_call(waiting.calls, run_id, call, waiting.tools, host)
    _require_proof(waiting.wanted, proof)
    decision = proof.on(_decision(pending, options, as_json=as_json))
    by, todo = host.decide(run_id, decision)
    left = list(left_over(host.waiting(run_id).calls, pending, decision, by))
    way = f"the host goes on with it, see {runs_command('watch', run_id)}"
    more = f" by {by}; {todo or way}"
    _put_decided(pending, left, more, as_json=as_json)


def _require_proof(wanted: Wanted, proof: Proof) -> None:
    """A host has no use for a signature that nobody checks, and cannot do without one that is."""
    if wanted == "signature" and proof.signer is None:
        raise ending(f"the approvers of its agent want a signature: {WAYS[wanted]}", REFUSED)
    if wanted != "signature" and proof.signer is not None:
        raise click.UsageError("--key-file: nobody at this host checks signatures; leave it out")


def _require_seen(
    pending: PendingCall, options: dict[str, Any], instead: str = "", *, as_json: bool
) -> None:
    """A yes is to what somebody has seen. Meanwhile that may have lapsed, and another call wait.

    `instead` are the arguments with which it is to run in place of those that are shown.
    """
    digest = options["digest"]
    if digest is not None:
        if len(digest) < DIGEST_LEAST:
            text = f"--digest {digest} is too short: {DIGEST_LEAST} characters say which question"
            raise ending(text, REFUSED)
        if not pending.digest.startswith(digest):
            text = f"what waits in run {pending.run_id} is not what was shown: look again"
            raise ending(text, REFUSED)
        return
    if options["reject"] or options["unseen"]:
        return
    console = Console(stderr=True)
    for text, style in question_lines(pending):
        put(console, text, style)
    # Only where the question was seen can it be answered, by what is typed once all of it is there.
    if sys.stdin.isatty() and sys.stderr.isatty() and not as_json:
        asked = f"Is it about this, to run with {instead} instead?" if instead else ABOUT_THIS
        if not is_yes(asked):
            raise ending("nothing is decided", REFUSED)
        return
    raise ending(f"if it is about this, say so: --digest {pending.digest[:DIGEST_SHOWN]}", REFUSED)


def _put_decided(
    pending: PendingCall, left: Sequence[PendingCall], then: str = "", *, as_json: bool
) -> None:
    if as_json:
        calls = [each.to_dict() for each in left]
        put_json({"run_id": pending.run_id, "decided": pending.to_dict(), "pending": calls})
        return
    wait = "1 call still waits" if len(left) == 1 else f"{len(left)} calls still wait"
    what = f"{pending.tool_name} is decided about{then}"
    for each in left:
        if each.digest == pending.digest and each.votes:
            more = each.more_votes
            people = "1 more person" if more == 1 else f"{more} more people"
            who = one_row(each.votes[-1] or "somebody")
            what = f"{who} has said yes to {pending.tool_name}; {people} must say yes, too"
    say(f"run {pending.run_id}: {what}; {wait}")
    put_lines([line for each in left for line in question_lines(each)])


def _pending_call(
    waiting: tuple[PendingCall, ...],
    run_id: str,
    call: str | None,
    tools: Collection[str],
    store: Journal,
) -> PendingCall:
    """The call that is meant. The model writes the ids: none of them passes for a tool's name."""
    found = [
        pending
        for pending in waiting
        if call in {None, pending.tool_name} or (call == pending.call_id not in tools)
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        named = "no call" if call is None else f"no call {call}"
        decided = _decided_before(required_story(store, run_id), call)
        others = f"; there wait {_names(waiting)}" if waiting else ""
        raise ending(f"in run {run_id} {named} waits for a human{decided}{others}", REFUSED)
    names = _names(found)
    raise click.UsageError(f"more than one call waits, say which: {names}")


def _names(waiting: Iterable[PendingCall]) -> str:
    """The calls, each as it can be named: by its tool, and by its id in brackets."""
    return ", ".join(f"{call.tool_name} ({one_row(call.call_id)})" for call in waiting)


def _decided_before(story: Story, call: str | None) -> str:
    """What was said of the last call that is meant, and by whom: somebody was faster."""
    calls = [
        (decided.decided_at, f": {decided.tool} was {decided.said[-1]}")
        for turn in story.every_turn
        for decided in turn.calls
        if decided.decided_at is not None
        and decided.said
        and call in {None, decided.tool, decided.call_id}
    ]
    return max(calls, key=itemgetter(0))[1] if calls else ""  # those inside come first


def _decision(
    pending: PendingCall, options: dict[str, Any], *, as_json: bool
) -> ToolExecutionDecision:
    """What is said of a call, if it is the one that was seen."""
    ways = (
        options["confirm"],
        options["reject"],
        options["modify"] is not None,
        options["respond"] is not None,
    )
    if sum(ways) != 1:
        raise click.UsageError("decide by one of --confirm, --reject, --modify and --respond")
    by = options["by"] or getpass.getuser()
    if options["modify"] is not None:
        arguments = _arguments(pending, options["modify"])
        secret = [name for name, value in pending.arguments.items() if value == MASK]
        instead = exact_row(compact(masked(arguments, secret)))
        if not as_json:
            say(f"changed so, {pending.tool_name} would run with {instead}")
        _require_seen(pending, options, instead, as_json=as_json)
        return pending.modify(arguments, options["reason"], by=by)
    _require_seen(pending, options, as_json=as_json)
    if options["respond"] is not None:
        return pending.respond(options["respond"], by=by)
    if options["reject"]:
        return pending.reject(options["reason"], by=by)
    return pending.confirm(by=by, remember=options["remember"])


def _arguments(pending: PendingCall, text: str) -> dict[str, Any]:
    """All arguments: the changed, and of the others a secret one as the mask that stands for it."""
    try:
        changed = read_json(text)
    except ValueError:
        changed = None
    if not isinstance(changed, dict):
        shown = [(name, value) for name, value in pending.arguments.items() if value != MASK]
        example = shlex.quote(compact(dict(shown[:1])))
        raise click.UsageError(
            f"--modify expects an object of JSON with the arguments that change, such as {example}"
        )
    arguments = {name: thaw(value) for name, value in pending.arguments.items()} | changed
    if faults := pending.faults(arguments):
        raise ending("; ".join(faults), REFUSED)
    return arguments
