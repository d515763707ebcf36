"""What stands around a tool is looked at by a proof: hooks, other names, functions that call it."""

from __future__ import annotations

import code as console
import cProfile
import gc
import pkgutil
import subprocess
import sys
import timeit as timer
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import (
    cached_property,
    partial,
    partialmethod,
    singledispatch,
    update_wrapper,
    wraps,
)
from operator import attrgetter, methodcaller
from pickle import loads
from pydoc import locate
from types import FunctionType, MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from attrs import evolve

from detent import (
    Agent,
    AgentTool,
    BlockingConfirmationStrategy,
    SimpleConsoleUI,
    Tool,
    ToolCall,
    after_tool,
    before_model,
    before_tool,
    create_tool_from_function,
    on_exit,
)
from detent.adapters.testing.proofs.functions import behind, called_by, finds_unseen
from detent.approvals import Allow, Ask
from detent.core.control.hooks import HookError
from detent.machine import Run, RunTool, ToolFault, ToolRaised, ToolReturned
from detent.testing import (
    Proof,
    Refuted,
    ScriptedChatGenerator,
    always,
    check,
    never_runs_unapproved,
)


def pay(amount: int) -> int:
    """Pay."""
    raise AssertionError("no tool is run")


PAY = create_tool_from_function(pay)
AMOUNTS = {"pay": [{"amount": 100}]}


def ask_much(call: ToolCall, tool: Tool, run: Run[Any]) -> Allow | Ask:
    """Ask about large amounts only."""
    return Ask() if call.arguments["amount"] == 100 else Allow()


def agent_with(
    *hooks: Any, tools: Any = (PAY,), policy: Any = ask_much, steps: int = 1
) -> Agent[Any, Any]:
    """An agent that asks before it pays much, with hooks."""
    ask = BlockingConfirmationStrategy(policy, SimpleConsoleUI())
    return Agent(
        chat_generator=ScriptedChatGenerator(),
        tools=list(tools),
        confirmation_strategies={"pay": ask},
        hooks=list(hooks),
        max_agent_steps=steps,
    )


def little(effect: RunTool, run: Run[Any]) -> RunTool | None:
    """Pay 1 instead."""
    if effect.tool.name != "pay":
        return None
    return evolve(effect, call=evolve(effect.call, arguments={"amount": 1}))


def small(agent: Any, *claims: Any, **options: Any) -> Proof:
    """A proof in the smallest world."""
    return check(agent, *claims, turns=1, calls=1, **options)


def test_a_hook_that_rewrites_an_approved_call_is_seen() -> None:
    """The policy lets run what the hook has made of it, which nobody has said yes to."""
    claim = never_runs_unapproved("pay")

    assert small(agent_with(), claim, arguments=AMOUNTS).states
    with pytest.raises(Refuted, match=r"pay runs for call .* with \{'amount': 1\}") as caught:
        small(agent_with(before_tool(little)), claim, arguments=AMOUNTS)
    assert any(type(one).__name__ == "CallRewritten" for one in caught.value.scenario.events)
    always_asked = agent_with(before_tool(little), policy=lambda call, tool, run: Ask())
    assert small(always_asked, claim, arguments=AMOUNTS).states


def test_a_hook_of_an_agent_inside_is_seen() -> None:
    """It stands around the tools of that agent."""
    for hooks, is_safe in (((), True), ((before_tool(little),), False)):
        inner = agent_with(*hooks)
        outer = Agent(
            chat_generator=ScriptedChatGenerator(),
            tools=[AgentTool(inner, name="cashier", description="pays")],
            max_agent_steps=1,
        )
        if is_safe:
            assert small(outer, never_runs_unapproved("pay"), arguments=AMOUNTS).states
        else:
            with pytest.raises(Refuted, match="nobody has approved"):
                small(outer, never_runs_unapproved("pay"), arguments=AMOUNTS)


def test_a_hook_that_answers_for_a_tool_leaves_nothing_to_prove() -> None:
    """The tool never runs: whatever is said of it holds, and says nothing."""

    def answered(effect: RunTool, run: Run[Any]) -> ToolReturned:
        return effect.returned(3)

    with pytest.raises(ValueError, match=r"holds because \['pay'\] never ran"):
        small(agent_with(before_tool(answered)), never_runs_unapproved("pay"), arguments=AMOUNTS)


def test_what_hooks_make_of_answers_is_what_the_run_hears() -> None:
    """Also of requests to the model, and of the end."""

    def failed(effect: RunTool, event: Any, run: Run[Any]) -> ToolRaised:
        return ToolRaised(effect.ref, effect.attempt, ToolFault("raised", "no"))

    def without_tools(effect: Any, run: Run[Any]) -> Any:
        return evolve(effect, tools=())

    def is_told_no_result(run: Run[Any]) -> bool:
        results = [one for message in run.messages for one in message.tool_call_results]
        return all(one.error or one.text == "a human says so" for one in results)

    def has_called_nothing(run: Run[Any]) -> bool:
        return "pay" not in run.tool_call_counts

    with pytest.raises(Refuted):
        check(agent_with(), always(is_told_no_result), exact=True, turns=1, calls=1)
    assert small(agent_with(after_tool(failed)), always(is_told_no_result), exact=True).states
    with pytest.raises(Refuted):
        small(agent_with(), always(has_called_nothing))
    assert small(agent_with(before_model(without_tools)), always(has_called_nothing)).states


def test_a_run_that_is_sent_back_goes_on() -> None:
    """Until there are no more steps."""
    claim = always(lambda run: not sent_back(run))

    assert small(agent_with(steps=2), claim, exact=True).states
    with pytest.raises(Refuted):
        small(agent_with(on_exit(lambda run: "not yet"), steps=2), claim, exact=True)


def sent_back(run: Run[Any]) -> bool:
    """Whether the conversation has what the hook says."""
    return any("not yet" in (message.text or "") for message in run.messages)


def test_hooks_that_never_leave_a_call_alone_are_refused() -> None:
    """There is no end of what they would make of it; nor can one that fails be followed."""

    def more(effect: RunTool, run: Run[Any]) -> RunTool:
        amount = effect.call.arguments["amount"]
        assert isinstance(amount, int)
        return evolve(effect, call=evolve(effect.call, arguments={"amount": amount + 1}))

    def fails(effect: RunTool, run: Run[Any]) -> None:
        raise RuntimeError("oh")

    with pytest.raises(ValueError, match=r"'pay', and .* they must leave as it is"):
        small(agent_with(before_tool(more)), never_runs_unapproved("pay"), arguments=AMOUNTS)
    with pytest.raises(HookError, match="oh"):
        small(agent_with(before_tool(fails)), never_runs_unapproved("pay"), arguments=AMOUNTS)


def test_a_function_is_known_behind_what_wraps_it() -> None:
    """By another name it does the same, also with some of its arguments given."""

    @wraps(pay)
    def wrapped(amount: int) -> int:
        return pay(amount)

    assert behind(partial(wrapped, amount=1)) is pay
    other = create_tool_from_function(wrapped, name="transfer")
    with pytest.raises(ValueError, match=r"also called \['transfer'\]"):
        small(agent_with(tools=(PAY, other)), never_runs_unapproved("pay"))


def refund(amount: int) -> int:
    """Pay back."""
    return helped(amount)


def helped(amount: int) -> int:
    """Pay, in the end."""
    return int(PAY.function(amount=amount))


def balance() -> int:
    """Tell the balance."""
    return len("1000")


class Bank:
    """Pays by itself, and by way of itself."""

    def pay(self, amount: int) -> int:
        """Pay."""
        return amount

    def pay_twice(self, amount: int) -> int:
        """Pay two times."""
        return self.pay(amount) + self.pay(amount)

    def __call__(self, amount: int) -> int:
        """Pay by another way."""
        return helped(amount)

    @staticmethod
    def helped(amount: int) -> int:
        """Pay by a third one."""
        return helped(amount)


BANK, NAMED = Bank(), sys.modules[__name__]


def in_a_list(amount: int) -> int:
    return sum([PAY.function(amount=one) for one in [amount]])


def in_a_function(amount: int) -> int:
    def inner() -> list[int]:
        return [*map(lambda one: helped(one), [amount])]  # noqa: C417, PLW0108 - on purpose

    return sum(inner())


def by_default(amount: int, way: Any = pay) -> int:
    return int(way(amount))


def by_its_module(amount: int) -> int:
    return int(NAMED.helped(amount)) + int(NAMED.BANK.helped(amount))


def by_an_import(amount: int) -> int:
    from tests.adapters.testing.proofs import test_hooks_and_functions

    return test_hooks_and_functions.helped(amount)


def by_a_class(amount: int) -> int:
    return Bank.helped(amount)


WAYS: dict[str, Any] = {"helped": helped, "others": [len]}


def by_a_table(amount: int) -> int:
    return int(WAYS["helped"](amount))


def handed_on(way: Any, amount: int) -> int:
    return int(way(amount))


@wraps(by_a_table)
def wrapped(amount: int) -> int:
    return 0


class Till:
    """Pays where Python calls its methods: no code names them."""

    def __enter__(self) -> int:
        return helped(1)

    def __exit__(self, *error: object) -> None:
        pass


TILL = Till()


def ways() -> Iterator[Any]:
    yield helped


NEXT_WAY = ways()
ITERATOR, MAPPED, GENERATED = iter([helped]), map(helped, [1]), (way for way in [helped])


def by_a_block(amount: int) -> int:
    with TILL as paid:
        return paid


def by_a_queue(amount: int) -> int:
    return int(QUEUE[0](amount))


class Clerk:
    """Pays where somebody looks at it."""

    @property
    def paid(self) -> int:
        """What it has paid, which it pays now."""
        return helped(1)

    @cached_property
    def paid_once(self) -> int:
        """What it has paid, which it pays at the first look."""
        return helped(1)


QUEUE, CLERK = deque([helped]), Clerk()


def by_a_property(amount: int) -> int:
    return CLERK.paid


def by_a_property_once(amount: int) -> int:
    return CLERK.paid_once


def by_a_generator(amount: int) -> int:
    return int(next(NEXT_WAY)(amount))


def by_an_iterator(amount: int) -> int:
    return int(next(ITERATOR)(amount))


def by_a_map(amount: int) -> int:
    return next(MAPPED)


def by_what_a_generator_goes_on_with(amount: int) -> int:
    return int(next(GENERATED)(amount))


class ByMeta(type):
    """Makes no instance, and has whatever is asked for."""

    def __call__(cls, amount: int) -> int:  # noqa: D102 - as it says
        return helped(amount)


class ByMetaName(type):
    """The same by a name."""

    def __getattr__(cls, name: str) -> Any:
        return helped


class Made(metaclass=ByMeta):
    """Is made by its class's own class."""


class Found(metaclass=ByMetaName):
    """Is asked by its class's own class."""


def by_a_metaclass(amount: int) -> Any:
    return Made(amount)  # type: ignore[call-arg]  # its class's own class takes it


def by_a_name_of_a_metaclass(amount: int) -> Any:
    return Found.anything(amount)


def hiding(function: Callable[[int], int]) -> Callable[[int], int]:
    """Decorate: pay before anything else is done."""

    @wraps(function)
    def around(amount: int) -> int:
        return helped(amount) + function(amount)

    return around


@hiding
def behind_a_decorator(amount: int) -> int:
    return amount


@hiding
@hiding
def behind_two(amount: int) -> int:
    return amount


def by_what_is_decorated(amount: int) -> int:
    return behind_a_decorator(amount)


def by_another_name(amount: int) -> int:
    return helped(amount)


by_another_name.__module__ = "builtins"  # as `wraps` has it of a function of Python's own


class Decorated:
    """A decorator that is a class, and says what it wraps."""

    def __init__(self, function: Callable[[int], int]) -> None:
        self.function, self.first = function, helped
        update_wrapper(self, function)

    def __call__(self, amount: int) -> int:
        """Pay, and do it."""
        return self.first(amount) + self.function(amount)


@Decorated
def by_a_class_that_decorates(amount: int) -> int:
    return amount


@singledispatch
def by_type(amount: object) -> int:
    return 0


@by_type.register
def _(amount: int) -> int:
    return helped(amount)


@contextmanager
def paying(amount: int) -> Generator[int]:
    yield helped(amount)


def by_a_context(amount: int) -> int:
    with paying(amount) as paid:
        return paid


class Base:
    """Pays in a method that others are above."""

    def work(self, amount: int) -> int:
        """Pay."""
        return helped(amount)


class Child(Base):
    """Has it done by what it comes of."""

    def work(self, amount: int) -> int:
        """Pay by the class below."""
        return super().work(amount)


class Mixed:
    """Does not know what is below it."""

    def begin(self, amount: int) -> int:
        """Pay by whatever that is."""
        return int(super().work(amount))  # type: ignore[misc]  # it is mixed in


class Both(Mixed, Base):
    """Knows."""


def by_super_of_a_new_one(amount: int) -> int:
    return Both().begin(amount)


class Steps:
    """Pays two methods further."""

    def begin(self, amount: int) -> int:
        """Go on."""
        return self.go_on(amount)

    def go_on(self, amount: int) -> int:
        """Pay."""
        return helped(amount)


def by_methods_of_a_new_one(amount: int) -> int:
    return Steps().begin(amount)


class Holder:
    """Holds a function that somebody has set."""

    def __init__(self, way: Any) -> None:
        self.way = way

    def begin(self, amount: int) -> int:
        """Call it."""
        return int(self.way(amount))


class Narrow:
    """The same with slots."""

    __slots__ = ("way",)

    def __init__(self, way: Any) -> None:
        self.way = way


HOLDER, NARROW, SPACE = Holder(helped), Narrow(helped), SimpleNamespace(way=helped)
DEEP = Holder(Holder(Holder(Holder(Holder(helped)))))
HELD = MappingProxyType({"way": helped})
handed_on.way = helped  # type: ignore[attr-defined]  # as people do


def by_an_attribute(amount: int) -> int:
    return int(HOLDER.way(amount))


def by_a_slot(amount: int) -> int:
    return int(NARROW.way(amount))


def by_a_namespace(amount: int) -> int:
    return int(SPACE.way(amount))


def by_a_deep_attribute(amount: int) -> int:
    return int(DEEP.way.way.way.way.way(amount))


def by_a_mapping(amount: int) -> int:
    return int(HELD["way"](amount))


def by_an_attribute_of_a_function(amount: int) -> int:
    return int(handed_on.way(amount))  # type: ignore[attr-defined]  # as it is set


class Itself:
    """Holds the very function that another tool has."""

    __slots__ = ("way",)


ITSELF, HOLDS_ITSELF = Itself(), Holder(pay)
ITSELF.way = pay  # type: ignore[attr-defined]  # a slot has no type


class Static:
    """Has it as a method that is handed no object."""

    way = staticmethod(pay)


STATIC = Static()


def by_the_function_in_a_slot(amount: int) -> int:
    return int(ITSELF.way(amount))  # type: ignore[attr-defined]  # as above


def by_the_function_in_an_attribute(amount: int) -> int:
    return int(HOLDS_ITSELF.way(amount))


def by_a_static_method(amount: int) -> int:
    return STATIC.way(amount)


class Partly:
    """Has a method that is another one with some arguments."""

    def work(self, amount: int, extra: int) -> int:
        """Pay."""
        return helped(amount + extra)

    some = partialmethod(work, extra=1)


PARTLY = Partly()


def by_a_part_of_a_method(amount: int) -> int:
    return PARTLY.some(amount)


BY_PARTIAL = partial(handed_on, helped)
CALLERS = [
    *(in_a_list, in_a_function, by_default, by_its_module, by_an_import, by_a_class, BANK),
    *(by_a_block, by_a_generator, by_a_table, BY_PARTIAL, wrapped),
    *(by_a_queue, by_a_property, by_a_property_once),
    *(by_a_metaclass, by_a_name_of_a_metaclass),
    partial(handed_on, way={"it": (helped,)}),
    *(behind_a_decorator, behind_two, by_what_is_decorated, by_another_name),
    *(by_a_class_that_decorates, by_type, by_a_context),
    *(Child().work, Both().begin, by_super_of_a_new_one, by_methods_of_a_new_one),
    *(HOLDER.begin, by_an_attribute, by_a_slot, by_a_namespace, by_a_deep_attribute),
    *(by_a_mapping, by_an_attribute_of_a_function, by_a_part_of_a_method),
    *(by_an_iterator, by_a_map, by_what_a_generator_goes_on_with),
    *(by_the_function_in_a_slot, by_the_function_in_an_attribute, by_a_static_method),
]


@pytest.mark.parametrize("caller", CALLERS, ids=range(len(CALLERS)))
def test_whatever_way_a_tool_calls_another_one_it_is_refused(caller: Any) -> None:
    """As far as its code, and what is within it, name the other."""
    schema = {"type": "object", "properties": {"amount": {"type": "integer"}}}
    other = Tool("other", "Pay too.", schema, caller)

    with pytest.raises(ValueError, match=r"a function that \['other'\] calls by itself"):
        small(agent_with(tools=(PAY, other)), never_runs_unapproved("pay"))


def by_imports_of_its_own(amount: int) -> Any:
    def inner() -> Any:
        from runpy import run_path as play

        return play("hel" + "ped")

    return inner()


class Order:
    """Has attributes that are also modules of Python."""

    code, profile, trace = "A", "B", "C"


ORDER = Order()


def by_words_that_are_modules_too(amount: int) -> str:
    return ORDER.code + ORDER.profile + ORDER.trace


class Evaluator:
    """What can be called, and evaluates."""

    def __call__(self, amount: int) -> int:
        """Pay by a text."""
        return int(eval("helped(amount)"))  # noqa: S307 - on purpose


UNSEEN: list[Callable[[int], Any]] = [
    Evaluator(),
    lambda amount: eval("helped(amount + 1)"),  # noqa: S307 - on purpose
    lambda amount: getattr(NAMED, "hel" + "ped")(amount + 1),
    lambda amount: globals()["hel" + "ped"](amount + 1),
    lambda amount: vars(NAMED)["hel" + "ped"](amount + 1),
    lambda amount: NAMED.__dict__["hel" + "ped"](amount + 1),
    lambda amount: NAMED.__getattribute__("hel" + "ped")(amount + 1),
    lambda amount: attrgetter("hel" + "ped")(NAMED)(amount + 1),
    lambda amount: methodcaller("hel" + "ped", amount)(NAMED),
    lambda amount: sys._getframe().f_globals["hel" + "ped"](amount + 1),
    lambda amount: by_a_class.__globals__["hel" + "ped"](amount + 1),
    lambda amount: list(sys.modules.values())[amount],
    lambda amount: object.__subclasses__()[amount](),
    lambda amount: pkgutil.resolve_name("hel" + "ped")(amount + 1),
    lambda amount: locate("hel" + "ped"),
    lambda amount: timer.timeit("hel" + "ped()", number=amount),
    lambda amount: cProfile.run("hel" + "ped()", sort=amount),
    lambda amount: loads(b"hel" + b"ped"),  # noqa: S301 - on purpose
    lambda amount: gc.get_objects()[amount],
    lambda amount: FunctionType(by_a_class.__code__, {})(amount + 1),
    lambda amount: subprocess.run(["hel" + "ped"], check=True),
    lambda amount: console.InteractiveInterpreter().runsource("hel" + "ped()"),
    by_imports_of_its_own,
]


@pytest.mark.parametrize("computed", UNSEEN, ids=range(len(UNSEEN)))
def test_what_a_tool_finds_by_itself_cannot_be_seen(computed: Any) -> None:
    """It may call anything, so that nothing is proved of what must not be called."""
    schema = {"type": "object", "properties": {"amount": {"type": "integer"}}}
    other = Tool("computed", "", schema, computed)

    with pytest.raises(ValueError, match=r"cannot be proved: \['computed'\] runs code"):
        small(agent_with(tools=(PAY, other)), never_runs_unapproved("pay"))


def test_an_attribute_that_is_also_the_name_of_a_module_is_none() -> None:
    """The words are those of anybody."""
    schema = {"type": "object", "properties": {"amount": {"type": "integer"}}}
    assert not finds_unseen(Tool("words", "Say it.", schema, by_words_that_are_modules_too))


def test_the_method_of_an_object_is_that_of_no_other_one() -> None:
    """One that calls it is refused; the same method of another object is another tool."""
    pays = create_tool_from_function(BANK.pay)
    twice = create_tool_from_function(BANK.pay_twice)
    others = create_tool_from_function(Bank().pay_twice)
    claim = never_runs_unapproved("pay")

    with pytest.raises(ValueError, match=r"a function that \['pay_twice'\] calls by itself"):
        small(agent_with(tools=(pays, twice)), claim)
    assert small(agent_with(tools=(pays, others)), claim, arguments=AMOUNTS).states


def test_a_tool_that_calls_another_one_is_refused() -> None:
    """No policy is asked about that; a claim must be made of both."""
    caller, other = create_tool_from_function(refund), create_tool_from_function(balance)
    claim = never_runs_unapproved("pay")

    assert pay in set(called_by(caller))
    with pytest.raises(ValueError, match=r"a function that \['refund'\] calls by itself"):
        small(agent_with(tools=(PAY, caller)), claim)
    assert small(agent_with(tools=(PAY, other)), claim, arguments=AMOUNTS).states
    assert list(called_by(Tool("p", "", {"type": "object", "properties": {}}, print))) == [print]
    with pytest.raises(Refuted, match="refund runs"):
        small(agent_with(tools=(PAY, caller)), claim, never_runs_unapproved("refund"))
