"""Signatures, on the vectors that Amazon publishes for them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from detent.adapters.providers.bedrock.signing import (
    Credentials,
    Scope,
    canonical_request,
    signed_headers,
)

# Source: https://github.com/awslabs/aws-c-auth, tests/aws-signing-test-suite/v4
KEY = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
SCOPE = Scope("us-east-1", "service")
NOW = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
HOST = "https://example.amazonaws.com"
FORM = {"content-type": "application/x-www-form-urlencoded"}
TRIMMED = {"my-header1": " value1", "my-header2": ' "a   b   c"'}
LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

VECTORS = {
    "get-vanilla": (
        ("GET", "/", {}, b""),
        "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
    ),
    "post-vanilla": (
        ("POST", "/", {}, b""),
        "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
    ),
    "get-vanilla-query-order-key-case": (
        ("GET", "/?Param2=value2&Param1=value1", {}, b""),
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ),
    "get-utf8": (
        ("GET", "/ሴ", {}, b""),
        "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85",
    ),
    "get-unreserved": (
        ("GET", f"/-._~{LETTERS}", {}, b""),
        "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
    ),
    "get-space-unnormalized": (
        ("GET", "/example space/", {}, b""),
        "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741",
    ),
    "get-header-value-trim": (
        ("GET", "/", TRIMMED, b""),
        "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
    ),
    "post-x-www-form-urlencoded": (
        ("POST", "/", FORM, b"Param1=value1"),
        "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_the_published_requests_are_signed_as_published(name: str) -> None:
    """Method, path, query, headers and body all enter the signature."""
    (method, path, headers, body), signature = VECTORS[name]
    signed = signed_headers(
        method, HOST + path, headers, body, credentials=KEY, scope=SCOPE, now=NOW
    )
    names = ";".join(sorted({*headers, "host", "x-amz-date"}))
    assert signed == {
        "x-amz-date": "20150830T123600Z",
        "authorization": "AWS4-HMAC-SHA256 "
        "Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        f"SignedHeaders={names}, Signature={signature}",
    }


def test_a_session_token_is_sent_and_signed() -> None:
    """Vector get-vanilla-with-session-token."""
    token = "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"  # noqa: S105 - published
    key = Credentials(KEY.access_key_id, KEY.secret_access_key, token)
    signed = signed_headers("GET", HOST, {}, b"", credentials=key, scope=SCOPE, now=NOW)
    assert signed["x-amz-security-token"] == token
    assert signed["authorization"].endswith(
        "SignedHeaders=host;x-amz-date;x-amz-security-token, "
        "Signature=07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"
    )


def test_a_path_that_is_encoded_is_encoded_once_more() -> None:
    """As every service but S3 does; the id of a model has a colon."""
    url = f"{HOST}/model/amazon.nova-lite-v1%3A0/converse?b=&a=%20"
    request = canonical_request("POST", url, {"host": "h"}, b"")
    assert request.splitlines()[1:3] == ["/model/amazon.nova-lite-v1%253A0/converse", "a=%20&b="]


def test_credentials_do_not_print() -> None:
    """Neither the key nor the token."""
    assert repr(Credentials("AKID", "secret", "token")) == "Credentials(access_key_id='AKID')"
