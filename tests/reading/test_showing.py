"""A run as a flowchart and as a notebook shows it: bounded, and whatever a model wrote stays text."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from eqty_lineage.deepagents.reading import mermaid, notebook
from eqty_lineage.deepagents.reading.run import read
from support import runs
from support.synthetic import synthetic

_LINE = re.compile(
    r"""flowchart\ TD
    | \s+subgraph\ lane\d+\["[^"\[\]<>`]*"\]
    | \s+end
    | \s+(s\d+|rest)\["[^"\[\]<>`]*"\]
    | \s+v\d+\[\("[^"\[\]<>`]*"\)\]
    | \s+[sv]\d+\ (-->|-\.->|--\ (inferred|within)\ -->)\ [sv]\d+""",
    re.VERBOSE,
)


class _Tags(HTMLParser):
    """The tags and attributes of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


TAGS = {"div", "p", "strong", "code", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"}


@pytest.mark.parametrize("name", sorted(runs.EVERY))
def test_every_line_of_a_flowchart_is_one_of_ours(name: str) -> None:
    drawn = read(runs.EVERY[name]()).draw_mermaid()
    assert drawn.isascii()
    for line in drawn.splitlines():
        assert _LINE.fullmatch(line), line


@pytest.mark.parametrize(
    "text", ['"]; click s1 "javascript:alert(1)"', "end", "<img src=x>", "a\nb", "`x`", "#quot;", "%%{init}%%"]
)
def test_a_hostile_label_is_characters_by_number(text: str) -> None:
    written = mermaid.label(text)
    assert re.fullmatch(r"([A-Za-z0-9 ./_-]|#\d+;)+", written)
    assert not re.search(r"\bend\b", written)


def test_a_flowchart_has_the_agents_the_steps_and_the_versions() -> None:
    drawn = read(runs.deep()).draw_mermaid()
    assert '["researcher"]' in drawn
    assert '["librarian"]' in drawn
    (first,) = re.findall(r'(v\d+)\[\("/report.md v1"\)\]', drawn)
    assert f"--> {first}" in drawn
    assert f"{first} -.-> " in drawn


def test_an_inferred_link_says_so() -> None:
    assert "-- inferred -->" in read(runs.base_only()).draw_mermaid()
    assert "-- inferred -->" not in read(runs.deep()).draw_mermaid()


def test_a_long_run_is_drawn_in_part_and_says_how_much_is_left_out() -> None:
    run = read(synthetic(1_000))
    drawn = run.draw_mermaid()
    nodes = re.findall(r"^ +[sv]\d+\[", drawn, re.MULTILINE)
    (left,) = re.findall(r'rest\["(\d+) more not drawn"\]', drawn)
    assert len(nodes) <= mermaid.NODES
    assert len(nodes) + int(left) == len(run.steps) + sum(len(file.versions) for file in run.files.values())


@pytest.mark.parametrize("name", sorted(runs.EVERY))
def test_a_notebook_shows_tags_of_ours_only(name: str) -> None:
    page = read(runs.EVERY[name]())._repr_html_()
    tags = _Tags(page)
    assert tags.tags <= TAGS
    assert tags.attributes <= {"style"}
    assert "://" not in page
    assert "not verified" in page


def test_a_notebook_shows_steps_files_and_the_plan() -> None:
    page = read(runs.simple())._repr_html_()
    text = " ".join(_Tags(page).text)
    for said in ("write_file", "/report.md v2", runs.QUESTION, runs.ANSWER, "[completed] Write it"):
        assert said in text


def test_a_long_run_is_shown_in_part_and_says_so() -> None:
    run = read(synthetic(3_000))
    page = run._repr_html_()
    assert len(page.encode()) < 200_000
    assert f"{len(run.steps) - notebook.STEPS} more steps" in page
    assert "eqty-lineage view" in page


def test_names_of_nothing_but_quotes_stay_within_the_bound() -> None:
    raw = synthetic(600)
    run = read(raw)
    name = '"' * 200
    object.__setattr__(run, "steps", tuple(replace(step, name=name, agent=name) for step in run.steps))
    page = run._repr_html_()
    _Tags(page)
    assert len(page.encode()) < 200_000
    shown = page.count("<tr><td>#")
    assert f"{len(run.steps) - shown} more steps" in page
