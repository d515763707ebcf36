"""The public face: what can be imported from `detent` itself, and what that costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import detent

HEAVY = {"asyncio", "attr", "cattrs", "click", "httpx", "rich", "typeguard", "xllamacpp"}


def declared() -> dict[str, str]:
    """For a type checker: each public name and the module it comes from."""
    tree = ast.parse(Path(detent.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    assert len(imports) == len(block.body)
    names = [(alias, node.module) for node in imports for alias in node.names]
    assert [alias.name for alias, _ in names] == [alias.asname for alias, _ in names]
    return {alias.name: str(module) for alias, module in names}


def test_the_interpreter_and_the_type_checker_are_told_the_same() -> None:
    """The table of homes is the list of imports, name by name."""
    assert {name: f"detent.{home}" for name, home in detent._HOME_OF.items()} == declared()
    assert set(vars(detent)["__all__"]) == declared().keys()


@pytest.mark.parametrize("name", sorted(declared()))
def test_a_public_name_can_be_imported(name: str) -> None:
    """It is what its module calls by this name, and is kept once it was asked for."""
    value = getattr(detent, name)

    assert value is getattr(sys.modules[declared()[name]], name)
    assert vars(detent)[name] is value


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    """As of any module, so that hasattr and typing mistakes behave."""
    with pytest.raises(AttributeError, match="module 'detent' has no attribute 'Agnet'"):
        getattr(detent, "Agnet")  # noqa: B009 - a type checker would refuse the plain spelling


def test_names_are_listed_before_they_are_loaded() -> None:
    """Completion in a shell knows them all."""
    assert set(declared()) <= set(dir(detent))


def test_importing_detent_is_light() -> None:
    """A fresh interpreter loads no third-party library with it, nor asyncio."""
    code = f"import detent, sys; print(sys.modules.keys() & {HEAVY})"

    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert told.stdout.strip() == "set()"
