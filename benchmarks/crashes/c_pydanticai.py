"""pydantic-ai on DBOS with SQLite; the tools as they are, or each a step of DBOS (``--steps``)."""

import asyncio
import sys

from dbos import DBOS, SetWorkflowID
from pydantic_ai import Agent
from pydantic_ai.durable_exec.dbos import DBOSDurability
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from shop import FOLDER, MODE, pay, slow

DBOS(config={"name": "shop", "system_database_url": f"sqlite:///{FOLDER / 'dbos.db'}"})


def script(messages, info):
    """Pays once, and is done."""
    if any(isinstance(part, ToolReturnPart) for one in messages for part in one.parts):
        return ModelResponse(parts=[TextPart("done")])
    called = [ToolCallPart("pay", {"who": "Ann"}, "c1"), ToolCallPart("slow", {"who": "Bob"}, "c2")]
    return ModelResponse(parts=called)


async def async_script(messages, info):
    return script(messages, info)


def in_a_thread(function):
    """A tool that does not hold up the other one."""

    async def wrapped(who: str) -> str:
        return await asyncio.to_thread(function, who)

    wrapped.__name__ = wrapped.__qualname__ = function.__name__
    wrapped.__doc__ = function.__doc__
    return DBOS.step()(wrapped) if "--steps" in sys.argv else wrapped


agent = Agent(
    FunctionModel(async_script),
    name="shop",
    tools=[in_a_thread(pay), in_a_thread(slow)],
    capabilities=[DBOSDurability()],
)


@DBOS.workflow()
async def shopping():
    return (await agent.run("Pay Ann and Bob.")).output


async def main():
    DBOS.launch()  # takes up what its process has left behind
    if MODE == "begin":
        with SetWorkflowID("r1"):
            await shopping()
    else:
        handle = await DBOS.retrieve_workflow_async("r1")
        print(await handle.get_result())


asyncio.run(main())
