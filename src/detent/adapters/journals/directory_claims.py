"""The claims on the runs of a journal in a directory: a small file for each run, and each owner.

They are not waited for until they are on the disk: a claim that a power cut loses was that of a
process which the same cut has ended.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from attrs import asdict

from detent.adapters.journals.directory_folder import Folder, stem_of
from detent.adapters.journals.lines import checksum_of, json_of, last_line, line_of, write, writing
from detent.adapters.system.snapshot_files import OWN_FILE, OWN_FOLDER
from detent.ports.claims import FORGOTTEN_S, Claim, Owner

CLAIM, OWNER = ".claim", ".owner"


class DirectoryClaims:
    """Keeps claims in a directory in the folder of a journal, which is made with the first one."""

    is_shared = True
    guards_appends = True

    def __init__(self, folder: Folder) -> None:
        self._folder, self._path = folder, folder.path / "claims"

    def find(self, run_id: str) -> Claim | None:
        """As `Claims.find` says."""
        return _claim(self._read(self._file(run_id, CLAIM)))

    def swap(self, run_id: str, was: Claim | None, now: Claim) -> bool:
        """As `Claims.swap` says."""
        with self._errors("written"):
            self._path.mkdir(OWN_FOLDER, exist_ok=True)
            with writing(self._file(run_id, CLAIM), create=True) as file:
                end, line = last_line(file)  # behind it, what a full disk has cut off
                if _claim(_data(line)) != was:
                    return False
                write(file, end, line_of(asdict(now)))
                return True

    def stands(self, run_id: str, claim: Claim) -> bool:
        """Whether the claim is there still, and nobody has deleted or taken it."""
        return self.find(run_id) == claim

    def owner(self, owner_id: str) -> Owner | None:
        """As `Claims.owner` says."""
        return _owner(self._read(self._file(owner_id, OWNER)))

    def keep(self, owner: Owner) -> None:
        """As `Claims.keep` says."""
        path = self._file(owner.id, OWNER)
        new = path.with_suffix(f".{os.getpid()}")
        with self._errors("written"):
            if not path.exists():
                self._path.mkdir(OWN_FOLDER, exist_ok=True)
                self._forget(owner.until - FORGOTTEN_S)
            new.touch(OWN_FILE)
            new.write_bytes(line_of(asdict(owner)))
            new.replace(path)  # whoever reads finds the one or the other, whole

    def delete(self, run_id: str) -> None:
        """Forget the claim on a run that is not there."""
        self.file(run_id).unlink(missing_ok=True)

    def file(self, run_id: str) -> Path:
        """The file of the claim on a run, which goes with the run."""
        return self._file(run_id, CLAIM)

    def _forget(self, before: float) -> None:
        for path in self._path.glob(f"*{OWNER}"):
            with suppress(FileNotFoundError):  # another process forgets, too
                found = _owner(self._read(path))
                if found is None or found.until < before:
                    path.unlink()

    def _read(self, path: Path) -> Mapping[str, Any]:
        with self._errors("read"):
            try:
                return _data(path.read_bytes())
            except FileNotFoundError:
                return {}

    def _file(self, name: str, suffix: str) -> Path:
        return self._path / f"{stem_of(name)}{suffix}"

    def _errors(self, done: str) -> AbstractContextManager[None]:
        return self._folder.errors(done, self._path)


def _data(text: bytes) -> Mapping[str, Any]:
    """What the last whole line of a file says: another one may just be written behind it."""
    line = text[: text.rfind(b"\n") + 1]
    line = line[line.rfind(b"\n", 0, len(line) - 1) + 1 :]
    data = json_of(line) if checksum_of(line) else None
    return data if isinstance(data, dict) else {}


def _claim(data: Mapping[str, Any]) -> Claim | None:
    match data:
        case {"owner": str(owner), "epoch": int(epoch), "since": int() | float() as since}:
            return Claim(owner, epoch, since)
        case _:
            return None


def _owner(data: Mapping[str, Any]) -> Owner | None:
    match data:
        case {
            "id": str(owner_id),
            "host": str(host),
            "pid": int(pid),
            "started": str(started),
            "until": int() | float() as until,
        }:
            return Owner(owner_id, host, pid, started, until)
        case _:
            return None
