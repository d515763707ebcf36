"""LangChain's create_agent on LangGraph, with the SQLite checkpointer."""

import sqlite3

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from shop import FOLDER, MODE, pay, slow

CALLS = [
    {"name": "pay", "args": {"who": "Ann"}, "id": "c1"},
    {"name": "slow", "args": {"who": "Bob"}, "id": "c2"},
]


class Script(BaseChatModel):
    """Pays once, and is done."""

    @property
    def _llm_type(self):
        return "script"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        is_paid = any(isinstance(one, ToolMessage) for one in messages)
        said = AIMessage("done") if is_paid else AIMessage("", tool_calls=CALLS)
        return ChatResult(generations=[ChatGeneration(message=said)])


saver = SqliteSaver(sqlite3.connect(FOLDER / "runs.db", check_same_thread=False))
agent = create_agent(Script(), tools=[tool(pay), tool(slow)], checkpointer=saver)
thread = {"configurable": {"thread_id": "r1"}}
begun = {"messages": [HumanMessage("Pay Ann and Bob.")]} if MODE == "begin" else None
print(agent.invoke(begun, thread, durability="sync")["messages"][-1].content)
