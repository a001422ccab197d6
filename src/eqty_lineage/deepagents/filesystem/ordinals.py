"""How the versions of a path are counted within one scope."""

from __future__ import annotations

from eqty_lineage.deepagents.facts import AssetId, Evidence, Version


class Ordinals:
    """Counts the versions of each path, and remembers the last one that was not deleted."""

    def __init__(self) -> None:
        """Start with no path."""
        self._count: dict[str, int] = {}
        self.latest: dict[str, Version] = {}

    def mint(self, path: str, cid: AssetId, evidence: Evidence) -> Version:
        """Return the next version of ``path``."""
        ordinal = self._count.get(path, 0) + 1
        self._count[path] = ordinal
        version = self.latest[path] = Version(path, ordinal, cid, evidence)
        return version

    def counted(self, path: str) -> int:
        """Return how many versions of ``path`` there were."""
        return self._count.get(path, 0)

    def accepts(self, version: Version) -> bool:
        """Go on from ``version`` if it is the latest of its path or, from another scope, above all counted here."""
        if self.latest.get(version.path) == version:
            return True
        if version.ordinal <= self._count.get(version.path, 0):
            return False
        self.take(version)
        return True

    def keep_only(self, paths: set[str]) -> None:
        """Forget the latest version of every other path: its file is gone. Counts stay."""
        self.latest = {path: version for path, version in self.latest.items() if path in paths}

    def take(self, version: Version) -> None:
        """Go on from a version that another scope minted."""
        self._count[version.path] = max(self._count.get(version.path, 0), version.ordinal)
        self.latest[version.path] = version

    def raise_to(self, path: str, other: Ordinals) -> None:
        """Count ``path`` from where another scope is, if that is further."""
        self._count[path] = max(self._count.get(path, 0), other._count.get(path, 0))

    def fork(self) -> Ordinals:
        """Return a copy that counts on from here."""
        copy = Ordinals()
        copy._count = dict(self._count)
        copy.latest = dict(self.latest)
        return copy
