"""Eval files that are wrong: every mistake of every file at once, each with its place and a way out."""

import os
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from storehelp import EXAMPLES, write

from baselinekit.errors import BaselinekitError, InvalidInput, Problem, Refused
from baselinekit.suites.loading import load_cases, load_evals, load_suite

HEAD = "id: a\ninput: {type: prompt, content: x}\n"
FUNCTIONAL = HEAD + "expected: {type: functional, value: {function_name: f, test_cases: [%s]}}"

ONE_LINE = [
    (HEAD + "reference_answer: y", "3:1: unknown key 'reference_answer': here it is `reference`"),
    (
        HEAD + "max_duration_ms: 5",
        "3:1: unknown key 'max_duration_ms': here it is `max_seconds`, in a grader `latency` or a call of "
        "`tool_trajectory`",
    ),
    (
        "id: a\ninput: [{role: user, content: x}]\nexpected: {value: y}",
        "2:8: expected a mapping with `type`, found a list: write messages as {type: messages, content: […]}",
    ),
    (
        "id: a\ninput: {role: user, content: x}\nexpected: {value: y}",
        "2:8: expected a mapping with `type`, found a message: write messages as "
        "{type: messages, content: […]}",
    ),
    (
        "metadata: {id: m}\ninput: x\ntest_cases: [{id: a, input: {content: x}, expected: {value: y}}]",
        "2:1: unknown key 'input': state it in each case",
    ),
    (HEAD + "expected: {type: exact}", "3:11: the key 'value' is missing: state what would be right"),
    (
        HEAD + "expected: {value: y}\nexpected_output: {value: y}",
        "4:18: both `expected` and `expected_output` are given: keep one of them",
    ),
    (HEAD, "1:1: it is not stated what would be right: add `grader`, or `expected: {type: exact, value: …}`"),
    (
        HEAD + "grader: {type: code, config: {method: exact_mach}}",
        "3:39: there is no method 'exact_mach': did you mean 'exact_match'?",
    ),
    (
        HEAD + "grader: {type: code, config: {method: 3}}",
        "3:39: there is no method 3: one of exact_match, regex",
    ),
    (HEAD + "grader: {type: code}", "3:9: the grader has no method: one of exact_match, regex, contains"),
    (
        HEAD + "grader: {type: code, method: regex, config: {pattern: y}}",
        "3:22: 'method' is beside the grader's config: move it in there: config: {method: …}",
    ),
    (
        HEAD + "grader: {method: regex, pattern: y}",
        "3:25: 'pattern' is beside the grader's config: move it in there: config: {pattern: …}",
    ),
    (
        HEAD + "graders: [{type: model, config: {}, rubric: is it kind?}]",
        "3:37: 'rubric' is beside the grader's config: move it in there: config: {rubric: …}",
    ),
    (
        HEAD + "grader: {type: code, method: regex, config: {patern: y}}",
        "3:46: unknown key 'patern': did you mean 'pattern'?",
    ),
    (HEAD + "grader: {type: exact_match}", "it is a method: {type: code, config: {method: exact_match}}"),
    (HEAD + "grader: exact_match", "it is a method: {type: code, config: {method: exact_match}}"),
    (
        HEAD + "grader: polite",
        "3:9: there is no grader 'polite': describe it in config/graders.yaml, beside the suite",
    ),
    (
        HEAD + "grader: {type: human, config: {rating_scale: {labels: {1: Poor, 1: Bad}}}}",
        "the key '1' occurs twice",
    ),
    (
        HEAD + "grader: {type: human, config: {criteria: [tone]}}",
        "3:32: unknown key 'criteria': it belongs below `rating_scale:`",
    ),
    (FUNCTIONAL % "", "3:37: there is no test case: such as {input: [5], output: 120}"),
    (FUNCTIONAL % "{input: [5], args: [5], output: 1}", "3:69: the same is stated twice"),
    (
        HEAD + "expected: {type: semantic, value: {must_include: [y]}, alternatives: [{must: [z]}]}",
        "3:72: unknown key 'must'",
    ),
    (
        HEAD + "expected: {type: functional, value: {test_cases: [{input: [5], output: 1}]}}",
        "3:37: it is not stated which function is called: add it beside `test_cases`",
    ),
    (
        FUNCTIONAL % "{input: [5], output: 1}"
        + "\ngrader: {type: code, config: {test_cases: [{args: [5], expected: 1}]}}",
        "4:43: test cases are stated both here and in the expected value: keep one of the two lists",
    ),
    (
        HEAD + "expected: {type: semantic, value: like y}",
        "3:35: nothing checks whether the meaning is the same",
    ),
    (
        HEAD + "expected: {type: semantic, value: {}}",
        "3:35: both lists are empty: such as must_include: [total]",
    ),
    (
        HEAD + "expected: {value: y}\nmetadata: {timeout_seconds: 1e300}",
        "4:29: expected a number of seconds above 0, at most a year",
    ),
    (
        HEAD + "expected: {value: y}\nexecution: {type: promt}",
        "4:19: unknown type 'promt' (string): did you mean 'prompt'?",
    ),
    (
        HEAD + "expected: {value: y}\nexecution: {type: http}",
        "2:15: a prompt is for a model or a skill, not for http",
    ),
    ("id: a b\ninput: {type: prompt, content: x}\nexpected: {value: y}", "1:5: 'a b' is not a valid id"),
    (
        "id: a\ninput: {type: prompt, content: [x]}\nexpected: {value: y}",
        "2:32: expected a text, found a list",
    ),
    (
        "id: a\ninput: {type: file, content: no.md}\nexpected: {value: y}",
        "2:30: evals/no.md: cannot be read: no such file",
    ),
    (
        "id: a\ninput: {type: skill, content: x}\nexpected: {value: y}",
        "2:15: an input of `type: skill` cannot be sent to an execution of `type: prompt`:",
    ),
    (
        "id: a\ninput: {type: api_call, content: {method: GET}}\nexpected: {value: y}",
        "the request names no target",
    ),
    ("id: a\ninput: {type: command, content: []}\nexpected: {value: y}", "`argv` names no program"),
    ("", "1:1: not a case: the file is empty: write a case into it, or remove it"),
    ("[]", "1:1: an empty list: add a case"),
    ("[1]", "1:2: not a case but a JSON number"),
    ("hello", "1:1: not a case but a JSON string"),
    ("nonsense: 1", "1:1: not a case: it has nonsense: a case has id, input, expected and grader"),
    ("test_case: []", "metadata"),
    ("tests_cases: []", "1:1: not a case: it has tests_cases: did you mean 'test_cases'?"),
    (
        "eval_trigger: {}",
        "1:1: not a case: this looks like an eval trigger: give it to the gate: "
        "baselinekit gate evals/c.yaml",
    ),
    (
        "grader: {type: code, config: {method: regex, pattern: y}}",
        "1:1: not a case: this is only a grader: put it in a case, beside id and input",
    ),
    ("capability_eval: {id: a}\nname: x", "2:1: unknown key 'name' beside capability_eval"),
    ("metadata: {id: f}\ntest_cases: []", "a file without a test case: add one"),
    ("metadata: {id: f}\ntest_cases: [1]", "2:14: not a case but a JSON number"),
    ("test_cases: [{id: a}]", "1:1: the key 'metadata' is missing"),
    (
        "id: r\ncurrent: {input: {endpoint: /}, execution: {type: http}}",
        "1:1: r has no baseline yet: capture it: baselinekit capture evals/c.yaml",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "line"), ONE_LINE)
def test_h17_what_is_wrong_is_told_with_its_place(tmp_path: Path, text: str, line: str) -> None:
    write(tmp_path, "evals/c.yaml", text)
    with pytest.raises(InvalidInput) as caught:
        load_cases(["evals/c.yaml"], str(tmp_path))
    assert line in str(caught.value)
    assert "evals/c.yaml:" in str(caught.value)


def test_h17_all_mistakes_of_all_files_come_at_once(tmp_path: Path) -> None:
    one = """
    id: 3
    inptu: 1
    input: {type: promt, content: x}
    expected: {type: exakt, value: 1}
    grader: {type: code, config: {method: exact}}
    graders: [{type: code}, {type: person}]
    metadata: {retries: lots}
    """
    write(tmp_path, "a.yaml", textwrap.dedent(one).lstrip())
    write(tmp_path, "b.yaml", "id: [")
    write(tmp_path, "c.yaml", HEAD)
    with pytest.raises(InvalidInput) as caught:
        load_cases(["a.yaml", "b.yaml", "c.yaml", "d.yaml"], str(tmp_path))
    found = [str(problem.place) for problem in caught.value.problems]
    assert found == [
        *("a.yaml:1:5", "a.yaml:2:1", "a.yaml:3:15", "a.yaml:4:18", "a.yaml:5:39"),
        *("a.yaml:6:32", "a.yaml:7:21"),
        *("b.yaml:1:6", "c.yaml:1:1", "d.yaml"),
    ]


def test_h60_an_id_that_is_there_twice_names_both_places(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", HEAD + "expected: {value: y}")
    write(tmp_path, "b.yaml", "# one more\n" + HEAD.replace("id: a", "id: A") + "expected: {value: y}")
    write(tmp_path, "c.yaml", HEAD + "expected: {value: y}")
    with pytest.raises(InvalidInput) as caught:
        load_cases(["a.yaml", "b.yaml", "c.yaml"], str(tmp_path))
    assert str(caught.value).splitlines() == [
        "BK109 b.yaml:2:5: the id 'A' is 'a' in different case: it is at a.yaml:1:5 already; rename one of "
        "the two",
        "BK109 c.yaml:1:5: the id 'a' occurs twice: it is at a.yaml:1:5 already; rename one of the two",
    ]


@pytest.mark.parametrize("path", ["../../secret.txt", "/etc/hostname", "link.txt"])
def test_f41_x5_an_input_file_outside_of_the_project_is_refused(tmp_path: Path, path: str) -> None:
    root = tmp_path / "project"
    write(tmp_path, "secret.txt", "the crown jewels")
    write(root, "evals/c.yaml", f"id: a\ninput: {{type: file, content: {path}}}\nexpected: {{value: y}}")
    (root / "evals/link.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises((Refused, InvalidInput)) as caught:
        load_cases(["evals/c.yaml"], str(root))
    assert "jewels" not in str(caught.value)
    assert path == "/etc/hostname" or isinstance(caught.value, Refused)


BITS = [
    *("id", "input", "content", "expected", "type", "code", "grader", "graders", "config", "method", "ref"),
    *("test_cases", "eval_suite", "$ref", "evals", "metadata", "labels", "rating_scale", "human", "model"),
    *("functional", "semantic", "value", "file", "prompt", "skill", "command", "api_call", "preset", "1"),
    *(
        "null",
        "[]",
        "{}",
        "[1]",
        "{a: 1}",
        ".nan",
        "-1",
        "''",
        "x",
        "other.yaml",
        "suite.yaml",
        "../..",
        "9" * 5000,
    ),
]
WORDS = [
    *(
        EXAMPLES / name
        for name in ("string-processing.yaml", "capability-codegen.yaml", "capability-semantic.yaml")
    ),
    *(EXAMPLES / name for name in ("regression-quality.yaml", "suite.yaml")),
]


@pytest.mark.slow
@settings(max_examples=600 if os.environ.get("BASELINEKIT_THOROUGH") else 100, deadline=None)
@given(st.data())
def test_f25_a_mangled_eval_file_is_an_error_or_a_suite(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """A word for another, or a line gone: whatever it is then, it is told."""
    lines = data.draw(st.sampled_from(WORDS)).read_text().splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        key, colon, value = lines[at].partition(":")
        how = data.draw(st.integers(0, 3))
        indent = key[: len(key) - len(key.lstrip(" -"))]
        bit = data.draw(st.sampled_from(BITS))
        if how == 0:
            lines[at] = f"{key}: {bit}" if colon else f"{indent}{bit}"
        elif how == 1:
            lines[at] = f"{indent}{bit}:{value}"
        elif how == 2 and len(lines) > 1:
            del lines[at]
        else:
            lines.insert(at, lines[data.draw(st.integers(0, len(lines) - 1))])
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
