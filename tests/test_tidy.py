"""The rules that the code promises to keep, checked on the code itself."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import quantiles

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "detent"
TESTS = ROOT / "tests"

FUNCTION_LINES_MAX = 40
FUNCTION_LINES_P90_MAX = 20
MODULE_LINES_MAX = 400

LAYERS = ("core", "ports", "adapters")
MODULES_MAX = 18
LIBRARIES_OF_CORE = {
    "attrs",
    "cattrs",
    "docstring_parser",
    "jsonschema_rs",
    "returns",
    "typeguard",
    "typing_extensions",
}
# No clock, no randomness, no I/O, no threads, no environment: what is not named here is impure.
PURE = {
    *("__future__", "abc", "base64", "binascii", "bisect", "collections", "copy", "dataclasses"),
    *("datetime", "decimal", "difflib", "enum", "fractions", "functools", "graphlib", "hashlib"),
    *(
        "heapq",
        "html",
        "inspect",
        "ipaddress",
        "itertools",
        "json",
        "keyword",
        "math",
        "numbers",
        "operator",
        "re",
    ),
    *("contextlib", "contextvars"),  # what is only so within a block: no state outlives it
    *("reprlib", "statistics", "string", "textwrap", "types", "typing", "unicodedata"),
}
PURE_PARTS = {
    "uuid.UUID",  # reads an id; the rest of its module makes them up
    *("pathlib.Path", "pathlib.PurePosixPath", "pathlib.PureWindowsPath"),  # values that are stored
    *("zoneinfo.ZoneInfo", "zoneinfo.available_timezones"),  # the same: what is called so
    *("urllib.parse.quote", "urllib.parse.quote_plus"),
    *("opcode.opmap", "warnings.warn"),  # for whoever writes the program; no value depends on it
    "weakref.ref",  # what is known of a value is forgotten with it; no value depends on it
}
IMPURE_CALLS = {
    *("__import__", "breakpoint", "eval", "exec", "globals", "input", "open", "print"),
    *("now", "today", "utcnow"),
}
MAKES_FUNCTIONS = {"fast_values"}
"""The one module of the core that puts functions together from text, as attrs does it."""

SHAPELESS_MODULE = re.compile(r"^(base|common|context|helpers?|managers?|misc|utils?)$")
SHAPELESS_CLASS = re.compile(r"(Context|Engine|Helper|Impl|Manager|Utils?)$")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
SILENCED = re.compile(r"# (type: ?ignore|pyright: ?ignore|noqa|pragma: ?no)\b")
REASONED = re.compile(
    r"# ((type|pyright): ignore\[[\w, -]+\]|noqa: [A-Z\d, ]+|pragma: no \w+) +[#-] +\w"
)

MODULES = sorted(PACKAGE.rglob("*.py"))
TEST_MODULES = [
    path for path in sorted(TESTS.rglob("*.py")) if not {"pass", "fail"} & set(path.parts)
]

FOLDERS = sorted({path.parent for path in MODULES})
DOORS = {PACKAGE, PACKAGE / "ports" / "laws"}
"""Packages whose `__init__` holds public names."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Noted = Function | ast.ClassDef | ast.Import | ast.ImportFrom | ast.Call | ast.Attribute

# One test for all files, which names each that is wrong: a thousand files times ten rules are ten
# thousand tests to collect and to tell of.


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def in_layer(layer: str) -> list[Path]:
    return [path for path in MODULES if path.is_relative_to(PACKAGE / layer)]


@pytest.fixture(scope="module", autouse=True)
def forgotten() -> Iterator[None]:
    """Millions of nodes: whoever looks for garbage passes through them, each time."""
    gc.disable()
    yield
    tree_of.cache_clear()
    nodes_of.cache_clear()
    gc.enable()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(path: Path) -> tuple[Noted, ...]:
    """What the rules are about, of all nodes; faster than `ast.walk`, which passes through all."""
    found = list[Noted]()
    open_nodes = list[ast.AST]([tree_of(path)])
    for node in open_nodes:
        if isinstance(node, Noted):
            found.append(node)
        for value in vars(node).values():
            if isinstance(value, list):
                open_nodes += (one for one in value if isinstance(one, ast.AST))
            elif isinstance(value, ast.AST):
                open_nodes.append(value)
    return tuple(found)


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def imported(path: Path) -> Iterator[str]:
    """The dotted name of everything that a module imports, at its top or inside a function."""
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def functions(path: Path) -> Iterator[Function]:
    return (node for node in nodes_of(path) if isinstance(node, Function))


def length(function: Function) -> int:
    """Lines from `def` to the end, the docstring left out."""
    lines = (function.end_lineno or 0) - function.lineno + 1
    if ast.get_docstring(function) is not None:
        docstring = function.body[0]
        lines -= (docstring.end_lineno or 0) - docstring.lineno + 1
    return lines


def called(path: Path) -> Iterator[str]:
    for node in nodes_of(path):
        match node:
            case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
                yield name
            case _:
                pass


def test_a_module_says_what_it_is() -> None:
    """It begins with a docstring."""
    silent = [path for path in (*MODULES, *TEST_MODULES) if not ast.get_docstring(tree_of(path))]
    assert list(map(shown, silent)) == []


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_is_there(layer: str) -> None:
    """The rules below have something to hold for."""
    assert in_layer(layer)


def test_a_folder_can_be_taken_in_at_a_glance() -> None:
    """It has few modules, and its `__init__` is one sentence that says what they are about."""
    full = [folder for folder in FOLDERS if len(list(folder.glob("*.py"))) > MODULES_MAX]
    assert list(map(shown, full)) == []
    inits = {folder: tree_of(folder / "__init__.py") for folder in FOLDERS if folder not in DOORS}
    wrong = [one for one, init in inits.items() if not ast.get_docstring(init) or init.body[1:]]
    assert list(map(shown, wrong)) == []


def test_the_core_is_pure() -> None:
    """A module of the core imports and calls nothing that has to do with the world."""
    for path in in_layer("core"):
        libraries = {name.split(".")[0] for name in set(imported(path)) - PURE_PARTS}
        assert libraries - {"detent"} - LIBRARIES_OF_CORE - PURE == set(), path
        allowed = {"exec"} if path.stem in MAKES_FUNCTIONS else set[str]()
        assert set(called(path)) & IMPURE_CALLS == allowed, path


def test_one_module_of_the_core_reads_docstrings() -> None:
    """Only what makes tool parameters from a function knows the docstring parser."""
    readers = [path.stem for path in in_layer("core") if "docstring_parser.parse" in imported(path)]
    assert readers in ([], ["signature"])


def test_a_module_and_its_functions_can_be_seen_whole() -> None:
    """No module and no function is too long to take in."""
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in MODULES}
    del lines[PACKAGE / "__init__.py"]  # the list of public names is as long as it must be
    assert [shown(path) for path, count in lines.items() if count > MODULE_LINES_MAX] == []
    lengths = {(shown(path), one.name): length(one) for path in MODULES for one in functions(path)}
    assert [name for name, count in lengths.items() if count > FUNCTION_LINES_MAX] == []


def test_most_functions_are_short() -> None:
    """Nine functions of ten stay far below the limit."""
    lengths = [length(function) for path in MODULES for function in functions(path)]
    assert quantiles(lengths, n=10)[-1] <= FUNCTION_LINES_P90_MAX


def test_names_say_what_things_are() -> None:
    """No module or class has a name that would fit any other as well."""
    assert [shown(path) for path in MODULES if SHAPELESS_MODULE.match(path.stem)] == []
    nodes = [(path, node) for path in MODULES for node in nodes_of(path)]
    classes = [(shown(path), node.name) for path, node in nodes if isinstance(node, ast.ClassDef)]
    assert [(path, name) for path, name in classes if SHAPELESS_CLASS.search(name)] == []


def test_nothing_is_unfinished_or_silenced_without_a_reason() -> None:
    """No notes to oneself, and a comment after each suppressed warning that says why."""
    lines = [(path, line) for path in (*MODULES, *TEST_MODULES) for line in lines_of(path)]
    notes = [(path, line) for path, line in lines if UNFINISHED.search(line)]
    assert [note for note in notes if note[0] != Path(__file__).resolve()] == []
    silenced = [(shown(path), line) for path, line in lines if SILENCED.search(line)]
    assert [(path, line) for path, line in silenced if not REASONED.search(line)] == []


def test_a_package_has_tests_of_its_own() -> None:
    """What is in src/detent/core/run is tested in tests/core/run."""
    twins = {folder: TESTS / folder.relative_to(PACKAGE) for folder in {*FOLDERS} - DOORS}
    assert [shown(one) for one, twin in twins.items() if not any(twin.rglob("test_*.py"))] == []


def test_a_test_says_what_it_shows() -> None:
    """Each test has a docstring."""
    found = [(shown(path), function) for path in TEST_MODULES for function in functions(path)]
    tests = [(path, function) for path, function in found if function.name.startswith("test_")]
    assert [(path, test.name) for path, test in tests if not ast.get_docstring(test)] == []


def test_a_skip_has_a_reason() -> None:
    """Nobody has to guess why a test was not run."""
    nodes = [(shown(path), node) for path in TEST_MODULES for node in nodes_of(path)]
    calls = [node for _, node in nodes if isinstance(node, ast.Call)]
    reasoned = {call.func for call in calls if any(word.arg == "reason" for word in call.keywords)}
    skips = [
        (path, node)
        for path, node in nodes
        if isinstance(node, ast.Attribute) and node.attr in {"skip", "skipif", "xfail"}
    ]
    assert [(path, skip.lineno) for path, skip in skips if skip not in reasoned] == []
