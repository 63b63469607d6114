"""`run --base`: which changes of an eval case ask for less, and which expect something else."""

from pathlib import Path

import pytest
from checkouts import Checkout

from baselinekit.commands.project import Operator, open_project
from baselinekit.evals.weakened import find_weakened_cases

EXPECTED = "type: contains, value: hello"
CONTAINS = "method: contains, all: [he, lo], none: [x]"
CALLS = "method: function_output, function_name: f, test_cases: [{args: [1], expected: 1}%s]"
TOOLS = "method: tool_trajectory, mode: exact, expected: [{tool: a}%s]"
METHODS = {"pattern": "regex", "contains": "contains", "exact": "exact_match"}


def changes(folder: Path, *texts: str) -> list[str]:
    checkout, starts = Checkout(folder), []
    for text in texts:
        checkout.write({"evals/a.yaml": text})
        starts.append(checkout.commit() if not starts else "")
    project = open_project(Operator(cwd=str(checkout.folder)))
    found = find_weakened_cases(project, checkout.asked(), starts[0], strict=True)
    assert not found.notes
    return [item.change for item in found.changes]


def case(config: str, expected: str = EXPECTED, more: str = "") -> str:
    grader = f"{{type: code, config: {{{config}}}}}"
    asked = f"- id: a\n  input: {{type: echo, content: hello}}\n  expected: {{{expected}}}\n"
    return f"{asked}  grader: {grader}\n{more}"


@pytest.mark.parametrize(
    ("before", "after", "more", "change"),
    [
        (CONTAINS, "method: contains, all: [he, lo, l], none: [x, y]", "", ""),
        (CONTAINS, "method: contains, all: [he], none: [x]", "", "loosened"),
        (CONTAINS, "method: contains, all: [he, lo]", "", "loosened"),
        (CONTAINS, "method: contains, any: [he, lo], none: [x]", "", "loosened"),
        (CONTAINS, f"{CONTAINS}, case_sensitive: false", "", "loosened"),
        ("method: contains, any: [he, xx]", "method: contains, any: [he]", "", ""),
        ("method: contains, any: [he]", "method: contains, any: [he, e]", "", "loosened"),
        ("method: regex, pattern: '^hello$'", "method: regex, pattern: 'h.*'", "", "loosened"),
        ("method: regex, pattern: hello", "method: exact_match", "", "loosened"),
        ("method: token_count, max: 40", "method: token_count, max: 20", "", ""),
        ("method: token_count, max: 40", "method: token_count, max: 80", "", "loosened"),
        ("method: token_count, min: 1, max: 40", "method: token_count, max: 40", "", "loosened"),
        (CALLS % ", {args: [2], expected: 2}", CALLS % "", "", "loosened"),
        (TOOLS % ", {tool: b}", TOOLS % "", "", "loosened"),
        (CONTAINS, CONTAINS, "  skip: later\n", "loosened"),
        (CONTAINS, CONTAINS, "  metadata: {tags: [slow]}\n", "loosened"),
        (CONTAINS, CONTAINS, "  description: in other words\n", ""),
    ],
)
def test_find_weakened_cases_with_another_grader_lists_what_asks_for_less(
    tmp_path: Path, before: str, after: str, more: str, change: str
) -> None:
    assert changes(tmp_path, case(before), case(after, more=more)) == [change] * bool(change)


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("type: pattern, value: '^hello'", "type: pattern, value: 'h.+'", "loosened"),
        ("type: contains, value: [hello, world]", "type: contains, value: [hello]", "loosened"),
        ("type: contains, value: hello world", "type: contains, value: hello", "loosened"),
        ("type: contains, value: hello", "type: contains, value: goodbye", "changed"),
        ("type: contains, value: [hello]", "type: contains, value: [hello, world]", "changed"),
        ("type: exact, value: hello world", "type: exact, value: hello", "changed"),
    ],
)
def test_find_weakened_cases_with_another_expected_value_tells_less_from_other(
    tmp_path: Path, before: str, after: str, change: str
) -> None:
    config = f"method: {METHODS[before.split(',')[0].split()[1]]}"
    assert changes(tmp_path, case(config, before), case(config, after)) == [change]
