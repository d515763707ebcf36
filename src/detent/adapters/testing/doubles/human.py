"""A human who answers questions about tool calls as a script says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from attrs import frozen

from detent.adapters.testing.doubles.script import Script, require_line, require_none_left
from detent.core.run.approval import Answered, Confirmed, Decision, Modified, Rejected
from detent.core.values.frozen import frozen_mapping, thaw
from detent.ports.confirmation import ConfirmationUIResult


@frozen
class Question:
    """What a human was asked: whether the tool may run with these parameters."""

    tool_name: str
    tool_description: str
    tool_params: Mapping[str, Any]


Answer: TypeAlias = (
    Decision | ConfirmationUIResult | Exception | Callable[[Question], "Answer"] | None
)
"""What a scripted human says: a decision; None, which leaves the call pending; an exception is
raised; a function makes an answer of the question."""


KINDS = (Confirmed, Modified, Rejected, Answered, ConfirmationUIResult, Exception, type(None))


class ScriptedHuman:
    """A `ConfirmationUI` that answers by a script, one answer for each question.

    `asked` holds the questions. A question beyond the script's end raises AssertionError;
    `assert_complete` raises one when answers are left.

    Args:
        script: the answers, in order.
        by_tool: answers by the tool that the question is about, each said as often as it is asked.
            All other questions are answered by the script.
    """

    def __init__(self, *script: Answer, by_tool: Mapping[str, Answer] | None = None) -> None:
        for answer in (*script, *(by_tool or {}).values()):
            require_line(answer, KINDS, "an answer")
        self.asked: list[Question] = []
        self._by_tool = dict(by_tool or {})
        self._script = Script(script, "answer")

    def get_user_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> ConfirmationUIResult:
        """The script's next answer."""
        question = Question(tool_name, tool_description, frozen_mapping(tool_params))
        self.asked.append(question)
        if tool_name in self._by_tool:
            return _ui_result(self._by_tool[tool_name], question)
        others = f" (by_tool answers for {', '.join(self._by_tool)})" if self._by_tool else ""
        wanted = f"  may {tool_name} run with {tool_params}?{others}"
        return _ui_result(self._script.next(lambda: wanted), question)

    def assert_complete(self) -> None:
        """Raise AssertionError when answers were never asked for."""
        tool_names = {question.tool_name for question in self.asked}
        never = [
            f"{name}: {answer!r}"
            for name, answer in self._by_tool.items()
            if name not in tool_names
        ]
        require_none_left([*never, *self._script.left()], "answer")


def _ui_result(answer: Answer, question: Question) -> ConfirmationUIResult:
    match answer:
        case ConfirmationUIResult():
            return answer
        case Confirmed(remember):
            return ConfirmationUIResult("confirm", remember=remember)
        case Modified(arguments, feedback):
            return ConfirmationUIResult("modify", feedback, cast(dict[str, Any], thaw(arguments)))
        case Rejected(feedback):
            return ConfirmationUIResult("reject", feedback)
        case Answered(text):
            return ConfirmationUIResult("respond", text)
        case Exception():
            raise answer
        case None:
            return ConfirmationUIResult("")
        case _:
            require_line(answer, KINDS, "an answer")
            return _ui_result(answer(question), question)
