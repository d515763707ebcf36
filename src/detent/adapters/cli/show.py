"""Showing a run on the terminal, as it happens and when it is over."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from attrs import define, field
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from detent.adapters.cli.folder import Research, answer_of
from detent.adapters.system.terminal import Marked, escape_control, spelled
from detent.core.chat.messages import ToolCallResult
from detent.core.tools.wording import tool_raised
from detent.ports.chat import StreamingChunk
from detent.ports.results import AgentResult

RESULT_LINES = 4
FAULT_MAX = 2_000
RAISED = re.compile(
    re.escape(tool_raised("NAME", {}, "ERROR"))
    .replace("NAME", ".*?")
    .replace(re.escape("{}"), r"\{.*?\}")
    .replace("ERROR", "(.*)"),
    re.DOTALL,
)
"""What a model is told of a tool that raised: its group is the error alone."""


def put(console: Console, text: str, style: str = "", end: str = "\n") -> None:
    """Print a text of any origin: nothing in it is markup, or obeyed, or too much for the screen.

    The one way by which the command line prints.
    """
    escaped = text if isinstance(text, Marked) else escape_control(text)
    plain = spelled(escaped, console.encoding)
    console.print(
        plain, style=style, end=end, markup=False, emoji=False, highlight=False, soft_wrap=True
    )


def fault_of(told: str) -> str:
    """What went wrong, of what a model is told of it: the call's arguments are shown already.

    >>> fault_of("Failed to invoke Tool `pay` with parameters {'n': 1}. Error: OSError: no")
    'OSError: no'
    >>> fault_of("Tool 'pay' gave no answer within 3 s")
    "Tool 'pay' gave no answer within 3 s"
    """
    found = RAISED.fullmatch(told)
    return found[1] if found else told


@define
class Show:
    """Prints the pieces of a run: what the model says, what it calls, what comes back."""

    console: Console
    _midline: bool = field(default=False, init=False)

    def __call__(self, chunk: StreamingChunk) -> None:
        """Show one piece."""
        for call in chunk.tool_calls:
            if call.tool_name:
                self._line()
                self._put(f"→ {' '.join(call.tool_name.split())} ", "bold cyan")
            self._put(call.arguments.replace("\n", " "), "cyan")  # as JSON has it between values
        self._put(chunk.reasoning, "dim italic")
        self._put(chunk.content, "")
        if chunk.tool_call_result is not None:
            self._result(chunk.tool_call_result)
        if chunk.finish_reason is not None:
            self._line()
        if chunk.finish_reason == "discarded":
            self._put("The answer broke off; what was shown of it does not count.\n", "yellow")

    def _result(self, result: ToolCallResult) -> None:
        self._line()
        if result.error:  # cut short, it would not say what is to be done
            fault = fault_of(result.text)
            left, shown = len(fault) - FAULT_MAX, "\n  ".join(fault[:FAULT_MAX].splitlines())
            more = f" … {left:,} more characters" if left > 0 else ""
            self._put(f"  failed: {shown}{more}\n", "red")
            return
        lines = result.text.splitlines()
        wide = max(20, min(110, self.console.width - 3))
        for line in lines[:RESULT_LINES]:
            self._put(f"  {line[:wide]}\n", "dim")
        if len(lines) > RESULT_LINES:
            self._put(f"  … {len(lines) - RESULT_LINES} more lines\n", "dim")

    def _put(self, text: str, style: str) -> None:
        if text:
            put(self.console, text, style, end="")
            self._midline = not text.endswith("\n")

    def _line(self) -> None:
        if self._midline:
            self.console.print()
        self._midline = False


@contextmanager
def progress_bar(console: Console, label: str) -> Generator[Callable[[int, int], None]]:
    """A bar for bytes; the function that it gives is told how many are there, of how many."""
    start = (TextColumn("{task.description}"), BarColumn())
    fetching = (*start, DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(*start, console=console, transient=True) as progress:
        task = progress.add_task(label, total=None)

        def tell(done: int, total: int) -> None:
            progress.columns = fetching  # what is on this machine already has no bytes to count
            progress.update(task, completed=done, total=total)

        yield tell


def outcome(
    result: AgentResult[Research], seconds: float, written: Path | None
) -> dict[str, object]:
    """The end of a run, for programs."""
    return {
        "run_id": result.run_id,
        "answer": answer_of(result) or None,
        "exit_reason": result.exit_reason,
        "written": None if written is None else str(written),
        "sources": list(result.state.sources),
        "steps": result.step_count,
        "input_tokens": result.token_usage.input_tokens,
        "output_tokens": result.token_usage.output_tokens,
        "seconds": round(seconds, 1),
    }


def sources_of(state: Research) -> str:
    """What an answer rests on: the files that were read, or else those that a search has found."""
    return ", ".join(state.sources) or f"none read; found: {', '.join(state.found) or 'none'}"


def summary(
    console: Console, result: AgentResult[Research], place: str, seconds: float | None
) -> None:
    """The end of a run: the place of the answer, what it rests on, what it cost.

    `seconds` is None for a run that had ended before.
    """
    names = sources_of(result.state)
    used = result.token_usage
    console.rule(style="dim")
    rows = {
        "answer": place,
        "sources": names,
        "steps": f"{result.step_count} (ended by {result.exit_reason or 'waiting for a decision'})",
        "tokens": f"{used.input_tokens:,} read, {used.output_tokens:,} written",
        "seconds": "" if seconds is None else f"{seconds:.1f}",
    }
    for name, text in rows.items():
        if not text:
            continue
        put(console, f"{name:8} {text}")
