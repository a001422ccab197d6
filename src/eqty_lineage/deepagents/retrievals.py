"""What the callbacks of retrievers say."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from eqty_lineage.deepagents.observing import observed
from eqty_lineage.deepagents.payloads import plain
from eqty_lineage.deepagents.runs import Kind
from eqty_lineage.deepagents.saving import Saving
from eqty_lineage.deepagents.sinks import Place

if TYPE_CHECKING:
    from uuid import UUID


class Retrievals(Saving):
    """The part of the handler that is told of retrievers."""

    @observed
    def on_retriever_start(
        self,
        serialized: dict[str, Any] | None,
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Open a retrieval."""
        name = kwargs.get("name") or (serialized or {}).get("name") or "retriever"
        run = self._open(Kind.RETRIEVER, str(name), run_id, parent_run_id, metadata)
        if run is None:
            return
        with self._recording(run, Place.ELSEWHERE):
            super().on_retriever_start(
                serialized or {},
                query,
                run_id=run_id,
                parent_run_id=run.parent_id,
                tags=tags,
                metadata=metadata,
                **kwargs,
            )
            run.recorded = self.is_tracked(run_id)

    @observed
    def on_retriever_end(self, documents: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Record a retrieval; one without hits too."""
        run = self._open_runs.get(run_id)
        if run is None:
            return
        with self._ending(run), self._recording(run, Place.ELSEWHERE):
            super().on_retriever_end([plain(document) for document in documents or []], run_id=run_id, **kwargs)

    @observed
    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Record a retrieval that raised."""
        self._fail(run_id, error, functools.partial(super().on_retriever_error, error, run_id=run_id, **kwargs))
