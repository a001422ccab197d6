"""Reading a manifest, offline: what an agent did, which line came from where, and whether the record is untouched."""

from eqty_lineage.deepagents.reading.errors import MissingExtraError, ReadingError, UnknownReferenceError
from eqty_lineage.deepagents.reading.run import Run, read

__all__ = ["MissingExtraError", "ReadingError", "Run", "UnknownReferenceError", "read"]
