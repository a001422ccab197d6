"""Where the lines of withheld files turn up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqty_lineage.deepagents.discretion import lines
from eqty_lineage.deepagents.discretion.lines import BLANK, Lines

words = st.text(alphabet="ab\u00e9\u4e2d\U0001f600 -=", max_size=24)


def learned(*texts: str) -> Lines:
    one = Lines()
    for text in texts:
        one.learn(text)
    return one


def test_a_line_is_blanked_wherever_it_stands():
    secret = learned("  API_KEY=sk-12345  \nx=1\n")
    assert secret.blank("3:API_KEY=sk-12345,API_KEY=sk-12345") == f"3:{BLANK},{BLANK}"
    assert secret.blank("x=1") == "x=1"
    assert len(secret) == 1


def test_the_longest_line_goes_first():
    secret = learned("password=abcdef\npassword=abcdef-and-more\n")
    assert secret.blank("password=abcdef-and-more") == BLANK


@pytest.mark.parametrize("count", [1, 15, 16, 17, 200])
@given(text=st.lists(words, max_size=6).map("".join), pattern=words, at=st.integers(0, 40))
def test_a_line_is_found_however_many_there_are(count: int, text: str, pattern: str, at: int):
    others = [f"another line number {number:04d}" for number in range(count - 1)]
    secret = learned(pattern, *others)
    whole = text[:at] + pattern.strip() + text[at:]
    expected = [pattern.strip()] if len(pattern.strip()) >= lines.SHORTEST else []
    assert [line for line in secret.found_in(whole) if line not in others] == expected


@given(st.lists(words, max_size=40), words)
def test_nothing_is_found_that_is_not_there(learnt: list[str], text: str):
    secret = learned(*learnt)
    assert secret.found_in(text) == sorted(
        {
            line.strip()
            for one in learnt
            for line in one.splitlines()
            if len(line.strip()) >= lines.SHORTEST and line.strip() in text
        },
        key=lambda line: (-len(line), secret.found_in(text).index(line)),
    )


def test_many_short_lines_are_found_too():
    secret = learned(*(f"{number:012d}" for number in range(40)))
    assert secret.blank("x000000000039x") == f"x{BLANK}x"


def test_there_is_an_end_to_what_is_learned(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lines, "MOST", 3)
    secret = learned(*(f"line number {number:04d}" for number in range(9)))
    assert len(secret) == 3


def test_a_whole_text_is_looked_for_however_short():
    secret = learned()
    secret.learn_whole("P=12~q5\n")
    secret.learn_whole("x=1")
    assert secret.blank("a P=12~q5 b x=1") == f"a {BLANK} b x=1"
    for number in range(40):
        secret.learn(f"another line number {number:04d}")
    assert secret.blank("a P=12~q5 b") == f"a {BLANK} b"


def test_lines_that_begin_alike_are_told_apart():
    secret = learned(*(f"the same beginning of a line {number}" for number in range(500)))
    assert secret.found_in("xx the same beginning of a line 7 yy") == ["the same beginning of a line 7"]
    assert secret.found_in("the same beginning of a") == []


def test_a_line_with_quotes_is_found_in_json_text_too():
    secret = learned('KEY="a b c d e f"')
    assert secret.blank('{"x": "KEY=\\"a b c d e f\\""}') == f'{{"x": "{BLANK}"}}'


def test_what_only_names_a_file_is_no_line():
    assert len(learned("/workspace/report.md\n./src/long/name.py\n~/x/y/z/w/v/u")) == 0
