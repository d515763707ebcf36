"""Signatures of requests to AWS, version 4. Pure: the time is an argument.

Own code because the kept signers come with a whole SDK.
Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime
from functools import reduce
from urllib.parse import parse_qsl, quote, urlsplit

from attrs import field, frozen

ALGORITHM = "AWS4-HMAC-SHA256"
UNRESERVED = "-_.~"


@frozen
class Credentials:
    """Who signs. A session token comes with keys that expire."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


@frozen
class Scope:
    """Where a signature holds."""

    region: str
    service: str


def signed_headers(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    credentials: Credentials,
    scope: Scope,
    now: datetime,
) -> dict[str, str]:
    """The headers that sign a request, to be sent beside `headers`, all of which are signed.

    Args:
        method: "GET", "POST" …
        url: the address, its path as it is sent.
        headers: by lower-case name, without the host. Leave out what a proxy may change.
        body: the body.
        credentials: who signs.
        scope: where the signature holds.
        now: the time in UTC; the signature holds for some minutes.
    """
    time = now.strftime("%Y%m%dT%H%M%SZ")
    made = {"x-amz-date": time}
    if credentials.session_token:
        made["x-amz-security-token"] = credentials.session_token
    signed = {"host": urlsplit(url).netloc, **headers, **made}
    names = ";".join(sorted(signed))
    request = canonical_request(method, url, signed, body)
    place = f"{time[:8]}/{scope.region}/{scope.service}/aws4_request"
    text = "\n".join((ALGORITHM, time, place, _digest(request.encode())))
    key = reduce(_mac, place.split("/"), f"AWS4{credentials.secret_access_key}".encode())
    signature = _mac(key, text).hex()
    credential = f"Credential={credentials.access_key_id}/{place}"
    authorization = f"{ALGORITHM} {credential}, SignedHeaders={names}, Signature={signature}"
    return {**made, "authorization": authorization}


def canonical_request(method: str, url: str, headers: Mapping[str, str], body: bytes) -> str:
    """The request in the one form that both sides hash.

    The path is encoded once more: ``%3A`` becomes ``%253A``, for every service but S3.
    """
    parts = urlsplit(url)
    pairs = [
        (quote(name, safe=UNRESERVED), quote(value, safe=UNRESERVED))
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
    ]
    query = "&".join(f"{name}={value}" for name, value in sorted(pairs))
    lines = [f"{name}:{' '.join(headers[name].split())}" for name in sorted(headers)]
    path = quote(parts.path or "/", safe="/" + UNRESERVED)
    return "\n".join((method, path, query, *lines, "", ";".join(sorted(headers)), _digest(body)))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _mac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
