"""Numbers in the config of a grader that no judging could use: they are refused where the file is read."""

from typing import Any

import pytest

from baselinekit.graders.by_field import FieldAccuracy
from baselinekit.graders.by_line import DecisionLine, ScoreLine
from baselinekit.graders.by_model import ModelJudge
from baselinekit.graders.by_program import CodeJudge
from baselinekit.graders.by_template import RubricJudge, TemplateJudge
from baselinekit.graders.by_text import TokenCount
from baselinekit.graders.by_trace import CostLimit, LatencyLimit, TokenLimit, ToolTrajectory
from baselinekit.graders.composite import StatedComposite
from baselinekit.model.grades import FunctionOutput, HumanRating
from baselinekit.schema import read_as

CALLS = [{"expected": 1, "comparator": "equal"}]
ITEMS = [{"id": "a", "weight": -1, "required_min_score": 11}, {"id": "b", "weight": 1e7}]


@pytest.mark.parametrize(
    ("config", "raw", "paths"),
    [
        (TokenCount, {"min": -1, "max": -2}, "min max"),
        (LatencyLimit, {"max_seconds": 0}, "max_seconds"),
        (CostLimit, {"max_usd": -1}, "max_usd"),
        (TokenLimit, {"max_total": -1}, "max_total"),
        (FunctionOutput, {"function_name": "f", "timeout_per_case": 0}, "timeout_per_case"),
        (FunctionOutput, {"function_name": "f", "test_cases": CALLS}, "test_cases.0.comparator"),
        (CodeJudge, {"script": "x", "timeout": 0, "target": {"max_calls": 0}}, "timeout target.max_calls"),
        (ScoreLine, {"rubric": "r", "retries_on_unreadable": 9}, "retries_on_unreadable"),
        (DecisionLine, {"wanted": "YES", "retries_on_unreadable": -1}, "retries_on_unreadable"),
        (TemplateJudge, {"retries_on_unreadable": 6}, "retries_on_unreadable"),
        (ModelJudge, {"rubric": [{"name": "a", "weight": -1}], "samples": 0}, "rubric.0.weight samples"),
        (RubricJudge, {"rubrics": ITEMS}, "rubrics.0.weight rubrics.0.required_min_score rubrics.1.weight"),
        (FieldAccuracy, {"fields": [{"path": "a", "weight": -1}], "pass_at": 0}, "fields.0.weight pass_at"),
        (
            ToolTrajectory,
            {"mode": "exact", "expected": [{"tool": ""}], "pass_at": 2},
            "expected.0.tool pass_at",
        ),
        (StatedComposite, {"graders": [], "aggregator": {"weights": {"a": -1}}}, "aggregator.weights.a"),
        (
            HumanRating,
            {"evaluators": {"min_required": 0, "agreement_threshold": 80}},
            "evaluators.min_required evaluators.agreement_threshold",
        ),
    ],
)
def test_read_config_out_of_bounds_reports_every_number(config: type, raw: Any, paths: str) -> None:
    method, problems = read_as(config, raw)
    assert method is None
    assert " ".join(".".join(map(str, problem.at or ())) for problem in problems) == paths
    assert {problem.code for problem in problems} == {"BK105"}
