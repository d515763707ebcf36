"""Snapshots in files: they come back, do not overwrite each other, and old ones are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from detent import Agent, ScriptedChatGenerator
from detent.adapters.control.breakpoints import break_every_step
from detent.adapters.system import snapshot_files as snapshots
from detent.adapters.system.snapshot_files import load_snapshot, save_snapshot
from detent.core.errors import StoredDataError
from detent.core.storage.snapshot import AgentSnapshot


def stopped() -> AgentSnapshot:
    agent = Agent(chat_generator=ScriptedChatGenerator())
    return agent.run(
        "hello \ud800", run_id="a/b", break_point=break_every_step, raise_at_break_point=False
    ).snapshot


def test_a_snapshot_comes_back_from_its_file(tmp_path: Path) -> None:
    """Under a name of its own each time, inside the folder."""
    snapshot = stopped()

    paths = {save_snapshot(snapshot, tmp_path / "new") for _ in range(20)}

    assert len(paths) == 20
    assert {load_snapshot(path).to_json() for path in paths} == {snapshot.to_json()}
    assert set((tmp_path / "new").iterdir()) == paths


def test_a_full_disk_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even half of one."""

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        save_snapshot(stopped(), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_snapshot_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that is too large to be one."""
    path = tmp_path / "x.json"
    path.write_text("{")
    with pytest.raises(StoredDataError, match=r"x\.json: the snapshot is damaged"):
        load_snapshot(path)
    monkeypatch.setattr(snapshots, "LARGEST_BYTES", 0)
    with pytest.raises(StoredDataError, match="no snapshot is that large"):
        load_snapshot(path)
