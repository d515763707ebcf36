"""What looks like a key is taken out; what only looks odd stays."""

from __future__ import annotations

import pytest

from detent.testing import scrub_secrets

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcdefghijklmnop",
        "sk_live_abcdefghijklmnop",
        "AKIAIOSFODNN7EXAMPLE",
        f"AIza{'x' * 35}",
        f"ghp_{'a1' * 18}",
        "xoxb-123456789012-abc",
        JWT,
        PEM,
    ],
)
def test_a_key_is_taken_out(secret: str) -> None:
    """Wherever it stands in a text."""
    assert scrub_secrets(f"the key is {secret}.") == "the key is ***."


def test_a_bearer_token_is_taken_out() -> None:
    """The word before it stays."""
    assert scrub_secrets("authorization: Bearer abcdef0123456789==") == "authorization: Bearer ***"


@pytest.mark.parametrize(
    "text", ["task-list", "risk-assessment-of-everything", "bearer of bad news", "sk-short", ""]
)
def test_other_words_stay(text: str) -> None:
    """A test that reads them would not know them."""
    assert scrub_secrets(text) == text


def test_what_the_environment_keeps_secret_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its variable; short values, and variables of other kinds, are no secrets."""
    monkeypatch.setenv("MY_TOKEN", "hunter22")
    monkeypatch.setenv("OTHER_TOKEN", "short")
    monkeypatch.setenv("MY_CITY", "Reykjavik")
    assert scrub_secrets("hunter22 short Reykjavik") == "<MY_TOKEN> short Reykjavik"
