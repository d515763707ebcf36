"""Where a secret has got to, in a run: pages, faces, pieces and the audit log do not say it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from functools import partial
from traceback import format_exception
from typing import Annotated, Any, NewType

import pytest
from attrs import evolve

from detent import (
    Agent,
    AgentTool,
    ChatMessage,
    MemoryJournal,
    Replaced,
    ScriptedChatGenerator,
    SecretParameter,
    StateTypeError,
    StreamingChunk,
    ToolCall,
    ToolInvocationError,
    TypedState,
    after_model,
    after_tool,
    before_model,
    before_tool,
    create_tool_from_function,
    tool,
)
from detent.approvals import Ask, AskOverBudget, AskWhen, audit_log
from detent.faces import agui_app, openai_app
from detent.machine import (
    AskModel,
    ModelReplied,
    Run,
    RunTool,
    ToolFault,
    ToolRaised,
    ToolReturned,
)
from detent.web import web_app
from tests.adapters.faces.peers import PEOPLE, hosting, peer

PIN = "S3CRETpin99"
AMOUNT = 48215937
NAMED = ToolCall("login", {"site": "x", "pin": PIN}, "c1")
UNNAMED = ToolCall("login", {"site": "x"}, "c1")
new_type: Any = NewType


class Held(TypedState):
    """What the state holds from the beginning."""

    token = Replaced(PIN)
    last = Replaced("")


class Numbers(TypedState):
    """What takes no text."""

    number = Replaced(0)


@tool
def login(site: str, pin: Annotated[str, SecretParameter] = PIN) -> str:
    """Log in."""
    return f"welcome at {site}?session={pin}"


@tool
def enter(site: str, pin: Annotated[str, SecretParameter]) -> str:
    """Log in, and say nothing."""
    return "in"


@tool(inputs_from_state={"token": "pin"})
def use(site: str, pin: Annotated[str, SecretParameter]) -> str:
    """Log in with what is held."""
    return "used"


def clerk(*script: Any, **options: Any) -> Agent[Any, Any]:
    """An agent that plays a script for whoever comes."""
    lines = [*script, "Done."] * 5
    return Agent(chat_generator=ScriptedChatGenerator(*lines), name="clerk", **options)


def made_by_a_cache() -> Agent[Any, Any]:
    @before_model
    def cache(ask: AskModel, run: Run[Any]) -> ModelReplied | None:
        call = evolve(NAMED, tool_name="enter")
        return ask.replied(ChatMessage.from_assistant(tool_calls=[call])) if run.turn == 1 else None

    return clerk(tools=[enter], hooks=[cache])


def made_again_by_a_hook() -> Agent[Any, Any]:
    @after_model
    def tidy(ask: AskModel, answer: Any, run: Run[Any]) -> Any:
        message = answer.reply.message
        calls = [ToolCall(one.tool_name, dict(one.arguments), one.id) for one in message.tool_calls]
        new = ChatMessage.from_assistant(message.text, tool_calls=calls)
        return evolve(answer, reply=evolve(answer.reply, message=new))

    return clerk(evolve(NAMED, tool_name="enter"), tools=[enter], hooks=[tidy])


def made_for_a_guarded_call() -> Agent[Any, Any]:
    @before_tool
    def renew(effect: RunTool, run: Run[Any]) -> RunTool:
        return evolve(effect, call=NAMED)

    rules = {"login": AskWhen(lambda arguments: False)}
    return clerk(UNNAMED, tools=[login], hooks=[renew], confirmation_strategies=rules)


def given_by_an_agent_inside() -> Agent[Any, Any]:
    inner = clerk(UNNAMED, tools=[login], exit_conditions=["login"])
    helper = AgentTool(inner, name="helper", description="Helps.")
    return clerk(ToolCall("helper", {"task": "x"}, "c2"), tools=[helper])


def in_the_state_of_an_agent_inside() -> Agent[Any, Any]:
    keeps = create_tool_from_function(
        login.function, name="login", description="Log in.", outputs_to_state={"last": {}}
    )
    inner = clerk(UNNAMED, tools=[keeps], state_schema=Held)
    helper = AgentTool(
        inner, name="helper", description="Helps.", outputs_to_string={"source": "last"}
    )
    return clerk(ToolCall("helper", {"task": "x"}, "c2"), tools=[helper])


def of_a_budget() -> Agent[Any, Any]:
    @tool
    def pay(to: str, amount: Annotated[int, SecretParameter]) -> str:
        """Pay."""
        return "paid"

    call = ToolCall("pay", {"to": "x", "amount": AMOUNT}, "c1")
    rules = {"pay": AskOverBudget("amount", 10 * AMOUNT, name="own")}
    return clerk(call, tools=[pay], confirmation_strategies=rules)


def in_what_fits_no_state() -> Agent[Any, Any]:
    @before_tool
    def swap(effect: RunTool, run: Run[Any]) -> RunTool:
        return evolve(effect, call=NAMED)

    @tool(name="login", outputs_to_state={"number": {}})
    def number(site: str, pin: Annotated[str, SecretParameter] = "none") -> Any:
        """Log in."""
        return f"welcome at {site}?session={pin}"

    quiet = ToolCall("login", {"site": "x", "pin": "none"}, "c1")
    return clerk(quiet, tools=[number], hooks=[swap], state_schema=Numbers)


def in_the_fault_of_a_hook() -> Agent[Any, Any]:
    @after_tool
    def fail(effect: RunTool, answer: Any, run: Run[Any]) -> ToolRaised:
        assert isinstance(answer, ToolReturned)
        text = f"not taken: {answer.result.content}"
        return ToolRaised(effect.ref, effect.attempt, ToolFault("raised", text))

    return clerk(UNNAMED, tools=[login], hooks=[fail])


def in_the_state() -> Agent[Any, Any]:
    return clerk(ToolCall("use", {"site": "x"}, "c1"), tools=[use], state_schema=Held)


def written_to_the_state() -> Agent[Any, Any]:
    keeps = create_tool_from_function(
        login.function, name="login", description="Log in.", outputs_to_state={"last": {}}
    )
    return clerk(UNNAMED, tools=[keeps], state_schema=Held)


def bound_by_a_partial() -> Agent[Any, Any]:
    bound = create_tool_from_function(
        partial(login.function, pin=PIN), name="login", description="Log in."
    )
    return clerk(UNNAMED, tools=[bound])


def of_a_new_type() -> Agent[Any, Any]:
    def login(site: str, pin: str) -> str:
        """Log in."""
        return f"welcome at {site}?session={pin}"

    login.__annotations__["pin"] = new_type("Pin", Annotated[str, SecretParameter])

    return clerk(NAMED, tools=[create_tool_from_function(login)])


def in_what_a_key_refuses() -> Agent[Any, Any]:
    @tool(outputs_to_state={"token": {"source": "token"}}, outputs_to_string={"source": "said"})
    def fetch() -> dict[str, Any]:
        """Get a token, of which the model reads nothing."""
        return {"said": "done", "token": {"token": PIN, "expires": 5}}

    return clerk(ToolCall("fetch", {}, "c1"), tools=[fetch, use], state_schema=Held)


def in_a_text_that_a_key_refuses() -> Agent[Any, Any]:
    @tool(outputs_to_state={"token": {}})
    def fetch() -> Any:
        """Get a token."""
        return [PIN]

    return clerk(ToolCall("fetch", {}, "c1"), tools=[fetch, use], state_schema=Held)


def in_what_a_handler_refuses() -> Agent[Any, Any]:
    def refuse(current: str, update: str) -> str:
        raise ValueError(f"not {update}")

    @tool(outputs_to_state={"token": {"handler": refuse}})
    def fetch() -> str:
        """Get a token."""
        return PIN

    return clerk(ToolCall("fetch", {}, "c1"), tools=[fetch, use], state_schema=Held)


def written_by_hand() -> Agent[Any, Any]:
    @tool
    def fetch(state: Held) -> str:
        """Get a token."""
        update: Any = [PIN]
        state.set(Held.token, update)
        return "done"

    return clerk(ToolCall("fetch", {}, "c1"), tools=[fetch, use], state_schema=Held)


def written_over() -> Agent[Any, Any]:
    @tool(outputs_to_state={"token": {}})
    def fetch(name: str) -> str:
        """Get a token."""
        return name and PIN

    @tool(outputs_to_state={"token": {}})
    def forget() -> str:
        """Get another one."""
        return "another one"

    fetched, forgotten = ToolCall("fetch", {"name": "x"}, "c1"), ToolCall("forget", {}, "c2")
    return clerk(
        fetched, forgotten, tools=[fetch, forget, use], state_schema={"token": {"type": str}}
    )


PLACES: dict[str, Callable[[], Agent[Any, Any]]] = {
    one.__name__: one
    for one in (
        made_by_a_cache,
        made_again_by_a_hook,
        made_for_a_guarded_call,
        given_by_an_agent_inside,
        in_the_state_of_an_agent_inside,
        of_a_budget,
        in_what_fits_no_state,
        in_the_fault_of_a_hook,
        in_the_state,
        written_to_the_state,
        bound_by_a_partial,
        of_a_new_type,
        in_what_a_key_refuses,
        in_a_text_that_a_key_refuses,
        in_what_a_handler_refuses,
        written_by_hand,
        written_over,
    )
}


@pytest.mark.parametrize("place", PLACES)
def test_no_page_and_no_face_says_it(place: str) -> None:
    """Nor the pieces of a stream, nor the audit log, nor a run that is printed."""

    async def visit() -> dict[str, str]:
        said = {"role": "user", "content": "Go."}
        body: dict[str, Any] = {"threadId": "t", "tools": [], "context": [], "forwardedProps": {}}
        body |= {"runId": "1", "messages": [said | {"id": "1"}], "state": {}}
        async with (
            hosting(MemoryJournal(), clerk=PLACES[place]()) as host,
            asyncio.timeout(30),
        ):
            await host.start("clerk", "Go.", run_id="r")
            await host.result("r")
            texts = dict[str, str]()
            async with peer(web_app(host)) as client:
                paths = ["/run/r", "/api/run/r", "/api/entries/r"]
                paths += [f"/moment/r?at={at}" for at in range(9)]
                for path in paths:
                    texts[path] = (await client.get(path)).text
            async with peer(agui_app(host, sign_in=PEOPLE)) as client:
                texts["AG-UI"] = (await client.post("/clerk", json=body)).text
            async with peer(openai_app(host, sign_in=PEOPLE)) as client:
                asked = {"model": "clerk", "input": [said]}
                texts["OpenAI"] = (await client.post("/v1/responses", json=asked)).text
        return texts

    pieces: list[StreamingChunk] = []
    journal = MemoryJournal()
    bound = PLACES[place]().evolve(journal=journal)
    result = bound.run("Go.", pieces.append, run_id="r")
    texts = asyncio.run(visit()) | {
        "pieces": repr(pieces),
        "audit log": repr(audit_log(journal, bound.spec, "r")),
        "run": repr(result.run),
    }
    secret = re.compile(f"{PIN}|{AMOUNT}")
    assert [name for name, text in texts.items() if secret.search(text)] == []


def test_calls_that_are_handed_in_know_what_is_secret() -> None:
    """Those of a conversation that was held elsewhere, and the results of these."""
    before = [
        ChatMessage.from_user("Before."),
        ChatMessage.from_assistant(tool_calls=[NAMED]),
        ChatMessage.from_tool(f"in by {PIN}", NAMED),
        ChatMessage.from_user("Go on."),
    ]
    result = clerk(tools=[login]).run(before)

    assert PIN not in repr(result.messages[1])
    (call,) = result.messages[1].tool_calls
    (answer,) = result.messages[2].tool_call_results
    assert (call.secret, answer.origin.secret) == (("pin",), ("pin",))


def test_the_reason_of_a_policy_says_nothing_that_the_state_fills_in() -> None:
    """Nor that of one that fails by it."""

    def failing(call: ToolCall, tool: Any, run: Run[Any]) -> Any:
        return {}[run.state.read("token")]

    def telling(call: ToolCall, tool: Any, run: Run[Any]) -> Any:
        return Ask(f"it uses {run.state.read('token')}")

    for policy in (failing, telling):
        agent = clerk(
            ToolCall("use", {"site": "x"}, "c1"),
            tools=[use],
            state_schema=Held,
            confirmation_strategies={"use": policy},
            journal=MemoryJournal(),
        )
        agent.run("go", run_id="r", raise_at_break_point=False)
        (question,) = agent.pending("r")
        assert PIN not in question.reason
        assert "<pin>" in question.reason


def test_no_error_says_what_a_secret_key_refuses() -> None:
    """To whoever begins a run, or reads of a tool that has failed; it says what came instead."""
    hides = "state key 'token' holds str, got {}, which is not shown: it is secret"
    with pytest.raises(StateTypeError, match=hides.format("list")):
        clerk(tools=[use], state_schema=Held).run("go", token=[PIN])
    for refusing, kind in (
        (in_what_a_key_refuses, "FrozenDict"),
        (in_a_text_that_a_key_refuses, "list"),
    ):
        agent = refusing().evolve(raise_on_tool_invocation_failure=True)
        with pytest.raises(ToolInvocationError) as raised:
            agent.run("go")
        assert str(raised.value).endswith(hides.format(kind))
        trace = "".join(format_exception(raised.value))
        assert (hides.format(kind) in trace, PIN in trace) == (True, False)


def test_a_key_is_secret_for_one_agent_and_not_for_another() -> None:
    """A state that goes on in another one is that one's; what prints of it says no secret."""

    @tool(inputs_from_state={"token": "name"})
    def greet(name: str) -> str:
        """Greet."""
        return f"Hello {name}"

    first = clerk(tools=[greet], state_schema=Held).run("go", token=PIN)
    assert PIN in repr(first.state)
    then = clerk(tools=[use], state_schema=Held).run("go on", after=first)
    assert (then.state.token, PIN in repr(then.state)) == (PIN, False)
