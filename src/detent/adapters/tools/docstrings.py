"""What docstrings say: of a function and its parameters, of a class and its fields."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docstring_parser import Docstring


def field_texts(kind: type) -> dict[str, str]:
    """What the docstring of a class says of its fields, and of itself under ""."""
    if not (text := class_docstring(kind)):
        return {}
    return {"": summary_in(text), **texts_in(text)}


def class_docstring(kind: type) -> str:
    """What the docstring of a class itself says, unless dataclass has written it."""
    text = inspect.cleandoc(vars(kind).get("__doc__") or "")
    return "" if text.startswith(f"{kind.__name__}(") else text


def summary_in(docstring: str) -> str:
    """What a docstring says before its sections."""
    if not _has_sections(docstring):
        return docstring.strip()
    return (_parsed(docstring).description or "").strip()


def texts_in(docstring: str) -> dict[str, str]:
    """What a docstring says of parameters or fields, by name."""
    found = _parsed(docstring).params if _has_sections(docstring) else []
    return {item.arg_name: item.description for item in found if item.description}


def _has_sections(docstring: str) -> bool:
    """Whether it may be more than one paragraph. To load what parses others takes 3 ms."""
    lines = docstring.splitlines()
    return ":" in docstring or "--" in docstring or any(not line[:1].strip() for line in lines)


def _parsed(docstring: str) -> Docstring:
    from docstring_parser import parse  # only tools made from functions need it

    return parse(f"\n{docstring}")  # it finds no section in the first line
