"""What people see of stored data."""

from __future__ import annotations

from detent.adapters.stories.entries import masked_data
from detent.core.tools.masking import MASK


def test_stored_data_shows_no_secret() -> None:
    """Neither as an argument, nor where all arguments stand in one text."""
    cut = {"tool_name": "pay", "unreadable": '{"pin": "1234"', "secret": ["pin"]}
    signed = {"name": "Ada", "roles": [], "proof": "1234"}
    data = [{"arguments": {"pin": "1234", "to": "Ann"}, "who": signed}, cut, {"arguments": "none"}]
    assert masked_data(data, {"pin"}) == [
        {"arguments": {"pin": MASK, "to": "Ann"}, "who": signed | {"proof": MASK}},
        cut | {"unreadable": MASK},
        {"arguments": "none"},
    ]
    others = {"tool_name": "add", "unreadable": "[1", "proof": "of the pudding"}
    assert masked_data(others, {"pin"}) == others
