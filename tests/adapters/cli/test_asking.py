"""Who is asked at a terminal before a tool runs, and for how long."""

from __future__ import annotations

import io
import sys

import click
import pytest

from detent.adapters.cli.asking import AlwaysYes, TimedConsoleUI, is_yes
from detent.ports.confirmation import ConfirmationUIResult
from detent.ports.pending import PendingCall


def test_the_time_for_an_answer_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each question, also of one that is not answered."""
    asker = TimedConsoleUI()
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\nn\nwhy\n"))
    assert asker.get_user_confirmation("pay", "Pay.", {"amount": 5}).action == "confirm"
    first = asker.waited_s
    call = PendingCall("r", 1, 0, None, "pay", "Pay.", {"amount": 5}, "", "", {})
    assert asker.get_user_decision(call).action == "reject"
    second = asker.waited_s
    with pytest.raises(EOFError):
        asker.get_user_decision(call)

    assert 0 < first < second < asker.waited_s


def test_yes_to_all_waits_for_nobody() -> None:
    """Whatever is asked."""
    asker = AlwaysYes()
    assert asker.get_user_confirmation("pay", "", {}) == ConfirmationUIResult("confirm")
    assert asker.waited_s == 0


@pytest.mark.parametrize(
    ("typed", "answers"), [("y\nYes \n\nn\n", (True, True, False, False)), ("well\ny\n", (True,))]
)
def test_a_command_does_what_it_says_after_a_yes_alone(
    typed: str, answers: tuple[bool, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is neither yes nor no is asked about anew; the end of input is neither."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))

    assert tuple(is_yes("Delete?") for _ in answers) == answers
    with pytest.raises(click.Abort):
        is_yes("Delete?")
