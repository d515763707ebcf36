"""Origin: what the first entry of a run says of whose it is."""

from __future__ import annotations

from typing import Any
from weakref import ref

from detent.core.errors import AgentChangedError
from detent.core.run.spec import AgentSpec
from detent.core.storage.rules import rules_fingerprint
from detent.ports.journal import Journal

_KNOWN: dict[int, tuple[ref[AgentSpec[Any]], str]] = {}
"""By the id of a spec, itself and its fingerprint: to make one takes longer than to begin a run."""


def fingerprint_of(spec: AgentSpec[Any]) -> str:
    """As `rules_fingerprint`, which is made once for each spec that lives."""
    key = id(spec)
    known, made = _KNOWN.get(key, (None, ""))
    if known is None or known() is not spec:
        made = rules_fingerprint(spec)
        _KNOWN[key] = ref(spec, lambda _: _KNOWN.pop(key, None)), made
    return made


def origin_of(name: str, spec: AgentSpec[Any], engine: str) -> dict[str, str]:
    """What is said of whose a new run is: an engine's whose history drives it, or "".

    And of an agent without a name its rules, as by them alone it is known later.
    """
    return {"engine": engine, "rules": "" if name else fingerprint_of(spec)}


def require_begun_by(spec: AgentSpec[Any], name: str, journal: Journal, run_id: str) -> None:
    """Make sure that a run, which an agent without a name has begun, may have been begun by this.

    Here it is called by another `name`, of which its run says nothing.

    Raises:
        AgentChangedError: it was begun by other rules.
        JournalError: it cannot be read.
    """
    first = next(iter(journal.read(run_id)), None)
    if first is not None and first.data.get("rules") != fingerprint_of(spec):
        raise AgentChangedError(
            f"run {run_id!r} was begun by an agent without a name, and not by the rules that "
            f"{name!r} has here, so it may be another agent's: go on with it by its own agent, "
            f"agent.resume({run_id!r}), or host that agent as ''; agents with names are not taken "
            "for one another"
        )
