"""What a verdict hangs on: the files that a case names, and who was served as its judge."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from evalcases import CONFIG, World, case, suite
from storehelp import write

from baselinekit.commands.project import CaptureEnvironment, Operator, open_project
from baselinekit.errors import BaselinekitError
from baselinekit.evals.cases import key_of
from baselinekit.evals.checks import prepare_cases
from baselinekit.evals.earlier import compare_runs
from baselinekit.graders.by_matcher import BaselineMatch
from baselinekit.graders.by_model import ModelJudge, Scoring
from baselinekit.graders.by_schema import JsonSchema
from baselinekit.kinds.http import HttpExecution
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.kinds.settings import Clients
from baselinekit.kinds.skill import SkillExecution
from baselinekit.model.baselines import Baseline, Known, Rules
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grader
from baselinekit.model.recipes import Answer, HttpRequest, ModelQuestion, Recipe, Scores
from baselinekit.model.results import Report, Result
from baselinekit.structs import replace
from baselinekit.suites.loading import load_cases

PROMPT = PromptExecution("prompt")
ECHO = SkillExecution("skill", "echo")
SCHEMA = Grader("shape", "code", JsonSchema(schema_file="f.yaml"))

FILES: dict[str, tuple[Any, str, str]] = {
    "the schema of a grader": (case("a", "yes", SCHEMA), "type: string", "type: object"),
    "a template": (
        Recipe(PromptInput("f.yaml"), PROMPT),
        "- {role: user, content: a}",
        "- {role: user, content: b}",
    ),
    "a file of inputs": (Recipe(PromptInput(text="{{a}}", inputs_from="f.yaml"), PROMPT), "a: 1", "a: 2"),
    "an input of a prompt": (
        Recipe(PromptInput(text="{{a}}", inputs={"a": {"file": "f.yaml"}}), PROMPT),
        "one",
        "two",
    ),
    "an input of a skill": (Recipe({"diff": {"file": "f.yaml"}}, ECHO), "one", "two"),
    "what the configuration calls a file": (Recipe({"code_diff": "f.yaml"}, ECHO), "one", "two"),
    "what is sent": (
        Recipe(HttpRequest("POST", endpoint="/", files={"a": "f.yaml"}), HttpExecution("http", "http://x")),
        "one",
        "two",
    ),
    "the rubric of scores": (
        Recipe("yes", replace(ECHO, scores=Scores("f.yaml"))),
        "kind: is it?",
        "kind: is it so?",
    ),
    "a SKILL.md": (Recipe("hi", SkillExecution("skill", "folded")), "Reverse it.", "Shout it."),
}


def keys(root: Path, asked: Any, texts: tuple[str, ...]) -> list[str]:
    """The key of the journal with each of the texts in the file."""
    write(
        root,
        "baselinekit.yaml",
        CONFIG.replace("[echo]}", "[echo], files: [code_diff]}, folded: {folder: s}"),
    )
    known = asked if isinstance(asked, Case) else replace(case(), recipe=asked)
    project = open_project(Operator(cwd=str(root)))
    world = World(root)
    found = []
    for text in texts:
        write(root, "f.yaml", text)
        write(root, "s/SKILL.md", text)
        here = CaptureEnvironment(
            project, Clients(world.send, world.execute, world.slept.append, models=world)
        )
        prepared = prepare_cases(here, [known], lambda method: None)
        found.append(key_of(project, "s", prepared, 1, [0]))
    return found


@pytest.mark.parametrize("named", FILES)
def test_what_stands_in_a_file_is_part_of_what_is_asked(tmp_path: Path, named: str) -> None:
    asked, one, other = FILES[named]
    first, second, again = keys(tmp_path, asked, (one, other, one))
    assert first != second
    assert first == again


def test_a_case_that_names_no_file_hangs_on_none(tmp_path: Path) -> None:
    first, second = keys(tmp_path, case(), ("one", "two"))
    assert first == second
    result = World(tmp_path).one(case())
    assert result.case is not None
    assert result.case.fingerprint.keys() == {"case", "grader"}


def test_h4_the_file_of_an_input_is_read_into_its_case(tmp_path: Path) -> None:
    write(tmp_path, "c.yaml", "id: a\ninput: {type: file, content: in.txt}\nexpected: {value: y}")
    found = []
    for text in ("one", "two", "one"):
        write(tmp_path, "in.txt", text)
        (known,) = load_cases(["c.yaml"], str(tmp_path))
        found += keys(tmp_path, known, ("",))
    assert found[0] == found[2] != found[1]


def compared_with(root: Path, before: Case, now: Case, between: Callable[[World], None]) -> tuple[str, str]:
    """The verdict on a case that is not the same in two runs, and why."""
    world = World(root)
    first = world.run(suite(before))
    between(world)
    (change,) = compare_runs(world.run(suite(now)), first).cases
    return change.verdict, change.why


def test_another_schema_is_not_comparable(tmp_path: Path) -> None:
    write(tmp_path, "f.yaml", "type: object")
    same = case("a", '{"n": 1}', SCHEMA)
    verdict = compared_with(tmp_path, same, same, lambda _: None)
    assert verdict == ("unchanged", "")
    told = compared_with(tmp_path, same, same, lambda _: _write_schema(tmp_path))
    assert told == ("not comparable", "the files differ")


def _write_schema(root: Path) -> None:
    write(root, "f.yaml", "type: integer")


class Served(World):
    """A world whose judge says who it is."""

    served = "judge-1"

    def ask(self, ask: ModelQuestion) -> Answer:
        nonce = ask.messages[-1].content.rpartition('{"nonce": "')[2][:16]
        said = f'{{"nonce": "{nonce}", "passed": true, "justification": ""}}'
        return Answer(said, served=self.served)


def judged(root: Path, served: str) -> Report:
    world = Served(root)
    world.served = served
    judge = Grader("judge", "model", ModelJudge("is it right?", scoring=Scoring("boolean")))
    return world.run(suite(case("a", "yes", judge)))


def test_another_judge_is_not_comparable_unless_that_is_wanted(tmp_path: Path) -> None:
    first, same, other = (judged(tmp_path, served) for served in ("judge-1", "judge-1", "judge-2"))
    facts = first.results[0].case
    assert facts is not None
    assert facts.fingerprint["judge"] == "judge-1"
    assert [one.verdict for one in compare_runs(same, first).cases] == ["unchanged"]
    (change,) = compare_runs(other, first).cases
    assert (change.verdict, change.why) == ("not comparable", "the judge differs")
    assert [one.verdict for one in compare_runs(other, first, ["judge"]).cases] == ["unchanged"]


def record(**rules: Any) -> Case:
    known = case("r", "yes", Grader("baseline", "code", BaselineMatch()), kind="regression", expected=None)
    baseline = Baseline("r", known.recipe, baseline=Known("yes"), comparison=Rules(**rules))
    return replace(known, baseline=baseline)


def test_other_rules_of_a_baseline_are_another_grader(tmp_path: Path) -> None:
    assert compared_with(tmp_path, record(type="exact"), record(type="structural"), lambda _: None) == (
        "not comparable",
        "the grader differs",
    )


def test_what_is_not_as_it_was_at_the_capture_is_told_of_a_failed_record(tmp_path: Path) -> None:
    write(tmp_path, "baselinekit.yaml", CONFIG + "environment: {release: two, place: here}\n")
    known = Known("no", environment={"release": "one", "place": "here", "node": "18"})
    told: dict[str, Result] = {}
    for wanted in ("no", "yes"):
        found = record(type="exact")
        assert found.baseline is not None
        found = replace(found, baseline=replace(found.baseline, baseline=replace(known, output=wanted)))
        told[wanted] = World(tmp_path).one(found)
    assert told["no"].environment_drift == {"release": ("one", "two")}
    assert told["yes"].environment_drift == {}, "nothing is to be explained"


def test_a_file_that_is_gone_is_told_beforehand(tmp_path: Path) -> None:
    asked = Recipe(PromptInput("gone.md"), PROMPT)
    with pytest.raises(BaselinekitError, match=r"gone\.md"):
        keys(tmp_path, asked, ("",))
