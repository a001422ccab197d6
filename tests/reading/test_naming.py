"""References: what they name, and what is said about those that name nothing or several things."""

import itertools

import pytest

from eqty_lineage.deepagents.reading import naming
from eqty_lineage.deepagents.reading.answers import What
from eqty_lineage.deepagents.reading.errors import UnknownReferenceError
from eqty_lineage.deepagents.reading.run import Run, read
from support import runs
from support.agents import agent, says, subagent, task, write


@pytest.fixture(scope="module")
def eventful() -> Run:
    return read(runs.eventful())


def test_a_path_is_its_last_version_and_an_ordinal_any_other(eventful: Run) -> None:
    last, first = eventful.find("/report.md").version, eventful.find("/report.md@1").version
    assert last is not None
    assert first is not None
    assert (last.ordinal, first.ordinal) == (3, 1)
    assert eventful.find("report.md@2").text == "/report.md@2"


def test_a_removed_file_is_the_version_that_was_removed(eventful: Run) -> None:
    version = eventful.find("/east.md").version
    assert version is not None
    assert version.removed


def test_steps_and_plans_have_numbers(eventful: Run) -> None:
    assert eventful.find("#3").step == 3
    assert eventful.find("plan").plan == len(runs.EVENTFUL_PLANS)
    assert eventful.find("plan@1").plan == 1
    for wrong in ("#0", "#100000", "plan@0", "plan@9"):
        with pytest.raises(UnknownReferenceError, match="there is no"):
            eventful.find(wrong)


@pytest.mark.parametrize("shape", ["urn:cid:{}", "{}", "…{tail}", "{tail}", "{head}"])
def test_part_of_a_cid_is_enough(eventful: Run, shape: str) -> None:
    version = eventful.find("/report.md@2").version
    assert version is not None
    text = shape.format(version.cid, tail=version.cid[-8:], head=version.cid[:30])
    assert eventful.find(text).version == version
    assert eventful.find(f"/report.md@{version.cid[10:18]}").version == version


def test_equal_bytes_in_two_versions_are_both_listed(eventful: Run) -> None:
    version = eventful.find("/report.md@3").version
    assert version is not None
    with pytest.raises(UnknownReferenceError, match=r"/report.md@1 .*/report.md@3"):
        eventful.find(version.cid)
    with pytest.raises(UnknownReferenceError, match="may be any of"):
        eventful.find(f"/report.md@{version.cid}")


def test_every_name_that_is_given_is_found_again() -> None:
    for manifest in (runs.eventful(), runs.hostile(), runs.withheld("hidden"), _two_counts()):
        run = read(manifest)
        for version in itertools.chain.from_iterable(file.versions for file in run.files.values()):
            assert run.find(naming.name(run, version)).version == version
        for cid in run.entities:
            try:
                reference = run.find(cid)
            except UnknownReferenceError as error:
                assert "may be any of" in str(error)  # noqa: PT017 - whichever of the two
            else:
                assert run.find(reference.text).what is reference.what
                assert reference.cid == cid


def _two_counts() -> bytes:
    """Two subagents write one path, each from its own first version on."""
    return runs.recorded(
        agent(
            runs.asks(task("t1", "one"), task("t2", "two")),
            says(),
            subagents=[
                subagent("one", write("w1", "/shared.md", "one\n")),
                subagent("two", write("w2", "/shared.md", "two\n")),
            ],
        )
    )


def test_two_versions_of_one_ordinal_are_told_apart_by_cid() -> None:
    run = read(_two_counts())
    with pytest.raises(UnknownReferenceError, match="may be any of") as raised:
        run.find("/shared.md@1")
    first = [version for version in run.files["/shared.md"].versions if version.ordinal == 1]
    assert len(first) == 2
    for version in first:
        assert version.cid[-10:] in str(raised.value)
        assert run.find(f"/shared.md@1.{version.cid[-10:]}").version == version


def test_a_path_with_an_at_sign_is_a_path() -> None:
    run = read(runs.recorded(agent(write("w1", "/a@2.md", "one\n"), write("w2", "/a@2", "two\n"), says())))
    assert run.find("/a@2.md@1").text == "/a@2.md@1"
    assert run.find("/a@2").what is What.VERSION
    assert run.find("/a@2@1").version == run.find("/a@2").version


@pytest.mark.parametrize(
    "text", ["", "@", "/rport.md", "/report.md@9", "…", "zzzzzzzz", "\x1b[31m\n", "#", "#x", "/" * 9999]
)
def test_what_names_nothing_is_said_in_one_printable_line(eventful: Run, text: str) -> None:
    with pytest.raises(UnknownReferenceError) as raised:
        eventful.find(text)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 600


def test_a_near_miss_is_suggested(eventful: Run) -> None:
    with pytest.raises(UnknownReferenceError, match="did you mean"):
        eventful.find("/rport.md")
