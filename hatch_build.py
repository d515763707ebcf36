"""What a build does beside packing: it makes the page for a package index of README.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"^!\[[^\]]*\]\([\w./-]+\)\n+", re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\([\w./-]+\.md(?:#[\w-]+)?\)")
ENDING = "\nThe pages named here are in the source distribution, in `docs` and `examples`.\n"


class IndexPage(MetadataHookInterface):
    """Gives the metadata its description."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Put the page where `readme` of pyproject.toml would be."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": index_page(text)}


def index_page(readme: str) -> str:
    """README.md without what leads nowhere from an index: links and pictures of the repository.

    There is no address to write in their place: nothing has been released.
    """
    return LINK.sub(r"\1", PICTURE.sub("", readme)) + ENDING
