from eqty_lineage.deepagents.facts import Evidence
from eqty_lineage.deepagents.filesystem.ordinals import Ordinals
from support.files import cid_of, version

A, B = cid_of(b"a"), cid_of(b"b")


def test_each_path_counts_its_own_versions_from_one() -> None:
    ordinals = Ordinals()
    assert ordinals.mint("/a", A, Evidence.STATE).ordinal == 1
    assert ordinals.mint("/a", B, Evidence.STATE).ordinal == 2
    assert ordinals.mint("/b", A, Evidence.STATE).ordinal == 1


def test_earlier_content_is_a_new_version() -> None:
    ordinals = Ordinals()
    minted = [ordinals.mint("/a", cid, Evidence.STATE) for cid in (A, B, A)]
    assert [(one.ordinal, one.cid) for one in minted] == [(1, A), (2, B), (3, A)]


def test_a_file_that_is_gone_is_forgotten_and_its_count_is_not() -> None:
    ordinals = Ordinals()
    ordinals.mint("/a", A, Evidence.STATE)
    kept = ordinals.mint("/b", A, Evidence.STATE)
    ordinals.keep_only({"/b", "/c"})
    assert ordinals.latest == {"/b": kept}
    assert ordinals.mint("/a", A, Evidence.STATE).ordinal == 2


def test_the_latest_version_of_a_path_is_accepted_again() -> None:
    ordinals = Ordinals()
    latest = ordinals.mint("/a", A, Evidence.STATE)
    assert ordinals.accepts(latest)


def test_a_version_from_another_scope_is_accepted_if_its_number_is_above_all_counted_here() -> None:
    ordinals = Ordinals()
    assert ordinals.accepts(version("/a", 2, "a"))
    assert ordinals.latest["/a"] == version("/a", 2, "a")
    assert ordinals.mint("/a", B, Evidence.STATE).ordinal == 3


def test_a_version_from_another_scope_is_not_accepted_if_its_number_was_given_here() -> None:
    ordinals = Ordinals()
    latest = ordinals.mint("/a", A, Evidence.STATE)
    assert not ordinals.accepts(version("/a", 1, "b"))
    assert ordinals.latest["/a"] == latest


def test_going_on_from_an_earlier_version_does_not_lower_the_count() -> None:
    ordinals = Ordinals()
    first = ordinals.mint("/a", A, Evidence.STATE)
    ordinals.mint("/a", B, Evidence.STATE)
    ordinals.take(first)
    assert ordinals.latest["/a"] == first
    assert ordinals.mint("/a", A, Evidence.STATE).ordinal == 3


def test_a_count_is_raised_to_another_scopes_and_never_lowered() -> None:
    ordinals, other = Ordinals(), Ordinals()
    other.take(version("/a", 4, "a"))
    ordinals.raise_to("/a", other)
    other.raise_to("/a", Ordinals())
    assert ordinals.mint("/a", A, Evidence.STATE).ordinal == 5
    assert other.mint("/a", A, Evidence.STATE).ordinal == 5


def test_a_fork_counts_on_from_here_without_counting_here() -> None:
    ordinals = Ordinals()
    latest = ordinals.mint("/a", A, Evidence.STATE)
    fork = ordinals.fork()
    assert fork.latest == {"/a": latest}
    assert fork.mint("/a", B, Evidence.STATE).ordinal == 2
    assert ordinals.mint("/a", B, Evidence.STATE).ordinal == 2
    assert ordinals.latest["/a"].ordinal == fork.latest["/a"].ordinal == 2
