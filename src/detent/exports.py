"""Public names that are loaded when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec

SUBJECTS = (
    *("models", "approvals", "journals", "machine", "telemetry", "testing"),
    *("hosts", "faces", "mcp", "web"),
)
DOORS = ("detent", *(f"detent.{subject}" for subject in SUBJECTS))
"""Where public names are: what most programs need comes first."""


def lazy_exports(
    door: str, homes: Mapping[str, str], extra: str | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """``__getattr__``, ``__dir__`` and ``__all__`` of the module `door`.

    Args:
        door: the name of the module.
        homes: by the module that holds them, without ``detent.``: the names, with spaces between.
        extra: what has to be installed for all of them.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}
    loaded = vars(sys.modules[door])

    def load(name: str) -> object:
        if name not in home_of:
            caller = sys._getframe(1)  # noqa: SLF001 - inspect has it too, and is slow to load
            raise _unknown(door, name, is_imported=_is_import(caller.f_globals))
        try:
            module = import_module(f"detent.{home_of[name]}")
        except ModuleNotFoundError as error:
            if extra is None:
                raise
            from detent.adapters.system.installation import install_command

            advice = f"{door} needs {error.name}: {install_command(extra)}"
            raise ImportError(advice, name=error.name) from error
        loaded[name] = value = getattr(module, name)
        return value  # next time it is found without a call

    def names() -> list[str]:
        return sorted({*loaded, *home_of})

    return load, names, [*home_of]


def _is_import(caller: Mapping[str, object]) -> bool:
    """Whether ``from … import …`` asks: an AttributeError it would swallow, with its text."""
    return caller.get("__name__") == "importlib._bootstrap"


def _may_be_misspelt(door: str, name: str) -> bool:
    """RULE: to import a module asks for it as a name first, and only then looks for its file."""
    return not name.startswith("_") and (door != DOORS[0] or find_spec(f"{door}.{name}") is None)


def _public_names() -> list[str]:
    return [name for home in DOORS for name in import_module(home).__all__]


def _unknown(door: str, name: str, *, is_imported: bool) -> Exception:
    """The error of a name that `door` has not, with the door that has it."""
    text = f"module {door!r} has no attribute {name!r}"
    homes = (home for home in DOORS if home != door and name in import_module(home).__all__)
    home = None if name.startswith("_") else next(homes, None)
    if home is None:
        from detent.core.values.checks import meant  # only for a mistake

        near = meant(name, _public_names(), 0.8) if _may_be_misspelt(door, name) else ""
        if near and is_imported:
            return ImportError(f"cannot import name {name!r} from {door!r}{near}", name=door)
        return AttributeError(f"{text}{near}")
    if is_imported:
        return ImportError(
            f"cannot import name {name!r} from {door!r}: from {home} import {name}", name=door
        )
    return AttributeError(f"{text}; it is {home}.{name}")
