"""`detent models`: which models can be named, where they are, and whether a key is there."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

import click
from rich.console import Console

from detent.adapters.cli.endings import told_of
from detent.adapters.cli.show import put
from detent.adapters.providers.capabilities import CAPABILITIES
from detent.adapters.providers.http.caller import host_of
from detent.adapters.providers.local.chat import LocalChatGenerator
from detent.adapters.providers.local.weights import known_models
from detent.adapters.providers.registry import PROVIDERS, chat_generator
from detent.ports.chat import ChatGeneratorError

WIDE = 100
"""The width of a terminal on which a name and what is said of it stand side by side."""


@click.command()
@click.argument("provider", required=False)
def models(provider: str | None) -> None:
    """List the models that can be named, where they are, and whether a key for them is set.

    With PROVIDER its server is asked which models it has.
    """
    console = Console()
    if provider is not None:
        for name in _models_of(provider):
            put(console, f"{provider.partition(':')[0]}:{name}")
        return
    for model in known_models():
        here = "on this machine" if model.path is not None else "fetched when first used"
        size = f"{model.size / 1e6:,.0f} MB"
        _row(console, f"local:{model.name}", f"{size:>9}  {model.licence:12} {here}")
    put(console, "\nProviders; those at a URL need the extra http:", "bold")
    for name in PROVIDERS:
        _row(console, f"{name}:MODEL", _about(name))
        if name in CAPABILITIES:
            _row(console, "", ", ".join(CAPABILITIES[name].words()), "dim")


def _models_of(provider: str) -> list[str]:
    """The names of a provider's models."""
    try:
        generator = chat_generator(f"{provider.partition(':')[0]}:MODEL")
        if isinstance(generator, LocalChatGenerator):
            return [model.name for model in known_models()]
        with generator:
            return generator.list_models()
    except (ChatGeneratorError, ImportError, ValueError) as error:
        raise told_of(error) from error


def _row(console: Console, name: str, about: str, style: str = "") -> None:
    """A name and what is said of it, side by side; on a narrow terminal one below the other."""
    words = " ".join(about.split())
    text = f"{name:30} {about}" if console.width >= WIDE else f"{name}\n    {words}".lstrip("\n")
    put(console, text, style)


def _about(provider: str) -> str:
    """Where a provider is found, and whether its key is there; or what else it needs."""
    try:
        generator = chat_generator(f"{provider}:MODEL")
    except (ValueError, ImportError) as error:
        return str(error)
    if isinstance(generator, LocalChatGenerator):
        return "in this process, with the extra local"
    url = urlsplit(generator.endpoint.base_url)
    place = urlunsplit((url.scheme, host_of(url.geturl()), url.path, "", ""))
    return f"{place}  {generator.about_key()}"
