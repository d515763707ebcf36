"""What a run was begun with at the command line: it is kept, and goes on with the run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
from attrs import evolve, frozen
from click.core import ParameterSource
from rich.console import Console

from detent.adapters.cli.show import put
from detent.adapters.providers.http.endpoints import without_secrets
from detent.adapters.stories.entries import messages_in, object_of
from detent.core.chat.messages import ChatMessage
from detent.ports.journal import Journal

KEPT = "detent.command"
"""Where a question keeps them, in its `meta`: no model is sent that."""
MAX_STEPS = 12
"""How many steps a run may take where nobody says it."""
OPTIONS = {"as_json": "json", "guarded": "ask"}
"""What parameters are called that have another name as options."""


@frozen
class Settings:
    """What a command was told of how a question is to be answered.

    They are kept in the question itself and not in a file beside the runs: so they are there from
    the run's first entry on, are copied, exported and deleted with it, and no crash parts them.

    Attributes:
        folder: the folder that is looked into.
        output: the file that an answer is written to, if to any.
        model: who answers.
        base_url: the server of that model, if not the usual one.
        max_steps: how many steps the run may take.
        guarded: whether a human is asked before any tool runs.
    """

    folder: Path
    output: Path | None
    model: str
    base_url: str | None
    max_steps: int = MAX_STEPS
    guarded: bool = False

    def data(self) -> dict[str, str | int | None]:
        """As they are kept: good in any folder, and without a key that stands in a URL."""
        return {
            "folder": str(self.folder.resolve()),
            "output": None if self.output is None else str(self.output.absolute()),
            "model": self.model,
            "base_url": None if self.base_url is None else without_secrets(self.base_url),
            "max_steps": self.max_steps,
            "guarded": self.guarded,
        }

    def question(self, text: str) -> ChatMessage:
        """A question that keeps them."""
        return ChatMessage.from_user(text, meta={KEPT: self.data()})


def kept_settings(journal: Journal, run_id: str) -> Settings | None:
    """What the latest question of a run was asked with; None where nothing is known of it."""
    first = next(iter(journal.read(run_id)), None)
    if first is None:
        return None
    metas = [object_of(message.get("meta")) for message in messages_in(first.data)]
    found = [meta[KEPT] for meta in metas if KEPT in meta]
    return _settings(found[-1]) if found else None


def _settings(data: object) -> Settings | None:
    match data:
        case {
            "folder": str(folder),
            "output": str() | None as output,
            "model": str(model),
            "base_url": str() | None as base_url,
            "max_steps": int(max_steps),
            "guarded": bool(guarded),
        }:
            path = None if output is None else nearest(Path(output))
            return Settings(nearest(Path(folder)), path, model, base_url, max_steps, guarded)
        case _:
            return None


def nearest(path: Path) -> Path:
    """A path as it is said here."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def default_folder() -> Path:
    """The folder that is looked in where none is named."""
    docs = Path("docs")
    return docs if docs.is_dir() else Path()


def settings_for(
    console: Console, kept: Settings | None, subject: str, instead: str, *, asks: bool = True
) -> Settings:
    """What this command answers with: what is `kept`, and of its own options those that are typed.

    RULE: a default never takes the place of what a run was begun with, and what is typed never
    does so silently.

    Args:
        console: where it is said what is another than was kept.
        kept: what the run, or the conversation, was begun with.
        subject: what is gone on with, as people name it.
        instead: how one asks about another folder.
        asks: whether a model is asked; else only the file of the answer matters.

    Raises:
        UsageError: another folder is typed: what was read is of the one that it was begun with.
            Or --ask where nobody was asked, or the server's URL was kept without its key.
        ClickException: the folder is not there any more.
    """
    typed = _typed()
    if kept is None:
        return typed
    said = {name for name in kept.data() if is_typed(name)}
    changed = [name for name in kept.data() if name in said and _differs(name, typed, kept)]
    if "folder" in changed:
        text = f"{subject} looks into {kept.folder}, with which it was begun: leave out --folder"
        raise click.UsageError(f"{text}; {instead}")
    if "guarded" in changed:  # its calls were judged by another rule than they would be now
        raise click.UsageError(f"{subject} was begun without --ask: leave that out; {instead}")
    for name in changed:
        is_used = asks or name == "output"
        text = _change(name, typed, kept) if is_used else _left_aside(name, typed, subject)
        put(console, text, "yellow")
    chosen = evolve(kept, **{name: getattr(typed, name) for name in said})
    if _provider(chosen) != _provider(kept) and "base_url" not in said:
        chosen = evolve(chosen, base_url=None)  # it is a server of the other provider
    if asks:
        _require_whole(chosen, subject)
    return chosen


def _typed() -> Settings:
    """What this command is told, with defaults: `run` knows no --ask, and `chat` no --max-steps."""
    params = click.get_current_context().params
    return Settings(
        params["folder"] or default_folder(),
        params["output"],
        params["model"],
        params["base_url"],
        params.get("max_steps", MAX_STEPS),
        params.get("guarded", False),
    )


def is_typed(name: str) -> bool:
    """Whether an option stands on the command line."""
    source = click.get_current_context().get_parameter_source(name)
    return source is ParameterSource.COMMANDLINE


def _differs(name: str, typed: Settings, kept: Settings) -> bool:
    return typed.data()[name] != kept.data()[name]


def _provider(settings: Settings) -> str:
    return settings.model.partition(":")[0]


def _change(name: str, typed: Settings, kept: Settings) -> str:
    """What is another than it was, as options say it."""
    now = " ".join(_words(name, getattr(typed, name)))
    before = _words(name, getattr(kept, name))
    if not before:
        return f"{now}, without which it was begun"
    return f"{now} in place of {before[-1]}, with which it was begun"


def _left_aside(name: str, typed: Settings, subject: str) -> str:
    now = " ".join(_words(name, getattr(typed, name)))
    return f"{now} is left aside: {subject} has ended, and nothing is asked any more"


def _require_whole(settings: Settings, subject: str) -> None:
    """Raise ClickException for what is not there, or was not kept whole."""
    url = settings.base_url
    if url is not None and "***" in url and not is_typed("base_url"):
        text = f"{subject} was begun with --base-url {url}, whose key is not kept"
        raise click.UsageError(f"{text}: say the whole URL by --base-url")
    if not settings.folder.is_dir():
        text = f"{subject} looks into {settings.folder.absolute()}, which is not there any more"
        raise click.ClickException(f"{text}: put it back, or ask anew about another folder")


def typed_words(kept: Settings | None) -> Iterator[str]:
    """The options that were typed, as the command that goes on needs them.

    What is `kept` is left out, unless it has a key: that is not kept, and not shown either.
    """
    context = click.get_current_context()
    known = {} if kept is None else kept.data()
    typed = _typed()
    for name, value in context.params.items():
        if name in {"question", "resume", "thread"} or not is_typed(name):
            continue
        same = name in known and known[name] == typed.data()[name]
        has_key = name == "base_url" and value != without_secrets(value)
        if not same or has_key:
            yield from _words(name, value)


def _words(name: str, value: object) -> list[str]:
    option = OPTIONS.get(name, name.replace("_", "-"))
    match value:
        case None:
            return []
        case bool():
            return [f"--{option}"] if value else []
        case _:
            text = str(value)
            return [f"--{option}", without_secrets(text) if name == "base_url" else text]
