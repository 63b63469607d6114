"""A file that is wrong throughout: a few lines in a terminal, all problems as JSON, in time."""

import json
import re
import time
from pathlib import Path

import pytest
from console import console

from baselinekit.errors import InvalidInput, Place, Problem
from baselinekit.store.reading import load_partly

pytestmark = pytest.mark.slow


RECORD = "- id: x{0}\n  curent: 1\n  wrong{0}: 2\n  baseline: {{output: 1}}\n"
TWICE = (
    "- {{id: x, baseline: {{output: {{status: 200}}}}, "
    "current: {{input: {{endpoint: /n}}, execution: {{type: http}}}}}}\n"
)
MANY_KEYS = "wrong{0}: 1\n"


def problems_of(folder: Path, text: str) -> tuple[list[Problem], float]:
    (folder / "a.yaml").write_text(text)
    began = time.process_time()
    _, error = load_partly(["a.yaml"], str(folder))
    assert error is not None
    return list(error.problems), time.process_time() - began


@pytest.mark.parametrize(
    ("row", "times", "in_all"), [(RECORD, 5_000, 15_000), (MANY_KEYS, 20_000, 20_001), (TWICE, 2_000, 1_999)]
)
def test_load_partly_with_many_problems_places_all_of_them(
    tmp_path: Path, row: str, times: int, in_all: int
) -> None:
    begins = "id: a\n" if row == MANY_KEYS else ""
    found, _ = problems_of(tmp_path, begins + "".join(row.format(n) for n in range(times)))
    assert len(found) == in_all
    assert all(problem.place and problem.place.line for problem in found)


@pytest.mark.parametrize(("count", "lines"), [(20, 20), (21, 21), (40_000, 21)])
def test_error_of_file_with_many_problems_shows_twenty_and_the_number(count: int, lines: int) -> None:
    problems = [Problem("BK101", f"line {n}", "", Place("e.env", n)) for n in range(count)]
    shown = str(InvalidInput(*problems, Problem("BK508", "another", "", Place("b")))).split("\n")
    assert len(shown) == lines + 1
    if count > 20:
        assert shown[-1] == (
            f"BK101 e.env: … and {count - 20:,} more problem{'s' * (count > 21)} in this file:"
            " fix the first ones, and look again"
        )


REPEATED_KEY = "- id: x{0}\n  name: 1\n  name: 2\n"


@pytest.mark.parametrize("row", [RECORD, REPEATED_KEY, TWICE])
def test_load_partly_with_many_wrong_records_takes_time_in_proportion(tmp_path: Path, row: str) -> None:
    for _ in range(3):  # another process may have had the processor
        few, many = (problems_of(tmp_path, "".join(map(row.format, range(n))))[1] for n in (2_000, 8_000))
        if many / few < 6:
            return
    pytest.fail(f"{many / few:.1f} times")


WRONG_CASE = "  - id: c{0}\n    inptu: x\n    expectd: y\n"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("baselines/a.yaml", "".join(map(RECORD.format, range(2_000)))),
        ("baselines/a.json", json.dumps({"id": "a", **{f"wrong{n}": 1 for n in range(20_000)}})),
        ("evals/a.yaml", "metadata: {id: t}\ntest_cases:\n" + "".join(map(WRONG_CASE.format, range(1_000)))),
        ("baselinekit.yaml", "base_url: x\n" + "".join(f"wrong{n}: 1\n" for n in range(20_000))),
    ],
    ids=["yaml", "json", "suite", "configuration"],
)
def test_doctor_with_many_problems_prints_few_of_them_and_all_as_json(
    tmp_path: Path, file: str, text: str
) -> None:
    with console(tmp_path / "project") as terminal:
        path = terminal.folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        for words in ("doctor", "compare"):
            run = terminal.run(f"baselinekit {words}")
            assert (run.exit_code == 2) or (words == "compare" and file.startswith("evals"))
            if run.exit_code == 2:
                printed = run.stdout + run.stderr
                found = re.search(r"… and ([0-9,]+) more problems in this file", printed)
                assert found is not None
                assert len(printed.splitlines()) < 60
        run = terminal.run("baselinekit doctor --json")
        assert run.exit_code == 2
        findings = json.loads(run.stdout)
        assert len(findings["problems"]) == findings["problem_count"] == int(found[1].replace(",", "")) + 20
        assert all(problem["line"] for problem in findings["problems"])
