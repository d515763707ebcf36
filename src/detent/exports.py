"""Public names that are loaded when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


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
            raise AttributeError(f"module {door!r} has no attribute {name!r}")
        try:
            module = import_module(f"detent.{home_of[name]}")
        except ModuleNotFoundError as error:
            if extra is None:
                raise
            advice = f"{door} needs {error.name}: pip install 'detent[{extra}]'"
            raise ImportError(advice, name=error.name) from error
        loaded[name] = value = getattr(module, name)
        return value  # next time it is found without a call

    def names() -> list[str]:
        return sorted({*loaded, *home_of})

    return load, names, [*home_of]
