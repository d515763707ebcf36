"""Hooks: functions around a model call, around a tool, and before the end of a run.

A hook sees values that cannot change. It gives back another request, or the event that answers the
request. What is recorded is the event alone, so that a replay needs no hook.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import iscoroutinefunction, signature
from typing import Any, ClassVar, TypeAlias, cast

from attrs import Attribute, evolve, field, frozen

from detent.core.errors import DetentError, require_failure
from detent.core.machine.binding import arguments_digest
from detent.core.run.effects import AskModel, Effect, RunTool
from detent.core.run.events import (
    AnswerRejected,
    CallRewritten,
    Event,
    ModelFailed,
    ModelReplied,
    ToolRaised,
    ToolReturned,
)
from detent.core.run.outcomes import Finished
from detent.core.run.run import Run
from detent.core.run.spec import Delegate
from detent.core.tools.invocation import Invocation, without_hidden
from detent.core.tools.masking import with_secrets_marked
from detent.core.values.checks import of_kind

ModelAnswer: TypeAlias = ModelReplied | ModelFailed
ToolAnswer: TypeAlias = ToolReturned | ToolRaised
Request: TypeAlias = AskModel | RunTool

ANSWERS: dict[type[Request], tuple[type[Event], ...]] = {
    AskModel: (ModelReplied, ModelFailed),
    RunTool: (ToolReturned, ToolRaised),
}


class HookError(DetentError, RuntimeError):
    """A hook has raised, which is the cause, or has given back what is no answer."""


def _can_be_called(hook: Hook, attribute: Attribute[Any], function: Callable[..., object]) -> None:
    """Raise TypeError unless a function takes what its hook gives to it, and waits for nothing."""
    of_kind(cast(type, Callable), "a function")(hook, attribute, function)
    if iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__):
        raise TypeError(f"{_name(hook)} is async: a hook is an ordinary function, def …")
    try:
        signature(function).bind(*hook.takes)
    except TypeError:
        names, own = ", ".join(hook.takes), signature(function)
        raise TypeError(f"{_name(hook)} is called with ({names}), and takes {own}") from None
    except ValueError:
        return  # what is not written in Python does not say what it takes


@frozen
class Hook:
    """A function that stands between a run and the world."""

    takes: ClassVar[tuple[str, ...]] = ()
    function: Callable[..., object] = field(validator=_can_be_called)


@frozen
class Before(Hook):
    """Sees requests of a `kind` on their way out."""

    takes = ("request", "run")
    kind: type[Request]


@frozen
class After(Hook):
    """Sees the events that answer requests of a `kind`, on their way in."""

    takes = ("request", "answer", "run")
    kind: type[Request]


@frozen
class OnExit(Hook):
    """Sees runs that are about to end with an answer."""

    takes = ("run",)


def before_model(function: Callable[[AskModel, Run[Any]], AskModel | ModelAnswer | None]) -> Before:
    """A hook that may change what the model is asked, or answer in its place; None lets it be."""
    return Before(function, AskModel)


def before_tool(function: Callable[[RunTool, Run[Any]], RunTool | ToolAnswer | None]) -> Before:
    """A hook that may change a tool's call, or answer in the tool's place; None lets it be."""
    return Before(function, RunTool)


def after_model(function: Callable[[AskModel, ModelAnswer, Run[Any]], ModelAnswer | None]) -> After:
    """A hook that may change what the model has answered; None lets it be."""
    return After(function, AskModel)


def after_tool(function: Callable[[RunTool, ToolAnswer, Run[Any]], ToolAnswer | None]) -> After:
    """A hook that may change what a tool has given; None lets it be."""
    return After(function, RunTool)


def on_exit(function: Callable[[Run[Any]], str | None]) -> OnExit:
    """A hook that may send a run back that is about to end: by what the model is told then."""
    return OnExit(function)


def outgoing(hooks: Sequence[Hook], effect: Effect, run: Run[Any]) -> Effect | Event:
    """The effect as the hooks want it, or the event by which one of them has answered it.

    Hooks come in order. An answer goes out again through those before the one that gave it. A call
    that stands under a policy, and that they have changed, is not sent: the event says that it is
    another one, and must be judged anew.

    Raises:
        HookError: a hook has failed, has sent a call to another tool, or has changed more of a call
            under a policy than its arguments.
    """
    if not isinstance(effect, AskModel | RunTool):
        return effect
    original = effect
    for place, hook in enumerate(hooks):
        if not isinstance(hook, Before) or not isinstance(effect, hook.kind):
            continue
        value = _call(hook, effect, run)
        if value is None:
            continue
        if value is effect or _may_take_its_place(value, hook, effect):
            effect = cast(Request, value)
        else:
            # through those before it alone: those after it have not seen the request
            return incoming(hooks[:place], effect, _answer(hook, effect, value), run)
    if isinstance(effect, RunTool) and effect is not original:
        return _rewrite(original, effect, run)
    return effect


def incoming(hooks: Sequence[Hook], effect: Effect, event: Event, run: Run[Any]) -> Event:
    """The event that answers `effect`, as the hooks want it: the last comes first.

    Raises:
        HookError: a hook has failed.
    """
    for hook in reversed(hooks):
        if isinstance(hook, After) and isinstance(effect, hook.kind):
            value = _call(hook, effect, event, run)
            # the very same event stays so: what was made ready for it counts for no other one
            event = event if value is None or value is event else _answer(hook, effect, value)
    return event


def sent_back(hooks: Sequence[Hook], run: Run[Any]) -> AnswerRejected | None:
    """What the first hook says who does not let `run` end; None when all do.

    Raises:
        HookError: a hook has failed.
    """
    if not isinstance(run.outcome, Finished):
        return None
    for hook in hooks:
        if isinstance(hook, OnExit) and (text := _call(hook, run)) is not None:
            if not isinstance(text, str):
                raise HookError(f"{_name(hook)} must give a text or None, got {text!r:.80}")
            return AnswerRejected(run.turn, text)
    return None


def _rewrite(effect: Any, new: RunTool, run: Run[Any]) -> RunTool | CallRewritten:
    """What hooks have made of a call, or that it is another one, where a policy stands.

    RULE: its idempotency key is that of the run, which knows when a call is made again.
    """
    if new.name is not effect.name:
        new = evolve(new, name=effect.name)
    if not any(slot.ref == new.ref and slot.clearance is not None for slot in run.slots):
        names = {each.tool.name for each in (new, effect)} | {new.call.tool_name}
        if names != {effect.call.tool_name}:
            raise HookError(
                f"a hook may not send a call of {effect.tool.name!r} to {new.tool.name!r}, whose "
                "policies may want something else: it may answer in the tool's place"
            )
        return new
    is_same = (new.call.tool_name, new.call.id) == (effect.call.tool_name, effect.call.id)
    if new.tool is not effect.tool or new.state is not effect.state or not is_same:
        raise HookError(
            f"a hook may change the arguments of {effect.tool.name!r} only, as a policy stands for "
            "it: it has changed the tool, its name, the id of the call, or the state, which nobody "
            "was asked about"
        )
    call = without_hidden(new.call, new.tool)  # the state fills these in, whatever is said of them
    call = evolve(call, secret=new.tool.masked)
    # Python takes True for 1, which may be another thing to a rule and to whoever is asked
    digests = {arguments_digest(each, new.tool) for each in (call, effect.call)}
    is_other = call != effect.call or len(digests) > 1
    return CallRewritten(new.ref, call) if is_other else evolve(new, call=call)


def _call(hook: Hook, *arguments: object) -> object:
    try:
        return hook.function(*arguments)
    except BaseException as error:
        require_failure(error)
        raise HookError(f"{_name(hook)} raised {type(error).__name__}: {error}") from error


def _answer(hook: Before | After, effect: Request, value: object) -> Event:
    kinds = ANSWERS[hook.kind]
    # An answer to another request would be taken by the run for what it never asked.
    if isinstance(value, kinds) and _place(value) == effect.key[1:4]:
        return _masked(effect, value)
    names = " or ".join(kind.__name__ for kind in kinds)
    raise HookError(
        f"{_name(hook)} must give a {names} for the same turn, place and attempt"
        f"{f', or the {hook.kind.__name__}' if isinstance(hook, Before) else ''}, got {value!r:.80}"
    )


def _masked(effect: Request, event: Event) -> Event:
    """The event of a hook as it would be without one: it knows what is secret in it."""
    if isinstance(effect, AskModel):
        if isinstance(event, ModelReplied) and (names := effect.secrets()):
            message = with_secrets_marked(event.reply.message, names)
            return evolve(event, reply=evolve(event.reply, message=message))
        return event
    invocation = Invocation(effect.tool, effect.call, effect.state)
    if isinstance(event, ToolRaised):
        return evolve(event, fault=invocation.redacted(event.fault))
    assert isinstance(event, ToolReturned)  # noqa: S101 - a tool has no other answers
    return evolve(event, result=invocation.displayed(event.result))


def _may_take_its_place(value: object, hook: Before, effect: Request) -> bool:
    """The call of an agent is in the run, where a hook cannot change it."""
    is_agents = isinstance(effect, RunTool) and isinstance(effect.tool, Delegate)
    return isinstance(value, hook.kind) and value.key == effect.key and not is_agents


def _place(event: Any) -> tuple[int, int, int]:
    turn, place = (event.turn, 0) if isinstance(event, ModelAnswer) else event.ref
    return turn, place, event.attempt


def _name(hook: Hook) -> str:
    return f"the hook {getattr(hook.function, '__qualname__', repr(hook.function))}"
