"""The screens of a review: they fit, whatever is in them, and nothing in them moves the terminal."""

import re

import pytest

from baselinekit.kinds.http import HttpExecution
from baselinekit.model.baselines import Baseline, Known, Source
from baselinekit.model.changes import (
    Change,
    ChangeContext,
    Decision,
    Dialog,
    KeptOutput,
    LostPlaceholder,
    Offer,
    RefreshPlan,
    Scene,
    UnchangedPart,
)
from baselinekit.model.recipes import HttpRequest, Recipe
from baselinekit.report.reviewing import describe_decision, format_screen
from baselinekit.report.wording import Style, cut_to_width, width, wrap_lines
from baselinekit.structs import replace

HOSTILE = "\x1b]0;owned\x07\x1b[2J \u202e ::error:: \r\n\t" + "x" * 400
WIDE = "林納斯" * 60
PAINT = re.compile(r"\x1b\[[0-9;]*m")


def _scene(text: str, members: int = 1) -> Scene:
    recipe = Recipe(HttpRequest("GET", endpoint="/x"), HttpExecution("http"))
    change = Change(
        0, "value", ("body", text), ("body", text), text, f"{text}!", lost=(LostPlaceholder((text,), text),)
    )
    baseline = Baseline("x", recipe, baseline=Known(), source=Source(text))
    plan = RefreshPlan(baseline, KeptOutput("x", "", None, ""), (change,), UnchangedPart(None), (text,))
    about = ChangeContext(text, text, ((text, text),))
    return Scene(1, 1, ((plan, change),) * members, about, {}, None, text, info=True)


DIALOGS = [
    None,
    Dialog(HOSTILE, (("y", HOSTILE), ("n", "no"))),
    Dialog(HOSTILE, offers=(Offer(HOSTILE, HOSTILE), Offer(WIDE, WIDE))),
    Dialog(WIDE, offers=(Offer(HOSTILE),), typed=WIDE),
]


@pytest.mark.parametrize("text", [HOSTILE, WIDE, ""])
@pytest.mark.parametrize("dialog", DIALOGS)
@pytest.mark.parametrize("columns", [40, 200])
def test_format_screen_fits_and_escapes_everything(text: str, dialog: Dialog | None, columns: int) -> None:
    for members in (1, 7):
        scene = replace(_scene(text, members), dialog=dialog)
        lines = format_screen(scene, Style(True, columns), 24)
        assert max(map(width, lines)) < columns
        assert len(lines) < 24
        plain = PAINT.sub("", "".join(lines))
        assert plain.isprintable()
        assert "::error" not in {line.strip()[:7] for line in lines}


def test_format_screen_ends_with_the_keys() -> None:
    for columns in (80, 40):
        lines = format_screen(_scene("a\n" * 500), Style(False, columns), 12)
        assert len(lines) < 12
        assert lines[-1].endswith("q quit")
        assert any("more lines" in line for line in lines)


def test_describe_decision_names_the_types_of_a_retyped_value() -> None:
    (plan, change), *_ = _scene("x").members
    retyped = replace(change, kind="retyped", before=29, after="29")
    line = describe_decision(((plan, retyped),), Decision("accept"), Style(False, 80))
    assert line.endswith('- 29 (number) + "29" (string)')
    alike = tuple((plan, replace(retyped, before=number, after=str(number))) for number in (29, 30))
    screen = format_screen(replace(_scene("x"), members=alike), Style(False, 80), 40)
    assert '+ "30" (string)' in "\n".join(screen)


def test_describe_decision_takes_one_line() -> None:
    members = list(_scene(HOSTILE).members) * 3
    line = describe_decision(members, Decision("ignore", HOSTILE), Style(False, 60))
    assert width(line) < 60
    assert line.isprintable()


@pytest.mark.parametrize(
    ("text", "columns", "shown"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("林納斯", 6, "林納斯"),
        ("林納斯", 5, "林納…"),
        ("林納斯", 4, "林…"),
        ("e\u0301e\u0301", 2, "e\u0301e\u0301"),
        ("\x1b[1mabcd\x1b[0m", 3, "\x1b[1mab…\x1b[0m"),
        ("\x1b[1mabc\x1b[0m", 3, "\x1b[1mabc\x1b[0m"),
    ],
)
def test_cut_to_width_counts_columns(text: str, columns: int, shown: str) -> None:
    assert cut_to_width(text, columns) == shown


def test_wrap_lines_breaks_between_words() -> None:
    assert list(wrap_lines(["aa", "bb", "cc"], 6)) == ["aa  bb", "cc"]
    assert list(wrap_lines([], 6)) == []
