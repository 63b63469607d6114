"""Graders that put things into classes: the table of what is right and what was said, in every form."""

import json
import re
from time import process_time
from typing import Any

from hypothesis import given, strategies as st
from report.evalruns import case
from report.reports import NASTY, report

from baselinekit.metrics import clustered_interval
from baselinekit.model.grades import Attempt, Classified, Grade
from baselinekit.model.results import Report, Result, SuiteFacts
from baselinekit.report.blocks import terminal_lines
from baselinekit.report.confusion import classes_blocks, classes_documents, classifications, describe_accuracy
from baselinekit.report.forms.table import render_report
from baselinekit.report.resultfile import read
from baselinekit.report.wording import Style
from baselinekit.structs import replace

PLAIN = Style(width=80)
_OUTCOMES: Any = {True: "passed", False: "failed"}


def decided(
    wanted: str, *given: str | None, id: str = "", retried: int = 0, grader: str = "trigger"
) -> Result:
    """A case of which each attempt was put into one of these classes."""
    attempts = tuple(
        Attempt(
            number,
            outcome := "error" if given_class is None else _OUTCOMES[given_class == wanted],
            None,
            (Grade(grader, "model", outcome, None, classified=Classified(wanted, given_class)),),
        )
        for number, given_class in enumerate(given, 1)
    )
    made = case(id or f"refactor/triggering/{wanted}-{len(given)}", attempts[-1].outcome, attempts=attempts)
    facts = made.case
    assert facts is not None
    return replace(made, name=f"query {made.id[-5:]}", case=replace(facts, retried=retried))


def a_run(*results: Result) -> Report:
    return report(*results, suite=SuiteFacts("refactor"))


STEADY = a_run(
    decided("YES", "YES", id="refactor/triggering/should-match-1"),
    decided("YES", "NO", id="refactor/triggering/should-match-2"),
    decided("NO", "NO", id="refactor/triggering/should-not-match-1"),
    decided("NO", None, id="refactor/triggering/should-not-match-2"),
    case("refactor/fine", "passed"),
)
FLIPPING = a_run(
    decided("YES", "YES", "YES", "YES", id="refactor/triggering/should-match-1"),
    decided("NO", "YES", "NO", "NO", None, id="refactor/triggering/should-not-match-1"),
)


def test_e12_classifications_count_undecided_answers_apart() -> None:
    (table,) = classifications(STEADY)
    assert (table.group, table.grader, table.classes) == ("refactor", "trigger", ["YES", "NO"])
    assert [[table.cells[wanted, given] for given in ("YES", "NO", None)] for wanted in ("YES", "NO")] == [
        [1, 1, 0],
        [0, 1, 1],
    ]
    assert (table.decided, table.right, table.undecided, table.accuracy) == (3, 2, 1, 2 / 3)
    assert table.interval == clustered_interval([(1, 1), (1, 0), (1, 1)])
    assert (
        describe_accuracy(table)
        == "2 of 3 right (accuracy 0.667, 0.208 to 0.939 with 95 %), 1 without a decision"
    )


def test_classifications_of_undecided_answers_have_no_flip_and_no_accuracy() -> None:
    (table,) = classifications(a_run(decided("YES", "YES", None)))
    assert table.flipping == []
    (table,) = classifications(a_run(decided("YES", None)))
    assert (table.accuracy, describe_accuracy(table)) == (None, "nothing decided, 1 without a decision")
    assert classes_documents(a_run(decided("YES", None)))[0]["low"] is None


def test_classifications_give_each_prompt_and_grader_a_table() -> None:
    run = a_run(
        decided("YES", "YES", id="refactor/a"),
        decided("YES", "YES", id="weather/a"),
        decided("spam", "ham", id="weather/b", grader="kind"),
        decided("spam", "spam", id="alone", grader="kind"),
    )
    assert [(table.group, table.grader, table.decided) for table in classifications(run)] == [
        ("refactor", "trigger", 1),
        ("weather", "trigger", 1),
        ("weather", "kind", 1),
        (run.results[3].file, "kind", 1),
    ]


def test_classifications_of_a_run_without_classes_are_empty() -> None:
    run = a_run(case("fine", "passed"))
    assert [*classes_blocks(run), *classes_documents(run)] == []
    for path in ("x.md", "x.html", "x.json", "x.junit.xml", "x.ctrf.json"):
        assert not re.search("classified|no decision", render_report(run, path).lower()), path


def test_classes_beyond_those_shown_are_counted() -> None:
    run = a_run(*(decided(f"class {n}", f"class {n}", id=f"many/q{n}") for n in range(12)))
    lines = list(terminal_lines(classes_blocks(run), PLAIN))
    assert (len(lines), lines[-1]) == (12, "  … and 4 more classes")
    assert len(classes_documents(run)[0]["table"]) == 12
    run = a_run(*(decided(f"class {n}", f"class {n + 1}", id=f"many/q{n}") for n in range(3_000)))
    began = process_time()
    (document,) = classes_documents(run)
    assert process_time() - began < 2
    assert sum(len(row["did"]) for row in document["table"]) < 21 * 3_000 + 1


def test_result_file_with_classes_reads_back_to_the_same_bytes() -> None:
    text = render_report(FLIPPING, "x.json")
    assert render_report(read(text, "x.json"), "x.json") == text
    stated = json.loads(text)["run"]["classified"]
    assert (
        stated
        == classes_documents(FLIPPING)
        == json.loads(render_report(FLIPPING, "x.eval.json"))["eval_report"]["classified"]
    )
    assert stated[0]["table"] == [
        {"should": "YES", "did": {"YES": 3, "NO": 0}, "no_decision": 0},
        {"should": "NO", "did": {"YES": 1, "NO": 2}, "no_decision": 1},
    ]
    assert stated[0]["cases"][1] == {
        "id": "refactor/triggering/should-not-match-1",
        "name": "query tch-1",
        "should": "NO",
        "did": {"YES": 1, "NO": 2},
        "no_decision": 1,
        "flips": True,
    }
    assert json.loads(render_report(FLIPPING, "x.ctrf.json"))["results"]["extra"]["classified"] == stated


def test_classes_with_hostile_names_stay_in_their_cells() -> None:
    run = a_run(decided(NASTY, f"{NASTY}|x", NASTY, id="a/b"))
    (row,) = [line for line in render_report(run, "x.md").splitlines() if line.startswith("| should be")]
    assert len(re.findall(r"(?<!\\)\|", row)) == 5, row
    for path in ("x.html", "x.junit.xml", "x.json", "x.ctrf.json", "x.sarif"):
        assert "\x1b" not in render_report(run, path)


DECISIONS = st.lists(st.sampled_from(["A", "B", None]), min_size=1)


@given(st.lists(st.tuples(st.sampled_from("AB"), DECISIONS), min_size=1))
def test_classifications_put_every_decision_into_one_cell(stated: list[tuple[str, list[str | None]]]) -> None:
    run = a_run(*(decided(wanted, *given, id=f"x/{n}") for n, (wanted, given) in enumerate(stated)))
    (table,) = classifications(run)
    cells = [table.cells[wanted, given] for wanted in table.wanted for given in (*table.classes, None)]
    assert sum(cells) == sum(len(given) for _, given in stated) == table.decided + table.undecided
    low, high = table.interval
    assert table.accuracy is None or low <= table.accuracy <= high
