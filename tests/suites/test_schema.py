"""The JSON Schema that editors use says of an eval file what the loader says."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from storehelp import EXAMPLES
from test_loading_cases import ASKED
from test_loading_errors import ONE_LINE

from baselinekit.errors import BaselinekitError
from baselinekit.files.languages import language
from baselinekit.graders.by_model import ModelJudge
from baselinekit.graders.by_text import ExactMatch
from baselinekit.model.evals import Expected, Reporting
from baselinekit.model.grades import FunctionOutput, HumanRating
from baselinekit.suites.authoring import example_files, json_schema
from baselinekit.suites.dialects import capability, suite, testcases
from baselinekit.suites.settings import NUMBERED

SCHEMA = json_schema()
EDITOR = Draft202012Validator(SCHEMA)
OURS = Path(__file__).parents[2] / "evals"
BY_SHAPE = ("unknown key", "is missing: add it", "expected one of", "found 3 (integer)", "an empty list")
"""What of the loader's words a schema can know: not what two keys say together."""


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


def shaped() -> list[str]:
    return [text for text, said in ONE_LINE if any(words in said for words in BY_SHAPE)]


@pytest.mark.parametrize("text", shaped())
def test_h17_what_the_loader_refuses_by_its_shape_is_underlined(text: str) -> None:
    try:
        assert not fits(text)
    except BaselinekitError:
        pytest.skip("an editor finds that without a schema")


def test_most_of_what_is_refused_is_refused_by_its_shape() -> None:
    assert len(shaped()) > 20


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
