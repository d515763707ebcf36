"""An MCP server over one folder: list its files, read one, change a text in one.

``python server.py FOLDER`` serves it over stdio. The coding helper beside it starts it so.
"""

from __future__ import annotations

import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer


def make_server(folder: Path) -> MCPServer:
    """A server that reaches what is in the folder, and nothing else."""
    root = folder.resolve()
    server = MCPServer("workshop")

    def within(name: str) -> Path:
        path = (root / name).resolve()
        if not path.is_relative_to(root):
            raise ValueError(f"{name!r} is not in the folder")
        return path

    @server.tool()
    def list_files() -> list[str]:
        """Give the names of all files."""
        files = sorted(path for path in root.rglob("*") if path.is_file())
        return [path.relative_to(root).as_posix() for path in files]

    @server.tool()
    def read_file(name: str) -> str:
        """Read a file."""
        return within(name).read_text(encoding="utf-8")

    @server.tool()
    def edit_file(name: str, old: str, new: str) -> str:
        """Change one line of a file: old is the line as it stands there, new is what it becomes."""
        text = within(name).read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise ValueError(f"{old!r} stands in {name} {text.count(old)} times, and not once")
        within(name).write_text(text.replace(old, new), encoding="utf-8")
        return f"changed {name}"

    return server


if __name__ == "__main__":
    make_server(Path(sys.argv[1])).run()
