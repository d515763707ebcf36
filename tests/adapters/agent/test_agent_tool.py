"""Agents that work for agents: one run, whoever drives, stops, stores or resumes it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import pytest
from attrs import evolve

from detent import (
    Agent,
    AgentBreakpoint,
    AgentResult,
    AgentTool,
    AlwaysAskPolicy,
    Appended,
    BlockingConfirmationStrategy,
    Breakpoint,
    BreakpointException,
    ChatMessage,
    ConfirmationUIResult,
    HookError,
    IdempotencyKey,
    Limits,
    MemoryJournal,
    Price,
    Prices,
    Runs,
    ScriptedChatGenerator,
    StoredDataError,
    StreamingChunk,
    Tool,
    ToolBreakpoint,
    ToolCall,
    ToolDefinitionError,
    ToolInvocationError,
    TypedState,
    WiringError,
    after_model,
    before_model,
    before_tool,
    break_every_step,
    tool,
)
from detent.adapters.system.clocks import JumpingClock
from detent.core.control.hooks import Hook
from detent.core.storage.snapshot import AgentSnapshot, SnapshotMismatchError
from detent.machine import (
    AskModel,
    Cancelled,
    CancelRequested,
    Delegated,
    Event,
    HappenedInside,
    ManualClock,
    Run,
    RunTool,
)
from detent.models import ChatReply, ModelFailure, Usage
from detent.ports.chat import ChatGeneratorError

Runner: TypeAlias = Callable[..., AgentResult[Any, Any]]


def blocking(agent: Agent[Any, Any], *args: Any, **options: Any) -> AgentResult[Any, Any]:
    return agent.run(*args, **options)


def async_(agent: Agent[Any, Any], *args: Any, **options: Any) -> AgentResult[Any, Any]:
    return asyncio.run(agent.run_async(*args, **options))


@pytest.fixture(params=[blocking, async_])
def run(request: pytest.FixtureRequest) -> Runner:
    """Every behaviour below holds for both."""
    runner: Runner = request.param
    return runner


class Killed(KeyboardInterrupt):
    """The process has ended."""


class Shop:
    """Somewhere to pay: it remembers what it was paid, and by which key."""

    def __init__(self, *, dies: bool = False) -> None:
        self.paid: dict[str, int] = {}
        self.calls = 0
        self.dies = dies

    def tool(self, **options: Any) -> Tool:
        """Paying, as a tool. A shop that `dies` takes the first payment with it."""

        def pay(amount: int, key: IdempotencyKey) -> str:
            """Pay an amount."""
            self.calls += 1
            self.paid[key.rpartition("/")[0]] = amount  # without the digest
            if self.dies and self.calls == 1:
                raise Killed
            return f"paid {amount}"

        return tool(pay, **options)


def buyer(shop: Shop, *script: Any, wires: dict[str, Any] | None = None, **options: Any) -> Tool:
    """An agent that can pay, as a tool."""
    lines = script or (ToolCall("pay", {"amount": 3}), "It is bought.")
    agent = Agent(
        chat_generator=ScriptedChatGenerator(*lines),
        tools=[shop.tool(on_unknown="rerun")],
        **options,
    )
    return AgentTool(agent, name="buyer", description="Buys things.", **(wires or {}))


def buying(*tools: Tool, **options: Any) -> Agent[Any, Any]:
    """An agent that has something bought."""
    model = ScriptedChatGenerator(ToolCall("buyer", {"task": "Buy tea."}, id="b"), "All done.")
    return Agent(chat_generator=model, tools=tools, **options)


def texts(result: AgentResult[Any, Any]) -> list[str]:
    return [one.text for m in result.messages for one in m.tool_call_results]


def test_an_agent_works_for_another(run: Runner) -> None:
    """Its answer is the result of the call; its steps are its own."""
    shop = Shop()
    result = run(buying(buyer(shop)), "Get tea.", run_id="r")
    assert (result.text, texts(result)) == ("All done.", ["It is bought."])
    assert shop.paid == {"r/1.0/1/0": 3}
    assert result.tool_call_counts == {"buyer": 1}
    assert len(result.messages) == 4


def test_several_agents_work_at_once(run: Runner) -> None:
    """Each call has a run of its own; the answers stand in the model's order."""
    helper = Agent(chat_generator=ScriptedChatGenerator(*[lambda m: m[-1].text.upper()] * 3))
    ask = AgentTool(helper, name="ask", description="Ask.")
    calls = [ToolCall("ask", {"task": word}) for word in ("a", "b", "c")]
    model = ScriptedChatGenerator(ChatMessage.from_assistant(tool_calls=calls), "done")
    assert texts(run(Agent(chat_generator=model, tools=[ask]), "go")) == ["A", "B", "C"]


def test_agents_work_inside_agents(run: Runner) -> None:
    """However deep; an agent can itself be what another one's agent calls."""
    shop = Shop()
    model = ScriptedChatGenerator(ToolCall("buyer", {"task": "Buy."}), "passed on")
    middle = Agent(chat_generator=model, tools=[buyer(shop)])
    model = ScriptedChatGenerator(ToolCall("middle", {"task": "Go."}), "end")
    tools = [AgentTool(middle, name="middle", description="Passes on.")]
    result = run(Agent(chat_generator=model, tools=tools), "go", run_id="r")
    assert (result.text, texts(result)) == ("end", ["passed on"])
    assert shop.paid == {"r/1.0/1.0/1/0": 3}


class Inner(TypedState):
    """The state of the agent that works."""

    wishes = Appended[str]()
    bought = Appended[str]()


class Outer(TypedState):
    """The state of the agent that has it work."""

    list = Appended[str]()
    things = Appended[str]()
    report = Appended[str]()


@tool(inputs_from_state={"wishes": "wishes"}, outputs_to_state={"bought": {}})
def buy(wishes: list[str]) -> list[str]:
    """Buy all that is wished for."""
    return [f"a {wish}" for wish in wishes]


def wired(**wires: Any) -> Tool:
    model = ScriptedChatGenerator(ToolCall("buy", {}), "Here you are.")
    agent = Agent(chat_generator=model, tools=[buy], state_schema=Inner)
    return AgentTool(agent, name="buyer", description="Buys.", **wires)


WIRES: dict[str, Any] = {
    "inputs_from_state": {"list": "wishes"},
    "outputs_to_state": {"things": {"source": "bought"}, "report": {}},
}


def test_states_are_wired_to_each_other(run: Runner) -> None:
    """Keys of the one fill keys of the other; without a source it is the answer that is kept."""
    agent = buying(wired(**WIRES), state_schema=Outer)
    result = run(agent, "Get it.", list=["kettle", "cup"])
    assert result.state.things == ["a kettle", "a cup"]
    assert result.state.report == ["Here you are."]


def test_what_the_model_is_told_can_be_another_key(run: Runner) -> None:
    """As with every tool."""
    agent = buying(wired(outputs_to_string={"source": "bought"}, **WIRES), state_schema=Outer)
    assert texts(run(agent, "Get it.", list=["cup"])) == ['["a cup"]']


@pytest.mark.parametrize(
    ("wires", "error", "told"),
    [
        ({"inputs_from_state": {"list": "wish"}}, ToolDefinitionError, "in the agent, .*'wish'"),
        ({"outputs_to_state": {"things": {"source": "sold"}}}, WiringError, "has no 'sold'"),
        ({"inputs_from_state": {"lost": "wishes"}}, WiringError, "'lost'"),
        (
            {"outputs_to_state": {"things": "bought"}},
            ToolDefinitionError,
            "write {'source': 'bought'}",
        ),
    ],
)
def test_wires_that_lead_nowhere_are_found_at_once(
    wires: dict[str, Any], error: type[Exception], told: str
) -> None:
    """When the tool is made, or the agent that has it."""
    with pytest.raises(error, match=told):
        buying(wired(**wires), state_schema=Outer)


def test_a_state_key_cannot_be_called_as_the_answer_is() -> None:
    """One of the two would be lost."""
    model = ScriptedChatGenerator()
    agent = Agent(chat_generator=model, state_schema={"answer": {"type": str}})
    with pytest.raises(ToolDefinitionError, match="'answer'"):
        AgentTool(agent, name="ask", description="")


def test_it_can_be_called_as_a_function() -> None:
    """It is a run of its own then."""
    assert wired(**WIRES).function(task="Buy.", wishes=["cup"]) == {
        "answer": "Here you are.",
        "bought": ["a cup"],
        "wishes": ["cup"],
    }


class Ada:
    """Somebody who is asked, and remembers what."""

    def __init__(self, action: str = "confirm") -> None:
        self.action = action
        self.asked: list[str] = []

    def get_user_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> ConfirmationUIResult:
        """What she says to everything."""
        self.asked.append(f"{tool_name} {tool_params} {tool_description}")
        return ConfirmationUIResult(self.action)


def test_an_agents_own_rules_hold_for_its_tools(run: Runner) -> None:
    """Its humans are asked, through its UI, and told for which agent."""
    shop, ada = Shop(), Ada()
    rules = {"pay": BlockingConfirmationStrategy(AlwaysAskPolicy(), ada)}
    result = run(buying(buyer(shop, confirmation_strategies=rules)), "Get tea.")
    assert result.text == "All done."
    assert len(ada.asked) == shop.calls == 1
    assert "For the agent buyer." in ada.asked[0]


def test_a_question_that_nobody_answers_stops_the_whole_run(run: Runner) -> None:
    """It waits, is stored, and goes on in another process with somebody who answers."""
    shop, journal = Shop(), MemoryJournal()

    def agent(ada: Ada) -> Agent[Any, Any]:
        rules = {"pay": BlockingConfirmationStrategy(AlwaysAskPolicy(), ada)}
        return buying(buyer(shop, confirmation_strategies=rules), journal=journal)

    paused = run(agent(Ada("later")), "Get tea.", run_id="r")
    assert paused.exit_reason is None
    assert journal.runs()[0].status == "waiting"
    assert 'pay({"amount": 3}): waits for a human' in paused.snapshot.summary()
    buy_again = ScriptedChatGenerator("It is bought.")
    rules = {"pay": BlockingConfirmationStrategy(AlwaysAskPolicy(), Ada())}
    inner = Agent(chat_generator=buy_again, tools=[shop.tool()], confirmation_strategies=rules)
    tools = [AgentTool(inner, name="buyer", description="Buys.")]
    outer = Agent(chat_generator=ScriptedChatGenerator("All done."), tools=tools, journal=journal)
    assert outer.resume("r").text == "All done."
    assert shop.paid == {"r/1.0/1/0": 3}


REPLIES: dict[str, Any] = {
    "Get tea.": ToolCall("buyer", {"task": "Buy tea."}, id="b"),
    "Buy tea.": ToolCall("pay", {"amount": 3}, id="p"),
    "paid 3": "It is bought.",
    "It is bought.": "All done.",
}


def reply(messages: Any) -> Any:
    """What the model of either agent says next."""
    return REPLIES[messages[-1].text or messages[-1].tool_call_results[0].text]


def again(pay: Tool, **options: Any) -> Agent[Any, Any]:
    """The two agents as any process makes them."""
    inner = Agent(chat_generator=ScriptedChatGenerator(*[reply] * 9), tools=[pay])
    tools = [AgentTool(inner, name="buyer", description="Buys.")]
    return Agent(chat_generator=ScriptedChatGenerator(*[reply] * 9), tools=tools, **options)


@pytest.mark.parametrize("at", range(1, 8))
def test_nothing_is_done_twice_wherever_the_process_ends(at: int) -> None:
    """After any event the whole run goes on, and with it the run inside."""
    shop, journal = Shop(), MemoryJournal()
    seen = 0

    def kill(before: Run[Any], event: Event, after: Run[Any]) -> None:
        nonlocal seen
        seen += 1
        if seen == at:
            raise Killed

    first = again(shop.tool(on_unknown="rerun"), journal=journal, observers=[kill])
    with pytest.raises(Killed):
        first.run("Get tea.", run_id="r")
    result = again(shop.tool(on_unknown="rerun"), journal=journal).resume("r")
    assert (result.text, texts(result)) == ("All done.", ["It is bought."])
    assert (shop.calls, shop.paid) == (1, {"r/1.0/1/0": 3})


def test_who_is_paid_can_tell_that_it_is_the_same_payment() -> None:
    """The process ends when the agent's tool has paid; the key is the same in the next."""
    shop, journal = Shop(dies=True), MemoryJournal()
    with pytest.raises(Killed):
        again(shop.tool(on_unknown="rerun"), journal=journal).run("Get tea.", run_id="r")
    result = again(shop.tool(on_unknown="rerun"), journal=journal).resume("r")
    assert result.text == "All done."
    assert (shop.calls, shop.paid) == (2, {"r/1.0/1/0": 3})


def test_a_call_of_unknown_outcome_inside_is_asked_about() -> None:
    """Its tool says so; the whole run waits until somebody knows."""
    shop, journal = Shop(), MemoryJournal()

    def agent(pay: Tool, *script: Any) -> Agent[Any, Any]:
        inner = Agent(chat_generator=ScriptedChatGenerator(*script), tools=[pay])
        model = ScriptedChatGenerator(ToolCall("buyer", {"task": "Buy."}))
        tools = [AgentTool(inner, name="buyer", description="Buys.")]
        return Agent(chat_generator=model, tools=tools, journal=journal)

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        raise Killed

    with pytest.raises(Killed):
        agent(pay, ToolCall("pay", {"amount": 3})).run("go", run_id="r")
    result = agent(shop.tool(name="pay")).resume("r")
    assert result.exit_reason is None
    assert "nobody knows whether it was carried out" in result.snapshot.summary()
    assert shop.calls == 0


def test_a_run_stops_inside_an_agent_and_goes_on(run: Runner) -> None:
    """From its snapshot, as JSON, with new agents of the same rules; at every step of both."""
    shop = Shop()
    snapshot: str | None = None
    steps: list[str] = []
    while True:
        agent = again(shop.tool())
        given: dict[str, Any] = {"snapshot": snapshot} if snapshot else {"messages": "Get tea."}
        try:
            result = run(agent, **given, break_point=break_every_step)
            break
        except BreakpointException as stopped:
            steps.append(stopped.snapshot.about_to)
            snapshot = stopped.snapshot.to_json()
    assert result.text == "All done."
    assert shop.calls == 1
    assert steps == [
        "ask the model (turn 1)",
        "run buyer({'task': 'Buy tea.'})",
        "buyer: ask the model (turn 1)",
        "buyer: run pay({'amount': 3})",
        "buyer: ask the model (turn 2)",
        "ask the model (turn 2)",
    ]


@pytest.mark.parametrize(
    ("break_point", "about_to"),
    [
        (Breakpoint("chat_generator", 1), "ask the model (turn 2)"),
        (ToolBreakpoint("tool_invoker", None, "buyer"), "run buyer({'task': 'Buy tea.'})"),
        (
            AgentBreakpoint("buyer", Breakpoint("chat_generator", 1)),
            "buyer: ask the model (turn 2)",
        ),
        (
            AgentBreakpoint("buyer", ToolBreakpoint("tool_invoker", None, "pay")),
            "buyer: run pay({'amount': 3})",
        ),
        (AgentBreakpoint("me", Breakpoint("chat_generator", 1)), "ask the model (turn 2)"),
    ],
)
def test_a_breakpoint_names_the_agent_that_it_is_for(
    break_point: Any, about_to: str, run: Runner
) -> None:
    """Without a name, or with one that no agent inside has, it is for the outermost."""
    with pytest.raises(BreakpointException) as stopped:
        run(buying(buyer(Shop())), "Get tea.", break_point=break_point)
    assert stopped.value.snapshot.about_to == about_to


def test_a_breakpoint_inside_names_a_tool_of_that_agent() -> None:
    """It would never be reached."""
    wrong = AgentBreakpoint("buyer", ToolBreakpoint("tool_invoker", None, "buyer"))
    with pytest.raises(ValueError, match=r"'buyer' is not available in the agent's tools: pay"):
        buying(buyer(Shop())).run("go", break_point=wrong)


def stopped_inside() -> AgentSnapshot:
    rule = AgentBreakpoint("buyer", ToolBreakpoint("tool_invoker"))
    with pytest.raises(BreakpointException) as stopped:
        buying(buyer(Shop())).run("Get tea.", break_point=rule)
    return stopped.value.snapshot


def test_an_agent_inside_that_has_changed_is_named() -> None:
    """A call of its tool is open, and the tool is gone."""
    agent = Agent(chat_generator=ScriptedChatGenerator())
    tools = [AgentTool(agent, name="buyer", description="")]
    outer = Agent(chat_generator=ScriptedChatGenerator(), tools=tools)
    with pytest.raises(SnapshotMismatchError, match="agent 'buyer': it needs the tool 'pay'"):
        outer.run(snapshot=stopped_inside())


@pytest.mark.parametrize("damage", ["agents", "state", "held"])
def test_a_damaged_run_inside_is_refused(damage: str) -> None:
    """What is stored of it is not whole."""
    data: Any = stopped_inside().to_dict()
    match damage:
        case "agents":
            del data["agent"]["agents"]["0"]
        case "state":
            data["run"]["phase"]["slots"][0]["status"]["run"]["state"] = {}
        case _:
            data["held"][0][4] = [["no", "place", 1]]
    with pytest.raises(StoredDataError, match="damaged"):
        buying(buyer(Shop())).run(snapshot=data)


def test_pieces_say_of_which_agent_they_are(run: Runner) -> None:
    """The callback of the run gets those of all agents in it."""
    told: list[StreamingChunk] = []
    run(buying(buyer(Shop())), "Get tea.", told.append)
    by_agent = {"".join(one.content for one in told if one.agents == who) for who in AGENTS}
    assert by_agent == {"All done.", "It is bought."}
    results = [one for one in told if one.tool_call_result is not None]
    assert [one.agents for one in results] == [("buyer",), ()]


AGENTS: list[tuple[str, ...]] = [(), ("buyer",)]


def test_one_journal_has_it_all() -> None:
    """What has happened inside stands in it as such; the run can be replayed and forked."""
    journal = MemoryJournal()
    agent = buying(buyer(Shop()), journal=journal)
    result = agent.run("Get tea.", run_id="r")
    assert [one.run_id for one in journal.runs()] == ["r"]
    kinds = [entry.kind for entry in journal.read("r")]
    assert kinds.count("HappenedInside") == 4
    runs = Runs(journal, agent.spec)
    assert runs.replay("r") == result.run
    for length in range(1, len(kinds)):
        copy = runs.fork("r", length)
        assert copy.run_id != "r"


def test_observers_see_what_happens_inside(run: Runner) -> None:
    """As events of the whole run."""
    seen: list[Event] = []
    agent = buying(buyer(Shop()), observers=[lambda before, event, after: seen.append(event)])
    run(agent, "Get tea.")
    assert sum(isinstance(event, HappenedInside) for event in seen) == 4


def test_a_model_that_fails_inside_is_a_fault_outside(run: Runner) -> None:
    """The model outside reads it, or the run ends where a tool may not fail."""
    down = ChatGeneratorError(ModelFailure("authentication", "no key"))
    result = run(buying(buyer(Shop(), down)), "Get tea.")
    assert texts(result) == ["Agent 'buyer' gave no answer: no key"]
    with pytest.raises(ToolInvocationError, match="no key"):
        run(buying(buyer(Shop(), down), raise_on_tool_invocation_failure=True), "Get tea.")


def test_what_agents_inside_spend_counts_outside(run: Runner) -> None:
    """An agent that has used up the budget of the whole run is cut short at its next turn."""
    call = ChatReply(ChatMessage.from_assistant(tool_calls=[PAY]), usage=Usage(100, 10))
    prices = Prices({"": Price(input=1, output=1)})
    limits = Limits(max_cost=0.0001, price=prices)
    result = run(buying(buyer(Shop(), call), limits=limits), "Get tea.")
    assert result.exit_reason == "max_cost"
    assert texts(result) == ["Agent 'buyer' gave no answer: max_cost"]
    assert result.token_usage.total_tokens == 110
    assert result.cost == pytest.approx(0.00011)


def test_an_agents_own_time_is_up() -> None:
    """Its model pauses for longer than it may take; the whole run goes on."""
    busy = ChatGeneratorError(ModelFailure("overloaded", "busy", retryable=True, retry_after_s=60))
    clock = JumpingClock()
    inside = buyer(Shop(), busy, limits=Limits(max_seconds=5))
    result = buying(inside, clock=clock).run("Get tea.")
    assert result.text == "All done."
    assert texts(result) == ["Agent 'buyer' gave no answer: max_seconds"]


PAY = ToolCall("pay", {"amount": 3}, id="p")


def test_limits_reach_through_all_agents_that_work_inside(run: Runner) -> None:
    """The innermost one is stopped at its next turn, however long it would have gone on."""
    reply = ChatReply(ChatMessage.from_assistant(tool_calls=[ToolCall("look")]), usage=Usage(100))

    @tool
    def look() -> str:
        """Look."""
        return "nothing"

    innermost = Agent(chat_generator=ScriptedChatGenerator(*[reply] * 9), tools=[look])
    middle = Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("innermost", {"task": "t"})),
        tools=[AgentTool(innermost, name="innermost", description="")],
    )
    outer = Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("middle", {"task": "t"})),
        tools=[AgentTool(middle, name="middle", description="")],
        limits=Limits(max_tokens=300),
    )
    result = run(outer, "Look.")
    assert (result.exit_reason, result.token_usage.total_tokens) == ("max_tokens", 300)
    assert texts(result) == ["Agent 'middle' gave no answer: max_tokens"]


def test_an_agents_own_time_runs_after_a_resume_too() -> None:
    """All of it again, as for the outermost one."""
    clock, journal = ManualClock(), MemoryJournal()
    outer = buying(buyer(Shop(), limits=Limits(max_seconds=50)), clock=clock, journal=journal)
    first, second = [
        AgentBreakpoint("buyer", Breakpoint("chat_generator", visit)) for visit in range(2)
    ]
    with pytest.raises(BreakpointException):
        outer.run("Get tea.", run_id="r", break_point=first)
    with pytest.raises(BreakpointException) as stopped:
        outer.resume("r", break_point=second)
    (slot,) = stopped.value.run.slots
    assert isinstance(slot.status, Delegated)
    assert slot.status.run.deadline == clock.now() + 50


def test_what_comes_too_late_for_an_agent_with_hooks_is_not_heard() -> None:
    """The run was cancelled while a tool of that agent was running."""
    hooks = [before_tool(lambda effect, run: None), after_model(lambda effect, event, run: None)]
    errand = buying(buyer(Shop(), hooks=hooks)).begin("Get tea.")
    session = errand.session
    while session.run.outcome is None:
        (effect,) = session.take()
        came = errand.performer.perform(effect)
        if isinstance(effect, RunTool):
            session.feed(CancelRequested("enough"))
        session.land(effect, came)
    assert session.close().outcome == Cancelled("enough")


def test_hooks_are_each_agents_own(run: Runner) -> None:
    """They see what is for their agent, with its own run; what they give is recorded inside."""
    seen: list[tuple[str, str]] = []

    def watch(name: str) -> Hook:
        return before_model(lambda effect, run: seen.append((name, run.id)))

    def cheaper(effect: RunTool, run: Run[Any]) -> RunTool:
        return evolve(effect, call=evolve(effect.call, arguments={"amount": 1}))

    def polite(effect: AskModel, event: Any, run: Run[Any]) -> Any:
        reply = event.reply
        if reply.message.tool_calls:
            return None
        said = ChatMessage.from_assistant(f"{reply.message.text} Thank you.")
        return evolve(event, reply=evolve(reply, message=said))

    shop = Shop()
    hooks = [watch("in"), before_tool(cheaper), after_model(polite)]
    agent = buying(buyer(shop, hooks=hooks), hooks=[watch("out")])
    result = run(agent, "Get tea.", run_id="r")
    assert texts(result) == ["It is bought. Thank you."]
    assert shop.paid == {"r/1.0/1/0": 1}
    assert seen == [("out", "r"), ("in", "r/1.0"), ("in", "r/1.0"), ("out", "r")]


def test_a_hook_may_answer_inside_an_agent(run: Runner) -> None:
    """Its event is that of the run inside."""
    hooks = [before_tool(lambda effect, run: effect.returned("already paid"))]
    shop = Shop()
    assert texts(run(buying(buyer(shop, hooks=hooks)), "Get tea.")) == ["It is bought."]
    assert shop.calls == 0


def test_a_hook_may_answer_the_call_of_an_agent_and_not_change_it(run: Runner) -> None:
    """The call is in the run already."""
    hooks = [before_tool(lambda effect, run: effect.returned("Nobody is there."))]
    assert texts(run(buying(buyer(Shop()), hooks=hooks), "Get tea.")) == ["Nobody is there."]
    hooks = [before_tool(lambda effect, run: evolve(effect, call=evolve(effect.call, id="x")))]
    with pytest.raises(HookError, match="must give a ToolReturned"):
        run(buying(buyer(Shop()), hooks=hooks), "Get tea.")
    hooks = [before_tool(lambda effect, run: effect)]
    assert run(buying(buyer(Shop()), hooks=hooks), "Get tea.").text == "All done."


def test_what_comes_after_the_whole_run_was_cancelled_is_not_heard() -> None:
    """Not by the hooks of an agent that is no longer at work either."""
    heard: list[str] = []

    def listen(effect: AskModel, event: Any, run: Run[Any]) -> None:
        heard.append(run.id)

    agent = buying(buyer(Shop(), hooks=[after_model(listen)]))
    session = agent.begin("Get tea.").session
    for effect in session.take():
        session.land(effect, cast(AskModel, effect).replied(calling_buyer()))
    (effect,) = session.take()
    session.feed(CancelRequested("enough"))
    session.land(effect, cast(AskModel, effect).replied("too late"))
    assert (session.run.outcome, heard) == (Cancelled("enough"), [])


def calling_buyer() -> ChatMessage:
    return ChatMessage.from_assistant(tool_calls=[ToolCall("buyer", {"task": "Buy."}, id="b")])
