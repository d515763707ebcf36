"""The story that a journal tells of a run, without its agent."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from attrs import astuple, evolve

from detent import (
    NEVER_RAN,
    Agent,
    AgentTool,
    AlwaysAskPolicy,
    ChatGeneratorError,
    ChatMessage,
    HITLBreakpointException,
    Limits,
    MemoryJournal,
    Price,
    Prices,
    Retries,
    ScriptedChatGenerator,
    ToolCall,
    break_every_step,
    on_exit,
    tool,
)
from detent.adapters.cli.runs.views import costs, timeline, tree
from detent.adapters.stories.parts import Story
from detent.adapters.stories.steps import steps_of
from detent.adapters.stories.story import TAKEN_UP, TRIED_ANEW, WENT_ON, story_of
from detent.adapters.web.timeline import picture_of
from detent.approvals import CallRule, Deny, RuleList, WithQuestionOptions
from detent.core.storage.journal import event_to_json
from detent.core.tools.wording import PROCESS_ENDED
from detent.journals import Entry, Runs
from detent.machine import ManualClock, ModelFailed, OutcomeUnknownError, ToolStarted
from detent.models import ModelFailure, Usage
from tests.adapters.cli.runs.clerks import PAY, clerk, look, pay, said

LOOK = ToolCall("look", {"q": "x"})


def told(store: MemoryJournal, run_id: str = "r") -> Story:
    story = story_of(run_id, store.read(run_id))
    assert story is not None
    return story


def test_a_fork_begins_with_what_was_open() -> None:
    """Settled calls have their results, and agents at work have their own turns."""
    store = MemoryJournal()
    inner = Agent(
        chat_generator=ScriptedChatGenerator(LOOK, said(PAY)),
        tools=[look, pay],
        confirmation_strategies={"pay": AlwaysAskPolicy()},
    )
    helper = AgentTool(inner, name="helper", description="Helps.")
    options: Any = {"tools": [look, helper, pay]}
    calls = (LOOK, ToolCall("helper", {"task": "t"}), PAY)
    agent = clerk(store, said(*calls, text="hm"), **options)
    agent.run("Go", run_id="r", raise_at_break_point=False)
    assert [(agents, one.tool) for agents, one in told(store).waiting()] == [
        (("helper",), "pay"),
        ((), "pay"),
    ]

    snapshot = Runs(store, agent.spec).fork("r")
    clerk(store, **options).begin(snapshot=snapshot, run_id="f").result(raises=False)
    fork = told(store, "f")

    found, helped, paid = fork.turns[0].calls
    assert fork.turns[0].text == "hm"
    assert (found.status, found.result) == ("done", "found x")
    assert (paid.status, paid.arguments) == ("waits for a human", {"amount": 5, "pin": "********"})
    assert helped.inside is not None
    assert [one.tool for one in helped.inside.calls] == ["pay"]
    assert steps_of("f", store.read("f"))[:5] == steps_of("r", store.read("r"))[:5]


def test_a_fork_behind_a_turn_has_its_conversation() -> None:
    """The steps are the same as those of the run that it begins from, whatever is stored how."""
    store = MemoryJournal()
    reply = said(LOOK, ToolCall("fail"), text="hm")
    agent = clerk(store, reply, said(text="Done."), system_prompt="Work.")
    agent.run("Go", run_id="r")

    snapshot = Runs(store, agent.spec).fork("r")
    agent.run(snapshot=snapshot, run_id="f")

    assert steps_of("f", store.read("f")) == steps_of("r", store.read("r"))
    assert steps_of("f", store.read("f"))[0] == "system: Work."


def test_a_run_behind_another_one_and_a_fork_show_what_was_said_before() -> None:
    """As a run of a thread does; and a fork says of which run it is one, after how many entries."""
    store = MemoryJournal()
    agent = clerk(store, said(LOOK), "one", "two", "three", system_prompt="Be kind.")
    first = agent.run("First?", run_id="a")
    agent.run("Second?", after=first, run_id="b")
    message = ChatMessage.from_user("Third?")
    agent.run(snapshot=Runs(store, agent.spec).fork("a", messages=[message]), run_id="f")
    clerk(store).begin(snapshot=Runs(store, agent.spec).fork("a"), run_id="end")
    at_work = Runs(store, agent.spec).fork("a", 4)
    clerk(store, "four").run(snapshot=at_work, run_id="early")

    before = [
        ("user", "First?"),
        ("assistant", 'calls look {"q": "x"}'),
        ("tool", "found x"),
        ("assistant", "one"),
    ]
    assert (told(store, "a").before, told(store, "a").asked) == ([], ["First?"])
    assert (told(store, "b").before, told(store, "b").asked) == (before, ["Second?"])
    assert (told(store, "f").before, told(store, "f").asked) == (before, ["Third?"])
    assert (told(store, "end").before, told(store, "end").turns) == (before, [])
    assert (told(store, "early").before, told(store, "early").asked) == (before[:3], [])
    assert [turn.text for turn in told(store, "early").turns] == ["four"]
    origins = [told(store, name).fork_of for name in ("b", "f", "end", "early")]
    assert origins == [
        None,
        {"run_id": "a", "entries": 5},
        {"run_id": "a", "entries": 5},
        {"run_id": "a", "entries": 4},
    ]
    assert "fork of a after 5 entries" in tree(told(store, "f"))[0][0]


def test_a_fork_says_which_tokens_are_its_own() -> None:
    """And how many it has with those that it began with, which its limits count as well."""
    store = MemoryJournal()
    limits = Limits(price=Prices({"": Price(input=1_000_000, output=1_000_000)}))
    lines = said(text="one", read=20, written=10), said(text="two", read=30, written=15)
    agent = clerk(store, *lines, limits=limits)
    first = agent.run("First?", run_id="a")
    message = ChatMessage.from_user("Again?")
    fork = Runs(store, agent.spec).fork("a", messages=[message])
    forked = agent.run(snapshot=fork, run_id="f")

    story, facts = told(store, "f"), tree(told(store, "f"))[1][0]
    assert story.tokens == (30, 15)
    before = {"input_tokens": 20, "output_tokens": 10, "cost": first.cost}
    assert story.used_before == before
    assert (forked.token_usage.input_tokens, forked.token_usage.output_tokens) == (50, 25)
    assert "30 tokens read, 15 written in it, and 50 and 25 with what went before" in facts
    assert f"cost 45 in it, and {forked.cost:.6g} so" in facts
    assert told(store, "a").used_before == {}
    assert "in it" not in tree(told(store, "a"))[1][0]


def test_what_was_said_before_quotes_no_secret_of_a_call() -> None:
    """Neither in its arguments, nor where its result, or a later one, says it again."""
    call: dict[str, Any] = {"$type": "ToolCall", "tool_name": "pay", "secret": ["pin"]}
    call |= {"arguments": {"amount": 5, "pin": "hush-hush"}}
    messages = [
        {"role": "user", "content": "Pay."},
        {"role": "assistant", "content": [call]},
        {"result": "paid with hush-hush"},
        {"role": "user", "content": "Thanks."},
    ]

    began = {"run": {"state": {"data": {"messages": messages}}}}
    story = story_of("r", [Entry(0, 1.0, "Started", "running", began)])

    assert story is not None
    assert "hush" not in str(story)
    assert story.before[-1] == ("tool", "paid with <pin>")
    assert story.asked == ["Thanks."]


def test_notes_say_what_else_has_happened() -> None:
    """Resumed, sent back; that a run goes on is no step of it."""

    @on_exit
    def once_more(run: Any) -> str | None:
        return "Say more." if run.turn == 1 else None

    store = MemoryJournal()
    broken = ChatGeneratorError(ModelFailure("server", "out of order"))
    agent = clerk(store, broken, said(text="More."), model_retries=0)
    with pytest.raises(ChatGeneratorError):
        agent.run("Go", run_id="r")
    agent.resume("r")
    clerk(store, "Short.", "Long.", hooks=[once_more]).run("Go", run_id="again")

    assert [turn.before for turn in told(store).turns] == [[TRIED_ANEW]]
    assert TRIED_ANEW not in steps_of("r", store.read("r"))
    assert told(store, "again").notes == ["the answer was sent back: Say more."]


def test_what_becomes_of_a_run_stands_where_it_has_become_of_it() -> None:
    """From a wait, from a failure above the answer that came of it, from the middle of its work."""
    store = MemoryJournal()
    broken = ChatGeneratorError(ModelFailure("server", "out of order"))
    agent = clerk(store, said(PAY), broken, said(text="Paid."), model_retries=0)
    agent.run("Go", run_id="r", raise_at_break_point=False)
    agent.decide("r", *(call.confirm() for call in agent.pending("r")))
    with pytest.raises(ChatGeneratorError):
        agent.resume("r")
    agent.resume("r")
    cut = story_of("r", [*list(store.read("r"))[:2], Entry(2, 1.0, "Resumed", "running", {})])

    assert [(turn.before, turn.notes) for turn in told(store).turns] == [
        ([], [WENT_ON]),
        ([TRIED_ANEW], []),
    ]
    texts = [text.strip() for text, _ in tree(told(store))]
    assert texts[-4:] == [
        "turn 2",
        "no answer: server: out of order",
        TRIED_ANEW,
        "model: Paid.",
    ]
    assert cut is not None
    assert cut.turns[0].notes == [TAKEN_UP]


def test_a_call_that_was_denied_has_a_row_in_the_timeline() -> None:
    """At the moment in which it was settled; so has one whose arguments are wrong."""
    store = MemoryJournal()
    denied = {"pay": lambda *_: Deny("never")}
    calls = said(PAY, ToolCall("look", {"q": 5}))
    clerk(store, calls, "Done.", confirmation_strategies=denied).run("Go", run_id="r")

    rows = [text for text, _ in timeline(told(store), 80, lambda _: True)]
    assert [row.split()[0] for row in rows if row.endswith("not run")] == ["pay", "look"]
    picture = picture_of(list(store.read("r")), 0.0)
    assert picture is not None
    assert picture.has_calls_not_run
    texts = [drawn.text for drawn in picture.bars if not drawn.bar.is_run]
    assert sorted(texts) == ["look: look, not run", "pay: pay, not run"]


def test_what_a_policy_says_is_told() -> None:
    """A call that it allows runs; one that it denies is refused, and says why."""
    store = MemoryJournal()
    high_sums = CallRule("deny", arguments={"amount": {"minimum": 10}}, reason="too much")
    rules = {"pay": RuleList([high_sums], otherwise="allow")}
    low, high = ToolCall("pay", {"amount": 1}), ToolCall("pay", {"amount": 100})
    clerk(store, said(low, high), "Done.", confirmation_strategies=rules).run("Go", run_id="r")

    allowed, denied = told(store).calls
    assert (allowed.status, allowed.result) == ("done", "paid 1")
    assert (denied.status, denied.result) == ("refused", denied.reason)
    assert "too much" in denied.reason


def test_a_run_that_is_stopped_says_before_what() -> None:
    """At a breakpoint."""
    store = MemoryJournal()
    agent = clerk(store, "Hi.")
    agent.run("Go", run_id="r", break_point=break_every_step, raise_at_break_point=False)

    (note,) = told(store).notes
    assert note.startswith("stopped before ")


class PowerCutError(BaseException):
    """As if the process had ended."""


def cut_power(before: object, event: object, after: object) -> None:
    """Ends the process when a tool has begun."""
    if isinstance(getattr(event, "event", event), ToolStarted):  # also inside
        raise PowerCutError


def cannot_look(arguments: object, key: str) -> str:
    """The bank does not answer."""
    raise OSError("the bank is closed")


@tool(on_unknown=cannot_look)
def wire(amount: int) -> str:
    """Wire it, and look up later whether it went out."""
    return f"wired {amount}"


@tool
def fax(amount: int) -> str:
    """Fax an order that nobody confirms."""
    raise OutcomeUnknownError("the fax gave no receipt")


def crashed(store: MemoryJournal, name: str, **options: Any) -> None:
    """A run whose process ends in the middle of a tool, and which another one takes up."""
    script, given = said(ToolCall(name, {"amount": 5})), {"tools": [pay, wire, fax], **options}
    with pytest.raises(PowerCutError):
        clerk(store, script, observers=[cut_power], **given).run("Go", run_id="r")
    clerk(store, **given).resume("r", raise_at_break_point=False)


@pytest.mark.parametrize("name", ["pay", "wire"])
@pytest.mark.parametrize("asks", [{}, {"*": AlwaysAskPolicy()}], ids=["freely", "asked"])
def test_a_call_of_unknown_outcome_says_so(name: str, asks: dict[str, Any]) -> None:
    """As its agent says it: to confirm it without that knowledge may do it twice."""
    store, rules = MemoryJournal(), {"confirmation_strategies": asks}
    if asks:
        agent = clerk(store, said(ToolCall(name, {"amount": 5})), tools=[pay, wire, fax], **rules)
        agent.run("Go", run_id="r", raise_at_break_point=False)
        (first,) = agent.pending("r")
        agent.decide("r", first.confirm())
        again = clerk(store, tools=[pay, wire, fax], observers=[cut_power], **rules)
        with pytest.raises(PowerCutError):
            again.resume("r")
        clerk(store, tools=[pay, wire, fax], **rules).resume("r", raise_at_break_point=False)
    else:
        crashed(store, name, **rules)

    ((_, call),) = told(store).waiting()
    (question,) = clerk(store, tools=[pay, wire, fax], **rules).pending("r")
    assert question.reason.partition(". The tool was given the key ")[0] == call.why
    assert (PROCESS_ENDED if name == "pay" else "the bank is closed") in call.why
    assert call.asked_at is not None
    assert (call.status, call.ended_at) == ("waits for a human", None)


def test_how_long_a_call_took_whose_process_ended_is_not_made_up() -> None:
    """It was not at work until somebody took the run up, and nobody saw until when it was."""
    store = MemoryJournal()
    freely: dict[str, Any] = {"confirmation_strategies": {}}
    crashed(store, "pay", **freely)
    agent = clerk(store, said(text="Fine."), tools=[pay, wire, fax], **freely)
    (question,) = agent.pending("r")
    agent.decide("r", question.respond("paid"))
    agent.resume("r")

    shown = [text for text, _ in tree(told(store))]
    assert [text for text in shown if text.startswith("   answered")] == [
        "   answered: paid",
        "   answered",
    ]


@pytest.mark.parametrize("by", ["Ada", None])
def test_a_confirmation_that_was_taken_back_says_so_where_it_was_given(by: str | None) -> None:
    """In words, and with who has done it."""
    store, calls = MemoryJournal(), said(ToolCall("pay", {"amount": 5}), ToolCall("wire"))
    agent = clerk(store, calls, tools=[pay, wire], confirmation_strategies={"*": AlwaysAskPolicy()})
    agent.run("Go", run_id="r", raise_at_break_point=False)
    agent.decide("r", agent.pending("r")[0].confirm(remember="tool"))
    agent.revoke("r", agent.grants("r")[0], by=by)

    who = ", says Ada" if by else ""
    assert told(store).calls[0].said == ["confirmed", f"counts for no further calls{who}"]


@tool(on_unknown="rerun")
def look_again(amount: int) -> str:
    """Look it up: once more does no harm."""
    return f"found {amount}"


@pytest.mark.parametrize("name", ["look_again", "pay"])
def test_a_call_that_is_run_again_takes_as_long_as_that(name: str) -> None:
    """Not since its first attempt, whose process has ended, and however long that lay there."""
    store = MemoryJournal()
    options: dict[str, Any] = {"tools": [pay, look_again], "confirmation_strategies": {}}
    script = said(ToolCall(name, {"amount": 5}))
    with pytest.raises(PowerCutError):
        clerk(store, script, observers=[cut_power], **options).run("Go", run_id="r")
    agent = clerk(store, said(text="Fine."), **options)
    agent.resume("r", raise_at_break_point=False)
    for question in agent.pending("r"):
        agent.decide("r", question.confirm())
        agent.resume("r")

    starts = [entry.at for entry in store.read("r") if entry.kind == "ToolStarted"]
    (call,) = told(store).calls
    assert len(starts) == 2
    works = call.of("work")
    assert [(work.began_at, work.came_to) for work in works] == [
        (starts[0], "cut short"),
        (starts[1], ""),
    ]
    assert works[0].ended_at == starts[0]


def test_a_tool_that_does_not_know_is_told_in_its_words() -> None:
    """And a fork of the run says it too. What a human has said of it settles it."""
    store, options = MemoryJournal(), {"tools": [fax], "confirmation_strategies": {}}
    agent = clerk(store, said(ToolCall("fax", {"amount": 5})), said(text="Ok."), **options)
    agent.run("Go", run_id="r", raise_at_break_point=False)

    ((_, call),) = told(store).waiting()
    assert call.why == "the fax gave no receipt"
    clerk(store, **options).begin(snapshot=Runs(store, agent.spec).fork("r"), run_id="f").result(
        raises=False
    )
    ((_, forked),) = told(store, "f").waiting()
    assert forked.why == call.why

    (question,) = agent.pending("r")
    agent.decide("r", question.respond("it arrived"))
    agent.resume("r")
    assert told(store).waiting() == []


def test_the_exception_says_that_the_outcome_is_unknown() -> None:
    """A strategy that nobody is there to ask for raises it, at a first question and at this one."""
    store = MemoryJournal()
    agent = clerk(store, said(PAY))
    with pytest.raises(HITLBreakpointException, match=r"confirmation\. Run 'r' waits: decide"):
        agent.run("Go", run_id="r")
    (question,) = agent.pending("r")
    agent.decide("r", question.confirm())
    with pytest.raises(PowerCutError):
        clerk(store, observers=[cut_power]).resume("r")

    with pytest.raises(HITLBreakpointException) as stopped:
        clerk(store).resume("r")
    assert f"confirmation. 'pay': {PROCESS_ENDED}. Run 'r' waits: " in str(stopped.value)


def test_a_run_that_is_cut_short_says_what_never_ran() -> None:
    """And of what nobody knows the outcome; only what was done is done."""
    store = MemoryJournal()

    @tool
    def stop() -> str:
        """Stop in the middle, as a process that is killed."""
        raise KeyboardInterrupt

    agent = clerk(store, said(LOOK, PAY, ToolCall("stop")), tools=[look, pay, stop])
    with pytest.raises(KeyboardInterrupt):
        agent.run("Go", run_id="r")
    agent.resume("r", raise_at_break_point=False)
    agent.cancel("r", "enough")

    story = told(store)
    assert story.status == "cancelled"
    assert [call.status for call in story.calls] == ["done", "not run", "of unknown outcome"]


def test_a_call_that_was_not_run_says_why() -> None:
    """As the model is told at once: its tool is not there, or its arguments do not fit it."""
    store, bad = MemoryJournal(), ToolCall("look", {"p": "x"})
    lines = said(ToolCall("nothing")), said(bad, LOOK, ToolCall("nothing")), "Sorry."
    agent = clerk(store, *lines, confirmation_strategies={})
    result = agent.run("Go", run_id="r")

    calls = told(store).calls
    assert [call.status for call in calls] == ["failed", "failed", "done", "failed"]
    answers = [one for message in result.messages for one in message.tool_call_results]
    assert [call.result for call in calls] == [one.text for one in answers]
    assert "'nothing' not found" in calls[0].result
    assert "'q' is missing" in calls[1].result
    assert Runs(store, agent.spec).replay("r") == result.run
    assert any("not found. Available" in text for text, _ in tree(told(store)))


def test_a_call_of_an_agent_inside_that_was_not_run_says_why() -> None:
    """In the part of the story that is the agent's."""
    store = MemoryJournal()
    inner = Agent(chat_generator=ScriptedChatGenerator(said(ToolCall("nothing")), "Sorry."))
    helper = AgentTool(inner, name="helper", description="Helps.")
    call = said(ToolCall("helper", {"task": "t"}))
    clerk(store, call, "Done.", tools=[helper], confirmation_strategies={}).run("Go", run_id="r")

    (helped,) = told(store).calls
    assert helped.inside is not None
    assert [one.result for one in helped.inside.calls] == [
        "Tool 'nothing' not found. Available tools: none"
    ]


def test_a_call_that_was_not_run_says_no_secret() -> None:
    """Neither in its story, nor in what is stored of why."""
    store, call = MemoryJournal(), ToolCall("pay", {"amount": "much", "pin": ["hush-hush"]})
    clerk(store, said(call), "Sorry.").run("Go", run_id="r")

    (refused,) = told(store).calls
    assert "'amount'" in refused.result
    assert "hush" not in refused.result
    (replied, _) = (one for one in store.read("r") if one.kind == "ModelReplied")
    assert "hush" not in str(replied.data["faults"])


def test_an_answer_that_was_paid_for_and_not_taken_counts() -> None:
    """Else it would be in the run, and in nothing that anybody looks at."""
    store, failure = MemoryJournal(), ModelFailure("bad_response", "too large", retryable=True)
    agent = clerk(store, ChatGeneratorError(failure), "ok", model_retries=Retries(1, backoff_s=0))
    agent.run("Go", run_id="r")
    before = told(store)
    paid = ModelFailed(1, 1, failure, usage=Usage(10, 20, cached_tokens=5), cost=1.5)
    data = event_to_json(agent.spec, paid)

    after = story_of(
        "r", [evolve(x, data=data) if x.kind == "ModelFailed" else x for x in store.read("r")]
    )

    assert after is not None
    read, written = before.tokens
    assert (after.tokens, after.cost) == ((read + 10, written + 20), (before.cost or 0) + 1.5)
    assert after.turns[0].cached_tokens == 5
    assert "1.5" in str(costs(after)[1])


def test_one_reason_of_many_calls_is_stored_once() -> None:
    """A reply has far too many: none of them is run."""
    store = MemoryJournal()
    limits = Limits(max_calls_per_reply=2)
    clerk(store, said(LOOK, LOOK, LOOK), "Sorry.", limits=limits).run("Go", run_id="r")

    (replied, _) = (one for one in store.read("r") if one.kind == "ModelReplied")
    assert [one["places"] for one in replied.data["faults"]] == [[0, 1, 2]]
    assert all("one may have 2 at most" in call.result for call in told(store).calls)


def stretches(store: MemoryJournal, run_id: str = "r") -> dict[str, list[tuple[Any, ...]]]:
    """What took time, by name: each entry is written ten seconds after that before it."""
    entries = [evolve(entry, at=10.0 * entry.position) for entry in store.read(run_id)]
    story = story_of(run_id, entries)
    assert story is not None
    found = dict[str, list[tuple[Any, ...]]]()
    for turn in story.every_turn:
        all_calls = ((call.tool, call.stretches) for call in turn.calls)
        for name, of in (("model", turn.asked), *all_calls):
            found.setdefault(name, []).extend(astuple(stretch) for stretch in of)
    return found


def test_an_agent_is_at_work_while_its_process_lives_and_does_not_wait() -> None:
    """It is cut short where its tool is; while a human is waited for, nobody is at work."""
    store = MemoryJournal()

    def outer(*lines: Any, inner: tuple[Any, ...] = (), **options: Any) -> Agent[Any]:
        agent = clerk(None, *inner, **options)
        helper = AgentTool(agent, name="helper", description="Helps.")
        return clerk(store, *lines, tools=[helper], confirmation_strategies={}, **options)

    first = outer(said(ToolCall("helper", {"task": "t"})), inner=(said(PAY),))
    first.run("Go", run_id="r", raise_at_break_point=False)
    first.resume("r", raise_at_break_point=False)
    (question,) = first.pending("r")
    first.decide("r", question.confirm())
    with pytest.raises(PowerCutError):
        outer(observers=[cut_power]).resume("r")
    last = outer("Done.", inner=("Paid.",))
    last.resume("r", raise_at_break_point=False)
    (question,) = last.pending("r")
    last.decide("r", question.respond("paid"))
    last.resume("r")

    found = stretches(store)
    assert found["helper"] == [("work", 20.0, 40.0, ""), ("work", 80.0, 100.0, "cut short")]
    assert found["pay"] == [
        ("wait", 40.0, 70.0, "decided"),
        ("work", 100.0, 100.0, "cut short"),
        ("wait", 110.0, 130.0, "decided"),
    ]


def test_what_was_cut_short_ends_with_the_last_word_of_its_process() -> None:
    """What others have said to the run since, as to cancel it, proves no process."""
    store = MemoryJournal()

    @tool
    def stop() -> str:
        """Stop in the middle, as a process that is killed."""
        raise KeyboardInterrupt

    inner = clerk(None, said(ToolCall("stop")), tools=[stop], confirmation_strategies={})
    helper = AgentTool(inner, name="helper", description="Helps.")
    agent = clerk(
        store, said(ToolCall("helper", {"task": "t"})), tools=[helper], confirmation_strategies={}
    )
    with pytest.raises(KeyboardInterrupt):
        agent.run("Go", run_id="r")
    agent.cancel("r", "enough")

    kinds = [entry.kind for entry in store.read("r")]
    assert kinds[2:] == ["ToolStarted", "HappenedInside", "HappenedInside", "CancelRequested"]
    found = stretches(store)
    assert found["helper"] == [("work", 20.0, 40.0, "cut short")]
    assert found["stop"] == [("work", 40.0, 40.0, "cut short")]


def test_each_attempt_has_its_stretch_unless_it_turned_out_that_it_never_ran() -> None:
    """One that failed and is tried again, too: until then it has no answer."""
    store, tries = MemoryJournal(), list[int]()

    @tool(retries=Retries(times=2, backoff_s=0), on_unknown=lambda arguments, key: NEVER_RAN)
    def push(amount: int) -> str:
        """Push it."""
        tries.append(amount)
        if len(tries) == 1:
            raise OSError("stuck")
        return "pushed"

    script = said(ToolCall("push", {"amount": 1}))
    options: dict[str, Any] = {"tools": [push], "confirmation_strategies": {}}
    with pytest.raises(PowerCutError):
        clerk(store, script, observers=[cut_power], **options).run("Go", run_id="r")
    cut_short = stretches(store)["push"]
    clerk(store, "Done.", **options).resume("r")

    kinds = [entry.kind for entry in store.read("r")]
    attempts = ["ToolStarted", "ToolRaised", "ToolStarted", "ToolReturned"]
    assert kinds[3:] == ["Resumed", "ToolNeverRan", *attempts, "ModelReplied"]
    assert cut_short == [("work", 20.0, None, "")]
    assert stretches(store)["push"] == [("work", 50.0, 60.0, "failed"), ("work", 70.0, 80.0, "")]


@tool(timeout_s=0.01, on_unknown="rerun", retries=Retries(2, backoff_s=0.01))
async def hang() -> str:
    """Give no answer."""
    await asyncio.Event().wait()
    return "never"


def test_a_tool_that_took_too_long_was_not_cut_short() -> None:
    """Nobody looks for a process that has ended where there is none."""
    store = MemoryJournal()
    model = ScriptedChatGenerator(ToolCall("hang"), "Done.")
    asyncio.run(
        Agent(chat_generator=model, tools=[hang], journal=store).run_async("Go.", run_id="r")
    )
    story = told(store)
    (call,) = story.calls
    assert [work.came_to for work in call.of("work")] == ["timed out"] * 3
    lines = [line for line, _ in tree(story)]
    assert any(line.endswith("attempt 3: it gave no answer in time") for line in lines), lines
    assert "cut short" not in str(timeline(story, 80, lambda sign: True))
    assert "cut short" not in str(picture_of(store.read("r"), story.last_at))


def test_a_question_that_nobody_answered_in_time_is_said_to_be_so() -> None:
    """Whether somebody resumes the run then, or was waiting for it."""
    store, clock = MemoryJournal(), ManualClock(1_000.0)
    policy = WithQuestionOptions(AlwaysAskPolicy(), expires_s=60)
    agent = Agent(
        chat_generator=ScriptedChatGenerator(PAY, "Done."),
        tools=[pay],
        confirmation_strategies={"pay": policy},
        journal=store,
        clock=clock,
    )
    with pytest.raises(HITLBreakpointException):
        agent.run("Go.", run_id="r")
    clock.advance(61)
    assert agent.resume("r").text == "Done."
    (call,) = told(store).calls
    assert (call.status, call.said) == ("not run", ["nobody decided in time"])
