"""Requests to llama.cpp: conversation, tools and options as the body of a chat completion. Pure.

A conversation with tools is kept in JSON: the model writes ``{"name": …, "arguments": {…}}`` to
call a tool, and calls `final_answer` to answer. That the answer is a call like any other matters: a
small model that is offered the answer in a form of its own takes it at once and looks nothing up.

Source: https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

from attrs import frozen

from detent.adapters.providers.local.grammar import CALLS_MAX, reply_grammar, schema_grammar
from detent.adapters.providers.local.options import Options
from detent.adapters.providers.local.signatures import tool_text
from detent.core.chat.messages import ChatMessage, ChatRole, TextContent, ToolCall, ToolCallResult
from detent.core.chat.replies import ModelFailure
from detent.core.tools.tool import ToolSpec
from detent.ports.chat import ChatGeneratorError

Json: TypeAlias = dict[str, object]

# Without it a small model at temperature 0 falls into a sentence that it repeats to the end. With
# this much it still copies numbers, paths and code to the letter.
REPEAT_PENALTY = 1.1
TEXT_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
ANSWERS = "Reply to the user, when no tool is needed or the results are enough."
ONE_CALL = """Reply with one JSON object: {"name": tool, "arguments": {...}}. \
You are then given the tool's result."""
SEVERAL_CALLS = """Reply with JSON objects, one on each line: {"name": tool, "arguments": {...}}. \
You are then given the tools' results."""


@frozen
class Form:
    """How a reply is written.

    `answer` is what the model calls to answer, None where it writes the answer and nothing else.
    `structured` says that the answer is JSON.
    """

    answer: str | None = None
    structured: bool = False


@frozen
class Request:
    """The body of a request, and how the reply to it is to be read."""

    body: Json
    form: Form
    max_tokens: int


def chat_request(
    messages: Sequence[ChatMessage], tools: Sequence[ToolSpec], options: Options
) -> Request:
    """The request for a reply to `messages`.

    Raises:
        ChatGeneratorError: the conversation holds what this model cannot read, or there is no tool
            of the name in `tool_choice`.
    """
    form = _form(messages, tools, options)
    body: Json = {
        "messages": _turns(messages, tools, form, options),
        "temperature": options.temperature,
        "max_tokens": options.max_tokens,
        "seed": options.seed,
        "top_p": options.top_p,
        "repeat_penalty": REPEAT_PENALTY,
        "grammar": _grammar(tools, form, options),
        "cache_prompt": True,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,  # a reply can then be stopped while its prompt is being read
    }
    sent = {name: value for name, value in body.items() if value is not None}
    return Request(sent, form, options.max_tokens)


def _form(messages: Sequence[ChatMessage], tools: Sequence[ToolSpec], options: Options) -> Form:
    structured = options.answer_schema is not None
    if not tools and not any(message.tool_calls for message in messages):
        return Form(None, structured)
    answer = "final_answer"
    while any(tool.name == answer for tool in tools):
        answer += "_"
    return Form(answer, structured)


def _grammar(tools: Sequence[ToolSpec], form: Form, options: Options) -> str | None:
    schema = options.answer_schema
    if form.answer is None:
        return None if schema is None else schema_grammar(schema)
    choice = options.tool_choice
    allowed = [tool for tool in tools if choice in {"auto", "required", tool.name}]
    if not allowed and choice not in {"auto", "none"}:
        names = ", ".join(tool.name for tool in tools) or "none"
        raise cannot(f"tool_choice is {choice!r}, and the tools are: {names}")
    answer = _answer_tool(form.answer, options) if choice in {"auto", "none"} else None
    calls_max = CALLS_MAX if options.parallel_tool_calls else 1
    return reply_grammar(allowed, answer, calls_max=calls_max)


def _answer_tool(name: str, options: Options) -> ToolSpec:
    return ToolSpec(name, ANSWERS, options.answer_schema or TEXT_SCHEMA)


def _turns(
    messages: Sequence[ChatMessage], tools: Sequence[ToolSpec], form: Form, options: Options
) -> list[Json]:
    """The messages as roles and texts, one after the other of the same role joined to one."""
    turns = [(role, text) for message in messages for role, text in _turns_of(message, form)]
    if form.answer is not None:
        how = SEVERAL_CALLS if options.parallel_tool_calls else ONE_CALL
        known = [*tools, _answer_tool(form.answer, options)]
        text = "\n".join([how, "\nTools:", *map(tool_text, known)])
        leading = sum(1 for role, _ in turns[:1] if role == ChatRole.SYSTEM)
        turns.insert(leading, (ChatRole.SYSTEM, text))
    return [
        {"role": str(role), "content": "\n\n".join(text for _, text in turn)}
        for role, turn in groupby(turns, key=lambda role_and_text: role_and_text[0])
    ]


def _turns_of(message: ChatMessage, form: Form) -> Iterator[tuple[ChatRole, str]]:
    match message.role:
        case ChatRole.SYSTEM | ChatRole.USER:
            yield message.role, "\n".join(_text(part) for part in message.content)
        case ChatRole.ASSISTANT:
            yield message.role, _assistant_text(message, form)
        case ChatRole.TOOL:
            yield from ((ChatRole.USER, _result(result)) for result in message.tool_call_results)


def _text(part: object) -> str:
    if not isinstance(part, TextContent):
        raise cannot(f"it reads text only, and the conversation holds a {type(part).__name__}")
    return part.text


def _assistant_text(message: ChatMessage, form: Form) -> str:
    """What the model wrote: to the letter, so that it need not be read again."""
    if form.answer is None:
        return message.text or ""
    calls = [_call(call) for call in message.tool_calls]
    if message.text is None:
        return "\n".join(calls)
    answer = _call(ToolCall(form.answer, {"text": message.text}))
    return "\n".join([message.text, *calls]) if calls else answer


def _call(call: ToolCall) -> str:
    name = json.dumps(call.tool_name, ensure_ascii=False)
    arguments = json.dumps(call.arguments, ensure_ascii=False)
    if call.unreadable is not None:
        return f'{{"name": {name}, "arguments": {call.unreadable}'
    return f'{{"name": {name}, "arguments": {arguments}}}'


def _result(result: ToolCallResult) -> str:
    parts: Iterable[object] = () if isinstance(result.result, str) else result.result
    if any(not isinstance(part, TextContent) for part in parts):
        raise cannot(f"it reads text only, and tool {result.origin.tool_name!r} gave more")
    what = "Error" if result.error else "Result"
    return f"{what} of {result.origin.tool_name}:\n{result.text}"


def cannot(why: str) -> ChatGeneratorError:
    """The failure of a call that the local model cannot take."""
    return ChatGeneratorError(ModelFailure("bad_request", f"the local model cannot answer: {why}"))
