"""A failing check by text names what it looked for, and where the text came nearest."""

import random
import time
from typing import Any

import pytest
import regex
from cases import exactly, graded
from hypothesis import given, strategies as st

from baselinekit.graders.base import GradeClients
from baselinekit.graders.by_text import (
    Contains,
    MustInclude,
    RegexMatch,
    TokenCount,
    beginnings,
    nearest_match,
    nearest_text,
)
from baselinekit.values.texts import no_mask

TEXT = """\
Here is the change:

<dif>
-a
+b
</dif>
The Constraints  are
empty.  Total: 12 items left
function add(a, b)
"""


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        (["<diff>"], "nearest: line 3: '<dif>'"),
        (["constraints are empty"], "nearest: line 7: 'Constraints  are\\nempty'"),
        (["totl: 12"], "nearest: line 8: 'Total: 12'"),
        (["Totl", "<diff>", "function add(a; b)"], "nearest: line 9: 'function add(a, b)'"),
        (["xyzzy"], "None"),
        (["日本語"], "None"),
        (["x" * 500], "None"),
        ([TEXT + "and more"], f"nearest: line 10: '', after its first {len(TEXT)} characters"),
    ],
)
def test_e4_nearest_text_names_the_line(wanted: list[str], near: str) -> None:
    assert str(nearest_text(wanted, TEXT, no_mask)) == near


@pytest.mark.parametrize(
    ("pattern", "near"),
    [
        (r"^\d+ items$", r"nearest: line 8: '12 items' matches \d+ items, then comes ' left'"),
        (r"TOTAL", "nearest: line 8: 'Total' with flags: [ignorecase]"),
        (r"^function", "nearest: line 9: 'function' with flags: [multiline]"),
        (r"(add\([a-z]; \w\))", r"nearest: line 9: 'add(a' matches (add\([a-z]), then comes ', b)'"),
        ("a{2,3}", "None"),
    ],
)
def test_e4_nearest_match_names_how_far_a_pattern_matches(pattern: str, near: str) -> None:
    assert str(nearest_match(pattern, [], TEXT, no_mask)) == near


def is_closed(pattern: str) -> bool:
    try:
        regex.compile(pattern)
    except regex.error as error:
        return "missing )" not in str(error)
    return True


@given(st.from_regex(r"(\(\?:|\(|\)|a|b|\[ab\]|\\d|\||\*|\+|\?|\{2\}|\.){0,12}", fullmatch=True))
def test_e4_beginnings_of_a_pattern_leave_no_group_open(pattern: str) -> None:
    assert not is_closed(pattern) or all(map(is_closed, beginnings(pattern)))


NEAR = "'<diff>' is not in the output (nearest: line 3: '<dif>')"


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        (Contains(all=["<diff>", "Here", "xyzzy"]), f"{NEAR}; 'xyzzy' is not in the output"),
        (Contains(none=["total", "xyzzy"], case_sensitive=False), "'total' is in it on line 8"),
        (MustInclude(("<diff>",), ("Total",)), f"{NEAR}; 'Total' is in it on line 8"),
        (MustInclude(("xyzzy",), (), (MustInclude(("<diff>",)),)), "'xyzzy' is not in the output"),
        (RegexMatch(r"T\d"), r"the pattern is not found: T\d"),
        (RegexMatch(r"Total: \d", must_match=False), r"the pattern is found on line 8: Total: \d"),
        (TokenCount(max=3), "it has 19 words, and 3 are the most"),
    ],
)
def test_e4_failing_check_names_its_text_and_the_nearest_one(method: Any, reason: str) -> None:
    found = graded(TEXT, method)
    assert (found.outcome, found.reason) == ("failed", reason)
    expected = graded("Totl: 12", Contains(), exactly("Total", type="contains"))
    assert expected.reason == "none of 'Total' is in the output (nearest: line 1: 'Totl')"


def test_e4_nearest_text_shows_no_part_of_a_secret() -> None:
    clients = GradeClients(mask=lambda text: text.replace("sk-hunter2hunter2", "***"))
    for method in (
        Contains(all=["token is sk-hunter3"]),
        Contains(all=["hunter2hunter3"]),
        Contains(all=["The token is sk-hunter2hunter2 " * 10]),
        RegexMatch(r"token is sk-\w+;"),
        RegexMatch(r"TOKEN IS SK-\w+"),
    ):
        found = graded("The token is sk-hunter2hunter2, is it?", method, clients=clients)
        assert found.outcome == "failed"
        assert "hunter2" not in found.reason.replace(repr(method), "").partition("(nearest")[2]


@pytest.mark.slow
def test_e4_failing_check_of_a_long_text_takes_little_time() -> None:
    text = "".join(random.Random(1).choices("ab", k=999_000))
    needles = [f"{'ab' * (number % 60)}c{number}d" for number in range(1_000)]
    for method in (Contains(any=[*needles, text[:3_000] + "!"]), RegexMatch("a*b*c*d*x1")):
        began = time.process_time()
        assert graded(text, method).outcome == "failed"
        assert time.process_time() - began < 10


@given(st.text(max_size=40), st.text(max_size=200))
def test_e4_nearest_text_is_a_part_of_the_text(wanted: str, text: str) -> None:
    near = nearest_text([wanted], text, no_mask)
    assert near is None or near.text in text


@pytest.mark.parametrize(
    ("how", "passed"), [({"max": 4}, False), ({"min": 6}, False), ({"min": 5, "max": 5}, True)]
)
def test_e4_token_count_has_inclusive_bounds(how: dict[str, int], passed: bool) -> None:
    found = graded("one two\tthree\n\nfour five ", TokenCount(**how))
    assert found.outcome == ("passed" if passed else "failed")
    assert found.details == {"words": 5}
    assert graded("", TokenCount(max=0)).outcome == "passed"
