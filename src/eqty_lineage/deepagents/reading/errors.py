"""What goes wrong when a manifest is read: one family, with the place of the fault."""

from __future__ import annotations


class ReadingError(ValueError):
    """A manifest that cannot be read, or a question that it has no answer to.

    ``where`` is the JSON path of the fault (``$.statements["urn:cid:..."].input``), or ``""`` if the fault is in no one
    place. The message is one line of plain text and safe to print.
    """

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(f"{message} (at {where})" if where else message)
        self.where = where


class UnknownReferenceError(ReadingError):
    """A reference (``/report.md@2``, ``#13``, part of a CID) that names nothing, or several things."""


class MissingExtraError(ReadingError):
    """Something needs a distribution that is not installed; the message says what to install."""
