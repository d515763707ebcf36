"""Runs are found by time and by text, page by page, however many there are."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from detent import Agent, MemoryJournal, ScriptedChatGenerator, State
from detent.adapters.web import finding
from detent.adapters.web.finding import day_begin, known_secrets
from detent.adapters.web.tally import DAY_S
from detent.hosts import HostedRun, LocalHost
from detent.journals import Entry
from detent.machine import Run
from detent.ports.listing import Listing, StoredRun
from detent.web import web_app
from tests.adapters.web.pages import visitor

BEGIN = 1_800_000_000.0 - 1_800_000_000.0 % DAY_S
DAY = "2027-01-15"


LABELS: dict[int, tuple[str, ...]] = {3: ("untrusted",), 20: ("a & b", "untrusted")}


def found(query: dict[str, str], number: int = 30) -> list[list[str]]:
    """The pages of a list, of runs of which each is an hour older than the one before."""
    journal = MemoryJournal()
    for place in range(number):
        asked = ("pay",) if place == 7 else ()
        listing = Listing("clerk", f"Thread-{place % 2}", None, asked, LABELS.get(place, ()))
        entry = Entry(0, BEGIN - place * 3600, "Started", "failed", {"run": {}}, listing)
        journal.append(f"run-{place:03}", [entry])

    async def visit() -> list[list[str]]:
        agent: Any = Agent(chat_generator=ScriptedChatGenerator("Hi."))
        pages = list[list[str]]()
        async with LocalHost({"x": agent}, journal) as host, visitor(web_app(host)) as client:
            path: str | None = str(client.build_request("GET", "/runs", params=query).url)
            while path is not None:
                text = (await client.get(path)).text
                pages.append(re.findall(r"<bdi>run-(\d+)</bdi>", text))
                more = re.search(r'href="(/runs\?before=[^"]+)"', text)
                path = more and more[1].replace("&amp;", "&")
        return pages

    return asyncio.run(visit())


def all_of(pages: list[list[str]]) -> list[str]:
    return [name for page in pages for name in page]


def names(*places: int) -> list[str]:
    return [f"{place:03}" for place in places]


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few runs are many."""
    monkeypatch.setattr(finding, "PAGE", 10)


def test_days_are_days() -> None:
    """In UTC; what is none is no filter."""
    assert day_begin(DAY) == BEGIN
    assert [day_begin(text) for text in (None, "", "x", "2027-13-01")] == [None] * 4
    assert found({"since": DAY}) == [names(0)]
    assert all_of(found({"until": "2027-01-13"})) == names(*range(25, 30))
    both = found({"since": "2027-01-14", "until": "2027-01-14"})
    assert all_of(both) == names(*range(1, 25))
    assert [len(page) for page in both] == [10, 10, 4]


def test_a_text_is_looked_for_in_all_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its case; pages lose nothing, and each looks at a bounded number of runs."""
    pages = found({"text": "THREAD-1"})
    assert all_of(pages) == names(*range(1, 30, 2))
    assert [len(page) for page in pages] == [10, 5]
    assert found({"text": "pay"}) == [names(7)]
    monkeypatch.setattr(finding, "LOOK", 3)
    monkeypatch.setattr(finding, "LOOKS_MAX", 2)
    pages = found({"text": "run-01"})
    assert pages == [
        [],
        names(10, 11),
        names(*range(12, 18)),
        names(18, 19),
        [],
        [],
    ]


def test_a_label_finds_what_has_read_what_bears_it() -> None:
    """The whole label, together with what else is chosen."""
    assert found({"label": "untrusted"}) == [names(3, 20)]
    assert found({"label": "a & b"}) == [names(20)]
    assert found({"label": "untrusted", "thread_id": "Thread-1"}) == [names(3)]
    assert found({"label": "trusted"}) == [[]]


def test_the_list_without_a_text_is_whole() -> None:
    """No run twice, and none left out."""
    assert [len(page) for page in found({"since": "x"})] == [10, 10, 10, 0]
    assert all_of(found({"thread_id": "Thread-0"})) == names(*range(0, 30, 2))


def test_what_one_entry_says_is_secret_no_later_one_shows() -> None:
    """As they come: each is looked through once, and nobody knows by then what comes behind it."""
    call: dict[str, Any] = {"$type": "ToolCall", "tool_name": "login", "secret": ["pin"]}
    call |= {"arguments": {"site": "x", "pin": "S3CRETpin99"}}
    data: list[dict[str, Any]] = [
        {"reply": {"content": [call]}},
        {"reply": {"text": "I signed in by S3CRETpin99."}},
    ]
    entries = [Entry(place, 1.0, "ModelReplied", "running", one) for place, one in enumerate(data)]
    run: Run[Any] = Run("r", State({}))
    secrets = known_secrets(HostedRun(StoredRun("r", 0, "running", 1.0), run))

    visible = [secrets.learned_without([entry])[0].data for entry in entries]

    assert "S3CRETpin99" not in repr(visible)
    assert visible[1] == {"reply": {"text": "I signed in by <pin>."}}
    known = secrets.without(entries)
    assert [entry.data for entry in known] == visible
