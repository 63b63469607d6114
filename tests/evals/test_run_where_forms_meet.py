"""What is settled once for all forms of eval files: scales, braces, paths, times, outcomes, exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest
from evalcases import EXACT, World, case, suite
from evalreports import report, result
from report.reports import metric
from storehelp import EXAMPLES, write

from baselinekit.errors import BaselinekitError, InvalidInput
from baselinekit.evals import gating
from baselinekit.graders.by_model import ModelJudge, Scoring
from baselinekit.graders.by_schema import JsonSchema
from baselinekit.graders.verdict import combine_grades
from baselinekit.model.evals import Case, Expected, Gate
from baselinekit.model.grades import Evaluators, FunctionOutput, Grade, Grader, HumanRating
from baselinekit.model.recipes import Answer, ModelQuestion
from baselinekit.model.results import SuiteFacts
from baselinekit.structs import replace
from baselinekit.suites.loading import load_cases, load_evals

HEAD = "id: a\ninput: {type: prompt, content: x}\n"


class Judged(World):
    """A world whose judge says what the test says, and repeats its nonce."""

    says: Any = None

    def ask(self, ask: ModelQuestion) -> Answer:
        self.asked.append(ask)
        nonce = ask.messages[-1].content.rpartition('{"nonce": "')[2][:16]
        return Answer(json.dumps({"nonce": nonce, **self.says, "justification": ""}))


def scores(number: float, passed: bool = False) -> dict[str, Any]:
    return {
        "scores": {"overall": number},
        "overall_score": number,
        "passed": passed,
        "specific_feedback": [],
    }


@pytest.mark.parametrize(
    ("scoring", "says", "score", "raw"),
    [
        (Scoring(), scores(1), 0.0, 1),
        (Scoring(), scores(5, True), 1.0, 5),
        (Scoring(), scores(4, True), 0.75, 4),
        (Scoring(range=[0, 5]), scores(1), 0.2, 1),
        (Scoring(range=[0, 10]), scores(0), 0.0, 0),
        (Scoring("boolean"), {"passed": True}, 1.0, None),
        (Scoring("boolean"), {"passed": False}, 0.0, None),
        (
            Scoring("categorical", categories=["good", "poor"], passing=["good"]),
            {"category": "good"},
            1.0,
            "good",
        ),
        (
            Scoring("categorical", categories=["good", "poor"], passing=["good"]),
            {"category": "poor"},
            0.0,
            "poor",
        ),
    ],
)
def test_x1_a_score_is_its_share_of_the_range_and_the_raw_one_is_kept(
    tmp_path: Path, scoring: Scoring, says: dict[str, Any], score: float, raw: Any
) -> None:
    world = Judged(tmp_path)
    world.says = says
    found = world.one(case("a", "yes", Grader("judge", "model", ModelJudge("good?", scoring=scoring)))).case
    assert found is not None
    assert found.score == pytest.approx(score)
    details = found.attempts[0].grades[0].details
    assert details.get("category", details.get("scores", {}).get("overall")) == raw


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        (HEAD + "expected: {value: y}", ["a"]),
        ("- " + (HEAD + "expected: {value: y}").replace("\n", "\n  "), ["a"]),
        ("capability_eval:\n  " + (HEAD + "expected: {value: y}").replace("\n", "\n  "), ["a"]),
        (
            "regression_eval: {id: r, baseline: {output: 1}, "
            "current: {input: x, execution: {type: skill, skill_name: s}}}",
            ["r"],
        ),
        (
            "eval_type: regression\nmetadata: {id: r}\nbaseline: {response: {}}\n"
            "test_case: {input: {path: /x}}",
            ["r"],
        ),
        ("eval_type: capability\nmetadata: {id: f}\ntest_cases:\n- " + HEAD.replace("\n", "\n  "), ["f/a"]),
        (
            "eval_suite: {name: s, evals: [{id: a, input: {type: prompt, content: x}, "
            "expected: {value: 1}}]}",
            ["a"],
        ),
    ],
)
def test_x2_a_file_is_known_by_what_only_its_form_has(tmp_path: Path, text: str, ids: list[str]) -> None:
    if ids == ["f/a"]:
        text += "expected: {value: y}"
    write(tmp_path, "f.yaml", text)
    assert [one.id for one in load_evals(["f.yaml"], str(tmp_path)).cases] == ids


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cases: []\ntest_cases: []", "(by 'cases') and a file of test cases (by 'test_cases')"),
        ("triggering: {}\nevalcases: []", "(by 'triggering') and an AgentV eval file (by 'evalcases')"),
        ("evalcases: [{id: a}]\ncases: []", "(by 'cases') and an AgentV eval file (by 'evalcases')"),
        ("eval_trigger: {suite: a.yaml}", "this looks like an eval trigger"),
        ("nothing: 1", "it has nothing: a case has id, input, expected and grader"),
        ("capability_eval: []\ntest_cases: []", "unknown key 'test_cases' beside capability_eval"),
    ],
)
def test_x2_none_of_the_forms_or_two_of_them_are_told(tmp_path: Path, text: str, said: str) -> None:
    write(tmp_path, "f.yaml", text)
    with pytest.raises(InvalidInput) as caught:
        load_evals(["f.yaml"], str(tmp_path))
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ("expected_output: the answer", "expected a mapping, found 'the answer'"),
        ("expected_output: [{role: assistant, content: hi}]", "expected a mapping, found a list"),
        ("expected_outcome: it is polite", "it is not stated what would be right"),
        ("expected: the answer", "expected a mapping, found 'the answer'"),
    ],
)
def test_x3_what_another_form_expects_is_never_taken_for_an_exact_match(
    tmp_path: Path, stated: str, said: str
) -> None:
    write(tmp_path, "f.yaml", HEAD + stated)
    with pytest.raises(InvalidInput) as caught:
        load_cases(["f.yaml"], str(tmp_path))
    assert said in str(caught.value)


BRACES = "{input} {output} {{name}} {{any_uuid}} {NAME} ${{ NAME }} {phase_id}"


def test_x4_braces_of_one_kind_are_not_expanded_by_another(tmp_path: Path) -> None:
    write(
        tmp_path, "baselinekit.yaml", "skills: {echo: {command: [echo]}}\nmodels: {judge: {command: [j]}}\n"
    )
    world = Judged(tmp_path)
    world.says = {"passed": True}
    write(tmp_path, "in.txt", BRACES)
    write(
        tmp_path,
        "f.yaml",
        "id: a\ninput: {type: file, content: in.txt}\nexecution: {type: skill, skill_name: echo}\n"
        "grader: {type: model, config: {rubric: 'is {output} right?', scoring: {type: boolean}}}\n",
    )
    (known,) = load_cases(["f.yaml"], str(tmp_path))
    assert world.one(known).outcome == "passed"
    assert world.calls == [BRACES], "what is in a file is data"
    shown = world.asked[0].messages[-1].content
    assert shown.count(BRACES) == 2, "as the input and as the output"
    assert "is {output} right?" in shown, "a rubric is no template"


def test_x4_a_variable_is_expanded_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        "baselinekit.yaml",
        "skills: {echo: {command: [echo]}}\nvariables: {a: 'is {{b}}', b: no, c: '{output}'}\n",
    )
    world = World(tmp_path)
    world.one(case("a", "{{a}} \\{{b}} {{c}}"))
    assert world.calls == ["is {{b}} {{b}} {output}"]


def test_x4_the_judge_is_told_what_was_asked_but_no_secret(tmp_path: Path) -> None:
    write(
        tmp_path,
        "baselinekit.yaml",
        "skills: {echo: {command: [echo]}}\nmodels: {judge: {command: [j]}}\n"
        "variables: {who: Ada, token: {value: hush-4711, secret: true}}\n",
    )
    world = Judged(tmp_path, lambda given, turn: "yes")
    world.says = {"passed": True}
    judge = Grader("judge", "model", ModelJudge("right?", scoring=Scoring("boolean")))
    assert world.one(case("a", "greet {{who}} with {{token}}", judge)).outcome == "passed"
    assert world.calls == ["greet Ada with hush-4711"]
    shown = world.asked[0].messages[-1].content
    assert "greet Ada with " in shown
    assert "4711" not in shown


def test_x5_paths_begin_at_the_file_that_names_them(tmp_path: Path) -> None:
    write(tmp_path, "evals/deep/in.txt", "here")
    write(tmp_path, "in.txt", "not here")
    write(tmp_path, "evals/deep/s.json", '{"type": "object"}')
    text = "id: a\ninput: {type: file, content: in.txt}\nexpected: {value: y}\n"
    text += "grader: {type: code, config: {method: json_schema, schema_file: s.json}}\n"
    write(tmp_path, "evals/deep/f.yaml", text)
    write(tmp_path, "evals/suite.yaml", "eval_suite: {name: s, evals: [{$ref: deep/f.yaml}]}")
    (known,) = load_evals(["evals/suite.yaml"], str(tmp_path)).cases
    assert known.recipe.input.text == "here"
    echo = replace(known, recipe=case("a", '{"n": 1}').recipe)
    assert World(tmp_path).one(echo).outcome == "passed"


@pytest.mark.parametrize("path", ["../../out.json", "/etc/hostname"])
def test_x5_a_schema_outside_of_the_project_is_refused(tmp_path: Path, path: str) -> None:
    write(tmp_path, "out.json", "{}")
    root = tmp_path / "project"
    root.mkdir()
    known = replace(case("a", "yes", Grader("s", "code", JsonSchema(schema_file=path))), source=case().source)
    with pytest.raises(BaselinekitError, match=r"BK404|BK111"):
        World(root).one(known)


def test_x6_times_that_nobody_states(tmp_path: Path) -> None:
    assert FunctionOutput("f").timeout_per_case == 5
    assert (HumanRating().time_limit_minutes, suite().config.timeout_global) == (None, None)
    assert Evaluators() == Evaluators(2, 5, 0.8)
    write(tmp_path, "f.yaml", HEAD + "expected: {value: y}")
    (known,) = load_cases(["f.yaml"], str(tmp_path))
    assert (known.timeout, known.retries) == (None, 0)
    (first, *_) = load_cases(["string-processing.yaml"], str(EXAMPLES))
    assert (first.timeout, first.retries) == (30, 1)


def grade(outcome: Any, verdict: str | None = None, required: bool = True) -> Grade:
    score = {"passed": 1.0, "failed": 0.0}.get(outcome)
    return Grade("g", "code", outcome, score, "why", verdict, required=required)


@pytest.mark.parametrize(
    ("grades", "outcome", "score", "verdict"),
    [
        ([grade("passed"), grade("passed")], "passed", 1.0, None),
        ([grade("passed"), grade("failed")], "failed", 0.5, None),
        ([grade("passed"), grade("error")], "error", None, None),
        ([grade("failed"), grade("error")], "failed", None, None),
        ([grade("passed"), grade("unscored", "pending")], "unscored", None, "pending"),
        ([grade("passed"), grade("unscored", "disputed")], "unscored", None, "disputed"),
        ([grade("failed"), grade("unscored", "pending")], "failed", None, None),
        ([grade("error"), grade("unscored", "pending")], "error", None, None),
        ([grade("passed"), grade("failed", required=False)], "passed", 0.5, None),
    ],
)
def test_h34_x7_what_several_graders_amount_to(
    grades: list[Grade], outcome: str, score: float | None, verdict: str | None
) -> None:
    found = combine_grades(grades)
    assert (found[0], found[1], found[3]) == (outcome, score, verdict)


@pytest.mark.parametrize("said", ["SCORE=5 REASON=good", "passed", "", '{"passed": true}'])
def test_x7_a_judge_that_cannot_be_read_neither_passes_nor_fails(tmp_path: Path, said: str) -> None:
    world = World(tmp_path)
    world.reply = said
    found = world.one(case("a", "yes", EXACT, Grader("judge", "model", ModelJudge("good?"))))
    assert (found.outcome, found.code) == ("error", "BK640")
    assert found.case is not None
    assert found.case.score is None


def read(root: Path, text: str | bytes) -> Case:
    (known,) = load_cases([write(root, "f.yaml", text)], str(root))
    return known


CASES = "schema_version: {version}\nmetadata: {{id: f, created: 2024-01-15, author: NO}}\ntest_cases:\n"
CASES += "- {{id: a, input: {{type: prompt, content: x}}, expected: {{value: {value}}}}}\n"


@pytest.mark.parametrize("version", ['"1.0"', "1.0", "1"])
def test_x8_a_version_may_be_a_text_or_a_number_and_a_date_stays_a_text(tmp_path: Path, version: str) -> None:
    assert read(tmp_path, CASES.format(version=version, value="y")).id == "f/a"


@pytest.mark.parametrize(
    ("stated", "value"),
    [
        ("yes", "yes"),
        ("NO", "NO"),
        ("on", "on"),
        ("true", True),
        ('""', ""),
        ("null", None),
        ("12:30:45", "12:30:45"),
        ("2024-01-15", "2024-01-15"),
        ("0o17", 15),
        ("1e3", 1000.0),
    ],
)
def test_x8_a_word_is_what_yaml_1_2_takes_it_for(tmp_path: Path, stated: str, value: Any) -> None:
    expected = read(tmp_path, CASES.format(version="1", value=stated)).expected
    assert expected is not None
    assert (expected.value, type(expected.value)) == (value, type(value))


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ("expected: {}", "the key 'value' is missing"),
        ("expected: null", "it is not stated what would be right"),
        ("", "it is not stated what would be right"),
        ("expected: {value: y}\nexpected: {value: z}", "occurs twice"),
    ],
)
def test_x8_an_empty_text_null_and_nothing_are_three_things(tmp_path: Path, rest: str, said: str) -> None:
    assert read(tmp_path, HEAD + 'expected: {value: ""}').expected == Expected("exact", "")
    assert read(tmp_path, HEAD + "expected: {value: null}").expected == Expected("exact", None)
    with pytest.raises(InvalidInput) as caught:
        read(tmp_path, HEAD + rest)
    assert said in str(caught.value)


def test_x8_numbers_as_keys_options_with_booleans_marks_and_line_ends(tmp_path: Path) -> None:
    text = HEAD + (
        "graders:\n"
        "- {type: human, config: {rating_scale: {labels: {1: Poor, 5: Good}}}}\n"
        "- {type: human, config: {rating_scale: {type: binary, options: [{value: true}, {value: false}]}}}\n"
    )
    for data in (text, "\ufeff" + text, text.replace("\n", "\r\n"), "---\n" + text):
        likert, binary = (grader.method for grader in read(tmp_path, data.encode()).graders)
        assert isinstance(likert, HumanRating)
        assert isinstance(binary, HumanRating)
        assert likert.rating_scale.labels == {"1": "Poor", "5": "Good"}
        assert [option.value for option in binary.rating_scale.options] == [True, False]


def test_x8_a_file_that_grows_when_it_is_read_is_refused(tmp_path: Path) -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefg", "bcdefgh", strict=True)]
    with pytest.raises(InvalidInput, match=r"BK10[67]"):
        read(tmp_path, "\n".join(lines))


def test_x9_the_model_of_a_document_is_a_name_and_what_it_stands_for_is_configured(tmp_path: Path) -> None:
    write(
        tmp_path,
        "baselinekit.yaml",
        "skills: {echo: {command: [echo]}}\nmodels: {claude-3-5-sonnet: {command: [m]}}\n",
    )
    write(
        tmp_path,
        "path/to/technical-spec.md",
        "PostgreSQL 14+ /api/v1/users DATABASE_URL environment variable",
    )
    write(tmp_path, "f.yaml", (EXAMPLES / "capability-semantic.yaml").read_text())
    (known,) = load_cases(["f.yaml"], str(tmp_path))
    world = Judged(tmp_path)
    of_each = {"completeness": 5, "accuracy": 5, "relevance": 5}
    world.says = {**scores(5, True), "scores": of_each}
    asked = case("a", known.recipe.input.text.replace("\\{{", "{{")).recipe
    found = world.one(replace(known, recipe=asked))
    assert (found.outcome, [ask.model for ask in world.asked]) == ("passed", ["claude-3-5-sonnet"])


ONE_OF_EACH = {"+": 0, "-": 1, "!": 3, "?": 3, "+-": 1, "+!": 3, "-!": 1}


@pytest.mark.parametrize("signs", ONE_OF_EACH)
def test_x11_the_exit_code_of_a_run_and_of_a_gate(signs: str) -> None:
    found = report(*(result(f"c{n}", sign) for n, sign in enumerate(signs)))
    assert found.exit_code == ONE_OF_EACH[signs]
    of_gate = 1 if signs in "!?" else ONE_OF_EACH[signs]  # of nothing decided there is no rate
    assert gating.judge(Gate("g", {"pass rate": 1.0}), found).exit_code == of_gate
    assert gating.judge(Gate("g", {"pass rate": 1.0}, blocking=False), found).exit_code == 0


@pytest.mark.parametrize(
    ("more", "exit_code"),
    [
        ({"complete": False}, 3),
        ({"complete": False, "interrupted": True}, 130),
        ({"not_recorded": ("r",)}, 3),
        ({"suite": SuiteFacts("s", metrics=(metric("pass@3", None, threshold=0.5, why="few"),))}, 3),
        ({"suite": SuiteFacts("s", metrics=(metric("pass@1", 0.4, threshold=0.5),))}, 1),
        ({"suite": SuiteFacts("s", metrics=(metric("pass@1", 0.5, threshold=0.5),))}, 0),
    ],
)
def test_x11_what_else_an_exit_code_hangs_on(more: dict[str, Any], exit_code: int) -> None:
    assert report(result("a", "+"), **more).exit_code == exit_code


def test_x11_h66_of_nothing_there_is_no_pass() -> None:
    assert report().exit_code == 5
    refused = replace(result("a", "!"), verdict="refused")
    assert report(refused, result("b", "-")).exit_code == 4
