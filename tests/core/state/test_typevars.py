"""The type variables of an agent, and that naming an agent loads little."""

from __future__ import annotations

import subprocess
import sys

from detent.core.state.typevars import S, T
from detent.machine import BaseState

LIGHT = """
import sys
from detent import Agent, State, tool
print(*sorted(sys.modules))
"""


def test_an_agents_state_is_a_state() -> None:
    """And of its answers nothing is known."""
    assert S.__bound__ is BaseState
    assert T.__bound__ is None


def test_what_a_program_imports_first_does_not_load_the_machine() -> None:
    """An agent, a state and a tool can be named before anything else of ours is needed."""
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    heavy = {
        "asyncio",
        "cattrs",
        "docstring_parser",
        "typeguard",
        "httpx",
        "ssl",
        "pathlib",
        "returns",
    }
    ours = {
        "detent.core.machine.step",
        "detent.core.codec.own_values",
        "detent.core.schema.from_types",
        "detent.adapters.agent.assembly",
    }
    assert not loaded & (heavy | ours)
