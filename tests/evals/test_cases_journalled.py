"""Which runs may continue each other's journal, and what is not recorded twice."""

from pathlib import Path
from typing import Any

from evalcases import CONFIG, EXACT, case

from baselinekit.commands.project import Operator, open_project
from baselinekit.evals.attempts import CaseAttempt, Memory, key_of
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


def test_key_of_other_cases_or_settings_is_another_one(tmp_path: Path) -> None:
    keys = [
        key(tmp_path, case("a")),
        key(tmp_path, case("b")),
        key(tmp_path, case("a", "no")),
        key(tmp_path, case("a", "yes", Grader("exact", "code", ExactMatch(case_sensitive=False)))),
        key(tmp_path, case("a", "yes", EXACT, EXACT)),
        key(tmp_path, case("a", expected=Expected("exact", "no"))),
        key(tmp_path, case("a"), case("b")),
        key(tmp_path, known()),
        key(tmp_path, known(output="no")),
        key(tmp_path, known(), attempts=2),
        key(tmp_path, known(), base_url="http://127.0.0.1:1"),
        key(tmp_path, known(), variables={"tone": "kind"}),
    ]
    assert len(set(keys)) == len(keys)
    assert key(tmp_path, known(0)) == key(tmp_path, known(3)), "what a run records makes no other run"


def memory(root: Path, go_on: bool = True) -> Memory:
    return Memory(Journal(str(root), "k"), go_on)


def test_memory_gives_an_attempt_back_as_it_was(tmp_path: Path) -> None:
    grade = Grade("g", "model", "failed", 0.25, "so", "borderline", {"scores": {"tone": 2}}, weight=2.0)
    grade = replace(grade, classified=Classified("YES", None))
    attempt = Attempt(2, "failed", 0.25, (grade,), "so", again=1, seconds=0.5, output={"n": [1, None]})
    spots = (ReportedDifference(("a", 0), "extra", ABSENT, None, "f", None, at=("baseline", "output")),)
    made = CaseAttempt(attempt, spots, 7, {"model": ("m-1", None)})
    first = memory(tmp_path, False)
    first.add(known(), made)
    first.add(known(2), CaseAttempt(Attempt(1, "failed", 0.0)))
    first.close()
    again = memory(tmp_path)
    assert (again.known(known(), 2), again.known(known(), 3)) == (made, None)
    # a failure that was written before the crash is not counted twice
    assert (again.is_recorded(known(2)), again.is_recorded(known(3))) == (False, True)
    again.close()


def test_memory_makes_an_attempt_again_whose_line_is_not_ours(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), "k")
    journal.begin(False)
    for entry in ({"id": "a"}, [1], {"id": "a", "attempt": {"number": 1, "outcome": "odd"}}):
        journal.add(entry)
    journal.close()
    again = memory(tmp_path)
    assert len(again) == 0
    again.close()
