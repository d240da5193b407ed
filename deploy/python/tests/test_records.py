from __future__ import annotations

from dormouse import Record


def test_a_missing_member_and_null_are_the_same() -> None:
    record = Record.parse('{"text": null, "items": null}')
    assert record.text("text", "none") == "none"
    assert record.optional_text("other") is None
    assert "text" not in record
    assert record.records() == []
    assert record.record("other").text("deeper") == ""


def test_members_of_another_type_count_as_missing() -> None:
    record = Record.parse('{"a": "1", "b": true, "c": {"d": {"e": 2}, "f": 3}, "g": [1, {"h": 4}, "i"]}')
    assert record.integer("a", 7) == 7
    assert record.number("b", 7) == 7
    assert record.flag("b") and not record.flag("a")
    assert record.entries("c")["d"].integer("e") == 2
    assert [item.integer("h") for item in record.records("g")] == [4]
    assert record.texts("g") == ["i"]
    assert record.integers("g") == [1]


def test_a_text_that_is_no_object_is_an_empty_record() -> None:
    assert list(Record.parse("<html>")) == []
    assert list(Record.parse("[1]")) == []
