"""The same change in many baselines is told once, alike in every form."""

from typing import Any

import pytest
from report.reports import report, result, spot

from baselinekit.model.results import Result
from baselinekit.report import terminal
from baselinekit.report.differences import share
from baselinekit.report.forms import render_report
from baselinekit.report.wording import Style

PLAIN = Style(width=80)


def version(number: int, *more: Any, **facts: Any) -> Result:
    return result(f"get-{number}", "failed", spot(("body", "version"), "value", "1.0", "2.0"), *more, **facts)


def test_share_of_a_thousand_equal_failures_fits_a_screen_and_a_comment() -> None:
    run = report(*(version(n) for n in range(1_000)))
    assert terminal.format_failures(run, PLAIN) == (
        "the same change in 1,000 baselines\n\n  body.version\n"
        '    - "1.0"\n    + "2.0"\n  in get-0, get-1, get-2, get-3 and 996 more\n\n'
    )
    comment = render_report(run, "x.md")
    assert len(comment) < 2_000
    assert comment.count('- "1.0"') == 1
    assert "the same change in 1,000 baselines" in comment
    page = render_report(run, "x.html")
    assert page.count('<div class="gone">- &#34;1.0&#34;</div>') == 1
    assert "in get-0, get-1, " in page


def test_thousand_different_failures_fit_a_screen() -> None:
    run = report(*(result(f"get-{n}", "failed", spot((f"k{n}",), "value", n, -n)) for n in range(1_000)))
    screen = terminal.format_failures(run, PLAIN)
    assert screen.count("FAILED  get-") == 20
    assert screen.endswith(
        "FAILED  980 more: get-20, get-21, get-22, get-23, get-24, get-25 and 974 more (-v shows each)\n\n"
    )
    verbose = terminal.format_failures(run, Style(width=80, verbose=True))
    assert verbose.count("FAILED  get-") == 1_000


@pytest.mark.parametrize(
    ("results", "groups"),
    [
        ([version(n) for n in range(2)], []),
        ([version(n) for n in range(3)], [3]),
        # Another rule, another type, another kind is another change.
        ([result(f"r{n}", "failed", spot(("a",), "value", 1, 2, rule=f"r{n}")) for n in range(3)], []),
        ([result(f"r{n}", "failed", spot(("a",), "value", 1, [2, "x", None][n])) for n in range(3)], []),
        # Rows stand for each other.
        ([result(f"r{n}", "failed", spot(("a", n, "b"), "missing", n)) for n in range(3)], [3]),
        # A page is news each time, unless it is the same one.
        ([result(f"r{n}", "failed", spot(("body",), "value", f"a\n{n}", "b\n")) for n in range(3)], []),
        ([result(f"r{n}", "failed", spot(("body",), "value", "a\n", "b\n")) for n in range(3)], [3]),
        # What was replayed several times has a story of its own, and an error is none.
        ([result(f"r{n}", "error", code="BK301", reason="no") for n in range(4)], []),
    ],
)
def test_share_groups_the_same_change(results: list[Result], groups: list[int]) -> None:
    assert [len(change.results) for change in share(results)[0]] == groups


def test_share_keeps_every_difference_once() -> None:
    results = [
        version(n, *(spot((f"k{k}",), "extra", k) for k in range(n)), count=1 + n + 7 * (n == 4))
        for n in range(9)
    ]
    shared, left = share(results)
    own = sum(item.difference_count for item in left if item is not None)
    assert own + sum(change.diff.count for change in shared) == sum(item.difference_count for item in results)
    assert [len(change.results) for change in shared] == [9, 8, 7, 6, 5, 4, 3]  # what most have comes first
