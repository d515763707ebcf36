"""The pytest plugin, in a project of somebody's own."""

from __future__ import annotations

import httpcore
import httpx
import pytest

from detent import Agent, OpenAIChatGenerator
from detent.adapters.testing.doubles import plugin

pytest_plugins = ["pytester"]

# The inner run forgets every module that it has imported: these must not come to be twice.
LOADED = (httpcore, httpx, Agent, OpenAIChatGenerator, plugin)

MODEL = """
    import pytest
    from detent import Agent, Confirmed, OpenAIChatGenerator

    def call_a_model():
        chat = OpenAIChatGenerator("m", api_key="k", api_base_url="http://127.0.0.1:9/v1")
        Agent(chat_generator=chat, model_retries=0).run("hello")
"""


def run(pytester: pytest.Pytester, tests: str, setting: str = "") -> pytest.RunResult:
    """Run these tests with the plugin."""
    pytester.makepyfile(tests)
    pytester.makeini(f"[pytest]\n{setting}")
    return pytester.runpytest_inprocess(
        "-p", "detent.adapters.testing.doubles.plugin", "-p", "no:cacheprovider", "--strict-markers"
    )


def test_there_are_fixtures(pytester: pytest.Pytester) -> None:
    """A model, a human, a clock, a journal, a guard."""
    done = run(
        pytester,
        MODEL
        + """
    def test_all(scripted_chat, scripted_human, manual_clock, memory_journal):
        chat, human = scripted_chat("hi"), scripted_human(Confirmed())
        assert Agent(chat_generator=chat, journal=memory_journal).run("hello").text == "hi"
        assert human.get_user_confirmation("pay", "", {}).action == "confirm"
        assert len(memory_journal.runs()) == 1
        assert manual_clock.now() == 0

    def test_guard(no_real_models):
        with pytest.raises(Exception, match="a real model was about to be called"):
            call_a_model()
    """,
    )
    done.assert_outcomes(passed=2)


def test_what_was_scripted_must_be_used_up(pytester: pytest.Pytester) -> None:
    """A line or an answer that is left is an error of the test."""
    done = run(
        pytester,
        """
        def test_chat(scripted_chat):
            scripted_chat("never said")

        def test_human(scripted_human):
            scripted_human(None)
        """,
    )
    done.assert_outcomes(passed=2, errors=2)
    done.stdout.fnmatch_lines(["*1 line of the script was never asked for:", "*'never said'"])


TWO_CALLS = (
    MODEL
    + """
    def test_unmarked():
        call_a_model()

    @pytest.mark.real_models
    def test_marked():
        call_a_model()

    @pytest.mark.real_models("127.0.0.1:8")
    def test_marked_for_another():
        call_a_model()
    """
)
FORBIDDEN = "*ChatGeneratorError: *a real model was about to be called, at 127.0.0.1:9*"


def test_a_project_can_forbid_real_models(pytester: pytest.Pytester) -> None:
    """But for the tests that are marked: those fail here because nobody is at that address."""
    done = run(pytester, TWO_CALLS, "detent_real_models = forbid")
    done.assert_outcomes(failed=3)
    told = [line for line in done.outlines if line.startswith("E  ") and "ChatGenerator" in line]
    assert ["about to be called" in line for line in told] == [True, False, True]


def test_without_the_setting_nothing_is_forbidden(pytester: pytest.Pytester) -> None:
    """A plugin that is only installed changes no test."""
    done = run(pytester, TWO_CALLS)
    done.assert_outcomes(failed=3)
    assert "about to be called" not in done.stdout.str()


def test_a_setting_that_there_is_not_is_refused(pytester: pytest.Pytester) -> None:
    """Nobody believes to be safe by a typing mistake."""
    done = run(pytester, "", "detent_real_models = forbidden")
    done.stderr.fnmatch_lines(["*detent_real_models is allow or forbid, not 'forbidden'"])
