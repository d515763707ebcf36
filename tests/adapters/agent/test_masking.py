"""Masking: a secret argument is in no text that people see, and the tool still gets it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from attrs import evolve
from rich.pretty import pretty_repr

from detent import (
    Agent,
    AlwaysAskPolicy,
    AskAbove,
    BreakpointException,
    ChatMessage,
    HITLBreakpointException,
    Limits,
    MemoryJournal,
    Runs,
    ScriptedChatGenerator,
    SecretParameter,
    StreamingChunk,
    ToolBreakpoint,
    ToolCall,
    ToolInvocationError,
    get_tool_calls_and_descriptions_from_snapshot,
    tool,
)
from detent.adapters.drivers.callbacks import SecretFilter
from detent.adapters.stories.story import story_of
from detent.adapters.web.rendering import FILTERS
from detent.approvals import AskOverBudget, AskWhen, DecisionRefusedError, audit_log
from detent.core.tools.masking import MASK
from detent.models import ChatReply, ToolCallDelta

PIN = "geheim-4711"


class Desk:
    """An agent that pays with a secret, and what its tool has been given."""

    def __init__(
        self, policy: Any = None, *, pin: object = PIN, call: Any = None, **options: Any
    ) -> None:
        self.got: list[str] = []

        @tool
        def pay(to: str, pin: Annotated[str, SecretParameter] | None = None) -> str:
            """Pay."""
            if to == "nobody":
                raise ValueError(f"the pin {pin} is wrong")
            self.got.append(str(pin))
            return "paid"

        call = call or ToolCall("pay", {"to": "nobody" if options else "Ann", "pin": pin}, "c")
        model = ScriptedChatGenerator(ChatMessage.from_assistant(tool_calls=[call]), "Done.")
        self.journal = MemoryJournal()
        self.agent: Agent[Any] = Agent(
            chat_generator=model,
            tools=[pay],
            journal=self.journal,
            confirmation_strategies={"pay": policy} if policy else {},
            **options,
        )

    def run(self, *args: Any, **options: Any) -> Any:
        """Run the agent."""
        return self.agent.run("Pay.", *args, run_id="r", **options)

    def waiting(self) -> HITLBreakpointException:
        """Where the run stops."""
        with pytest.raises(HITLBreakpointException) as caught:
            self.run()
        return caught.value


def test_arguments_that_cannot_be_read_are_not_told() -> None:
    """Where in them a secret stands, nobody knows: the model has written less than all."""
    cut = ToolCall("pay", id="c", unreadable=f'{{"to": "Ann", "pin": "{PIN}"')
    result = Desk(call=cut).run()
    (told,) = result.messages[-2].tool_call_results
    assert "the arguments are not a JSON object" in str(told.result)
    assert PIN not in f"{told.result} {result} {result.messages!r}"


@pytest.mark.parametrize("colour", ["blocking", "async"])
@pytest.mark.parametrize("pin", [PIN, {"the": PIN}], ids=["fits", "does not"])
def test_no_piece_of_a_run_shows_it(colour: str, pin: object) -> None:
    """Neither what the model writes, nor the results."""
    desk, pieces = Desk(pin=pin), list[StreamingChunk]()

    if colour == "async":
        result = asyncio.run(desk.agent.run_async("Pay.", pieces.append))
    else:
        result = desk.run(pieces.append)

    assert PIN not in repr(pieces)
    written = "".join(delta.arguments for piece in pieces for delta in piece.tool_calls)
    assert written == f'{{"to": "Ann", "pin": "{MASK}"}}'
    assert PIN in str(result.messages[1].tool_calls[0].arguments)
    assert desk.got == ([PIN] if pin == PIN else [])


def test_where_a_run_stops_it_is_not_told() -> None:
    """In no error, no summary, and not among the calls for people."""
    desk = Desk()
    with pytest.raises(BreakpointException) as caught:
        desk.run(break_point=ToolBreakpoint("tool_invoker"))

    snapshot = caught.value.snapshot
    shown = get_tool_calls_and_descriptions_from_snapshot(snapshot)
    for told in (caught.value, snapshot.about_to, snapshot.summary(), shown):
        assert (PIN in str(told), MASK in str(told)) == (False, True)


def never(params: dict[str, Any]) -> bool:
    raise LookupError(f"no rule for {params}")


@pytest.mark.parametrize("policy", [AskAbove("pin", 0), AskWhen(never)], ids=["says it", "fails"])
def test_a_question_does_not_say_it(policy: Any) -> None:
    """Whatever the policy has said; nor does the refusal of a change."""
    desk = Desk(policy)
    stopped = desk.waiting()
    (call,) = stopped.pending
    assert PIN not in f"{stopped} {call} {call.to_dict()} {stopped.snapshot.summary()}"

    with pytest.raises(DecisionRefusedError) as caught:
        desk.agent.decide("r", call.modify({"to": "Ann", "pin": [PIN]}))
    assert PIN not in str(caught.value)

    desk.agent.decide("r", call.modify({"pin": MASK, "to": "Bob"}))
    pieces: list[StreamingChunk] = []
    desk.agent.resume("r", pieces.append)

    assert PIN not in repr(pieces)
    assert pieces[0].tool_call_result is not None
    assert f'to:\n{{"to": "Bob", "pin": "{MASK}"}}' in pieces[0].tool_call_result.text
    assert desk.got == [PIN]


@pytest.mark.parametrize("policy", [AskAbove("pin", 3), AskOverBudget("pin", 3)])
@pytest.mark.parametrize("pin", [4, 4.0, 4_711])
def test_a_policy_that_looks_at_a_number_does_not_tell_it(policy: Any, pin: float) -> None:
    """Nor what it knows of those before, nor by what number it is no longer told beside."""

    @tool
    def pay(pin: Annotated[float, SecretParameter] = 4_711) -> str:
        """Pay."""
        return "paid"

    calls = [ToolCall("pay", {"pin": pin}), ToolCall("pay", {}), ToolCall("pay", {"pin": 3})]
    said = ChatMessage.from_assistant(tool_calls=calls)
    agent = Agent(
        chat_generator=ScriptedChatGenerator(said),
        tools=[pay],
        confirmation_strategies={"pay": policy},
    )
    asked = agent.run("go", raise_at_break_point=False).pending

    assert len(asked) == (2 if isinstance(policy, AskAbove) else 3)
    reasons = [call.reason for call in asked]
    assert not any(sign.isdigit() or sign == "<" for sign in str(reasons)), reasons
    assert all("pin is secret" in reason for reason in reasons)


def test_a_failed_call_does_not_tell_it() -> None:
    """Neither the arguments, nor what the tool itself has said."""
    with pytest.raises(ToolInvocationError) as caught:
        Desk(raise_on_tool_invocation_failure=True).run()

    assert "the pin <pin> is wrong" in str(caught.value)
    assert PIN not in str(caught.value)


@pytest.mark.parametrize("is_last", [False, True])
def test_a_tool_that_is_not_offered_has_secrets_all_the_same(*, is_last: bool) -> None:
    """A model may call it: where only others may be used, or none in its last answer."""

    @tool
    def look() -> str:
        """Look."""
        return "seen"

    desk = Desk()
    pay = desk.agent.spec.tools["pay"]
    call = ToolCall("pay", {"to": "Ann", "pin": PIN}, "c")
    script = [ToolCall("look", {}), call] if is_last else [call, "Done."]
    limits = Limits(max_agent_steps=1, final_answer=True) if is_last else Limits()
    model = ScriptedChatGenerator(*script)
    agent = Agent(chat_generator=model, tools=[pay, look], limits=limits)
    pieces = list[StreamingChunk]()

    result = agent.run("go", pieces.append, tools=None if is_last else ["look"])

    assert desk.got == []
    assert result.messages[-2 if is_last else -3].tool_call is not None
    assert PIN not in f"{result.messages}{pieces}"


def test_pieces_of_other_calls_stay_in_their_order() -> None:
    """What comes before the secret, and beside it; what is no object is masked as a whole."""
    veil = SecretFilter({"pay": frozenset({"pin"})})
    deltas = [ToolCallDelta(0, "note", '{"n": '), ToolCallDelta(0, arguments="1}"),
              ToolCallDelta(1, "pay", '{"pin": "4'), ToolCallDelta(1, arguments='7"}'),
              ToolCallDelta(2, "pay", "[4711"), ToolCallDelta(3, "pay")]  # fmt: skip
    chunks = [StreamingChunk(tool_calls=(delta,)) for delta in deltas]

    shown = [
        one for chunk in (*chunks, StreamingChunk(finish_reason="stop")) for one in veil(chunk)
    ]

    told = [(delta.index, delta.arguments) for one in shown for delta in one.tool_calls]
    assert [one for one in told if one[1]] == [
        (0, '{"n": '), (0, "1}"), (1, f'{{"pin": "{MASK}"}}'), (2, MASK), (3, "{}")
    ]  # fmt: skip
    assert shown[-1].finish_reason == "stop"


def printed(value: object) -> str:
    """As Python and rich print it."""
    return f"{value!r} {value} {pretty_repr(value, max_length=None, max_depth=None)}"


@pytest.mark.parametrize("pin", [PIN, {"the": PIN}], ids=["fits", "does not"])
def test_nothing_of_a_run_prints_it(pin: object) -> None:
    """Not the result, its run, its messages, its calls, nor the events, kept or read again.

    Nor an entry of its journal: what is secret in that, only the tools of the run know.
    """
    desk = Desk(AlwaysAskPolicy(), pin=pin)
    if pin == PIN:
        stop = desk.waiting()
        assert PIN not in printed(stop.result.run) + printed(stop) + printed(stop.pending)
        desk.agent.decide("r", stop.pending[0].modify({"to": "Bob", "pin": f"{PIN}!"}))
        result = desk.agent.resume("r")
        assert desk.got == [f"{PIN}!"]
    else:
        result = desk.run()

    events = list(Runs(desk.journal, desk.agent.spec).watch("r"))
    entries, checkpoints = [*desk.journal.read("r")], [*desk.journal.checkpoints("r")]
    kept = [*entries, *checkpoints, *(evolve(one, data=one.data) for one in entries)]
    assert PIN in "".join(one.text for one in kept)
    for value in (result, result.run, result.messages, *events, *kept):
        assert PIN not in printed(value)
    stored = ChatMessage.from_dict(result.messages[1].to_dict())
    assert PIN in str(stored.tool_calls[0].arguments["pin"])
    assert PIN not in printed(stored)


@dataclass
class Login:
    """A record with a secret in it."""

    user: str = "Ann"
    key: Annotated[str, SecretParameter] = PIN


def sign(site: str, key: Annotated[str, SecretParameter] = PIN) -> str:
    """Sign."""
    return f"{site} {'right' if key == PIN else 'wrong'}"


def enter(site: str, login: Login = Login()) -> str:  # noqa: B008 - that it is one is the point
    """Enter."""
    return f"{site} {'right' if login.key == PIN else 'wrong'}"


def visit(site: str, login: Login) -> str:
    """Visit."""
    return enter(site, login)


@pytest.mark.parametrize(
    ("function", "sent"),
    [(sign, {}), (enter, {}), (visit, {"login": {}})],
    ids=["alone", "in a record", "of a part"],
)
def test_a_default_that_is_secret_is_in_no_schema(function: Any, sent: dict[str, Any]) -> None:
    """Neither for people nor for models; what is left out is that all the same."""
    known = tool(function)
    seen: list[Any] = []

    class Model:
        def run(self, messages: Any, **options: Any) -> ChatReply:
            seen.append(options)
            call = ToolCall(known.name, {"site": "bank", **sent})
            calls = [] if messages[-1].role == "tool" else [call]
            return ChatReply(ChatMessage.from_assistant("done", tool_calls=calls))

    journal = MemoryJournal()
    agent: Agent[Any] = Agent(
        chat_generator=Model(),
        tools=[known],
        journal=journal,
        confirmation_strategies={"*": AlwaysAskPolicy()},
    )
    agent.run("go", run_id="r", raise_at_break_point=False)
    (call,) = agent.pending("r")
    agent.decide("r", call.confirm())
    result = agent.resume("r")

    assert PIN not in str((call.to_dict(), known.spec, seen))
    assert PIN not in str([one.to_dict() for one in audit_log(journal, agent.spec, "r")])
    assert "default" not in str(known.spec.parameters)
    assert known.spec.parameters["required"] == (["site", "login"] if sent else ["site"])
    told = [one.text for message in result.messages for one in message.tool_call_results]
    assert told == ["bank right"]


def test_a_default_that_is_secret_is_told_by_no_error_and_no_reason() -> None:
    """It is as secret as one that a model has sent."""

    @tool
    def sign(key: Annotated[str, SecretParameter] = PIN) -> str:
        """Sign."""
        raise RuntimeError(f"the key {key} is refused")

    model = ScriptedChatGenerator(ToolCall("sign", {}), "done")
    policy = AskWhen(lambda arguments: True, "the key is geheim-4711")
    agent = Agent(
        chat_generator=model,
        tools=[sign],
        journal=MemoryJournal(),
        confirmation_strategies={"sign": policy},
    )
    agent.run("go", run_id="r", raise_at_break_point=False)
    (call,) = agent.pending("r")
    agent.decide("r", call.confirm())
    result = agent.resume("r")

    assert PIN not in str(call.reason)
    told = [one.text for message in result.messages for one in message.tool_call_results]
    assert "is refused" in told[0]
    assert PIN not in told[0]


@tool
def stamp(pin: Annotated[str, SecretParameter], text: str) -> str:
    """Stamp a text, and repeat the pin."""
    return f"stamped {text} for pin {pin}"


def test_a_result_repeats_no_secret_where_people_read_it() -> None:
    """Nor does a call of a tool whose name the model has misspelled."""
    arguments = {"pin": PIN, "text": "t"}
    script = (ToolCall("Stamp", arguments), ToolCall("stamp", arguments), "Done.")
    journal, told = MemoryJournal(), list[StreamingChunk]()
    model = ScriptedChatGenerator(*script)
    made = Agent(chat_generator=model, tools=[stamp], journal=journal)
    result = made.run("x", told.append, run_id="r")

    assert PIN in result.messages[-2].tool_call_results[0].text, "the model reads all of it"
    assert PIN not in FILTERS["told"](result.messages[-2].tool_call_results[0])
    assert any(chunk.tool_call_result for chunk in told)
    assert PIN not in "".join(map(str, told))
    records = audit_log(journal, made.spec, "r")
    assert any("stamped t" in record.text for record in records)
    assert PIN not in str([(record.text, record.arguments) for record in records])
    story = story_of("r", journal.read("r"))
    assert story is not None
    shown = [(call.tool, call.arguments, call.result) for one in story.turns for call in one.calls]
    assert [name for name, _, _ in shown] == ["Stamp", "stamp"]
    assert PIN not in str(shown)
