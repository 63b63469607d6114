"""The JSON Schema that editors use says of an eval file what the loader says."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from storehelp import EXAMPLES, write
from test_loading_cases import ASKED

from baselinekit.errors import InvalidInput
from baselinekit.files.languages import language
from baselinekit.graders.by_model import ModelJudge
from baselinekit.graders.by_text import ExactMatch
from baselinekit.model.evals import Expected, Reporting
from baselinekit.model.grades import FunctionOutput, HumanRating
from baselinekit.suites.authoring import example_files, json_schema
from baselinekit.suites.dialects import capability, suite, testcases
from baselinekit.suites.loading import load_cases
from baselinekit.suites.settings import NUMBERED

SCHEMA = json_schema()
EDITOR = Draft202012Validator(SCHEMA)
OURS = Path(__file__).parents[2] / "evals"


def fits(text: str, name: str = "x.yaml") -> bool:
    documents = language(name).load(text, name, numbered=NUMBERED)
    return all(EDITOR.is_valid(json.loads(json.dumps(one, default=str))) for one in documents)


@pytest.mark.parametrize(
    "file",
    [
        *(EXAMPLES / f"{name}.yaml" for name in ("capability-codegen", "capability-semantic", "suite")),
        *(EXAMPLES / f"{name}.yaml" for name in ("string-processing", "regression-quality")),
        *sorted((EXAMPLES / "eva").glob("*.yaml")),
        *(EXAMPLES / name for name in ("regression-api-users.yaml", "users-endpoint.json")),
        *sorted(OURS.glob("capability/**/*.yaml")),
        *sorted(OURS.glob("regression/**/*.yaml")),
        *sorted(OURS.glob("*.yaml")),
    ],
    ids=lambda file: file.name,
)
def test_no_file_that_runs_is_underlined(file: Path) -> None:
    assert fits(file.read_text(), file.name)


@pytest.mark.parametrize("name", ["eval-suite.yaml", "capability/strings.yaml", "regression/sentence.yaml"])
def test_nor_is_anything_of_what_init_makes(name: str) -> None:
    assert fits(example_files()[name])


@pytest.mark.parametrize("asked", [asked for asked, _, _ in ASKED])
def test_nor_is_any_input(asked: str) -> None:
    assert fits(f"id: a\ninput: {asked}\nexpected: {{value: y}}\n")


@pytest.mark.parametrize(
    "name", ["exact-match", "regex", "function-output", "model", "model-calibration", "human"]
)
def test_nor_is_any_grader_of_the_document(name: str) -> None:
    grader = (EXAMPLES / f"grader-{name}.yaml").read_text()
    assert fits("id: a\ninput: {type: prompt, content: x}\nexpected: {value: y}\n" + grader)


@pytest.mark.parametrize(
    "text",
    [
        "eval_trigger: {suite: a.yaml, filters: {tags: [x]}, thresholds: {pass@1: 1}}",
        "phase: {name: x, steps: [{type: test}, {type: eval, config: {suite: a.yaml}}]}",
        "capability_eval: [{id: a, input: {type: prompt, content: x}, grader: polite}]",
        "eval_suite: {name: a, evals: [{$ref: ./a/}], thresholds: staging}",
        "defaults: {model: a}\ncases: [{name: a, inputs: {}, assert: [contains_any: [b]]}]",
        "triggering: {judge: null, should_match: [], should_not_match: [a]}",
        "id: a\nname: null\ninput: {type: prompt, content: x}\nexpected: {value: null}\nmetadata: null",
    ],
)
def test_nor_is_any_other_form(text: str) -> None:
    assert fits(text)


HEAD = "id: a\ninput: {type: prompt, content: x}\n"
WRONG_KEYS = [
    "expcted: {value: y}",
    "expected: {tpe: exact, value: y}",
    "expected: {type: exakt, value: y}",
    "reference_answer: y",
    "max_duration_ms: 5",
    "grader: {type: cod}",
    "grader: {type: [code], config: {method: regex}}",
    "grader: {type: code, config: {method: regex, patern: y}}",
    "grader: {type: code, method: regex, config: {patern: y}}",
    "grader: {type: human, config: {criteria: [tone]}}",
    "grader: {type: model, config: {rubric: ok}, weight: -1}",
    "expected: {type: functional, value: {function_name: f, test_cases: [{input: [5]}]}}",
    "expected: {type: functional, value: {function_name: f, test_cases: [{input: [5], outptu: 1}]}}",
    "expected: {type: semantic, value: {must_include: [y]}, alternatives: [{must: [z]}]}",
    "expected: {type: semantic, value: {must_includes: [y]}}",
    "expected: {value: y}\nmetadata: {dificulty: easy}",
    "expected: {value: y}\nmetadata: {difficulty: eas}",
    "expected: {value: y}\nmetadata: {timeout_seconds: 0}",
    "expected: {value: y}\nmetadata: {retries: -1}",
    "expected: {value: y}\nexecution: {type: prompt, modle: x}",
]
WRONG_FILES = [
    "[]",
    "id: a\nexpected: {value: y}",
    "input: {type: prompt, content: x}\nexpected: {value: y}",
    "id: a\ninput: {type: prompt}\nexpected: {value: y}",
    "id: a\ninput: {type: api_call, content: {mthod: GET}}\nexpected: {value: y}",
    "capability_eval: {id: a}\nname: x",
    "metadata: {id: m}\ninput: x\ntest_cases: [{id: a, input: {content: x}, expected: {value: y}}]",
    "metadata: {id: f}\nconfig: {retires: 1}\ntest_cases: []",
    "metadata: {id: f}\nconfig: 3\ntest_cases: []",
    "id: r\nbaseline: {output: 1}\ncomparison: {type: structral}\n"
    "current: {input: x, execution: {type: skill, skill_name: s}}",
    "id: r\nbaseline: {output: 1}\ncurent: {}",
]


@pytest.mark.parametrize("text", [*(HEAD + keys for keys in WRONG_KEYS), *WRONG_FILES])
def test_h17_what_the_loader_refuses_by_its_shape_is_underlined(tmp_path: Path, text: str) -> None:
    write(tmp_path, "evals/c.yaml", text)
    with pytest.raises(InvalidInput, match=r"evals/c\.yaml:"):
        load_cases(["evals/c.yaml"], str(tmp_path))
    assert not fits(text)


@pytest.mark.parametrize(
    ("part", "kind", "renamed"),
    [
        ("Case", capability.CapabilityRecord, set()),
        ("CaseMetadata", capability.CaseMetadata, set()),
        ("CasesFile", testcases.CasesFile, set()),
        ("Suite", suite.StatedSuite, set()),
        ("SuiteConfig", suite.SuiteFileConfig, set()),
        ("Reporting", Reporting, set()),
        ("Expected_semantic", Expected, set()),
        ("ModelConfig", ModelJudge, set()),
        ("HumanConfig", HumanRating, set()),
        ("FunctionOutputConfig", FunctionOutput, {"method"}),
        ("ExactMatchConfig", ExactMatch, {"method"}),
    ],
)
def test_it_has_every_key_of_the_model(part: str, kind: Any, renamed: set[str]) -> None:
    assert set(SCHEMA["$defs"][part]["properties"]) == set(kind.__struct_fields__) | renamed


@pytest.mark.slow
def test_it_is_a_schema_and_every_part_of_it_is_used() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    text = json.dumps(SCHEMA)
    assert [name for name in SCHEMA["$defs"] if f'"#/$defs/{name}"' not in text] == []
