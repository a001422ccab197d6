"""Whether a manifest is what was signed: the checks, and what they say together."""

from eqty_lineage.deepagents.reading.verification.report import Check, Fault, Report, Tally, Verdict
from eqty_lineage.deepagents.reading.verification.verifying import verify

__all__ = ["Check", "Fault", "Report", "Tally", "Verdict", "verify"]
