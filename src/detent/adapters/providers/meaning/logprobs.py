"""How likely a model found each token that it wrote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from detent.core.chat.replies import TokenLogprob

Json: TypeAlias = Mapping[str, Any]


def logprobs(tokens: Iterable[Json] | None) -> list[TokenLogprob]:
    """Tokens as OpenAI tells them, each with the tokens that the model could have written.

    >>> logprobs([{"token": "a", "logprob": -0.5, "top_logprobs": [{"token": "b", "logprob": -1}]}])
    [TokenLogprob(token='a', logprob=-0.5, alternatives=(('b', -1.0),))]
    """
    return [
        TokenLogprob(
            str(token.get("token")),
            float(token.get("logprob") or 0.0),
            tuple(
                (str(other.get("token")), float(other.get("logprob") or 0.0))
                for other in token.get("top_logprobs") or ()
            ),
        )
        for token in tokens or ()
    ]
