"""A file that is wrong throughout is told so in a bounded number of lines, and in time."""

import json
import re
import time
from pathlib import Path

import pytest
from console import console

from baselinekit.errors import (
    BaselinekitError,
    InvalidInput,
    Place,
    Problem,
    ProblemLimiter,
    count_problems,
    suggest,
)
from baselinekit.files.languages import YAML
from baselinekit.store.reading import load_partly, parse_record

pytestmark = pytest.mark.slow


def problems(count: int) -> tuple[int, str, float]:
    text = "id: a\n" + "".join(f"wrong_key_{n}: 1\n" for n in range(count))
    raw = YAML.load(text, "x.yaml")[0]
    began = time.process_time()
    with pytest.raises(BaselinekitError) as caught:
        parse_record(raw, ".")
    return len(caught.value.problems), str(caught.value), time.process_time() - began


def test_thousands_of_wrong_keys_are_few_lines_and_their_number() -> None:
    number, told, _ = problems(20_000)
    assert number < 60
    assert "unknown key 'wrong_key_0'" in told
    assert "more problems" in told


def test_the_time_grows_with_the_size_of_the_file_and_no_faster() -> None:
    for _ in range(3):  # another process may have had the processor
        if problems(20_000)[2] / max(problems(5_000)[2], 0.02) < 8:
            return
    pytest.fail("too slow")


RECORD = "- id: x{0}\n  curent: 1\n  wrong{0}: 2\n  baseline: {{output: 1}}\n"
TWICE = (
    "- {{id: x, baseline: {{output: {{status: 200}}}}, "
    "current: {{input: {{endpoint: /n}}, execution: {{type: http}}}}}}\n"
)
MANY_KEYS = "wrong{0}: 1\n"


def told(folder: Path, text: str) -> tuple[list[Problem], float]:
    (folder / "a.yaml").write_text(text)
    began = time.process_time()
    _, error = load_partly(["a.yaml"], str(folder))
    assert error is not None
    return list(error.problems), time.process_time() - began


@pytest.mark.parametrize(
    ("row", "times", "in_all"), [(RECORD, 5_000, 15_000), (MANY_KEYS, 20_000, 20_001), (TWICE, 2_000, 1_999)]
)
def test_a_file_tells_its_first_problems_and_counts_the_others(
    tmp_path: Path, row: str, times: int, in_all: int
) -> None:
    begins = "id: a\n" if row == MANY_KEYS else ""
    found, _ = told(tmp_path, begins + "".join(row.format(n) for n in range(times)))
    assert len(found) == 51
    assert all(problem.place and problem.place.line for problem in found[:50])
    assert found[50].message == f"… and {in_all - 50:,} more problems in this file"
    assert count_problems(found) == in_all


def test_each_file_has_its_own_first_problems(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.yaml").write_text("".join(RECORD.format(f"{name}{n}") for n in range(100)))
    _, error = load_partly(["a.yaml", "b.yaml"], str(tmp_path))
    assert error is not None
    assert str(error).count("… and 280 more problems in this file") == 2
    assert len(error.problems) == 102


@pytest.mark.parametrize(("count", "lines"), [(20, 20), (21, 21), (40_000, 21)])
def test_an_error_with_many_problems_of_a_file_shows_twenty_and_the_number(count: int, lines: int) -> None:
    of_one = [Problem("BK502", f"line {n}", "", Place("e.env", n)) for n in range(count)]
    shown = str(InvalidInput(*of_one, Problem("BK503", "another", "", Place("b")))).split("\n")
    assert len(shown) == lines + 1
    if count > 20:
        assert shown[-1] == (
            f"BK502 e.env: … and {count - 20:,} more problem{'s' * (count > 21)} in this file:"
            " fix the first ones, and look again"
        )


def test_many_wrong_records_take_time_in_proportion(tmp_path: Path) -> None:
    for _ in range(3):  # another process may have had the processor
        few, many = (told(tmp_path, "".join(map(RECORD.format, range(n))))[1] for n in (2_000, 8_000))
        if many / few < 6:
            return
    pytest.fail(f"{many / few:.1f} times")


def test_what_is_left_out_is_a_refusal_only_if_all_of_it_is() -> None:
    """The code of the line decides the exit code as any other does."""
    for codes, code in ((["BK401", "BK103", "BK402"], "BK103"), (["BK401", "BK402"], "BK401")):
        first = ProblemLimiter()
        taken = [first.takes("a", Problem("BK401", "x")) for _ in range(50)]
        assert all(taken)
        assert not any(first.takes("a", Problem(one, "x")) for one in codes)
        (rest,) = first.rest()
        assert (rest.code, rest.counts) == (code, len(codes))


def test_a_hint_is_found_among_many_names_and_for_any_word() -> None:
    names = [f"name{n}" for n in range(100_000)]
    began = time.process_time()
    assert suggest("nam1", ["name1", "other"]) == "did you mean 'name1'?"
    suggest("nmae77", names)
    assert suggest("x" * 1_000_000, names) == ""
    assert time.process_time() - began < 5


WRONG_CASE = "  - id: c{0}\n    inptu: x\n    expectd: y\n"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("baselines/a.yaml", "".join(map(RECORD.format, range(2_000)))),
        ("baselines/a.json", json.dumps({"id": "a", **{f"wrong{n}": 1 for n in range(20_000)}})),
        ("evals/a.yaml", "metadata: {id: t}\ntest_cases:\n" + "".join(map(WRONG_CASE.format, range(1_000)))),
        ("evals/a.yaml", "capability_eval:\n  id: a\n" + "".join(f"  wrong{n}: 1\n" for n in range(20_000))),
        ("evals/a.yaml", "eval_trigger:\n  id: a\n" + "".join(f"  wrong{n}: 1\n" for n in range(20_000))),
        ("baselinekit.yaml", "base_url: x\n" + "".join(f"wrong{n}: 1\n" for n in range(20_000))),
        ("baselinekit.yaml", "variables:\n" + "".join(f"  'a b{n}': 1\n" for n in range(20_000))),
    ],
    ids=["yaml", "json", "suite", "capability", "trigger", "configuration", "variables"],
)
def test_doctor_prints_few_lines_and_how_many_there_are(tmp_path: Path, file: str, text: str) -> None:
    with console(tmp_path / "project") as here:
        path = here.folder / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        for words in ("doctor", "doctor --json", "compare"):
            run = here.run(f"baselinekit {words}")
            assert (run.exit_code == 2) or (words == "compare" and file.startswith("evals"))
            if run.exit_code == 2:
                said = run.stdout + run.stderr
                assert re.search(r"… and [0-9,]+ more problems in this file", said)
                assert len(said.splitlines()) < (60 if words != "doctor --json" else 450)
