"""How a payload refers to what is stored once: long values, messages, and the talk so far.

The forms, each an object with the key ``eqty:ref``:

- ``{"eqty:ref": "value", "cid": ...}``: a string of 1 KB or more. The blob is the string as JSON text, so that its CID
  is never that of a file with the same bytes: a write that is refused would look like a file.
- ``{"eqty:ref": "messages", "cid": ...}``: a list of messages. The blob is a *transcript*: ``{"before": CID or null,
  "messages": [CIDs]}``, where ``before`` is the transcript it goes on from, and each CID a message as JSON text.
- ``{"eqty:ref": "payload", "cid": ...}``: the payload of another asset (a request's prompt).
- ``{"eqty:ref": "escaped", "value": ...}``: a user's object that has the key itself.

:func:`expand` undoes them all.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from eqty_lineage.deepagents.facts import AssetId

KEY: Final = "eqty:ref"
LONG: Final = 1_024
"""Bytes of UTF-8 from which a string is stored on its own."""

Keep = Callable[[bytes], AssetId]
"""Stores bytes that a payload refers to, once, and returns their CID."""


class NotExpandableError(ValueError):
    """A reference whose target is not in the manifest, or is none of the forms."""


class Reference(dict[str, str]):
    """A reference this module made, told by its class from a user's object that looks like one."""


def reference(kind: str, cid: AssetId) -> Reference:
    """Return a reference of a kind."""
    return Reference({KEY: kind, "cid": str(cid)})


def shorten(payload: Any, keep: Keep | None) -> Any:
    """Return a payload with its long strings kept apart. A payload that *is* a string stays: it is the asset itself.

    Without ``keep`` nothing is kept apart; a user's object that looks like a reference is escaped all the same.
    """
    return payload if isinstance(payload, str) else _shorten(payload, keep)


def _shorten(value: Any, keep: Keep | None) -> Any:
    if isinstance(value, str):
        if keep is None or not is_long(value):
            return value
        return reference("value", keep(json.dumps(value).encode()))
    if isinstance(value, list):
        return [_shorten(item, keep) for item in value]
    if isinstance(value, dict):
        if isinstance(value, Reference):
            return value
        short = {key: _shorten(item, keep) for key, item in value.items()}
        return {KEY: "escaped", "value": short} if KEY in value else short
    return value


def is_long(text: str) -> bool:
    """Whether a string is stored on its own."""
    return len(text) >= LONG or (len(text) * 4 >= LONG and len(text.encode("utf-8", "surrogatepass")) >= LONG)


def expand(payload: Any, manifest: Mapping[str, Any]) -> Any:
    """Return a payload as it was recorded, with everything it refers to in its place.

    Args:
        payload: The JSON value of an asset's blob.
        manifest: The parsed manifest; its ``blobs`` hold what is referred to.

    Raises:
        NotExpandableError: Something referred to is not in the manifest.

    """
    return _Expansion(manifest["blobs"]).expand(payload)


class _Expansion:
    def __init__(self, blobs: Mapping[str, str]) -> None:
        self._blobs = blobs

    def expand(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.expand(item) for item in value]
        if not isinstance(value, dict):
            return value
        kind = value.get(KEY)
        match kind:
            case None:
                return {key: self.expand(item) for key, item in value.items()}
            case "escaped":
                return {key: self.expand(item) for key, item in value["value"].items()}
            case "value":
                return self._json(value)
            case "payload":
                return self.expand(self._json(value))
            case "messages":
                return self._messages(value)
            case _:
                message = f"unknown kind of reference: {kind!r}"
                raise NotExpandableError(message)

    def _messages(self, reference: Mapping[str, Any]) -> list[Any]:
        parts: list[list[str]] = []
        cid: str | None = reference.get("cid")
        seen: set[str] = set()
        while cid is not None:
            if cid in seen:
                message = f"transcript {cid} goes on from itself"
                raise NotExpandableError(message)
            seen.add(cid)
            transcript = self._json({"cid": cid})
            parts.append(transcript["messages"])
            cid = transcript["before"]
        return [self.expand(self._json({"cid": message})) for part in reversed(parts) for message in part]

    def _json(self, reference: Mapping[str, Any]) -> Any:
        cid = str(reference.get("cid")).removeprefix("urn:cid:")
        try:
            return json.loads(base64.b64decode(self._blobs[cid]))
        except (KeyError, ValueError) as error:
            message = f"what {cid} refers to is not in the manifest"
            raise NotExpandableError(message) from error
