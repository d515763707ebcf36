"""Questions about a folder of text files: the tools that find the answer."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, TypedDict

from attrs import field, frozen

from detent.adapters.cli.arithmetic import evaluate
from detent.adapters.tools.decorator import create_tool_from_function
from detent.core.state.fields import Unique
from detent.core.state.state import TypedState
from detent.core.tools.tool import Tool

SUFFIXES = frozenset(
    {".md", ".txt", ".rst", ".adoc", ".org", ".csv", ".toml", ".yaml", ".yml", ".json", ".py"}
)
LINES_PER_READ = 40
FILES_MAX = 2_000
BYTES_MAX = 1_000_000
HITS_MAX = 8


class Research(TypedState):
    """What the agent has found out: the files it has read, and those that a search has found."""

    sources = Unique[str]()
    found = Unique[str]()


def _resolved(path: Path) -> Path:
    return path.resolve()


class Found(TypedDict):
    """What a look into the folder gave: text for the model, and the files that it is from."""

    text: str
    files: list[str]


@frozen
class Folder:
    """A folder whose text files may be listed, searched and read, and nothing outside it."""

    root: Path = field(converter=_resolved)

    def files(self) -> list[Path]:
        """Every text file in order of name; hidden ones and links that lead out are left out."""
        found = islice(self._texts(), FILES_MAX)
        return sorted(found, key=lambda path: path.relative_to(self.root).as_posix())

    def list_files(self) -> str:
        """List the files in the folder."""
        names = [self._name(path) for path in self.files()]
        return "\n".join(names) or "The folder has no text files."

    def search_files(self, words: Annotated[str, "one to four words to look for"]) -> Found:
        """Find the places in all files that match the words best."""
        terms = [term for term in re.findall(r"\w+", words.lower()) if len(term) > 1]
        hits = [
            (score, self._name(path), number, line.strip())
            for path in self.files()
            for number, line in enumerate(_lines(path), start=1)
            if (score := sum(term in line.lower() for term in terms))
        ]
        best = sorted(hits, key=lambda hit: -hit[0])[:HITS_MAX]
        shown = [f"{name}:{number}: {line[:160]}" for _, name, number, line in best]
        text = "\n".join(shown) or f"No file has {words!r}. Try other words, or list_files."
        return {"text": text, "files": [name for _, name, _, _ in best]}

    def read_file(
        self,
        file: Annotated[str, "the file's name, as listed"],
        from_line: Annotated[int, "the first line to read"] = 1,
    ) -> Found:
        """Read a piece of one file."""
        path = self._inside(file)
        lines = _lines(path)
        first = min(max(from_line, 1), max(len(lines), 1))
        piece = lines[first - 1 : first - 1 + LINES_PER_READ]
        last = first + len(piece) - 1
        more = f"\n(lines {first} to {last} of {len(lines)})" if last < len(lines) else ""
        return {"text": "\n".join(piece) + more, "files": [self._name(path)]}

    def _texts(self) -> Iterator[Path]:
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if not name.startswith((".", "__")))
            for path in (Path(folder, name) for name in sorted(names)):
                text = path.suffix in SUFFIXES and not path.name.startswith(".") and path.is_file()
                if text and path.resolve().is_relative_to(self.root):
                    yield path

    def _inside(self, name: str) -> Path:
        path = self.root / name
        if path not in self.files():
            raise ValueError(f"there is no file {name!r}; list_files tells which there are")
        return path

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()


def calculate(expression: Annotated[str, "numbers and + - * / and brackets"]) -> str:
    """Calculate an arithmetic expression."""
    return f"{evaluate(expression):.12g}"


def answer_writer(target: Path) -> Tool:
    """The tool that writes the answer to `target`, with its sources; that ends the agent's work."""

    def write_answer(
        answer: Annotated[str, "the whole answer, as Markdown"], sources: list[str]
    ) -> str:
        if not sources:
            raise ValueError("nothing was read yet: read the file that has the answer first")
        listed = "".join(f"* {name}\n" for name in sources)
        target.write_text(f"{answer.rstrip()}\n\nSources:\n\n{listed}", encoding="utf-8")
        return f"Written to {target}."

    return create_tool_from_function(
        write_answer,
        description=f"Write your final answer to the file {target.name}.",
        inputs_from_state={"sources": "sources"},
        on_unknown="rerun",
    )


def folder_tools(folder: Folder) -> list[Tool]:
    """The tools that find things out about `folder`; what is read is noted as a source."""
    finders = [
        create_tool_from_function(
            function,
            outputs_to_state={key: {"source": "files"}},
            outputs_to_string={"source": "text"},
            on_unknown="rerun",
        )
        for key, function in (("found", folder.search_files), ("sources", folder.read_file))
    ]
    lister = create_tool_from_function(folder.list_files, on_unknown="rerun")
    return [lister, *finders, create_tool_from_function(calculate, on_unknown="rerun")]


def _lines(path: Path) -> list[str]:
    if path.stat().st_size > BYTES_MAX:
        return []
    return path.read_text(encoding="utf-8", errors="replace").splitlines()
