"""`run --base`: which changes of an eval case ask for less, and which expect something else."""

from pathlib import Path

import pytest
from checkouts import Checkout

from baselinekit.commands.project import Operator, open_project
from baselinekit.evals.weakened import find_weakened_cases

CASE = """\
- id: a
  input: {{type: echo, content: hello}}
  expected: {{type: contains, value: hello}}
  grader: {{type: code, config: {{{config}}}}}
{more}"""
CONTAINS = "method: contains, all: [he, lo], none: [x]"


@pytest.mark.parametrize(
    ("before", "after", "more", "change"),
    [
        (CONTAINS, "method: contains, all: [he, lo, l], none: [x, y]", "", ""),
        (CONTAINS, "method: contains, all: [he], none: [x]", "", "loosened"),
        (CONTAINS, "method: contains, all: [he, lo]", "", "loosened"),
        (CONTAINS, "method: contains, any: [he, lo], none: [x]", "", "loosened"),
        (CONTAINS, "method: contains, all: [he, lo], none: [x], case_sensitive: false", "", "loosened"),
        ("method: contains, any: [he, xx]", "method: contains, any: [he]", "", ""),
        ("method: contains, any: [he]", "method: contains, any: [he, e]", "", "loosened"),
        ("method: regex, pattern: '^hello$'", "method: regex, pattern: 'h.*'", "", "loosened"),
        ("method: regex, pattern: hello", "method: exact_match", "", "loosened"),
        ("method: token_count, max: 40", "method: token_count, max: 20", "", ""),
        ("method: token_count, max: 40", "method: token_count, max: 80", "", "loosened"),
        ("method: token_count, min: 1, max: 40", "method: token_count, max: 40", "", "loosened"),
        (CONTAINS, CONTAINS, "  skip: later\n", "loosened"),
        (CONTAINS, CONTAINS, "  metadata: {tags: [slow]}\n", "loosened"),
        (CONTAINS, CONTAINS, "  description: in other words\n", ""),
    ],
)
def test_find_weakened_cases_with_another_grader_lists_what_asks_for_less(
    tmp_path: Path, before: str, after: str, more: str, change: str
) -> None:
    here = Checkout(tmp_path)
    here.write({"evals/a.yaml": CASE.format(config=before, more="")})
    start = here.commit()
    here.write({"evals/a.yaml": CASE.format(config=after, more=more)})
    project = open_project(Operator(cwd=str(here.folder)))
    found = find_weakened_cases(project, here.asked(), start, strict=True)
    assert [item.change for item in found.changes] == [change] * bool(change)
    assert not found.notes


FUNCTION = "method: function_output, function_name: f"
EXPECTING = """\
- id: a
  input: {{type: echo, content: hello world}}
  expected: {{{expected}}}
  grader: {{type: code, config: {{{config}}}}}
"""


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
    methods = {"pattern": "regex", "contains": "contains", "exact": "exact_match"}
    config = f"method: {methods[before.split(',')[0].split()[1]]}"
    assert changes(
        tmp_path, *(EXPECTING.format(expected=text, config=config) for text in (before, after))
    ) == [change]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f"{FUNCTION}, test_cases: [{{args: [1], expected: 1}}, {{args: [2], expected: 2}}]",
            f"{FUNCTION}, test_cases: [{{args: [1], expected: 1}}]",
        ),
        (
            "method: tool_trajectory, mode: exact, expected: [{tool: a}, {tool: b}]",
            "method: tool_trajectory, mode: exact, expected: [{tool: a}]",
        ),
        ("method: contains, all: [hello, world]", "method: contains, all: [hello]"),
    ],
)
def test_find_weakened_cases_with_a_shorter_list_of_any_grader_names_what_is_gone(
    tmp_path: Path, before: str, after: str
) -> None:
    texts = (
        EXPECTING.format(expected="type: contains, value: hello", config=text) for text in (before, after)
    )
    assert changes(tmp_path, *texts) == ["loosened"]


def changes(folder: Path, before: str, after: str) -> list[str]:
    here = Checkout(folder)
    here.write({"evals/a.yaml": before})
    start = here.commit()
    here.write({"evals/a.yaml": after})
    project = open_project(Operator(cwd=str(here.folder)))
    return [item.change for item in find_weakened_cases(project, here.asked(), start, strict=True).changes]
