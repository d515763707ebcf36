"""The page of the commands says what they say themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from detent.adapters.cli.main import main


def test_every_command_is_on_the_reference_page() -> None:
    """Where it is not what `--help` says: python tests/adapters/cli/runs/test_reference.py."""
    page = Path(__file__).parents[4] / "docs" / "reference" / "command-line.md"
    assert page.read_text(encoding="utf-8") == reference()


def reference() -> str:
    """The page of the commands over runs, and of the one that hosts them."""
    group: Any = main.commands["runs"]
    parts = [REFERENCE.strip(), _help(group, "detent runs")]
    for name, command in group.commands.items():
        parts += [f"## {name}", _help(command, f"detent runs {name}")]
    parts += [SERVE.strip(), _help(main.commands["serve"], "detent serve")]
    parts += [MCP.strip(), _help(main.commands["mcp"], "detent mcp")]
    parts += [ACP.strip(), _help(main.commands["acp"], "detent acp")]
    parts += [RUN.strip()]
    for name in ("run", "chat", "models"):
        parts += [f"## {name}", _help(main.commands[name], f"detent {name}")]
    return "\n\n".join(parts) + "\n"


REFERENCE = """
# detent runs

What the commands over runs say of themselves. How they are used is told in
[Look into runs](../how-to/look-into-runs.md).
"""


SERVE = """
# detent serve

A process that hosts runs. How it is used is told in [Host runs](../how-to/host-runs.md).
"""


MCP = """
# detent mcp

Agents as tools for clients. How it is used is told in
[Use tools of an MCP server](../how-to/mcp.md).
"""


ACP = """
# detent acp

An agent for an editor. How it is used is told in
[Put an agent into an editor: ACP](../how-to/acp.md).
"""


RUN = """
# detent run, chat and models

An agent that answers about a folder of text files, once or line by line, and the models that it
may have. Its runs are runs as all others: `detent runs list` shows them.
"""


def _help(command: click.Command, name: str) -> str:
    context = click.Context(
        command,
        info_name=name,
        max_content_width=78,
        terminal_width=78,
        help_option_names=["-h", "--help"],
    )
    return f"```text\n{command.get_help(context).rstrip()}\n```"


if __name__ == "__main__":
    Path("docs/reference/command-line.md").write_text(reference(), encoding="utf-8")
