"""Arithmetic on text: what a model asks to be calculated, and nothing that a program could do."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

OPERATORS: Mapping[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
DIGITS_MAX = 100
LENGTH_MAX = 1_000
LARGEST = 10**DIGITS_MAX


def _rounded(number: float, digits: float = 0) -> float:
    """As `round`, which calculates 10 to the power of the digits first, however large that is."""
    if abs(digits) > DIGITS_MAX or digits != int(digits):
        raise ValueError(f"to {digits} digits nothing is rounded; {DIGITS_MAX} is too large")
    return round(number, int(digits))


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs, "round": _rounded, "min": min, "max": max, "sqrt": math.sqrt, "log": math.log,
}  # fmt: skip  # a table reads best on one line


def evaluate(expression: str) -> float:
    """The value of an arithmetic expression: numbers, ``+ - * / // % **``, brackets, functions.

    Raises:
        ValueError: it is no such expression, or its value is out of bounds.
    """
    if len(expression) > LENGTH_MAX:
        raise ValueError(f"{len(expression):,} characters are too large an expression")
    try:
        value = _value(ast.parse(expression.strip(), mode="eval").body)
    except SyntaxError as error:
        raise ValueError(f"{expression!r} is not an arithmetic expression") from error
    except (ArithmeticError, TypeError, RecursionError) as error:
        raise ValueError(f"{expression!r} has no value: {error}") from error
    return value


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(int() | float() as number) if not isinstance(number, bool):
            return _bounded(number)
        case ast.UnaryOp(ast.USub(), operand):
            return -_value(operand)
        case ast.UnaryOp(ast.UAdd(), operand):
            return _value(operand)
        case ast.BinOp(left, operation, right) if type(operation) in OPERATORS:
            return _applied(operation, _value(left), _value(right))
        case ast.Call(ast.Name(name), arguments, []) if name in FUNCTIONS:
            return _bounded(FUNCTIONS[name](*map(_value, arguments)))
        case _:
            raise ValueError(f"{ast.unparse(node)!r} is not arithmetic; numbers and + - * / are")


def _applied(operation: ast.operator, left: float, right: float) -> float:
    if isinstance(operation, ast.Pow) and abs(right) * math.log10(abs(left) + 1) > DIGITS_MAX:
        raise ValueError(f"{left} ** {right} is too large")
    return _bounded(OPERATORS[type(operation)](left, right))


def _bounded(value: float) -> float:
    if isinstance(value, complex) or abs(value) > LARGEST:
        raise ValueError(f"a value is out of bounds; the largest is {LARGEST:.0e}")
    return value
