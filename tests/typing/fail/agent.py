"""Mistakes with the options of an agent and of a run."""

from __future__ import annotations

from detent import Agent, Limits, ScriptedChatGenerator, SQLiteJournal
from detent.approvals import AlwaysAskPolicy, CallRule

model = ScriptedChatGenerator()
agent = Agent(chat_generator=model)

Agent()  # E
Agent(chat_generator="openai:gpt-5-mini")  # E
Agent(chat_generator=ScriptedChatGenerator)  # E
Agent(chat_generator=model, max_agent_steps="3")  # E
Agent(chat_generator=model, limits={"max_tokens": 3})  # E
Agent(chat_generator=model, limits=3)  # E
Agent(chat_generator=model, journal="runs.db")  # E
Agent(chat_generator=model, journal=SQLiteJournal)  # E
Agent(chat_generator=model, system_prompt=3)  # E
Agent(chat_generator=model, exit_conditions=[3])  # E
Agent(chat_generator=model, hooks=[print])  # E
Agent(chat_generator=model, sytem_prompt="x")  # E
Agent(chat_generator=model, tools="search")  # E
Agent(chat_generator=model, confirmation_strategies=[AlwaysAskPolicy()])  # E
agent.run(3)  # E
agent.run(["hello"])  # E
agent.run("hello", after="x")  # E
agent.run("hello", thread_id=3)  # E
agent.run("hello").txt  # E
agent.decide("run-1", "yes")  # E
agent.resume()  # E
Limits("3")  # E
Limits(max_token=3)  # E
CallRule("forbid")  # E
