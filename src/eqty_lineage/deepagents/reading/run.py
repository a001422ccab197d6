"""A recorded run, read from its manifest: the one object that all questions are put to."""

from __future__ import annotations

from eqty_lineage.deepagents.reading.document import Document, Source, load


def read(source: Source) -> Run:
    """Read a manifest.

    Args:
        source: A path (``str`` or ``Path``), the manifest itself as ``bytes``, or a file open for reading bytes.

    Returns:
        The run in it. Nothing is verified by reading; statements are looked at when something is asked of them.

    Raises:
        ReadingError: It cannot be read, is too large, or is no manifest.

    """
    return Run(load(source))


class Run:
    """A recorded run, made by :func:`read`. All that it gives is as stated in the manifest, and not verified.

    Every property and method raises :class:`ReadingError`, with the JSON path of the fault, if what it needs from the
    manifest has not the form that manifests have.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        """The manifest as written: unknown fields, and the original bytes."""

    # The rest of this class is written next; the names are settled:
    #   properties: computations, entities, steps, lanes, agents, files, plan, roots, gaps, recording
    #   step(number), detail(step), content(cid), text(version), files_at(step, lane)
    #   find(reference), why(reference, depth=), downstream(reference, depth=), blame(reference)
    #   file_diff(before, after), diff(other), verify(...), draw_mermaid(), _repr_html_()
