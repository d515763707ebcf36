"""Credentials of AWS by profile: found and renewed by botocore, and used to sign."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from detent.adapters.providers.anthropic.clouds import BedrockAnthropicChatGenerator
from detent.adapters.providers.bedrock.chat import BedrockChatGenerator
from detent.adapters.providers.bedrock.profiles import AwsProfile
from detent.adapters.providers.bedrock.signing import Credentials
from detent.adapters.providers.http.secrets import SecretError
from detent.core.chat.messages import ChatMessage
from detent.ports.chat import ChatGeneratorError
from tests.adapters.providers.bedrock.test_chat import HELLO, MODEL, VARIABLES, is_signed
from tests.adapters.providers.http.wires import Wire

pytest.importorskip("botocore", reason="needs the extra aws")

QUESTION = [ChatMessage.from_user("Say hello")]
CONFIG = """
[default]
region = eu-west-3
[profile keyed]
region = us-west-2
[profile rented]
credential_process = {python} {program}
[profile broken]
credential_process = {python} -c "import sys; sys.exit('sk-secret was refused')"
[profile nobody]
region = us-east-1
"""
KEYS = """
[keyed]
aws_access_key_id = AKID
aws_secret_access_key = sk-1
"""
PROGRAM = """
import json, pathlib
told = pathlib.Path(__file__).with_name("told.json")
count = json.loads(told.read_text()) + 1 if told.exists() else 1
told.write_text(json.dumps(count))
key = {{"Version": 1, "AccessKeyId": str(count), "SecretAccessKey": "sk", "SessionToken": "t"}}
print(json.dumps(key | {{"Expiration": {expiration!r}}}))
"""


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in (*VARIABLES, "AWS_PROFILE", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    program = tmp_path / "program.py"
    soon = (datetime.now(UTC) + timedelta(seconds=60)).isoformat()  # is renewed at each use
    program.write_text(PROGRAM.format(expiration=soon), encoding="utf-8")
    config = CONFIG.format(python=sys.executable, program=program)
    for name, text in (("CONFIG_FILE", config), ("SHARED_CREDENTIALS_FILE", KEYS)):
        (tmp_path / name).write_text(text, encoding="utf-8")
        monkeypatch.setenv(f"AWS_{name}", str(tmp_path / name))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.mark.parametrize("kind", [BedrockChatGenerator, BedrockAnthropicChatGenerator])
def test_a_request_is_signed_with_the_key_of_a_profile(kind: type[BedrockChatGenerator]) -> None:
    """In its region, in both colours."""
    wire = Wire(HELLO if kind is BedrockChatGenerator else {"type": "message", "content": []})

    async def run_async() -> None:
        async with wire.async_client() as client:
            profile = AwsProfile("keyed")
            made = kind(MODEL, access_key=profile, async_http_client=client)
            await made.run_async(QUESTION)

    with wire.client() as client:
        kind(MODEL, access_key=AwsProfile("keyed"), http_client=client).run(QUESTION)
    asyncio.run(run_async())
    for request in wire.requests:
        assert request.url.host == "bedrock-runtime.us-west-2.amazonaws.com"
        assert is_signed(request, Credentials("AKID", "sk-1"), "us-west-2")


def test_credentials_that_expire_are_renewed(tmp_path: Path) -> None:
    """All three parts at once, and not before the first call."""
    profile = AwsProfile("rented")
    assert profile.region is None
    assert not (tmp_path / "told.json").exists()
    first, later = profile.revealed(), profile.revealed()
    assert first.session_token == "t"  # noqa: S105 - of nobody
    assert int(first.access_key_id) < int(later.access_key_id)


def test_what_renews_them_does_not_hold_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is done in another thread, before the request is signed."""
    threads: list[int] = []
    reveal = AwsProfile.revealed

    def noted(profile: AwsProfile) -> Credentials:
        threads.append(threading.get_ident())
        return reveal(profile)

    monkeypatch.setattr(AwsProfile, "revealed", noted)
    wire = Wire(HELLO)

    async def run_async() -> None:
        async with wire.async_client() as client:
            profile = AwsProfile("keyed")
            made = BedrockChatGenerator(MODEL, access_key=profile, async_http_client=client)
            await made.run_async(QUESTION)

    asyncio.run(run_async())
    assert threads[0] != threading.get_ident()
    assert len(wire.requests) == 1


@pytest.mark.parametrize(
    ("name", "why"), [("nobody", "none found"), ("broken", "CredentialRetrievalError")]
)
@pytest.mark.parametrize("is_async", [False, True])
def test_a_profile_without_credentials_is_named_with_what_to_do(
    name: str, why: str, *, is_async: bool
) -> None:
    """Nothing is sent, and nothing that a program said is repeated."""
    wire = Wire(HELLO)
    with wire.client() as client:
        made = BedrockChatGenerator(
            MODEL, region="us-east-1", access_key=AwsProfile(name), http_client=client
        )
        with pytest.raises(ChatGeneratorError, match=f"profile '{name}' \\({why}\\)") as caught:
            asyncio.run(made.run_async(QUESTION)) if is_async else made.run(QUESTION)
    assert caught.value.failure.cause == "authentication"
    assert f"aws sso login --profile {name}" in str(caught.value)
    assert "sk-secret" not in json.dumps(str(caught.value))
    assert wire.requests == []


def test_a_profile_that_is_not_there_is_told_at_once() -> None:
    """Where its region is looked for."""
    with pytest.raises(SecretError, match="'nowhere' \\(ProfileNotFound\\)"):
        BedrockChatGenerator(MODEL, access_key=AwsProfile("nowhere"))
    assert repr([AwsProfile("a"), AwsProfile()]) == "[AwsProfile('a'), AwsProfile()]"
