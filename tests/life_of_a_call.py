"""The picture of the life of a call in the documentation, drawn from a run that is stored.

``python tests/life_of_a_call.py`` draws it anew: a guarded call is made, a human changes it, the
process dies while its tool works, and another one goes on. The left side is what the journal says,
entry by entry; the right side is what `due` gives at that point.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from html import escape
from pathlib import Path

from attrs import frozen

from detent import (
    NEVER_RAN,
    Agent,
    AlwaysAskPolicy,
    MemoryJournal,
    Runs,
    ScriptedChatGenerator,
    State,
    ToolCall,
    tool,
)
from detent.journals import Journal
from detent.machine import Event, Observer, Run, ToolStarted, due

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "explanation" / "life-of-a-call.svg"
PAGE = ROOT / "docs" / "explanation" / "life-of-a-call.md"

WIDTH, ROW, TOP, BOX = 760, 58, 64, 320
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
ABOUT = "The life of a call that is changed by a human and cut off by a crash"
EMBEDDED = re.compile(r"!\[[^\]]*\]\(life-of-a-call\.svg\)")
HEADS = (
    '<text class="ink" x="16" y="28">What is stored, entry by entry</text>',
    '<text class="ink" x="500" y="28">What is owed then</text>',
    '<text class="faint" x="16" y="48">a red line: here a process died</text>',
)
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


class PowerCut(BaseException):
    """As if the process had ended."""


@frozen
class Row:
    """An entry of the journal, and what the run is owed when it is written."""

    kind: str
    owed: tuple[str, ...]
    dies: bool = False


@tool(on_unknown=lambda arguments, key: NEVER_RAN)
def pay(to: str, amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount} to {to}"


def cut(before: Run[State], event: Event, after: Run[State]) -> None:
    """The power goes when the intent is stored."""
    if isinstance(event, ToolStarted):
        raise PowerCut


def clerk(
    journal: Journal, *script: str | ToolCall, observers: Sequence[Observer] = ()
) -> Agent[State, None]:
    """The agent, as each process makes it."""
    return Agent(
        chat_generator=ScriptedChatGenerator(*script),
        tools=[pay],
        confirmation_strategies={"pay": AlwaysAskPolicy()},
        journal=journal,
        observers=observers,
    )


def lived() -> Iterator[Row]:
    """A run, lived through by three processes and read back from its journal."""
    journal = MemoryJournal()
    first = clerk(journal, ToolCall("pay", {"to": "Ann", "amount": 900}))
    first.run("Pay Ann.", run_id="r", raise_at_break_point=False)
    (waiting,) = first.pending("r")
    first.decide("r", waiting.modify({"to": "Ann", "amount": 90}, by="Ada"))
    with suppress(PowerCut):
        clerk(journal, observers=[cut]).resume("r")
    clerk(journal, "Ann has 90.").resume("r")

    runs, kinds = Runs(journal, first.spec), [entry.kind for entry in journal.read("r")]
    for number, kind in enumerate(kinds, 1):
        owed = due(first.spec, runs.at("r", number))
        dies = kinds[number : number + 1] == ["Resumed"]
        yield Row(kind, tuple(type(effect).__name__ for effect in owed), dies)


def meaning(rows: Sequence[Row], place: int) -> str:
    """What an entry says, in words."""
    kind = rows[place].kind
    before = [row.kind for row in rows[:place]]
    return AGAIN[kind] if kind in before else MEANING[kind]


def drawn(rows: Sequence[Row]) -> str:
    """The picture."""
    height = TOP + ROW * len(rows) + 8
    parts = [f'<rect class="paper" width="{WIDTH}" height="{height}"/>', *HEADS]
    for place, row in enumerate(rows):
        y = TOP + ROW * place
        right = WIDTH - BOX + 60
        owed = ", ".join(row.owed) or "nothing: it has ended"
        parts += [
            f'<rect class="stored" x="16" y="{y}" width="{BOX + 40}" height="44" rx="6"/>',
            f'<text class="ink name" x="28" y="{y + 19}">{row.kind}</text>',
            f'<text class="faint" x="28" y="{y + 36}">{escape(meaning(rows, place))}</text>',
            f'<path class="arrow" d="M{BOX + 56} {y + 22}H{right - 8}"/>',
            f'<rect class="owed" x="{right}" y="{y + 5}" width="{BOX - 76}" height="34" rx="17"/>',
            f'<text class="ink name" x="{right + 16}" y="{y + 27}">{escape(owed)}</text>',
        ]
        if row.dies:
            parts.append(f'<path class="died" d="M16 {y + 51}H{WIDTH - 16}"/>')
    box = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" aria-label="{ABOUT}">'
    return "\n".join([head, f"<style>\n{STYLE}\n</style>", *parts, "</svg>", ""])


def told(rows: Sequence[Row]) -> str:
    """The picture in words, for those who do not see it."""
    steps = [f"{row.kind} ({', '.join(row.owed) or 'nothing'})" for row in rows]
    return f"{ABOUT}. Each entry of the journal, and what is owed then: {', '.join(steps)}."


def embedded(rows: Sequence[Row]) -> str:
    """The line of the page that shows the picture."""
    return f"![{told(rows)}]({PICTURE.name})"


def main() -> int:
    """Draw the picture, and put it into its page."""
    rows = list(lived())
    PICTURE.write_text(drawn(rows), encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(EMBEDDED.sub(lambda _: embedded(rows), page), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
