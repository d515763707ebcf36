"""Breaks the core in small ways, with mutmut, and tells which breaks its own tests do not see.

The policies and those who ask them count as core: they say which calls pass without a human.

``python tests/mutants.py --sample 1000 --seed 1`` tries a thousand breaks, drawn from every module
in proportion; a pattern, as ``"detent.core.machine.step.*"``, tries those that it names. Without
either it tries all, which takes hours. One that was found is not tried again until its function
changes.

It fails when fewer than nine of ten are found. Survivors that somebody has judged are in
``judged_mutants.toml``, each with the reason why no test has to see it; the others are new.
"""

# pyright: reportMissingImports=false
# mutmut does not install on Windows.

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from math import ceil
from pathlib import Path

from attrs import field, frozen

ROOT = Path(__file__).resolve().parent.parent
JUDGED = Path(__file__).with_name("judged_mutants.toml")
FOUND_MIN = 0.9
STATS = ROOT / "mutants" / "mutmut-stats.json"
QUICK_S = 0.5
ENDLESS_S = 600
TESTS_FAILED = frozenset({1, 2, 3})
"""Exit codes of pytest: a test failed, a module did not even import, or pytest itself broke."""
NOT_CHOSEN, KILLED_BY_A_TEST, TIMED_OUT = 34, 1, 36
"""Exit codes by which mutmut knows what became of a mutant."""

FOUND = frozenset({"killed", "timeout", "segfault"})


@frozen(order=True)
class Change:
    """What a mutant changes: in which function, which lines, and what they become."""

    function: str
    was: str
    now: str


@frozen
class Mutant:
    """A mutant that was tried, and how that ended, in mutmut's words."""

    name: str
    outcome: str
    change: Change | None = field(default=None, kw_only=True)
    """Of one that was not found."""

    @property
    def module(self) -> str:
        """The module that it is in, without the package."""
        return module_of(self.name)

    @property
    def is_found(self) -> bool:
        """Whether a test has failed, or has not come to an end."""
        return self.outcome in FOUND


def module_of(name: str) -> str:
    """``machine.step`` of ``detent.core.machine.step.x_step__mutmut_1``."""
    return name.removeprefix("detent.core.").rpartition(".")[0]


def chosen(
    names: Iterable[str], patterns: Sequence[str], sample: int | None, seed: int
) -> frozenset[str]:
    """Those that a pattern names; of these a sample, in proportion from each module.

    From each module at least one is drawn, so that there may be a few more than were asked for.
    """
    named = [name for name in names if not patterns or any(fnmatch(name, one) for one in patterns)]
    if sample is None or sample >= len(named):
        return frozenset(named)
    drawn: set[str] = set()
    for module in {module_of(name) for name in named}:
        mine = sorted(name for name in named if module_of(name) == module)
        count = ceil(sample * len(mine) / len(named))
        drawn.update(random.Random(f"{seed} {module}").sample(mine, count))  # noqa: S311 - no secret
    return frozenset(drawn)


def change_of(name: str, diff: str) -> Change:
    """What the diff of a mutant says, with its function as people write it."""
    path, _, mangled = name.partition("__mutmut_")[0].rpartition(".")
    function = mangled.removeprefix("x_").removeprefix("xǁ").replace("ǁ", ".")
    body = [line for line in diff.splitlines() if not line.startswith(("---", "+++", "@@"))]
    was, now = (
        "\n".join(line[1:].strip() for line in body if line.startswith(sign)) for sign in "-+"
    )
    return Change(f"{path.removeprefix('detent.core.')}.{function}", was, now)


def judged(text: str) -> dict[Change, str]:
    """The survivors that have been judged, each with its reason."""
    given = tomllib.loads(text)
    return {
        Change(one["function"], one["was"], one["now"]): one["why"]
        for one in given.get("mutant", [])
    }


def report(tried: Sequence[Mutant], known: Mapping[Change, str]) -> Iterator[str]:
    """What is told: the survivors, module by module how many were found, and the whole."""
    survivors = [(one.name, one.change) for one in tried if one.change is not None]
    new = [(name, change) for name, change in survivors if change not in known]
    for name, change in sorted(new):
        yield f"new survivor {name}\n  - {change.was}\n  + {change.now}".replace("\n    ", "\n  ")
    found = Counter(one.module for one in tried if one.is_found)
    for module, count in sorted(Counter(one.module for one in tried).items()):
        yield f"{module:26}{found[module]:5} of {count:5}  {found[module] / count:6.1%}"
    outcomes = Counter(one.outcome for one in tried)
    yield ", ".join(f"{outcome}: {count}" for outcome, count in outcomes.most_common())
    yield (
        f"{found.total()} of {len(tried)} mutants were found ({found.total() / len(tried):.1%}); "
        f"of the others {len(survivors) - len(new)} are judged and {len(new)} are new"
    )


def main(arguments: Sequence[str]) -> int:
    """Try mutants; the exit code is 1 when too few of them are found."""
    parser = argparse.ArgumentParser("mutate", description=__doc__)
    parser.add_argument("patterns", nargs="*", help="which mutants, e.g. detent.core.run.*")
    parser.add_argument("--sample", type=int, help="how many to draw, from every module")
    parser.add_argument("--seed", type=int, default=1, help="of the dice that draw them")
    parser.add_argument("--children", type=int, default=os.cpu_count(), help="at once")
    asked = parser.parse_args(arguments)
    os.chdir(ROOT)
    names = choose(asked.patterns, asked.sample, asked.seed, asked.children)
    mutmut = [sys.executable, "-m", "mutmut", "run", "--max-children", str(asked.children)]
    if not STATS.exists():  # trying one mutant notes which tests run which functions
        subprocess.run([*mutmut, min(names)], check=True, env=environment())
    leave_out_slow_tests()
    subprocess.run(mutmut, check=True, env=environment())
    tried_again(names, asked.children)
    tried = list(results(names))
    print(*report(tried, judged(JUDGED.read_text(encoding="utf-8"))), sep="\n")  # noqa: T201 - the table
    return int(sum(one.is_found for one in tried) < FOUND_MIN * len(tried))


def choose(patterns: Sequence[str], sample: int | None, seed: int, children: int) -> frozenset[str]:
    """Have mutmut make its mutants, and skip those that are not to be tried.

    Those that have survived are tried once more: there may be a test now.
    """
    from mutmut.__main__ import create_mutants
    from mutmut.mutation.data import SourceFileMutationData
    from mutmut.utils.file_utils import copy_also_copy_files, copy_src_dir, walk_mutatable_files

    (ROOT / "mutants").mkdir(exist_ok=True)
    copy_src_dir()
    copy_also_copy_files()
    create_mutants(children)
    files = [SourceFileMutationData(path=path) for path in walk_mutatable_files()]
    for file in files:
        file.load()
    names = chosen(
        (name for file in files for name in file.exit_code_by_key), patterns, sample, seed
    )
    if not names:
        raise SystemExit(f"no mutant is named {' or '.join(patterns)}")
    for file in files:
        for name, code in file.exit_code_by_key.items():
            if name in names:
                file.exit_code_by_key[name] = code if outcome(code) == "killed" else None
            elif code is None:
                file.exit_code_by_key[name] = NOT_CHOSEN
        file.save()
    return names


def leave_out_slow_tests() -> None:
    """Have mutmut run quick tests where there are some: it runs them in no order."""
    stats = json.loads(STATS.read_text(encoding="utf-8"))
    slow = {test for test, seconds in stats["duration_by_test"].items() if seconds > QUICK_S}
    tests_of = stats["tests_by_mangled_function_name"]
    for function, tests in tests_of.items():
        tests_of[function] = [one for one in tests if one not in slow] or tests
    STATS.write_text(json.dumps(stats), encoding="utf-8")


def tried_again(names: frozenset[str], children: int) -> None:
    """Try those that were not killed by all the tests of their package, in a fresh process.

    mutmut has imported the modules before it breaks them, counts what runs at that time to no test,
    leaves slow tests out, and calls it a time-out when it does not find a test again.
    """
    from mutmut.mutation.data import SourceFileMutationData
    from mutmut.utils.file_utils import walk_mutatable_files

    for path in walk_mutatable_files():
        file = SourceFileMutationData(path=path)
        file.load()
        codes = file.exit_code_by_key
        left = [name for name in names & codes.keys() if outcome(codes[name]) != "killed"]
        with ThreadPoolExecutor(children) as pool:
            codes.update(zip(left, pool.map(fresh, left), strict=True))
        file.save()


def tests_of(name: str) -> str:
    """The tests of the package that a mutant is in."""
    *package, module = name.removeprefix("detent.").rpartition(".")[0].split(".")
    return "tests/" + "/".join(package if package[1:] else [*package, f"test_{module}.py"])


def fresh(name: str) -> int:
    """The exit code of the tests of its package, in a process that begins with the mutant."""
    options = ["-x", "-q", "--rootdir=.", "-pno:cacheprovider", "-pno:xdist"]
    try:
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", *options, "--hypothesis-profile=ci", tests_of(name)],
            check=False,
            cwd=ROOT / "mutants",
            env=environment(name),
            capture_output=True,
            timeout=ENDLESS_S,
        )
    except subprocess.TimeoutExpired:
        return TIMED_OUT
    return KILLED_BY_A_TEST if ran.returncode in TESTS_FAILED else ran.returncode


def environment(mutant: str = "") -> dict[str, str]:
    """That of a process that is to import the mutated modules."""
    return os.environ | {
        "PYTHONPATH": str(ROOT / "mutants" / "src"),
        "MUTANT_UNDER_TEST": mutant,
    }


def results(names: frozenset[str]) -> Iterator[Mutant]:
    """How the mutants have ended."""
    from mutmut.mutation.data import SourceFileMutationData
    from mutmut.mutation.diff_apply import get_diff_for_mutant
    from mutmut.utils.file_utils import walk_mutatable_files

    for path in walk_mutatable_files():
        file = SourceFileMutationData(path=path)
        file.load()
        for name in names & file.exit_code_by_key.keys():
            mutant = Mutant(name, outcome(file.exit_code_by_key[name]))
            if mutant.is_found:
                yield mutant
            else:
                diff = get_diff_for_mutant(name, path=path)
                yield Mutant(name, mutant.outcome, change=change_of(name, diff))


def outcome(code: int | None) -> str:
    """What mutmut calls an exit code."""
    from mutmut.stats import status_by_exit_code

    return status_by_exit_code[code]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
