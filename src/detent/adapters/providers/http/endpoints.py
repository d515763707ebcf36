"""Where a provider is found, and which key opens it there."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from urllib.parse import urlsplit, urlunsplit

from attrs import frozen

from detent.adapters.providers.http.secrets import Secret, as_secret

KEY_IN_CODE = (" or pass api_key=", ": pass api_key=", "; api_key= goes to any server")
"""What is said of a key to whoever writes a program: the command line leaves it out."""
URL_IN_CODE = "api_base_url"
"""What a program calls the server; the command line has --base-url."""
BEARER = ("authorization", "Bearer ")


@frozen
class Endpoint:
    """A provider's own server, and the environment variables that speak of it.

    Attributes:
        base_url: where its paths begin.
        key_vars: may hold the key; the first one that is set counts.
        base_url_var: may name another server, which is trusted with the key.
        needs_key: whether it refuses calls without one.
        key_header: the header that carries the key, and what stands before the key in it.
    """

    base_url: str
    key_vars: tuple[str, ...] = ()
    base_url_var: str = ""
    needs_key: bool = True
    key_header: tuple[str, str] = BEARER


def server_of(
    endpoint: Endpoint, api_base_url: str | None, api_key: str | Secret | None
) -> tuple[str, Secret | None]:
    """The base URL to use, and the key for it.

    The environment's key goes to the provider's own server and to the one that the environment
    names. To any other server a key is sent only if the code says so; many need none.

    Raises:
        ValueError: the base URL is no HTTP URL.
    """
    base_url = api_base_url or os.environ.get(endpoint.base_url_var) or endpoint.base_url
    if not isinstance(base_url, str):
        raise TypeError(f"api_base_url must be the text of a URL, got {base_url!r:.80}")
    if not _is_http(base_url):
        name = (not api_base_url and endpoint.base_url_var) or URL_IN_CODE
        raise ValueError(f"{name} must be a URL such as {_usual(endpoint, base_url)}")
    if api_key is not None or not endpoint.key_vars:
        return base_url, as_secret(api_key)
    key = Secret.from_env_var(*endpoint.key_vars)
    is_own = is_at(endpoint, base_url)
    if is_own and endpoint.needs_key:
        return base_url, key
    is_set = any(map(os.environ.get, endpoint.key_vars))
    return base_url, key if is_set and (is_own or not api_base_url) else None


def unsent_key(endpoint: Endpoint, url: str) -> str:
    """What to say where no header had a key and one was wanted; "" where `url` has one itself.

    >>> unsent_key(Endpoint("https://api.example.org/v1", ("EXAMPLE_KEY",)), "http://127.0.0.1/v1")
    'no key was sent: EXAMPLE_KEY goes to api.example.org alone; api_key= goes to any server'
    """
    if without_secrets(url) != url:
        return ""
    names = " or ".join(endpoint.key_vars)
    if not names:
        return "no key was sent: pass api_key="
    server = urlsplit(endpoint.base_url).hostname
    named = (
        f" and to the server that {endpoint.base_url_var} names," if endpoint.base_url_var else ""
    )
    return f"no key was sent: {names} goes to {server}{named} alone; api_key= goes to any server"


def _usual(endpoint: Endpoint, wrong: str) -> str:
    """A URL that would do, and the wrong one: the same with a scheme, where that is what it lacks.

    The URL of an endpoint can be the wrong one: some are made of what a user says.
    """
    scheme = "http" if LOCAL.match(wrong) else "https"
    may_do = [f"{scheme}://{wrong}" if HOST.match(wrong) else "", endpoint.base_url, PLAIN]
    usual = next(filter(_is_http, may_do))
    return f"{without_secrets(usual)!r}, got {without_secrets(wrong)!r}"


def _is_http(url: str) -> bool:
    """Whether it is the URL of an HTTP server, with a port that there can be."""
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.netloc) and parts.port != 0
    except ValueError:
        return False


def without_secrets(url: str) -> str:
    """A URL to show: a user, a password and what its query says, but for a version, are hidden.

    >>> without_secrets("https://me:secret@api.example.org/v1?key=secret&api-version=2")
    'https://***@api.example.org/v1?key=***&api-version=2'
    """
    return QUERY_VALUE.sub(r"\1***", USERINFO.sub("***@", url))


PLAIN = "https://api.example.com/v1"
HOST = re.compile(r"(localhost|[\w-]+(\.[\w-]+)+|[\w-]+(?=:\d))(:\d+)?([/?]|$)")
LOCAL = re.compile(r"localhost|\d+(\.\d+){3}|[\w-]+:")
"""Where there is no certificate, as a rule: this machine, an address, a machine by its name."""
USERINFO = re.compile(r"(?<=//)[^/?#]*@|^[^/?#]*@")
QUERY_VALUE = re.compile(r"([?&](?!api-version=)[^=&#]*=)[^&#]*")
"""Where people put keys in URLs."""


def is_at(endpoint: Endpoint, base_url: str) -> bool:
    """Whether a URL leads to the provider's own server, or to one of its regions.

    >>> is_at(Endpoint("https://api.example.org"), "https://eu.api.example.org/v2")
    True
    """
    host = urlsplit(base_url).hostname or ""
    domain = urlsplit(endpoint.base_url).hostname or ""
    return host == domain or host.endswith(f".{domain}")


@lru_cache(maxsize=100)  # taking URLs apart takes as long as reading a short answer
def below(base_url: str, path: str, query: str = "") -> str:
    """`path` below `base_url`, whose own query stays at the end.

    >>> below("https://example.org/v1/?tenant=a", "/chat", "alt=sse")
    'https://example.org/v1/chat?tenant=a&alt=sse'
    """
    parts = urlsplit(base_url)
    queries = "&".join(filter(None, (parts.query, query)))
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + path, query=queries))
