"""What a verification says beside its verdict, and how it goes about it: processes, progress, what is hostile."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from eqty_sdk import Signer

from eqty_lineage.deepagents.reading import MissingExtraError
from eqty_lineage.deepagents.reading.document import load
from eqty_lineage.deepagents.reading.verification import Check, Verdict, cids, pool, verify, verifying
from support import runs
from support.sdk import run_in_process
from support.tampering import identified, sealed

SEALED = {"simple", "deep", "stopped", "second_run", "plain_langgraph", "thread"}


def _signer() -> str:
    return Signer.load_or_create("tests").did_key


@pytest.mark.parametrize("name", sorted(SEALED))
def test_a_recorded_run_is_what_was_signed(name: str) -> None:
    report = verify(load(runs.EVERY[name]()))

    assert (report.verdict, report.faults, report.limits) == (Verdict.OK, (), ())
    assert all(tally.passed == tally.total > 0 for tally in report.tallies)


@pytest.mark.parametrize("name", ["base_only", "foreign"])
def test_a_manifest_of_another_recorder_has_no_fault_and_no_seal(name: str) -> None:
    report = verify(load(runs.EVERY[name]()))

    assert (report.verdict, report.faults) == (Verdict.WITH_LIMITS, ())
    assert [limit[:17] for limit in report.limits] == ["There is no seal:"]


def test_a_withheld_content_is_counted_and_not_there() -> None:
    report = verify(load(runs.withheld()))

    assert (report.verdict, report.faults) == (Verdict.WITHHELD, ())
    assert "1 contents were withheld" in report.limits[0]
    assert "1 of them are not there" in report.limits[0]


def test_a_report_names_who_signed_and_who_was_pinned() -> None:
    unpinned, pinned = verify(load(sealed())), verify(load(sealed()), signers=[_signer(), "did:key:zNobody"])

    assert (unpinned.signers, unpinned.pinned) == ((_signer(),), ())
    assert (pinned.signers, set(pinned.pinned)) == ((_signer(),), {_signer(), "did:key:zNobody"})


def test_a_report_is_json_and_says_what_it_does_not_prove() -> None:
    said = json.loads(json.dumps(verify(load(sealed())).as_json()))

    assert said["verdict"] == "ok"
    assert len(said["does_not_prove"]) >= 3
    assert "eqty-sdk" in said["tool"]


def test_several_processes_say_what_one_says() -> None:
    manifest = json.loads(runs.stopped())
    for key in sorted(manifest["statements"])[::7]:
        manifest["statements"][key]["timestamp"] = "2020-01-01T00:00:00Z"
    document = load(json.dumps(manifest).encode())

    one, two = (verify(document, processes=count) for count in (1, 2))

    assert one.faults == two.faults
    assert one.tallies == two.tallies
    assert one.verdict is Verdict.FAILED


@pytest.mark.parametrize("processes", [1, 2])
def test_progress_is_told_on_the_calling_thread_to_the_end(processes: int) -> None:
    told: list[tuple[int, int, bool]] = []
    document = load(sealed())

    verify(
        document,
        processes=processes,
        progress=lambda done, total: told.append((done, total, threading.current_thread() is threading.main_thread())),
    )

    assert told[-1] == (len(document.statements), len(document.statements), True)
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)
    assert all(main for _, _, main in told)


def test_a_script_without_a_guard_is_run_once(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_bytes(sealed())
    code = (
        "import sys\n"
        "from eqty_lineage.deepagents.reading.document import load\n"
        "from eqty_lineage.deepagents.reading.verification import verify\n"
        "print('once', verify(load(sys.argv[1]), processes=2).verdict)\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)

    ran = run_in_process(
        f"import runpy, sys; runpy.run_path({str(script)!r}, run_name='__main__')", str(manifest), folder=tmp_path
    )

    assert ran.stdout.splitlines() == ["once ok"], ran.stderr


def _well_formed() -> list[dict[str, object]]:
    return [dict(statement) for statement in load(sealed()).statements.values()]


@pytest.mark.parametrize("ending", ["import os; os._exit(9)", "import time; time.sleep(600)"])
def test_a_statement_that_kills_or_hangs_a_process_is_a_fault_and_the_rest_is_judged(
    ending: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The process is this package's, with a judge that comes to a bad end over one statement."""
    statements = _well_formed()
    bad = statements[5]["@id"]
    (tmp_path / "bad_worker.py").write_text(
        "import json\n"
        "from eqty_lineage.deepagents.reading.verification import worker\n"
        "def judge(statement, judge=worker.judge):\n"
        f"    if statement['@id'] == {bad!r}:\n"
        f"        {ending}\n"
        "    return judge(statement)\n"
        "worker.judge = judge\n"
        "worker.main()\n"
    )
    monkeypatch.setattr(pool, "PATIENCE", 5.0)
    monkeypatch.setattr(pool, "MODULE", "bad_worker")
    monkeypatch.syspath_prepend(tmp_path)

    found = pool.judged(statements, 2, None)

    assert [index for index, findings in enumerate(found) if findings] == [5]
    assert found[5][0][:2] == (Check.IDS, "unverifiable")


def test_where_no_process_can_be_started_this_one_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MODULE", "no_such_module_anywhere")

    assert verify(load(sealed()), processes=2).verdict is Verdict.OK


def test_without_blake3_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "blake3", None)

    with pytest.raises(MissingExtraError, match=r'pip install "eqty-lineage-deepagents\[reading\]"'):
        verify(load(sealed()))


WRONG: list[Callable[[dict[str, object]], object]] = [
    lambda one: one.update({"@type": None}),
    lambda one: one.update({"@type": ["DataRegistration"]}),
    lambda one: one.update({"@id": 7}),
    lambda one: one.update({"@context": [one["@context"]]}),
    lambda one: one.update(timestamp=0),
    lambda one: one.update(registeredBy={"@id": "did:key:zX"}),
    lambda one: one.update(data=[]),
    lambda one: one.update(data=[["urn:cid:x"]]),
    lambda one: one.update(subject="urn:cid:\ud800"),
    lambda one: one.update(input="urn:cid:" + "b" * 100_000),
    lambda one: one.update(credential=[]),
    lambda one: one.update(credential={"credentialSubject": [], "proof": 1}),
    lambda one: one.clear(),
]


@pytest.mark.parametrize("spoil", WRONG)
def test_whatever_form_statements_have_it_is_a_fault_with_a_place(spoil: Callable[[dict[str, object]], object]) -> None:
    manifest = json.loads(sealed())
    for statement in manifest["statements"].values():
        spoil(statement)

    report = verify(load(json.dumps(manifest).encode()), processes=1)

    assert report.verdict is Verdict.FAILED
    assert all(fault.where.startswith("$") for fault in report.faults)


def test_nothing_in_a_manifest_is_no_fault() -> None:
    report = verify(load(b'{"version": "3", "contexts": {}, "statements": {}, "blobs": {}}'))

    assert (report.verdict, report.faults) == (Verdict.WITH_LIMITS, ())


def test_the_tamperer_s_ids_are_those_of_the_sdk() -> None:
    """Else what the corpus shows would only be that he computes them wrongly."""
    for manifest in (runs.simple(), runs.foreign()):
        for key, statement in json.loads(manifest)["statements"].items():
            if statement["@type"] != "CredentialRegistration":
                assert identified(statement) == key


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}'),
        ({"\ufb33": 1, "\U0001f600": 2}, '{"\U0001f600":2,"\ufb33":1}'),  # by UTF-16, in which the second is smaller
        ("\u20ac$\u000f\nA'\u0042\"\\/\x7f", '"\u20ac$\\u000f\\nA\'B\\"\\\\/\x7f"'),
        (0.0, "0"),
        (-0.0, "0"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (123456.789, "123456.789"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.5e300, "1.5e+300"),
        (-4.5, "-4.5"),
        (2**53 + 1, "9007199254740992"),
        (5e-324, "5e-324"),
    ],
)
def test_json_has_one_canonical_form(value: object, text: str) -> None:
    assert cids.canonical(value).decode() == text


@pytest.mark.parametrize("value", [{"\ud800": 1}, "\udfff", 10**400])
def test_what_has_no_canonical_form_is_refused(value: object) -> None:
    with pytest.raises(ValueError):
        cids.canonical(value)


def test_the_tool_names_itself_even_where_it_is_not_installed() -> None:
    assert verifying._version("no-such-distribution-anywhere") == "unknown"


def test_a_worker_is_a_module_that_can_be_run() -> None:
    ran = subprocess.run([sys.executable, "-m", pool.MODULE], input="[]\n", capture_output=True, text=True, check=False)

    assert ran.stdout.splitlines() == ["ready", "[]"]
