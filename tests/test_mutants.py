"""The script beside this file draws mutants fairly and tells all that tests have not seen."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def script() -> ModuleType:
    """The script beside this file."""
    spec = importlib.util.spec_from_file_location("mutants", Path(__file__).with_name("mutants.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


mutants: Any = script()

NAMES = [
    f"detent.core.{module}.x_f__mutmut_{number}"
    for module, count in (("machine.step", 90), ("machine.due", 9), ("state.keys", 1))
    for number in range(count)
]
DIFF = """--- src/detent/core/state/keys.py
+++ src/detent/core/state/keys.py
@@ -1,3 +1,3 @@
 def read(text: str) -> str:
-    return text.strip(
-    )
+    return None
"""
CHANGE = mutants.Change("state.keys.read", "return text.strip(\n)", "return None")


def test_a_sample_has_some_of_every_module() -> None:
    """As many as its share, and one at least; the same seed draws the same ones."""
    drawn = mutants.chosen(NAMES, [], 20, 1)
    counts = [sum(f".{name}." in one for one in drawn) for name in ("step", "due", "keys")]

    assert counts == [18, 2, 1]
    assert drawn == mutants.chosen(reversed(NAMES), [], 20, 1)
    assert drawn != mutants.chosen(NAMES, [], 20, 2)


def test_patterns_say_which_mutants_are_tried() -> None:
    """Without a sample, all of those that one of them names."""
    some = mutants.chosen(NAMES, ["detent.core.machine.due.*", "detent.core.state.keys.*"], None, 1)

    assert some == frozenset(NAMES[90:])
    assert mutants.chosen(NAMES, ["detent.core.machine.due.*"], 50, 1) == frozenset(NAMES[90:99])
    assert mutants.chosen(NAMES, [], None, 1) == frozenset(NAMES)
    assert mutants.chosen(NAMES, ["nothing"], 5, 1) == frozenset()


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("detent.core.state.keys.x_read__mutmut_3", "state.keys.read"),
        ("detent.core.state.keys.x__read__mutmut_12", "state.keys._read"),
        ("detent.core.state.keys.x\u01c1Key\u01c1read__mutmut_1", "state.keys.Key.read"),
    ],
)
def test_a_mutant_is_known_by_what_it_changes(name: str, function: str) -> None:
    """Its number is another one as soon as its function changes elsewhere."""
    assert mutants.change_of(name, DIFF) == mutants.Change(function, CHANGE.was, CHANGE.now)


def test_survivors_are_told_unless_they_have_been_judged() -> None:
    """One that no test runs is a survivor, too; one that never ends is found."""
    tried = [
        mutants.Mutant("detent.core.state.keys.x_read__mutmut_1", "survived", change=CHANGE),
        mutants.Mutant("detent.core.machine.step.x_f__mutmut_1", "killed"),
        mutants.Mutant("detent.core.machine.step.x_f__mutmut_2", "timeout"),
        mutants.Mutant(
            "detent.core.machine.step.x_f__mutmut_3",
            "no tests",
            change=mutants.Change("machine.step.f", "a", "b"),
        ),
    ]

    assert list(mutants.report(tried, {CHANGE: "the callers strip"})) == [
        "new survivor detent.core.machine.step.x_f__mutmut_3\n  - a\n  + b",
        "machine.step                  2 of     3   66.7%",
        "state.keys                    0 of     1    0.0%",
        "survived: 1, killed: 1, timeout: 1, no tests: 1",
        "2 of 4 mutants were found (50.0%); of the others 1 are judged and 1 are new",
    ]


def test_what_was_judged_is_a_list_of_changes_with_reasons() -> None:
    """Each has one, and none is there twice."""
    text = mutants.JUDGED.read_text(encoding="utf-8")
    known = mutants.judged(text)

    assert len(known) == text.count("[[mutant]]")
    assert all(len(why) > 10 for why in known.values())
    names = [change.function.split(".") for change in known]
    within = {"/".join(name[1:4] if name[0] == "detent" else ["core", *name[:2]]) for name in names}
    package = mutants.ROOT / "src" / "detent"
    assert [one for one in within if not (package / f"{one}.py").is_file()] == []


def test_a_mutant_is_tried_again_by_the_tests_of_its_package() -> None:
    """Wherever the package is; a module of the core itself has tests of its own."""
    tests = ["core/state", "core/test_errors.py", "adapters/confirmation"]
    names = ["core.state.keys", "core.errors", "adapters.confirmation.policies"]

    found = [mutants.tests_of(f"detent.{name}.x_f__mutmut_1") for name in names]

    assert found == [f"tests/{one}" for one in tests]
