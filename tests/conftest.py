"""What holds for every test."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
import threading
import warnings
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings

# A shell that starts a program in the background has it ignore Ctrl-C, and `nohup` the end of the
# terminal; tests press the one, and end the other.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)

IN_CI = bool(os.environ.get("CI"))

# A shared machine may stall for a moment; hypothesis's own profile for CI adds derandomisation.
settings.register_profile(
    "calm", settings.get_profile(settings.get_current_profile_name()), deadline=None
)
# A hundred examples of each property took half of the time of the core's tests. So they try a
# sample, which is another one each time where it is not CI, and `dev.py properties` tries more.
settings.register_profile("sample", settings.get_profile("calm"), max_examples=30)
settings.register_profile("thorough", settings.get_profile("calm"), max_examples=1000)
settings.load_profile("sample")


def pytest_collection() -> None:
    """What is collected stays to the end: there is no garbage to look for among it."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Nor later: tests look for the garbage that they have made themselves."""
    gc.freeze()
    gc.enable()


LONGEST = tuple(f"tests/{name}" for name in ("typing/", "test_", "docs/"))
"""Where the files are that take longest: who begins one of them last works alone at the end."""

WAITING = ("tests/adapters/hosts/engines/", "tests/examples/test_refund_desk_deployed.py")
"""Where tests wait for servers and other processes, and leave their processor to others."""

WAITING_SHARE = 0.6
"""Which part of the other files has been begun when the last of those begins that wait."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first, and those that wait among them: one with several that work."""
    files = dict.fromkeys(item.nodeid.partition("::")[0] for item in items)
    waiting = [file for file in files if file.startswith(WAITING)]
    others = [file for file in files if not file.startswith(WAITING)]
    busy = sorted(others, key=lambda file: not file.startswith(LONGEST))
    step = len(busy) * WAITING_SHARE / max(len(waiting), 1)
    places = {file: float(place) for place, file in enumerate(busy)}
    places |= {file: place * step for place, file in enumerate(waiting)}
    items.sort(key=lambda item: (places[(file := item.nodeid.partition("::")[0])], file))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Nothing is skipped in CI: there a skip is a failure."""
    report = yield
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and in CI nothing may be: {report.longrepr}"
    return report


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of a server: that of DETENT_TEST_POSTGRES, else one that is started here."""
    if given := os.environ.get("DETENT_TEST_POSTGRES"):
        yield given
        return
    with warnings.catch_warnings(action="ignore"):  # it looks for folders that need not be there
        pgserver = pytest.importorskip(
            "pgserver", reason="neither DETENT_TEST_POSTGRES nor pgserver"
        )
        # Not a folder of pytest's: when root runs the tests, the server runs as another user.
        with tempfile.TemporaryDirectory() as folder:
            server = pgserver.get_server(folder)
            yield server.get_uri()
            server.cleanup()
