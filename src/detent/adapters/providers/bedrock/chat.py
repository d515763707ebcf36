"""The chat generator for Amazon Bedrock."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import partial
from typing import Unpack
from urllib.parse import quote

from attrs import field, frozen

from detent.adapters.providers.bedrock.decode import ConverseFold
from detent.adapters.providers.bedrock.encode import CacheTime, request_body
from detent.adapters.providers.bedrock.payloads import ConversePayloads
from detent.adapters.providers.bedrock.profiles import AwsProfile
from detent.adapters.providers.bedrock.signing import Credentials, Scope, signed_headers
from detent.adapters.providers.http.adapter import (
    Endpoint,
    HttpApi,
    HttpChatGenerator,
    HttpOptions,
    Secret,
    below,
)
from detent.adapters.providers.http.secrets import as_secret

SERVICE = "bedrock"
REGION_VARS = ("AWS_REGION", "AWS_DEFAULT_REGION")
TOKEN_VAR = "AWS_SESSION_TOKEN"  # noqa: S105 - the name of a variable


def _secret(value: str | Secret) -> Secret:
    return Secret(value) if isinstance(value, str) else value


@frozen
class AccessKey:
    """An access key of AWS. A session token comes with one that expires."""

    access_key_id: Secret = field(converter=_secret)
    secret_access_key: Secret = field(converter=_secret)
    session_token: Secret | None = field(default=None, converter=as_secret)

    @classmethod
    def from_environment(cls) -> AccessKey:
        """That in AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if it is set, AWS_SESSION_TOKEN."""
        return cls(
            Secret.from_env_var("AWS_ACCESS_KEY_ID"),
            Secret.from_env_var("AWS_SECRET_ACCESS_KEY"),
            Secret.from_env_var(TOKEN_VAR) if os.environ.get(TOKEN_VAR) else None,
        )

    def revealed(self) -> Credentials:
        """The key itself. Raises SecretError: a part of it is missing."""
        return Credentials(
            self.access_key_id.reveal(),
            self.secret_access_key.reveal(),
            self.session_token.reveal() if self.session_token else None,
        )


class BedrockChatGenerator(HttpChatGenerator):
    """Answers conversations through Amazon Bedrock, blocking or as a coroutine.

    Requests are signed with an access key, or carry an API key of Bedrock.

    Args:
        model: the id or ARN of a model or an inference profile.
        region: by default the environment's AWS_REGION or AWS_DEFAULT_REGION, then the profile's.
        access_key: signs the requests: an `AccessKey`, or an `AwsProfile` for the profiles, roles
            and single sign-on of the AWS command line. By default the environment's key, looked up
            at each call.
        api_key: an API key of Bedrock, sent in place of a signature. By default the environment's
            AWS_BEARER_TOKEN_BEDROCK if it is set and no `access_key` is given.
        api_base_url: where ``/model`` is. By default the environment's
            AWS_ENDPOINT_URL_BEDROCK_RUNTIME, then the region's own server.
        prompt_cache: have the instructions and the conversation kept in the provider's cache, for
            five minutes or an hour after each use, for models that can. By default nothing is kept.
        options: see `HttpOptions`. `generation_kwargs` are members of the request, as the API names
            them (`additionalModelRequestFields`, `guardrailConfig` …) or, where they mean the same,
            Chat Completions does (`max_tokens`, `temperature`, `top_p`, `stop`, `tool_choice`,
            `response_format`). `tools` are tools that run at Amazon.

    Raises:
        ValueError: no region is given, or `api_base_url` is no HTTP URL.
        SecretError: there is no such profile.
    """

    def __init__(
        self,
        model: str,
        *,
        region: str | None = None,
        access_key: AccessKey | AwsProfile | None = None,
        api_key: str | Secret | None = None,
        api_base_url: str | None = None,
        prompt_cache: CacheTime | None = None,
        **options: Unpack[HttpOptions],
    ) -> None:
        self._region = region or next(filter(None, map(os.environ.get, REGION_VARS)), None)
        if not self._region and isinstance(access_key, AwsProfile):
            self._region = access_key.region
        if not self._region:
            raise ValueError("Bedrock needs a region: set AWS_REGION, or pass region='us-east-1'")
        endpoint = Endpoint(
            f"https://bedrock-runtime.{self._region}.amazonaws.com",
            () if access_key else ("AWS_BEARER_TOKEN_BEDROCK",),
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
            needs_key=False,
        )
        self._access_key = access_key
        api = HttpApi(
            endpoint,
            f"/model/{quote(model, safe='')}/converse",
            partial(request_body, prompt_cache=prompt_cache),
            lambda _: ConverseFold(model),
            ConversePayloads,
        )
        super().__init__(model, api, api_base_url=api_base_url, api_key=api_key, **options)

    def _url(self, *, stream: bool) -> str:
        return below(self._base_url, self.api.path + ("-stream" if stream else ""))

    async def _get_ready(self) -> None:
        if isinstance(self._access_key, AwsProfile) and self._key is None:
            import asyncio  # most of the time of importing a provider, and blocking calls need none

            await asyncio.to_thread(self._access_key.revealed)  # it may ask a server for new ones

    def _signed_headers(self, url: str, body: bytes) -> tuple[dict[str, str], list[str]]:
        headers, secrets = super()._signed_headers(url, body)
        if self._key is not None:
            return headers, secrets
        credentials = (self._access_key or AccessKey.from_environment()).revealed()
        signed = signed_headers(
            "POST",
            url,
            {"content-type": headers["content-type"]},  # others a proxy may change
            body,
            credentials=credentials,
            scope=Scope(str(self._region), SERVICE),
            now=datetime.now(UTC),
        )
        secrets += filter(None, (credentials.secret_access_key, credentials.session_token))
        return headers | signed, secrets
