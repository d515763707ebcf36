"""Secrets of a run, by name and by value, as far as what is stored of it says them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from attrs import define, evolve, field

from detent.adapters.stories.entries import is_secret_write, list_of, masked_data
from detent.adapters.stories.parts import Story
from detent.adapters.stories.quotes import ARGUMENTS, Place, inside, without_quotes
from detent.core.tools.masking import MASK
from detent.core.tools.secrets import SecretValues
from detent.ports.journal import Entry


@define
class RunSecrets:
    """What nobody may see of a run: the names of arguments, and what calls have had for them.

    RULE: an entry is looked through once, however many come behind it.
    """

    _names: set[str] = field(factory=set)
    _found: dict[str, dict[str, object]] = field(factory=dict)

    @classmethod
    def of(cls, names: set[str], values: SecretValues) -> RunSecrets:
        """What is known already."""
        found = {name: {repr(form): form for form in forms} for name, forms in values.items()}
        return cls(names, found)

    @property
    def values(self) -> SecretValues:
        """By the name of an argument its values, each once."""
        return {name: [*forms.values()] for name, forms in self._found.items()}

    def learn(self, data: Any, place: Place = "run") -> None:
        """Take in what stored data says, which stands at a place.

        A call says which of its arguments are secret. A decision that changes them does not say it
        again: there whatever has such a name is one. A write to a secret key says that it is one.

        RULE: nothing is learned of what others have put into a value. Who writes a page that an
        agent reads could have any word taken out of what people see.
        """
        match data:
            case Mapping() if place != "run":
                for key, part in data.items():
                    self.learn(part, inside(key, place))
            case Mapping():
                own: AbstractSet[str] = self._names
                if "tool_name" in data:  # a call, also one without arguments
                    names = data.get("secret")
                    own = {*map(str, names)} if isinstance(names, list) else frozenset()
                    self._names |= own
                for write in filter(is_secret_write, list_of(data.get("writes"))):
                    self._learn_value(write["key"], write["value"])
                for key, part in data.items():
                    if key in ARGUMENTS and isinstance(part, Mapping):
                        self._learn_values(part, own)
                    else:
                        self.learn(part, inside(key, place))
            case list() | tuple():
                for part in data:
                    self.learn(part, place)
            case _:
                pass

    def _learn_values(self, arguments: Mapping[str, object], names: AbstractSet[str]) -> None:
        for name in names & arguments.keys():
            self._learn_value(name, arguments[name])

    def _learn_value(self, name: str, value: object) -> None:
        if value != MASK:  # it stands for what the model has said
            self._found.setdefault(name, {})[repr(value)] = value

    def without(self, entries: Sequence[Entry]) -> list[Entry]:
        """The entries without all that is known."""
        visible = masked_data([entry.data for entry in entries], self._names, self.values)
        return [evolve(entry, data=data) for entry, data in zip(entries, visible, strict=True)]

    def learned_without(self, entries: Sequence[Entry]) -> list[Entry]:
        """The same, once it is known what they say themselves."""
        self.learn([entry.data for entry in entries])
        return self.without(entries)

    def leave(self, story: Story) -> None:
        """Take out of a story what is known."""
        places = [*_places(story)]
        texts = [getattr(part, name) for part, name in places]
        *cleaned, before = without_quotes([*texts, [text for _, text in story.before]], self.values)
        for (part, name), text in zip(places, cleaned, strict=True):
            setattr(part, name, text)
        roles = (role for role, _ in story.before)
        story.before = list(zip(roles, before, strict=True))


def _places(story: Story) -> Iterator[tuple[object, str]]:
    """Where a story has words that are not ours."""
    yield from ((story, name) for name in ("asked", "notes"))
    for turn in story.turns:
        yield from ((turn, name) for name in ("text", "failures", "notes"))
        for call in turn.calls:
            names = ("reason", "trouble", "result", "said")
            yield from ((call, name) for name in names)
            if call.inside is not None:
                yield from _places(call.inside)


def plain_entry(entry: Entry) -> dict[str, Any]:
    """An entry as plain values."""
    place = {"position": entry.position, "at": entry.at}
    return {**place, "kind": entry.kind, "status": entry.status, "data": entry.data}
