"""The pytest plugin: fixtures for tests of agents, and a guard against calls of real models.

pytest loads it by itself. The setting ``detent_real_models = forbid`` puts all tests under the
guard, but for those that are marked with ``real_models``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

if TYPE_CHECKING:
    from detent.adapters.journals.memory import MemoryJournal
    from detent.adapters.system.clocks import ManualClock
    from detent.adapters.testing.doubles.human import ScriptedHuman
    from detent.adapters.testing.doubles.scripted import ScriptedChatGenerator

    Scripted = TypeVar("Scripted", ScriptedChatGenerator, ScriptedHuman)

SETTING = "detent_real_models"
MARK = "real_models"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Make the setting known."""
    parser.addini(SETTING, "forbid or allow (the default): calls of real models", default="allow")


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known, and refuse a setting that there is not."""
    config.addinivalue_line(
        "markers", f"{MARK}(*hosts): may call real models, or only those at these hosts"
    )
    if config.getini(SETTING) not in ("allow", "forbid"):
        raise pytest.UsageError(f"{SETTING} is allow or forbid, not {config.getini(SETTING)!r}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """Run a test and its fixtures under the guard, if that is set."""
    if item.config.getini(SETTING) == "allow":
        return (yield)
    from detent.ports.real_models import allow_real_models, forbid_real_models

    mark = item.get_closest_marker(MARK)
    with forbid_real_models() if mark is None else allow_real_models(*mark.args):
        return (yield)


@pytest.fixture
def no_real_models() -> Generator[None]:
    """Calls of real models raise."""
    from detent.ports.real_models import forbid_real_models

    with forbid_real_models():
        yield


@pytest.fixture
def scripted_chat() -> Generator[Callable[..., ScriptedChatGenerator]]:
    """Makes scripted chat generators; after the test each must have said all its lines."""
    from detent.adapters.testing.doubles.scripted import ScriptedChatGenerator

    yield from _made_and_used_up(ScriptedChatGenerator)


@pytest.fixture
def scripted_human() -> Generator[Callable[..., ScriptedHuman]]:
    """Makes scripted humans; after the test each must have given all its answers."""
    from detent.adapters.testing.doubles.human import ScriptedHuman

    yield from _made_and_used_up(ScriptedHuman)


def _made_and_used_up(kind: type[Scripted]) -> Generator[Callable[..., Scripted]]:
    made: list[Scripted] = []

    def make(*script: Any, **options: Any) -> Scripted:
        made.append(kind(*script, **options))
        return made[-1]

    yield make
    for double in made:
        double.assert_complete()


@pytest.fixture
def manual_clock() -> ManualClock:
    """A clock that stands at 0 until the test advances it."""
    from detent.adapters.system.clocks import ManualClock

    return ManualClock()


@pytest.fixture
def memory_journal() -> MemoryJournal:
    """An empty journal."""
    from detent.adapters.journals.memory import MemoryJournal

    return MemoryJournal()
