from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, rule

from eqty_lineage.deepagents.facts import AssetId, Evidence, Version
from eqty_lineage.deepagents.filesystem.ordinals import Ordinals

PATHS = st.sampled_from(["/a", "/b"])
CIDS = st.sampled_from([AssetId("x"), AssetId("y"), AssetId("z")])


class Scopes(RuleBasedStateMachine):
    """Scopes that mint, fork and hand versions to each other: in each, a path's numbers only rise."""

    scopes = Bundle("scopes")
    versions = Bundle("versions")

    def __init__(self) -> None:
        super().__init__()
        self.highest: dict[tuple[int, str], int] = {}

    def rise(self, scope: Ordinals, version: Version) -> None:
        key = (id(scope), version.path)
        assert version.ordinal > self.highest.get(key, 0)
        self.highest[key] = version.ordinal

    @initialize(target=scopes)
    def a_scope(self) -> Ordinals:
        self.kept: list[Ordinals] = [Ordinals()]
        return self.kept[0]

    @rule(target=versions, scope=scopes, path=PATHS, cid=CIDS)
    def a_version_is_minted(self, scope: Ordinals, path: str, cid: AssetId) -> Version:
        version = scope.mint(path, cid, Evidence.STATE)
        self.rise(scope, version)
        assert scope.latest[path] == version
        return version

    @rule(target=scopes, scope=scopes)
    def a_scope_forks(self, scope: Ordinals) -> Ordinals:
        fork = scope.fork()
        self.kept.append(fork)  # so that its id stays its own
        for path in ("/a", "/b"):
            self.highest[id(fork), path] = self.highest.get((id(scope), path), 0)
        return fork

    @rule(scope=scopes, version=versions)
    def a_version_is_accepted(self, scope: Ordinals, version: Version) -> None:
        was_latest = scope.latest.get(version.path) == version
        if scope.accepts(version):
            assert scope.latest[version.path] == version
            if not was_latest:
                self.rise(scope, version)
        else:
            assert version.ordinal <= self.highest[id(scope), version.path]

    @rule(scope=scopes, version=versions)
    def a_version_is_taken(self, scope: Ordinals, version: Version) -> None:
        scope.take(version)
        key = (id(scope), version.path)
        self.highest[key] = max(self.highest.get(key, 0), version.ordinal)

    @rule(scope=scopes, other=scopes, path=PATHS)
    def a_count_is_raised(self, scope: Ordinals, other: Ordinals, path: str) -> None:
        scope.raise_to(path, other)
        key = (id(scope), path)
        self.highest[key] = max(self.highest.get(key, 0), self.highest.get((id(other), path), 0))

    @rule(scope=scopes, kept=st.sets(PATHS))
    def files_are_gone(self, scope: Ordinals, kept: set[str]) -> None:
        scope.keep_only(kept)
        assert scope.latest.keys() <= kept


TestScopes = Scopes.TestCase


@given(st.lists(st.tuples(PATHS, CIDS)))
def test_a_paths_numbers_have_no_holes(minted: list[tuple[str, AssetId]]) -> None:
    ordinals = Ordinals()
    numbers: dict[str, list[int]] = {}
    for path, cid in minted:
        numbers.setdefault(path, []).append(ordinals.mint(path, cid, Evidence.STATE).ordinal)
    assert all(found == list(range(1, len(found) + 1)) for found in numbers.values())
