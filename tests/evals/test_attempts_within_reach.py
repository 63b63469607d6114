"""What generated code could have reached is told by every form of report, once for all cases."""

import json
from pathlib import Path

import pytest
from evalcases import World, case, suite

from baselinekit.evals.attempts import EvalClients
from baselinekit.model.grades import Call, FunctionOutput, Grader
from baselinekit.model.recipes import CallResult, SandboxResult
from baselinekit.report import resultfile
from baselinekit.report.forms.table import render_report
from baselinekit.report.terminal import format_warnings
from baselinekit.report.wording import Style

CALLS = Grader("calls", "code", FunctionOutput("f", [Call(4, [2])]))
TOLD = "generated code ran outside a sandbox and could reach: files, processes (a and 1 more)"


def program(given: object, turn: int) -> str:
    return "def f(n): return n + n"


@pytest.mark.parametrize("form", [".md", ".html", ".xml", ".eval.json", ".json"])
def test_f39_every_report_says_what_generated_code_could_have_reached(tmp_path: Path, form: str) -> None:
    cases = suite(case("a", "code", CALLS), case("b", "code", CALLS))
    outside = EvalClients(
        run=lambda *given: SandboxResult((CallResult(4),), ("time",), ("files", "processes"))
    )
    report = World(tmp_path, program).run(cases, outside=outside)
    assert report.summary.passed == 2
    text = render_report(report, form)
    if form == ".json":  # which keeps it with each grade, so that it can be told again
        details = json.loads(text)["results"][0]["case"]["attempts"][0]["grades"][0]["details"]
        assert details["not_contained"] == ["files", "processes"]
        text = format_warnings(resultfile.read(text, "x.json"), Style())
    assert TOLD in text.replace("\\", "")
    walled = World(tmp_path, program).run(
        cases, outside=EvalClients(run=lambda *given: SandboxResult((CallResult(4),), ("time",)))
    )
    assert "outside a sandbox" not in render_report(walled, form)
