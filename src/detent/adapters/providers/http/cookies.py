"""Clients of httpx that look for cookies only in answers that set some.

Few do, and to look is a tenth of the time of a call. This module needs httpx, and is loaded when
the first client is made.
"""

from __future__ import annotations

import httpx


class _Cookies(httpx.Cookies):
    """Cookies that are read from an answer if there are any in it."""

    def extract_cookies(self, response: httpx.Response) -> None:
        """Keep those that the answer sets."""
        if "set-cookie" in response.headers:
            super().extract_cookies(response)


class _KeepsCookies:
    """A client whose cookies are of this kind; httpx would copy others into a kind of its own."""

    _kept: _Cookies | None = None

    @property
    def cookies(self) -> httpx.Cookies:
        """What the servers have set."""
        if self._kept is None:
            self._kept = _Cookies()
        return self._kept

    @cookies.setter
    def cookies(self, cookies: object) -> None:
        raise AttributeError("the cookies of this client are those that servers set")


class BlockingClient(_KeepsCookies, httpx.Client):
    """Sends blocking calls."""


class AsyncClient(_KeepsCookies, httpx.AsyncClient):
    """Sends those of coroutines."""
