"""Scrubbing: secrets do not get into what a test records."""

from __future__ import annotations

import os
import re

SECRET_NAMES = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)$", re.IGNORECASE)
SHORTEST = 8
"""An environment variable with fewer characters is not taken for a secret."""

SECRETS = re.compile(
    r"\b[prs]k[-_][\w-]{16,}"  # OpenAI, Anthropic, OpenRouter, Stripe
    r"|\bAKIA[0-9A-Z]{16}\b"  # AWS
    r"|\bAIza[\w-]{35}"  # Google
    r"|\bgh[opsur]_\w{36,}"  # GitHub
    r"|\bxox[abeoprs]-[\w-]{10,}"  # Slack
    r"|(?<=[Bb]earer )[\w.~+/-]{16,}=*"
)
"""What keys look like that are written into prompts, arguments and results."""

WEB_TOKENS = re.compile(
    r"(?<![\w-])(?=[\w-]++\.[\w-]{10,}+\.)([\w-]*?\b)eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*"
)
"""JSON web tokens. What may be one is looked through once, not from each place where one begins."""

KEY_END = re.compile(r"-----END [A-Z ]*PRIVATE KEY-----")
PRIVATE_KEYS = re.compile(rf"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?{KEY_END.pattern}", re.DOTALL)


def scrub_secrets(text: str) -> str:
    """`text` without what looks like a key, and without the environment's secrets.

    >>> scrub_secrets("use sk-abcdefghijklmnop1234")
    'use ***'
    """
    for name, value in os.environ.items():
        if len(value) >= SHORTEST and SECRET_NAMES.search(name):
            text = text.replace(value, f"<{name}>")
    text = WEB_TOKENS.sub(r"\1***", text)
    end = max((found.end() for found in KEY_END.finditer(text)), default=0)
    text = PRIVATE_KEYS.sub("***", text[:end]) + text[end:]  # from behind it none ends
    return SECRETS.sub("***", text)
