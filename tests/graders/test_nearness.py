"""A failing check by text names what it looked for, and where the text came nearest."""

import random
import time
from typing import Any

import pytest
from cases import exactly, graded

from baselinekit.graders.base import GradeClients
from baselinekit.graders.by_text import Contains, MustInclude, RegexMatch, TokenCount, describe_nearest
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
        (["<diff>"], " (nearest: line 3: '<dif>')"),
        (["constraints are empty"], " (nearest: line 7: 'Constraints  are\\nempty')"),
        (["totl: 12"], " (nearest: line 8: 'Total: 12')"),
        (["Totl", "<diff>", "function add(a; b)"], " (nearest: line 9: 'function add(a, b)')"),
        ([TEXT + "and more"], ""),
    ],
)
def test_e4_nearest_text_names_the_line(wanted: list[str], near: str) -> None:
    assert describe_nearest(wanted, TEXT, no_mask) == near


NEAR = "'<diff>' is not in the output (nearest: line 3: '<dif>')"


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        (Contains(none=["total", "xyzzy"], case_sensitive=False), "'total' is in it on line 8"),
        (MustInclude((Contains(all=["<diff>"], none=["Total"]),)), f"{NEAR}; 'Total' is in it on line 8"),
        (RegexMatch(r"T\d"), r"the pattern is not found: T\d"),
        (RegexMatch(r"Total: \d", must_match=False), r"the pattern is found on line 8: Total: \d"),
        (TokenCount(max=3), "it has 19 words, and 3 are the most"),
    ],
)
def test_e4_failing_check_names_its_text_and_the_nearest_one(method: Any, reason: str) -> None:
    found = graded(TEXT, method)
    assert (found.outcome, found.reason) == ("failed", reason)
    expected = graded("Totl: 12", Contains(), exactly("Total", type="contains"))
    assert expected.reason == "'Total' is not in the output (nearest: line 1: 'Totl')"


def test_e4_nearest_text_shows_no_part_of_a_secret() -> None:
    clients = GradeClients(mask=lambda text: text.replace("sk-hunter2hunter2", "***"))
    for text in ("token is sk-hunter3", "hunter2hunter3", "The token is sk-hunter2hunter2 " * 10):
        method = Contains(all=[text])
        found = graded("The token is sk-hunter2hunter2, is it?", method, clients=clients)
        assert found.outcome == "failed"
        assert "hunter2" not in found.reason.replace(repr(method), "").partition("(nearest")[2]


@pytest.mark.slow
def test_e4_failing_check_of_a_long_text_takes_little_time() -> None:
    text = "".join(random.Random(1).choices("ab", k=999_000))
    needles = [f"{'ab' * (number % 60)}c{number}d" for number in range(1_000)]
    for method in (Contains(any=[*needles, text[:3_000] + "!"]), Contains(all=["abc" * 30])):
        began = time.process_time()
        assert graded(text, method).outcome == "failed"
        assert time.process_time() - began < 10


def test_e4_token_count_has_inclusive_bounds() -> None:
    for least, most, outcome in ((0, 4, "failed"), (6, 9, "failed"), (5, 5, "passed")):
        found = graded("one two\tthree\n\nfour five ", TokenCount(least, most))
        assert (found.outcome, found.details) == (outcome, {"words": 5})
