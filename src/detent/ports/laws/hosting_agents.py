"""The promises of the hosting port about agents: what they do anywhere, they do on a host."""

from __future__ import annotations

from detent.core.chat.messages import ChatMessage
from detent.ports.hosting import Host, PendingQuestion, Revoke
from detent.ports.journal import Entry
from detent.ports.laws.hosting_waits import (
    Law,
    accepted,
    has_begun,
    must,
    question_of,
    questions_of,
    until,
    why_of,
)

HOOKED = "hooked"


async def what_an_agent_inside_asks_is_asked(host: Host) -> None:
    """A question of an agent inside a run is one of that run, and a decision goes on with both."""
    await host.start("boss", "pay", run_id="nests")
    call = (await question_of(host, "nests")).call
    must((call.run_id, call.tool_name) == ("nests", "give"), "it is a question of the whole run")
    accepted(await host.send("nests", call.confirm(by="Ada")))
    result = await host.result("nests")
    must(result.text == "Done: Done: gave 5", "the agent around it is given what has come of it")


async def what_was_confirmed_is_remembered(host: Host) -> None:
    """A policy that learns asks once: the run knows it, whichever worker goes on with it."""
    await host.start("learner", "pay twice", run_id="learns")
    call = (await question_of(host, "learns")).call
    accepted(await host.send("learns", call.confirm(by="Ada")))
    result = await host.result("learns")
    must(result.text == "Done: gave 5, gave 5", "what was confirmed is not asked about again")
    must(len(result.run.decisions) == 1, "a human decides once")


async def what_was_confirmed_can_be_taken_back(host: Host) -> None:
    """What counts for further calls is listed, of agents inside as well, until somebody ends it."""
    await host.start("chief", "pay", run_id="revokes")
    call = (await question_of(host, "revokes")).call
    accepted(await host.send("revokes", call.confirm(by="Ada", remember="tool")))
    (lent,) = await until(lambda: _questions_about(host, "lend"))
    (grant,) = (await host.run("revokes")).grants
    must((grant.call.tool_name, grant.by) == ("give", "Ada"), "what was confirmed is listed")
    must([agent.tool_name for agent in grant.path] == ["helper"], "and of which agent it is")
    accepted(await host.send("revokes", Revoke(grant, by="Bob")))
    must(not (await host.run("revokes")).grants, "what was taken back counts no more")
    again = await host.send("revokes", Revoke(grant))
    must(why_of(again) == "unknown_call", "what does not count is not taken back")
    accepted(await host.send("revokes", lent.call.reject()))
    await host.result("revokes")
    late = await host.send("revokes", Revoke(grant))
    must(why_of(late) == "ended", "nothing is taken back in a run that has ended")


async def _questions_about(host: Host, tool_name: str) -> list[PendingQuestion]:
    """The questions of the run "revokes" about a tool."""
    found = await questions_of(host, "revokes")
    return [question for question in found if question.call.tool_name == tool_name]


async def a_wait_ends_by_itself(host: Host) -> None:
    """A question that nobody answers ends in time, and what has failed is tried again later."""
    await host.start("hasty", "pay", run_id="expires")
    await host.start("stubborn", "fail", run_id="retries")
    text = (await host.result("expires")).text or ""
    must("gave" not in text, "nobody has said yes")
    must(not await questions_of(host, "expires"), "what nobody has answered is asked no more")
    result = await host.result("retries")
    must((result.text or "").startswith("Done: "), "a run goes on behind what has failed")
    entries = [item async for item in host.watch("retries") if isinstance(item, Entry)]
    raised = [entry for entry in entries if entry.kind == "ToolRaised"]
    must(len(raised) - 1 == 1, "what has failed is tried once more")


async def a_run_at_work_hears_a_message(host: Host) -> None:
    """The model reads it when it is asked next."""
    await host.start("reader", "one", run_id="hears")
    await until(lambda: has_begun(host, "hears"))
    answer = accepted(await host.send("hears", ChatMessage.from_user("two")))
    must(answer.run_id == "hears", "a run at work is told itself")
    must((await host.result("hears")).text == "one, two", "the model reads what was said")


async def hooks_are_called(host: Host) -> None:
    """What a hook makes of what a tool has said, the model reads."""
    await host.start(HOOKED, "pay", run_id="hooks")
    result = await host.result("hooks")
    must(result.text == "Done: gave 5, seen", "hooks stand between a run and its tools")


async def no_agent_has_hooks(host: Host) -> None:
    """A host that calls no hooks has no agent with some, which would go on without them."""
    names = {agent.name for agent in await host.agents()}
    must(HOOKED not in names, "an agent with hooks is left out")


AGENT_LAWS: tuple[Law, ...] = (
    what_an_agent_inside_asks_is_asked,
    what_was_confirmed_is_remembered,
    what_was_confirmed_can_be_taken_back,
    a_wait_ends_by_itself,
    a_run_at_work_hears_a_message,
)
