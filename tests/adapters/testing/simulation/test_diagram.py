"""The state diagram shows what happens, and the documentation shows the state diagram."""

from __future__ import annotations

from detent.adapters.testing.simulation.diagram import Edge, mermaid
from tests import state_diagram


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
    """Where it does not: python tests/state_diagram.py draws it anew.

    The invariants are looked at as well, so test_simulate has no need to play these worlds.
    """
    assert state_diagram.shown() == [*state_diagram.drawn().values()]
