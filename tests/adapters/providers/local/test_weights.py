"""The catalogue of models, and how a model is named."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

import pytest

from detent.adapters.providers.local.fetching import fetch
from detent.adapters.providers.local.weights import (
    CACHE_VARIABLE,
    DEFAULT_MODEL,
    MODEL_VARIABLE,
    KnownModel,
    WeightsError,
    chosen_model,
    known_models,
)


@pytest.fixture(autouse=True)
def _own_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.delenv(MODEL_VARIABLE, raising=False)


@pytest.mark.parametrize("model", known_models(), ids=lambda model: model.name)
def test_the_pieces_of_a_model_make_up_its_file(model: KnownModel) -> None:
    """Their sizes add up, and each has a hash of its own."""
    assert [*accumulate(wheel.member_size for wheel in model.wheels)][-1] == model.size
    hashes = {model.sha256, *(wheel.sha256 for wheel in model.wheels)}
    assert len(hashes) == len(model.wheels) + 1
    assert {len(one) for one in hashes} == {64}
    assert model.licence


def test_the_default_model_comes_first() -> None:
    """And is in the catalogue at all."""
    assert known_models()[0].name == DEFAULT_MODEL == chosen_model(None)


def test_the_environment_names_a_model_where_the_code_names_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the code names wins."""
    monkeypatch.setenv(MODEL_VARIABLE, "smollm2-135m")
    assert chosen_model(None) == "smollm2-135m"
    assert chosen_model("other") == "other"


def test_a_file_of_ones_own_is_used_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named in code or in the environment."""
    own = tmp_path / "own.gguf"
    own.write_bytes(b"GGUF")
    assert fetch(str(own)) == own
    monkeypatch.setenv(MODEL_VARIABLE, str(own))
    assert fetch() == own


def test_a_model_that_nobody_knows_is_refused() -> None:
    """The message says which there are."""
    with pytest.raises(WeightsError, match=r"no local model 'gpt-9'.*smollm2-135m"):
        fetch("gpt-9")


def test_a_model_in_the_cache_is_not_fetched_again(tmp_path: Path) -> None:
    """And is listed with its place."""
    model = known_models()[0]
    assert model.path is None
    place = tmp_path / "cache" / "models" / model.filename
    place.parent.mkdir(parents=True)
    place.write_bytes(b"GGUF")
    assert model.path == place == fetch(model.name)


def test_the_cache_is_the_users_own_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found by the rules of the platform."""
    monkeypatch.delenv(CACHE_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", "/nowhere")
    assert known_models()[0].path is None
