"""Numbers in the config of a grader that no judging could use: they are refused where the file is read."""

from typing import Any

import pytest

from baselinekit.graders.by_field import FieldAccuracy
from baselinekit.graders.by_line import DecisionLine, ScoreLine
from baselinekit.graders.by_model import ModelJudge
from baselinekit.graders.by_program import CodeJudge
from baselinekit.graders.by_rubric import RubricJudge
from baselinekit.graders.by_template import TemplateJudge
from baselinekit.graders.by_text import TokenCount
from baselinekit.graders.by_trace import ToolTrajectory
from baselinekit.graders.by_usage import CostLimit, LatencyLimit, TokenLimit
from baselinekit.graders.composite import StatedComposite
from baselinekit.model.grades import FunctionOutput, HumanRating
from baselinekit.schema import read_as

CALL = {"expected": 1}


@pytest.mark.parametrize(
    ("config", "raw", "messages"),
    [
        (TokenCount, {"min": -1, "max": -2}, ["an integer of 0 or more", "an integer of 0 or more"]),
        (LatencyLimit, {"max_seconds": 0}, ["a number of seconds above 0"]),
        (CostLimit, {"max_usd": -1}, ["a number of 0 or more"]),
        (TokenLimit, {"max_total": -1}, ["an integer of 0 or more"]),
        (FunctionOutput, {"function_name": "f", "timeout_per_case": 0}, ["a number of seconds above 0"]),
        (
            FunctionOutput,
            {"function_name": "f", "test_cases": [{**CALL, "comparator": "equal"}]},
            ["one of equals, approx, unordered, set, regex"],
        ),
        (
            CodeJudge,
            {"script": "x", "timeout": 0, "target": {"max_calls": 0}},
            ["a number of seconds above 0", "an integer of 1 or more"],
        ),
        (ScoreLine, {"rubric": "r", "retries_on_unreadable": 9}, ["an integer from 0 to 5"]),
        (DecisionLine, {"wanted": "YES", "retries_on_unreadable": -1}, ["an integer from 0 to 5"]),
        (TemplateJudge, {"retries_on_unreadable": 6}, ["an integer from 0 to 5"]),
        (
            ModelJudge,
            {"rubric": [{"name": "a", "weight": -1}], "samples": 0, "retries_on_unreadable": -1},
            ["a number of 0 or more", "an integer of 1 or more", "an integer from 0 to 5"],
        ),
        (
            RubricJudge,
            {"rubrics": [{"id": "a", "weight": -1, "required_min_score": 11}, {"id": "b", "weight": 1e7}]},
            ["a number from 0 to 1,000,000", "an integer from 0 to 10", "a number from 0 to 1,000,000"],
        ),
        (
            FieldAccuracy,
            {"fields": [{"path": "a", "weight": -1, "tolerance": -1}], "pass_at": 0},
            ["a number of 0 or more", "a number of 0 or more", "a number above 0, up to 1"],
        ),
        (
            ToolTrajectory,
            {
                "mode": "exact",
                "expected": [{"tool": "", "max_seconds": 0}],
                "minimums": {"a": 0},
                "pass_at": 2,
            },
            ["an integer of 1 or more", "a name", "a number of seconds above 0", "a number above 0, up to 1"],
        ),
        (
            StatedComposite,
            {"graders": [], "aggregator": {"weights": {"a": -1}}, "pass_at": 0},
            ["a number of 0 or more", "a number above 0, up to 1"],
        ),
        (
            HumanRating,
            {"evaluators": {"min_required": 0, "agreement_threshold": 80}, "time_limit_minutes": 0},
            ["an integer of 1 or more", "a number from 0 to 1", "a number above 0"],
        ),
    ],
)
def test_read_config_out_of_bounds_reports_every_number(config: type, raw: Any, messages: list[str]) -> None:
    method, problems = read_as(config, raw)
    assert method is None
    assert [
        problem.message.partition("expected ")[2].partition(", found ")[0] for problem in problems
    ] == messages
    assert {problem.code for problem in problems} == {"BK105"}
