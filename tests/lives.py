"""The pictures of lives in the documentation, drawn from runs that are lived through.

``python tests/lives.py`` draws them anew: of a call, which a human changes and a crash cuts off; of
a decision, which lapses; of a claim, whose process sleeps too long. The left side is what happens,
the right side what the code gives at that point.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from html import escape
from pathlib import Path

from attrs import evolve, frozen

from detent import (
    NEVER_RAN,
    Agent,
    AlwaysAskPolicy,
    MemoryJournal,
    Runs,
    ScriptedChatGenerator,
    State,
    Tool,
    ToolCall,
    ToolExecutionDecision,
    tool,
)
from detent.adapters.drivers.leases import CLAIM_S, Keeper
from detent.adapters.drivers.steps import at_once
from detent.adapters.journals.memory import MemoryClaims
from detent.approvals import Ask, DecisionRefusedError, Policy
from detent.journals import Journal, RunBusyError
from detent.machine import Event, Observer, Run, ToolStarted, due
from detent.testing import ManualClock

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "explanation"
PAGE = FOLDER / "life-of-a-call.md"

WIDTH, ROW, TOP, BOX = 760, 58, 64, 360
STYLE = """
  svg { font-family: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; font-size: 14px }
  .paper { fill: #ffffff } .ink { fill: #1f2328 } .faint { fill: #59636e; font-size: 12px }
  .name { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-weight: 600 }
  .stored { fill: #e8f1fb; stroke: #1f6feb } .owed { fill: #e6f5ea; stroke: #1a7f37 }
  .died { stroke: #cf222e; stroke-width: 2; stroke-dasharray: 6 4 } .bad { fill: #cf222e }
  .arrow { stroke: #59636e; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #151a21 } .ink { fill: #e6edf3 } .faint { fill: #9aa5b1 }
    .stored { fill: #16293f; stroke: #4493f8 } .owed { fill: #15301f; stroke: #3fb950 }
    .died { stroke: #ff7b72 } .bad { fill: #ff7b72 } .arrow { stroke: #9aa5b1 }
  }
""".strip("\n")
MEANING = {
    "Started": "the question, and no more",
    "ModelReplied": "the model has answered",
    "Judged": "the policy: ask a human",
    "HumanDecided": "yes, but with another amount",
    "ToolStarted": "the intent, before the tool runs",
    "Resumed": "another process has taken it up",
    "ToolNeverRan": "looked up: it was not carried out",
    "ToolReturned": "the outcome: it is never run again",
}
AGAIN = {
    "ModelReplied": "the model has read the result",
    "Judged": "what was confirmed may run, and no other",
    "ToolStarted": "the intent, of the second attempt",
}
ONCE_MORE = {"Judged": "the rules of this process let it run"}


@frozen
class Row:
    """Something that happens, what that means, and what comes of it; then, perhaps, a red line."""

    name: str
    meaning: str
    after: str
    is_cut: bool = False


@frozen
class Life:
    """A picture: what it is about, what stands over its two sides, and what is lived through."""

    name: str
    about: str
    heads: tuple[str, str]
    line: str
    lived: Callable[[], Iterator[Row]]

    @property
    def file(self) -> Path:
        """Where the picture is."""
        return FOLDER / f"life-of-a-{self.name}.svg"


class PowerCut(BaseException):
    """As if the process had ended."""


@tool(on_unknown=lambda arguments, key: NEVER_RAN)
def pay(to: str, amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount} to {to}"


PAY_ANN = ToolCall("pay", {"to": "Ann", "amount": 900})


def cut(before: Run[State], event: Event, after: Run[State]) -> None:
    """The power goes when the intent is stored."""
    if isinstance(event, ToolStarted):
        raise PowerCut


def clerk(
    journal: Journal,
    *script: str | ToolCall,
    policy: Policy | None = None,
    observers: Sequence[Observer] = (),
    clock: ManualClock | None = None,
) -> Agent[State, None]:
    """The agent, as each process makes it."""
    return Agent(
        chat_generator=ScriptedChatGenerator(*script),
        tools=[pay],
        confirmation_strategies={"pay": policy or AlwaysAskPolicy()},
        journal=journal,
        observers=observers,
        clock=clock,
    )


def asks_for_ten_minutes(call: ToolCall, tool: Tool, run: Run[State]) -> Ask:
    """The policy of the second picture."""
    return Ask("Is that right?", expires_s=600.0)


def owed(agent: Agent[State, None], runs: Runs[State], length: int | None = None) -> str:
    """What the run is owed, at a point of its journal."""
    effects = due(agent.spec, runs.at("r", length))
    return ", ".join(type(one).__name__ for one in effects) or "nothing: it has ended"


def life_of_a_call() -> Iterator[Row]:
    """A run, lived through by three processes and read back from its journal."""
    journal = MemoryJournal()
    first = clerk(journal, PAY_ANN)
    first.run("Pay Ann.", run_id="r", raise_at_break_point=False)
    (waiting,) = first.pending("r")
    first.decide("r", waiting.modify({"to": "Ann", "amount": 90}, by="Ada"))
    with suppress(PowerCut):
        clerk(journal, observers=[cut]).resume("r")
    clerk(journal, "Ann has 90.").resume("r")

    runs, kinds = Runs(journal, first.spec), [entry.kind for entry in journal.read("r")]
    for number, kind in enumerate(kinds, 1):
        meaning = (MEANING, AGAIN, ONCE_MORE)[kinds[: number - 1].count(kind)][kind]
        is_cut = kinds[number : number + 1] == ["Resumed"]
        yield Row(kind, meaning, owed(first, runs, number), is_cut)


def life_of_a_decision() -> Iterator[Row]:
    """A yes that counts, lapses, and is not heard again."""
    journal, clock = MemoryJournal(), ManualClock()
    made = partial(clerk, journal, policy=asks_for_ten_minutes, clock=clock)
    agent = made(PAY_ANN)
    runs = Runs(journal, agent.spec)

    def said(decision: ToolExecutionDecision) -> str:
        try:
            agent.decide("r", decision)
        except DecisionRefusedError as error:
            return f"refused: {error.refusal.why}"
        return owed(agent, runs)

    agent.run("Pay Ann.", run_id="r", raise_at_break_point=False)
    (first,) = agent.pending("r")
    yield Row("Ask", "pay 900 to Ann, within ten minutes", owed(agent, runs))
    forged = evolve(first.confirm(by="Eve"), digest="0" * 64)
    yield Row("confirm, by Eve", "made of something else", said(forged))
    yes = first.confirm(by="Ada")
    yield Row("confirm, by Ada", "made of the very question", said(yes), is_cut=True)
    clock.advance(700.0)
    made().resume("r", raise_at_break_point=False)
    (second,) = agent.pending("r")
    yield Row("resume, too late", "it has not begun in time", owed(agent, runs))
    yield Row("confirm, by Ada", "the same message, delivered again", said(yes))
    yield Row("confirm, by Ada", "made of the new question", said(second.confirm(by="Ada")))
    yield Row("reject, by Bob", "it was decided a moment ago", said(second.reject("No", by="Bob")))
    made("Ann has 900.").resume("r")
    yield Row("resume", "in time: what was confirmed runs", owed(agent, runs))


class SharedClaims(MemoryClaims):
    """In memory, as if other processes saw it."""

    is_shared = True


def life_of_a_claim() -> Iterator[Row]:
    """A run that two processes want, of which one sleeps too long."""
    claims, clock = SharedClaims(), ManualClock()
    office, laptop = (Keeper(claims, CLAIM_S, clock, renews=False) for _ in range(2))

    def state(before: str = "") -> str:
        claim = claims.find("r")
        owner = claims.owner(claim.owner) if claim else None
        if claim is None or owner is None:
            return f"{before}epoch {claim.epoch if claim else 0}, given back"
        return f"{before}epoch {claim.epoch}, until {owner.until:.0f} s"

    lease = at_once(office.take_steps("r"))
    yield Row("the office resumes", "it drives the run", state())
    clock.advance(5.0)
    office.renew()
    yield Row("the office renews", "every five seconds", state())
    with suppress(RunBusyError):
        at_once(laptop.take_steps("r"))
        raise AssertionError("the run is driven twice")
    yield Row("the laptop resumes", "RunBusyError: who, since, until", state("kept: "), is_cut=True)
    clock.advance(40.0)
    taken = at_once(laptop.take_steps("r"))
    yield Row("the laptop resumes", "the office has slept for 40 s", state())
    with suppress(RunBusyError):
        lease.require()
        raise AssertionError("a tool begins for who has lost the run")
    yield Row("the office wakes", "RunBusyError, right before its tool", state("kept: "))
    taken.release()
    yield Row("the laptop is done", "it gives the run back", state())
    at_once(office.take_steps("r"))
    yield Row("the office resumes", "no epoch comes twice", state())


LIVES = (
    Life(
        "call",
        "The life of a call that is changed by a human and cut off by a crash",
        ("What is stored, entry by entry", "What is owed then"),
        "a red line: here a process died",
        life_of_a_call,
    ),
    Life(
        "decision",
        "The life of a decision that lapses and is not heard again",
        ("What somebody says", "What is owed then"),
        "a red line: here twelve minutes pass",
        life_of_a_decision,
    ),
    Life(
        "claim",
        "The life of a claim whose process sleeps too long",
        ("What a process does", "What the store says"),
        "a red line: here the office falls asleep",
        life_of_a_claim,
    ),
)


def drawn(life: Life, rows: Sequence[Row]) -> str:
    """The picture."""
    height, right = TOP + ROW * len(rows) + 8, BOX + 140
    parts = [
        f'<rect class="paper" width="{WIDTH}" height="{height}"/>',
        f'<text class="ink" x="16" y="28">{life.heads[0]}</text>',
        f'<text class="ink" x="{right}" y="28">{life.heads[1]}</text>',
        f'<text class="faint" x="16" y="48">{life.line}</text>',
    ]
    for place, row in enumerate(rows):
        y = TOP + ROW * place
        parts += [
            f'<rect class="stored" x="16" y="{y}" width="{BOX}" height="44" rx="6"/>',
            f'<text class="ink name" x="28" y="{y + 19}">{escape(row.name)}</text>',
            f'<text class="faint" x="28" y="{y + 36}">{escape(row.meaning)}</text>',
            f'<path class="arrow" d="M{BOX + 16} {y + 22}H{right - 8}"/>',
            f'<rect class="owed" x="{right}" y="{y + 5}" width="244" height="34" rx="17"/>',
            f'<text class="ink name" x="{right + 16}" y="{y + 27}">{escape(row.after)}</text>',
        ]
        if row.is_cut:
            parts.append(f'<path class="died" d="M16 {y + 51}H{WIDTH - 16}"/>')
    box = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-label="{life.about}">'
    return "\n".join([head, f"<style>\n{STYLE}\n</style>", *parts, "</svg>", ""])


def embedded(life: Life, rows: Sequence[Row]) -> str:
    """The line of the page that shows the picture, in words for those who do not see it."""
    steps = [f"{row.name}, {row.meaning} ({row.after})" for row in rows]
    sides = f"{life.heads[0]} ({life.heads[1].lower()})"
    return f"![{life.about}. {sides}: {'; '.join(steps)}.]({life.file.name})"


def main() -> int:
    """Draw the pictures, and put them into their page."""
    page = PAGE.read_text(encoding="utf-8")
    for life in LIVES:
        rows = list(life.lived())
        life.file.write_text(drawn(life, rows), encoding="utf-8")
        line = re.compile(rf"!\[[^\]]*\]\({re.escape(life.file.name)}\)")
        shown = embedded(life, rows).replace("\\", r"\\")
        page = line.sub(shown, page)
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
