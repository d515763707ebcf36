"""How llama.cpp is set up."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from detent.adapters.providers.local.llama import WAIT_POLICY, Threads, require_llama


def test_all_processors_read_and_half_of_them_write() -> None:
    """At least one does."""
    threads = Threads.of_this_machine()
    assert 1 <= threads.writing <= threads.reading <= (os.cpu_count() or 1)
    assert threads.writing == max(1, threads.reading // 2)


def test_without_the_extra_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is fetched."""
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ImportError, match=r"pip install 'detent\[local\]'"):
        require_llama()


LOAD = """
import os
from pathlib import Path
from detent.adapters.providers.local.llama import load
from detent.core.errors import DetentError
try:
    load(Path("/dev/null"), n_ctx=1, threads=None, api_key=None)
except DetentError:
    print(os.environ["OMP_WAIT_POLICY"])
"""


@pytest.mark.parametrize(
    ("before", "after"), [({}, "PASSIVE"), ({WAIT_POLICY: "ACTIVE"}, "ACTIVE")]
)
def test_waiting_threads_sleep_unless_the_environment_says_otherwise(
    before: dict[str, str], after: str
) -> None:
    """It is said before OpenMP is loaded."""
    clean = {name: value for name, value in os.environ.items() if name != WAIT_POLICY}
    done = subprocess.run(
        [sys.executable, "-c", LOAD], env=clean | before, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == after
