"""Secrets are used and never shown."""

from __future__ import annotations

import io
import pickle
import traceback

import pytest
from rich.console import Console
from rich.traceback import Traceback

from detent.adapters.providers.http.secrets import Secret, SecretError, as_secret, redacted


def test_a_secret_never_prints() -> None:
    """Neither str, repr nor format shows the value."""
    secret = Secret("sk-very-secret")
    assert secret.reveal() == "sk-very-secret"
    assert "very" not in f"{secret} {secret!r} {[secret]}"


def test_a_secret_of_the_environment_is_read_when_it_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A later value counts, white space around it does not, and what is stored is only the name."""
    secret = Secret.from_env_var("A_KEY")
    monkeypatch.setenv("A_KEY", " sk-1\n")
    assert secret.reveal() == "sk-1"
    assert b"sk-1" not in pickle.dumps(secret)
    assert repr(secret) == "Secret.from_env_var('A_KEY')"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "environment variable A_KEY is not set"),
        ("", "environment variable A_KEY is not set"),
        ("sk-1\nsk-2", "holds a character that no key has"),
        ("sk-é", "holds a character that no key has"),
    ],
)
def test_what_cannot_be_a_key_is_refused_without_being_shown(
    value: str | None, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says where the secret was sought, and not what was found there."""
    monkeypatch.delenv("A_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("A_KEY", value)
    with pytest.raises(SecretError, match=message) as caught:
        Secret.from_env_var("A_KEY").reveal()
    assert "sk-" not in str(caught.value)


def test_the_first_variable_that_is_set_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some keys have two usual names."""
    secret = Secret.from_env_var("A_KEY", "B_KEY")
    monkeypatch.delenv("A_KEY", raising=False)
    monkeypatch.delenv("B_KEY", raising=False)
    with pytest.raises(SecretError, match="environment variable A_KEY or B_KEY is not set"):
        secret.reveal()
    monkeypatch.setenv("B_KEY", "b")
    assert secret.reveal() == "b"
    monkeypatch.setenv("A_KEY", "a")
    assert secret.reveal() == "a"
    assert repr(secret) == "Secret.from_env_var('A_KEY', 'B_KEY')"


def test_a_function_is_asked_at_each_use() -> None:
    """Tokens expire."""
    tokens = iter(["t-1", "t-2"])
    secret = Secret(lambda: next(tokens))
    assert (secret.reveal(), secret.reveal()) == ("t-1", "t-2")
    assert "t-" not in repr(secret)


def test_a_given_empty_secret_is_refused() -> None:
    """An empty string is no key."""
    with pytest.raises(SecretError, match="given secret is not set"):
        Secret("  ").reveal()


def test_a_plain_string_becomes_a_secret() -> None:
    """So that no object which prints holds it."""
    assert as_secret("sk-1") == Secret("sk-1")
    assert as_secret(Secret("sk-1")) == Secret("sk-1")
    assert as_secret(None) is None


def test_secrets_are_taken_out_of_texts() -> None:
    """What a server echoes does not reach a message."""
    assert redacted("the key sk-1 is wrong, sk-1", ["sk-1"]) == "the key *** is wrong, ***"


def test_a_value_is_never_pickled() -> None:
    """A secret of the environment is: what is stored is where it was sought."""
    with pytest.raises(TypeError, match=r"Secret\.from_env_var"):
        pickle.dumps(Secret("sk-1"))
    named = Secret.from_env_var("KEY_A", "KEY_B")
    assert pickle.loads(pickle.dumps(named)) == named  # noqa: S301 - our own


def shown_in_tracebacks(error: BaseException) -> str:
    """With the variables of each frame, as rich and the standard library print them."""
    console = Console(file=io.StringIO(), width=200)
    console.print(
        Traceback.from_exception(type(error), error, error.__traceback__, show_locals=True)
    )
    whole = traceback.TracebackException.from_exception(error, capture_locals=True)
    return f"{console.file.getvalue()}{''.join(whole.format())}"  # type: ignore[attr-defined]  # a StringIO


@pytest.mark.parametrize("tail", ["", "é"], ids=["fits", "does not"])
def test_a_traceback_with_variables_does_not_show_it(tail: str) -> None:
    """Neither where it is a variable, nor where it was found to be no key."""
    value = f"{'sk-'}{'geheim'}{tail}"  # the lines of this test are in the traceback

    def use(secret: Secret, kept: list[Secret]) -> None:
        secret.reveal()
        raise LookupError(kept)

    caught: BaseException | None = None
    try:
        use(Secret(value), [Secret(value)])
    except (LookupError, SecretError) as error:
        caught = error.with_traceback(error.__traceback__ and error.__traceback__.tb_next)
    assert caught is not None
    shown = shown_in_tracebacks(caught)

    assert "kept" in shown
    assert value not in shown


def test_a_short_key_mangles_no_words() -> None:
    """A placeholder, as servers on one's own machine take, is a part of many a word."""
    text = "localhost refused the key local (check it: 'local')"
    assert redacted(text, ["local"]) == "localhost refused the key *** (check it: '***')"
