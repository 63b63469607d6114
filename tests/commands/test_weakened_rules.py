"""Whatever a `comparison:` can state, before and after: whether it lets an answer pass that failed before.
The tables have known answers."""

import pytest

from baselinekit.commands.since import weakened
from baselinekit.files.languages import YAML
from baselinekit.model.baselines import Baseline
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.store.reading import parse_record

WORDS = PlaceholderContext()
OUTPUT = {"rows": [{"id": 1, "n": 2.5}, {"id": 2, "n": 3}], "name": "Ada", "price": 9.5, "at": "now"}


def made(comparison: str) -> Baseline:
    current = {"input": "x", "execution": {"type": "skill", "skill_name": "x"}}
    rules = YAML.load(f"{{{comparison}}}", "x.yaml")[0]
    return parse_record({"id": "a", "baseline": {"output": OUTPUT}, "current": current, "comparison": rules})


def told(then: str, now: str) -> list[str]:
    return [way.message for way in weakened(made(then), made(now), WORDS, WORDS) if way.weakens]


STRICTER = """
tolerance: {price: {abs: 1}} | tolerance: {price: {abs: 0.5}}
tolerance: {price: {rel: 0.1}} | tolerance: {price: {rel: 0.05}}
tolerance: {n: {min_delta: -1}} | tolerance: {n: {min_delta: -1, max_delta: 2}}
tolerance: {price: {max_delta: 2}} | tolerance: {price: {max_delta: 1}}
tolerance: {price: {abs: 1}} | tolerance: {price: {abs: 1, max_delta: 0.5}}
tolerance: {price: {abs: 1}} |
arrays: {rows: unordered} | arrays: {rows: ordered}
arrays: {rows: subset} | arrays: {rows: unordered}
arrays: {rows: unordered} | arrays: {rows: {by: id}}
options: {allow_additional_fields: true} |
options: {allow_missing_fields: true} | options: {allow_missing_fields: false}
options: {case_sensitive: false} | options: {case_sensitive: true}
 | options: {allow_field_reordering: false}
options: {allow_empty_arrays: true} |
options: {trim_whitespace: true} |
ignore_fields: [at, name] | ignore_fields: [at]
ignore_fields: [at] | ignore_values: [at]
 | require_keys: [name]
 | type: exact
type: semantic, method: words | type: structural
type: numeric | type: structural
type: semantic, method: words, min_similarity: 0.7 | type: semantic, method: words, min_similarity: 0.9
latency: {max_seconds: 3} | latency: {max_seconds: 2}
 | latency: {max_seconds: 3}, cost: {max_usd: 1}
cost: {max_usd: 2} | cost: {max_usd: 1}
fields: {name: {type: semantic, method: words}} | fields: {name: {type: exact}}
fields: {n: {type: numeric, tolerance: {abs: 1}}} | fields: {n: {type: numeric, tolerance: {abs: 0.5}}}
 | max_age: 30d
"""
OTHERWISE = """
tolerance: {"*": {abs: 1}} | tolerance: {"*": {abs: 1}, price: {abs: 0.1}}
tolerance: {"*": {abs: 1}, price: {abs: 0.1}} | tolerance: {"*": {abs: 1}}
fields: {name: {type: semantic, method: words}} |
 | fields: {name: {type: semantic, method: words}}
arrays: {rows: {by: id}} | arrays: {rows: unordered}
tolerance: {price: {abs: 1}} | tolerance: {price: {rel: 0.1}}
tolerance: {price: {min_delta: -1}} | tolerance: {price: {max_delta: 1}}
 | arrays: {rows: {by: id}}
arrays: {rows: {by: id}} | arrays: {rows: {by: n}}
type: semantic, method: words | type: numeric
ignore_fields: [at] | ignore_fields: [name]
ignore_values: [at] | ignore_fields: [at]
require_keys: [name] | require_keys: [price]
ignore_values: ["**.n"], tolerance: {rows.*.n: {abs: 1}} | ignore_values: ["**.n"]
ignore_values: ["**.n"], fields: {rows.*.n: {type: exact}} | ignore_values: ["**.n"]
latency: {max_seconds: 3} | latency: {max_ratio: 2}
"""
"""What takes something more, or what the table does not know."""


def rows_of(table: str) -> list[list[str]]:
    return [f"{line} ".split(" | ") for line in table.splitlines() if line]


@pytest.mark.parametrize(("then", "now"), rows_of(STRICTER))
def test_weakened_with_rules_that_ask_for_more_tells_nothing_but_the_other_way(then: str, now: str) -> None:
    assert told(then, now) == []
    assert told(now, then)


@pytest.mark.parametrize(("then", "now"), rows_of(OTHERWISE))
def test_weakened_with_rules_that_ask_for_something_else_tells_it(then: str, now: str) -> None:
    assert told(then, now)
