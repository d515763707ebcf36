"""Printing a run as it happens."""

from __future__ import annotations

import io
import sys

import pytest

from detent import StreamingChunk, ToolCall, ToolCallResult, print_streaming_chunk
from detent.models import ToolCallDelta


def result(text: str, *, error: bool = False) -> StreamingChunk:
    return StreamingChunk(tool_call_result=ToolCallResult(text, ToolCall("search"), error))


def test_a_run_is_printed_as_it_happens(capsys: pytest.CaptureFixture[str]) -> None:
    """Text, tool calls piece by piece, results, and a line's end where the model stops."""
    for chunk in (
        StreamingChunk("Let me", start=True),
        StreamingChunk(" see."),
        StreamingChunk(tool_calls=(ToolCallDelta(0, "search", '{"query": '),)),
        StreamingChunk(tool_calls=(ToolCallDelta(0, None, '"detents"}'),)),
        StreamingChunk(finish_reason="tool_calls"),
        result("3 pages"),
        result("no such page", error=True),
    ):
        print_streaming_chunk(chunk)

    assert capsys.readouterr().out == (
        "Let me see."
        '\n[calls search] {"query": "detents"}\n'
        "\n[search] 3 pages\n"
        "\n[search failed] no such page\n"
    )


def test_a_piece_is_seen_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits in a buffer for the end of the line."""
    screen = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BufferedWriter(screen)))

    print_streaming_chunk(StreamingChunk("He"))

    assert screen.getvalue() == b"He"


def test_a_piece_with_nothing_to_show_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Reasoning, for one, is kept to those who ask for it."""
    print_streaming_chunk(StreamingChunk(reasoning="hm"))

    assert capsys.readouterr().out == ""
