"""Printing a run as it happens."""

from __future__ import annotations

import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def hostile(text: str) -> list[StreamingChunk]:
    """The text in every place of a chunk."""
    failed = ToolCallResult(text, ToolCall(text), error=True)
    return [
        StreamingChunk(text, tool_calls=(ToolCallDelta(0, text, text),)),
        StreamingChunk(tool_call_result=failed),
    ]


@pytest.mark.parametrize(
    "text", ["\x1b]52;c;x\x07", "\x9b2J", "\r", "\u202e", "\u200b", "\u3164", "\ud800", "▌", "▛▀"]
)
def test_nothing_that_is_printed_steers_the_terminal(
    capsys: pytest.CaptureFixture[str], text: str
) -> None:
    """Not in a text, a tool's name, an argument or a result; nor is it a row of a question."""
    for chunk in hostile(f"{text} Run it?"):
        print_streaming_chunk(chunk)

    printed = capsys.readouterr().out
    assert printed.count(ascii(text)[1:-1]) == 5
    assert text not in printed
    assert printed.isprintable() or set(filter(lambda char: not char.isprintable(), printed)) == {
        "\n"
    }


@given(st.text())
def test_what_a_terminal_cannot_carry_is_spelled_out(text: str) -> None:
    """Whatever the text: to print it never raises."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "ascii"))
        for chunk in hostile(text):
            print_streaming_chunk(chunk)
