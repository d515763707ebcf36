"""Strands with its session in files."""

import json

from shop import FOLDER, MODE, pay, slow
from strands import Agent, tool
from strands.models import Model
from strands.session.file_session_manager import FileSessionManager

CALLS = [("pay", "Ann", "c1"), ("slow", "Bob", "c2")]


class Script(Model):
    """Pays once, and is done."""

    def update_config(self, **kwargs):
        pass

    def get_config(self):
        return {}

    async def structured_output(self, *args, **kwargs):
        yield {}

    async def stream(self, messages, tool_specs=None, system_prompt=None, **kwargs):
        is_paid = any("toolResult" in part for one in messages for part in one["content"])
        yield {"messageStart": {"role": "assistant"}}
        for name, who, call_id in () if is_paid else CALLS:
            begun = {"toolUse": {"name": name, "toolUseId": call_id}}
            yield {"contentBlockStart": {"start": begun}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps({"who": who})}}}}
            yield {"contentBlockStop": {}}
        if is_paid:
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if is_paid else "tool_use"}}


agent = Agent(
    model=Script(),
    tools=[tool(pay), tool(slow)],
    callback_handler=None,
    session_manager=FileSessionManager("r1", str(FOLDER / "sessions")),
)
print(agent("Pay Ann and Bob.") if MODE == "begin" else agent())
