"""A failing check by text names what it looked for, and where it found what must not be there."""

from typing import Any

import pytest
from cases import exactly, graded

from baselinekit.graders.by_text import Contains, MustInclude, RegexMatch, TokenCount

TEXT = "Here is the change:\n\n-a\n+b\nThe Constraints are\nempty.\nTotal: 12 items left\n"


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        (Contains(all=["<diff>", "Here"]), "'<diff>' is not in the output"),
        (Contains(none=["total", "xyzzy"], case_sensitive=False), "'total' is in it on line 7"),
        (
            MustInclude((Contains(all=["<diff>"], none=["Total"]),)),
            "'<diff>' is not in the output; 'Total' is in it on line 7",
        ),
        (MustInclude((Contains(all=["xyzzy"]), Contains(all=["<diff>"]))), "'xyzzy' is not in the output"),
        (RegexMatch(r"T\d"), r"the pattern is not found: T\d"),
        (RegexMatch(r"Total: \d", must_match=False), r"the pattern is found on line 7: Total: \d"),
        (TokenCount(max=3), "it has 14 words, and 3 are the most"),
    ],
)
def test_e4_failing_check_names_its_text(method: Any, reason: str) -> None:
    found = graded(TEXT, method)
    assert (found.outcome, found.reason) == ("failed", reason)
    expected = graded("Totl: 12", Contains(), exactly("Total", type="contains"))
    assert expected.reason == "'Total' is not in the output"


def test_e4_token_count_has_inclusive_bounds() -> None:
    for least, most, outcome in ((0, 4, "failed"), (6, 9, "failed"), (5, 5, "passed")):
        found = graded("one two\tthree\n\nfour five ", TokenCount(least, most))
        assert (found.outcome, found.details) == (outcome, {"words": 5})
