"""A store to look into."""

from __future__ import annotations

from pathlib import Path

import pytest

from detent import (
    SQLiteJournal,
    ToolCall,
)
from tests.adapters.cli.runs.clerks import PAY, begin, said


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A store with a run that waits and one that is done; the app that goes on with them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DETENT_STORE", "runs.db")
    store = SQLiteJournal("runs.db")
    begin(store, "order-1", said(ToolCall("look", {"q": "Bob"}), PAY, text="hm", read=9, written=2))
    begin(store, "talk-1", said(text="Hello.", read=7, written=3))
    return "runs.db"
