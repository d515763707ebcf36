"""What may be passed and what may come: as somebody says it, or made up, which a proof names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from detent.adapters.testing.proofs.properties import Property
from detent.adapters.testing.simulation.generated_agents import require_tools
from detent.adapters.testing.simulation.nested_runs import all_agents
from detent.core.run.output_type import AnswerType
from detent.core.run.spec import AgentSpec, Delegate
from detent.core.schema.conversion import ConversionError, plain_as_read
from detent.core.schema.validation import faults
from detent.core.tools.masking import masked
from detent.core.tools.redaction import all_without_secrets
from detent.core.values.frozen import thaw

if TYPE_CHECKING:
    from detent.core.tools.tool import Tool


@frozen
class MadeUp:
    """The names of that of which one example alone is looked at.

    `arguments` are those of tools that are called so, `results` of tools that give one alone,
    `answers` of agents inside.
    """

    arguments: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()

    def __str__(self) -> str:
        words = ""
        if self.arguments:
            words += f", {', '.join(self.arguments)} with the arguments of one made-up example"
        if self.results:
            words += f", one made-up result each of {', '.join(self.results)}"
        if self.answers:
            words += f", made-up answers of {', '.join(self.answers)}"
        return words


def made_up(
    spec: AgentSpec[Any],
    arguments: Mapping[str, Sequence[Mapping[str, Any]]],
    results: Mapping[str, Sequence[object]],
) -> MadeUp:
    """What of an agent, and of those inside, nobody has said."""
    tools = [tool for _, agent in all_agents(spec) for tool in agent.tools.values()]
    called = {tool.name for tool in tools if tool.spec.parameters.get("properties")}
    agents = {tool.name for tool in tools if isinstance(tool, Delegate)}
    run = {tool.name for tool in tools if not isinstance(tool, Delegate)}
    known = {name for name, values in results.items() if values}
    unsaid = called - {name for name, values in arguments.items() if values}
    return MadeUp(tuple(sorted(unsaid)), tuple(sorted(run - known)), tuple(sorted(agents - known)))


def require_sense(
    spec: AgentSpec[Any],
    claims: Sequence[Property],
    arguments: Mapping[str, Sequence[Mapping[str, Any]]],
    results: Mapping[str, Sequence[object]],
) -> None:
    """Refuse what would be proved of a world that is not meant.

    Raises:
        TypeError: what is claimed is no property.
        ValueError: there is no such tool, or what is said of it does not fit.
    """
    for claim in claims:
        if not isinstance(claim, Property):
            raise TypeError(f"{claim!r:.200} is no Claim; always(function) makes one of a function")
        require_tools(spec, claim.tools, f"{claim.name} is about")
    require_tools(spec, arguments, "arguments are given for")
    require_tools(spec, results, "results are given for")
    for _, agent in all_agents(spec):
        for name, tool in agent.tools.items():
            for possible in arguments.get(name, ()):
                _require_arguments(tool, possible)
            if isinstance(tool, Delegate):
                for answer in results.get(name, ()):
                    _require_answer(name, agent.agents[name].output, answer)


def written_answer(output: AnswerType[Any], value: object) -> Mapping[str, Any]:
    """The JSON object by which a model gives a value as its answer."""
    data = json.loads(json.dumps(thaw(value), default=plain_as_read))
    return {"value": data} if output.is_wrapped else data


def _require_arguments(tool: Tool, possible: Mapping[str, Any]) -> None:
    wrong = faults(dict(possible), tool.spec.parameters)
    if sentences := "; ".join(all_without_secrets(wrong, possible, tool.masked)):
        raise ValueError(
            f"the arguments {masked(possible, tool.masked)} do not fit tool {tool.name!r}: "
            f"{sentences}"
        )


def _require_answer(name: str, output: AnswerType[Any] | None, value: object) -> None:
    if output is None:
        if not isinstance(value, str):
            raise ValueError(f"agent {name!r} answers by a text, and not by {value!r:.200}")
        return
    try:
        output.read(written_answer(output, value))
    except (ConversionError, TypeError, ValueError) as error:
        raise ValueError(f"agent {name!r} cannot answer {value!r:.200}: {error}") from error
