"""A class schema as it is meant to be written and used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, assert_type

from attrs import frozen

from detent.adapters.state.fields import (
    Counter,
    LastN,
    Maximum,
    Merged,
    Minimum,
    Replaced,
    SetUnion,
    Unique,
)
from detent.adapters.state.typed_state import TypedState, class_schema
from detent.core.chat.messages import ChatMessage
from detent.core.state.fields import Appended, Field
from detent.core.state.keys import Key, Write
from detent.core.state.state import BaseState, State


@frozen
class Document:
    """A frozen attrs class."""

    title: str
    score: float = 0.0


Documents = tuple[Document, ...]


def keep_best(current: Documents, found: list[Document]) -> Documents:
    return tuple(sorted((*current, *found), key=lambda document: -document.score)[:3])


def longest(current: str, update: str) -> str:
    return max(current, update, key=len)


class Research(TypedState):
    """A class schema."""

    user_name = Replaced("")
    limit = Replaced[int | None](None)
    mood = Replaced[Literal["calm", "keen"]]("calm")
    home = Replaced[str]()
    queries = Appended[str]()
    documents = Appended[Document]()
    seen = Unique[str]()
    sources = Unique[Document](key=lambda document: document.title)
    recent = LastN[str](5)
    settings = Merged[str, int]()
    tags = SetUnion[str]()
    tokens = Counter(0)
    best_score = Maximum(0.0)
    first_title = Minimum[str]()
    best = Field[Documents, list[Document]]((), keep_best)
    annotated: Field[Documents, list[Document]] = Field((), keep_best)


class Dated(TypedState, check="first"):
    """Another part."""

    date = Replaced("")


class Archive(Research, Dated):
    """A schema of two parts."""


state = Research(Research.user_name.put("Alice"))
assert_type(state, Research)
assert_type(Research.user_name, Key[str, str])
assert_type(Research.user_name.put("Bob"), Write)
assert_type(Research.best, Key[Documents, list[Document]])

assert_type(state.user_name, str)
assert_type(state.limit, int | None)
assert_type(state.mood, Literal["calm", "keen"])
assert_type(state.queries, Sequence[str])
assert_type(state.documents, Sequence[Document])
assert_type(state.settings, Mapping[str, int])
assert_type(state.tags, AbstractSet[str])
assert_type(state.tokens, int)
assert_type(state.best_score, float)
assert_type(state.best, Documents)
assert_type(state.messages, Sequence[ChatMessage])

after = (
    state.set(Research.user_name, "Bob")
    .set(Research.limit, 5)
    .set(Research.mood, "keen")
    .set(Research.queries, ["q"])
    .set(Research.queries, ("q",))
    .set(Research.settings, {"a": 1})
    .set(Research.tags, {"a"})
    .set(Research.tags, ["a"])
    .set(Research.tokens, 12)
    .set(Research.best_score, 1.5)
    .set(Research.best, [Document("a")])
    .set(Research.user_name, "Robert", longest)
    .set(Research.user_name, "Robert", handler_override=longest)
    .set(Research.messages, [ChatMessage.from_user("hi")])
)
assert_type(after, Research)
assert_type(state.update([Research.tokens.put(1), Write("queries", ["q"])]), Research)
titles: list[str] = [document.title for document in after.best]

assert_type(state.has(Research.home), bool)
assert_type(state.get(Research.home), str | None)
assert_type(state.get(Research.home, ""), str)
assert_type(state.get(Research.home, 0), str | int)

archive = Archive().set(Research.queries, ["q"]).set(Dated.date, "today")
assert_type(archive, Archive)
assert_type(archive.date, str)
assert_type(archive.queries, Sequence[str])


def count(state: Research) -> int:
    return len(state.queries)


count(archive)
assert_type(Research.from_dict(state.to_dict()), Research)

loose = State(schema={"documents": {"type": list}, "count": {"type": int | None}})
assert_type(loose.set("documents", [1]), State)
loose.set("count", 1, handler_override=lambda current, update: update)
number: int = loose.get("count")
shared: list[BaseState] = [loose, state]
made: type[TypedState] = class_schema("Made", loose.schema)
