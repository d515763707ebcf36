"""The local model as a server with OpenAI's API, for tests and for trying clients out."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from detent.adapters.providers.local.fetching import fetch
from detent.adapters.providers.local.llama import load
from detent.adapters.providers.local.weights import OnProgress


@contextmanager
def local_server(
    model: str | None = None,
    *,
    n_ctx: int = 4096,
    api_key: str | None = None,
    on_progress: OnProgress | None = None,
) -> Generator[str]:
    """A server with OpenAI's API on the loopback interface; gives its base URL, ``http://…/v1``.

    It runs in this process, in threads that do not need Python: nothing is left behind when the
    block ends, however it ends, and replies in the making end with it. The port is a free one.
    Tools are described to the model, but what it replies is not held to them. After a streamed
    answer the server may close a connection without a word: clients that reuse connections have to
    be ready for that.

    Args:
        model: as for `detent.adapters.providers.local.chat.LocalChatGenerator`.
        n_ctx: how many tokens a conversation may have, the reply included.
        api_key: what clients have to send as a bearer token; by default any client is answered.
        on_progress: told how far a fetch of the weights is, in bytes.

    Raises:
        WeightsError: the weights cannot be had.
        LlamaError: they cannot be loaded.
    """
    path = fetch(model, on_progress=on_progress)
    server = load(path, n_ctx=n_ctx, threads=None, api_key=api_key)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server
