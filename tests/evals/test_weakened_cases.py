"""`run --base`: which changes of an eval case ask for less, and which expect something else."""

from pathlib import Path

from checkouts import Checkout

from baselinekit.commands.project import Operator, open_project
from baselinekit.evals.weakened import find_weakened_cases

EXPECTED = "type: contains, value: hello"
CONTAINS = "method: contains, all: [he, lo], none: [x]"
CALLS = "method: function_output, function_name: f, test_cases: [{args: [1], expected: 1}%s]"
TOOLS = "method: tool_trajectory, mode: exact, expected: [{tool: a}%s]"
METHODS = {"pattern": "regex", "contains": "contains", "exact": "exact_match"}


def case(config: str, expected: str = EXPECTED, more: str = "") -> str:
    grader = f"{{type: code, config: {{{config}}}}}"
    asked = f"- id: a\n  input: {{type: echo, content: hello}}\n  expected: {{{expected}}}\n"
    return f"{asked}  grader: {grader}\n{more}"


GRADERS = [  # before, after, more, change
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
]
EXPECTATIONS = [  # before, after, change
    ("type: pattern, value: '^hello'", "type: pattern, value: 'h.+'", "loosened"),
    ("type: contains, value: [hello, world]", "type: contains, value: [hello]", "loosened"),
    ("type: contains, value: hello world", "type: contains, value: hello", "loosened"),
    ("type: contains, value: hello", "type: contains, value: goodbye", "changed"),
    ("type: contains, value: [hello]", "type: contains, value: [hello, world]", "changed"),
    ("type: exact, value: hello world", "type: exact, value: hello", "changed"),
]


def test_find_weakened_cases_lists_cases_that_ask_for_less_or_for_something_else(tmp_path: Path) -> None:
    rows = [(case(before), case(after, more=more), change) for before, after, more, change in GRADERS]
    for before, after, change in EXPECTATIONS:
        config = f"method: {METHODS[before.split(',')[0].split()[1]]}"
        rows.append((case(config, before), case(config, after), change))
    sides = [
        {f"evals/{n}.yaml": row[side].replace("id: a", f"id: a{n}") for n, row in enumerate(rows)}
        for side in (0, 1)
    ]
    checkout = Checkout(tmp_path)
    checkout.write(sides[0])
    start = checkout.commit()
    checkout.write(sides[1])
    project = open_project(Operator(cwd=str(checkout.folder)))
    found = find_weakened_cases(project, checkout.asked(), start, strict=True)
    assert not found.notes
    wanted = {f"a{n}": change for n, (_, _, change) in enumerate(rows) if change}
    assert {item.id: item.change for item in found.changes} == wanted
