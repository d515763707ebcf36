"""OpenAI Agents with its SQLite session."""

import asyncio

from agents import Agent, Runner, SQLiteSession, function_tool, set_tracing_disabled
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from shop import FOLDER, MODE, pay, slow


def called(name, who, call_id):
    arguments = f'{{"who": "{who}"}}'
    kinds = {"name": name, "call_id": call_id, "type": "function_call"}
    return ResponseFunctionToolCall(arguments=arguments, **kinds)


def said(text):
    content = [ResponseOutputText(text=text, type="output_text", annotations=[])]
    kinds = {"role": "assistant", "status": "completed", "type": "message"}
    return ResponseOutputMessage(id="m", content=content, **kinds)


class Script(Model):
    """Pays once, and is done."""

    async def get_response(self, system_instructions, input, *args, **kwargs):
        items = input if isinstance(input, list) else []
        is_paid = any(one.get("type") == "function_call_output" for one in items)
        output = (
            [said("done")] if is_paid else [called("pay", "Ann", "c1"), called("slow", "Bob", "c2")]
        )
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


def in_a_thread(function):
    """A tool that does not hold up the other one."""

    async def wrapped(who: str) -> str:
        return await asyncio.to_thread(function, who)

    wrapped.__name__, wrapped.__doc__ = function.__name__, function.__doc__
    return function_tool(wrapped)


async def main():
    set_tracing_disabled(True)
    agent = Agent("shop", model=Script(), tools=[in_a_thread(pay), in_a_thread(slow)])
    session = SQLiteSession("r1", FOLDER / "runs.db")
    asked = "Pay Ann and Bob." if MODE == "begin" else []
    if MODE == "resume":
        kept = [one.get("type", one.get("role")) for one in await session.get_items()]
        print("the session has:", ", ".join(kept))
    print((await Runner.run(agent, asked, session=session)).final_output)


asyncio.run(main())
