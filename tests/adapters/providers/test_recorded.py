"""Recorded traffic of every API."""

from __future__ import annotations

import pytest

from tests.adapters.providers.http.generators import APIS, READERS
from tests.adapters.providers.http.recorded import (
    check,
    check_byte_by_byte,
    check_documented_errors,
    check_usages,
    needs_records,
)
from tests.adapters.providers.http.replayed import check_runs

pytestmark = needs_records


@pytest.mark.parametrize("name", READERS)
def test_every_record_is_decoded_as_expected(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Text, refusal, calls, thoughts, reason and usage, from bytes cut at random places."""
    check(name, READERS[name], capsys)


@pytest.mark.parametrize("name", READERS)
def test_cutting_a_stream_after_each_byte_changes_nothing(name: str) -> None:
    """The same pieces and the same reply."""
    check_byte_by_byte(name, READERS[name])


@pytest.mark.parametrize("name", READERS)
def test_every_usage_has_the_common_shape(name: str) -> None:
    """Input and output are what the provider counts; cached and reasoning are within them."""
    check_usages(name, READERS[name])


@pytest.mark.parametrize("name", [name for name in READERS if name != "openai_compatible"])
def test_every_documented_error_is_worth_another_try_or_not(name: str) -> None:
    """Whether it is, is documented too, but for servers that nobody documents together."""
    check_documented_errors(name, READERS[name])


@pytest.mark.parametrize("name", APIS)
def test_the_requests_of_every_run_are_those_recorded(name: str) -> None:
    """Texts, calls, results, thoughts and signatures, in order."""
    check_runs(name, APIS[name])
