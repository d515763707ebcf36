"""The files of an editor: read and written by the editor, never by this process."""

from __future__ import annotations

from pathlib import PurePath
from typing import Protocol

from detent.adapters.tools.decorator import create_tool_from_function
from detent.core.errors import DetentError
from detent.core.tools.idempotency import NO_KEY, IdempotencyKey
from detent.core.tools.tool import Tool


class NoEditorError(DetentError):
    """A tool wants a file of an editor, and none is there, or it gives no files."""


class Editor(Protocol):
    """An editor that has a session open."""

    async def read(self, path: str) -> str:
        """The text of a file."""
        ...

    async def write(self, path: str, text: str) -> None:
        """Make a file be this text."""
        ...


EDITORS: dict[str, Editor] = {}
"""The one that each run of this process is at work for, by the run's id: tools are made before a
face is, and find it by the call."""


def editor_files() -> list[Tool]:
    """Tools that read and write files of the editor which an agent of `acp_agent` works for.

    ``read_file`` and ``write_file`` ask the editor, which shows what is not saved yet and decides
    what may be touched. Without an editor that has the session open they fail. Writing is a matter
    for a confirmation: ``confirmation_strategies={"write_file": AlwaysAskPolicy()}``.
    """
    read = create_tool_from_function(_read, "read_file", on_unknown="rerun")
    return [read, create_tool_from_function(_write, "write_file")]


def _editor(call: IdempotencyKey) -> Editor:
    """The one that a call is made for. Raises NoEditorError."""
    editor = EDITORS.get(call.partition("/")[0])
    if editor is None:
        raise NoEditorError("no editor is there that the run works for; it is not asked")
    return editor


async def _read(path: str, *, detent_call: IdempotencyKey = NO_KEY) -> str:
    """Read a text file of the editor.

    Args:
        path: from the folder that the editor has open, or from the root.
        detent_call: which call it is.
    """
    return await _editor(detent_call).read(path)


async def _write(path: str, text: str, *, detent_call: IdempotencyKey = NO_KEY) -> str:
    """Make a file of the editor be this text, all of it.

    Args:
        path: from the folder that the editor has open, or from the root.
        text: what it is to be.
        detent_call: which call it is.
    """
    await _editor(detent_call).write(path, text)
    return f"wrote {PurePath(path).name}"
