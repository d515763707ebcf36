"""Questions about a folder of text files: the tools that find the answer."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, TypedDict

from attrs import evolve, field, frozen

from detent.adapters.cli.arithmetic import evaluate
from detent.adapters.state.fields import Unique
from detent.adapters.state.typed_state import TypedState
from detent.adapters.tools.decorator import create_tool_from_function
from detent.core.chat.messages import ToolCall, ToolCallResult
from detent.core.run.effects import AskModel, RunTool
from detent.core.run.events import ToolReturned
from detent.core.run.run import Run
from detent.core.tools.result import ToolResult
from detent.core.tools.tool import Tool
from detent.ports.results import AgentResult

WRITE, GIVE = "write_answer", "give_answer"
"""The tool by which the model writes its answer to a file."""
SUFFIXES = frozenset(
    {".md", ".txt", ".rst", ".adoc", ".org", ".csv", ".toml", ".yaml", ".yml", ".json", ".py"}
)
LINES_PER_READ = 60
LINES_BEFORE = 3
LINE_MAX = 500
FILES_MAX = 2_000
BYTES_MAX = 1_000_000
HITS_MAX = 8
TOLD_BEFORE = (
    "You have this already: it stands above, word for word. Answer the question now from what you "
    "have read, or look for something else."
)
TIMES_TOLD = 2
"""So often is a model told that it has something already; then it is to answer."""


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
        """Every text file in order of name; hidden ones and links are left out.

        A link that stays inside leads to a file that is listed, or to a hidden one.
        """
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
            for number, line in enumerate(self._lines(path) or (), start=1)
            if (score := sum(term in line.lower() for term in terms))
        ]
        best = sorted(hits, key=lambda hit: -hit[0])[:HITS_MAX]
        lines = [f"{name}:{number}: {line[:160]}" for _, name, number, line in best]
        text = "\n".join(lines) or f"No file has {words!r}. Try other words, or list_files."
        if best:  # a small model answers from half a line otherwise
            _, name, number, _ = best[0]
            first = max(number - LINES_BEFORE, 1)
            text += f"\n\nThese are single lines. Read on: read_file({name!r}, from_line={first})"
        return {"text": text, "files": [name for _, name, _, _ in best]}

    def read_file(
        self,
        file: Annotated[str, "the file's name, as listed"],
        from_line: Annotated[int, "the first line to read"] = 1,
    ) -> Found:
        """Read a piece of one file."""
        path = self.root / file
        lines = self._lines(path) if path in self.files() else None
        if lines is None:
            raise ValueError(f"there is no file {file!r}; list_files tells which there are")
        first = min(max(from_line, 1), max(len(lines), 1))
        piece = lines[first - 1 : first - 1 + LINES_PER_READ]
        last = first + len(piece) - 1
        more = f"\n(lines {first} to {last} of {len(lines)})" if last < len(lines) else ""
        return {"text": "\n".join(map(_shortened, piece)) + more, "files": [self._name(path)]}

    def _texts(self) -> Iterator[Path]:
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if not name.startswith((".", "__")))
            for path in (Path(folder, name) for name in sorted(names)):
                is_text = path.suffix in SUFFIXES and not path.name.startswith(".")
                if is_text and path.is_file() and not path.is_symlink():
                    yield path

    def _lines(self, path: Path) -> list[str] | None:
        """The lines of a file; none of one that is too large. None: it is there no longer."""
        try:
            handle = _opened(self.root, path.relative_to(self.root).parts)
        except OSError:
            return None
        with open(handle, "rb") as file:  # noqa: PTH123 - a descriptor has no path
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                return None
            text = b"" if found.st_size > BYTES_MAX else file.read(BYTES_MAX)
        return text.decode("utf-8", "replace").splitlines()

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()


def calculate(expression: Annotated[str, "numbers and + - * / and brackets"]) -> str:
    """Calculate an arithmetic expression."""
    return f"{evaluate(expression):.12g}"


def write_to(target: Path, answer: str, sources: Iterable[str]) -> None:
    """Write an answer to a file, with the files that it is from."""
    listed = "".join(f"* {name}\n" for name in sources) or "None was read.\n"
    target.write_text(f"{answer.rstrip()}\n\nSources:\n\n{listed}", encoding="utf-8")


def answer_of(result: AgentResult[Research]) -> str:
    """What the model has answered: its last text, or what it has written to the file."""
    if result.text:
        return result.text
    written = [
        call
        for message in result.messages
        for call in message.tool_calls
        if call.tool_name == result.exit_reason and call.tool_name in {WRITE, GIVE}
    ]
    return str(written[-1].arguments.get("answer", "")) if written else ""


def answer_writer(target: Path) -> Tool:
    """The tool that writes the answer to `target`, with its sources; that ends the agent's work."""

    def write_answer(
        answer: Annotated[str, "the whole answer, as Markdown"],
        sources: list[str],
        found: list[str],
    ) -> str:
        write_to(target, answer, _required_sources(sources, found))
        return f"Written to {target}."

    return create_tool_from_function(
        write_answer,
        description=f"Write your final answer to the file {target.name}.",
        inputs_from_state={"sources": "sources", "found": "found"},
        on_unknown="rerun",
    )


def answer_giver() -> Tool:
    """The tool that ends the agent's work where no file may be written: small models need one."""

    def give_answer(
        answer: Annotated[str, "the whole answer, as Markdown"],
        sources: list[str],
        found: list[str],
    ) -> str:
        _required_sources(sources, found)
        return "Given."

    return create_tool_from_function(
        give_answer,
        description="Give your final answer.",
        inputs_from_state={"sources": "sources", "found": "found"},
        on_unknown="rerun",
    )


def _required_sources(sources: list[str], found: list[str]) -> list[str]:
    seen = sources or found  # a search shows the lines themselves
    if not seen:
        raise ValueError("nothing was read yet: read the file that has the answer first")
    return seen


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


def told_before(effect: RunTool, run: Run[Any]) -> ToolReturned | None:
    """A hook: a call whose answer the model has been given since the question is not made again.

    Small models go round in circles otherwise.
    """
    if any(
        _is_within(effect.call, known.origin)
        for known in _results_since_question(run)
        if not known.error
    ):
        return ToolReturned(effect.ref, effect.attempt, ToolResult(TOLD_BEFORE))
    return None


def answer_now(effect: AskModel, run: Run[Any]) -> AskModel | None:
    """A hook: a model that goes on asking for what it has is left nothing to look with."""
    again = sum(result.text == TOLD_BEFORE for result in _results_since_question(run))
    if again < TIMES_TOLD:
        return None
    left = (tool for tool in effect.tools if tool.name in {WRITE, GIVE})
    return evolve(effect, tools=tuple(left))


def _results_since_question(run: Run[Any]) -> Iterator[ToolCallResult]:
    """What the model has been given since the question."""
    messages = run.messages
    latest = max((at for at, message in enumerate(messages) if message.role == "user"), default=0)
    return (result for message in messages[latest:] for result in message.tool_call_results)


def _is_within(call: ToolCall, earlier: ToolCall) -> bool:
    """Whether an answer has most of what a call asks for: the same, or lines from just behind."""
    if call.tool_name != earlier.tool_name:
        return False
    wanted, had = dict(call.arguments), dict(earlier.arguments)
    first, before = wanted.pop("from_line", 1), had.pop("from_line", 1)
    if not (isinstance(first, int) and isinstance(before, int)):
        return False
    return wanted == had and 0 <= first - before < LINES_PER_READ // 2


def _shortened(line: str) -> str:
    """A line that is not too long for a model."""
    left = len(line) - LINE_MAX
    return line if left <= 0 else f"{line[:LINE_MAX]} … {left:,} more characters"


def _opened(root: Path, parts: tuple[str, ...]) -> int:
    """The file at the end of `parts`, opened by each of them in turn: none of them may be a link.

    A path that was found to be none may lead elsewhere by the time it is opened.

    Raises:
        OSError: it is not there, or one of them is a link.
    """
    if os.open not in os.supports_dir_fd:  # on Windows: as good as it gets
        return os.open(root.joinpath(*parts), os.O_RDONLY | getattr(os, "O_BINARY", 0))
    handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for part in parts:
        kind = (
            os.O_NONBLOCK if part is parts[-1] else os.O_DIRECTORY
        )  # a pipe must not be waited for
        try:
            inner = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | kind, dir_fd=handle)
        finally:
            os.close(handle)
        handle = inner
    return handle
