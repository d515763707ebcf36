"""A record: its fields in one text, without those that go without saying."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import field, frozen

from detent.core.codec.record import record_of
from detent.core.codec.records import shape_of
from detent.core.codec.shapes import RefusedError, Shape, Spec


@frozen
class Place:
    """Two fields with a default, and two without."""

    name: str
    attempt: int
    number: int = 3
    note: str | None = None


@frozen
class Lone:
    """One field."""

    name: str


PLACE = record_of(Place, shape_of, tagged=False)
TAGGED = record_of(Place, shape_of, tagged=True)


@pytest.mark.parametrize(
    ("place", "data"),
    [
        (Place("a", 2, 4, "b"), {"name": "a", "attempt": 2, "number": 4, "note": "b"}),
        (Place("a", 2), {"name": "a", "attempt": 2}),
        (Place("\n", 1), {"name": "\n"}),
    ],
)
def test_what_goes_without_saying_is_left_out(place: Place, data: dict[str, Any]) -> None:
    """Defaults are, and the first attempt."""
    assert json.loads(PLACE.write(place, None)) == data
    assert PLACE.read(data, None) == place
    assert json.loads(TAGGED.write(place, None)) == {"$type": "Place", **data}
    assert TAGGED.read({"$type": "Place", **data}, None) == place


@frozen
class Nothing:
    """No field."""


def test_a_record_of_one_field_or_none_is_written() -> None:
    """As any other."""
    assert record_of(Nothing, shape_of, tagged=False).write(Nothing(), None) == "{}"
    assert record_of(Nothing, shape_of, tagged=True).write(Nothing(), None) == '{"$type":"Nothing"}'
    assert record_of(Lone, shape_of, tagged=False).write(Lone("a"), None) == '{"name":"a"}'


@pytest.mark.parametrize("name", ["name", "number", "note"])
def test_a_field_of_another_type_is_refused_by_name(name: str) -> None:
    """When it is written, and when it is read."""
    fields = {"name": "a", "attempt": 1} | {name: 1.5}
    with pytest.raises(RefusedError, match=rf"got float @ data\.{name}"):
        PLACE.write(Place(**fields), None)  # type: ignore[arg-type]  # it is what is tested
    with pytest.raises(RefusedError, match=rf"got float @ data\.{name}"):
        PLACE.read(fields, None)


def test_a_fault_in_what_reads_a_field_is_not_said_to_be_the_data_s() -> None:
    """A `KeyError` of another cause passes."""

    def broken(data: Any, spec: Spec) -> Any:
        raise KeyError("name")

    reader = record_of(Lone, lambda _: Shape(lambda value, spec: "", broken), tagged=False)
    with pytest.raises(KeyError):
        reader.read({"name": "a"}, None)


def test_only_a_tagged_record_has_a_tag() -> None:
    """To another one it is an entry that no field has."""
    data = {"name": "a", "$type": "Lone"}
    with pytest.raises(RefusedError, match="nothing is called"):
        record_of(Lone, shape_of, tagged=False).read(data, None)
    tagged = record_of(Lone, shape_of, tagged=True)
    assert tagged.read(data, None) == Lone("a")


@frozen
class Late:
    """A field with a default before one without, and one that is not stored."""

    attempt: int
    text: str
    seen: bool = field(default=False, init=False)


def test_the_text_has_the_fields_in_their_order_and_no_room_between_them() -> None:
    """Byte for byte: files of one format are all written alike."""
    assert PLACE.write(Place('"ü', 2, 4, ""), None) == (
        r'{"name":"\"\u00fc","attempt":2,"number":4,"note":""}'
    )
    late = record_of(Late, shape_of, tagged=False)
    assert late.write(Late(1, "a"), None) == '{"text":"a"}'
    assert late.write(Late(2, "a"), None) == '{"attempt":2,"text":"a"}'
    assert late.read({"text": "a"}, None) == Late(1, "a")
    assert record_of(Late, shape_of, tagged=True).write(Late(1, "a"), None) == (
        '{"$type":"Late","text":"a"}'
    )
