"""Configurations of promptfoo as test cases, and what is left out of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from baselinekit.errors import InvalidInput, Problem
from baselinekit.graders.base import GradeClients
from baselinekit.graders.graders import grade
from baselinekit.importers.drafts import NotCarried, SourceText
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json
from baselinekit.moving.conversion import read_draft
from baselinekit.moving.promptfooasserts import filled, from_short, render
from baselinekit.moving.reading import DraftEvals, EvalFiles
from baselinekit.suites.loading import load_cases


def files(**texts: str) -> EvalFiles:
    def read(way: str) -> str:
        if way.removeprefix("./") not in texts:
            raise InvalidInput(Problem("BK111", "there is no such file"))
        return texts[way.removeprefix("./")]

    def fitting(pattern: str) -> list[str]:
        return sorted(name for name in texts if Path(name).match(pattern))

    return EvalFiles(read, fitting)


def imported(config: dict[str, Json], beside: dict[str, str] | None = None) -> DraftEvals:
    source = SourceText("promptfooconfig.yaml", json.dumps(config, indent=1))
    draft = read_draft(source, files(**(beside or {})))
    assert draft is not None
    return draft


def config(*tests: Any, **more: Any) -> dict[str, Json]:
    return {"prompts": ["Ask {{x}}."], "providers": ["openai:gpt-4o"], "tests": [*tests], **more}


def stated_test(*asserted: Json, **more: Json) -> dict[str, Json]:
    return {"vars": {"x": "it"}, "assert": [*asserted], **more}


IS = {"type": "contains", "value": "a"}


def cases_of(draft: DraftEvals) -> list[dict[str, Any]]:
    stated: Any = draft.document["test_cases"]
    return list(stated)


def questions(draft: DraftEvals) -> list[Json]:
    return [case["input"]["content"] for case in cases_of(draft)]


def lost(draft: DraftEvals) -> list[str]:
    return [left.message for left in draft.left_out]


# Templates.


FILLED = [
    ("{{x}} {{ x | upper }} {{x|trim|lower}}", {"x": " Ab "}, " Ab   AB  ab"),
    ("{{a.b}} {{a['b']}} {{l[1]}} {{ l.0 }}", {"a": {"b": 1}, "l": ["p", "q"]}, "1 1 q p"),
    ("{{o}} {{o | dump}}", {"o": {"k": [1]}}, '{"k":[1]} {"k":[1]}'),
    ("{{x}}", {"x": "{{y}}!", "y": "deep"}, "deep!"),
    ("{{n}} {{t}} {{z}}", {"n": None, "t": True, "z": 0}, " true 0"),
    ("{{p}} {{n.length}} {{l.length}} {{l}}", {"p": 1.0, "n": "bob", "l": [1.5, 2.0]}, "1 3 2 [1.5,2]"),
    ("{{t | upper}}{{p | string}}{{z}}", {"t": True, "p": 2.0, "z": 1e21}, "TRUE21e+21"),
    ("a\r\n{{x}}\r\n", {"x": "b"}, "a\r\nb\r\n"),
]


@pytest.mark.parametrize(("template", "values", "text"), FILLED)
def test_render_fills_a_template_as_promptfoo_does(template: str, values: dict[str, Json], text: str) -> None:
    assert render(template, filled(values), "it") == text


@pytest.mark.parametrize(
    ("template", "what"),
    [
        ("a{{gone}}b", "{{gone}} has no value"),
        ("{{x.__class__}}", "has no value"),
        ("{% if x %}a{% endif %}", "more than names and filters"),
        ("{{ x + 1 }}", "more than names and filters"),
        ("{{ x | rare }}", "the filter 'rare'"),
        ("{{x." + "9" * 5000 + "}}", "has no value"),
        ("{{big}}" * 11, "a text of more than 1,000,000 characters"),
    ],
)
def test_render_of_logic_or_unknown_names_is_refused(template: str, what: str) -> None:
    with pytest.raises(NotCarried) as refused:
        render(template, {"x": "1", "l": [1], "big": "x" * 100_000}, "the prompt")
    assert refused.value.message.startswith("the prompt: ")
    assert what in refused.value.message
    assert str(filled({"x": "a{{x}}"})["x"]).endswith("aa{{x}}")  # a value that leads back to itself
    with pytest.raises(NotCarried):
        filled({"x": "{{x}}" * 1000})


# Assertions.


JUDGED: list[tuple[dict[str, Json], str, str]] = [
    ({"type": "equals", "value": "a b"}, "a b", "a b\n"),
    ({"type": "equals", "value": {"k": 1}}, '{"k": 1}', '{"k": 2}'),
    ({"type": "not-equals", "value": "a"}, "b", "a"),
    ({"type": "not-icontains", "value": "p"}, "q", "qP"),
    ({"type": "icontains-all", "value": "P, q"}, "Q p", "p"),
    ({"type": "starts-with", "value": "a."}, "a.b", "axb"),
    ({"type": "regex", "value": r"\d{2}$"}, "a12", "a12\n"),
    ({"type": "is-json"}, "[1]", "a"),
    ({"type": "is-json", "value": {"type": "object"}}, "{}", "[]"),
    ({"type": "contains-json", "value": {"required": ["a"]}}, '```json\n{"a": 1}\n```', "{}"),
    ({"type": "word-count", "value": 2}, "a b", "a b c"),
    ({"type": "word-count", "value": {"min": 2}}, "a b", "a"),
    ({"type": "latency", "threshold": 1000}, "1.0", "1.1"),
    ({"type": "assert-set", "threshold": 0.5, "assert": [IS, {"type": "contains", "value": "b"}]}, "a", "c"),
    ({"type": "assert-set", "weight": 2, "assert": [IS, {"type": "equals", "value": "ab"}]}, "ab", "a"),
]


@pytest.mark.parametrize(("stated", "good", "bad"), JUDGED)
def test_assertion_judges_as_promptfoo(tmp_path: Path, stated: dict[str, Json], good: str, bad: str) -> None:
    draft = imported(config(stated_test(stated)))
    assert lost(draft) == []
    (tmp_path / "a.yaml").write_text(json.dumps(draft.document))
    (case,) = load_cases(["a.yaml"], str(tmp_path))

    def passes(output: str) -> bool:
        seconds = float(output) if stated["type"] == "latency" else 0.1
        observation = Observation(output, seconds)
        grades = [grade(grader, case, observation, GradeClients()) for grader in case.graders]
        return all(found.outcome == "passed" for found in grades)

    assert (passes(good), passes(bad)) == (True, False)


def test_rubric_assertion_is_judged_by_the_provider_of_its_test() -> None:
    options = {"provider": "anthropic:messages:claude-sonnet-4-6"}
    plain, scored = {"type": "llm-rubric", "value": "Is it {{x}}?"}, {"type": "g-eval", "value": ["p", "q"]}
    draft = imported(config(stated_test(plain, scored, options=options)))
    first, second = cases_of(draft)[0]["graders"]
    assert first["config"]["rubric"] == [{"name": "overall", "description": "Is it it?"}]
    assert first["config"]["model"] == "claude-sonnet-4-6"
    assert first["config"]["scoring"] == {"type": "boolean"}
    assert second["config"]["scoring"] == {"type": "numeric", "range": [0, 1], "threshold": 0.7}
    assert [criterion["description"] for criterion in second["config"]["rubric"]] == ["p", "q"]


def test_judge_of_a_test_at_another_address_loses_only_what_a_model_judges() -> None:
    options = {"provider": {"id": "openai:gpt-4o-mini", "config": {"apiHost": "judges.example"}}}
    begins, rubric = {"type": "starts-with", "value": "a"}, {"type": "llm-rubric", "value": "kind"}
    draft = imported(config(stated_test(begins, {"type": "is-xml"}, rubric, options=options)))
    assert [grader["config"]["method"] for grader in cases_of(draft)[0]["graders"]] == ["regex"]
    assert "`llm-rubric` whose judge is at judges.example" in lost(draft)
    plain = imported(config(stated_test(begins, options={"provider": "anthropic:messages:claude"})))
    assert [*plain.models] == ["gpt-4o"]


SHORT = [
    ("Paris", {"type": "equals", "value": "Paris"}),
    ("regex:x:y", {"type": "regex", "value": "x:y"}),
    ("similar:cosine(0.8):hi", {"type": "similar:cosine", "value": "hi", "threshold": 0.8}),
    ("trajectory:tool-used:search", {"type": "trajectory:tool-used", "value": "search"}),
    ("latency(1000)", {"type": "latency", "threshold": 1000.0}),
    ("well-known", {"type": "equals", "value": "well-known"}),
    ("context-recall:0.8", {"type": "context-recall", "value": "0.8"}),
    ("Contains:paris", {"type": "equals", "value": "Contains:paris"}),
    ("grade:Is kind", {"type": "llm-rubric", "value": "Is kind"}),
]


@pytest.mark.parametrize(("text", "stated"), SHORT)
def test_from_short_reads_a_short_assertion(text: str, stated: dict[str, Json]) -> None:
    assert from_short(text) == stated


# Tests, prompts and providers.


def test_read_has_a_case_for_each_test_prompt_and_provider() -> None:
    providers = ["openai:gpt-4o", {"id": "anthropic:claude-x", "label": "cl", "config": {"temperature": 0}}]
    test = stated_test(IS, description="t")
    draft = imported(config(test, prompts=["A {{x}}", "B {{x}}"], providers=providers))
    assert questions(draft) == ["A it", "B it", "A it", "B it"]
    ids = ["t-prompt-1-openai-gpt-4o", "t-prompt-2-openai-gpt-4o", "t-prompt-1-cl", "t-prompt-2-cl"]
    assert [case["id"] for case in cases_of(draft)] == ids
    assert cases_of(draft)[3]["execution"] == {"type": "prompt", "model": "cl", "temperature": 0}
    assert draft.models["cl"] == {"anthropic": "claude-x", "key": "anthropic_key"}


def test_read_of_a_provider_with_prompts_asks_those_and_their_parts() -> None:
    provider = {"id": "openai:gpt-4o", "prompts": ["two"]}
    prompts = ["One {{x}}", {"label": "two", "raw": "Two {{x}}\n---\nThree {{x}}"}]
    draft = imported(config(stated_test(IS), prompts=prompts, providers=[provider, "openai:o"]))
    asked = [(case["execution"]["model"], case["input"]["content"]) for case in cases_of(draft)]
    both = [("gpt-4o", "Two it"), ("gpt-4o", "Three it")]
    assert asked == [*both, ("o", "One it"), ("o", "Two it"), ("o", "Three it")]


def test_read_of_values_scenarios_thresholds_and_weights() -> None:
    both = {"vars": {"x": ["a", "b"], "y": "c"}, "assert": [IS], "threshold": 0.7}
    whole = {**both, "options": {"disableVarExpansion": True}}
    values = [{"vars": {"x": "s"}}, {"vars": {"x": "t"}}]
    scenario = {"config": values, "tests": [{"assert": [{**IS, "weight": 0}]}]}
    options = {"timeoutMs": 3000, "repeat": 2}
    draft = imported(config(both, whole, scenarios=[scenario], evaluateOptions=options))
    assert questions(draft) == ["Ask a.", "Ask b.", 'Ask ["a","b"].', "Ask s.", "Ask t."]
    first, *_, last = cases_of(draft)
    assert first["pass_rule"] == {"by": "mean", "pass_at": 0.7, "borderline_at": 0.7}
    assert [first["graders"][0]["required"], last["graders"][0]["required"]] == [False, False]
    assert last["graders"][0]["weight"] == 0
    execution = {"type": "prompt", "model": "gpt-4o"}
    assert draft.document["config"] == {"timeout_seconds": 3.0, "execution": execution}
    assert "each test was asked 2 times: baselinekit run --attempts 2" in draft.notes


def test_read_of_a_test_with_providers_asks_those() -> None:
    listed = {"id": "openai:gpt-4o", "label": "big", "config": {"temperature": 0}}
    own = [{"provider": "openai:o"}, {"provider": "big"}, {"provider": "echo"}, {"providers": ["b*"]}, {}]
    tests = [stated_test(IS, **stated) for stated in (*own, {"providers": ["none"]})]
    draft = imported(config(*tests, providers=[listed]))
    big = {"type": "prompt", "model": "big", "temperature": 0}
    asked = [case.get("execution") for case in cases_of(draft)]
    assert asked == [{"type": "prompt", "model": "o"}, big, None, big, big]
    assert lost(draft) == ["nothing fits its values, `prompts` and `providers`"]
    assert cases_of(draft)[2]["input"]["type"] == "echo"


def test_read_of_a_reference_is_the_template_of_an_assertion() -> None:
    templates = {"has": {"type": "contains", "value": "{{x}}", "weight": 2}}
    stated = [{"$ref": "#/assertionTemplates/has", "metric": "m"}, {"$ref": "#/assertionTemplates/gone"}]
    draft = imported(config(stated_test(*stated), assertionTemplates=templates))
    grader = {"type": "code", "name": "m", "config": {"method": "contains", "all": ["it"]}, "weight": 2}
    assert cases_of(draft)[0]["graders"] == [grader]
    assert lost(draft) == ["an assertion without a type"]


def test_read_of_default_test_applies_to_all_tests() -> None:
    usual = {"vars": {"x": "u", "y": "v"}, "assert": [IS]}
    own = {"vars": {"y": "w"}, "assert": [{"type": "contains", "value": "{{y}}"}]}
    draft = imported(config(own, defaultTest=usual))
    assert questions(draft) == ["Ask u."]
    (case,) = cases_of(draft)
    assert [grader["config"]["all"] for grader in case["graders"]] == [["a"], ["w"]]


def test_read_of_files_of_all_kinds() -> None:
    beside = {
        "p.txt": "One {{x}}\n---\nTwo {{x}}\n",
        "chat.json": '[{"role": "system", "content": "Be {{x}}"}, {"role": "user", "content": "Go"}]',
        "tests/a.yaml": "- {vars: {x: a}, assert: [{type: contains, value: a}]}\n",
        "tests/b.yaml": "- {vars: {x: file://long.txt}, assert: [{type: is-json, value: file://s.json}]}\n",
        "t.csv": 'x,__expected1,__expected2,__description\n"c, d",contains:c,icontains:D,e\n',
        "long.txt": "long",
        "s.json": '{"type": "object"}',
    }
    tests = ["file://tests/*.yaml", "t.csv"]
    draft = imported(config(prompts=["file://p.txt", "chat.json"], tests=tests), beside)
    assert lost(draft) == []
    texts = questions(draft)
    assert texts[:2] == ["One a", "Two a"]
    assert texts[2] == [{"role": "system", "content": "Be a"}, {"role": "user", "content": "Go"}]
    assert texts[3] == "One long"
    assert texts[6] == "One c, d"
    last = cases_of(draft)[6]
    assert (len(last["graders"]), last["name"].partition(" ")[0]) == (2, "e")
    for other in ({"evalcases": []}, {"test_cases": []}, {"prompts": ["a"]}, [], "text"):
        assert read_draft(SourceText("x.yaml", json.dumps(other)), EvalFiles()) is None


MISTAKES = """\
surprise: 1
prompts: ["file://make.py:f", gone.txt, file://p.csv, "Ask {{x}}"]
providers:
- file://p.js
- {id: "openai:x", label: X, config: {tools: []}, env: {}}
- {label: none}
defaultTest:
  asert: []
  threshold: -1
  options: {transform: output.x}
  assert: [{type: javascript, value: "1"}, {value: a}]
tests:
- file://t.js
- https://docs.google.com/x
- file://t.csv
- file://t.jsonl
- file://broken.yaml
- file://large.csv
- file://nested.yaml
- {vars: {x: file://v.py}, assert: [contains:a]}
- {vars: 7, assert: {type: contains}, assertScoringFunction: file://s.js}
- vars: {x: "1"}
  provider: {label: y}
  assert:
  - {type: latency, threshold: "100", transform: output.x}
  - {type: contains, value: "{{gone}}"}
  - {type: llm-rubric, value: "ok?", provider: {text: {}}}
  - {type: assert-set, threshold: 0.5, assert: [contains:a, javascript:1]}
  - equals:a
scenarios:
- 7
- file://s.yaml
"""
BESIDE = {
    "large.csv": f"x\n{'a' * 200_000}\n",
    "nested.yaml": "- file://nested.yaml\n",
    "t.csv": 'x,x,__expected,__threshold\n1,1,contains:a,high\n"2\n3",1,contains:a,,more\n4,1,javascript:1\n',
    "t.jsonl": '{"vars": {"x": "1"}, "assert": ["contains:a\u2028"]}\n\n{"assert": ["javascript:1"]}\n',
    "broken.yaml": "- a\n- [\n",
    "s.yaml": "config:\n- {asert: 1}\ntests:\n- assert:\n  - contains:a\n  - javascript:1\n",
}


LEFT_OUT = [
    ":1 `surprise`",
    ":2 'make.py:f' is a program",
    ":2 there is no file 'gone.txt'",
    ":2 the table of prompts 'p.csv'",
    ":4 the provider 'file://p.js' is a program or an address of its own",
    ":5 `env` of the provider 'X'",
    ":5 `tools` of the provider 'X'",
    ":6 a provider without an id",
    ":8 `asert` of the default test",
    ":9 `threshold` of the default test: expected a number above 0, up to 1, found -1 (integer)",
    ":10 `transform` of the default test",
    ":11 `javascript` has no counterpart",
    ":11 an assertion without a type",
    ":13 't.js' is a program",
    ":14 the address 'https://docs.google.com/x'",
    ":17 broken.yaml:3:1 cannot be read: not valid YAML: did not find expected node content",
    ":18 large.csv:2 cannot be read: field larger than field limit (131072)",
    ":20 the variable 'x' is computed by 'v.py'",
    ":21 `assertScoringFunction` of a test",
    ":21 `assert` of a test: expected a list, found a mapping",
    ":21 `vars` of a test: expected a mapping or a string, found 7 (integer)",
    ":21 the prompt 'prompt-4': {{x}} has no value",
    ":23 a provider without an id",
    ":25 `transform` of `latency`",
    ":25 `threshold` of `latency`: expected a number, found '100' (string)",
    ":26 `contains`: {{gone}} has no value",
    ":27 `llm-rubric` whose provider has no id",
    ":28 `javascript` has no counterpart",
    ":28 an assert-set with a part that does not carry over",
    ":31 a scenario: expected a mapping, found 7 (integer)",
    "nested.yaml:1 a test: expected a mapping, found 'file://nested.yaml' (string)",
    "s.yaml:2 `asert` of a scenario",
    "s.yaml:4 the prompt 'prompt-4': {{x}} has no value",
    "t.csv:1 the column '__threshold'",
    "t.csv:4 ['more'] in no column",
    "t.csv:5 `javascript` has no counterpart",
    "t.csv:5 a test without an assertion that carries over",
    "t.jsonl:3 the prompt 'prompt-4': {{x}} has no value",
]


def test_read_lists_everything_that_does_not_carry_over_at_its_place() -> None:
    draft = read_draft(SourceText("promptfooconfig.yaml", MISTAKES), files(**BESIDE))
    assert draft is not None
    found = [f"{left.file}:{left.line} {left.message}" for left in draft.left_out]
    assert found == LEFT_OUT


CHAT = '[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say {{x}}"}]'


def test_read_with_the_echo_provider_has_the_prompt_as_its_output() -> None:
    test = stated_test(IS)
    draft = imported(config(test, prompts=[CHAT], providers=["echo"]))
    (case,) = cases_of(draft)
    assert case["input"] == {"type": "echo", "content": CHAT.replace("{{x}}", "it")}
    assert "execution" not in case
    assert lost(draft) == []


def test_read_lists_messages_that_cannot_be_sent() -> None:
    prompt = '[{"role": "user", "content": [{"type": "image_url"}]}, {"role": "user", "content": "b"}]'
    draft = imported(config(stated_test(IS), prompts=[prompt]))
    assert lost(draft) == ["[0].content: expected a string, found a list in the prompt 'prompt-1'"]
    assert cases_of(draft) == []


def test_read_of_messages_with_braces(tmp_path: Path) -> None:
    draft = imported(config({"vars": {"x": "a{{x}}"}, "assert": [IS]}, prompts=[CHAT]))
    (tmp_path / "a.yaml").write_text(json.dumps(draft.document))
    (loaded,) = load_cases(["a.yaml"], str(tmp_path))
    sent: Any = loaded.recipe.input
    assert str(sent.messages[1].content).endswith(r"aa\{{x}}")  # no variable of ours


def test_read_of_equal_texts_states_the_first_as_what_is_expected() -> None:
    test = stated_test({"type": "equals", "value": "a"}, {"type": "equals", "value": "b.", "metric": "m"})
    (case,) = cases_of(imported(config(test)))
    first, second = case["graders"]
    assert (case["expected"], first["config"]["method"]) == ({"type": "exact", "value": "a"}, "exact_match")
    assert second == {"type": "code", "name": "m", "config": {"method": "regex", "pattern": "\\Ab\\.\\Z"}}


def test_read_leaves_out_too_many_combinations() -> None:
    many: dict[str, Json] = {name: [*range(10)] for name in "abcdefghijklmnop"}
    draft = imported(config({"vars": many, "assert": [IS]}, stated_test(IS)))
    assert len(cases_of(draft)) == 1
    assert "10,000,000,000,000,000 combinations" in draft.left_out[0].message


@pytest.mark.parametrize("key", ["id", "label"])
def test_credentials_of_an_address_are_in_no_name(key: str) -> None:
    address = "https://ada:hunter22@api.example.com/v1?api_key=abcd1234efgh"
    provider = {"id": address} | ({"label": address} if key == "label" else {})
    judged = {"type": "llm-rubric", "value": "Is it kind?", "provider": provider}
    draft = imported(config(stated_test(IS, judged), providers=[provider, "openai:gpt-4o"]))
    shown = json.dumps([draft.document, [str(left) for left in draft.left_out], dict(draft.models)])
    assert ("api.example.com" in shown, "hunter22" in shown, "abcd1234efgh" in shown) == (True, False, False)


def test_read_with_a_provider_at_another_address_lists_it_and_states_it_for_the_model() -> None:
    settings: dict[str, Json] = {"apiBaseUrl": "https://user:pass@models.example/v1", "organization": "o"}
    provider: dict[str, Json] = {"id": "openai:gpt-4o", "config": settings, "env": {"OPENAI_BASE_URL": "x"}}
    draft = imported(config(stated_test(IS), providers=[provider]))
    message, other = sorted(lost(draft))
    assert "go to https://models.example/v1" in message
    assert other.startswith("`env` of the provider")
    assert draft.models == {
        "gpt-4o": {"openai": "gpt-4o", "key": "openai_key", "base_url": "https://models.example/v1"}
    }
    assert any("`organization`" in note for note in draft.notes)
