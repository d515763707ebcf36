"""llama.cpp in this process: a model in memory, and the HTTP server that comes with it.

OpenMP reads ``OMP_WAIT_POLICY`` when it is first loaded. Unless the environment says otherwise it
is set to ``PASSIVE`` before that: threads that wait by spinning take the processor from those that
work as soon as anything else runs on the machine, and a model then slows down to a tenth.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from attrs import frozen

from detent.adapters.system.installation import install_command
from detent.core.errors import DetentError

WAIT_POLICY = "OMP_WAIT_POLICY"
GGUF_MAGIC = b"GGUF"
BATCH_TOKENS = 128
OTHER_PROMPTS_MIB = 512

OnEvent: TypeAlias = Callable[[dict[str, Any]], bool]
"""Receives the events of a streamed reply. To give True stops the reply."""


class LlamaError(DetentError, RuntimeError):
    """llama.cpp cannot be loaded, or cannot load a model: the message says what to do."""


class Server(Protocol):
    """A model in memory. Its memory is freed when nothing refers to it any more."""

    @property
    def listening_address(self) -> str:
        """The URL of its HTTP server."""
        ...

    def handle_chat_completions(self, body: Mapping[str, object], on_event: OnEvent, /) -> object:
        """Answer the body of a chat completion."""
        ...


@frozen
class Threads:
    """How many threads read prompts, and how many write replies.

    Reading is bound by the processor and takes all of it. Writing is bound by memory: it is fastest
    on half of the processors, which is how many real cores most machines have.
    """

    reading: int
    writing: int

    @classmethod
    def of_this_machine(cls) -> Threads:
        """The numbers that suit the processors that this process may use."""
        usable = getattr(os, "sched_getaffinity", None)
        processors = len(usable(0)) if usable is not None else os.cpu_count() or 1
        return cls(reading=processors, writing=max(1, processors // 2))


def require_llama() -> None:
    """Raise ImportError with the remedy where xllamacpp is not installed."""
    if find_spec("xllamacpp") is None:
        raise ImportError(
            f"the local model needs xllamacpp: {install_command('local')}", name="xllamacpp"
        )


def load(path: Path, *, n_ctx: int, threads: Threads | None, api_key: str | None) -> Server:
    """Load the model in the GGUF file `path`.

    Its HTTP server listens on a free port of the loopback interface, for as long as it lives; it
    asks for `api_key` if there is one.

    Raises:
        LlamaError: the library does not run here, the file is no model, or memory does not suffice.
    """
    native = _native()
    with path.open("rb") as file:
        if file.read(len(GGUF_MAGIC)) != GGUF_MAGIC:
            raise LlamaError(f"{path} is not a GGUF file")
    threads = threads or Threads.of_this_machine()
    parameters = native.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx = n_ctx
    parameters.n_batch = parameters.n_ubatch = BATCH_TOKENS  # a reply stops between two batches
    parameters.n_parallel = 1
    parameters.cache_ram_mib = OTHER_PROMPTS_MIB
    parameters.cpuparams.n_threads = threads.writing
    parameters.cpuparams_batch.n_threads = threads.reading
    parameters.hostnames, parameters.port = ["127.0.0.1"], 0
    parameters.api_keys = [api_key] if api_key else []
    parameters.ui = parameters.endpoint_slots = parameters.warmup = False
    parameters.verbosity = 0
    try:
        server: Server = native.Server(parameters)
    except (RuntimeError, ValueError) as error:
        raise LlamaError(
            f"llama.cpp cannot load {path}: its architecture is not known to this version of "
            f"xllamacpp, or there is too little memory for it with n_ctx={n_ctx}"
        ) from error
    return server


def _native() -> Any:
    require_llama()
    os.environ.setdefault(WAIT_POLICY, "PASSIVE")
    try:
        xllamacpp: Any = import_module("xllamacpp")
    except ImportError as error:
        raise LlamaError(
            f"xllamacpp cannot be loaded: {error}. On Linux it needs the OpenMP library of GCC "
            "(Debian and Ubuntu: apt install libgomp1)"
        ) from error
    # A build that cannot read our grammars would end the whole process at the first one.
    if not xllamacpp.json_schema_to_grammar({"type": "object"}).startswith("%llguidance"):
        raise LlamaError(
            f"this xllamacpp is built without llguidance: {install_command('local', '-U')}"
        )
    return xllamacpp
