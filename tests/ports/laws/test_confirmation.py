"""The laws of the confirmation UI: ours keep them, and one that does not is found out."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

import pytest

from detent import Answered, ConfirmationUIResult, Confirmed, Modified, Rejected, SimpleConsoleUI
from detent.approvals import PendingCall
from detent.testing import ScriptedHuman, check_confirmation_ui


def test_a_scripted_human_keeps_the_laws() -> None:
    """Whatever it says."""
    check_confirmation_ui(
        {
            "confirm": lambda: ScriptedHuman(Confirmed()),
            "reject": lambda: ScriptedHuman(Rejected("no")),
            "modify": lambda: ScriptedHuman(Modified({"amount": 1})),
            "respond": lambda: ScriptedHuman(Answered("done by hand")),
            "gone": lambda: ScriptedHuman(None),
        }
    )


def test_the_console_keeps_the_laws(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A human who types these keys; at the end of input nobody is there."""

    def typing(keys: str) -> Callable[[], SimpleConsoleUI]:
        def make() -> SimpleConsoleUI:
            monkeypatch.setattr(sys, "stdin", io.StringIO(keys))
            return SimpleConsoleUI()

        return make

    modified = "m\n" + "\n" * 5
    check_confirmation_ui(
        {
            "confirm": typing("y\n"),
            "reject": typing("n\n\n"),
            "modify": typing(modified),
            "gone": typing(""),
        }
    )
    assert "▌ pay wants to run" in capsys.readouterr().out


class Saying:
    """Says this, whatever is asked."""

    def __init__(self, said: Any) -> None:
        self._said = said

    def get_user_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> Any:
        """Say it."""
        return self._said


class Deciding:
    """Is asked by the whole question, and makes its decision of it; asked otherwise it fails."""

    def __init__(self, decide: Callable[[PendingCall], Any]) -> None:
        self._decide = decide

    def get_user_decision(self, pending: PendingCall) -> Any:
        """Decide."""
        return self._decide(pending)

    def get_user_confirmation(
        self, tool_name: str, tool_description: str, tool_params: dict[str, Any]
    ) -> Any:
        """Nobody asks by this."""
        raise AssertionError("an agent asks by get_user_decision")


def test_a_ui_is_asked_as_an_agent_asks_it() -> None:
    """By the method that it has for the whole question."""
    good = {
        "confirm": lambda: Deciding(lambda call: call.confirm()),
        "reject": lambda: Deciding(lambda call: call.reject("no")),
        "modify": lambda: Deciding(lambda call: call.modify(dict(call.arguments))),
        "respond": lambda: Deciding(lambda call: call.respond("done by hand")),
        "gone": lambda: Deciding(lambda call: None),
    }
    check_confirmation_ui(good)

    with pytest.raises(AssertionError, match="where nobody answers, nothing is decided"):
        check_confirmation_ui({"gone": good["confirm"]})
    with pytest.raises(AssertionError, match=r"wants to modify does so; .* Confirmed"):
        check_confirmation_ui({**good, "modify": good["confirm"]})


CONFIRM = ConfirmationUIResult("confirm")


@pytest.mark.parametrize(
    ("does", "said", "law"),
    [
        ("gone", CONFIRM, "where nobody answers, nothing is decided"),
        ("confirm", "confirm", "an answer is a ConfirmationUIResult"),
        ("reject", CONFIRM, "a human who wants to reject does so; this answer means Confirmed"),
        ("modify", ConfirmationUIResult("modify"), "wants to modify does so; this answer .* None"),
        (
            "modify",
            ConfirmationUIResult("modify", None, {"n": {1}}),
            "new parameters are plain JSON",
        ),
    ],
)
def test_a_ui_that_breaks_a_law_is_found_out(does: str, said: object, law: str) -> None:
    """The message is the law."""
    humans = {"gone": lambda: Saying(None), does: lambda: Saying(said)}
    with pytest.raises(AssertionError, match=f"the confirmation UI breaks a law: .*{law}"):
        check_confirmation_ui(humans)


def test_what_happens_without_a_human_must_be_checked() -> None:
    """It is left out of no check."""
    with pytest.raises(AssertionError, match="say what happens then, as 'gone'"):
        check_confirmation_ui({"confirm": lambda: Saying(CONFIRM)})
