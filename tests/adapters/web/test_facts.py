"""What stands beside a question and at the head of a run, each because somebody decides by it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from detent import (
    Agent,
    AlwaysAskPolicy,
    AskAbove,
    ChatMessage,
    MemoryJournal,
    ScriptedChatGenerator,
)
from detent.approvals import Answers, Approvers, WithApprovers, WithQuestionOptions
from detent.hosts import Accepted, Fork, LocalHost
from detent.models import ChatGeneratorError, ChatReply, ModelFailure, Usage
from detent.web import web_app
from tests.adapters.web.pages import clerk, token_in, visitor, waiting

ANN = {"to": "Ann", "amount": 100}
PAID = AskAbove("amount", 10)


def pages(policy: Any, **options: Any) -> tuple[str, str, str]:
    """The inbox, the question and the run of a call that the policy asks about."""

    async def visit() -> tuple[str, str, str]:
        made = {"clerk": clerk([], ANN, policy, **options)}
        async with waiting(made) as host, visitor(web_app(host)) as client:
            (asked,) = await host.pending()
            paths = ("/", f"/question/{asked.call.digest}/clerk", "/run/clerk")
            inbox, question, run = [(await client.get(path)).text for path in paths]
            return inbox, question, run

    return asyncio.run(visit())


@pytest.mark.parametrize(
    ("policy", "fact"),
    [
        (PAID, "<dt>Why</dt><dd><bdi>amount is 100; up to 10 needs no confirmation</bdi>"),
        (WithQuestionOptions(PAID, expires_s=3600), "<dt>Lapses</dt><dd><time "),
        (WithApprovers(PAID, Approvers(roles=("finance",))), "<dt>Who may</dt><dd><bdi>finance"),
        (WithApprovers(PAID, Approvers(apart=True)), "<dt>Not by</dt><dd>whoever started the run"),
        (WithApprovers(PAID, Approvers(2)), "<dt>Needs</dt><dd>2 people; said yes: nobody yet"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_who_decides_sees_what_the_question_asks_of_them(policy: Any, fact: str) -> None:
    """In the inbox, at the question, and on the page of its run; and only where it does."""
    asked = pages(policy, approvers=lambda *_: None)
    assert [fact in page for page in asked] == [True] * 3
    name = fact.partition("</dt>")[0]
    plain = pages(AlwaysAskPolicy())
    assert [name in page for page in plain] == [False] * 3


def test_an_answer_that_is_not_taken_has_no_button() -> None:
    """What would be refused is not offered."""
    answers = Answers(confirm=False, modify=(), respond=False)
    _, few, _ = pages(WithQuestionOptions(PAID, answers=answers))
    _, all_of_them, _ = pages(PAID)
    buttons = [f'name="answer" value="{one}"' for one in ("confirm", "review", "respond", "reject")]
    assert [button in few for button in buttons] == [False, False, False, True]
    assert [button in all_of_them for button in buttons] == [True] * 4


def test_the_model_of_a_failed_run_is_asked_again_from_its_page() -> None:
    """By its button, which a run that is done has not got."""
    away = ChatGeneratorError(ModelFailure("server", "nobody there"))
    script = ScriptedChatGenerator(away, "Here I am.")

    async def visit() -> tuple[str, str, int]:
        async with LocalHost({"a": Agent(chat_generator=script)}, MemoryJournal()) as host:
            assert isinstance(await host.start("a", "Hello?", run_id="r"), Accepted)
            with pytest.raises(ChatGeneratorError):
                await host.result("r", timeout=10)
            async with visitor(web_app(host)) as client:
                failed = (await client.get("/run/r")).text
                form = {"csrf": token_in(failed), "run_id": "r"}
                sent = await client.post("/try-again", data=form)
                assert (await host.result("r", timeout=10)).text == "Here I am."
                return failed, (await client.get("/run/r")).text, sent.status_code

    failed, done, status = asyncio.run(visit())
    assert status == 303
    assert 'action="/try-again"' in failed
    assert 'action="/try-again"' not in done
    assert "<dt>Failure</dt>" not in done


def test_a_fork_says_of_what_and_which_tokens_are_its_own() -> None:
    """On its page, which counts all that its limits count."""
    lines = [
        ChatReply(ChatMessage.from_assistant(text), usage=Usage(20, 10))
        for text in ("One.", "Two.")
    ]

    async def visit() -> tuple[str, str]:
        agent = Agent(chat_generator=ScriptedChatGenerator(*lines))
        async with LocalHost({"a": agent}, MemoryJournal()) as host:
            await host.start("a", "Hello?", run_id="r/1")
            await host.result("r/1", timeout=10)
            made = await host.send("r/1", Fork(message=ChatMessage.from_user("More?")))
            assert isinstance(made, Accepted)
            await host.result(made.run_id, timeout=10)
            async with visitor(web_app(host)) as client:
                pages = [await client.get(f"/run/{one}") for one in ("r%2F1", made.run_id)]
                return pages[0].text, pages[1].text

    first, fork = asyncio.run(visit())
    assert "<dd>20 read, 10 written</dd>" in first
    assert "<dd>40 read, 20 written, of which 20 and 10 before it began</dd>" in fork
    assert '<dt>Fork of</dt><dd><a href="/run/r%2F1"><bdi>r/1</bdi></a> after 2 of its' in fork
    assert "Fork of" not in first
