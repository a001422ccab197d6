"""Text from a manifest on a terminal: one line, nothing hidden, nothing obeyed."""

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqty_lineage.deepagents.reading.visible import ELLIPSIS, visible

ANYTHING = st.text(st.characters(exclude_categories=()))  # lone surrogates included


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/report.md", "/report.md"),
        ("\x1b[2J\x07", "\\x1b[2J\\x07"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("safe\u202egnp.exe", "safe\\u202egnp.exe"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\ud800", "\\ud800"),
        ("\u2028\u0085\x7f", "\\u2028\\x85\\x7f"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("filler\u3164", "filler\\u3164"),
        ("naïve 北京 🙂", "naïve 北京 🙂"),
        ("C:\\new", "C:\\new"),
    ],
)
def test_what_a_terminal_would_obey_or_hide_is_shown_by_number(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(ANYTHING)
def test_no_control_format_or_line_character_is_left(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert not {unicodedata.category(c) for c in shown} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


@given(ANYTHING, st.integers(1, 40))
def test_a_limit_is_kept_and_a_cut_is_shown(text: str, limit: int) -> None:
    whole, cut = visible(text), visible(text, limit=limit)
    assert len(cut) <= limit
    assert cut == whole or (cut.endswith(ELLIPSIS) and whole.startswith(cut[:-1]))


def test_every_code_point_gives_something() -> None:
    assert all(visible(chr(code)) for code in range(sys.maxunicode + 1))
