"""What a CID says of the bytes it stands for, and whether some bytes are those: BLAKE3, as is or as canonical JSON."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from eqty_lineage.deepagents.reading.errors import MissingExtraError

RAW: Final = 0x55
"""Bytes as they are."""
JCS: Final = 0xB601
"""JSON, hashed in its canonical form (RFC 8785): another spacing or order of keys is the same content."""
FOLDER: Final = 0x80
"""A folder: the digests of what is in it, one after the other."""
STATEMENT: Final = 0xB403
"""The canonical RDF of a statement."""
_BLAKE3_256: Final = b"\x1e\x20"
_DIGEST: Final = 32
_EXACT: Final = 2**53
_LONGEST: Final = 128
"""Characters of a CID beyond which it is none."""

Hash = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class Named:
    """The parts of a CID."""

    codec: int
    digest: bytes


def hasher() -> Hash:
    """Return BLAKE3.

    Raises:
        MissingExtraError: It is not installed.

    """
    try:
        from blake3 import blake3  # noqa: PLC0415 - an extra: reading does without
    except ImportError as error:
        raise MissingExtraError('verifying needs BLAKE3: pip install "eqty-lineage-deepagents[reading]"') from error

    def hashed(content: bytes) -> bytes:
        return blake3(content).digest()

    return hashed


def parts(cid: str) -> Named | None:
    """Return the parts of a bare CID; ``None`` if it is no CIDv1 in base32 of a BLAKE3 digest, written canonically."""
    if not cid.startswith("b") or len(cid) > _LONGEST or not cid.isascii():
        return None
    text = cid[1:].upper()
    try:
        raw = base64.b32decode(text + "=" * (-len(text) % 8))
    except ValueError:
        return None
    if cid != encoded(raw) or raw[:1] != b"\x01":
        return None
    codec, length = 0, 0
    for byte in raw[1:5]:
        codec |= (byte & 0x7F) << 7 * length
        length += 1
        if not byte & 0x80:
            break
    rest = raw[1 + length :]
    if rest[:2] != _BLAKE3_256 or len(rest) != 2 + _DIGEST:
        return None
    return Named(codec, rest[2:])


def encoded(raw: bytes) -> str:
    """Return the base32 of a CID's bytes."""
    return "b" + base64.b32encode(raw).decode().rstrip("=").lower()


def raw_cid(digest: bytes) -> str:
    """Return the CID of bytes by their digest."""
    return encoded(bytes([1, RAW]) + _BLAKE3_256 + digest)


def members(folder: bytes) -> list[str]:
    """Return the CIDs of what is in a folder."""
    return [raw_cid(folder[start : start + _DIGEST]) for start in range(0, len(folder), _DIGEST)]


def canonical(value: Any) -> bytes:
    """Return JSON in its canonical form, RFC 8785.

    Raises:
        ValueError: It has none: half a surrogate pair, a number that is none.

    """
    return _written(value).encode()


def _written(value: Any) -> str:
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(f"{_text(key)}:{_written(value[key])}" for key in keys) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_written, value)) + "]"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return _number(value)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _number(value: float) -> str:
    """Write a number as ECMAScript does: the shortest digits that give it back, an exponent only if far from 1."""
    if isinstance(value, int) and abs(value) <= _EXACT:
        return str(value)
    try:
        number = float(value)
    except OverflowError as error:
        raise ValueError("a number that is too large") from error
    if not math.isfinite(number):
        raise ValueError("a number that is too large")
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    mantissa, _, power = f"{abs(number)!r}e".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(power.rstrip("e") or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    return sign + _placed(digits, point)


def _placed(digits: str, point: int) -> str:
    """Put the decimal point after the first ``point`` digits, or write an exponent (ECMAScript, Number::toString)."""
    count = len(digits)
    if count <= point <= 21:  # noqa: PLR2004 - the standard's limits
        return digits + "0" * (point - count)
    if 0 < point <= 21:  # noqa: PLR2004
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:  # noqa: PLR2004
        return "0." + "0" * -point + digits
    exponent = f"e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return digits[0] + (f".{digits[1:]}" if count > 1 else "") + exponent
