"""Research whose citations are looked up, and not believed."""

from __future__ import annotations

import pytest

from tests.examples.loading import example

research = example("cited_research/research.py")
PAPERS = research.library(research.PAPERS)


def test_a_made_up_quotation_goes_back_to_the_writer() -> None:
    """The script quotes wrongly first; what comes out stands in the papers."""
    writing, reading = research.scripted()
    result = research.make_writer(PAPERS, writing, reading).run(research.QUESTION)

    assert research.faults(result.output.claims, PAPERS) == []
    assert "Mend these citations" in str(writing.calls[-1].messages[-1].text)
    assert len(reading.calls) == 6
    assert "[2] detents: “A detent holds" in research.printed(result.output)


@pytest.mark.parametrize(
    ("paper", "quote", "fault"),
    [
        ("clocks", "which lets a wheel turn by one", None),
        ("clocks", "which lets a wheel turn freely", "does not stand in"),
        ("clocks", "a wheel", "does not stand in"),
        ("detents", "which lets a wheel turn by one", "is of the paper 'clocks'"),
        ("novel", "which lets a wheel turn by one", "is of the paper 'clocks'"),
        ("novel", "which lets a clock turn by one", "there is no paper"),
    ],
)
def test_a_citation_is_held_against_its_paper(paper: str, quote: str, fault: str | None) -> None:
    """Its words stand in it one after the other, and are more than two."""
    found = research.faults([research.Claim("It is so.", paper, quote)], PAPERS)
    assert [fault in one for one in found] == ([] if fault is None else [True])
