"""Names in code: those by which it looks things up, also those in its texts and patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dis import Instruction, get_instructions
from string import Formatter
from types import CodeType

FORMAT = "format of a text made elsewhere"
"""In place of the names that such a text may hold: no code can name this."""


def names_in(code: CodeType) -> Iterator[str]:
    """All names in some code, and in the functions and classes within it.

    But for those by which pytest reports an assertion (`@pytest_ar`): they lead to all of pytest.
    """
    yield from (name for name in code.co_names if not name.startswith("@"))
    yield from _names_in_texts(code)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):  # of a function, a class or, before 3.12, a comprehension
            yield from names_in(inner)


def _names_in_texts(code: CodeType) -> Iterator[str]:
    """The names that stand in its texts and tables: those of ``case Bank(go=…)``, ``"{0.go}"``.

    `FORMAT` is one of them where a text is filled in that does not stand in the code.
    """
    before: Instruction | None = None
    for instruction in get_instructions(code):
        value = before.argval if before is not None and before.opname == "LOAD_CONST" else None
        if instruction.opname == "MATCH_CLASS":
            yield from value if isinstance(value, tuple) else ()
            yield from ("__match_args__",) * bool(instruction.arg)
        elif instruction.argval in {"format", "format_map"}:
            yield from _fields_of(value) if isinstance(value, str) else (FORMAT,)
        before = instruction


def _fields_of(text: str) -> Iterator[str]:
    """The attributes that a format string names, also where one stands in the form of another."""
    with suppress(ValueError):  # it is none, and raises where it is filled in
        for _, name, form, _ in Formatter().parse(text):
            yield from re.findall(r"\.([^.\[]+)", name or "")
            yield from _fields_of(form or "")


def texts_in(code: CodeType) -> Iterator[str]:
    """All texts in some code, and in what is within it."""
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, CodeType):
            yield from texts_in(constant)


def imports_in(code: CodeType) -> Iterator[str]:
    """The modules that some code, or what is within it, imports."""
    yield from (
        instruction.argval
        for instruction in get_instructions(code)
        if instruction.opname == "IMPORT_NAME"
    )
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from imports_in(inner)
