"""`--case NAME`: cases by their names, several of them, without the queries of a prompt folder."""

from pathlib import Path

import pytest
from evalcases import World, case, outcomes, suite

from baselinekit.errors import NothingSelected
from baselinekit.evals.attempts import EvalClients
from baselinekit.evals.run import RunPolicy, plan_cases
from baselinekit.evals.selection import Choice, choose
from baselinekit.kinds.given import EchoExecution
from baselinekit.model.evals import Case
from baselinekit.model.prompts import PromptFolder, PromptMeta
from baselinekit.model.recipes import Recipe
from baselinekit.structs import replace

FOLDER = PromptFolder("prompts/r", PromptMeta("r"), "prompts/r/meta.yml", "prompts/r/prompt.xml")


def query(id: str, text: str) -> Case:
    recipe = Recipe(text, EchoExecution("echo"))
    return replace(case(id), name=text, folder=FOLDER, recipe=recipe)


CASES = [
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
        ([], [one.id for one in CASES]),
    ],
)
def test_e13_cases_are_chosen_by_name_and_then_no_query_is(names: list[str], chosen: list[str]) -> None:
    assert [one.id for one in choose(CASES, Choice(cases=names))] == chosen


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["emty"], "there is no case 'emty': did you mean 'empty'?"),
        (["empty", "zzz"], "there is no case 'zzz': there are happy path, empty, tc-2, an echo"),
        (["Empty"], "there is no case 'Empty': did you mean 'empty'?"),
        (["happy-path"], "there is no case 'happy-path': did you mean 'happy path'?"),
        (["tc-1"], "there is no case 'tc-1': did you mean 'tc-2'?"),
        ([""], "there is no case ''"),
    ],
)
def test_e13_a_name_that_no_case_has_is_told_with_the_nearest(names: list[str], message: str) -> None:
    with pytest.raises(NothingSelected) as raised:
        choose(CASES, Choice(cases=names))
    assert str(raised.value).startswith(f"BK509 {message}")
    assert raised.value.exit_code == 5


def test_every_name_that_no_case_has_is_told() -> None:
    with pytest.raises(NothingSelected) as raised:
        choose(CASES, Choice(cases=["one", "two", "empty"]))
    assert [problem.message for problem in raised.value.problems] == [
        "there is no case 'one'",
        "there is no case 'two'",
    ]


def test_names_and_other_selections_narrow_together() -> None:
    with pytest.raises(NothingSelected, match="no case matches all the selections"):
        choose(CASES, Choice(cases=["empty"], ids=["f/*"]))
    with pytest.raises(NothingSelected, match="there are no eval cases here"):
        choose([], Choice(cases=["empty"]))
    chosen = choose(CASES, Choice(cases=["happy path"], ids=["f/*"]))
    assert [one.id for one in chosen] == ["f/tc-1"]


def test_e13_a_run_and_its_list_are_about_the_named_cases(tmp_path: Path) -> None:
    cases = suite(case("a", name="first"), case("b", name="second"), case("c", name="third"))
    world, wanted = World(tmp_path), Choice(cases=["third", "first"])
    report = world.run(cases, wanted)
    assert list(outcomes(report)) == ["a", "c"]
    assert (report.coverage.chosen, report.coverage.left_out) == ({"cases": ["third", "first"]}, 1)
    planned = plan_cases(world.project(), cases, wanted, RunPolicy(), world.clients(), EvalClients())
    assert [plan.case.id for plan in planned] == ["a", "c"]
