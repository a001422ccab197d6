"""A manifest as it is written: its envelope checked, everything in it kept, nothing in it interpreted."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Final

from eqty_lineage.deepagents.reading.errors import ReadingError
from eqty_lineage.deepagents.reading.model import Cid

Source = str | Path | bytes | IO[bytes]
"""A path, the manifest itself as bytes, or a file open for reading bytes."""

VERSION: Final = "3"
"""The version of the format that is read (eqty-sdk 2.4.2 to 2.5.0 write it)."""
LIMIT: Final = 2 << 30
"""Bytes above which nothing is read: JSON needs several times its size in memory."""
PREFIX: Final = "urn:cid:"


@dataclass(frozen=True, slots=True)
class Document:
    """A manifest's envelope. ``statements`` and ``blobs`` are as written: a value in them may be wrong in any way."""

    raw: bytes
    """The bytes that were read."""
    contexts: Mapping[str, Any]
    statements: Mapping[str, Mapping[str, Any]]
    """By the key they stand under, which ought to be their ``@id``."""
    blobs: Mapping[Cid, str]
    """Base64, by bare CID."""
    others: Mapping[str, Any]
    """Keys of the envelope that the format does not have, with their values."""
    repeated: tuple[str, ...]
    """The JSON path of each key that stands twice in one object; JSON readers differ in which one they take."""

    def blob(self, cid: Cid) -> bytes | None:
        """Return the content of a blob, or ``None`` if the manifest does not hold it.

        Raises:
            ReadingError: It is no base64 in the strict sense (RFC 4648 section 4: padded, no other characters).

        """
        text = self.blobs.get(cid)
        if text is None:
            return None
        try:
            content = base64.b64decode(text, validate=True)
        except ValueError as error:
            raise ReadingError(f"not base64: {error}", path_of("blobs", cid)) from error
        if base64.b64encode(content).decode() != text:
            raise ReadingError("not base64: it can be written in another way", path_of("blobs", cid))
        return content

    def json(self, cid: Cid) -> Any:
        """Return the JSON value of a blob.

        Raises:
            ReadingError: The manifest does not hold it, or it is no JSON.

        """
        content = self.blob(cid)
        where = path_of("blobs", cid)
        if content is None:
            raise ReadingError("the manifest does not hold this content", where)
        return parsed(content, where)


def path_of(*steps: str | int) -> str:
    """Return the JSON path of a place: ``$.statements["urn:cid:..."].input[0]``."""
    return "$" + "".join(
        f"[{step}]" if isinstance(step, int) else f".{step}" if step.isidentifier() else f"[{json.dumps(step)}]"
        for step in steps
    )


def bare(identifier: str) -> Cid:
    """Return a CID without its prefix."""
    return Cid(identifier.removeprefix(PREFIX))


def parsed(content: bytes, where: str = "") -> Any:
    """Return the value of JSON text, strictly.

    Raises:
        ReadingError: It is no JSON in UTF-8, is nested too deeply, or has a number Python cannot hold.

    """
    return _parse(content, where, None)


def load(source: Source, limit: int = LIMIT) -> Document:
    """Read a manifest's envelope.

    Args:
        source: A path, the manifest itself as bytes, or a binary file, which is read to its end.
        limit: Bytes above which it is refused.

    Raises:
        ReadingError: It cannot be read, is too large, or is no manifest of version 3.

    """
    raw = _bytes_of(source, limit)
    if not raw.strip():
        raise ReadingError("empty: not a manifest")
    repeats: list[tuple[dict[str, Any], str]] = []
    whole = _parse(raw, "", repeats)
    if not isinstance(whole, dict) or "statements" not in whole:
        raise ReadingError("not a manifest: a JSON object with the key statements is wanted", "$")
    version = whole.get("version")
    if version != VERSION:
        shown = "none" if version is None else json.dumps(version)[:40]
        raise ReadingError(f"manifest version {shown}; this reads version {VERSION}", "$.version")
    return Document(
        raw=raw,
        contexts=_frozen(_mapping(whole.get("contexts", {}), "$.contexts")),
        statements=_frozen(_statements(whole["statements"])),
        blobs=_frozen(_blobs(whole.get("blobs", {}))),
        others=_frozen({k: v for k, v in whole.items() if k not in {"version", "contexts", "statements", "blobs"}}),
        repeated=tuple(_places(whole, repeats)) if repeats else (),
    )


def _bytes_of(source: Source, limit: int) -> bytes:
    if isinstance(source, bytes):
        raw = source
    else:
        try:
            if isinstance(source, str | Path):
                with Path(source).open("rb") as file:
                    raw = file.read(limit + 1)
            else:
                raw = source.read(limit + 1)
        except (OSError, ValueError) as error:  # ValueError: a file that is closed, a path with a NUL in it
            raise ReadingError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(raw) > limit:
        raise ReadingError(f"larger than {limit:,} bytes, which is as much as is read")
    return raw


def _parse(content: bytes, where: str, repeats: list[tuple[dict[str, Any], str]] | None) -> Any:
    def noted(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if repeats is not None and len(made) < len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    repeats.append((made, key))
                seen.add(key)
        return made

    def refused(name: str) -> Any:
        raise ValueError(f"{name} is no JSON number")

    try:
        return json.loads(
            content.decode("utf-8"), object_pairs_hook=noted if repeats is not None else None, parse_constant=refused
        )
    except RecursionError as error:
        raise ReadingError("nested too deeply", where) from error
    except UnicodeDecodeError as error:
        raise ReadingError(f"not JSON: no UTF-8 at byte {error.start}", where) from error
    except ValueError as error:
        raise ReadingError(f"not JSON: {error}", where) from error


def _mapping(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ReadingError("an object is wanted", where)
    return value


def _statements(value: Any) -> dict[str, Mapping[str, Any]]:
    statements = _mapping(value, "$.statements")
    return {key: _frozen(_mapping(statement, path_of("statements", key))) for key, statement in statements.items()}


def _blobs(value: Any) -> dict[Cid, str]:
    for cid, text in (blobs := _mapping(value, "$.blobs")).items():
        if not isinstance(text, str):
            raise ReadingError("text is wanted, in base64", path_of("blobs", cid))
    return {Cid(cid): text for cid, text in blobs.items()}


def _frozen(value: dict[Any, Any]) -> Mapping[Any, Any]:
    return MappingProxyType(value)


def _places(whole: Any, repeats: Iterable[tuple[dict[str, Any], str]]) -> Iterator[str]:
    """Yield the path of each key that stands twice. What is itself in the dropped one of the two has no path."""
    wanted: dict[int, list[str]] = {}
    for holder, key in repeats:
        wanted.setdefault(id(holder), []).append(key)
    waiting: list[tuple[Any, tuple[str | int, ...]]] = [(whole, ())]
    while waiting:
        value, steps = waiting.pop()
        if isinstance(value, dict):
            yield from (path_of(*steps, key) for key in wanted.get(id(value), ()))
            waiting.extend((inner, (*steps, key)) for key, inner in value.items())
        elif isinstance(value, list):
            waiting.extend((inner, (*steps, index)) for index, inner in enumerate(value))
