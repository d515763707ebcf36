"""The public faces: what can be imported from `detent` and `detent.testing`, and what it costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import detent
import detent.testing

DOORS = [detent, detent.testing]
HEAVY = {
    "asyncio",
    "attr",
    "cattrs",
    "click",
    "httpx",
    "jsonschema_rs",
    "rich",
    "typeguard",
    "xllamacpp",
}


def declared(door: ModuleType) -> dict[str, str]:
    """For a type checker: each public name and the module it comes from."""
    tree = ast.parse(Path(str(door.__file__)).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    assert len(imports) == len(block.body)
    names = [(alias, node.module) for node in imports for alias in node.names]
    assert [alias.name for alias, _ in names] == [alias.asname for alias, _ in names]
    return {alias.name: str(module) for alias, module in names}


NAMES = [(door, name) for door in DOORS for name in sorted(declared(door))]


@pytest.mark.parametrize("door", DOORS)
def test_the_interpreter_and_the_type_checker_are_told_the_same(door: ModuleType) -> None:
    """The table of homes is the list of imports, name by name."""
    homes = {name: f"detent.{home}" for name, home in vars(door)["_HOME_OF"].items()}
    assert homes == declared(door)
    assert set(vars(door)["__all__"]) == declared(door).keys()


@pytest.mark.parametrize(("door", "name"), NAMES)
def test_a_public_name_can_be_imported(door: ModuleType, name: str) -> None:
    """It is what its module calls by this name, and is kept once it was asked for."""
    value = getattr(door, name)

    assert value is getattr(sys.modules[declared(door)[name]], name)
    assert vars(door)[name] is value


@pytest.mark.parametrize("door", DOORS)
def test_a_name_that_is_not_there_is_an_attribute_error(door: ModuleType) -> None:
    """As of any module, so that hasattr and typing mistakes behave."""
    with pytest.raises(AttributeError, match=f"module '{door.__name__}' has no attribute 'Agnet'"):
        getattr(door, "Agnet")  # noqa: B009 - a type checker would refuse the plain spelling


@pytest.mark.parametrize("door", DOORS)
def test_names_are_listed_before_they_are_loaded(door: ModuleType) -> None:
    """Completion in a shell knows them all."""
    assert set(declared(door)) <= set(dir(door))


def test_importing_detent_loads_no_other_module_of_it() -> None:
    """Each name is fetched from its home when it is first asked for."""
    code = "import detent, sys; print(*[m for m in sys.modules if m.startswith('detent.')])"

    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout.split() == []


def test_importing_the_doors_is_light() -> None:
    """A fresh interpreter loads no third-party library with them, nor asyncio."""
    code = f"import detent.testing, sys; print(sys.modules.keys() & {HEAVY})"

    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout.strip() == "set()"


FIRST_RUN = """
import sys
from detent import Agent, ChatMessage, ChatReply, MemoryJournal, ToolCall, tool

@tool
def add(a: int, b: int) -> int:
    '''Add two numbers.'''
    return a + b

class Model:
    def run(self, messages, **options):
        if len(messages) > 1:
            return ChatReply(ChatMessage.from_assistant("done"))
        return ChatReply(ChatMessage.from_assistant(tool_calls=[ToolCall("add", {"a": 1, "b": 2})]))

agent = Agent(chat_generator=Model(), tools=[add], journal=MemoryJournal())
assert agent.run("go").text == "done"
print(*sys.modules)
"""


def test_a_first_run_loads_no_library_but_attrs() -> None:
    """Values that are not plain need others, and docstrings with sections; policies, approvals."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST_RUN], capture_output=True, text=True, check=True
    )

    libraries = {"cattrs", "docstring_parser", "returns", "typeguard", "typing_extensions"}
    loaded = done.stdout.split()
    assert not libraries & {name.split(".")[0] for name in loaded}
    assert not {"detent.core.control.policies", "detent.core.control.described"} & set(loaded)
