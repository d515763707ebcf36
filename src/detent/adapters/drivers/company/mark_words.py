"""The words of a mark, by which an entry says how far its run has come."""

from __future__ import annotations


def words_in(mark: str) -> list[str]:
    """The words of a mark; one with brackets has those of an agent inside."""
    if "(" not in mark:
        return mark.split(" ")
    words, depth = [""], 0
    for char in mark:
        depth += (char == "(") - (char == ")")
        if char == " " and not depth:
            words.append("")
        else:
            words[-1] += char
    return words
