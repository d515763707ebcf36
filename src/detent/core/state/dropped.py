"""A state that nobody keeps: ``state.set(…)`` as a statement changes nothing, and looks as if."""

from __future__ import annotations

from inspect import currentframe
from opcode import opmap
from typing import Any
from warnings import warn

CACHE, POP_TOP = (opmap.get(name, -1) for name in ("CACHE", "POP_TOP"))


def warn_of_drop(act: str) -> None:
    """Warn if the statement that has called the caller of this throws its result away.

    No later sign tells it from one that is kept. The machine writes by `update`, and pays nothing.
    """
    frame: Any = currentframe()
    caller = frame.f_back.f_back
    rest = caller.f_code.co_code[caller.f_lasti + 2 :: 2]
    if next(code for code in rest if code != CACHE) == POP_TOP:
        text = f"the state that {act} gives was thrown away: a state is a value, write state = …"
        warn(text, RuntimeWarning, stacklevel=3)
