"""The JSON Schema for editors accepts what the loader reads, and refuses what it refuses by its shape."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from storehelp import EXAMPLES, write
from test_loading_cases import GRADERS, INPUTS

from baselinekit.errors import InvalidInput
from baselinekit.files.languages import language
from baselinekit.suites.authoring import example_files, json_schema
from baselinekit.suites.loading import load_cases
from baselinekit.suites.settings import NUMBERED

SCHEMA = json_schema()
EDITOR = Draft202012Validator(SCHEMA)
HEAD = "id: a\ninput: {type: prompt, content: x}\n"


def fits(text: str, name: str = "x.yaml") -> bool:
    documents = language(name).load(text, name, numbered=NUMBERED)
    return all(EDITOR.is_valid(json.loads(json.dumps(one, default=str))) for one in documents)


def test_schema_accepts_every_file_that_runs() -> None:
    ours = Path(__file__).parents[2] / "evals"
    names = ("capability-codegen", "capability-semantic", "suite", "string-processing", "regression-quality")
    files = [*(EXAMPLES / f"{name}.yaml" for name in names), *(EXAMPLES / "eva").glob("*.yaml")]
    files += [EXAMPLES / "regression-api-users.yaml", EXAMPLES / "users-endpoint.json", *ours.glob("*.yaml")]
    files += [*ours.glob("capability/**/*.yaml"), *ours.glob("regression/**/*.yaml")]
    assert [file for file in files if not fits(file.read_text(), file.name)] == []
    made = {name: text for name, text in example_files().items() if name.endswith(".yaml")}
    others = ["config/graders.yaml", "config/thresholds.yaml"]
    assert [name for name, text in made.items() if not fits(text)] == others


FORMS = [
    *(f"id: a\ninput: {stated}\nexpected: {{value: y}}\n" for stated, _, _ in INPUTS),
    *(HEAD + "expected: {value: y}\n" + (EXAMPLES / f"grader-{name}.yaml").read_text() for name in GRADERS),
    "eval_trigger: {suite: a.yaml, filters: {tags: [x]}, thresholds: {pass@1: 1}}",
    "phase: {name: x, steps: [{type: test}, {type: eval, config: {suite: a.yaml}}]}",
    "capability_eval: [{id: a, input: {type: prompt, content: x}, grader: polite}]",
    "eval_suite: {name: a, evals: [{$ref: ./a/}], thresholds: staging, config: {pass_rule: {by: mean}}}",
    "defaults: {model: a}\ncases: [{name: a, inputs: {}, assert: [contains_any: [b]]}]",
    "triggering: {judge: null, should_match: [], should_not_match: [a]}",
    f"{HEAD}name: null\nexpected: {{value: null}}\nmetadata: null\ngraders: null\npass_rule: mean",
]


def test_schema_accepts_every_form() -> None:
    assert [text for text in FORMS if not fits(text)] == []


WRONG_KEYS = [
    "expcted: {value: y}",
    "expected: {type: exakt, value: y}",
    "reference_answer: y",
    "grader: {type: [code], config: {method: regex}}",
    "grader: {type: code, method: regex, config: {patern: y}}",
    "grader: {type: model, config: {rubric: ok}, weight: -1}",
    "expected: {value: y}\nmetadata: {dificulty: easy}",
    "expected: {value: y}\nmetadata: {timeout_seconds: 0}",
    "expected: {value: y}\nexecution: {type: prompt, modle: x}",
    "expected: {value: y}\npass_rule: {pass_at: 2}",
]
WRONG_FILES = [
    "[]",
    "input: {type: prompt, content: x}\nexpected: {value: y}",
    "id: a\ninput: {type: api_call, content: {mthod: GET}}\nexpected: {value: y}",
    "capability_eval: {id: a}\nname: x",
    "metadata: {id: m}\ninput: x\ntest_cases: [{id: a, input: {content: x}, expected: {value: y}}]",
    "metadata: {id: f}\nconfig: {retires: 1}\ntest_cases: []",
    "id: r\nbaseline: {output: 1}\ncomparison: {type: structral}\ncurrent: {execution: {type: echo}}",
    "id: r\nbaseline: {output: 1}\ncurent: {}",
]


def test_h17_schema_refuses_what_the_loader_refuses_by_its_shape(tmp_path: Path) -> None:
    for text in [*(HEAD + keys for keys in WRONG_KEYS), *WRONG_FILES]:
        write(tmp_path, "evals/c.yaml", text)
        with pytest.raises(InvalidInput, match=r"evals/c\.yaml:"):
            load_cases(["evals/c.yaml"], str(tmp_path))
        assert not fits(text), text


def test_schema_is_valid_and_every_part_of_it_is_used() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    text = json.dumps(SCHEMA)
    assert [name for name in SCHEMA["$defs"] if f'"#/$defs/{name}"' not in text] == []
