"""The report of the benchmarks: what was measured, as tables, and the page that shows them."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explanation" / "what-a-turn-costs.md"


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of that name, which is no package's."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "peers"))
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return import_module("report")


def stored_run(wall_s: float) -> dict[str, Any]:
    """A measurement of W9, as the worker gives it."""
    one = {"ok": True, "events": 10_000}
    figures = {"wall": [wall_s], "cpu": [wall_s], "speed_us": [0.72], "extra": [one]}
    return {"contender": "detent", "workload": "W9", "n": 1000, "load1": 0.5, **figures}


def test_each_target_is_judged_by_what_was_measured(
    report: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """One is met, one is missed, and one that nobody has measured is told as such."""
    slow = stored_run(0.5) | {"variant": "replay"}
    quick = stored_run(0.002) | {"variant": "resume"}

    report.report(["W9"], import_module("envs").contenders(["detent"]), [slow, quick])

    told = capsys.readouterr().out
    assert "| W9 | resume 1,000 turns | <= 10 ms | 2 ms | yes |" in told
    assert "| W9 | replay, events a second | >= 50,000 | 20,000 | **no** |" in told
    assert "| W10 | pyright above an empty file | <= 4 s | - | not measured |" in told
    assert "1 of 2 met." in told
    assert "| detent · replay | 500 | 500 | 1 run |" in told


def test_the_tables_of_the_page_are_replaced_and_nothing_else(report: Any, tmp_path: Path) -> None:
    """They stand between two marks, which the page has."""
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(report.BEGIN)
    _, _, after = rest.partition(report.END)

    report.refresh(page, "first\n")
    report.refresh(page, "second\n")

    assert page.read_text(encoding="utf-8") == (
        f"{before}{report.BEGIN}\n\nsecond\n\n{report.END}{after}"
    )


def test_a_page_without_the_marks_is_left_alone(report: Any, tmp_path: Path) -> None:
    """The message names them."""
    page = tmp_path / "page.md"
    page.write_text("text", encoding="utf-8")

    with pytest.raises(SystemExit, match="measured: begin"):
        report.refresh(page, "table")
    assert page.read_text(encoding="utf-8") == "text"
