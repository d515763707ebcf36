"""The agent that answers about a folder, and what the commands that have it answer share."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import click
from platformdirs import user_state_path
from rich.console import Console

from detent.adapters.agent.agent import Agent
from detent.adapters.agent.strategies import Strategy
from detent.adapters.cli.endings import INTERRUPTED, told_of
from detent.adapters.cli.folder import (
    GIVE,
    WRITE,
    Folder,
    Research,
    answer_giver,
    answer_now,
    answer_writer,
    folder_tools,
    told_before,
)
from detent.adapters.cli.settings import Settings, typed_words
from detent.adapters.cli.show import progress_bar, put
from detent.adapters.confirmation.policies import AlwaysAskPolicy
from detent.adapters.confirmation.strategies import BlockingConfirmationStrategy
from detent.adapters.journals.sqlite import SQLiteJournal
from detent.adapters.providers.local.chat import LocalChatGenerator
from detent.adapters.providers.local.weights import known_models
from detent.adapters.providers.registry import PROVIDERS, chat_generator
from detent.adapters.system.program import program
from detent.adapters.system.snapshot_files import OWN_FOLDER
from detent.core.control.hooks import before_model, before_tool
from detent.core.errors import DetentError
from detent.core.run.limits import Limits
from detent.ports.chat import ChatGenerator, ChatGeneratorError
from detent.ports.confirmation import ConfirmationUI

PROMPT = (
    "You answer questions about a folder of text files. Search first, then read the places that "
    "matter, then answer from what you have read and from nothing else, in a few plain sentences. "
    "Name the files that you used."
)
PROMPT_WRITING = " When you know the answer, call write_answer once with the whole of it."
PROMPT_GIVING = " When you know the answer, call give_answer once with the whole of it."

SMALL = "The embedded model is small and often wrong: look up what it says, or name one by --model."


def _models(context: click.Context, option: click.Parameter, typed: str) -> list[str]:
    """What Tab completes where a model is named."""
    names = (
        *(f"local:{model.name}" for model in known_models()),
        *(f"{provider}:" for provider in PROVIDERS),
    )
    return [name for name in names if name.startswith(typed)]


model_option = click.option(
    "--model",
    default="local",
    show_default=True,
    metavar="PROVIDER:NAME",
    shell_complete=_models,
    help="The model: local (the embedded one), local:NAME, or NAME of another provider.",
)


class FileToWrite(click.Path):
    """A file that may be made: a folder that is not there is missed before a model is paid."""

    def __init__(self) -> None:
        super().__init__(dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path."""
        path = cast(Path, super().convert(value, param, ctx))
        if not path.parent.is_dir():
            text = f"there is no folder '{path.parent}' to write it to: make it, or name another"
            self.fail(text, param, ctx)
        return path


folder_option = click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder to look in. [default: docs, or the current folder]",
)
base_url_option = click.option(
    "--base-url",
    metavar="URL",
    help="The server, for openai: models; no key is sent to it. One that OPENAI_BASE_URL names "
    "gets OPENAI_API_KEY. [default: OpenAI's]",
)


@contextmanager
def ready_generator(console: Console, model: str, base_url: str | None) -> Generator[ChatGenerator]:
    """The model, ready to answer; what goes wrong with it ends the program with a clear message."""
    try:
        with chat_generator(model, **({"api_base_url": base_url} if base_url else {})) as generator:
            if isinstance(generator, LocalChatGenerator):
                if sys.stderr.isatty():
                    put(Console(stderr=True), SMALL, "dim")
                with progress_bar(console, "loading the model") as tell:
                    generator.warm_up(tell)
            else:
                generator.require_key()
            yield generator
    except KeyboardInterrupt:
        put(console, "\nStopped. The same command starts again.", "bold")
        raise SystemExit(INTERRUPTED) from None
    except (ChatGeneratorError, DetentError, ImportError, OSError, ValueError) as error:
        raise told_of(error) from error


def going_on_command(*words: str, kept: Settings | None) -> str:
    """The command that goes on with what was begun by this one, as far as it is not `kept`."""
    return shlex.join([*program(), *words, *typed_words(kept)])


def state_folder() -> Path:
    """The user's state folder, or DETENT_STATE_DIR."""
    named = os.environ.get("DETENT_STATE_DIR")
    folder = Path(named) if named else user_state_path("detent", appauthor=False)
    folder.mkdir(OWN_FOLDER, parents=True, exist_ok=True)
    return folder


def own_runs() -> SQLiteJournal:
    """Where runs are kept."""
    return SQLiteJournal(state_folder() / "runs.db")


def folder_agent(
    generator: ChatGenerator,
    settings: Settings,
    *,
    asker: ConfirmationUI | None,
    gives: bool = False,
) -> Agent[Research]:
    """The agent that answers about a folder; with an `output` it may write there.

    `asker` is asked before it writes, or if all is `guarded` before any tool; without one it stops.
    Where nothing may be written, its answer is what it says, or what it `gives` to a tool.
    """
    output = settings.output
    always = AlwaysAskPolicy()
    rule = always if asker is None else BlockingConfirmationStrategy(always, asker)
    tools = folder_tools(Folder(settings.folder))
    strategies: dict[str, Strategy] = {"*": rule} if settings.guarded else {}
    prompt, ends = PROMPT, ["text"]
    if output is not None:
        tools.append(answer_writer(output))
        strategies[WRITE] = rule
        prompt, ends = PROMPT + PROMPT_WRITING, ["text", WRITE]
    elif gives:
        tools.append(answer_giver())
        prompt, ends = PROMPT + PROMPT_GIVING, ["text", GIVE]
    return Agent(
        chat_generator=generator,
        tools=tools,
        system_prompt=prompt,
        exit_conditions=ends,
        state_schema=Research,
        # a small model may search for ever: at the end it says what it has found
        limits=Limits(settings.max_steps, final_answer=True),
        hooks=[before_tool(told_before), before_model(answer_now)],
        confirmation_strategies=strategies,
        journal=own_runs(),
    )
