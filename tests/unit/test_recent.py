"""A mapping that keeps what was used last."""

from eqty_lineage.deepagents.recent import Recent


def filled(most: int, *keys: str) -> Recent[str, int]:
    recent: Recent[str, int] = Recent(most)
    for number, key in enumerate(keys):
        recent[key] = number
    return recent


def test_it_keeps_no_more_than_it_may():
    assert list(filled(2, "a", "b", "c")) == ["b", "c"]


def test_reading_an_entry_is_a_use():
    recent = filled(2, "a", "b")
    assert recent["a"] == 0
    recent["c"] = 2
    assert list(recent) == ["a", "c"]


def test_setting_an_entry_again_is_a_use_and_evicts_nothing():
    recent = filled(2, "a", "b")
    recent["a"] = 5
    assert dict(recent) == {"b": 1, "a": 5}
    recent["c"] = 2
    assert dict(recent) == {"a": 5, "c": 2}


def test_a_default_counts_as_an_entry():
    recent = filled(2, "a", "b")
    assert recent.setdefault("c", 7) == 7
    assert list(recent) == ["b", "c"]


def test_a_default_of_what_is_there_changes_nothing():
    recent = filled(2, "a", "b")
    assert recent.setdefault("a", 7) == 0
    assert len(recent) == 2


def test_asking_for_what_is_there_with_setdefault_is_a_use():
    recent = filled(2, "a", "b")
    recent.setdefault("a", 7)
    recent["c"] = 2
    assert list(recent) == ["a", "c"]


def test_updates_are_bounded_too():
    recent = filled(2)
    recent.update({"a": 1, "b": 2, "c": 3})
    assert list(recent) == ["b", "c"]


def test_looking_without_reading_is_no_use():
    recent = filled(2, "a", "b")
    assert "a" in recent
    assert recent.get("missing") is None
    recent["c"] = 2
    assert list(recent) == ["b", "c"]


def test_an_entry_can_be_dropped():
    recent = filled(2, "a", "b")
    assert recent.pop("a") == 0
    recent["c"] = 2
    assert list(recent) == ["b", "c"]
