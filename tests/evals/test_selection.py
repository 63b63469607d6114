"""Which cases and files a run is about: by category, tag, id, name or path."""

from pathlib import Path
from typing import Any

import pytest
from evalcases import EXACT, World, case, outcomes, suite
from promptfiles import FOLDER as PROMPT, prompt_folder
from storehelp import write

from baselinekit.commands.project import Operator, Project, open_project
from baselinekit.errors import InvalidInput, NothingSelected, Refused
from baselinekit.evals.selection import Choice, choose, load, resolve_path
from baselinekit.graders.by_model import ModelJudge
from baselinekit.kinds.given import EchoExecution
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grader
from baselinekit.model.prompts import PromptFolder, PromptMeta
from baselinekit.model.recipes import Recipe
from baselinekit.structs import replace

FOLDER = PromptFolder("prompts/r", PromptMeta("r"), "prompts/r/meta.yml", "prompts/r/prompt.xml")


def query(id: str, text: str) -> Case:
    return replace(case(id), name=text, folder=FOLDER, recipe=Recipe(text, EchoExecution("echo")))


def ids(cases: list[Case]) -> list[str]:
    return [item.id for item in cases]


NAMED = [
    query("r/triggering/should-match-1", "happy path"),
    case("r/happy-path", name="happy path", folder=FOLDER),
    case("r/empty", name="empty", folder=FOLDER),
    case("f/tc-1", name="happy path"),
    case("f/tc-2"),
    replace(query("f/tc-3", "an echo"), folder=None),
]


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["empty"], ["r/empty"]),
        (["happy path"], ["r/happy-path", "f/tc-1"]),
        (["tc-2", "empty", "tc-2"], ["r/empty", "f/tc-2"]),
        (["an echo"], ["f/tc-3"]),
        ([], [item.id for item in NAMED]),
    ],
)
def test_e13_choose_by_name_takes_no_queries_of_prompts(names: list[str], chosen: list[str]) -> None:
    assert ids(choose(NAMED, Choice(cases=names))) == chosen


def test_e13_choose_by_unknown_name_lists_the_names() -> None:
    message = "BK509 there is no case 'one', 'two': there are an echo, empty, happy path"
    with pytest.raises(NothingSelected, match=message):
        choose(NAMED, Choice(cases=["one", "two", "empty"]))


CASES = [case("a", category="strings"), case("b", kind="regression"), case("c", tags=("slow",))]


@pytest.mark.parametrize(
    ("choice", "chosen"),
    [
        ({"categories": ["strings"]}, "a"),
        ({"categories": ["strings", "regression"]}, "ab"),
        ({"tags": ["slow"]}, "c"),
        ({"expression": "not slow and not b"}, "a"),
        ({"ids": ["[ab]"]}, "ab"),
        ({"among": frozenset(("b", "gone"))}, "b"),
        ({"among": frozenset()}, "all of these passed when they were last run"),
        ({"ids": ["d"]}, "none of the 3 cases is selected: baselinekit run --list"),
        ({"ids": ["c"], "exclude_tags": ["slow"]}, "none of the 3 cases is selected: baselinekit run --list"),
    ],
)
def test_h65_choose_by_category_tag_id_or_expression(choice: dict[str, Any], chosen: str) -> None:
    if len(chosen) > 3:
        with pytest.raises(NothingSelected, match=chosen):
            choose(CASES, Choice(**choice))
    else:
        assert ids(choose(CASES, Choice(**choice))) == list(chosen)
    with pytest.raises(NothingSelected, match="there are no eval cases here"):
        choose([], Choice(**choice))


def test_h35_run_by_a_kind_of_grader_lists_cases_without_it(tmp_path: Path) -> None:
    judged, world = (
        case("a", "yes", EXACT, Grader("judge", "model", ModelJudge("is it kind?"))),
        World(tmp_path),
    )
    with pytest.raises(InvalidInput, match="no model grader in b, c"):
        world.run(suite(judged, case("b"), case("c")), Choice(grader="model"))
    assert world.calls == []
    report = world.run(suite(judged, case("b", name="other")), Choice(grader="code", cases=["a"]))
    assert (outcomes(report), report.coverage.left_out) == ({"a": "passed"}, 1)
    assert report.coverage.chosen == {"cases": ["a"], "grader_type": "code"}
    assert "only code graders were used" in report.warnings


# The files.


def project(root: Path, config: str = "version: 1\n", cwd: str = ".") -> Project:
    write(root, "baselinekit.yaml", config)
    return open_project(Operator(cwd=str(root / cwd)))


def test_load_takes_any_file_that_the_operator_names_and_none_that_such_a_file_names(tmp_path: Path) -> None:
    root, outside = tmp_path / "project", tmp_path / "outside"
    for folder in (root, outside):
        write(folder, "c.yaml", "id: a\ninput: {type: prompt, content: x}\nexpected: {value: y}\n")
    opened, file = project(root), outside / "s.yaml"
    for named in (str(file), "../outside/s.yaml"):
        file.write_text("eval_suite: {name: s, evals: [{$ref: c.yaml}]}\n")
        assert ids([*load(opened, [], named).cases, *load(opened, [named], None).cases]) == ["a", "a"]
        file.write_text("eval_suite: {name: s, evals: [{$ref: ../project/c.yaml}]}\n")
        with pytest.raises(Refused, match="BK404"):
            load(opened, [], named)
    assert resolve_path(opened, "../outside/gate.yaml") == str(outside / "gate.yaml")
    assert resolve_path(opened, "c.yaml") == "c.yaml"


@pytest.mark.parametrize("cwd", [".", "prompts", PROMPT])
def test_e1_load_finds_a_prompt_by_id_or_alias(tmp_path: Path, cwd: str) -> None:
    prompt_folder(tmp_path)
    for name in ("refactor", "rf"):
        assert ids([*load(project(tmp_path, cwd=cwd), [name], None).cases]) == ["refactor/one"]


def test_load_takes_a_folder_before_an_id_and_tells_a_word_that_is_neither(tmp_path: Path) -> None:
    prompt_folder(tmp_path)
    prompt_folder(tmp_path, folder="rf", meta="id: rf\ninputs: [constraints, file]\n")
    assert ids([*load(project(tmp_path), ["rf"], None).cases]) == ["rf/one"]
    with pytest.raises(InvalidInput, match="there is no file or folder refator"):
        load(project(tmp_path), ["refator"], None)


def test_load_finds_prompts_below_prompts_unless_the_configuration_names_places(tmp_path: Path) -> None:
    prompt_folder(tmp_path)
    write(tmp_path, "prompts/plain.md", "Say it.\n")
    write(tmp_path, "prompts/inputs.yaml", "text: a\n")
    assert ids([*load(project(tmp_path), [], None).cases]) == ["refactor/one"]
    with pytest.raises(NothingSelected, match="there is no folder evals/, cases/ here"):
        load(project(tmp_path, "version: 1\nevals: [evals, cases]\n"), [], None)
    prompt_folder(tmp_path / "empty", None)
    with pytest.raises(NothingSelected, match="there is no eval case in refactor"):
        load(project(tmp_path / "empty"), ["refactor"], None)
