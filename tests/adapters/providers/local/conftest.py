"""What tests of the local model share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from detent.adapters.providers.local.chat import LocalChatGenerator
from detent.adapters.providers.local.fetching import fetch
from detent.adapters.providers.local.weights import WeightsError

TINY = "smollm2-135m"


@pytest.fixture(scope="session")
def tiny_model() -> str:
    """The name of a small model whose weights are on this machine, fetched if need be."""
    try:
        fetch(TINY)
    except WeightsError as error:
        pytest.skip(reason=f"the weights of {TINY} cannot be had: {error}")
    return TINY


@pytest.fixture(scope="session")
def tiny(tiny_model: str) -> Iterator[LocalChatGenerator]:
    """A generator that runs the small model."""
    with LocalChatGenerator(tiny_model, n_ctx=1024) as generator:
        yield generator
