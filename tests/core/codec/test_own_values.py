"""Records: every value of our own comes back from JSON, and nothing else does."""

from __future__ import annotations

import json
from datetime import date
from itertools import permutations
from typing import Any

import pytest
from attrs import evolve, frozen
from cattrs import IterableValidationError, IterableValidationNote
from hypothesis import given
from hypothesis import strategies as st

from detent import (
    Answered,
    ChatMessage,
    Confirmed,
    FileContent,
    ImageContent,
    Modified,
    Rejected,
    State,
    TextContent,
    ToolCall,
)
from detent.core.codec.own_values import dump, load, message_of
from detent.core.errors import StoredDataError, UnstorableError
from detent.core.run.events import (
    AnswerRejected,
    ClockTicked,
    HappenedInside,
    Resumed,
    ToolLost,
    ToolNeverRan,
)
from detent.core.run.outcomes import Outcome
from detent.core.run.refs import AgentRef
from detent.core.run.run import Phase, RunOptions, Status
from detent.core.storage.writes import register_forms
from detent.core.values.frozen import FrozenDict
from detent.machine import (
    AgentSpec,
    CallRef,
    Cancelled,
    CancelRequested,
    Event,
    Finished,
    HumanDecided,
    ModelFailed,
    ModelReplied,
    Run,
    ToolFault,
    ToolRaised,
    ToolResult,
    ToolReturned,
    ToolStarted,
    Write,
    start,
)
from detent.models import ChatReply, ModelFailure, Usage

register_forms()
REF = CallRef(1, 0)
CALL = ToolCall("pay", {"n": [1, {"a": None}], "x": 1.5}, "c1", {"sig": "x"})
REPLY = ChatReply(
    ChatMessage.from_assistant("hi", tool_calls=[CALL], reasoning="hm", name="a", meta={"m": 1}),
    usage=Usage(1, 2, 3, 4),
)
EVENTS: list[Event] = [
    ModelReplied(1, 1, REPLY),
    ModelFailed(1, 2, ModelFailure("server", "no", retryable=True, retry_after_s=1.5)),
    ModelFailed(1, 2, ModelFailure("server", "no", retryable=True), 1.0, 0.5),
    ToolStarted(REF, 1, 2.5),
    ToolReturned(REF, 1, ToolResult("x", warnings=("w",))),
    ToolReturned(REF, 1, ToolResult((TextContent("a"), ImageContent("b"), FileContent("c", "d")))),
    ToolRaised(REF, 1, ToolFault("raised", "no", retryable=True), 1.0, 0.5),
    ClockTicked(3.0, 0.25),
    ClockTicked(float("inf")),
    *(HumanDecided(REF, "d", one, "me") for one in (Confirmed(), Rejected("no"), Answered("x"))),
    HumanDecided(REF, "d", Modified({"n": 2}, "less")),
    ToolNeverRan(REF, 1),
    ToolLost(REF, 1, "gone", 2.5),
    Resumed("p"),
    Resumed("p", 2.5),
    ModelReplied(1, 1, REPLY, cost=0.5),
    CancelRequested("stop"),
    AnswerRejected(1, "why?"),
]


def through_json(value: object, declared: Any) -> Any:
    """What comes back from a file."""
    return load(json.loads(json.dumps(dump(value, declared))), declared)


@pytest.mark.parametrize("event", EVENTS, ids=range(len(EVENTS)))
def test_every_event_comes_back(event: Event) -> None:
    """Equal to what it was."""
    assert through_json(event, Event) == event


@pytest.mark.parametrize("outcome", [Finished("text"), Cancelled("x")])
def test_outcomes_come_back(outcome: Outcome) -> None:
    """Each with its own kind."""
    assert through_json(outcome, Outcome) == outcome


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"$type": "os.system", "command": "rm"}, r"must have '\$type', one of ModelReplied"),
        ({"$type": "ToolStarted", "attempt": 1}, "it is missing @ data.ref"),
        ({"$type": "ToolStarted", "ref": [1, 0], "attempt": "1"}, "must be int, got str"),
        ({"$type": "ToolStarted", "ref": [1, 0], "attempt": True}, "must be int, got bool"),
        ({"$type": "ToolStarted", "ref": [1], "attempt": 1}, "an array of turn and place"),
        ({"$type": "ToolStarted", "ref": [1, "0"]}, "must be int, got str @ data.ref"),
        ({"$type": "ToolStarted", "ref": 3, "attempt": 1}, "must be an array, got int @ data.ref"),
        ({"$type": "CancelRequested", "reason": "x", "more": 1}, "nothing is called"),
        (
            {"$type": "HumanDecided", "ref": [1, 0], "digest": "", "decision": None},
            "must be an object",
        ),
        ([], "must be an object, got list"),
        ({"$type": "ClockTicked", "at": 10**400}, "int too large to convert to float @ data.at"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(data: object, text: str) -> None:
    """The message says what was expected, and where."""
    with pytest.raises(StoredDataError, match=text):
        load(data, Event)  # type: ignore[arg-type]  # a union is a kind here


UNIONS = (Event, Outcome, Phase, Status, ChatReply)
SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["$type", "ref", "x"]), inner),
    max_leaves=8,
)


@given(SHAPES, st.sampled_from(UNIONS))
def test_hostile_data_gives_a_typed_error_or_a_value(data: object, kind: Any) -> None:
    """Nothing else comes out, whatever goes in."""
    try:
        value = load(data, kind)
    except StoredDataError:
        return
    assert type(value).__module__.startswith("detent.core.")


def test_a_value_of_another_type_is_not_written() -> None:
    """It could not be read again; the error says where it stands."""
    with pytest.raises(UnstorableError, match=r"it\['n'\] cannot be stored: .* @ data\.arguments"):
        dump(ToolCall("pay", {"n": len}))
    with pytest.raises(UnstorableError, match=r"must be str, got int @ data\.reason"):
        dump(CancelRequested(3), Event)  # type: ignore[arg-type]  # it is what is tested
    with pytest.raises(UnstorableError, match=r"must be str, got int @ data\.content\[1\]\.text"):
        dump(ToolResult((TextContent("a"), TextContent(3))))  # type: ignore[arg-type]  # the same
    with pytest.raises(UnstorableError, match="nested too deeply"):
        dump(RunOptions(None, deep(5000)))


def deep(levels: int) -> dict[str, object]:
    """Dicts in dicts, frozen already, as freezing them again would be too deep as well."""
    inner: FrozenDict[str, object] = FrozenDict()
    for _ in range(levels):
        inner = FrozenDict(a=inner)
    return inner


def test_free_values_come_back_exactly() -> None:
    """Also those that JSON has not got, or that look like a tag of ours."""
    odd = {"$type": "x", "nan": [1e400], "n": 2**70, "pair": (1, 2), "day": date(2026, 1, 2)}
    call = ToolCall("pay", odd)

    again = through_json(call, ToolCall)

    assert again == call
    assert type(again.arguments["pair"]) is tuple


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (ToolResult(3), "must be str or tuple, got int @ data.content"),  # type: ignore[arg-type]  # as below
        (HumanDecided(REF, "d", "yes"), "must be Confirmed or .*, got str @ data.decision"),  # type: ignore[arg-type]  # it is what is tested
        (ToolResult("x", (Write("a", 1),)), r"without an agent .* @ data.writes\[0\]"),
    ],
    ids=["union", "tagged", "write"],
)
def test_a_value_that_fits_no_member_is_not_written(value: object, told: str) -> None:
    """The error says which there are."""
    with pytest.raises(UnstorableError, match=told):
        dump(value)


@pytest.mark.parametrize("content", [3, None, {"a": 1}])
def test_data_that_fits_no_member_is_refused(content: object) -> None:
    """As above."""
    with pytest.raises(StoredDataError, match=r"must be str or an array, got .* @ data\.content"):
        load({"content": content}, ToolResult)


def test_names_may_come_in_any_order() -> None:
    """Whoever wrote them: it is only slower."""
    told: dict[str, object] = {
        "$type": "ModelFailed",
        "turn": 1,
        "attempt": 2,
        "at": None,
        "chance": 0.5,
    }
    told["failure"] = {"cause": "server", "message": "no"}

    for names in permutations(told):
        assert load({name: told[name] for name in names}, Event).chance == 0.5  # type: ignore[arg-type]  # a union is a kind here


def test_endless_data_is_refused() -> None:
    """As a typed error, like everything else."""
    inner: dict[str, Any] = {}
    for _ in range(5000):
        inner = {"a": inner}
    with pytest.raises(StoredDataError, match=r"too deeply|recursion depth"):
        load({"tool_name": "pay", "arguments": inner}, ToolCall)


def test_what_is_only_there_while_the_process_lives_is_not_stored() -> None:
    """What a tool raised stays with the fault, and out of every file."""
    fault = ToolFault("raised", "no").because(ValueError("no"))

    again = through_json(fault, ToolFault)

    assert again == fault
    assert again.cause is None


def test_the_names_in_stored_data_are_fixed() -> None:
    """A file of today is read tomorrow: who renames a class must keep its name in files."""
    names = sorted({type(event).__name__ for event in EVENTS})
    assert names == [
        *("AnswerRejected", "CancelRequested", "ClockTicked", "HumanDecided", "ModelFailed"),
        *("ModelReplied", "Resumed", "ToolLost", "ToolNeverRan", "ToolRaised", "ToolReturned"),
        "ToolStarted",
    ]


@frozen
class Nest:
    """A record in which there may be another."""

    inner: Nest | None = None


def test_what_is_nested_too_deeply_is_refused() -> None:
    """Reading it would end the process."""
    data: dict[str, object] = {}
    for _ in range(5000):
        data = {"inner": data}
    with pytest.raises(StoredDataError, match="nested too deeply"):
        load(data, Nest)


def test_a_write_needs_an_agent_to_be_stored() -> None:
    """Its handler goes by a name that only an agent knows."""
    result = ToolResult("x", (Write("a", 1),))
    with pytest.raises(UnstorableError, match="without an agent a write cannot be stored"):
        dump(result)


def test_a_text_of_a_kind_of_its_own_is_stored_as_a_text() -> None:
    """What is asked for is what it stands for."""

    class Loud(str):
        __slots__ = ()

    told = ToolResult(Loud("hi"))
    assert dump(told) == {"content": "hi"}
    assert through_json(told, ToolResult) == told


def test_what_is_equal_to_a_default_goes_without_saying_too() -> None:
    """Not only the default itself."""
    reply = ChatReply(ChatMessage.from_assistant("hi"), usage=Usage())
    assert dump(reply).keys() == {"message"}


def test_a_free_value_that_looks_flat_may_be_another_one() -> None:
    """Its tag is heard."""
    tagged = {"$type": "bytes", "value": "YQ=="}
    with pytest.raises(StoredDataError, match=r"must be an object, got bytes @ data\.arguments"):
        load({"tool_name": "pay", "arguments": tagged}, ToolCall)


def test_a_named_tuple_is_an_array_whatever_its_parts_are() -> None:
    """Numbers, which most have, and others."""
    inner = AgentRef(1, 0, "ask")

    assert dump(REF) == [1, 0]
    assert dump(inner) == [1, 0, "ask"]
    assert (through_json(REF, CallRef), through_json(inner, AgentRef)) == (REF, inner)
    with pytest.raises(UnstorableError, match="must be int, got str"):
        dump(CallRef("1", 0))  # type: ignore[arg-type]  # it is what is tested


def test_a_record_that_is_none_of_the_union_is_not_written() -> None:
    """It could not be told from the others again."""
    with pytest.raises(UnstorableError, match=r"must be .*ModelReplied.*, got Usage"):
        dump(Usage(), Event)
    with pytest.raises(UnstorableError, match=r"must be .*, got int"):
        dump(ToolResult(3))  # type: ignore[arg-type]  # it is what is tested


def test_a_plan_is_kept_for_some_orders_of_names_only() -> None:
    """Whoever stores the fields in ever new orders fills no memory, and is still read."""
    data = {"input_tokens": 1, "output_tokens": 2, "cached_tokens": 3, "reasoning_tokens": 4}
    orders = [{name: data[name] for name in order} for order in permutations(data)]
    fewer = [dict(list(one.items())[:3]) for one in orders]
    fewest = [dict(list(one.items())[:2]) for one in orders]
    least = [{name: data[name]} for name in data]

    read = [load(one, Usage) for one in (*orders, *fewer, *fewest, *least, {})]

    assert [one.input_tokens for one in read[:24]] == [1] * 24
    assert all(one.output_tokens in (0, 2) for one in read)


@frozen
class Odd:
    """A record of what nobody has said how to store."""

    it: object


def test_what_has_no_form_is_refused() -> None:
    """Once it is needed, and not before: most of such a record may never be met."""
    with pytest.raises(UnstorableError, match=r"object'> has no stored form @ data\.it"):
        dump(Odd(3))
    with pytest.raises(StoredDataError, match=r"object'> has no stored form @ data\.it"):
        load({"it": 3}, Odd)


@pytest.mark.parametrize(
    ("kind", "data", "told"),
    [
        (
            ChatMessage,
            {"role": "robot", "content": []},
            r"must be one of system, .*, got 'robot' @ data\.role",
        ),
        (ChatMessage, {"role": [], "content": []}, r"must be one of .* @ data\.role"),
        (ChatMessage, {"role": "user", "content": {}}, "must be an array, got dict"),
        (ChatMessage, {"role": "user", "content": [3]}, r"must be .* got int @ data\.content\[0\]"),
        (
            Run,
            {"id": "r", "state": {}, "tool_call_counts": {"pay": "1"}},
            r"got str @ .*counts\['pay'\]",
        ),
        (
            ChatMessage,
            {"role": "user", "content": [{"$type": ["x"]}]},
            r"must have '\$type', one of TextContent, .* @ data\.content\[0\]",
        ),
    ],
    ids=range(6),
)
def test_each_part_of_a_record_is_of_its_type(kind: Any, data: object, told: str) -> None:
    """The place is said down to the item."""
    with pytest.raises(StoredDataError, match=told):
        load(data, kind)


def test_a_role_that_there_is_not_is_not_written() -> None:
    """Nobody could read it again."""
    with pytest.raises(UnstorableError, match=r"must be one of stop, .* got 'odd' @ data\.finish"):
        dump(ChatReply(ChatMessage.from_user("hi"), "odd"))  # type: ignore[arg-type]  # it is what is tested


def test_a_state_that_cannot_be_stored_is_found_in_its_run() -> None:
    """The error names the key."""
    spec = AgentSpec(State({"seen": {"type": list}}))
    run = start(spec, [ChatMessage.from_user("hi")], run_id="r")
    odd = evolve(run, state=run.state.update([Write("seen", [len])]))

    with pytest.raises(UnstorableError, match=r"state key 'seen'.* @ data\.state"):
        dump(odd, Run, spec)


def test_an_agent_that_is_not_there_is_said() -> None:
    """Its names would mean nothing."""
    spec = AgentSpec(State({}))
    inside = HappenedInside(REF, "ask", Resumed("p"))

    assert through_json(inside, HappenedInside) == inside
    with pytest.raises(UnstorableError, match=r"no agent 'ask'; it has \[\]"):
        dump(inside, HappenedInside, spec)
    with pytest.raises(StoredDataError, match=r"no agent 'ask'; it has \[\]"):
        load(dump(inside), HappenedInside, spec)


def test_a_fault_too_deep_to_be_followed_is_said_to_be_one() -> None:
    """To say where it is would end the process."""
    error: Exception = ValueError("no")
    group: Any = IterableValidationError  # pyright does not see its own constructor
    for _ in range(5000):
        error.add_note(IterableValidationNote("inside", 0, object))
        error = group("an item", [error], list)

    assert message_of(error) == "it is nested too deeply"
