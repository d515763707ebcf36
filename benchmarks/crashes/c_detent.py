"""Detent with its SQLite journal, and tools that say nothing of crashes."""

from shop import FOLDER, MODE, pay, slow

from detent import Agent, ChatMessage, ScriptedChatGenerator, SQLiteJournal, ToolCall, tool

calls = [ToolCall("pay", {"who": "Ann"}, "c1"), ToolCall("slow", {"who": "Bob"}, "c2")]
agent = Agent(
    chat_generator=ScriptedChatGenerator(ChatMessage.from_assistant(tool_calls=calls), "done"),
    tools=[tool(pay), tool(slow)],
    journal=SQLiteJournal(FOLDER / "runs.db"),
)
if MODE == "begin":
    agent.run("Pay Ann and Bob.", run_id="r1")
else:
    result = agent.resume("r1")
    waiting = [f"{call.tool_name}: {call.reason}" for call in result.pending]
    print("asks a human: " + "; ".join(waiting) if waiting else result.text)
