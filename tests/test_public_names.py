"""The doors: what can be imported from `detent` and its subjects, and what it costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

import detent
import detent.approvals
import detent.faces
import detent.hosts
import detent.journals
import detent.machine
import detent.mcp
import detent.models
import detent.telemetry
import detent.testing
import detent.web
from detent import exports

SUBJECTS = [
    detent.approvals,
    detent.faces,
    detent.hosts,
    detent.journals,
    detent.machine,
    detent.mcp,
    detent.models,
    detent.telemetry,
    detent.testing,
    detent.web,
]
DOORS = [detent, *SUBJECTS]
ROOT_NAMES_MAX = 120
HEAVY = {
    *("asyncio", "attr", "cattrs", "click", "httpx", "jsonschema_rs", "mcp"),
    *("opentelemetry", "returns", "rich", "typeguard", "xllamacpp"),
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
def test_the_interpreter_and_the_type_checker_know_the_same_names(door: ModuleType) -> None:
    """The table of homes is the list of imports."""
    assert set(vars(door)["__all__"]) == declared(door).keys()


def test_the_root_has_what_first_programs_need_and_no_more() -> None:
    """A name that a subject has as well means the same in both."""
    root = declared(detent)
    assert len(root.keys() - {"__version__"}) <= ROOT_NAMES_MAX
    for subject in SUBJECTS:
        both = root.keys() & declared(subject).keys()
        assert {name: root[name] for name in both} == {
            name: declared(subject)[name] for name in both
        }


@pytest.mark.parametrize("door", DOORS)
def test_a_public_name_can_be_imported(door: ModuleType) -> None:
    """It is what its module calls by this name, and is kept once it was asked for."""
    for name, home in declared(door).items():
        value = getattr(door, name)

        assert value is getattr(import_module(home), name), name
        assert vars(door)[name] is value, name


@pytest.mark.parametrize("door", DOORS)
def test_a_name_that_is_not_there_is_an_attribute_error(door: ModuleType) -> None:
    """As of any module, so that hasattr and typing mistakes behave."""
    with pytest.raises(AttributeError, match=f"module '{door.__name__}' has no attribute 'Agnet'"):
        getattr(door, "Agnet")  # noqa: B009 - a type checker would refuse the plain spelling


@pytest.mark.parametrize("door", DOORS)
def test_names_are_listed_before_they_are_loaded(door: ModuleType) -> None:
    """Completion in a shell knows them all."""
    assert set(declared(door)) <= set(dir(door))


def test_the_version_is_that_of_what_is_installed() -> None:
    """As a text, as of every package; whoever does not ask does not look for it."""
    assert detent.__version__ == version("detent")
    assert isinstance(detent.__version__, str)
    code = (
        "import detent, sys; print('importlib.metadata' in sys.modules, 'version' in dir(detent))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_importing_detent_loads_no_other_module_of_it() -> None:
    """Each name is fetched from its home when it is first asked for."""
    code = "import detent, sys; print(*[m for m in sys.modules if m.startswith('detent.')])"

    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout.split() == ["detent.exports"]


def test_importing_the_doors_is_light() -> None:
    """A fresh interpreter loads no third-party library with them, nor asyncio."""
    doors = ", ".join(door.__name__ for door in DOORS)
    code = f"import {doors}, sys; print(sys.modules.keys() & {HEAVY})"

    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout.strip() == "set()"


FIRST_RUN = """
import sys
from detent import Agent, ChatMessage, MemoryJournal, ToolCall, tool
from detent.models import ChatReply

@tool
def add(a: int, b: int) -> int:
    '''Add two numbers.'''
    return a + b

class Model:
    def run(self, messages, **options):
        if len(messages) > 1:
            return ChatReply(ChatMessage.from_assistant("done"))
        return ChatReply(ChatMessage.from_assistant(tool_calls=[ToolCall("add", {"a": 1, "b": 2})]))

agent = Agent(chat_generator=Model(), tools=[add], journal={journal})
assert agent.run("go").text == "done"
print(*sys.modules)
"""


@pytest.mark.parametrize(
    ("journal", "needed"),
    [("None", set[str]()), ("MemoryJournal()", {"cattrs"})],
)
def test_a_first_run_loads_few_libraries(journal: str, needed: set[str]) -> None:
    """Only what is stored needs cattrs; docstrings with sections and policies need others."""
    script = FIRST_RUN.replace("{journal}", journal)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    libraries = {"cattrs", "docstring_parser", "typeguard"}
    loaded = done.stdout.split()
    assert libraries & {name.split(".")[0] for name in loaded} == needed
    assert not {
        "detent.adapters.confirmation.policies",
        "detent.adapters.confirmation.described",
    } & set(loaded)


def test_a_name_that_another_door_has_is_told_with_that_door() -> None:
    """Each public name of a subject, looked for in `detent`; and one of `detent` in a subject."""
    for door, name in NAMES:
        if door is detent or name in declared(detent):
            continue
        homes = [other.__name__ for other in SUBJECTS if name in other.__all__]
        with pytest.raises(ImportError, match=f"{name}'") as caught:
            exec(f"from detent import {name}", {})  # noqa: S102 - a name of ours
        assert any(f": from {home} import {name}" in str(caught.value) for home in homes), door
    with pytest.raises(AttributeError, match=r"it is detent\.Agent"):
        _ = vars(detent.models)["__getattr__"]("Agent")


def test_a_misspelt_name_is_told_with_the_one_that_was_meant() -> None:
    """Not a module that is asked for as a name before its file is looked for."""
    with pytest.raises(ImportError, match=r"from 'detent'; did you mean 'SQLiteJournal'\?$"):
        exec("from detent import SqliteJournal", {})  # noqa: S102 - a line of ours
    with pytest.raises(AttributeError, match=r"did you mean 'SQLiteJournal'\?$"):
        _ = vars(detent)["__getattr__"]("SqliteJournal")
    for name in ("machine", "exports", "approvals"):
        with pytest.raises(AttributeError, match=rf"no attribute '{name}'$"):
            _ = vars(detent)["__getattr__"](name)


def test_a_name_that_there_is_not_is_no_attribute_of_a_door() -> None:
    """Whoever looks whether there is one, such as `inspect`, is told by the usual error."""
    assert not hasattr(detent, "Journal")
    assert not hasattr(detent, "__wrapped__")
    with pytest.raises(AttributeError, match=r"no attribute 'Nope'$"):
        _ = vars(detent)["__getattr__"]("Nope")
    with pytest.raises(ImportError, match="cannot import name 'Nope' from 'detent'"):
        exec("from detent import Nope", {})  # noqa: S102 - as above
    assert [door.__name__ for door in DOORS] == ["detent", *sorted(exports.DOORS[1:])]
