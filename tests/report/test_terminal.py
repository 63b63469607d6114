"""What an engineer reads after a failing compare."""

import re

import pytest
from report.reports import NASTY, report, result, spot

from baselinekit.model.results import Result
from baselinekit.report import next_commands, terminal, wording
from baselinekit.report.wording import Style
from baselinekit.structs import replace

PLAIN = Style(colour=False, width=80)
COLOURED = Style(colour=True, width=80)


def test_format_failure_shows_a_difference_repeated_along_an_array_once() -> None:
    rows = [spot(("body", "users", row, "name"), "missing", f"User {row}") for row in range(20)]
    failed = result("a", "failed", *rows, resolved={"body": {"users": [{}] * 20}})
    text = terminal.format_failure(failed, PLAIN)
    assert "  body.users[*].name  missing in 20 of 20" in text
    assert text.count("missing") == 1
    assert "… and 19 more like it" in text
    assert terminal.format_failure(failed, replace(PLAIN, verbose=True)).count("missing") == 20
    assert "missing in 20 " in terminal.format_failure(result("a", "failed", *rows), PLAIN)


def test_format_failure_shows_many_values_of_an_array_by_sample() -> None:
    def prices(count: int) -> Result:
        return result(
            "a", "failed", *(spot(("rows", row, "price"), "value", row, -row) for row in range(count))
        )

    assert "rows[4].price" in terminal.format_failure(prices(5), PLAIN)
    many = terminal.format_failure(prices(9), PLAIN)
    assert "rows[*].price  differs in 9" in many
    assert "    rows[2].price\n    - 2\n    + -2\n    … and 6 more like these\n" in many


def test_format_failure_shows_fifty_places_and_counts_the_rest() -> None:
    spots = [spot((f"key{number}",), "value", 1, 2) for number in range(60)]
    text = terminal.format_failure(result("a", "failed", *spots, count=12_345), PLAIN)
    assert text.count("    - 1\n") == 50
    assert "   12,345 differences\n" in text
    assert "… and 12,295 more differences" in text


def test_terminal_output_escapes_control_characters_and_commands() -> None:
    spots = spot(("body", NASTY), "value", NASTY, "x" + NASTY + "\ny", rule=NASTY, note=NASTY)
    facts = dict.fromkeys(("name", "criticality", "target", "reason"), NASTY)
    lists = {"notes": (NASTY,), "explanation": (NASTY,)}
    drift = {NASTY: (NASTY, {NASTY: NASTY})}
    nasty = result("id" + NASTY, "failed", spots, environment_drift=drift, **facts, **lists)
    down = [result(f"d{number}", "error", reason=NASTY, code=NASTY) for number in range(9)]
    run = report(nasty, result("p" + NASTY, "passed", notes=(NASTY,)), *down, warnings=(NASTY,))
    for text in (
        terminal.format_failure(nasty, replace(PLAIN, verbose=True)),
        terminal.format_failures(run, PLAIN),
        terminal.format_warnings(run, PLAIN),
        terminal.format_passed(run, replace(PLAIN, verbose=True)),
        wording.headline(run, PLAIN),
        "\n".join(next_commands.after_compare(run)),
    ):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", text)
        assert not re.search(r"(?m)^\s*::", text)


def test_format_failure_uses_colours_only_if_wanted() -> None:
    failed = result("a", "failed", spot(("k",), "value", 1, 2))
    text = terminal.format_failure(failed, COLOURED)
    assert "\x1b[31m- 1\x1b[0m" in text
    assert "\x1b[32m+ 2\x1b[0m" in text
    assert "\x1b[1mk\x1b[0m" in text
    without = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert without == terminal.format_failure(failed, PLAIN)


@pytest.mark.parametrize(
    ("outcomes", "more", "line"),
    [
        (["error"] * 2 + ["unscored", "skipped"], {}, "2 errors, 1 unscored, 1 skipped in 0.21s"),
        (["passed"], {"interrupted": True}, "1 passed in 0.21s (interrupted)"),
        ([], {}, "nothing ran in 0.21s"),
        (["passed"] * 1_200, {"seconds": 125.4}, "1,200 passed in 2m 05s"),
    ],
)
def test_summary(outcomes: list[str], more: dict[str, object], line: str) -> None:
    run = report(*(result(f"r{number}", outcome) for number, outcome in enumerate(outcomes)), **more)
    assert wording.headline(run, PLAIN) == line
    assert re.sub(r"\x1b\[[0-9;]*m", "", wording.headline(run, COLOURED)) == line


def test_format_warnings_lists_unrecorded_results_and_notes_of_passes() -> None:
    run = report(
        result("a", "passed", notes=("a rule hid something",)),
        result("bad", "failed", notes=("shown with its failure",)),
        warnings=("CI is set: nothing is recorded",),
        not_recorded=("a.yaml: no space left",),
    )
    assert terminal.format_warnings(run, PLAIN).splitlines() == [
        "warning CI is set: nothing is recorded",
        "warning not recorded: a.yaml: no space left",
        "warning a: a rule hid something",
    ]


def test_format_failure_aligns_places_beside_wide_characters() -> None:
    keys = [("漢字", "é"), ("a", "e\u0301"), ("abc",)]
    failed = result("x", "failed", *(spot(key, "value", 1, 2) for key in keys))
    lines = terminal.format_failure(failed, PLAIN).splitlines()
    heads = [line.split("baselines/")[0] for line in lines if ":14" in line]
    assert (len(heads), len(set(map(wording.width, heads)))) == (3, 1)


def test_format_failures_shows_few_of_many_errors_with_one_code() -> None:
    def down(number: int) -> list[Result]:
        why = "GET http://127.0.0.1:9/x: no connection"
        return [result(f"b{n}", "error", reason=why, code="BK301") for n in range(number)]

    other = [
        result("else", "error", reason="no answer", code="BK303"),
        result("f", "failed", spot(("a",), "value", 1, 2)),
    ]
    many = terminal.format_failures(report(*down(300), *other), PLAIN)
    assert [line for line in many.splitlines() if line.startswith(("ERROR", "FAILED"))] == [
        *(f"ERROR   b{n}" for n in range(3)),
        "ERROR   else",
        "FAILED  f",
        "ERROR   297 more with BK301: b3, b4, b5, b6, b7, b8 and 291 more (-v shows each)",
    ]
    assert many.endswith("(-v shows each)\n\n")
