"""The state diagram shows what happens, and the documentation shows the state diagram."""

from __future__ import annotations

import runpy
from pathlib import Path

from detent.adapters.testing.simulation.diagram import Edge, mermaid

SCRIPT = Path(__file__).resolve().parents[3] / "state_diagram.py"


def test_edges_are_drawn_once_and_in_order() -> None:
    """Events that lead from one state to another share an arrow."""
    edges = [
        Edge("call", "Running", "ToolReturned", "Succeeded"),
        Edge("call", "Ready", "ToolStarted", "Running"),
        Edge("run", "Thinking", "ModelFailed", "Failed"),
        Edge("call", "Running", "Other", "Succeeded"),
    ]

    assert mermaid("call", edges).splitlines() == [
        "stateDiagram-v2",
        "    Ready --> Running: ToolStarted",
        "    Running --> Succeeded: Other, ToolReturned",
    ]


def test_the_documentation_shows_what_the_simulator_sees() -> None:
    """Where it does not: python tests/state_diagram.py draws it anew."""
    script = runpy.run_path(str(SCRIPT))

    assert script["shown"]() == [*script["drawn"]().values()]
