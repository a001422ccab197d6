"""Who wrote each line: on recorded runs, and on chains of edits against a simple account of them."""

import base64
import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqty_lineage.deepagents.reading import matching
from eqty_lineage.deepagents.reading.answers import Blame
from eqty_lineage.deepagents.reading.errors import UnknownReferenceError
from eqty_lineage.deepagents.reading.run import Run, read
from support import runs
from support.agents import agent, asks, delete, edit, says, subagent, task, write


def written_by(blame: Blame) -> list[tuple[str, str, str]]:
    """Text, call and agent of each line."""
    return [(line.text, line.call_id, line.agent) for line in blame.lines]


def test_each_line_has_the_call_that_wrote_it_and_what_its_turn_was_told() -> None:
    blame = read(runs.thread()).blame("/report.md")
    assert [line.text for line in blame.lines] == runs.EDITED.splitlines()
    assert [line.call_id for line in blame.lines] == ["w1", "w1", "e1", "w1"]
    assert [line.prompt for line in blame.lines] == [
        runs.QUESTION,
        runs.QUESTION,
        runs.SECOND_QUESTION,
        runs.QUESTION,
    ]


def test_a_restored_line_is_blamed_on_who_wrote_it_first_and_says_what_brought_it_back() -> None:
    run = read(runs.eventful())
    (line,) = run.blame("/report.md@3").lines
    restored = next(step.number for step in run.steps if step.call_id == "e2")
    assert (line.text, line.call_id) == (runs.SHORT.strip(), "w1")
    assert line.version is not None
    assert line.version.ordinal == 1
    assert f"#{restored}" in line.note


def test_equal_bytes_of_another_lane_are_not_blamed() -> None:
    run = read(
        runs.recorded(
            agent(
                asks(task("t1", "one", "First.")),
                delete("d1", "/a.md"),
                asks(task("t2", "two", "Second.")),
                says(),
                subagents=[
                    subagent("one", write("w1", "/a.md", "same\n")),
                    subagent("two", write("w2", "/a.md", "same\n")),
                ],
            )
        )
    )
    last = max(run.files["/a.md"].versions, key=lambda version: max(version.wrote, default=0))
    assert written_by(run.blame(last)) == [("same", "w2", "two")]


def test_a_subagents_line_has_its_task_for_a_prompt() -> None:
    run = read(runs.eventful())
    (line,) = run.blame("/west.md").lines
    assert (line.text, line.agent, line.prompt, line.call_id) == ("west coast", "librarian", "Look west.", "west2")


def test_a_subagents_edit_of_its_callers_file_is_told_apart() -> None:
    run = read(
        runs.recorded(
            agent(
                write("w1", "/a.md", "one\ntwo\n"),
                task("t1", "editor"),
                edit("e2", "/a.md", "one", "one!"),
                says(),
                subagents=[subagent("editor", edit("e1", "/a.md", "two", "TWO\nthree"))],
            )
        )
    )
    assert written_by(run.blame("/a.md")) == [
        ("one!", "e2", "researcher"),
        ("TWO", "e1", "editor"),
        ("three", "e1", "editor"),
    ]


def test_what_was_there_before_has_no_step() -> None:
    lines = read(runs.thread_by_runs()[1]).blame("/report.md").lines
    assert [line.step is None for line in lines] == [True, True, False, True]
    assert {line.note for line in lines if line.step is None} == {"was there before"}


def test_a_file_written_anew_after_its_deletion_is_new() -> None:
    run = read(
        runs.recorded(
            agent(write("w1", "/a.md", "one\ntwo\n"), delete("d1", "/a.md"), write("w2", "/a.md", "one\n"), says())
        )
    )
    assert written_by(run.blame("/a.md")) == [("one", "w2", "researcher")]


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ("one\r\ntwo\r\n", ["one", "two"]),
        ("one\ntwo", ["one", "two"]),
        ("a\x0cb\u2028c\n", ["a\x0cb\u2028c"]),
        ("\n", [""]),
    ],
)
def test_only_a_line_feed_ends_a_line(content: str, lines: list[str]) -> None:
    blame = chain([content]).blame("/a.md")
    assert [line.text for line in blame.lines] == lines


def test_an_empty_file_has_no_lines_and_says_so() -> None:
    blame = chain([""]).blame("/a.md")
    assert blame.lines == ()
    assert blame.note == "it is empty"


@pytest.mark.parametrize("name", ["content", "hidden"])
def test_what_is_withheld_is_not_blamed(name: str) -> None:
    blame = read(runs.withheld(name)).blame("/.env")
    assert blame.lines == ()
    assert "withheld" in blame.note


def test_a_rendering_is_not_blamed() -> None:
    run = read(runs.eventful())
    blame = run.blame(run.files["/skills/reports/SKILL.md"].versions[0])
    assert blame.lines == ()
    assert "rendering" in blame.note


def test_only_versions_can_be_blamed() -> None:
    run = read(runs.simple())
    for reference in ("#1", "plan"):
        with pytest.raises(UnknownReferenceError):
            run.blame(reference)


def test_after_a_version_that_cannot_be_read_lines_may_be_older() -> None:
    run = chain(["one\n", b"\xff\xfe", "one\ntwo\n"])
    assert run.blame("/a.md@2").note == "it is no text"
    lines = run.blame("/a.md@3").lines
    assert [line.step for line in lines] == [3, 3]
    assert all("may be older" in line.note for line in lines)


# --- chains of edits


def _cid(content: bytes) -> str:
    digest = hashlib.sha256(content).digest()
    return "b" + base64.b32encode(b"\x01\x55\x1e\x20" + digest).decode().lower().rstrip("=")


def chain(contents: list[str | bytes]) -> Run:
    """A run of calls, unsigned, each of which replaces what the one before wrote."""
    statements: dict[str, Any] = {}
    blobs: dict[str, str] = {}

    def store(content: bytes) -> str:
        cid = _cid(content)
        blobs[cid] = base64.b64encode(content).decode()
        return f"urn:cid:{cid}"

    before: dict[str, Any] | None = None
    for at, content in enumerate(contents, 1):
        cid = store(content if isinstance(content, bytes) else content.encode())
        use = {"path": "/a.md", "cid": cid, "version": at, "evidence": "arguments"}
        files = [{**use, "role": "wrote"}, *([{**before, "role": "replaced"}] if before else [])]
        said = {"name": "write_file", "computation_type": "tool", "sequence": at, "lane": "", "files": files}
        id_ = f"urn:cid:{_cid(f'computation {at}'.encode())}"
        statements[id_] = {
            "@type": "ComputationRegistration",
            "input": [before["cid"]] if before else [],
            "output": [cid],
        }
        statements[f"urn:cid:{_cid(f'metadata {at}'.encode())}"] = {
            "@type": "MetadataRegistration",
            "subject": id_,
            "metadata": store(json.dumps(said).encode()),
        }
        before = use
    return read(json.dumps({"version": "3", "contexts": {}, "statements": statements, "blobs": blobs}).encode())


@st.composite
def edited(draw: st.DrawFn) -> list[list[str]]:
    """Versions of a text whose lines are all different, each made from the one before by inserting and removing."""
    fresh = iter(range(10_000))
    versions: list[list[str]] = [[]]
    for _ in range(draw(st.integers(1, 8))):
        lines = list(versions[-1])
        for _ in range(draw(st.integers(0, 3))):
            at = draw(st.integers(0, len(lines)))
            if draw(st.booleans()):
                lines[at:at] = [f"line {next(fresh)}" for _ in range(draw(st.integers(1, 4)))]
            else:
                del lines[at : at + draw(st.integers(1, 3))]
        if draw(st.integers(0, 4)) == 0:
            lines = draw(st.sampled_from(versions))
        versions.append(lines)
    return versions[1:]


@given(edited())
def test_each_line_of_a_chain_is_blamed_on_the_version_that_it_first_stood_in(versions: list[list[str]]) -> None:
    run = chain(["".join(f"{line}\n" for line in lines) for lines in versions])
    first: dict[str, int] = {}
    for at, lines in enumerate(versions, 1):
        for line in lines:
            first.setdefault(line, at)
        blame = run.blame(f"/a.md@{at}")
        assert [(line.number, line.text) for line in blame.lines] == list(enumerate(lines, 1))
        assert [line.version.ordinal for line in blame.lines if line.version] == [first[line] for line in lines]


_TEXTS = st.lists(st.sampled_from("abcd"), max_size=30)


@given(_TEXTS, _TEXTS)
def test_blocks_are_equal_lines_in_order(before: list[str], after: list[str]) -> None:
    i = j = 0
    for at, to, count in matching.blocks(before, after):
        assert at >= i
        assert to >= j
        assert count > 0
        assert before[at : at + count] == after[to : to + count]
        i, j = at + count, to + count
    assert i <= len(before)
    assert j <= len(after)


def test_what_is_too_large_for_every_pair_is_matched_by_lines_that_stand_once() -> None:
    before = ["same"] * 3_000 + ["once"] + ["same"] * 3_000
    after = ["new"] + ["same"] * 2_990 + ["once"] + ["same"] * 2_000 + ["end"]
    found = list(matching.blocks(before, after))
    assert (3_000 - 2_990, 1, 2_990 + 1 + 2_000) in found


def test_a_call_that_is_not_the_models_is_still_blamed() -> None:
    """A manifest of a tool call with no turn: the step is known, and what it was told is not."""
    (line,) = chain(["one\n"]).blame("/a.md").lines
    assert (line.step, line.turn, line.turn_step, line.prompt) == (1, None, None, "")


def test_a_diff_is_unified_and_names_its_versions() -> None:
    diff = read(runs.simple()).file_diff("/report.md@1", "/report.md@2")
    assert diff.lines[:3] == ("--- /report.md@1", "+++ /report.md@2", "@@ -1,4 +1,4 @@")
    assert "-By night, the rhythm." in diff.lines
    assert "+By night, the rhythm of the light." in diff.lines


@given(_TEXTS, _TEXTS, st.booleans(), st.booleans())
def test_a_diff_gives_back_both_texts(before: list[str], after: list[str], end: bool, other: bool) -> None:  # noqa: FBT001
    texts = ["\n".join(lines) + ("\n" if ended and lines else "") for lines, ended in ((before, end), (after, other))]
    lines = chain([*texts]).file_diff("/a.md@1", "/a.md@2").lines
    assert bool(lines) == (texts[0] != texts[1])
    assert not lines or applied(lines, texts[0]) == texts[1]


def applied(diff: tuple[str, ...], text: str) -> str:
    """What a text becomes by a unified diff."""
    given_, made, at = matching.lines_of(text), [], 0
    for line, following in zip(diff, [*diff[1:], ""], strict=True):
        body = line[1:] + ("" if following.startswith("\\") else "\n")
        if line.startswith("@@"):
            start, _, length = line.split()[1][1:].partition(",")
            until = int(start) - (length != "0")
            made.extend(given_[at:until])
            at = until
        elif line[:1] in {" ", "-"} and not line.startswith("---"):
            assert given_[at] == body
            at += 1
            made.extend([body] * (line[0] == " "))
        elif line.startswith("+") and not line.startswith("+++"):
            made.append(body)
    return "".join([*made, *given_[at:]])


def test_what_cannot_be_shown_as_lines_says_why() -> None:
    run = chain(["one\n", b"\xff"])
    diff = run.file_diff("/a.md@1", "/a.md@2")
    assert diff.lines == ()
    assert diff.note == "/a.md@2: it is no text"
