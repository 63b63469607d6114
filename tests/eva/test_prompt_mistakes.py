"""A prompt folder with every mistake: each is reported with its place and what to do, all at once."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, strategies as st
from promptfiles import CASE, FOLDER, META, TEMPLATE, prompt_folder
from storehelp import write

from baselinekit.errors import InvalidInput
from baselinekit.eva.folders import examine
from baselinekit.files.jsontext import dump_json
from baselinekit.files.languages import language
from baselinekit.suites.loading import load_evals, load_everything
from baselinekit.values.places import places, with_values

EVALS = """\
defaults:
  model: claude-opus-4-7
  timeout_s: 0
  retry: 3
cases:
  - name: one
    inputs: {constraints: null, lang: go}
    assert:
      - contans: total
      - contains_any: []
      - max_tokens: many
      - contains: 42
      - matches: "(total"
      - contains: ""
      - {}
      - contains
  - name: one
    inputs_from: ../../elsewhere
    assert: [contains: yes]
    judge: {model: haiku}
  - name: three
    inputs_from: examples/happy-path
    assert: [json_schema: {type: objekt}]
  - name: four
    inputs_from: examples/happy-path/inputs.yml
    rubric: ""
    judge: {pass_threshold: 4.5}
  - name: five
    inputs: [a]
    assert: {contains: total}
  - name: six
    assert: [contains: total]
  - just a text
triggering:
  judge: haiku
  should_match: [tidy this]
  should_not_match: [7]
"""

# Each line as far as it matters.
REPORTED = """\
eval.yml:3:14: expected a number of seconds above 0, at most a year, found 0 (integer)
eval.yml:4:3: unknown key 'retry': known here: model, timeout_s, json_schema, judge_after_failure
eval.yml:7:27: the input 'constraints' has no value: write "" for the empty text
eval.yml:7:39: the prompt has no variable 'lang': it has constraints, file
eval.yml:9:9: unknown key 'contans': did you mean 'contains'?
eval.yml:10:23: expected a list, found an empty list
eval.yml:11:21: expected an integer of 0 or more, found 'many' (string)
eval.yml:12:19: expected a string, found 42 (integer)
eval.yml:13:18: '(total' is not a regular expression: missing ) at position 6: write it in another w
eval.yml:14:19: this cannot fail: the empty text is in every text: state what has to be in the outpu
eval.yml:15:9: an assertion has one key, and this one has none: write each in an entry of its own
eval.yml:16:9: expected a mapping, found 'contains' (string)
eval.yml:17:11: the name 'one' occurs twice: case 1 has it already: rename one of the two
eval.yml:18:18: ../../elsewhere/inputs.yml leads out of the project: use a path inside the project
eval.yml:19:24: yes without quotes is a text here, and true or false in YAML 1.1: write "yes", or tr
eval.yml:20:12: `judge` without `rubric` is never asked: add `rubric:`, or remove `judge:`
eval.yml:23:27: type: 'objekt' is not valid under any of the given schemas: fix the JSON Schema
eval.yml:25:18: there is no examples/happy-path/inputs.yml/inputs.yml and no prompts/refactor/exampl
eval.yml:26:13: expected a text that is not empty, found '' (string)
eval.yml:27:29: expected a whole number from 1 to 5, found 4.5 (number)
eval.yml:29:13: expected a mapping, found a list
eval.yml:30:13: expected a list, found a mapping
eval.yml:31:5: neither `inputs` nor `inputs_from` is given: add `inputs: {name: value}`, or `inputs_
eval.yml:33:5: expected a mapping, found 'just a text' (string)
eval.yml:35:10: expected a mapping, found 'haiku' (string)
eval.yml:37:22: expected a text that is not empty, found 7 (integer)
examples/happy-path/inputs.yml:1:14: on without quotes is a text here, and true or false in YAML 1.1
examples/happy-path/inputs.yml:2:11: the prompt has no variable 'language': it has constraints, file
meta.yml:9:1: unknown key 'trigers': did you mean 'triggers'?
prompt.xml:5:1: the template uses {{language}}, which meta.inputs does not declare: add it to `input
"""


def test_e1_e2_e4_e10_x8_every_mistake_of_a_prompt_folder_is_reported(tmp_path: Path) -> None:
    meta, inputs = META.replace("triggers:", "trigers:"), "constraints: on\nlanguage: go\n"
    prompt_folder(tmp_path, EVALS, meta=meta, template=TEMPLATE + "{{language}}\n", inputs=inputs)
    with pytest.raises(InvalidInput) as caught:
        load_evals(["prompts"], str(tmp_path))
    found = [str(problem).split(f"{FOLDER}/", 1)[1][:100].rstrip() for problem in caught.value.problems]
    assert sorted(found) == sorted(REPORTED.splitlines())


@pytest.mark.parametrize(
    ("evals", "message"),
    [
        ("triggering:", "1:12: expected a mapping, found null"),
        (
            "triggering: {should_match: [tidy this], should_not_match: [Tidy  this]}",
            "1:60: this query should match and should not match: it is in both lists: keep it in one of them",
        ),
        (CASE + "test_cases: []", "5:13: this could be the eval file of a prompt (by 'cases') and a file of"),
        (CASE + "---\n" + CASE, "6:1: an eval file of a prompt is one mapping, in a file of its own"),
        (f"- {CASE}".replace("\n", "\n  "), "1:3: an eval file of a prompt is one mapping"),
        (CASE.replace("one\n", "null\n"), "2:11: the key 'name' is missing"),
        (CASE.replace("contains: total", "json_schema: x.json"), "4:27: there is no x.json and no prompts"),
    ],
)
def test_e1_e4_e10_eval_file_with_a_wrong_shape_is_refused(tmp_path: Path, evals: str, message: str) -> None:
    prompt_folder(tmp_path, evals)
    with pytest.raises(InvalidInput, match=re.escape(message)):
        load_evals([FOLDER], str(tmp_path))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("meta.yml", "- id: refactor", "meta.yml:1:1: not a mapping but a JSON array"),
        ("meta.yml", "inputs: [a b]", "meta.yml:1:10: 'a b' (string) is not the name of a variable"),
        ("meta.yml", "inputs: [a, a]", "meta.yml:1:13: the variable 'a' is declared twice"),
        ("meta.yml", "id: ../../other", "meta.yml:1:5: '../../other' is not a valid id"),
        ("meta.yml", "promotion: {min_uses: -1}", "meta.yml:1:23: expected an integer of 0 or more"),
        ("prompt.xml", " \n", "prompt.xml:1:1: prompt.xml is empty"),
    ],
)
def test_e21_x8_file_of_a_prompt_folder_with_a_mistake_is_refused(
    tmp_path: Path, name: str, text: str | bytes, message: str
) -> None:
    prompt_folder(tmp_path, CASE.replace("inputs: {constraints: none}", "inputs_from: examples/happy-path"))
    write(tmp_path, f"{FOLDER}/{name}", text)
    with pytest.raises(InvalidInput, match=re.escape(message)):
        load_evals([FOLDER], str(tmp_path))


INPUTS_OF_META = META[META.index("inputs:") :]


@pytest.mark.parametrize(
    ("was", "now", "message"),
    [
        ("triggers:\n  - refactor this file", "triggers: refactor", "expected a list, found 'refactor'"),
        (INPUTS_OF_META, "inputs: [{nam: file}]\n", "unknown key 'nam'"),
    ],
)
def test_e21_mistake_in_a_description_is_alone(tmp_path: Path, was: str, now: str, message: str) -> None:
    meta = META.replace(was, now)
    folder = prompt_folder(tmp_path, "triggering: {should_match: [tidy this]}", meta=meta)
    with pytest.raises(InvalidInput) as caught:
        load_evals([FOLDER], str(tmp_path))
    files = {problem.place.file for problem in caught.value.problems if problem.place}
    assert (files, message in str(caught.value)) == ({f"{FOLDER}/meta.yml"}, True)
    assert "write `description:`" not in str(caught.value)
    broken, shape = examine(str(tmp_path), [str(folder.relative_to(tmp_path))])
    assert any(message in str(problem) for problem in broken)
    assert not shape.problems, "doctor misses nothing that is there"


@pytest.mark.parametrize("kind", ["bom", "crlf"])
def test_x8_byte_order_mark_other_line_ends_and_quoted_words_are_read(tmp_path: Path, kind: str) -> None:
    plain = prompt_folder(tmp_path / "plain")
    other = prompt_folder(tmp_path / kind)
    for path in (path for path in other.rglob("*") if path.is_file()):
        text = path.read_bytes()
        path.write_bytes(b"\xef\xbb\xbf" + text if kind == "bom" else text.replace(b"\n", b"\r\n"))
    assert plain != other
    (first,) = load_evals(["prompts"], str(tmp_path / "plain")).cases
    (second,) = load_evals(["prompts"], str(tmp_path / kind)).cases
    assert (first.id, first.recipe, first.graders) == (second.id, second.recipe, second.graders)
    for name in ("yes", "ON"):  # words of two meanings are read if they are quoted
        prompt_folder(tmp_path, CASE.replace("total", f"'{name}'"))
        (case,) = load_evals([FOLDER], str(tmp_path)).cases
        assert case.graders[0].method.all == [name]


WHOLE = """\
defaults: {model: a, timeout_s: 3, json_schema: check, judge_after_failure: true}
cases:
  - name: one
    inputs: {constraints: x}
    inputs_from: examples/happy-path
    assert: [contains: a, contains_any: [a], json_schema: {type: object}, max_tokens: 3, matches: a]
    rubric: x
    judge: {model: a, pass_threshold: 3}
    timeout_s: 4
triggering: {judge: {model: a}, should_match: [a, b], should_not_match: [c]}
"""
FILES = {"eval.yml": WHOLE, "meta.yml": META, "examples/happy-path/inputs.yml": "constraints: x\n"}
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("{{file}}") | st.just(1.5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.slow
@given(st.data(), st.sampled_from(sorted(FILES)), ANYTHING)
def test_x8_any_value_at_any_place_is_read_or_reported(data: st.DataObject, name: str, new: Any) -> None:
    whole = language(name).load(FILES[name], name)[0]
    at = data.draw(st.sampled_from([path for path, _ in places(whole)]))
    with TemporaryDirectory() as root:
        prompt_folder(Path(root), WHOLE)
        write(Path(root), f"{FOLDER}/{name}", dump_json(with_values(whole, {at: new})))
        problems = load_everything(["prompts"], root)[1].all_problems()
        examine(root, [FOLDER])
    assert [problem for problem in problems if not (problem.place and problem.place.line)] == []
