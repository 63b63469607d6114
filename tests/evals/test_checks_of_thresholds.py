"""A threshold that cannot be met is told before anything is asked, with its place and what to do."""

from pathlib import Path

import pytest
from evalcases import World, case, suite

from baselinekit.errors import InvalidInput
from baselinekit.evals.checks import check_reachable
from baselinekit.suites.loading import load_evals

SUITE = """\
eval_suite:
  name: s
  config: {attempts: 2}
  evals:
  - {id: a, input: {type: prompt, content: x}, expected: {value: y}}
  thresholds:
    pass@1: 0.5
    pass@3: 0.9
"""


@pytest.mark.parametrize(
    ("stated", "attempts", "made", "fine"),
    [
        ({"pass@3": 0.9}, None, 1, False),
        ({"pass_at_3": 0.9}, None, 2, False),
        ({"pass@3": 0.9}, None, 3, True),
        ({"pass@3": 0.9}, 3, 1, True),
        ({"pass@3": 0.9}, 2, 5, False),
        ({"pass@1": 0.9, "pass rate": 1.0}, None, 1, True),
        ({"pass^3": 0.9}, None, 1, True),  # which is told from the rate of all attempts
    ],
)
def test_what_needs_more_attempts_than_are_made(
    stated: dict[str, float], attempts: int | None, made: int, fine: bool, tmp_path: Path
) -> None:
    cases = suite(case(), attempts=made)
    if fine:
        check_reachable(cases, stated, attempts, str(tmp_path))
        return
    with pytest.raises(
        InvalidInput, match=r"BK724 .*pass@3 cannot be met: it cannot be computed from"
    ) as error:
        check_reachable(cases, stated, attempts, str(tmp_path))
    assert "--attempts 3" in error.value.problems[0].hint


def test_nobody_is_asked(tmp_path: Path) -> None:
    world = World(tmp_path)
    with pytest.raises(InvalidInput, match="BK724"):
        world.run(suite(case()), thresholds={"pass@2": 0.5})
    assert world.calls == []


def test_a_suite_s_own_threshold_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "s.yaml").write_text(SUITE)
    found = load_evals(["evals/s.yaml"], str(tmp_path))
    with pytest.raises(InvalidInput) as error:
        check_reachable(found, {}, None, str(tmp_path))
    (problem,) = error.value.problems
    assert problem.place is not None
    assert (problem.place.file, problem.place.line) == ("evals/s.yaml", 8)
