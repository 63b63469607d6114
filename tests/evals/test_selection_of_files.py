"""Which files a run is about, as the operator names them."""

from pathlib import Path

import pytest
from promptfiles import CASE as PROMPT_CASE, FOLDER, prompt_folder

from baselinekit.commands.project import Operator, open_project
from baselinekit.errors import InvalidInput, NothingSelected, Refused
from baselinekit.evals.selection import load, resolve_path

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
    assert resolve_path(project, "../outside/gate.yaml") == str(outside / "gate.yaml")
    assert resolve_path(project, "c.yaml") == "c.yaml"


@pytest.mark.parametrize("cwd", [".", "prompts", FOLDER])
@pytest.mark.parametrize("name", ["refactor", "rf"])
def test_e1_a_prompt_is_named_by_its_id_or_alias_from_anywhere(tmp_path: Path, cwd: str, name: str) -> None:
    prompt_folder(tmp_path)
    (tmp_path / "baselinekit.yaml").write_text("version: 1\n")
    project = open_project(Operator(cwd=str(tmp_path / cwd)))
    assert [case.id for case in load(project, [name], None).cases] == ["refactor/one"]


def test_what_is_there_goes_before_an_id_and_a_word_that_is_nothing_is_told(tmp_path: Path) -> None:
    prompt_folder(tmp_path)
    prompt_folder(tmp_path, folder="rf", meta="id: rf\ninputs: [constraints, file]\n")
    (tmp_path / "baselinekit.yaml").write_text("version: 1\n")
    project = open_project(Operator(cwd=str(tmp_path)))
    assert [case.id for case in load(project, ["rf"], None).cases] == ["rf/one"]
    with pytest.raises(InvalidInput, match="no prompt of this id or alias: did you mean 'refactor'"):
        load(project, ["refator"], None)
    with pytest.raises(InvalidInput, match="there is no file or folder something-else"):
        load(project, ["something-else"], None)


def test_a_plain_run_finds_prompts_among_evals_and_one_outside_runs_where_it_is(tmp_path: Path) -> None:
    root = tmp_path / "project"
    prompt_folder(root, folder="evals/refactor")
    evals = PROMPT_CASE.replace("inputs: {constraints: none}", "inputs_from: examples/happy-path")
    other = prompt_folder(
        tmp_path, evals, folder="outside/other", meta="id: other\ninputs: [constraints, file]\n"
    )
    (root / "baselinekit.yaml").write_text("version: 1\n")
    project = open_project(Operator(cwd=str(root)))
    assert [case.id for case in load(project, [], None).cases] == ["refactor/one"]
    (case,) = load(project, [str(other)], None).cases
    assert case.id == "other/one"
    assert case.recipe.input.inputs == {"constraints": "keep the names"}


def test_a_plain_run_finds_prompts_below_prompts_unless_the_configuration_names_places(
    tmp_path: Path,
) -> None:
    prompt_folder(tmp_path)
    (tmp_path / "prompts/plain.md").write_text("Say it.\n")
    (tmp_path / "prompts/inputs.yaml").write_text("text: a\n")
    config = tmp_path / "baselinekit.yaml"
    config.write_text("version: 1\n")
    assert [case.id for case in load(open_project(Operator(cwd=str(tmp_path))), [], None).cases] == [
        "refactor/one"
    ]
    config.write_text("version: 1\nevals: [evals, cases]\n")
    with pytest.raises(NothingSelected, match="there is no folder evals/, cases/ here"):
        load(open_project(Operator(cwd=str(tmp_path))), [], None)


def test_a_prompt_without_an_eval_file_selects_nothing(tmp_path: Path) -> None:
    prompt_folder(tmp_path, None)
    (tmp_path / "baselinekit.yaml").write_text("version: 1\n")
    with pytest.raises(NothingSelected, match="there is no eval case in refactor"):
        load(open_project(Operator(cwd=str(tmp_path))), ["refactor"], None)
