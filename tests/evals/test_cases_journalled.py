"""Which runs may go on with each other's journal, and what is not recorded twice."""

from pathlib import Path
from typing import Any

import pytest
from evalcases import CONFIG, EXACT, case

from baselinekit.commands.project import Operator, open_project
from baselinekit.evals.cases import CaseAttempt, Memory, key_of
from baselinekit.evals.checks import Prepared
from baselinekit.graders.by_text import ExactMatch
from baselinekit.model.baselines import Baseline, Known, Metadata
from baselinekit.model.evals import Case, Expected
from baselinekit.model.grades import Attempt, Classified, Grade, Grader
from baselinekit.model.results import ReportedDifference
from baselinekit.model.values import ABSENT
from baselinekit.store.journal import Journal
from baselinekit.structs import replace


def known(failures: int = 0, output: Any = "yes") -> Case:
    found = case("r", kind="regression")
    metadata = Metadata(failure_count=failures, last_passed=f"2024-01-0{failures + 1}")
    return replace(found, baseline=Baseline("r", found.recipe, baseline=Known(output), metadata=metadata))


def key(root: Path, *cases: Case, attempts: int = 1, **operator: Any) -> str:
    (root / "baselinekit.yaml").write_text(CONFIG)
    project = open_project(Operator(cwd=str(root), **operator))
    return key_of(project, "s.yaml", [Prepared(one) for one in cases], attempts, [0] * len(cases))


def test_what_a_run_records_makes_no_other_run(tmp_path: Path) -> None:
    assert key(tmp_path, known(0)) == key(tmp_path, known(3))


@pytest.mark.parametrize(
    "other",
    [
        (case("b"),),
        (case("a", "no"),),
        (case("a", "yes", Grader("exact", "code", ExactMatch(case_sensitive=False))),),
        (case("a", "yes", EXACT, EXACT),),
        (case("a", expected=Expected("exact", "no")),),
        (case("a"), case("b")),
    ],
)
def test_other_cases_make_another_run(tmp_path: Path, other: tuple[Case, ...]) -> None:
    assert key(tmp_path, case("a")) != key(tmp_path, *other)


def test_other_settings_make_another_run(tmp_path: Path) -> None:
    keys = [
        key(tmp_path, known()),
        key(tmp_path, known(output="no")),
        key(tmp_path, known(), attempts=2),
        key(tmp_path, known(), base_url="http://127.0.0.1:1"),
        key(tmp_path, known(), variables={"tone": "kind"}),
    ]
    assert len(set(keys)) == len(keys)


def memory(root: Path, go_on: bool = True) -> Memory:
    return Memory(Journal(str(root), "k"), go_on)


def test_an_attempt_comes_back_as_it_was(tmp_path: Path) -> None:
    grade = Grade("g", "model", "failed", 0.25, "so", "borderline", {"scores": {"tone": 2}}, weight=2.0)
    grade = replace(grade, classified=Classified("YES", None))
    attempt = Attempt(2, "failed", 0.25, (grade,), "so", again=1, seconds=0.5, output={"n": [1, None]})
    spots = (ReportedDifference(("a", 0), "extra", ABSENT, None, "f", None, at=("baseline", "output")),)
    first = memory(tmp_path, False)
    told = CaseAttempt(attempt, spots, 7, {"model": ("m-1", None)})
    first.add(known(), told)
    first.close()
    again = memory(tmp_path)
    assert again.known(known(), 2) == told
    assert again.known(known(), 1) is None
    again.close()


def test_a_failure_that_was_written_before_the_crash_is_not_counted_twice(tmp_path: Path) -> None:
    first = memory(tmp_path, False)
    first.add(known(2), CaseAttempt(Attempt(1, "failed", 0.0)))
    first.close()
    again = memory(tmp_path)
    assert not again.is_recorded(known(2))
    assert again.is_recorded(known(3))
    again.close()


def test_a_line_that_is_not_ours_is_made_again(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), "k")
    journal.begin(False)
    for entry in ({"id": "a"}, [1], {"id": "a", "attempt": {"number": 1, "outcome": "odd"}}):
        journal.add(entry)
    journal.close()
    again = memory(tmp_path)
    assert len(again) == 0
    again.close()
