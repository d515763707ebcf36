"""One call of a tool's function: what it is called with, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cache
from itertools import compress
from typing import TYPE_CHECKING

from attrs import Factory, evolve, field, frozen

from detent.core.chat.messages import ToolCall
from detent.core.errors import DetentError, StateError, StateTypeError
from detent.core.schema.conversion import ConversionError, as_it_is
from detent.core.schema.validation import faults
from detent.core.state.keys import Write
from detent.core.state.live import PendingWrites, live_state
from detent.core.state.state import BaseState, State, secret_keys
from detent.core.tools import wording
from detent.core.tools.defaults import arguments_to_run, default_faults, with_defaults
from detent.core.tools.idempotency import NO_KEY, FencingToken, IdempotencyKey, OutcomeUnknownError
from detent.core.tools.masking import masked, shown_content
from detent.core.tools.redaction import all_without_secrets, redact, without_secrets
from detent.core.tools.result import ResultError, ToolFault, ToolResult, result_of
from detent.core.tools.secrets import secrets_of_call
from detent.core.tools.tool import Tool
from detent.core.values.fast_values import fast_init

if TYPE_CHECKING:
    from returns.result import Result


class MissingInputError(DetentError, LookupError):
    """A parameter is filled from the state, and the state has nothing for it yet."""


_OURS = (ConversionError, MissingInputError, ResultError, OutcomeUnknownError)
"""What says all that there is to say, without its name."""
NOTHING_WRITTEN = PendingWrites(State({}))
"""For all tools that take no state: nobody can write to it."""


@fast_init
@frozen
class Invocation:
    """One attempt at `call`, on `state` as it was when the attempt began.

    `end` it when nobody waits for it any longer: the state that the function was given can then no
    longer be used.
    """

    tool: Tool
    call: ToolCall
    state: BaseState = field(repr=False)
    idempotency_key: IdempotencyKey = NO_KEY
    epoch: int = 0

    def _open_state(self) -> PendingWrites:
        has_state = self.tool.signature.state is not None
        return PendingWrites(self.state) if has_state else NOTHING_WRITTEN

    _pending: PendingWrites = field(
        init=False, eq=False, repr=False, default=Factory(_open_state, takes_self=True)
    )

    def arguments(self) -> dict[str, object]:
        """All arguments by name: the model's, as the declared types, and the state's.

        Raises:
            ConversionError: a class refuses what the model sent.
            MissingInputError: the state has nothing for a parameter that needs it.
        """
        arguments = self._convert()
        for item in self.tool.inputs:
            if self.state.holds(item.key):
                arguments[item.parameter] = self.state.read(item.key)
            elif item.declared is not None or item.parameter in self.tool.signature.required:
                raise MissingInputError(
                    f"it needs {item.parameter!r}, which is taken from the state key {item.key!r}, "
                    "and nothing has been written to that yet"
                )
        signature = self.tool.signature
        if signature.lent:
            names = signature.lent.keys() - arguments.keys()
            arguments |= {name: deepcopy(signature.lent[name]) for name in names}
        if signature.keys:
            arguments |= dict.fromkeys(signature.keys, self.idempotency_key)
        if signature.tokens:
            arguments |= dict.fromkeys(signature.tokens, FencingToken(self.epoch))
        parameter = signature.state
        if parameter is not None:
            arguments[parameter.name] = live_state(self._pending, parameter.kind)
        return arguments

    def result(self, value: object) -> ToolResult:
        """What the function's result means, with what the function has written to its state.

        Raises:
            ResultError: the result could not be converted.
        """
        result = result_of(self.tool, value)
        if writes := self.end():
            result = evolve(result, writes=(*writes, *result.writes))
        return self.displayed(result) if self.tool.masked or result.writes else result

    def conclude(self, values: list[object]) -> ToolResult:
        """The same of the only one of `values`, which is taken out of them.

        Whoever reads it is then the last that holds it: to let go of very many rows takes long.
        """
        return self.result(values.pop())

    def displayed(self, result: ToolResult) -> ToolResult:
        """The result, with what people see of it: nothing that is secret in the call.

        Nor anything that it writes to a secret key: whether the state takes that or not.

        RULE: it is said here, as nobody knows later what the function was given: what the state
        held, what its defaults were, and what a hook has put in the place of an argument.
        """
        secrets = secrets_of_call(self.call, self.tool, self.state)
        keys = secret_keys(self.state)
        hidden = [write.key in keys for write in result.writes]
        if any(hidden):
            marks = zip(result.writes, hidden, strict=True)
            writes = tuple(evolve(one, is_secret=is_secret) for one, is_secret in marks)
            result = evolve(result, writes=writes)
            for write in compress(writes, hidden):
                secrets.setdefault(write.key, []).append(write.value)
        if not secrets:
            return result
        visible = shown_content(result.content, secrets, secrets)
        return evolve(result, display=None if visible == result.content else visible)

    def redacted(self, fault: ToolFault) -> ToolFault:
        """A fault that others have made, without what is secret in the call."""
        secrets = secrets_of_call(self.call, self.tool, self.state)
        text = without_secrets(fault.message, secrets, secrets)
        new = evolve(fault, message=text)
        return new if fault.cause is None else new.because(fault.cause)

    def fault(self, error: BaseException) -> ToolFault:
        """What the model is told of `error`, without any value that came from the state."""
        self.end()
        return self._fault(error, self._message(error)).because(error)

    def unknown(self, error: BaseException) -> ToolFault:
        """That `error` came of looking up how the call went, told as by `fault`."""
        text = wording.lookup_failed(self._message(error))
        return ToolFault("unknown_outcome", text).because(error)

    def _fault(self, error: BaseException, message: str) -> ToolFault:
        name = self.tool.name
        match error:
            case ConversionError():
                return ToolFault("invalid_arguments", wording.tool_not_run(name, message))
            case MissingInputError():
                return ToolFault("missing_input", wording.tool_not_run(name, message))
            case ResultError():
                return ToolFault("bad_result", message)
            case OutcomeUnknownError():
                return ToolFault("unknown_outcome", message or wording.OUTCOME_UNKNOWN)
            case _:
                arguments = masked(self.call.arguments, self.tool.masked)
                retryable = isinstance(error, self.tool.retries.on)
                return ToolFault("raised", wording.tool_raised(name, arguments, message), retryable)

    def unmerged(self, error: StateError, result: ToolResult) -> ToolFault:
        """What the model is told when the state does not take the result.

        RULE: of one that quotes a secret nothing is said, unless the state has hidden what came. A
        hook may have put that into the call, which knows nothing of it.
        """
        is_hidden = isinstance(error, StateTypeError) and error.is_hidden
        is_said = is_hidden or result.display is None
        message = self._redact(str(error)) if is_said else wording.NOT_SHOWN
        text = wording.result_not_stored(self.tool.name, message)
        return ToolFault("unmergeable", text).because(error)

    def end(self) -> tuple[Write, ...]:
        """What the function has written to its state; nothing that it writes from now on counts."""
        return () if self._pending is NOTHING_WRITTEN else self._pending.end()

    def _convert(self) -> dict[str, object]:
        faults: list[str] = []
        values: dict[str, object] = {}
        readers = self.tool.readers
        call = without_hidden(self.call, self.tool) if self.tool.hidden else self.call
        whole: Mapping[str, object] = call.arguments
        if self.tool.has_schema_defaults:
            whole = arguments_to_run(call, self.tool)
        for name, value in whole.items():
            try:
                values[name] = readers.get(name, as_it_is)(value, name)
            except ConversionError as error:
                faults += error.faults
        if faults:
            raise ConversionError(faults)
        return values

    def _message(self, error: BaseException) -> str:
        if isinstance(error, BaseExceptionGroup):
            return "; ".join(map(self._message, error.exceptions))
        try:
            text = self._redact(str(error))
        except Exception:  # noqa: BLE001 - a broken __str__ must not hide what was raised
            text = "it cannot be shown"
        is_own = isinstance(error, _OURS)
        return text if is_own else f"{type(error).__name__}: {text}".removesuffix(": ")

    def _redact(self, text: str) -> str:
        """The text without what the state holds under the keys that the tool reads or writes.

        The messages are no secret: the model has written or read them.
        """
        keys = {item.key for item in self.tool.inputs} | {item.key for item in self.tool.outputs}
        if self.tool.signature.state is not None:
            keys |= self.state.fields.keys()
        inputs = {
            key: self.state.read(key)
            for key in sorted(keys - {"messages"})
            if self.state.holds(key)
        }
        arguments = with_defaults(self.call, self.tool)
        visible = {name: value for name, value in arguments.items() if name not in self.tool.masked}
        secrets = secrets_of_call(self.call, self.tool, self.state, arguments)
        text = without_secrets(text, secrets, secrets)
        return redact(text, inputs, known=visible)


def check_arguments(call: ToolCall, tool: Tool) -> Result[bool, ToolFault]:
    """True, if the call's arguments are what the tool takes; else what the model is told."""
    if problems := argument_faults(call, tool):
        from returns.result import Failure  # 15 ms: loaded with the first call of a tool

        return Failure(fault_of(problems, tool))
    return _fits()


def fault_of(problems: Sequence[str], tool: Tool) -> ToolFault:
    """What the model is told of arguments that the tool does not take."""
    text = wording.tool_not_run(tool.name, "; ".join(problems))
    return ToolFault("invalid_arguments", text).because(ConversionError(problems))


@cache
def _fits() -> Result[bool, ToolFault]:
    from returns.result import Success  # one for all calls: to make it takes as long as the check

    return Success(True)  # noqa: FBT003 - returns takes what it holds by its place


def without_hidden(call: ToolCall, tool: Tool) -> ToolCall:
    """The call without what the model sent for parameters that the state fills."""
    if tool.hidden.isdisjoint(call.arguments):
        return call
    arguments = {name: value for name, value in call.arguments.items() if name not in tool.hidden}
    return evolve(call, arguments=arguments)


def argument_faults(call: ToolCall, tool: Tool) -> list[str]:
    """One sentence for each way in which the call's arguments are not what the tool takes."""
    if call.unreadable is not None:
        # RULE: where a secret begins and ends in what cannot be read, nobody knows
        reason = "it is not shown, as some are secret" if tool.masked else call.unreadable
        return [wording.arguments_unreadable(reason)]
    if not tool.fits(call.arguments):
        messages = faults(call.arguments, tool.spec.parameters)
    else:
        messages = default_faults(call, tool) if tool.has_schema_defaults else []
        messages = messages or _excesses(call, tool)
        if not messages:
            return []  # nearly always
    return all_without_secrets(messages, call.arguments, tool.masked)


def _excesses(call: ToolCall, tool: Tool) -> list[str]:
    """A sentence for each argument that takes too long to read."""
    if not tool.excesses:
        return []
    whole = arguments_to_run(call, tool)
    reasons = {name: say(whole[name]) for name, say in tool.excesses.items() if name in whole}
    return [wording.cannot_be_used(name, reason) for name, reason in reasons.items() if reason]
