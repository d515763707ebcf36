"""What a page shows: no two texts look the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detent.adapters.faces.openai_texts import in_code
from detent.adapters.web.rendering import ENVIRONMENT
from detent.adapters.web.shown import as_json, visible

HIDDEN, SPELLED = "pay\u200bAnn", "pay\\u200bAnn"
TEXTS = st.text(st.sampled_from("a\\ux20b \n\u200b\x1b"))


def page(template: str, text: str) -> str:
    """A page with a text."""
    return ENVIRONMENT.from_string(template).render(it=text)


@pytest.mark.parametrize(
    "template", ["{{ it }}", "{{ it | as_json }}", "{{ (it | as_json)[:12] }}", "a {{ it ~ '.' }}"]
)
def test_what_is_hidden_and_what_is_spelled_out_differ(template: str) -> None:
    """Who says yes to the one has not seen the other."""
    assert page(template, HIDDEN) != page(template, SPELLED)
    assert "pay\\u200bA" in page(template, HIDDEN)
    assert "pay\\\\u200bA" in page(template, SPELLED)
    assert in_code(HIDDEN) != in_code(SPELLED)


@given(TEXTS, TEXTS)
def test_no_two_texts_are_shown_alike(one: str, other: str) -> None:
    """Nor is JSON, whose backslashes are doubled once."""
    assert (visible(one) == visible(other)) is (one == other)
    assert (visible(as_json(one)) == visible(as_json(other))) is (one == other)
    assert json.loads(visible(as_json("C:\\"))) == "C:\\"
