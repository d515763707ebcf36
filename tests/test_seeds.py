"""Examples from the documentation of a well-known agent library run here as they are printed.

The pages in `seeds` hold them; only what they import from is another, and a server on loopback
stands in for the provider's. Where one of them ends otherwise here the table says how, and why.
"""

from __future__ import annotations

import json
import re
import threading
import warnings
from collections.abc import Generator, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from attrs import field, frozen

from detent import Document, State, ToolCall, WiringError

PAGES = Path(__file__).parent / "seeds"
EXAMPLE = re.compile(r"^## (.+?)\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IMPORT = re.compile(r"^from haystack[\w.]* import", re.MULTILINE)
RENAMED = {
    "    HumanInTheLoopStrategy,": "    BlockingConfirmationStrategy as HumanInTheLoopStrategy,"
}
"""What the page imports under a name that its own library has not got, either."""

FILLED = {
    'description="...")': 'description="...", parameters=PARAMETERS, function=find)',
    '.", ...)': '.", parameters=PARAMETERS, function=find)',
}
"""What a page leaves to its reader by dots."""

PARAMETERS = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
DOCUMENTS = (
    "[{'title': 'Doc 1', 'content': 'Content about Python'}, "
    "{'title': 'Doc 2', 'content': 'More about Python'}]"
)
DOCUMENT = repr([Document(content="Result for 'Python'")])
ALICE = "{'name': 'Alice', 'email': 'alice@example.com', 'role': 'admin'}"


class Provider:
    """Answers as OpenAI does: by the next of its lines, whole or streamed. It keeps requests."""

    def __init__(self) -> None:
        self.lines: list[ToolCall | str] = []
        self.requests: list[Any] = []

    def answer(self, request: Any) -> bytes:
        """What is sent back for a request."""
        self.requests.append(request)
        line = self.lines.pop(0)
        says: dict[str, Any] = {"role": "assistant", "content": line}
        if isinstance(line, ToolCall):
            function = {"name": line.tool_name, "arguments": json.dumps(line.arguments)}
            call = {"index": 0, "id": "call-1", "type": "function", "function": function}
            says = {"role": "assistant", "content": None, "tool_calls": [call]}
        reason = "tool_calls" if isinstance(line, ToolCall) else "stop"
        part = "delta" if request.get("stream") else "message"
        body = {"choices": [{"index": 0, part: says, "finish_reason": reason}]}
        text = json.dumps(body)
        return (f"data: {text}\n\ndata: [DONE]\n\n" if request.get("stream") else text).encode()


@pytest.fixture(scope="module")
def server() -> Generator[tuple[Provider, str]]:
    """A provider on loopback, and where it is."""
    provider = Provider()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Answer, and close."""
            length = int(self.headers["content-length"])
            answer = provider.answer(json.loads(self.rfile.read(length)))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's
            """Nothing."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield provider, "http://{}:{}/v1".format(*listening.server_address[:2])
    listening.shutdown()
    thread.join()
    listening.server_close()


@pytest.fixture
def provider(server: tuple[Provider, str], monkeypatch: pytest.MonkeyPatch) -> Provider:
    """The provider that the environment names."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-nobody")
    monkeypatch.setenv("OPENAI_BASE_URL", server[1])
    server[0].requests.clear()
    return server[0]


@frozen
class Example:
    """How an example goes.

    Attributes:
        says: what the model answers with, in order.
        prints: the last lines that it prints.
        needs: the examples of its page that come before it.
        keeps: whether each `state.set` in it is to be made to keep what it gives.
    """

    says: Sequence[ToolCall | str] = ()
    prints: Sequence[str] = ()
    needs: Sequence[str] = ()
    keeps: bool = field(default=False, kw_only=True)


CALCULATE = ToolCall("calculator", {"expression": "15 + 27"})
RETRIEVE = ToolCall("retrieve", {"query": "Python"})
RETRIEVED = ToolCall("retrieve_documents", {"query": "Python"})
STATE = ("creating a state",)
EXAMPLES: dict[tuple[str, str], Example] = {
    ("state-of-before", "automatic messages"): Example(
        (), ["True", "list[detent.core.chat.messages.ChatMessage]"], STATE
    ),
    ("state-of-before", "creating a state"): Example(),
    ("state-of-before", "reading"): Example((), ["User: Alice"], STATE),
    ("state-of-before", "writing"): Example(needs=STATE, keeps=True),
    ("state-of-before", "default handlers"): Example(
        (), ["[1, 2, 3, 4]", "Bob"], STATE, keeps=True
    ),
    ("state-of-before", "custom handlers"): Example((), ["[1, 2, 3, 4]"], STATE, keeps=True),
    ("state-of-before", "a handler for one write"): Example((), ["Alice-Bob"], STATE, keeps=True),
    ("state-of-before", "state with an agent"): Example((CALCULATE, "42"), ["42"]),
    ("state-of-before", "inputs from state"): Example(
        (ToolCall("search", {"query": "Python tutorials", "user_context": "Mallory"}), "Some."),
        needs=("state with an agent",),
    ),
    ("state-of-before", "outputs to state"): Example(
        (RETRIEVE, "done"), [DOCUMENTS, "2", "Python"], ("state with an agent",)
    ),
    ("state-of-before", "without a source"): Example(
        (ToolCall("get_info", {}), "done"), [ALICE, "Alice", "alice@example.com"]
    ),
    ("state-of-before", "complete example"): Example(
        (
            ToolCall("factorial", {"n": 5}),
            ToolCall("calculator", {"expression": "120 * 2"}),
            "It is 240.",
        ),
        ["tool: None", "assistant: It is 240."],
    ),
    ("state", "default handlers"): Example((), ["[1, 2, 3, 4]", "Bob"], keeps=True),
    ("state", "custom handlers"): Example(
        (), ["['doc-1', 'doc-2', 'doc-3']"], ("default handlers",), keeps=True
    ),
    ("state", "a handler for one write"): Example((), ["Alice-Bob"], keeps=True),
    ("state", "inputs from state"): Example(
        (ToolCall("search_documents", {"query": "Python tutorials"}), "Found some."),
        ["Found some."],
    ),
    ("state", "outputs to state"): Example(
        (RETRIEVED, "done"), [f"Documents: {DOCUMENTS}", "Result count: 2", "Last query: Python"]
    ),
    ("state", "without a source"): Example(
        (ToolCall("get_user_info", {}), "It is Alice."), ["It is Alice.", f"User info: {ALICE}"]
    ),
    ("state", "inputs and outputs"): Example(
        (RETRIEVED, ToolCall("process_documents", {"max_results": 1}), "done"),
        ["Processed 1 documents"],
        ("outputs to state",),
    ),
    ("state", "the state itself"): Example(
        (ToolCall("retrieve_and_store", {"query": "Python"}), "Here."),
        ["Here.", DOCUMENT],
    ),
    ("state", "the state itself, in a component"): Example(
        (RETRIEVE, "Here."),
        ["Here.", DOCUMENT],
    ),
    ("agent", "an agent"): Example((ToolCall("search", {"text": "Haystack"}),)),
    ("agent", "a state"): Example(),
    ("agent-with-confirmation", "an agent that asks"): Example(
        (ToolCall("search", {"text": "Haystack"}), "It is a library.")
    ),
}
NO_PROGRAMS = {("state-of-before", "a schema entry")}
WIRED_BADLY = {("state-of-before", "inputs and outputs")}
"""Its tools write keys that its agent has not got, which is found before anything runs."""


def examples() -> Iterator[tuple[tuple[str, str], str]]:
    """Every example by page and name, with its imports changed."""
    for page in sorted(PAGES.glob("*.md")):
        for name, code in EXAMPLE.findall(page.read_text(encoding="utf-8")):
            changed = re.sub(r"haystack_experimental", "haystack", code)
            changed = IMPORT.sub("from detent import", changed)
            for before, after in (*RENAMED.items(), *FILLED.items()):
                changed = changed.replace(before, after)
            yield (page.stem, name), changed


CODE = dict(examples())


def find(text: str) -> str:
    """What stands for the functions that a page leaves out."""
    return f"found: {text}"


def run(page: str, names: Sequence[str], *, keeps: bool = False) -> dict[str, Any]:
    """Run examples of a page in order, as one module; gives what they define."""
    space: dict[str, Any] = {"PARAMETERS": PARAMETERS, "find": find, "State": State}
    for name in names:
        code = CODE[page, name]
        if keeps:
            code = re.sub(r"^state\.set", "state = state.set", code, flags=re.MULTILINE)
        exec(compile(code, f"{page}, {name}", "exec"), space)  # noqa: S102 - as it is printed
    return space


def test_every_example_is_played() -> None:
    """None is left out in silence."""
    assert CODE.keys() - NO_PROGRAMS - WIRED_BADLY == EXAMPLES.keys()


@pytest.mark.parametrize(("page", "name"), EXAMPLES, ids=str)
def test_an_example_runs_as_it_is_printed(
    page: str,
    name: str,
    provider: Provider,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And prints what its page says. The person at the terminal says yes."""
    example = EXAMPLES[page, name]
    names = (*example.needs, name)
    provider.lines = [line for one in names for line in EXAMPLES[page, one].says]
    monkeypatch.setattr("builtins.input", lambda prompt="": "y")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of what an example before it drops
        run(page, names, keeps=example.keeps)

    assert provider.lines == []
    printed = capsys.readouterr().out.splitlines()
    assert printed[len(printed) - len(example.prints) :] == list(example.prints)


@pytest.mark.parametrize(
    ("page", "name"), [key for key in EXAMPLES if EXAMPLES[key].keeps], ids=str
)
def test_a_state_that_an_example_throws_away_is_found(page: str, name: str) -> None:
    """A state is a value here: each `state.set` whose result nobody keeps warns where it stands."""
    dropped = [
        number
        for number, line in enumerate(CODE[page, name].splitlines(), 1)
        if line.startswith("state.set")
    ]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        run(page, (*EXAMPLES[page, name].needs, name))

    found = [warning for warning in warned if warning.filename == f"{page}, {name}"]
    assert [warning.lineno for warning in found] == dropped
    assert "a state is a value, write state = " in str(found[0].message)


def test_a_write_to_a_key_that_is_not_there_is_found_before_anything_runs(
    provider: Provider,
) -> None:
    """The seeds' library finds it while the tool runs."""
    provider.lines = [CALCULATE, "42", RETRIEVE, "done"]
    with pytest.raises(WiringError) as caught:
        run("state-of-before", ("state with an agent", "outputs to state", "inputs and outputs"))

    assert [fault.split(" is not")[0] for fault in caught.value.faults] == [
        "tool 'retrieve': 'result_count'",
        "tool 'retrieve': 'last_query'",
    ]


def test_the_model_that_no_example_names(provider: Provider) -> None:
    """It is the same as in the seeds' library; what the state fills is asked of no model."""
    provider.lines = list(EXAMPLES["state-of-before", "state with an agent"].says)
    provider.lines += EXAMPLES["state-of-before", "inputs from state"].says
    made = run("state-of-before", ("state with an agent", "inputs from state"))

    assert {request["model"] for request in provider.requests} == {"gpt-5-mini"}
    tools = provider.requests[-1]["tools"]
    assert [*tools[0]["function"]["parameters"]["properties"]] == ["query"]
    assert made["result"].messages[-2].tool_call_results[0].text == (
        '{"results": ["Found results for \'Python tutorials\' (user: Alice)"]}'
    )


def test_the_defaults_that_the_seeds_print() -> None:
    """`None` is as good as left out, and `tool_invoker_kwargs` says what it does there."""
    made: dict[str, Any] = {}
    exec(SIGNATURE, made)  # noqa: S102 - as it is printed

    agent = made["agent"]
    assert agent.spec.exit_conditions == {"text"}
    assert dict(agent.spec.tools) == {}
    assert agent.spec.limits.max_agent_steps == 100
    assert agent.run("Hello?").text == "Hello."


SIGNATURE = """
from detent import Agent, ScriptedChatGenerator

agent = Agent(
    chat_generator=ScriptedChatGenerator("Hello."),
    tools=None,
    system_prompt=None,
    exit_conditions=None,
    state_schema=None,
    max_agent_steps=100,
    streaming_callback=None,
    raise_on_tool_invocation_failure=False,
    confirmation_strategies=None,
    tool_invoker_kwargs=None,
)
"""
