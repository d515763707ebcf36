"""The halves of the `come-from` pages that are another library's run, where that is installed.

They are written for a `model` of that library. Here it is one that says what it was told to say,
the same as in our half, which runs with all other blocks.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "how-to"
THERE = re.compile(
    r"<!-- not run: it needs .*?-->\n```python\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
SCRIPT: list[str | tuple[str, dict[str, Any]]] = [
    ("price", {"item": "tea"}),
    "It costs 4.50.",
    ("order", {"item": "tea", "count": 50}),
    "On their way.",
]


def parts(module: str, *names: str) -> Iterator[Any]:
    """What a module has, which type checkers of this project do not know."""
    found = import_module(module)
    return (getattr(found, name) for name in names)


def langgraph() -> object:
    """A chat model of LangChain."""
    (fake,) = parts("langchain_core.language_models.fake_chat_models", "GenericFakeChatModel")
    (message,) = parts("langchain_core.messages", "AIMessage")

    def said(place: int, line: str | tuple[str, dict[str, Any]]) -> object:
        if isinstance(line, str):
            return message(line)
        return message("", tool_calls=[{"name": line[0], "args": line[1], "id": str(place)}])

    kind = type("Model", (fake,), {"bind_tools": lambda self, tools: self})
    return kind(messages=iter([said(*numbered) for numbered in enumerate(SCRIPT)]))


def pydantic_ai() -> object:
    """A model of pydantic-ai."""
    names = ("ModelResponse", "TextPart", "ToolCallPart")
    response, text, call = parts("pydantic_ai.messages", *names)
    (function_model,) = parts("pydantic_ai.models.function", "FunctionModel")
    lines = iter(SCRIPT)

    def answer(messages: object, info: object) -> object:
        line = next(lines)
        return response(parts=[text(line) if isinstance(line, str) else call(*line)])

    return function_model(answer)


def agents() -> object:
    """A model of the OpenAI Agents SDK."""
    names = ("Model", "ModelResponse", "Usage", "set_tracing_disabled")
    model, response, usage, set_tracing_disabled = parts("agents", *names)
    pieces = ("ResponseFunctionToolCall", "ResponseOutputMessage", "ResponseOutputText")
    call, message, text = parts("openai.types.responses", *pieces)
    lines = enumerate(SCRIPT)
    set_tracing_disabled(disabled=True)

    async def get_response(self: object, *values: object, **options: object) -> object:
        place, line = next(lines)
        if isinstance(line, str):
            content = [text(text=line, type="output_text", annotations=[])]
            kind = {"type": "message", "role": "assistant", "status": "completed"}
            said = message(id=str(place), content=content, **kind)
        else:
            about = {"name": line[0], "arguments": json.dumps(line[1])}
            said = call(call_id=str(place), type="function_call", **about)
        return response(output=[said], usage=usage(), response_id=None)

    methods = {"get_response": get_response, "stream_response": None}
    made: object = type("Scripted", (model,), methods)()
    return made


@pytest.fixture
def loop() -> Iterator[None]:
    """An event loop, which is closed: blocking fronts of async libraries leave theirs open."""
    made = asyncio.new_event_loop()
    asyncio.set_event_loop(made)
    yield
    made.close()
    asyncio.set_event_loop(None)


@pytest.mark.parametrize("make", [langgraph, pydantic_ai, agents], ids=lambda make: make.__name__)
@pytest.mark.filterwarnings("default")
def test_their_half_runs(make: Any, loop: None) -> None:
    """It does what the page says, so that what it is compared with is no straw man."""
    name = make.__name__
    if find_spec(name) is None:
        pytest.skip(reason=f"{name} is not installed")
    page = FOLDER / f"come-from-{'openai-' if name == 'agents' else ''}{name.replace('_', '-')}.md"
    (code,) = THERE.findall(page.read_text(encoding="utf-8"))
    exec(compile(code, page, "exec", dont_inherit=True), {"model": make(), "__name__": "page"})  # noqa: S102 - our page
