"""What a failing check by text says: what it looked for, and where the text came nearest."""

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
        (["here is the change"], "nearest: line 1: 'Here is the change'"),
        (["constraints are empty"], "nearest: line 7: 'Constraints  are\\nempty'"),
        (["totl: 12"], "nearest: line 8: 'Total: 12'"),
        (["Total: 13 items"], "nearest: line 8: 'Total: 12 items'"),
        (["Totl", "<diff>", "function add(a; b)"], "nearest: line 9: 'function add(a, b)'"),
        (["xyzzy"], "None"),
        ([""], "None"),
        (["日本語"], "None"),
        (["x" * 500], "None"),
        (
            [TEXT + "and more"],
            f"nearest: line 10: '', after its first {len(TEXT)} characters",
        ),
    ],
)
def test_e4_where_a_text_comes_nearest(wanted: list[str], near: str) -> None:
    assert str(nearest_text(wanted, TEXT, no_mask)) == near


@pytest.mark.parametrize(
    ("pattern", "near"),
    [
        (r"^\d+ items$", r"nearest: line 8: '12 items' matches \d+ items, then comes ' left'"),
        (
            r"Total: \d+ items left \(",
            r"nearest: line 8: 'Total: 12 items left' matches Total: \d+ items left, then the line ends",
        ),
        (r"TOTAL", "nearest: line 8: 'Total' with flags: [ignorecase]"),
        (r"^function", "nearest: line 9: 'function' with flags: [multiline]"),
        (r"</dif>.The", "nearest: line 6: '</dif>\\nThe' with flags: [dotall]"),
        (
            r"(?P<word>function \w+\([a-z]; \w\))",
            r"nearest: line 9: 'function add(a' matches (?P<word>function \w+\([a-z]), then comes ', b)'",
        ),
        ("zzz", "None"),
        ("a{2,3}", "None"),
        ("(?<=x)y", "None"),
    ],
)
def test_e4_how_far_a_pattern_matches(pattern: str, near: str) -> None:
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
        (
            Contains(any=["<diff>", "xyzzy"]),
            "none of '<diff>', 'xyzzy' is in the output (nearest: line 3: '<dif>')",
        ),
        (Contains(none=["total", "xyzzy"], case_sensitive=False), "'total' is in it on line 8"),
        (MustInclude(("<diff>",), ("Total",)), f"{NEAR}; 'Total' is in it on line 8"),
        (MustInclude(("xyzzy",), (), (MustInclude(("<diff>",)),)), "'xyzzy' is not in the output"),
        (
            RegexMatch(r"TOTAL: \d"),
            r"the pattern is not found: TOTAL: \d (nearest: line 8: 'Total: 1' with flags: [ignorecase])",
        ),
        (RegexMatch(r"Total: \d", must_match=False), r"the pattern is found on line 8: Total: \d"),
        (TokenCount(max=3), "it has 19 words, and 3 are the most"),
        (TokenCount(min=30), "it has 19 words, and 30 are the least"),
    ],
)
def test_e4_a_failing_check_names_what_it_looked_for_and_where_the_text_came_nearest(
    method: Any, reason: str
) -> None:
    found = graded(TEXT, method)
    assert (found.outcome, found.reason) == ("failed", reason)
    expected = graded("Totl: 12", Contains(), exactly("Total", type="contains"))
    assert expected.reason == "none of 'Total' is in the output (nearest: line 1: 'Totl')"


def test_e4_no_secret_is_in_it_not_even_half_of_one() -> None:
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
@pytest.mark.parametrize("letters", ["abcdefghij klmnop\n", "ab", "日本語 \n"])
def test_e4_a_megabyte_and_a_thousand_needles_take_little_time(letters: str) -> None:
    chance = random.Random(1)
    text = "".join(chance.choices(letters, k=999_000))
    needles = [f"{'ab' * (number % 60)}c{number}d" for number in range(1_000)]
    for method in (
        Contains(all=needles),
        Contains(any=[*needles, "a" * 49 + "c" + "a" * 50, text[:3_000] + "!"]),
        Contains(all=["x" * 100, "".join(chance.choices("abcdefghij", k=100)), "a" * 99 + "b"]),
        RegexMatch(r"[a-z]+ \d{3}x"),
        RegexMatch("a*b*c*d*x1"),
    ):
        began = time.process_time()
        assert graded(text, method).outcome == "failed"
        assert time.process_time() - began < 10


@given(st.text(max_size=40), st.text(max_size=200))
def test_e4_whatever_is_looked_for_in_whatever_text(wanted: str, text: str) -> None:
    near = nearest_text([wanted], text, no_mask)
    assert near is None or near.text in text


@pytest.mark.parametrize(
    ("how", "passed"),
    [
        ({"max": 5}, True),
        ({"max": 4}, False),
        ({"min": 5}, True),
        ({"min": 6}, False),
        ({"min": 5, "max": 5}, True),
    ],
)
def test_e4_words_are_counted_by_white_space_and_bounds_are_inclusive(
    how: dict[str, int], passed: bool
) -> None:
    found = graded("one two\tthree\n\nfour five ", TokenCount(**how))
    assert found.outcome == ("passed" if passed else "failed")
    assert found.details == {"words": 5}
    assert graded("", TokenCount(max=0)).outcome == "passed"
