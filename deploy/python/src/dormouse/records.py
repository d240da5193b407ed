"""JSON objects with typed access to their members."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Union, cast

JSON = Union[None, bool, int, float, str, "Sequence[JSON]", "Mapping[str, JSON]"]
"""A JSON value that a request may contain."""


class Record:
    """A JSON object of an answer. A missing member and ``null`` are the same."""

    def __init__(self, members: Mapping[str, object]) -> None:
        self.members: Mapping[str, object] = members

    @staticmethod
    def parse(text: str | bytes) -> Record:
        """Returns the object in a JSON text; an empty record if the text is no object."""
        try:
            value = cast(object, json.loads(text))
        except ValueError:
            return Record({})
        return Record(cast("Mapping[str, object]", value)) if isinstance(value, dict) else Record({})

    def __contains__(self, name: str) -> bool:
        return self.members.get(name) is not None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and self.members == other.members

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[str]:
        return iter(self.members)

    def __repr__(self) -> str:
        return json.dumps(self.members, ensure_ascii=False)

    def text(self, name: str, default: str = "") -> str:
        """Returns a string member."""
        value = self.members.get(name)
        return value if isinstance(value, str) else default

    def optional_text(self, name: str) -> str | None:
        """Returns a string member; ``None`` if it is missing."""
        value = self.members.get(name)
        return value if isinstance(value, str) else None

    def number(self, name: str, default: float = 0) -> float:
        """Returns a member that is a number."""
        value = self.members.get(name)
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else default

    def integer(self, name: str, default: int = 0) -> int:
        """Returns a member that is a whole number."""
        value = self.members.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else default

    def flag(self, name: str) -> bool:
        """Returns a member that is true or false."""
        return self.members.get(name) is True

    def record(self, name: str) -> Record:
        """Returns a member that is an object; an empty record if it is missing."""
        value = self.members.get(name)
        return Record(cast("Mapping[str, object]", value)) if isinstance(value, dict) else Record({})

    def records(self, name: str = "items") -> list[Record]:
        """Returns the objects of an array."""
        value = self.members.get(name)
        items = cast("list[object]", value) if isinstance(value, list) else []
        return [Record(cast("Mapping[str, object]", item)) for item in items if isinstance(item, dict)]

    def texts(self, name: str) -> list[str]:
        """Returns the strings of an array."""
        value = self.members.get(name)
        items = cast("list[object]", value) if isinstance(value, list) else []
        return [item for item in items if isinstance(item, str)]

    def integers(self, name: str) -> list[int]:
        """Returns the whole numbers of an array."""
        value = self.members.get(name)
        items = cast("list[object]", value) if isinstance(value, list) else []
        return [item for item in items if isinstance(item, int)]

    def entries(self, name: str) -> dict[str, Record]:
        """Returns the objects of a member that maps names to objects."""
        record = self.record(name)
        return {key: record.record(key) for key in record}
