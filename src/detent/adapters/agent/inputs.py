"""What users hand over, looked at before anything is built of it: each mistake has its own name."""

from __future__ import annotations

from asyncio import Queue
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, cast

from attrs import evolve, field, frozen
from attrs.validators import optional

from detent.core.chat.messages import ChatMessage, ChatRole, says_nothing
from detent.core.control.hooks import Hook
from detent.core.errors import SchemaError, StateError
from detent.core.run.limits import Limits
from detent.core.run.spec import AgentSpec
from detent.core.state.state import conversation_in
from detent.core.state.typevars import S
from detent.ports.chat import Messages
from detent.ports.names import name_fault

if TYPE_CHECKING:
    from detent.adapters.control.breakpoints import BreakPoints
    from detent.adapters.tools.toolsets import Tools
    from detent.core.storage.snapshot import AgentSnapshot

THREADS = "\x1fthread "
"""How the names of the claims on threads begin, and no id of a run."""

Check: TypeAlias = tuple[Callable[[Any], bool], str]
"""Whether a value will do, and what it should be."""


def _takes(count: int) -> Callable[[Any], bool]:
    """Whether something can be called with so many values, as far as its signature is known."""

    def takes(value: Any) -> bool:
        if not callable(value):
            return False
        try:
            signature(value).bind(*[None] * count)
        except TypeError:
            return False
        except ValueError:  # what is written in C may have no signature
            return True
        return True

    return takes


def _has(*methods: str) -> Callable[[Any], bool]:
    """Whether an object has methods; a class has them, too, and is none."""
    return lambda value: (
        not isinstance(value, type)
        and all(callable(getattr(value, method, None)) for method in methods)
    )


def _all(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        is_list = isinstance(value, Sequence) and not isinstance(value, str)
        return is_list and all(map(fits, value))

    return check


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return type(value) is int


CALLBACK: Check = (_takes(1), "a function of one StreamingChunk")
CHECKS: Mapping[str, Check] = {
    "name": (_is_text, "a text"),
    "system_prompt": (_is_text, "a text"),
    "exit_conditions": (
        lambda value: isinstance(value, str | frozenset | set) or _all(_is_text)(value),
        "a list of tool names and 'text'",
    ),
    "limits": (lambda value: isinstance(value, Limits), "Limits(…)"),
    "streaming_callback": CALLBACK,
    "max_agent_steps": (_is_number, "a number"),
    "parallel_tool_calls": (_is_number, "a number"),
    "generation_kwargs": (lambda value: isinstance(value, Mapping), "a dict"),
    "claim_s": (lambda value: isinstance(value, int | float), "a number of seconds"),
    "chance": (_has("number", "new_id"), "a source of chance such as SeededChance(1)"),
    "tool_executor": (
        lambda value: _has("execute")(value) or _has("execute_async")(value),
        "an object with a method execute or execute_async",
    ),
    "clock": (_has("now", "wait", "wait_async"), "a clock such as SystemClock()"),
    "observers": (_all(_takes(3)), "a list of functions of the run before, the event and the run"),
    "journal": (_has("append", "read", "runs"), "a journal such as SQLiteJournal('runs.db')"),
    "approvers": (callable, "a function of a decision and its question, such as ApproverKeys(…)"),
    "telemetry": (_has("begin"), "telemetry such as OpenTelemetry()"),
    "hooks": (
        _all(lambda hook: isinstance(hook, Hook)),
        "a list of hooks, as before_model and its siblings make them of functions",
    ),
}
INVOKER_OPTIONS = {
    "max_workers": "parallel_tool_calls",
    "raise_on_failure": "raise_on_tool_invocation_failure",
    "streaming_callback": "streaming_callback",
}
"""What the keys of `tool_invoker_kwargs` are called among the agent's options."""


def checked_options(
    options: Mapping[str, object], known: Iterable[str], unnamed: Sequence[object] = ()
) -> dict[str, Any]:
    """The options, each by its own name; those that are None are as good as left out.

    Raises:
        TypeError: one of them is not `known`, is not what it should be, or has no name.
    """
    if unnamed:
        first = unnamed[0]
        made = f"chat_generator({first!r:.80})" if isinstance(first, str) else "…"
        raise TypeError(
            f"Agent takes its parts by name: Agent(chat_generator={made}), got {first!r:.80}"
        )
    if unknown := sorted(options.keys() - set(known)):
        known = (*OWN_OPTIONS, *known)
        meant = " and ".join(filter(None, (_meant(one, known, AGENT_OPTIONS) for one in unknown)))
        raise TypeError(
            f"Agent has no option {', '.join(map(repr, unknown))}; "
            f"{f'did you mean {meant}? It' if meant else 'it'} has {', '.join(known)}"
        )
    checked = dict(options)
    checked |= _invoker_options(checked.pop("tool_invoker_kwargs", None))
    given = {name: value for name, value in checked.items() if value is not None}
    for name in given.keys() & CHECKS.keys():
        _require(name, given[name], CHECKS[name])
    return given


def _invoker_options(given: object) -> dict[str, object]:
    """The agent's options that `tool_invoker_kwargs` stand for."""
    _require(
        "tool_invoker_kwargs", given, (lambda it: it is None or isinstance(it, dict), "a dict")
    )
    options: dict[str, object] = dict(cast("dict[str, object]", given or {}))
    if options.get("convert_result_to_json_string") is True:  # as it always is here
        del options["convert_result_to_json_string"]
    if unknown := sorted(options.keys() - INVOKER_OPTIONS.keys()):
        raise TypeError(
            f"tool_invoker_kwargs has no {', '.join(map(repr, unknown))}; it has "
            f"{', '.join(INVOKER_OPTIONS)}. How a result becomes text its tool says: "
            "outputs_to_string={'handler': str}"
        )
    return {INVOKER_OPTIONS[name]: value for name, value in options.items()}


def _is_break_point(request: object, attribute: object, value: Any) -> None:
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    if not all(map(callable, value if is_list else [value])):
        raise TypeError(
            "break_point must be a Breakpoint, a function of the run and an effect, or a list of "
            f"them, got {value!r:.80}"
        )


def _is_dict(request: object, attribute: object, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(f"generation_kwargs must be a dict, got {value!r:.80}")


def _is_state(request: object, attribute: object, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(f"state must be a dict, of keys of the state, got {value!r:.80}")
    if others := [key for key in value if not isinstance(key, str)]:
        raise TypeError(f"the keys of the state are texts, got {others[0]!r:.80}")


def _is_run_id(request: object, attribute: object, value: Any) -> None:
    if fault := name_fault("run_id", value):
        raise (ValueError if isinstance(value, str) else TypeError)(fault)
    if value.startswith(THREADS):
        raise ValueError(f"run_id must not begin as the names of threads do, got {value!r:.80}")


@frozen
class RunRequest(Generic[S]):
    """What one run is asked for: the parameters that all ways to begin it share.

    What each means is said at `Agent.run`. It is no `TypedDict` behind ``**parameters``, as the
    keys of the state come by keyword, too, and mypy knows no `extra_items` of PEP 728.
    """

    messages: Messages
    break_point: BreakPoints | None = field(validator=optional(_is_break_point))
    snapshot: AgentSnapshot | Mapping[str, Any] | str | None
    generation_kwargs: Mapping[str, object] | None = field(validator=optional(_is_dict))
    system_prompt: str | None
    tools: Tools[S] | Sequence[str] | None
    run_id: str | None = field(validator=optional(_is_run_id))
    state: Mapping[str, object] = field(validator=_is_state)
    started_by: str | None = None


def require_callback(value: object) -> None:
    """Raise TypeError unless it can be called, or is None."""
    if value is not None:
        _require("streaming_callback", value, CALLBACK)


def require_inbox(value: object) -> None:
    """Raise TypeError unless events can come from it into a blocking run, or it is None."""
    fits = _has("put", "get", "empty")
    is_right = value is None or (fits(value) and not isinstance(value, Queue))
    _require("inbox", value, (lambda _: is_right, "an Inbox()"))


def require_async_inbox(value: object) -> None:
    """Raise TypeError unless events can come from it into a run in an event loop, or it is None."""
    is_right = value is None or isinstance(value, Queue)
    _require("inbox", value, (lambda _: is_right, "an AsyncInbox()"))


def required_run_id(run_id: object) -> str:
    """The id of a run of the journal, as it is. Raises TypeError for what is no text."""
    wanted = "the text that names a run in the journal, such as result.run_id"
    _require("run_id", run_id, (_is_text, wanted))
    return cast("str", run_id)


def conversation_of(messages: Messages) -> Sequence[ChatMessage]:
    """What is said, as messages.

    Raises:
        TypeError: it is no conversation.
        ValueError: it is an empty text, or what a user says in it is one.
    """
    if messages == "":
        raise ValueError("messages is an empty text; say something")
    if isinstance(messages, str):
        return (ChatMessage.from_user(messages),)
    if isinstance(messages, ChatMessage):
        messages = (messages,)
    is_right = isinstance(messages, Sequence) and not isinstance(messages, bytes)
    _require("messages", messages, (lambda _: is_right, "a text, a ChatMessage or a list of them"))
    for place, message in enumerate(messages):
        if not isinstance(message, ChatMessage):
            raise TypeError(
                f"messages[{place}] must be a ChatMessage, as ChatMessage.from_user('…') makes "
                f"them, got {message!r:.80}"
            )
    if messages and messages[-1].role is ChatRole.USER and says_nothing(messages[-1]):
        raise ValueError("messages ends with an empty text of the user; say something")
    return messages


RUN_OPTIONS = (
    *("streaming_callback", "after", "thread_id", "break_point", "snapshot", "generation_kwargs"),
    *("raise_at_break_point", "system_prompt", "tools", "inbox", "run_id"),
)
MAX_TURNS = ("max_turns", "max_steps", "max_iterations")
OTHER_NAMES = {
    **{name: f"agent.evolve({name}=…).run(…)" for name in CHECKS},
    **dict.fromkeys(MAX_TURNS, "agent.evolve(max_agent_steps=…).run(…)"),
    **dict.fromkeys(("session_id", "conversation_id", "session"), "thread_id=…"),
    **dict.fromkeys(("state", "inputs", "context", "deps"), "key=…, each key by its own name"),
    **{
        name: f"generation_kwargs={{{name!r}: …}}"
        for name in ("temperature", "max_tokens", "top_p")
    },
}
OWN_OPTIONS = ("chat_generator", "tools", "state_schema", "output_type")
AGENT_OPTIONS = {
    **dict.fromkeys(("model", "llm", "client"), "chat_generator=chat_generator('openai:MODEL')"),
    **dict.fromkeys(("instructions", "prompt", "system"), "system_prompt=…"),
    **dict.fromkeys(("state", "deps_type"), "state_schema=…"),
    **dict.fromkeys(("response_format", "result_type"), "output_type=…"),
    **dict.fromkeys(MAX_TURNS, "max_agent_steps=…"),
    **dict.fromkeys(("checkpointer", "session", "store"), "journal=…"),
    **dict.fromkeys(("temperature", "max_tokens", "top_p"), "generation_kwargs={…}"),
}
"""What people look for who know another library: of a run, and of an agent."""


def _meant(name: str, known: Iterable[str], others: Mapping[str, str]) -> str:
    """What may be meant by a name that there is not; an empty text where nobody can tell."""
    from difflib import get_close_matches  # only for a mistake

    close = [f"{one}=…" for one in get_close_matches(name, known, n=1)]
    return others.get(name) or next(iter(close), "")


def require_free_keys(keys: Collection[str]) -> None:
    """Raise SchemaError for a key of the state that `Agent.run` takes for an option of its own."""
    if taken := [name for name in (*RUN_OPTIONS, "started_by") if name in keys]:
        raise SchemaError(
            f"{taken[0]!r} is an option of agent.run, which could give the state key of this name "
            "no value: give the key another name"
        )


def require_input(
    state: Mapping[str, object], messages: Sequence[ChatMessage], spec: AgentSpec[Any]
) -> None:
    """Look at what a run is begun with.

    Raises:
        StateError: a name is neither an option of `Agent.run` nor a key of the state.
        ValueError: the model would be asked about nothing at all.
    """
    for name in state:
        if name not in (keys := spec.state.fields):
            meant = _meant(name, (*RUN_OPTIONS, *keys), OTHER_NAMES)
            raise StateError(
                f"{name!r} is neither an option of run nor a key of the agent's state, which has "
                f"{', '.join(map(repr, keys))}" + (f"; did you mean {meant}?" if meant else "")
            )
    said = messages or spec.system_prompt or conversation_in(spec.state)
    if not said and "messages" not in state:
        raise ValueError("nothing is said: a run needs a question, agent.run('…')")


def require_nothing_else(request: RunRequest[Any], **others: object) -> None:
    """A stored run goes on as it was begun: raise ValueError for what would change it."""
    own = ("messages", "generation_kwargs", "system_prompt", "started_by")
    parameters = {**others, **{name: getattr(request, name) for name in own}, **request.state}
    if named := [name for name, value in parameters.items() if value]:
        raise ValueError(
            f"a snapshot goes on with its own messages, options and state; leave out "
            f"{', '.join(named)}"
        )


def _require(name: str, value: object, check: Check) -> None:
    fits, wanted = check
    if isinstance(value, type) and not fits(value):
        raise TypeError(f"{name}: {value.__name__} is a class; write {value.__name__}(…)")
    if not fits(value):
        raise TypeError(f"{name} must be {wanted}, got {value!r:.80}")


def exits_of(names: Sequence[str]) -> frozenset[str]:
    """The conditions that end a run; one by itself may be a text."""
    return frozenset([names] if isinstance(names, str) else names)


def limits_of(
    limits: Limits | None, max_agent_steps: int | None, parallel_tool_calls: int | None
) -> Limits:
    """The limits, with what is said beside them in its place."""
    own = {"max_agent_steps": max_agent_steps, "parallel_tool_calls": parallel_tool_calls}
    changes: dict[str, Any] = {name: value for name, value in own.items() if value is not None}
    return evolve(limits or Limits(), **changes)
