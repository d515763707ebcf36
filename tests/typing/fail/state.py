"""Mistakes with a class schema, each of which a type checker must find on its line."""

from __future__ import annotations

from detent.core.state.fields import Appended, Field
from detent.adapters.state.fields import Counter, Maximum, Merged, Replaced, SetUnion
from detent.core.state.keys import Write
from detent.core.state.state import State
from detent.adapters.state.typed_state import TypedState


def longest(current: str, update: str) -> str:
    return max(current, update, key=len)


def summed(current: int, update: int) -> int:
    return current + update


class Research(TypedState):
    user_name = Replaced("")
    count = Replaced(0)
    limit = Replaced[int | None](None)
    queries = Appended[str]()
    settings = Merged[str, int]()
    tags = SetUnion[str]()
    tokens = Counter(0)


state = Research()

# reading
state.user_nam  # E
state.get(Research.user_nam)  # E
name: int = state.user_name  # E
first: int = state.queries[0]  # E
limit: int = state.limit  # E

# writing a key that is not there, or no typed key
state.set(Research.user_nam, "Alice")  # E
state.set("user_name", "Alice")  # E
state.get("user_name")  # E
state.has("user_name")  # E
state.set(user_name="Alice")  # E

# writing a wrong value
state.set(Research.user_name, 5)  # E
state.set(Research.count, "5")  # E
state.set(Research.limit, "5")  # E
state.set(Research.user_name, None)  # E
state.set(Research.queries, "one")  # E
state.set(Research.queries, [1])  # E
state.set(Research.settings, {"a": "b"})  # E
state.set(Research.tags, "one")  # E
state.set(Research.tokens, "5")  # E
Research(Research.user_name.put(5))  # E
Research(Research.queries.put("one"))  # E
Research(user_name="Alice")  # E

# a handler, a default or an override of the wrong type
class Wrong(TypedState):
    handler = Field[int, int](0, longest)  # E
    default = Field[str, str](0, longest)  # E
    replaced = Replaced[int]("")  # E
    appended = Appended[int](["a"])  # E
    merged = Merged[str, int]({"a": "b"})  # E
    highest = Maximum(object())  # E


state.set(Research.count, 5, longest)  # E
state.set(Research.user_name, "Alice", handler_override=summed)  # E

# changing a state or a value in place
state.user_name = "Alice"  # E
state.count += 1  # E
state.queries.append("one")  # E
state.queries[0] = "one"  # E
state.settings["a"] = 1  # E
state.tags.add("one")  # E
state.messages.append(None)  # E

# what is given back has a type too
lost: str = state.set(Research.count, 1)  # E
write: str = Research.count.put(1)  # E
Write("count", 1, handler="replace")  # E
State()  # E
State(schema={"count": {"type": int}}).set("count", 1).count  # E
