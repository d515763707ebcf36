"""The state diagram of the documentation, drawn from what the simulator sees.

``python tests/state_diagram.py`` draws it anew.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from detent.adapters.testing.simulation.diagram import mermaid
from detent.adapters.testing.simulation.simulate import STRANGERS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "explanation" / "why-trust-it.md"
DIAGRAM = re.compile(r"(?<=```mermaid\n).*?(?=\n```)", re.DOTALL)
SEEDS = 1200
MACHINES = ("run", "call")


def drawn() -> dict[str, str]:
    """Each diagram, by what it is a diagram of."""
    edges = STRANGERS.run(range(SEEDS)).edges
    return {machine: mermaid(machine, edges) for machine in MACHINES}


def shown() -> list[str]:
    """The diagrams that the page shows."""
    return DIAGRAM.findall(PAGE.read_text(encoding="utf-8"))


def main() -> int:
    """Put the diagrams into the page."""
    new = iter(drawn().values())
    text = DIAGRAM.sub(lambda _: next(new), PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
