"""Whether what has let a call run lets it begin, right before it does."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from detent import ChatMessage, State, ToolCall
from detent.approvals import Allow, Ask
from detent.core.machine.beginning import lapse_of, may_begin
from detent.core.machine.delegation import PARAMETERS
from detent.core.run.approval import Confirmed
from detent.core.run.run import Ready
from detent.core.run.spec import Delegate
from detent.core.tools.tool import by_name
from detent.machine import (
    AgentRef,
    AgentSpec,
    AskHuman,
    CallRef,
    FrozenDict,
    HumanDecided,
    Judge,
    Judged,
    Resumed,
    Run,
    RunTool,
    ToolNeverRan,
    ToolStarted,
    due,
    start,
    step,
    wrap_event,
)
from tests.core.asking import PAY, called, judged, spec_of, waiting

FIRST = CallRef(1, 0)
FIVE = {"to": "Ann", "amount": 5}


def asking(**options: Any) -> AgentSpec[State]:
    """Asks a human about each payment."""
    return spec_of(lambda call, tool, run: Ask("sure?", **options))


def confirmed(spec: AgentSpec[State], run: Run[State], at: float) -> Run[State]:
    """A human says yes to what is asked."""
    (question,) = (one for one in due(spec, run) if isinstance(one, AskHuman))
    return step(spec, run, HumanDecided(FIRST, question.digest, Confirmed(), at=at))


def begun(spec: AgentSpec[State], at: float | None = None) -> Run[State]:
    """A run whose call a human has confirmed, and whose start is recorded."""
    run = confirmed(spec, waiting(spec, FIVE, at=0.0), 5.0)
    return step(spec, run, ToolStarted(FIRST, 1, at))


def tool_in(spec: AgentSpec[State], run: Run[State]) -> RunTool:
    """The call that is to be worked on."""
    (effect,) = (one for one in due(spec, run) if isinstance(one, RunTool))
    return effect


def other(spec: AgentSpec[State]) -> AgentSpec[State]:
    """The same agent in another release: the code of its tool is another one."""
    return evolve(spec, tools=by_name([evolve(PAY, function=lambda to, amount, pin, user: "")]))


def test_what_was_confirmed_begins_by_no_other_tool() -> None:
    """Whoever has another release of it must ask anew."""
    spec = asking()
    run = begun(spec)

    assert may_begin(spec, run, tool_in(spec, run), None)
    assert not may_begin(other(spec), run, tool_in(other(spec), run), None)


def test_a_yes_that_lapses_while_the_call_waits_for_a_place_begins_nothing() -> None:
    """Its start was recorded in time."""
    spec = asking(expires_s=10.0)
    run = begun(spec, at=6.0)
    effect = tool_in(spec, run)

    assert lapse_of(run, effect) == 10.0
    assert [may_begin(spec, run, effect, at) for at in (9.0, 11.0, None)] == [True, False, False]


def test_a_call_that_nobody_guards_may_begin_and_one_without_a_clearance_may_not() -> None:
    """The latter has a start that nobody knows the reason of."""
    guarded = spec_of(lambda call, tool, run: Allow())
    free = evolve(guarded, policies=FrozenDict())
    opened = start(free, [ChatMessage.from_user("pay")], run_id="r")
    run = step(free, step(free, opened, called(free, FIVE)), ToolStarted(FIRST, 1))

    assert may_begin(free, run, tool_in(free, run), None)
    assert not may_begin(guarded, run, tool_in(guarded, run), None)


def test_the_tool_of_an_agent_inside_is_looked_at_by_its_own_rules() -> None:
    """However deep it is."""
    inner = spec_of(lambda call, tool, run: Allow())
    helper = Delegate("helper", "pays", PARAMETERS, print, agent=inner)
    spec = AgentSpec(State({}), by_name([helper]))
    reply = called(spec)
    message = ChatMessage.from_assistant(tool_calls=[ToolCall("helper", {"task": "pay"}, "h")])
    path = (AgentRef(*FIRST, "helper"),)
    run = start(spec, [ChatMessage.from_user("pay")], run_id="r")
    run = step(spec, run, evolve(reply, reply=evolve(reply.reply, message=message)))
    run = step(spec, run, ToolStarted(FIRST, 1))
    run = step(spec, run, wrap_event(path, called(inner, FIVE)))
    (asked,) = (one for one in due(spec, run) if isinstance(one, Judge))
    run = step(spec, run, wrap_event(path, Judged(FIRST, Allow(), binding=asked.binding)))
    run = step(spec, run, wrap_event(path, ToolStarted(FIRST, 1)))

    changed = evolve(spec, tools=by_name([evolve(helper, agent=other(inner))]))
    assert tool_in(spec, run).path == path
    assert may_begin(spec, run, tool_in(spec, run), None)
    assert not may_begin(changed, run, tool_in(changed, run), None)


def test_a_yes_lapses_by_the_same_time_though_the_first_attempt_never_began() -> None:
    """Who was to begin it has not; the next one may, as long as the yes counts."""
    spec = asking(expires_s=10.0, attempts=1)
    run = step(spec, begun(spec, at=6.0), ToolNeverRan(FIRST, 1, 7.0))

    assert run.slots[0].status == Ready(2)
    effect = tool_in(spec, run)
    assert (effect.attempt, lapse_of(run, effect)) == (2, 10.0)
    late = step(spec, run, ToolStarted(FIRST, 2, 11.0))
    assert [type(one) for one in due(spec, late)] == [Judge]


def test_a_call_whose_yes_had_lapsed_when_it_was_to_begin_is_judged_anew() -> None:
    """And its next attempt has another number: the same word, heard again, is none about that."""
    spec = asking(expires_s=10.0)
    never = ToolNeverRan(FIRST, 1, 11.0)
    lapsed = step(spec, begun(spec, at=6.0), never)
    again = judged(spec, lapsed, 12.0)

    assert [type(one) for one in due(spec, lapsed)] == [Judge]
    running = step(spec, confirmed(spec, again, 13.0), ToolStarted(FIRST, 2, 14.0))
    assert tool_in(spec, running).attempt == 2
    assert step(spec, running, never) is running


def looked_up(spec: AgentSpec[State]) -> AgentSpec[State]:
    """The same agent, whose tool can be asked how an attempt of it went."""
    return evolve(spec, tools=by_name([evolve(PAY, on_unknown=lambda arguments, key: None)]))


@pytest.mark.parametrize("at", [9.0, 11.0])
def test_a_yes_lapses_where_it_was_looked_up_that_the_first_attempt_never_ran(at: float) -> None:
    """In time, the next one begins by the same time; too late, the call is judged anew."""
    spec = looked_up(asking(expires_s=10.0, attempts=2))
    run = step(spec, begun(spec, at=6.0), Resumed("p2", 8.0))
    run = step(spec, run, ToolNeverRan(FIRST, 1, at))

    if at == 11.0:
        assert [type(one) for one in due(spec, run)] == [Judge]
        return
    effect = tool_in(spec, judged(spec, run, 9.0))
    assert (effect.attempt, lapse_of(run, effect)) == (2, 10.0)
    late = step(spec, run, ToolStarted(FIRST, 2, 11.0))
    assert [type(one) for one in due(spec, late)] == [Judge]


def test_an_attempt_that_was_begun_counts_though_it_never_ran() -> None:
    """A yes to two attempts lets a second one begin, and no third."""
    spec = looked_up(asking(expires_s=10.0, attempts=2))
    run = step(spec, begun(spec, at=6.0), Resumed("p2", 7.0))
    run = judged(spec, step(spec, run, ToolNeverRan(FIRST, 1, 7.0)), 7.0)
    assert tool_in(spec, run).attempt == 2

    run = step(spec, step(spec, run, ToolStarted(FIRST, 2, 7.0)), Resumed("p3", 8.0))
    run = judged(spec, step(spec, run, ToolNeverRan(FIRST, 2, 8.0)), 8.0)
    assert [one.begins for one in due(spec, run) if isinstance(one, AskHuman)] == [3]


@pytest.mark.parametrize("at", [None, 11.0])
def test_what_had_begun_once_begins_again_without_a_time(at: float | None) -> None:
    """It was looked up that it was not carried out, or its second attempt never began."""
    spec = asking(expires_s=10.0)
    run = step(spec, begun(spec, at=6.0), ToolNeverRan(FIRST, 1))
    assert lapse_of(run, tool_in(spec, run)) is None
    run = step(spec, step(spec, run, ToolStarted(FIRST, 2)), ToolNeverRan(FIRST, 2, at))

    assert run.slots[0].status == Ready(3)
