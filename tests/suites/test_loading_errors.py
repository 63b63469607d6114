"""Eval files that are wrong: every mistake of every file at once, each with its place and a way out."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from storehelp import EXAMPLES, write

from baselinekit.errors import BaselinekitError, InvalidInput, Problem, Refused
from baselinekit.suites.loading import load_cases, load_evals, load_suite

CODE = "grader: {type: code, config: {%s}}"
CALLS = "expected: {type: functional, value: {function_name: f, test_cases: [%s]}}"
CASES = {  # the rest of a case, and what is wrong with it
    "expected: {value: y}, expected_output: {value: y}": "both `expected` and `expected_output` are given",
    "reference_answer: y": "did you mean 'reference'?",
    CODE % "": "the grader has no method: one of exact_match, regex, contains",
    "grader: {type: model, config: {method: regex}}": "there is no method 'regex': one of ",
    "grader: {type: code, method: regex, config: {pattern: y}}": "unknown key 'method': known here",
    "graders: [{type: model, config: {}, rubric: kind?}]": "unknown key 'rubric': known here",
    "grader: exact_match": "a method is {type: code, config: {method: …}}",
    "grader: polite": "no grader 'polite': config/graders.yaml has none",
    "grader: {type: human, config: {criteria: [tone]}}": "unknown key 'criteria': ",
    CALLS % "": "expected a list, found an empty list",
    CALLS % "{input: [5], args: [5], output: 1}": "unknown key 'args'",
    "expected: {type: semantic, value: {must_include: [y]}, alternatives: [{must: [z]}]}": "key 'must'",
    "expected: {type: semantic, value: like y}": "nothing checks whether the meaning is the same",
    "expected: {type: semantic, value: {}}": "both lists are empty: such as must_include: [total]",
    "expected: {value: y}, execution: {type: http}": "a prompt is for a model or a skill, not for http",
    "expected: {value: y}, pass_rule: {borderline_at: 0.9}": "is 0.9, above pass_at, which is 0.8",
    "expected_outcome: it is polite": "it is not stated what would be right",
}
INPUTS = {
    "[{role: user, content: x}]": "expected a mapping, found a list",
    "{role: user, content: x}": "unknown key 'role'",
    "{type: prompt, content: [x]}": "expected a string, found a list",
    "{type: file, content: no.md}": "evals/no.md: cannot be read: no such file",
    "{type: skill, content: x}": "`type: skill` cannot be sent to an execution of `type: prompt`:",
    "{type: api_call, content: {method: GET}}": "the request names no target",
    "{type: prompt, content: x, case: y}": "unknown key 'case'",
}
FILES = {
    "": "1:1: not a case: the file is empty: write a case into it, or remove it",
    "[]": "1:1: an empty list: add a case",
    "[1]": "1:2: not a case but a JSON number",
    "hello": "1:1: not a case but a JSON string",
    "test_case: []": "the key 'metadata' is missing",
    "tests_cases: []": "1:1: not a case: it has tests_cases: a case is a mapping",
    "human: good": "1:1: not a case: it has human: a case is a mapping with id, input, expected and grader",
    "capability_eval: {id: a}\nname: x": "2:1: unknown key 'name' beside capability_eval",
    "metadata: {id: f}\ntest_cases: []": "2:13: expected a list, found an empty list",
    "test_cases: [{id: a}]": "1:1: the key 'metadata' is missing",
    "id: r\ncurrent: {input: {endpoint: /}, execution: {type: http}}": "capture it: baselinekit capture",
    "id: a\ninput: x\nexpected: {value: y}\nexpected: {value: z}": "occurs twice",
    "grader: {type: human, config: {rating_scale: {labels: {1: a, 1: b}}}}": "the key '1' occurs twice",
    "cases: []\ntest_cases: []": "(by 'cases') and a file of test cases (by 'test_cases')",
    "triggering: {}\nevalcases: []": "unknown key 'triggering'",
    "id: [": "1:6: ",
}


def mistakes(root: Path, *files: str) -> list[Problem]:
    with pytest.raises(InvalidInput) as caught:
        load_cases(files, str(root))
    return list(caught.value.problems)


def test_h17_x3_x8_load_cases_reports_every_mistake_of_a_file_with_its_place(tmp_path: Path) -> None:
    cases = [f"{{id: c{number}, input: x, {rest}}}" for number, rest in enumerate(CASES)]
    cases += [f"{{id: i{n}, input: {text}, expected: {{value: y}}}}" for n, text in enumerate(INPUTS)]
    write(tmp_path, "evals/c.yaml", "metadata: {id: m}\ntest_cases:\n- " + "\n- ".join(cases))
    found = [str(problem) for problem in mistakes(tmp_path, "evals/c.yaml")]
    for line, message in enumerate([*CASES.values(), *INPUTS.values()], 3):
        assert [text for text in found if f" evals/c.yaml:{line}:" in text and message in text], message


def test_h17_x2_load_cases_reports_mistakes_of_all_files(tmp_path: Path) -> None:
    files = [write(tmp_path, f"evals/f{number}.yaml", text) for number, text in enumerate(FILES)]
    found = [str(problem) for problem in mistakes(tmp_path, *files)]
    for file, message in zip(files, FILES.values(), strict=True):
        assert [text for text in found if f" {file}:" in text and message in text], message


def test_h60_load_cases_with_an_id_twice_names_both_places(tmp_path: Path) -> None:
    text = "id: %s\ninput: x\nexpected: {value: y}"
    for file, id in (("a", "a"), ("b", "A"), ("c", "a")):
        write(tmp_path, f"{file}.yaml", text % id)
    hint = "'a' is at a.yaml:1:5 already; rename one of the two"
    assert [str(problem) for problem in mistakes(tmp_path, "a.yaml", "b.yaml", "c.yaml")] == [
        f"BK109 b.yaml:1:5: the id 'A' occurs twice: {hint}",
        f"BK109 c.yaml:1:5: the id 'a' occurs twice: {hint}",
    ]


@pytest.mark.parametrize("path", ["../../secret.txt", "/etc/hostname", "link.txt"])
def test_f41_x5_input_file_outside_the_project_is_refused(tmp_path: Path, path: str) -> None:
    root = tmp_path / "project"
    write(tmp_path, "secret.txt", "the crown jewels")
    write(root, "evals/c.yaml", f"id: a\ninput: {{type: file, content: {path}}}\nexpected: {{value: y}}")
    (root / "evals/link.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises((Refused, InvalidInput)) as caught:
        load_cases(["evals/c.yaml"], str(root))
    assert "jewels" not in str(caught.value)
    assert path == "/etc/hostname" or isinstance(caught.value, Refused)


def test_x8_file_of_nested_aliases_is_refused(tmp_path: Path) -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefg", "bcdefgh", strict=True)]
    (problem,) = mistakes(tmp_path, write(tmp_path, "f.yaml", "\n".join(lines)))
    assert problem.code in ("BK106", "BK107")


WORDS = """
id input content expected type code grader graders config method ref test_cases eval_suite $ref evals metadata
labels rating_scale human model functional semantic value file prompt skill command api_call preset 1 null []
{} [1] {a:1} .nan -1 '' x other.yaml suite.yaml ../..
"""
BITS = [*WORDS.split(), "9" * 5000]
TEXTS = ("string-processing", "capability-codegen", "capability-semantic", "regression-quality", "suite")


@pytest.mark.slow
@given(st.data())
def test_f25_mangled_eval_file_is_an_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    lines = (EXAMPLES / f"{data.draw(st.sampled_from(TEXTS))}.yaml").read_text().splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        key, colon, value = lines[at].partition(":")
        indent = key[: len(key) - len(key.lstrip(" -"))]
        bit = data.draw(st.sampled_from(BITS))
        other = lines[data.draw(st.integers(0, len(lines) - 1))]
        changed = [f"{key}: {bit}" if colon else f"{indent}{bit}"], [f"{indent}{bit}:{value}"], [], [other]
        lines[at : at + 1] = data.draw(st.sampled_from(changed)) if len(lines) > 1 else changed[0]
    folder = tmp_path_factory.mktemp("evals")
    write(folder, "suite.yaml", "\n".join(lines))
    write(folder, "path/to/technical-spec.md", "spec")
    write(folder, "config/graders.yaml", "\n".join(lines[::2]))
    for load in (load_suite, lambda file, root: load_evals([file], root)):
        for problem in problems_of(load, str(folder)):
            assert problem.place, str(problem)


def problems_of(load: Callable[[str, str], object], folder: str) -> Sequence[Problem]:
    try:
        load("suite.yaml", folder)
    except BaselinekitError as error:
        return error.problems or [Problem("", "an error without a problem")]
    return ()
