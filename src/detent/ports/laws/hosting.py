"""The promises of the hosting port as checks: run them against a host of your own.

def test_my_host(tmp_path):
    check_host(lambda: MyHost(host_agents(), tmp_path))

`detent.testing.host_agents` gives the agents that it must have.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing

from detent.core.chat.messages import ChatMessage
from detent.core.run.events import CancelRequested
from detent.ports.chat import ChatGeneratorError
from detent.ports.hosting import (
    Fork,
    Host,
    Piece,
    TryAgain,
    Watched,
)
from detent.ports.journal import Entry, RunNotFoundError
from detent.ports.laws.hosting_agents import AGENT_LAWS, hooks_are_called, no_agent_has_hooks
from detent.ports.laws.hosting_ends import END_LAWS
from detent.ports.laws.hosting_names import a_name_is_any_text_up_to_its_length
from detent.ports.laws.hosting_waits import (
    NOWHERE,
    Law,
    OpenHost,
    accepted,
    has_begun,
    has_raised,
    is_missing,
    must,
    question_of,
    questions_of,
    until,
    why_of,
)

PATIENCE_S = 30.0


def check_host(open_host: OpenHost, *, has_hooks: bool = True) -> None:
    """Check that a host keeps what the `Host` port promises.

    Args:
        open_host: opens it, with the agents of `detent.testing.host_agents`. Every call must give a
            host on the same store, which is empty at first.
        has_hooks: whether it takes agents with hooks. One that does not must say so where it is
            documented, and is given ``host_agents(has_hooks=False)``.

    Raises:
        AssertionError: it does not; the message is the law that it breaks.
    """
    for law in (*LAWS, *AGENT_LAWS, hooks_are_called if has_hooks else no_agent_has_hooks):
        asyncio.run(_checked(law.__doc__, _while_open(open_host, law)))
    for end_law in END_LAWS:
        asyncio.run(_checked(end_law.__doc__, end_law(open_host)))


async def _while_open(open_host: OpenHost, law: Law) -> None:
    async with open_host() as host:
        await law(host)


async def _checked(words: str | None, check: Awaitable[None]) -> None:
    try:
        async with asyncio.timeout(PATIENCE_S):
            await check
    except AssertionError:
        raise
    except Exception as error:
        sentence = f"{(words or '').strip()} ({type(error).__name__}: {error})"
        raise AssertionError(f"the host breaks a law: {sentence}") from error


async def a_run_is_begun_once(host: Host) -> None:
    """A run is begun once, however often it is asked for, and only for the agent that it is of."""
    begun = await asyncio.gather(*[host.start("echo", "hi", run_id="once") for _ in range(4)])
    must(all(answer.run_id == "once" for answer in map(accepted, begun)), "a run keeps its id")
    must(sum(accepted(answer).is_new for answer in begun) == 1, "a run is begun once")
    await host.result("once")
    entries, _ = await _watched(host.watch("once"))
    must([entry.kind for entry in entries].count("Started") == 1, "a run is begun once")
    again = accepted(await host.start("echo", "other words", run_id="once"))
    must(not again.is_new, "a run that has ended is not begun again")
    other = await host.start("clerk", "hi", run_id="once")
    must(why_of(other) == "other_agent", "a run of another agent is refused")
    must(why_of(await host.start("nobody", "hi")) == "unknown_agent", "an agent must be there")
    first, second = [accepted(await host.start("echo", "hi")) for _ in range(2)]
    must(first.run_id != second.run_id, "runs without an id get ids of their own")


async def what_does_not_fit_is_refused(host: Host) -> None:
    """What fits no run of the agent is refused, and no run is begun."""
    wrong = await host.start("clerk", "pay", run_id="wrong", state={"nothing": 1})
    must(why_of(wrong) == "invalid", "a state that does not fit is refused")
    must(await is_missing(host, "wrong"), "what is refused begins no run")


async def a_run_lives_by_itself(host: Host) -> None:
    """Nobody needs to watch: whoever leaves changes nothing."""
    await host.start("echo", "one two three", run_id="alone")
    async with aclosing(host.watch("alone")) as watched:
        await anext(watched)
    result = await host.result("alone")
    must(result.text == "one two three (1)", "a run that nobody watches ends by itself")
    hosted = await host.run("alone")
    listed = (hosted.listed.run_id, hosted.listed.agent, hosted.listed.status)
    must(listed == ("alone", "echo", "done"), "a run is listed with its agent and status")
    must(hosted.run.messages == result.messages, "a run is shown as it is")


async def what_is_watched_comes_once(host: Host) -> None:
    """Each entry comes once and in order; after a position, only what is behind it."""
    await host.start("echo", "one two three four", run_id="seen")
    entries, pieces = await _watched(host.watch("seen"))
    must([entry.position for entry in entries] == [*range(len(entries))], "entries come in order")
    must(entries[-1].status == "done", "a watcher is told of the end")
    must([piece.number for piece in pieces] == [*range(len(pieces))], "pieces have no gaps")
    text = "".join(piece.chunk.content for piece in pieces)
    must(text in {"", "one two three four (1) "}, "of an answer come all pieces, or none")
    for entry in entries:
        rest, _ = await _watched(host.watch("seen", after=entry.position))
        must(rest == entries[entry.position + 1 :], "after a position comes what is behind it")
    must(await _raises(host.watch("seen", after=len(entries)), ValueError), "there must be one")
    must(await _raises(host.watch(NOWHERE), RunNotFoundError), "a run must be there")


async def who_comes_back_misses_nothing(host: Host) -> None:
    """Whoever leaves at each entry and comes back sees what one who stays sees."""
    await host.start("echo", "come and go", run_id="again")
    seen = list[Entry]()
    while not seen or seen[-1].status != "done":
        async with aclosing(host.watch("again", seen[-1].position if seen else None)) as watched:
            async for item in watched:
                if isinstance(item, Entry):
                    seen.append(item)
                    break
    entries, _ = await _watched(host.watch("again"))
    must(seen == entries, "whoever comes back misses nothing, and sees nothing twice")


async def a_question_is_shown_whole(host: Host) -> None:
    """A call that waits is shown with all that a human needs, and a decision goes on with it."""
    await host.start("clerk", "pay", run_id="asks", thread_id="t1", state={"account": "42"})
    question = await question_of(host, "asks")
    call = question.call
    must((question.agent, question.thread_id) == ("clerk", "t1"), "a question says whose it is")
    must(call.arguments == {"amount": 5, "note": "thanks"}, "arguments come with defaults")
    must(call.digest and call.reason and call.answers.confirm, "a question is shown whole")
    must((await host.run("asks")).pending == (call,), "a run shows its questions")
    elsewhere = call.to_dict() | {"digest": "0" * 64}
    wrong = await host.send("asks", type(call).from_dict(elsewhere).confirm(by="Ada"))
    must(why_of(wrong) == "wrong_digest", "a decision about something else does not count")
    nowhere = await host.send(NOWHERE, call.confirm(by="Ada"))
    must(why_of(nowhere) == "unknown_run", "a decision is about a run that is there")
    accepted(await host.send("asks", call.confirm(by="Ada")))
    result = await host.result("asks")
    must(result.text == "Done: paid 5", "a run goes on by itself once it is decided")
    must([record.by for record in result.run.decisions] == ["Ada"], "who has decided is kept")
    twice = await host.send("asks", call.confirm(by="Bob"))
    must(why_of(twice) == "repeated", "a decision counts once")
    must(not await questions_of(host, "asks"), "what is decided is asked no more")


async def a_wait_has_an_end_for_who_waits(host: Host) -> None:
    """Whoever waits for a result may give up, and the run goes on waiting."""
    await host.start("clerk", "pay", run_id="patient")
    await question_of(host, "patient")
    try:
        await host.result("patient", timeout=0.05)
    except TimeoutError:
        is_over = True
    else:
        is_over = False
    must(is_over, "a wait for a result ends after its time")
    must((await host.run("patient")).listed.status == "waiting", "the run goes on waiting")


async def a_cancelled_run_ends(host: Host) -> None:
    """A run at work, and one that waits, end when somebody wants it; one that has ended does not.

    It is known afterwards why.
    """
    await host.start("sleeper", "sleep", run_id="works")
    await host.start("clerk", "pay", run_id="waits")
    await question_of(host, "waits")
    await until(lambda: has_begun(host, "works"))
    for run_id in ("works", "waits"):
        accepted(await host.send(run_id, CancelRequested("enough")))
        result = await host.result(run_id)
        must(result.exit_reason == "cancelled", "a run that is cancelled ends")
        late = await host.send(run_id, CancelRequested("enough"))
        must(why_of(late) == "ended", "what has ended cannot be cancelled")
    must(why_of(await host.send(NOWHERE, CancelRequested("x"))) == "unknown_run", "it is there")


async def a_failed_run_can_be_tried_again(host: Host) -> None:
    """The model is asked again in a run that has failed, and in no other one."""
    await host.start("failing", "hi", run_id="fails")
    must(await _fails(host, "fails"), "what the model has failed with is raised")
    before = (await host.run("fails")).listed.length
    accepted(await host.send("fails", TryAgain("Ada")))
    await until(lambda: _is_longer(host, "fails", before + 1))
    must(await _fails(host, "fails"), "the model is asked again")
    await host.start("echo", "hi", run_id="well")
    await host.result("well")
    must(why_of(await host.send("well", TryAgain())) == "ended", "only a failure is tried again")


async def a_conversation_goes_on(host: Host) -> None:
    """A thread's next run goes on where the last one has ended; two at a time are refused."""
    await host.start("echo", [_user("one", "mail")], run_id="t-1", thread_id="talk")
    await host.result("t-1")
    await host.start("echo", "two", run_id="t-2", thread_id="talk")
    must((await host.result("t-2")).text == "two (2)", "a thread goes on")
    await host.start("clerk", "pay", run_id="t-3", thread_id="shop")
    await question_of(host, "t-3")
    busy = await host.start("clerk", "pay", run_id="t-4", thread_id="shop")
    must(why_of(busy) == "thread_busy", "a thread has one run at a time")
    must(await is_missing(host, "t-4"), "what is refused begins no run")
    for listed in (await host.runs(thread_id="talk"), await host.runs(label="mail")):
        must({run.run_id for run in listed} == {"t-1", "t-2"}, "a thread lists its runs")


async def a_message_goes_on_behind_an_end(host: Host) -> None:
    """A message to a run that has ended begins another one behind it; else it is told to it."""
    await host.start("echo", "one", run_id="said")
    await host.result("said")
    behind = accepted(await host.send("said", _user("two")))
    must(behind.is_new and behind.run_id != "said", "a message begins a run")
    must((await host.result(behind.run_id)).text == "two (2)", "it goes on with the messages")
    twice = await host.send("said", _user("three"))
    must(why_of(twice) == "thread_busy", "behind one end, a conversation goes on once")
    length = (await host.run("said")).listed.length
    other = accepted(await host.start("echo", "else", run_id=f"said.{length}"))
    must(other.is_new, "what a run is called that goes on behind another one is nobody's own name")
    must(why_of(await host.send("said", _user(""))) == "invalid", "who speaks says something")
    await host.start("clerk", "pay", run_id="mute")
    await question_of(host, "mute")
    must(accepted(await host.send("mute", _user("x"))).run_id == "mute", "it is told to it")
    must(why_of(await host.send(NOWHERE, _user("x"))) == "unknown_run", "the run is there")


async def a_run_is_shown_as_it_was(host: Host) -> None:
    """After each of its entries; and what is stored makes the run that it says."""
    await host.start("echo", "then and now", run_id="past")
    await host.result("past")
    length = (now := await host.run("past")).listed.length
    must((await host.run("past", length)).run == now.run, "after all entries it is as it is")
    then = (await host.run("past", 1)).run
    must(then.outcome is None, "after the first entry it had not ended")
    must([*then.messages] == [*now.run.messages][: len(then.messages)], "it had begun the same")
    for wrong in (0, length + 1):
        must(await _has_no_such_time(host, "past", wrong), "a run has the times that it has")
    must((await host.verify("past")).problems == (), "what is stored makes the same run again")
    must((await host.verify("past")).length == length, "all entries are looked at")


async def a_fork_begins_as_a_run_was(host: Host) -> None:
    """A fork is a run of its own, of whoever wanted it, and what was confirmed does not count."""
    await host.start("clerk", "pay", run_id="trunk", thread_id="forked", started_by="Ann")
    question = await question_of(host, "trunk")
    accepted(await host.send("trunk", question.call.confirm(by="Bob")))
    await host.result("trunk")
    before = (await host.run("trunk")).listed
    other = accepted(await host.send("trunk", Fork(length=2, by="Eve")))
    must(other.is_new and other.run_id != "trunk", "a fork is a new run")
    call = (await question_of(host, other.run_id)).call
    must(call.arguments == question.call.arguments, "a fork asks what the run has asked")
    must(call.started_by == "Eve", "a fork is begun by whoever wants it")
    must((await host.run(other.run_id)).listed.thread_id == "", "it is of no conversation")
    must((await host.run("trunk")).listed == before, "the run stays as it is")
    fork = Fork(length=2, message=ChatMessage.from_user("more"))
    must(why_of(await host.send("trunk", fork)) == "invalid", "open calls are answered first")
    must(why_of(await host.send("trunk", Fork(0))) == "invalid", "there is such a time")
    must(why_of(await host.send("trunk", Fork(agent="nobody"))) == "unknown_agent", "is there")
    must(why_of(await host.send(NOWHERE, Fork())) == "unknown_run", "a run is there to be forked")
    await host.start("echo", "one", run_id="ended")
    await host.result("ended")
    more = accepted(await host.send("ended", Fork(message=ChatMessage.from_user("two"))))
    must((await host.result(more.run_id)).text == "two (2)", "a fork hears what is said next")


async def lists_come_page_by_page(host: Host) -> None:
    """Pages of runs and of questions make up the whole list."""
    for number in range(3):
        await host.start("clerk", "pay", run_id=f"page-{number}")
        await question_of(host, f"page-{number}")
    whole = [run.run_id for run in await host.runs("waiting", agent="clerk", limit=1000)]
    paged, before = list[str](), None
    while page := await host.runs("waiting", agent="clerk", before=before, limit=2):
        paged += [run.run_id for run in page]
        before = page[-1]
    must(paged == whole, "pages make up the list")
    run_ids, cursor = list[str](), None
    while questions := await host.pending(before=cursor, limit=2):
        run_ids += [question.call.run_id for question in questions]
        cursor = questions[-1].cursor
    must(run_ids == whole, "pages of questions make up all questions")
    names = [agent.name for agent in await host.agents()]
    must(names == sorted(names) and {"clerk", "echo"} <= {*names}, "agents are named")


async def what_was_asked_is_asked_later(host: Host) -> None:
    """Another host on the store shows what an earlier one has asked, and goes on with it."""
    question = await question_of(host, "mute")
    accepted(await host.send("mute", question.call.reject("no", by="Ada")))
    texts = [message.text for message in (await host.result("mute")).messages]
    must("x" in texts, "a later host goes on with a run, and with what was said to it")


LAWS: tuple[Law, ...] = (
    a_run_is_begun_once,
    a_name_is_any_text_up_to_its_length,
    what_does_not_fit_is_refused,
    a_run_lives_by_itself,
    what_is_watched_comes_once,
    who_comes_back_misses_nothing,
    a_question_is_shown_whole,
    a_wait_has_an_end_for_who_waits,
    a_cancelled_run_ends,
    a_failed_run_can_be_tried_again,
    a_conversation_goes_on,
    a_message_goes_on_behind_an_end,
    a_run_is_shown_as_it_was,
    a_fork_begins_as_a_run_was,
    lists_come_page_by_page,
    what_was_asked_is_asked_later,
)
"""The laws of the `Host` port, one by one: each in an event loop and a host of its own."""


def _user(text: str, *labels: str) -> ChatMessage:
    return ChatMessage.from_user(text, meta={"labels": labels} if labels else None)


async def _watched(items: AsyncGenerator[Watched]) -> tuple[list[Entry], list[Piece]]:
    seen = [item async for item in items]
    return (
        [item for item in seen if isinstance(item, Entry)],
        [item for item in seen if isinstance(item, Piece)],
    )


async def _raises(items: AsyncGenerator[Watched], kind: type[Exception]) -> bool:
    try:
        await anext(items)
    except kind:
        return True
    return False


async def _is_longer(host: Host, run_id: str, length: int) -> bool:
    listed = (await host.run(run_id)).listed
    return listed.length > length and listed.status == "failed"


async def _has_no_such_time(host: Host, run_id: str, length: int) -> bool:
    return await has_raised(host.run(run_id, length), ValueError)


async def _fails(host: Host, run_id: str) -> bool:
    return await has_raised(host.result(run_id), ChatGeneratorError)
