"""The picture of the floors in the documentation, drawn from the contracts and the code.

``python tests/floor_plan.py`` draws it anew: the order is that of the layers which import-linter
holds, a sentence is the docstring of its package, and sizes are counted.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import wrap

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "detent"
PAGE = ROOT / "docs" / "explanation" / "architecture.md"
PICTURE = PAGE.with_name("floors.svg")
EMBEDDED = re.compile(r"(?<=<!-- floors -->\n).*?(?=\n<!-- end of floors -->)", re.DOTALL)

WIDTH = 1000
MARGIN = 24
INSET = 16
GAP = 8
LINE = 18
BAR_WIDTH = 150
CHARACTER = 6.7
"""How wide a letter of 13 pixels is at most on the average, in the widest of the usual fonts."""

STYLE = """
  svg { font-family: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; font-size: 13px }
  .paper { fill: #ffffff } .ink { fill: #1f2328 } .faint { fill: #59636e }
  .name { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-weight: 600 }
  .small { font-size: 12px }
  .title { font-size: 16px; font-weight: 650 }
  .doors .house, .ports .house { fill: #f3effa } .doors .bar, .ports .bar { fill: #8250df }
  .adapters .house { fill: #e8f1fb } .adapters .bar { fill: #1f6feb }
  .core .house { fill: #e6f5ea } .core .bar { fill: #1a7f37 }
  .floor { fill: #ffffff; stroke: #d1d9e0 } .trough { fill: #eff2f5 }
  .arrow { stroke: #59636e; stroke-width: 1.5; fill: none }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #151a21 } .ink { fill: #e6edf3 } .faint { fill: #9aa5b1 }
    .doors .house, .ports .house { fill: #2a2440 } .doors .bar, .ports .bar { fill: #ab7df8 }
    .adapters .house { fill: #16293f } .adapters .bar { fill: #4493f8 }
    .core .house { fill: #15301f } .core .bar { fill: #3fb950 }
    .floor { fill: #0d1117; stroke: #3d444d } .trough { fill: #262c36 }
    .arrow { stroke: #9aa5b1 }
  }
""".strip("\n")


@dataclass(frozen=True)
class Floor:
    """A package, or a module that is a floor by itself.

    Its lines are counted in hundreds: else the picture would change with every line of code.
    """

    name: str
    sentence: str
    modules: int
    lines: int

    @property
    def size(self) -> str:
        """In words."""
        modules = f"{self.modules} modules, " if self.modules > 1 else ""
        return f"{modules}{self.lines:,} lines"


def floor(name: str) -> Floor:
    """What stands at `name`, which is dotted and begins below `detent`."""
    folder = PACKAGE.joinpath(*name.split("."))
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    first = folder / "__init__.py" if folder.is_dir() else files[0]
    docstring = ast.get_docstring(ast.parse(first.read_text(encoding="utf-8"))) or ""
    return Floor(
        name=name.rpartition(".")[2],
        sentence=docstring.partition("\n\n")[0].replace("\n", " ").replace("`", ""),
        modules=sum(path.name != "__init__.py" for path in files),
        lines=max(round(sum(map(lines_of, files)), -2), 50),
    )


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def layers(container: str | None) -> list[list[Floor]]:
    """The floors of one contract, the highest first; those side by side stand in one list."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (
        contract
        for contract in pyproject["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers"
        and contract.get("containers") == (container and [container])
    )
    within = f"{container}." if container else ""
    rows = [f"{within}{layer}".replace(" | ", f" | {within}") for layer in contract["layers"]]
    return [[floor(name.removeprefix("detent.")) for name in row.split(" | ")] for row in rows]


def text(x: float, y: float, classes: str, words: str, anchor: str = "start") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" class="{classes}" text-anchor="{anchor}">{escape(words)}</text>'
    )


def box(x: float, y: float, width: float, height: float, classes: str) -> str:
    corner = {"house": 10, "floor": 6}.get(classes, 2)
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{corner}" '
        f'class="{classes}"/>'
    )


def drawn_row(row: Sequence[Floor], y: float, most: int) -> tuple[list[str], float]:
    """Floors side by side, and how high they are; a floor by itself has its size as a bar."""
    room = WIDTH - 2 * (MARGIN + INSET)
    width = (room - GAP * (len(row) - 1)) / len(row)
    if len(row) == 1:
        return drawn_floor(row[0], MARGIN + INSET, y, most)
    sentences = [wrap(each.sentence, int((width - 24) / CHARACTER)) for each in row]
    height = 34 + LINE * max(map(len, sentences))
    parts: list[str] = []
    for place, (each, lines) in enumerate(zip(row, sentences, strict=True)):
        x = MARGIN + INSET + place * (width + GAP)
        parts += [box(x, y, width, height, "floor"), text(x + 12, y + 22, "ink name", each.name)]
        parts += [text(x + 12, y + 42 + LINE * n, "ink", line) for n, line in enumerate(lines)]
        parts.append(text(x + width - 12, y + 22, "faint small", each.size, "end"))
    return parts, height


def drawn_floor(each: Floor, x: float, y: float, most: int) -> tuple[list[str], float]:
    """Name, sentence, and a bar that is as long as the package."""
    width = WIDTH - 2 * (MARGIN + INSET)
    end = x + width - 12
    bar_x = end - BAR_WIDTH
    lines = wrap(each.sentence, int((bar_x - x - 124) / CHARACTER))
    height = 22 + LINE * len(lines)
    parts = [
        box(x, y, width, height, "floor"),
        text(x + 12, y + 25, "ink name", each.name),
        *(text(x + 112, y + 25 + LINE * n, "ink", line) for n, line in enumerate(lines)),
        text(end, y + 20, "faint small", each.size, "end"),
        box(bar_x, y + 27, BAR_WIDTH, 4, "trough"),
        box(bar_x, y + 27, max(BAR_WIDTH * each.lines / most, 4), 4, "bar"),
    ]
    return parts, height


def drawn_house(
    name: str, title: str, sentence: str, rows: Iterable[Sequence[Floor]], y: float
) -> tuple[str, float]:
    """A layer with its floors, and where it ends."""
    parts, end = [], y + 40
    rows = list(rows)
    most = max((each.lines for row in rows for each in row), default=1)
    for row in rows:
        inside, height = drawn_row(row, end, most)
        parts += inside
        end += height + GAP
    end += INSET - GAP if rows else 0
    head = [
        box(MARGIN, y, WIDTH - 2 * MARGIN, end - y, "house"),
        text(MARGIN + INSET, y + 26, "ink title", title),
        text(WIDTH - MARGIN - INSET, y + 26, "faint", sentence, "end"),
    ]
    return f'<g class="{name}">\n' + "\n".join([*head, *parts]) + "\n</g>", end


def drawn() -> str:
    """The picture."""
    doors = " · ".join(["detent", *(door.name for door in layers(None)[0])])
    houses = [
        ("doors", doors, "The doors: what users import.", []),
        *(
            (each.name, f"detent.{each.name}", each.sentence.partition(": ")[2], rows)
            for each, rows in (
                (floor("adapters"), layers("detent.adapters")),
                (floor("ports"), []),
                (floor("core"), layers("detent.core")),
            )
        ),
    ]
    y, parts = float(MARGIN), []
    for name, title, sentence, rows in houses:
        part, end = drawn_house(name, title, capital(sentence), rows, y)
        parts.append(part)
        y = end + 20
        if name != "core":
            x = WIDTH / 2
            parts.append(f'<path class="arrow" d="M{x:g} {end + 4:g}v12m-5 -5l5 5l5 -5"/>')
    height = y - 20 + MARGIN
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img">',
            "<title>The floors of Detent</title>",
            f"<desc>{escape(described())}</desc>",
            f"<style>\n{STYLE}\n</style>",
            box(0, 0, WIDTH, height, "paper"),
            *parts,
            "</svg>\n",
        )
    )


def capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def described() -> str:
    """The picture in words."""
    adapters, core = (
        ", ".join(" beside ".join(each.name for each in row) for row in layers(container))
        for container in ("detent.adapters", "detent.core")
    )
    return (
        f"The floors from the highest to the lowest. The adapters: {adapters}. The ports. "
        f"The core: {core}. Each imports only what is below it."
    )


def embedded() -> str:
    """What the page says to show the picture."""
    return f"![{described()}]({PICTURE.name})"


def main() -> int:
    """Draw the picture and put its words into the page."""
    PICTURE.write_text(drawn(), encoding="utf-8")
    page = EMBEDDED.sub(lambda _: embedded(), PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
