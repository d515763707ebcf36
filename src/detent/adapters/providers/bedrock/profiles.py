"""Who one is at Amazon, as the AWS command line knows it: profiles, roles, single sign-on.

The library botocore finds the credentials and renews them; requests are signed and sent without it.
"""

from __future__ import annotations

import threading
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from detent.adapters.providers.bedrock.signing import Credentials
from detent.adapters.providers.http.secrets import SecretError
from detent.adapters.system.installation import install_command


class AwsProfile:
    """Credentials of AWS as its command line finds them, renewed before they expire.

    They come from the environment, from a profile of ``~/.aws`` (a key, a role that is assumed,
    single sign-on, a process), from a web identity, or from the container or machine that the
    program runs on: whatever comes first. With ``pip install 'detent[aws]'``. Nothing is looked
    for before the first call.

    Args:
        name: the profile; by default the environment's AWS_PROFILE, then ``default``.

    Raises:
        ImportError: botocore is not installed.
    """

    def __init__(self, name: str | None = None) -> None:
        if find_spec("botocore") is None:
            raise ImportError(
                f"AwsProfile needs botocore: {install_command('aws')}", name="botocore"
            )
        self.name = name
        self._lock = threading.Lock()
        self._found: tuple[Any, Any] | None = None  # the session of botocore, and its credentials

    @property
    def region(self) -> str | None:
        """The region of the profile, if it names one.

        Raises:
            SecretError: there is no such profile.
        """
        with self._lock:
            session, _ = self._opened()
            found: str | None = session.get_config_variable("region")
            return found

    def revealed(self) -> Credentials:
        """The credentials of now. It may ask a server for new ones, and wait for them.

        Raises:
            SecretError: there are none, or they cannot be renewed.
        """
        errors = import_module("botocore.exceptions")
        try:
            with self._lock:
                session, credentials = self._opened()
                if credentials is None:
                    credentials = session.get_credentials()
                    self._found = session, credentials
                key = credentials.get_frozen_credentials() if credentials is not None else None
        except (errors.BotoCoreError, errors.ClientError) as error:
            raise self._missing(
                type(error).__name__
            ) from None  # its text may hold what a tool said
        if key is None:
            raise self._missing("none found")
        return Credentials(key.access_key, key.secret_key, key.token)

    def _opened(self) -> tuple[Any, Any]:
        """What botocore knows of the profile; the credentials only once they were looked for."""
        if self._found is None:
            errors = import_module("botocore.exceptions")
            session = import_module("botocore.session").Session(profile=self.name)
            try:
                session.get_scoped_config()
            except errors.BotoCoreError as error:
                raise self._missing(type(error).__name__) from None
            self._found = session, None
        return self._found

    def _missing(self, why: str) -> SecretError:
        name = self.name or "default"
        login = f"aws sso login --profile {name}"
        return SecretError(
            f"AWS has no credentials for the profile {name!r} ({why}); look at `aws configure "
            f"list --profile {name}`, and with single sign-on do `{login}`"
        )

    def __repr__(self) -> str:
        return f"AwsProfile({self.name!r})" if self.name else "AwsProfile()"
