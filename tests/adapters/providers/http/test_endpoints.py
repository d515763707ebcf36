"""Which server is called, and who gets the environment's key."""

from __future__ import annotations

import re

import pytest

from detent.adapters.providers.http.endpoints import Endpoint, below, server_of
from detent.adapters.providers.http.secrets import Secret

HOME = Endpoint("https://api.example.com/v1", ("KEY_A", "KEY_B"), "BASE_URL")
LOCAL = Endpoint("http://localhost:1/v1", ("KEY_A",), needs_key=False)


@pytest.fixture(autouse=True)
def _empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KEY_A", "KEY_B", "BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def revealed(key: Secret | None) -> str | None:
    """The key itself."""
    return key.reveal() if key else None


A = {"KEY_A": "a"}
API = "https://api.example.com/v1"
LIKE_IT = "https://api.example.com.org"


@pytest.mark.parametrize(
    ("home", "environment", "given", "found"),
    [
        (HOME, A, (None, None), (API, "a")),
        (HOME, {"KEY_B": "b"}, (None, None), (API, "b")),
        (HOME, A | {"KEY_B": "b"}, (None, None), (API, "a")),
        (HOME, A, (None, "k"), (API, "k")),
        (HOME, A, ("https://eu.api.example.com", None), ("https://eu.api.example.com", "a")),
        (HOME, A, ("https://other.org", None), ("https://other.org", None)),
        (HOME, A, (LIKE_IT, None), (LIKE_IT, None)),
        (HOME, A, ("https://other.org", "k"), ("https://other.org", "k")),
        (HOME, A | {"BASE_URL": "https://mine"}, (None, None), ("https://mine", "a")),
        (HOME, {"BASE_URL": "https://mine"}, (None, None), ("https://mine", None)),
        (LOCAL, {}, (None, None), ("http://localhost:1/v1", None)),
        (LOCAL, A, (None, None), ("http://localhost:1/v1", "a")),
        (LOCAL, A, ("http://other:1", None), ("http://other:1", None)),
    ],
)
def test_a_key_of_the_environment_goes_only_where_it_belongs(
    home: Endpoint,
    environment: dict[str, str],
    given: tuple[str | None, str | None],
    found: tuple[str, str | None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To the provider, and to the server that the environment itself names."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    base_url, secret = server_of(home, *given)
    assert (base_url, revealed(secret)) == found


def test_a_provider_that_needs_a_key_is_asked_for_one_when_it_is_used() -> None:
    """It may be set later than a generator is made."""
    _, secret = server_of(HOME, None, None)
    assert secret == Secret.from_env_var("KEY_A", "KEY_B")


@pytest.mark.parametrize("base", ["ftp://example.org", "https://", "nonsense", "localhost:0"])
def test_a_base_url_that_is_none_is_refused_at_once(base: str) -> None:
    """The error shows one that is."""
    with pytest.raises(ValueError, match=r"such as 'https://api\.example\.com/v1'"):
        server_of(HOME, base, None)


@pytest.mark.parametrize(
    ("base", "query", "url"),
    [
        ("https://a/v1", "", "https://a/v1/chat"),
        ("https://a/v1/", "", "https://a/v1/chat"),
        ("https://a", "alt=sse", "https://a/chat?alt=sse"),
        ("https://a/v1?x=1", "", "https://a/v1/chat?x=1"),
        ("https://a/v1?x=1", "alt=sse", "https://a/v1/chat?x=1&alt=sse"),
    ],
)
def test_a_path_goes_below_the_base_url(base: str, query: str, url: str) -> None:
    """Queries stay at the end."""
    assert below(base, "/chat", query) == url


@pytest.mark.parametrize(
    ("base", "usual"),
    [
        ("localhost:8080", "http://localhost:8080"),
        ("127.0.0.1/v1", "http://127.0.0.1/v1"),
        ("gpu-box:8000/v1", "http://gpu-box:8000/v1"),
        ("models.example.org/v1", "https://models.example.org/v1"),
    ],
)
def test_a_base_url_without_a_scheme_is_shown_with_one(base: str, usual: str) -> None:
    """Also where the endpoint's own URL is made of the same text, as a resource's is."""
    for home in (HOME, Endpoint(base)):
        with pytest.raises(ValueError, match=f"such as '{re.escape(usual)}', got '{base}'"):
            server_of(home, base, None)
    with pytest.raises(ValueError, match=r"such as 'https://api\.example\.com/v1', got 'nowhere'"):
        server_of(Endpoint("nowhere"), None, None)
