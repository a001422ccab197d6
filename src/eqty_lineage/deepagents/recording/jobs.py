"""What is to be stored for one asset, computation or other step, and how far that has got.

A job knows the SDK calls it needs, and goes on where it stopped if one fails. The data statement that names a new
asset is shared by all the assets of a batch, because a statement costs the same for one asset as for fifty.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from eqty_lineage.deepagents.facts import Asset, AssetId, Computation

Step = Callable[[], None]


class Store(Protocol):
    """Where the statements of one context go."""

    statements: dict[str, None]
    """The ids of the statements made here, in the order made."""

    def keep(self, cid: AssetId, data: bytes) -> None:
        """Store contents, if the SDK is set to."""

    def register(self, cids: list[AssetId]) -> None:
        """State that these assets exist."""

    def describe(self, subject: str, metadata: str) -> None:
        """State metadata, given as JSON text, of an asset or a statement."""

    def compute(self, computation: Computation) -> str:
        """State a computation; return the statement's id."""


@dataclass(slots=True)
class Job:
    """One thing to store."""

    store: Store
    failed: Callable[[BaseException], None]
    prepare: deque[Step] = field(default_factory=deque)
    """What comes before the batch's data statement."""
    names: AssetId | None = None
    """The asset that the data statement must name."""
    alone: bool = False
    """Whether that asset has a data statement to itself."""
    steps: deque[Step] = field(default_factory=deque)
    """What comes after it, in the order of the jobs."""
    apart: deque[Step] = field(default_factory=deque)
    """What comes after that, at the same time as the steps of other jobs."""
    last: bool = False
    """Whether all jobs before it have to be done before its steps."""
    stored: Step | None = None

    @property
    def done(self) -> bool:
        """Whether all is stored."""
        return not self.prepare and self.names is None and not self.steps and not self.apart


def asset_job(store: Store, asset: Asset, *, stored: Step, failed: Callable[[BaseException], None]) -> Job:
    """Return the job of an asset; without metadata it is only something that payloads refer to."""
    job = Job(store, failed, names=asset.cid, alone=asset.alone, stored=stored)
    if asset.data is not None:
        data = asset.data
        job.prepare.append(lambda: store.keep(asset.cid, data))
    if asset.metadata:
        job.apart.append(lambda: store.describe(asset.cid, asset.metadata))
    return job


def computation_job(
    store: Store, computation: Callable[[], Computation], *, stored: Step, failed: Callable[[BaseException], None]
) -> Job:
    """Return the job of a computation, which is worked out when its turn comes: an asset may have been lost by then."""
    ids: list[str] = []
    job = Job(store, failed, stored=stored)
    job.steps.append(lambda: ids.append(store.compute(computation())))
    job.apart.append(lambda: store.describe(ids[0], computation().metadata))
    return job


def other_job(store: Store, step: Step, *, failed: Callable[[BaseException], None]) -> Job:
    """Return the job of anything else."""
    return Job(store, failed, steps=deque([step]), last=True)
