"""The pictures of the browser and of the terminal in the documentation.

``python tests/screenshots.py`` takes them anew, in a folder of its own: a refund desk with a model
that plays a script, some runs that have ended, one that failed, and two that wait for somebody.
"""
# our own command, on our own arguments

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright import sync_api
from rich.console import Console
from rich.text import Text

from detent import (
    Agent,
    AgentTool,
    AskAbove,
    ChatMessage,
    ScriptedChatGenerator,
    SQLiteJournal,
    ToolCall,
    tool,
)
from detent.hosts import Accepted, Host, LocalHost
from detent.testing import When
from tests.adapters.web.browsers import CHROMIUM, FLAGS, Site

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
COMMANDS = ("list", "show order-4711", "pending")
COLUMNS = 100
ORDERS = {
    "order-4711": ("The lamp came broken, and I want my 340 euros back.", 340.0),
    "order-4712": ("One cup of the set is missing. It cost 12 euros.", 12.0),
    "order-4713": ("I was charged twice: 89 euros, please.", 89.0),
    "order-4714": ("The wrong size came. 25 euros.", 25.0),
}


@tool
def order_history(order: str) -> str:
    """Look up what is known of an order."""
    time.sleep(0.4)
    return f"order {order} was delivered two days ago"


@tool
def refund(order: str, euros: float, reason: str = "damaged") -> str:
    """Give the customer's money back."""
    time.sleep(0.3)
    if order == "order-4714":
        raise RuntimeError("the bank does not answer")
    return f"{euros} euros refunded"


def is_at(text: str, length: int, messages: Sequence[ChatMessage]) -> bool:
    """Whether a customer has written this, and so much has been said since."""
    return messages[0].text == text and len(messages) == length


def make_clerk() -> Agent[Any, Any]:
    """An agent that has another one look things up, and asks about what is not small."""
    look = ToolCall("order_history", {"order": "4711"})
    found = When("was delivered", "It was delivered two days ago.")
    researcher = Agent(
        chat_generator=ScriptedChatGenerator(found, When(lambda said: True, look)),
        tools=[order_history],
    )
    script = list[When]()
    for order, (text, euros) in ORDERS.items():
        asked = ToolCall("research", {"task": f"What is known of order {order}?"}, f"q{order}")
        call = ToolCall("refund", {"order": order, "euros": euros}, f"r{order}")
        for length, line in enumerate((asked, call, f"Your {euros:.0f} euros are on their way.")):
            script.append(When(partial(is_at, text, 2 * length + 1), line))
    research = AgentTool(researcher, name="research", description="Look into an order.")
    return Agent(
        name="clerk",
        chat_generator=ScriptedChatGenerator(*script),
        tools=[research, refund],
        confirmation_strategies={"refund": AskAbove("euros", 50)},
    )


@asynccontextmanager
async def desk(path: Path) -> AsyncGenerator[Host]:
    """A host with all the runs, as far as they come without anybody."""
    async with LocalHost({"clerk": make_clerk()}, SQLiteJournal(path), look_s=0.05) as host:
        for order, (text, _) in ORDERS.items():
            started = await host.start("clerk", [ChatMessage.from_user(text)], run_id=order)
            assert isinstance(started, Accepted)
        for order in ORDERS:
            async for _ in host.watch(order):
                found = await host.run(order)
                if found.pending or found.run.outcome is not None:
                    break
        yield host


def photograph(page: Any, name: str) -> None:
    """What is to be seen of a page, without what blinks."""
    page.wait_for_load_state("load")
    page.screenshot(path=PICTURES / f"{name}.png", animations="disabled", caret="hide")


def browse(site: Site) -> None:
    """Take the pictures of the pages."""
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        wide = browser.new_page(viewport={"width": 1080, "height": 720}, color_scheme="light")
        for name, path in {"inbox": "/", "run": "/run/order-4711", "overview": "/overview"}.items():
            wide.goto(site.url + path)
            photograph(wide, name)
        narrow = browser.new_page(
            viewport={"width": 360, "height": 720}, color_scheme="dark", device_scale_factor=2
        )
        narrow.goto(site.url)
        photograph(narrow, "phone")
        browser.close()


def type_in(store: Path) -> None:
    """Take the picture of a terminal in which somebody looks at the same runs."""
    console = Console(record=True, width=COLUMNS, file=StringIO(), color_system="truecolor")
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "FORCE_COLOR": "1", "PAGER": "cat"}
    for command in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-m", "detent", "runs", *command.split(), "--store", str(store)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        console.print(f"[bold]$ detent runs {command} --store {store.name}[/bold]")
        console.print(Text.from_ansi(done.stdout))
    console.save_svg(str(PICTURES / "terminal.svg"), title="detent runs")


def main() -> int:
    """Take all pictures."""
    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder:
        store = Path(folder) / "desk.db"
        site = Site(hosting=partial(desk, store))
        try:
            browse(site)
            type_in(store)
        finally:
            site.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
