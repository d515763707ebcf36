"""Every command line in the documentation is one: commands, options and arguments are there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path

import click
import pytest

from detent.adapters.cli.main import main

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
BLOCK = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`([^`]+)`")
IN_A_LINE = re.compile(r"^ {0,4}(?:\$ |ExecStart=)?(?:\S*/)?detent (?=\S)(.*)$")
DEV = (ROOT / "dev.py").read_text(encoding="utf-8")
OF_DEV = re.compile(r"\bdev\.py (\w+)")
AT_THE_END = frozenset({"|", "||", "&", "&&", ">", "2>", ";", "…", "..."})


def of_blocks(text: str) -> Iterator[str]:
    """What follows `detent` in each line of a block that a shell, or a service, would run."""
    blocks = [block for _, language, block in BLOCK.findall(text) if language != "python"]
    for line in "".join(blocks).replace("\\\n", " ").splitlines():
        if found := IN_A_LINE.match(line):
            yield found[1]


def of_sentences(text: str) -> Iterator[str]:
    """What follows `detent` where a sentence names a command."""
    for code in INLINE.findall(BLOCK.sub("", text)):
        if found := re.match(r"(?:eval \"\$\()?detent (?=[a-z])([^)]*)", code):
            yield found[1]


def words(line: str) -> list[str]:
    """The arguments of the first command of the line."""
    return list(takewhile(lambda word: word not in AT_THE_END, shlex.split(line, comments=True)))


def faults(
    command: click.Command,
    given: Sequence[str],
    *,
    whole: bool,
    parent: click.Context | None = None,
) -> list[str]:
    """What the command's own parser has against these words; `whole` asks for all arguments."""
    # Below its group, as in a terminal: click makes the option for help once in a process, of
    # the names that the first context has, so that a bare one took `-h` from every later test.
    context = click.Context(command, parent=parent, **command.context_settings)
    try:
        values, rest, _ = command.make_parser(context).parse_args(list(given))
    except click.UsageError as error:
        return [error.format_message()]
    found = list[str]()
    for parameter in command.params:
        value = values.get(parameter.name or "")
        if whole and parameter.required and parameter.value_is_missing(value):
            found.append(f"{parameter.name} is missing")
        if isinstance(parameter.type, click.Choice) and isinstance(value, str):
            try:
                parameter.type.convert(value, parameter, context)
            except click.UsageError as error:
                found.append(error.format_message())
    if not isinstance(command, click.Group):
        return found + [f"{one!r} is too much" for one in rest]
    if not rest:
        return found
    inner = command.commands.get(rest[0])
    if inner is None:
        return [*found, f"there is no command {rest[0]!r}"]
    return found + faults(inner, rest[1:], whole=whole, parent=context)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_commands_of_a_page_are_there(page: Path) -> None:
    """With these options and arguments, as the command line itself reads them."""
    text = page.read_text(encoding="utf-8")
    wrong = {line: faults(main, words(line), whole=True) for line in of_blocks(text)}
    wrong |= {line: faults(main, words(line), whole=False) for line in of_sentences(text)}
    assert {line: why for line, why in wrong.items() if why} == {}
    assert {name for name in OF_DEV.findall(text) if f'    "{name}": {name},' not in DEV} == set()


def test_no_page_puts_a_copy_of_the_project_into_its_own_environment() -> None:
    """`dev.py` has that, for what is edited: who follows the pages from the top keeps it so."""
    copies = re.compile(r"pip install (?!-e )[\"']?\.(?![\w.])")
    wrong = [page.name for page in PAGES if copies.search(page.read_text(encoding="utf-8"))]
    assert wrong == []


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("runs list --store runs.db  # all of them", None),
        ("runs lst", "no command"),
        ("runs list --stor runs.db --sotre x", "No such option"),
        ("runs show", "is missing"),
        ("runs show one two --store runs.db", "too much"),
        ("serve shop:agents --engine tempral", "is not one of"),
    ],
)
def test_a_command_that_is_not_there_is_found(line: str, fault: str | None) -> None:
    """By its name, an option, an argument or a choice."""
    found = faults(main, words(line), whole=True)
    assert len(found) == (fault is not None)
    assert all((fault or "") in one for one in found)


def test_the_commands_are_found_in_the_pages() -> None:
    """Blocks for shells and services, and sentences: there are many."""
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    assert sum(len(list(of_blocks(text))) for text in texts) > 15
    assert sum(len(list(of_sentences(text))) for text in texts) > 20
