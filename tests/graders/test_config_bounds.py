"""Numbers out of bounds in the config of a grader are refused where the file is read."""

from typing import Any

import pytest

from baselinekit.graders.by_line import ScoreLine
from baselinekit.graders.by_template import RubricJudge
from baselinekit.graders.by_trace import ToolTrajectory
from baselinekit.model.grades import HumanRating
from baselinekit.schema import read_as

CALLS = [{"expected": 1, "comparator": "equal"}]
ITEMS = [{"id": "a", "weight": -1, "required_min_score": 11}, {"id": "b", "weight": 1e7}]


@pytest.mark.parametrize(
    ("config", "raw", "paths"),
    [
        (ScoreLine, {"rubric": "r", "retries_on_unreadable": 9}, "retries_on_unreadable"),
        (RubricJudge, {"rubrics": ITEMS}, "rubrics.0.weight rubrics.0.required_min_score rubrics.1.weight"),
        (ToolTrajectory, {"mode": "exact", "expected": [{"tool": ""}]}, "expected.0.tool"),
        (HumanRating, {"evaluators": {"agreement_threshold": 80}}, "evaluators.agreement_threshold"),
    ],
)
def test_read_config_out_of_bounds_reports_every_number(config: type, raw: Any, paths: str) -> None:
    method, problems = read_as(config, raw)
    assert method is None
    assert " ".join(".".join(map(str, problem.at or ())) for problem in problems) == paths
    assert {problem.code for problem in problems} == {"BK105"}
