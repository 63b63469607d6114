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
