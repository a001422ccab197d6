"""Each manifest of the corpus gets its verdict, and every kind of fault occurs in it."""

import re
from pathlib import Path

import pytest

from eqty_lineage.deepagents.reading import verification
from eqty_lineage.deepagents.reading.verification import Verdict
from support.tampered import CASES
from support.tampering import Case


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_manifest_gets_its_verdict(case: Case) -> None:
    report = case.report()

    assert report.verdict is case.verdict, (report.faults, report.limits)
    assert case.codes <= {fault.code for fault in report.faults}
    assert bool(report.faults) == (case.verdict is Verdict.FAILED)


def test_every_kind_of_fault_occurs_in_the_corpus() -> None:
    folder = Path(verification.__file__).parent
    written = {
        code for path in folder.glob("*.py") for code in re.findall(r'Check\.\w+, "([a-z-]+)"', path.read_text())
    }

    assert written - {code for case in CASES for code in case.codes} == {"unverifiable"}  # tests of the pool show it


def test_names_of_cases_are_their_own() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 60
