"""Which files a run is about, as the operator names them."""

from pathlib import Path

import pytest

from baselinekit.errors import Refused
from baselinekit.evals.selection import load, named_by_operator
from baselinekit.workflow.project import Operator, open_project

CASE = "id: a\ninput: {type: prompt, content: x}\nexpected: {value: y}\n"
SUITE = "eval_suite: {name: s, evals: [{$ref: %s}]}\n"


def test_what_the_operator_names_may_stand_elsewhere_and_what_that_names_may_not(tmp_path: Path) -> None:
    root, outside = tmp_path / "project", tmp_path / "outside"
    for folder in (root, outside):
        folder.mkdir()
        (folder / "c.yaml").write_text(CASE)
    (root / "baselinekit.yaml").write_text("version: 1\n")
    project = open_project(Operator(cwd=str(root)))
    suite = outside / "s.yaml"
    for named in (str(suite), "../outside/s.yaml"):
        suite.write_text(SUITE % "c.yaml")
        assert [case.id for case in load(project, [], named).cases] == ["a"]
        assert [case.id for case in load(project, [named], None).cases] == ["a"]
        suite.write_text(SUITE % "../project/c.yaml")
        with pytest.raises(Refused, match="BK404"):
            load(project, [], named)
    assert named_by_operator(project, "../outside/gate.yaml") == str(outside / "gate.yaml")
    assert named_by_operator(project, "c.yaml") == "c.yaml"
