"""What the SDK says of one statement: whether its id is that of its content, and whether its credential is valid.

The SDK is the authority, and is asked about every statement; no context of the manifest's is ever given to it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Final

from eqty_lineage.deepagents.reading.verification.report import Check, Fault

Finding = tuple[str, str, str]
"""A check, a code and a message, as :class:`Fault` has them; plain text, so that it can go from process to process."""

_REASONS: Final = {"not_yet_valid": "not-yet-valid", "expired": "expired", "malformed": "bad-credential"}


def judge(statement: Mapping[str, Any]) -> list[Finding]:
    """Return what is wrong with a statement, which has the form that :mod:`.shapes` wants."""
    # The SDK tells of each refusal with a stack of fifty lines if this is set.
    os.environ.setdefault("RUST_BACKTRACE", "0")
    import eqty_sdk  # noqa: PLC0415 - reading does without

    found: list[Finding] = []
    try:
        if not eqty_sdk.verify_statement(json.dumps(statement)):
            found.append((Check.IDS, "id-mismatch", "its id is not that of its content"))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - the SDK panics with a BaseException
        found.append((Check.IDS, "id-mismatch", f"it has no id: {_line(error)}"))
    if statement["@type"] == "CredentialRegistration":
        found += _credential(eqty_sdk, statement["credential"])
    return found


def _credential(sdk: Any, credential: Mapping[str, Any]) -> list[Finding]:
    text, subject = json.dumps(credential), credential["credentialSubject"]["id"]
    try:
        detailed = getattr(sdk, "verify_vc_detailed", None)
        if detailed is None:  # eqty-sdk before 2.5.0
            return [] if sdk.verify_vc(text, subject) else [_refusal("invalid", None)]
        answer = detailed(text, subject)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - as above
        return [(Check.SIGNATURES, "bad-credential", f"no credential: {_line(error)}")]
    return [] if answer["valid"] is True else [_refusal(str(answer["reason"]), answer["detail"])]


def _refusal(reason: str, detail: object) -> Finding:
    message = f"its credential is not valid: {reason.replace('_', ' ')}"
    return Check.SIGNATURES, _REASONS.get(reason, "bad-signature"), f"{message} ({detail})"[:300] if detail else message


def _line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"[:200]


def as_fault(finding: Finding, where: str) -> Fault:
    """Return a finding as a fault at a place."""
    check, code, message = finding
    return Fault(Check(check), code, message, where)
