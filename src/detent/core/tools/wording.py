"""Wording: every sentence that the agent itself tells a model. To change one, change it here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from detent.core.schema.json_values import path_text

NAMED_MAX = 20
"""How many parts of arguments one sentence names."""

TASK = "What to do, with everything that must be known for it."
"""Of the one parameter of a tool that is an agent."""

FINAL_ANSWER = "Give your final answer. Call it once, when you know everything that it asks for."
"""Of the tool by which a model answers in the wanted type."""

CANCELLED, OUT_OF_TIME = "the run was cancelled", "the run's time was up"
PROCESS_ENDED = (
    "it was begun, its process ended, stands still or could not write down what came of it, and "
    "nobody knows whether it was carried out"
)
BEGUN_BEFORE = "an attempt at it has begun before, and may have carried it out"
BEGUN_ELSEWHERE = (
    "it was begun in the run of which this one is a copy, and which may be at work on it; its "
    "look-up has found nothing"
)
NOT_SHOWN = "it does not fit, and is not shown: some of it is secret"
OUTCOME_UNKNOWN = "it was begun, and the tool does not know whether it was carried out"
AGENT_WAITS = "the agent has begun on it, and waits for this before it goes on"
STOPPED = "it has stopped"
FORBIDDEN = "a policy forbids it"
NOBODY_DECIDED = "it had to be confirmed, and nobody did so in time"
"""Why a call has no answer: these stand within the sentences below."""


def process_ended(times: int) -> str:
    """Why nobody knows what a call has done, whose process has ended in the middle of it."""
    if times <= 1:
        return PROCESS_ENDED
    return (
        f"it was begun, its process ended or stood still in the middle of it, {times:,} times in a "
        "row, and nobody knows whether it was carried out"
    )


def never_ran(crashes: int) -> str:
    """A look-up finds nothing each time, and the call never ends."""
    return (
        f"it was begun {crashes} times in a row and has not come to an end, and each time its "
        "look-up has found nothing"
    )


def tool_not_found(name: str, names: Iterable[str]) -> str:
    """The model has called what is not there."""
    return f"Tool '{name}' not found. Available tools: {', '.join(names) or 'none'}"


def tool_not_run(name: str, reason: str) -> str:
    """A call was refused before its tool began."""
    return f"Tool '{name}' was not run: {reason}"


def too_many_calls(count: int, most: int) -> str:
    """A reply has more calls than one may have: none is run."""
    return f"your reply has {count:,} calls; one may have {most:,} at most. Make fewer at once."


def no_calls_left(subject: str, most: int) -> str:
    """All calls that may be made have been made."""
    return f"{subject} may be called {most:,} times, and was. Answer without it."


def people_refuse(times: int) -> str:
    """People have said no to so many calls of a tool that they are not asked any more."""
    return f"people have refused the last {times:,} calls of it. Go on without it."


def tool_raised(name: str, arguments: Mapping[str, object], error: str) -> str:
    """A tool began, and failed. `arguments` are masked, `error` is redacted."""
    return f"Failed to invoke Tool `{name}` with parameters {arguments}. Error: {error}"


def tool_too_slow(name: str, seconds: float | None) -> str:
    """Nobody waits for a tool any longer."""
    return f"Tool '{name}' gave no answer within {seconds} s"


def tool_was_running(name: str, reason: str) -> str:
    """The run ended in the middle of a tool."""
    return f"Tool '{name}' was running when {reason}. Its outcome is unknown."


def tool_tried(name: str, reason: str) -> str:
    """A tool is not tried once more, though an attempt was made."""
    return f"Tool '{name}' was tried, and not again: {reason}. Its outcome is unknown."


def outcome_unknown(name: str, reason: str) -> str:
    """A tool's process ended, and the tool says that the model is to know."""
    return f"The outcome of tool '{name}' is unknown: {reason}. Do not assume either."


def lookup_failed(error: str) -> str:
    """Why a human is asked about a call: the tool's own function could not say how it went."""
    return f"{PROCESS_ENDED}: looking it up failed with {error}"


def result_unusable(name: str, error: str) -> str:
    """A tool's wiring could make nothing of its result."""
    return f"The result of tool '{name}' could not be used: {error}"


def result_without_text(name: str, kind: str) -> str:
    """A result is an object of which Python says nothing but where it is."""
    return f"Tool '{name}' has given an object of type {kind}, which cannot be read as text."


def result_left_out(name: str, length: int) -> str:
    """An old and long result is not sent again; its length in characters."""
    return f"[The result of tool '{name}' is left out here: {length:,} characters.]"


def result_not_stored(name: str, error: str) -> str:
    """The state did not take a tool's result."""
    return f"The result of tool '{name}' was not stored: {error}"


def agent_was_at_work(name: str, reason: str) -> str:
    """The run ended while another agent worked on a call."""
    return f"Agent '{name}' was at work when {reason}. It gave no answer."


def agent_without_answer(name: str, reason: str) -> str:
    """An agent that works for this one has ended without an answer."""
    return f"Agent '{name}' gave no answer: {reason}"


def arguments_unreadable(reason: str) -> str:
    """The model's arguments of a tool are no JSON object."""
    return f"the arguments are not a JSON object: {reason}"


def must_be_said(places: Sequence[Sequence[str | int]]) -> str:
    """Nobody can say what stands for these parts of the arguments, which a call leaves out."""
    names = [f"'{path_text(place)}'" for place in places[:NAMED_MAX]]
    names += [f"{rest} more"] if (rest := len(places) - NAMED_MAX) > 0 else []
    return f"{', '.join(names)} must be said: what would be filled in hangs on how the rest is read"


def cannot_be_used(name: str, reason: str) -> str:
    """An argument cannot become what its tool declares."""
    return f"'{name}' cannot be used: {reason}"


def too_much_filled_in(name: str, most: int) -> str:
    """What a call leaves out would become more than a call may have."""
    return (
        f"the schema of {name!r} is at fault: for what is left out it fills in more than {most:,} "
        "characters, goes too deep, or has too many options to try"
    )


def answer_unreadable(reason: str) -> str:
    """The model's arguments of its answer are no JSON object."""
    return f"The arguments are not a JSON object: {reason}"


def answer_unusable(reason: str) -> str:
    """An answer that was given by a tool call is not of the wanted type."""
    return f"This answer cannot be used: {reason}"


def answer_wanted_again(reason: str, tool_name: str | None) -> str:
    """An answer in words is not of the wanted type; the tool to give it by, if there is one."""
    way = f"by calling the tool {tool_name!r}" if tool_name is not None else "as one JSON object"
    return f"Your answer cannot be used: {reason}. Give it {way}."


@frozen
class Wording:
    """What the model is told of a human's decision, as templates.

    Attributes:
        reject: for a rejected call; may name ``{tool_name}``.
        modify: for a modified call; may name ``{tool_name}`` and ``{final_tool_params}``.
        feedback: follows where the human gave some; may name ``{feedback}``.

    Raises:
        ValueError: a template names something else.
    """

    reject: str = "Tool execution for '{tool_name}' was rejected by the user."
    modify: str = (
        "The parameters for tool '{tool_name}' were updated by the user to:\n{final_tool_params}"
    )
    feedback: str = "With user feedback: {feedback}"

    def __attrs_post_init__(self) -> None:
        self.rejected("", "x")
        self.modified("", "", "x")

    def rejected(self, tool_name: str, feedback: str | None) -> str:
        """What is said of a rejected call."""
        return self._with_feedback(_fill(self.reject, tool_name=tool_name), feedback)

    def modified(self, tool_name: str, arguments: str, feedback: str | None) -> str:
        """What is said of a modified call."""
        text = _fill(self.modify, tool_name=tool_name, final_tool_params=arguments)
        return self._with_feedback(text, feedback)

    def _with_feedback(self, text: str, feedback: str | None) -> str:
        return f"{text} {_fill(self.feedback, feedback=feedback)}" if feedback else text


def _fill(template: str, **values: str) -> str:
    try:
        return template.format(**values)
    except (LookupError, ValueError, AttributeError) as error:
        names = ", ".join(f"{{{name}}}" for name in values)
        raise ValueError(f"the template {template!r} may name {names}: {error!r}") from error
