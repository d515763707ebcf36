"""A run behind another one: what that has left, and the system prompt once, before what is new."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import evolve

from detent.core.chat.messages import ChatMessage, ChatRole
from detent.core.result import AgentResult
from detent.core.run.spec import AgentSpec
from detent.core.state.handlers import replace_values
from detent.core.state.keys import Write
from detent.core.state.state import conversation_in, initial_writes
from detent.core.state.typevars import S


def continued(
    spec: AgentSpec[S], after: AgentResult[S, Any], messages: Sequence[ChatMessage]
) -> tuple[AgentSpec[S], Sequence[ChatMessage]]:
    """The rules by which a run starts behind another one, and the messages that are new in it.

    The first message is the prompt of the run that starts, whatever stood there and is handed in.

    Raises:
        TypeError: `after` is no result.
        ValueError: its run has not ended.
        StateError: its state does not fit these rules.
    """
    if not isinstance(after, AgentResult):
        raise TypeError(f"after must be the result of an earlier run, got {after!r:.80}")
    if after.run.outcome is None:
        raise ValueError(
            f"run {after.run_id!r} has not ended: go on with itself, by its snapshot or its id"
        )
    state = after.state
    if state.fields is not spec.state.fields:  # of another agent: each value has to fit this one
        state = spec.state.update(initial_writes(state.data))
    if spec.system_prompt:
        prompt, said = ChatMessage.from_system(spec.system_prompt), conversation_in(state)
        rest = said[1:] if said and said[0].role is ChatRole.SYSTEM else said
        if rest is said or said[0] != prompt:
            state = state.update([Write("messages", [prompt, *rest], replace_values)])
        messages = [one for one in messages if one != prompt]
    return evolve(spec, state=state, system_prompt=None), messages
