"""Approvals: paused runs, decisions from elsewhere, and strategies of every kind in one turn."""

from __future__ import annotations

import asyncio
import shlex
import subprocess
import sys
from pathlib import Path
from threading import Semaphore
from typing import Any, cast

import pytest
from attrs import evolve

from detent import (
    Agent,
    AgentResult,
    AgentTool,
    AlwaysAskPolicy,
    AskAbove,
    BlockingConfirmationStrategy,
    BreakpointConfirmationStrategy,
    ChatMessage,
    ConfirmationUIResult,
    Confirmed,
    HITLBreakpointException,
    Limits,
    MemoryJournal,
    RichConsoleUI,
    Runs,
    ScriptedChatGenerator,
    SimpleConsoleUI,
    SQLiteJournal,
    ToolCall,
    ToolExecutionDecision,
    create_tool_from_function,
    load_snapshot,
    tool,
)
from detent.adapters.confirmation.rules import Rules
from detent.adapters.system.program import program
from detent.approvals import (
    Ask,
    DecisionRefusedError,
    OutdatedQuestionError,
    Rejected,
    WithQuestionOptions,
)
from detent.journals import RunEndedError
from detent.machine import AgentRef, ManualClock

SCRIPT = Path(__file__).parent / "approve_from_anywhere.py"


class Bench:
    """An agent whose tools say what they have done."""

    def __init__(self, strategies: Any, *names: str, journal: Any = None, **options: Any) -> None:
        self.done: list[str] = []
        self.worked = Semaphore(0)
        calls = [ToolCall(name, {"n": place}, f"c{place}") for place, name in enumerate(names)]

        def answer(messages: Any) -> Any:
            told = messages[-1].role == "tool"
            return "done" if told else ChatMessage.from_assistant(tool_calls=calls)

        self.agent: Agent[Any] = Agent(
            chat_generator=ScriptedChatGenerator(*[answer] * 9),
            tools=[self.tool(name) for name in ("pay", "note", "mail")],
            confirmation_strategies=strategies,
            journal=journal,
            **options,
        )

    def tool(self, name: str) -> Any:
        """A tool of that name."""

        def work(n: int) -> str:
            """Work."""
            self.done.append(f"{name} {n}")
            self.worked.release()
            return f"{name} {n}"

        return create_tool_from_function(work, name)

    def paused(self) -> HITLBreakpointException:
        """Where the run stops."""
        with pytest.raises(HITLBreakpointException) as caught:
            self.agent.run("go", run_id="r")
        return caught.value


class Says:
    """A UI that gives its answers one after another, and remembers what it was told."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.told = list(answers), list[str]()

    async def get_user_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> ConfirmationUIResult:
        """The next answer."""
        self.told.append(tool_description)
        said: ConfirmationUIResult = self.answers.pop(0)
        return said


def test_a_pause_has_a_snapshot_that_goes_on_with_decisions(tmp_path: Path) -> None:
    """Some now, some later; the snapshot is in a file as well."""
    bench = Bench({"*": BreakpointConfirmationStrategy(str(tmp_path))}, "pay", "note")

    first = bench.paused()
    assert [call.call_id for call in first.pending] == ["c0", "c1"]
    assert (first.tool_name, first.tool_call_id) == ("pay", "c0")
    stored = load_snapshot(str(first.snapshot_file_path))
    yes = ToolExecutionDecision("note", execute=True, tool_call_id="c1")
    with pytest.raises(HITLBreakpointException) as caught:
        bench.agent.run(snapshot=stored.with_decisions([yes]).to_json())
    assert [call.call_id for call in caught.value.pending] == ["c0"]
    assert bench.done == ["note 1"]
    no = ToolExecutionDecision("pay", execute=False, tool_call_id="c0", feedback="too much")
    result = bench.agent.run(snapshot=caught.value.snapshot.with_decisions([no]))

    assert (result.text, bench.done) == ("done", ["note 1"])


def test_a_decision_that_does_not_count_is_raised() -> None:
    """And nothing has run."""
    bench = Bench({"pay": BreakpointConfirmationStrategy()}, "pay")
    wrong = ToolExecutionDecision("pay", execute=True, tool_call_id="else")

    with pytest.raises(DecisionRefusedError, match="there waits: pay"):
        bench.agent.run(snapshot=bench.paused().snapshot.with_decisions([wrong]))

    assert bench.done == []


def test_decisions_go_through_the_journal() -> None:
    """One by one, with their digests; what was remembered can be revoked."""
    bench = Bench({"pay": AlwaysAskPolicy()}, "pay", "pay", journal=MemoryJournal())
    bench.paused()
    first, second = bench.agent.pending("r")
    with pytest.raises(ValueError, match="digest"):
        bench.agent.decide("r", ToolExecutionDecision("pay", execute=True, tool_call_id="c0"))

    assert bench.agent.decide("r", first.confirm(remember="arguments", by="Ada")) == (second,)
    (grant,) = bench.agent.grants("r")
    bench.agent.revoke("r", grant)
    with pytest.raises(ValueError, match="no grant"):
        bench.agent.revoke("r", grant)
    bench.agent.decide("r", second.reject())

    assert bench.agent.resume("r").text == "done"
    assert bench.done == ["pay 0"]


@pytest.mark.parametrize("colour", ["blocking", "async"])
def test_kinds_of_strategies_go_together(colour: str) -> None:
    """A UI answers now, a strategy of one's own decides, and one call waits."""

    class Own:
        def run(self, **asked: Any) -> ToolExecutionDecision:
            return ToolExecutionDecision(asked["tool_name"], execute=True)

    ui = Says(ConfirmationUIResult("modify", None, {"n": "x"}),
              ConfirmationUIResult("modify", None, {"n": 7}))  # fmt: skip
    rules = {
        ("pay", "mail"): BlockingConfirmationStrategy(AlwaysAskPolicy(), ui),
        "note": Own(),
        "mail": BreakpointConfirmationStrategy(),
    }
    bench = Bench(rules, "pay", "note", "mail")

    with pytest.raises(HITLBreakpointException) as caught:
        go(bench, colour)

    assert sorted(bench.done) == ["note 1", "pay 7"]
    assert [call.tool_name for call in caught.value.pending] == ["mail"]
    assert "does not fit the tool" in ui.told[1]


def test_a_policy_or_ui_that_python_calls_false_still_counts() -> None:
    """As one is that has a length of nothing."""

    class Rules(list[str]):
        def __call__(self, *asked: object) -> Ask:
            return Ask()

    class Empty(Says):
        def __len__(self) -> int:
            return 0

    stopped = Bench({"pay": Rules()}, "pay")
    stopped.paused()
    ui = Empty(ConfirmationUIResult("confirm"))
    asked = Bench({"pay": BlockingConfirmationStrategy(Rules(), ui)}, "pay")
    asked.agent.run("go")

    assert (stopped.done, asked.done) == ([], ["pay 0"])


@pytest.mark.parametrize("colour", ["blocking", "async"])
@pytest.mark.parametrize(
    "wrong", [{"tool_name": "note"}, {"tool_call_id": "c9"}, {"digest": "forged"}]
)
def test_a_strategy_decides_about_no_other_call(colour: str, wrong: dict[str, Any]) -> None:
    """Than that which it was asked about."""

    class Confused:
        def run(self, **asked: Any) -> ToolExecutionDecision:
            given: Any = {"tool_name": "pay", "execute": True, **wrong}
            return ToolExecutionDecision(**given)

    bench = Bench({"pay": Confused()}, "pay")

    with pytest.raises(DecisionRefusedError, match="asked about 'pay'") as caught:
        go(bench, colour)

    assert (caught.value.refusal.why, bench.done) == ("wrong_digest", [])


def go(bench: Bench, colour: str) -> AgentResult[Any]:
    if colour == "async":
        return asyncio.run(bench.agent.run_async("go"))
    return bench.agent.run("go")


@pytest.mark.parametrize("colour", ["blocking", "async"])
def test_only_the_call_that_is_asked_about_waits(colour: str) -> None:
    """The human answers when the other tool of the turn has run."""

    class Patient:
        def get_user_confirmation(
            self, tool_name: str, tool_description: str, tool_params: object
        ) -> ConfirmationUIResult:
            assert bench.worked.acquire(timeout=10)
            return ConfirmationUIResult("confirm")

    strategy = BlockingConfirmationStrategy(AlwaysAskPolicy(), Patient())
    bench = Bench({"pay": strategy}, "pay", "note")

    go(bench, colour)

    assert bench.done == ["note 1", "pay 0"]


@pytest.mark.parametrize("colour", ["blocking", "async"])
def test_a_strategy_that_says_nothing_decides_nothing(colour: str) -> None:
    """The call is pending; the other tool has run."""

    class Vague:
        async def run(self, **asked: Any) -> Any:
            return None

    bench = Bench({"pay": Vague()}, "pay", "note")

    with pytest.raises(HITLBreakpointException) as caught:
        go(bench, colour)

    assert ([call.tool_name for call in caught.value.pending], bench.done) == (["pay"], ["note 1"])


NO_ANSWERS: list[tuple[object, str]] = [
    *((one, "must answer with a") for one in (True, "confirm", Confirmed(), ToolExecutionDecision)),
    (ConfirmationUIResult("modify"), "a change has all arguments as new_tool_params"),
    (ConfirmationUIResult("respond"), "the answer is a text, as feedback"),
    (ConfirmationUIResult("reject", cast(Any, 5)), "feedback is a text or None"),
    (ConfirmationUIResult("confirm", remember=cast(Any, "x")), "remember is 'call', 'arg"),
]


def test_a_human_writes_state_through_the_tools_arguments() -> None:
    """An answer in the tool's place is a text for the model; a change is what the tool stores."""

    @tool(outputs_to_state={"room": {"source": "room"}})
    def book(room: int, price: int = 0) -> dict[str, int]:
        """Book a room."""
        return {"room": room, "price": price}

    rooms = []
    for way, answer in (("respond", '{"room": 7}'), ("modify", {"room": 7})):
        agent = Agent(
            chat_generator=ScriptedChatGenerator(ToolCall("book", {"room": 3}), "done"),
            tools=[book],
            state_schema={"room": {"type": int}},
            confirmation_strategies={"book": AlwaysAskPolicy()},
            journal=MemoryJournal(),
        )
        agent.run("Book.", run_id="r", raise_at_break_point=False)
        (call,) = agent.pending("r")
        agent.decide("r", getattr(call, way)(answer))
        result = agent.resume("r")
        assert result.text == "done"
        rooms.append(result.state.get("room"))

    assert rooms == [None, 7]


@pytest.mark.parametrize("colour", ["blocking", "async"])
@pytest.mark.parametrize(("said", "text"), NO_ANSWERS, ids=str)
@pytest.mark.parametrize("is_ui", [True, False], ids=["ui", "strategy"])
def test_what_is_no_answer_is_named(colour: str, said: object, text: str, *, is_ui: bool) -> None:
    """A mistake in a UI must not look like a run that has simply ended; no tool runs by it."""

    class Vague:
        async def run(self, **asked: Any) -> Any:
            return said

        def get_user_confirmation(self, *asked: Any, **named: Any) -> Any:
            return said

    strategy = BlockingConfirmationStrategy(AlwaysAskPolicy(), Vague()) if is_ui else Vague()
    bench = Bench({"pay": strategy}, "pay", "note")

    with pytest.raises(TypeError, match=f"^Vague .*{text}"):
        go(bench, colour)

    assert bench.done == ["note 1"]


@pytest.mark.parametrize("colour", ["blocking", "async"])
def test_an_action_of_ones_own_leaves_the_call_waiting(colour: str) -> None:
    """It decides nothing, and that is no mistake."""

    class Later:
        def get_user_confirmation(self, *asked: Any, **named: Any) -> Any:
            return ConfirmationUIResult("ask my boss")

    bench = Bench({"pay": BlockingConfirmationStrategy(AlwaysAskPolicy(), Later())}, "pay")

    assert go(bench, colour).exit_reason is None
    assert bench.done == []


@pytest.mark.parametrize("action", ["reject", "modify"])
def test_a_strategy_around_another_tells_the_model_once(action: str) -> None:
    """What a strategy decides by hand is in the human's words; the run puts them into its own."""

    class Human:
        def get_user_confirmation(self, *asked: Any, **named: Any) -> Any:
            return ConfirmationUIResult(action, "too much", {"n": 1})

    inner = BlockingConfirmationStrategy(AlwaysAskPolicy(), Human())

    class Around:
        def run(self, *asked: Any, **named: Any) -> Any:
            return inner.run(*asked, **named)

    told = str(go(Bench({"pay": Around()}, "pay"), "blocking").messages)

    assert told.count("With user feedback: too much") == 1
    assert told.count("by the user") == 1


@pytest.mark.parametrize("colour", ["blocking", "async"])
def test_a_strategy_that_fails_decides_nothing(colour: str) -> None:
    """What it raises is raised, once the other tool has run; the call still waits."""

    class Broken:
        def run(self, **asked: Any) -> Any:
            raise OSError("no line to the human")

    bench = Bench({"pay": Broken()}, "pay", "note", journal=MemoryJournal())

    with pytest.raises(OSError, match="no line"):
        go(bench, colour)

    (stored,) = Runs(bench.agent.assembly.required_journal, bench.agent.spec).list()
    assert [call.tool_name for call in bench.agent.pending(stored.run_id)] == ["pay"]
    assert bench.done == ["note 1"]


@pytest.mark.parametrize(
    "late",
    [ConfirmationUIResult("confirm"), ConfirmationUIResult("modify", None, {"n": 7})],
    ids=["confirmed", "changed"],
)
def test_a_yes_that_comes_too_late_is_a_no(late: ConfirmationUIResult) -> None:
    """The model is told, and nobody is asked again."""
    ui = Says(late)
    strategy = BlockingConfirmationStrategy(
        WithQuestionOptions(AlwaysAskPolicy(), expires_s=-1), ui
    )
    bench = Bench({"pay": strategy}, "pay")

    result = bench.agent.run("go")

    (told,) = result.messages[-2].tool_call_results
    assert (bench.done, len(ui.told), told.error) == ([], 1, True)
    assert told.text == (
        "Tool 'pay' was not run: it had to be confirmed, and nobody did so in time"
    )
    assert [(one.by, type(one.decision)) for one in result.run.decisions] == [("expiry", Rejected)]


def test_a_ui_without_another_answer_is_a_mistake() -> None:
    """Also where it is an iterator that says so: that is no decision."""

    class Script:
        answers = iter(())

        def get_user_confirmation(
            self, tool_name: str, tool_description: str, tool_params: object
        ) -> ConfirmationUIResult:
            return next(self.answers)

    bench = Bench({"pay": BlockingConfirmationStrategy(AlwaysAskPolicy(), Script())}, "pay")

    with pytest.raises(StopIteration):
        bench.agent.run("go")
    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(bench.agent.run_async("go"))


def test_a_confirmation_does_not_count_for_a_fork() -> None:
    """The run that was confirmed goes on; a copy of it is asked about anew."""
    bench = Bench({"pay": AlwaysAskPolicy()}, "pay", journal=MemoryJournal())
    bench.paused()
    (call,) = bench.agent.pending("r")
    bench.agent.decide("r", call.confirm(remember="tool"))
    fork = Runs(bench.agent.assembly.required_journal, bench.agent.spec).fork("r")

    bench.agent.resume("r")
    with pytest.raises(HITLBreakpointException):
        bench.agent.run(snapshot=fork)

    assert bench.done == ["pay 0"]


def test_a_run_that_is_done_says_that_nothing_can_be_taken_back() -> None:
    """It is not that there had been none."""
    bench = Bench({"pay": AlwaysAskPolicy()}, "pay", journal=MemoryJournal())
    bench.paused()
    (call,) = bench.agent.pending("r")
    bench.agent.decide("r", call.confirm(remember="tool"))
    (grant,) = bench.agent.grants("r")
    bench.agent.resume("r")

    assert bench.agent.grants("r") == ()
    with pytest.raises(RunEndedError, match="it is done"):
        bench.agent.revoke("r", grant)


def test_what_is_remembered_goes_along_with_a_snapshot() -> None:
    """Also where a journal keeps what comes of it under a name of its own."""
    strategies = {"pay": AlwaysAskPolicy()}
    stopped = Bench(strategies, "pay").paused()
    (call,) = stopped.pending
    bench = Bench(strategies, "pay", "pay", journal=MemoryJournal())

    decided = stopped.snapshot.with_decisions([call.confirm(remember="tool")])
    result = bench.agent.run(snapshot=decided)

    assert [grant.scope for grant in result.run.grants] == ["tool"]
    assert result.run.id != "r"


def test_a_copy_by_a_snapshot_asks_for_itself_with_a_time_of_its_own() -> None:
    """Where the time of the original is over, its question is not answered with no at once."""
    clock = ManualClock(1000.0)
    asks, journal = {"pay": lambda *_: Ask(expires_s=100)}, MemoryJournal()
    bench = Bench(asks, "pay", journal=journal, clock=clock)
    stopped = bench.paused()
    clock.advance(500)

    with pytest.raises(HITLBreakpointException) as asked:
        bench.agent.run(snapshot=stopped.snapshot, run_id="copy")
    assert [call.expires_at for call in asked.value.pending] == [1600.0]

    late = stopped.snapshot.with_decisions([call.confirm() for call in stopped.pending])
    with pytest.raises(DecisionRefusedError, match="until"):  # said too late
        Bench(asks, "pay", journal=MemoryJournal(), clock=clock).agent.run(snapshot=late)


def test_a_policy_is_told_what_was_decided() -> None:
    """Also in a new process, which goes on with the run."""
    policy = Learning()
    ui = Says(ConfirmationUIResult("confirm"))
    bench = Bench({"pay": BlockingConfirmationStrategy(policy, ui)}, "pay", journal=MemoryJournal())

    bench.agent.run("go", run_id="r")
    told = ("pay", "Work.", {"n": 0}, "confirm", None)
    assert policy.told == [told]
    bench.agent.resume("r")

    assert policy.told == [told] * 2


def test_strategies_are_data() -> None:
    """With their policies and UIs."""
    for ui in (SimpleConsoleUI(), RichConsoleUI()):
        blocking = BlockingConfirmationStrategy(AlwaysAskPolicy(), ui, "no {tool_name}")
        assert BlockingConfirmationStrategy.from_dict(blocking.to_dict()) == blocking
    stopping = BreakpointConfirmationStrategy("here")
    assert BreakpointConfirmationStrategy.from_dict(stopping.to_dict()) == stopping


def test_a_strategy_can_be_run_by_hand() -> None:
    """As the seeds have it."""

    class Now:
        def __init__(self, said: ConfirmationUIResult) -> None:
            self.said = said

        def get_user_confirmation(
            self, tool_name: str, tool_description: str, tool_params: object
        ) -> ConfirmationUIResult:
            return self.said

    def run(said: ConfirmationUIResult) -> ToolExecutionDecision:
        return BlockingConfirmationStrategy(AlwaysAskPolicy(), Now(said)).run("pay", "", {"n": 1})

    assert run(ConfirmationUIResult("confirm")).final_tool_params == {"n": 1}
    assert run(ConfirmationUIResult("modify", None, {"n": 2})).final_tool_params == {"n": 2}
    assert not run(ConfirmationUIResult("reject", "no")).execute
    above = BlockingConfirmationStrategy(AskAbove("n", 9), Now(ConfirmationUIResult("reject")))
    assert not above.run("pay", "", {"n": 1}).execute  # asked always, since here is no agent
    with pytest.raises(ValueError, match="decides nothing"):
        run(ConfirmationUIResult("shrug"))
    with pytest.raises(HITLBreakpointException):
        BreakpointConfirmationStrategy().run("pay", "", {})


def test_a_template_is_checked_when_it_is_made() -> None:
    """And used for what the model is told."""
    with pytest.raises(ValueError, match="may name"):
        Bench({"pay": BreakpointConfirmationStrategy(reject_template="{nobody}")})


class Learning:
    """A policy that is told, in its own time, what was decided."""

    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []

    def should_ask(self, tool_name: str, tool_description: str, tool_params: object) -> bool:
        """Yes."""
        return True

    async def update_after_confirmation(self, *told: Any) -> None:
        """Keep it."""
        name, description, params, result = told
        self.told.append((name, description, params, result.action, result.by))


class Household:
    """Two agents as any process makes them: the outer one has its shopping done by the inner."""

    def __init__(self, folder: Path, policy: Any = None) -> None:
        self.folder, self.paid = folder, list[int]()
        self.strategy = BreakpointConfirmationStrategy(str(folder), policy or AlwaysAskPolicy())

    def agent(self) -> Agent[Any, Any]:
        """The outer agent, with a journal in a file."""

        @tool
        def pay(amount: int) -> str:
            """Pay an amount."""
            self.paid.append(amount)
            return "paid"

        inner = Agent(
            chat_generator=ScriptedChatGenerator(*[self.buy] * 2),
            tools=[pay],
            confirmation_strategies={"pay": self.strategy},
        )
        return Agent(
            chat_generator=ScriptedChatGenerator(*[self.order] * 2),
            tools=[AgentTool(inner, name="buyer", description="Buys.")],
            journal=SQLiteJournal(self.folder / "runs.db"),
        )

    @staticmethod
    def buy(messages: Any) -> Any:
        """What the inner model says."""
        return "bought" if messages[-1].role == "tool" else ToolCall("pay", {"amount": 30}, "p")

    @staticmethod
    def order(messages: Any) -> Any:
        """What the outer model says."""
        if messages[-1].role == "tool":
            return messages[-1].tool_call_results[0].text
        return ToolCall("buyer", {"task": "Buy tea."}, "b")


def test_a_call_of_an_inner_agent_is_decided_from_anywhere(tmp_path: Path) -> None:
    """It is listed for the outer run; others decide and go on; the journal says who, and when."""
    home = Household(tmp_path)
    with pytest.raises(HITLBreakpointException) as stopped:
        home.agent().run("Get tea.", run_id="r")
    assert (stopped.value.tool_name, len(stopped.value.pending)) == ("pay", 1)
    assert load_snapshot(str(stopped.value.snapshot_file_path)).run["id"] == "r"
    (call,) = home.agent().pending("r")
    assert (call.tool_name, call.run_id, call.arguments) == ("pay", "r", {"amount": 30})
    assert call.agents == ("buyer",)

    assert home.agent().decide("r", call.modify({"amount": 3}, by="Ada")) == ()
    with pytest.raises(DecisionRefusedError):
        home.agent().decide("r", call.confirm(by="Bob"))
    assert home.paid == []

    result = home.agent().resume("r")
    assert (result.text, home.paid) == ("bought", [3])
    (done,) = result.run.decisions
    assert (done.by, done.call.tool_name) == ("Ada", "pay")
    assert done.path == (AgentRef(1, 0, "buyer"),)
    entries = SQLiteJournal(tmp_path / "runs.db").read("r")
    events = [one.data["event"] for one in entries if one.kind == "HappenedInside"]
    (decided,) = (one for one in events if one["$type"] == "HumanDecided")
    assert (decided["by"], isinstance(decided["at"], float)) == ("Ada", True)


def test_the_policies_of_an_inner_agent_are_told_too(tmp_path: Path) -> None:
    """When it is decided, and in each process that goes on with the run."""
    policy = Learning()
    home = Household(tmp_path, policy)
    with pytest.raises(HITLBreakpointException):
        home.agent().run("Get tea.", run_id="r")
    (call,) = home.agent().pending("r")
    home.agent().decide("r", call.confirm(by="Ada"))

    home.agent().resume("r")
    assert policy.told == [("pay", "Pay an amount.", {"amount": 30}, "confirm", "Ada")]
    home.agent().resume("r")
    assert len(policy.told) == 2
    Rules().tell(home.agent().spec, home.agent().resume("r").run.decisions)  # has no such agent


def test_what_is_remembered_in_an_inner_agent_is_listed_and_revoked(tmp_path: Path) -> None:
    """By the grant that was listed."""
    home = Household(tmp_path)
    with pytest.raises(HITLBreakpointException):
        home.agent().run("Get tea.", run_id="r")
    (call,) = home.agent().pending("r")
    home.agent().decide("r", call.confirm(remember="tool"))

    (grant,) = home.agent().grants("r")
    assert grant.path == (AgentRef(1, 0, "buyer"),)
    home.agent().revoke("r", grant, by="Ada")

    assert home.agent().grants("r") == ()
    for gone in (grant, evolve(grant, path=(AgentRef(1, 1, "buyer"),))):
        with pytest.raises(ValueError, match="no grant"):
            home.agent().revoke("r", gone)


def test_five_processes_approve_change_and_reject() -> None:
    """Killed, decided about in any order, finished: what may run runs once."""
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True)

    assert "killed" in done.stdout
    assert sorted(done.stdout.partition("what was paid:\n")[2].splitlines()) == [
        "Ann 100",
        "Bob 70",
    ]


def test_a_question_of_another_release_says_what_has_changed_and_how_it_is_put_anew() -> None:
    """A run that waits does not look like one that waits for nobody."""

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    @tool(name="pay")
    def pay_later(amount: int) -> str:
        """Pay tomorrow."""
        return f"will pay {amount}"

    def release(paying: Any) -> Agent[Any]:
        script = ScriptedChatGenerator(ToolCall("pay", {"amount": 5}))
        rules = {"pay": AlwaysAskPolicy()}
        tools = [paying]
        return Agent(
            chat_generator=script, tools=tools, confirmation_strategies=rules, journal=journal
        )

    journal = MemoryJournal()
    release(pay).run("Pay.", run_id="r", raise_at_break_point=False)
    agent = release(pay_later)

    with pytest.raises(OutdatedQuestionError, match=r"agent\.resume\('r'\) puts it anew") as told:
        agent.pending("r")
    assert told.value.run_id == "r"
    assert "pay: the tool itself has changed" in str(told.value)

    agent.resume("r", raise_at_break_point=False)
    (call,) = agent.pending("r")
    assert "the tool itself has changed" in call.changed


def test_what_is_raised_where_a_run_waits_names_the_command_that_shows_it() -> None:
    """Where it is in a journal; a snapshot is looked into by no command."""

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    def told(journal: MemoryJournal | None) -> str:
        agent: Agent[Any] = Agent(
            chat_generator=ScriptedChatGenerator(ToolCall("pay", {"amount": 5})),
            tools=[pay],
            confirmation_strategies={"pay": BreakpointConfirmationStrategy(None)},
            journal=journal,
        )
        with pytest.raises(HITLBreakpointException) as raised:
            agent.run("Pay.", run_id="my run")
        return str(raised.value)

    command = f"{shlex.join(program())} runs pending 'my run' --app MODULE:NAME"
    assert command in told(MemoryJournal())
    assert command not in told(None)


def test_nobody_takes_up_a_run_that_waits_for_a_human_for_the_end_of_its_time() -> None:
    """It would have all of its time again, and be taken up once more."""

    def pay(amount: int) -> str:
        """Pay."""
        return "paid"

    journal = MemoryJournal()
    agent = Agent(
        chat_generator=ScriptedChatGenerator(ToolCall("pay", {"amount": 5}, "c")),
        tools=[create_tool_from_function(pay)],
        confirmation_strategies={"pay": AlwaysAskPolicy()},
        limits=Limits(max_seconds=2),
        journal=journal,
    )
    agent.run("go", run_id="r", raise_at_break_point=False)

    (listed,) = Runs(journal, agent.spec).list()
    assert (listed.status, listed.wake_at) == ("waiting", None)
