"""What a change to a baseline lets pass that failed before: output, rules, checks, scores, request, record.

The tables have known answers. Columns: before | after | what is reported."""

import json
from typing import Any

import pytest

from baselinekit.commands.since import weakened
from baselinekit.files.languages import YAML
from baselinekit.model.baselines import Baseline, Rules
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.store.reading import parse_record

WORDS = PlaceholderContext({"order_no": r"ORD-\d+"})
RECORD = """
id: a
baseline:
  output:
    status: 200
    body: {name: Ada, price: 9.5, id: <<any_uuid>>, tags: [x, y], note: <<any_string>>, old: 1}
  observed: {seconds: 1}
current: {input: {method: GET, endpoint: /users, timeout: 5}, execution: {type: http}}
comparison:
  type: structural
  tolerance: {price: {abs: 0.1}}
  ignore_fields: [old, rows.*.at]
  require_keys: [name]
  arrays: {tags: ordered}
  latency: {max_ratio: 2}
metadata: {criticality: high, tags: [fast], last_passed: null, failure_count: 0}
"""
SKILL = {"input": "x", "execution": {"type": "skill", "skill_name": "x"}}


def baseline(text: str) -> Baseline:
    return parse_record(YAML.load(text, "x.yaml")[0])


def made(output: Any, rules: Any, current: Any = SKILL) -> Baseline:
    record = {"id": "a", "baseline": {"output": output}, "current": current, "comparison": rules}
    return parse_record(record)


def ways(before: Baseline, after: Baseline, *, weakening: bool = False) -> list[str]:
    """Each change with its place; `weakening`: only those that ask for less."""
    found = weakened(before, after, WORDS, WORDS)
    return [f"{'.'.join(map(str, way.at))}: {way.message}" for way in found if way.weakens or not weakening]


def changed(old: str, new: str, record: str = RECORD) -> list[str]:
    assert old in record
    return ways(baseline(record), baseline(record.replace(old, new)))


def table(text: str, separator: str = " | ") -> list[list[str]]:
    lines = (line.replace(r"\n", "\n") for line in text.splitlines() if line)
    return [f"{line} ".split(separator) for line in lines]


LETS_MORE_PASS = r"""
name: Ada =>> name: <<any_string>> =>> body.name: a value became a placeholder
name: Ada =>> name: Grace =>> another expectation: "Ada" -> "Grace"
name: Ada,  =>>  =>> body.name: is no longer expected: "Ada"
note: << =>> more: 1, note: << =>> body.more: is expected now: 1
<<any_uuid>> =>> <<any_uuid?>> =>> another placeholder
    status: 200\n =>>  =>> output.status: is no longer expected
type: structural =>> type: semantic\n  method: words =>> type: "structural" -> "semantic"
ignore_fields: [old, =>> ignore_fields: [old, "**.id", =>> comparison.ignore_fields: +"**.id"
require_keys: [name] =>> require_keys: [] =>> require_keys: -"name"
{abs: 0.1} =>> {abs: 0.1, rel: 0.01} =>> comparison.tolerance.price.rel: nothing -> 0.01
{price: {abs =>> {"**.n": {abs: 1}, price: {abs =>> tolerance.**.n: nothing -> {"abs": 1}
  type: str =>>   options: {case_sensitive: false}\n  type: str =>> options.case_sensitive: true -> false
seconds: 1 =>> seconds: 9 =>> seconds: 1 -> 9
endpoint: /users =>> endpoint: /health =>> current.input.endpoint: another request is sent
criticality: high =>> criticality: low, skip: flaky =>> skip: nothing -> "flaky"
[fast] =>> [slow] =>> metadata.tags: -"fast" +"slow"
"""
ASKS_AS_MUCH = r"""
<<any_string>> =>> '<<any_string(1, 9)>>'
    status: 200\n =>>     status: 200\n    headers: {content-type: text/plain}\n
structural =>> exact
require_keys: [name] =>> require_keys: [name, note]
max_ratio: 2 =>> max_ratio: 1.5, max_seconds: 3
criticality: high =>> criticality: critical
failure_count: 0 =>> failure_count: 7
"""


@pytest.mark.parametrize(("old", "new", "message"), table(LETS_MORE_PASS, " =>> "))
def test_f57_weakened_reports_what_lets_more_pass(old: str, new: str, message: str) -> None:
    found = changed(old, new)
    assert any(message.strip() in way for way in found), found


@pytest.mark.parametrize(("old", "new"), table(ASKS_AS_MUCH, " =>> "))
def test_weakened_with_as_much_asked_reports_nothing(old: str, new: str) -> None:
    assert ways(baseline(RECORD), baseline(RECORD.replace(old, new.rstrip(" "))), weakening=True) == []


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ("{a: [true]}", "{a: [1]}", False),
        ("{a: 5}", "{a: 5.0}", False),
        ("{a: 1, b: 2}", "{b: 2, a: 1}", True),
    ],
)
def test_weakened_tells_types_of_a_request_apart(old: str, new: str, is_same: bool) -> None:
    found = changed(f"json: {old}", f"json: {new}", RECORD.replace("timeout: 5", f"json: {old}"))
    assert found == ([] if is_same else ["current.input.json: another request is sent"])


def test_weakened_reports_a_removed_output_and_changed_variants() -> None:
    body = RECORD[RECORD.index("baseline:") : RECORD.index("current:")]
    assert changed(body, "") == ["baseline: no longer has a stored output: nothing is compared"]
    variant = '  variants: [{when: {platform: "mac*"}, output: {status: 201}}]\n'
    more = RECORD.replace("  observed", f"{variant}  observed")
    assert "a new variant" in changed("  observed", f"{variant}  observed")[0]
    assert "a variant was removed" in changed(variant, "", more)[0]
    assert "another expectation: 201 -> 202" in changed("status: 201", "status: 202", more)[0]


SEMANTIC = {"type": "semantic", "method": "words", "min_similarity": 0.5}
EVERY_RULE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "type": ({}, {"type": "numeric"}),
    "options": ({}, {"options": {"case_sensitive": False}}),
    "tolerance": ({}, {"tolerance": {"price": {"abs": 1}}}),
    "ignore_fields": ({}, {"ignore_fields": ["old"]}),
    "ignore_values": ({}, {"ignore_values": ["old"]}),
    "require_keys": ({"require_keys": ["name"]}, {}),
    "arrays": ({}, {"arrays": {"tags": "unordered"}}),
    "fields": ({}, {"fields": {"price": {"type": "numeric"}}}),
    "method": (SEMANTIC, SEMANTIC | {"method": "judge"}),
    "min_similarity": (SEMANTIC, SEMANTIC | {"min_similarity": 0.4}),
    "latency": ({"latency": {"max_seconds": 1}}, {}),
    "cost": ({"cost": {"max_usd": 1}}, {}),
    "max_age": ({"max_age": "3d"}, {}),
}


@pytest.mark.parametrize("name", Rules.__struct_fields__)
def test_weakened_reports_a_looser_value_of_every_rule(name: str) -> None:
    record = YAML.load(RECORD, "x.yaml")[0]
    before, after = (parse_record(record | {"comparison": rules}) for rules in EVERY_RULE[name])
    assert ways(before, after)


# Outputs: what an honest refresh changes, and what asks for less.

HONEST = """
{"a": 1} | {"a": {"b": 1}}
{"a": 1} | {"a": 1, "at": "<<any_iso_datetime>>"}
[1, 2, 3] | [3, 1, 2]
[{"id": "<<any_uuid>>", "n": "A"}] | [{"id": "<<any_uuid>>", "n": "B"}, {"id": "<<any_uuid>>", "n": "A"}]
[{"id": "<<any_uuid>>", "n": "A"}] | [{"id": "<<any_uuid>>", "n": "A", "mail": "a@b.c"}]
{"t": "v1 at <<any_time>> ok"} | {"t": "v2 at <<any_time>> ok"}
{"t": "<<any_uuid>> and <<any_uuid>>"} | {"t": "only <<any_uuid>>"}
"""
LOOSE = """
{"a": 1} | {"a": "<<any_integer>>"}
{"a": "<<any_integer(1, 5)>>"} | {"a": "<<any_integer(1, 9)>>"}
{"a": "<<any_uuid>>"} | {"a": "<<any_uuid|null>>"}
{"a": "<<any_uuid as k>>", "b": "<<any_uuid as k>>"} | {"a": "x", "b": "<<any_uuid as k>>"}
[{"id": "<<any_uuid>>", "n": "A"}, 1] | [{"id": "<<any_uuid>>", "n": "<<any_string>>"}]
[{"id": "<<any_uuid>>", "n": "A"}, {"id": "<<any_uuid>>", "n": "B"}] | [{"id": "<<any_uuid>>", "n": "A"}]
{"t": "Hello <<any_string>>"} | {"t": "H<<any_string>>"}
{"t": "a <<any_time>> b"} | {"t": "a <<any_time>><<any_string>>"}
"""


@pytest.mark.parametrize(("old", "new"), table(HONEST))
def test_weakened_with_a_refreshed_output_reports_a_change_only(old: str, new: str) -> None:
    assert ways(made(json.loads(old), {}), made(json.loads(new), {}), weakening=True) == []


@pytest.mark.parametrize(("old", "new"), table(LOOSE))
def test_weakened_with_an_output_that_asks_for_less_reports_it(old: str, new: str) -> None:
    assert ways(made(json.loads(old), {}), made(json.loads(new), {}), weakening=True)


SUBSET, ANY_ORDER, NUMERIC = {"arrays": {"r": "subset"}}, {"arrays": {"r": "unordered"}}, {"type": "numeric"}
ADDITIONAL, WITHOUT_A = {"options": {"allow_additional_fields": True}}, {"ignore_fields": ["a"]}
BY_RULE: list[tuple[Any, Any, Any, Any, set[bool]]] = [
    ({"r": [1, 2]}, {"r": [1]}, SUBSET, SUBSET, {True}),
    ({"r": [1, 2]}, {"r": [1]}, ANY_ORDER, ANY_ORDER, {False}),
    ({"a": 1, "b": 2}, {"a": 1}, NUMERIC, NUMERIC, {True}),
    ({"a": 1, "b": 2}, {"a": 1}, ADDITIONAL, ADDITIONAL, {True}),
    ({"a": 1}, {"a": 2}, {}, WITHOUT_A, {False, True}),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {}, {}, set()),
]


@pytest.mark.parametrize(("old", "new", "before", "after", "weakens"), BY_RULE)
def test_weakened_judges_an_output_by_its_rules(
    old: Any, new: Any, before: Any, after: Any, weakens: set[bool]
) -> None:
    found = weakened(made(old, before), made(new, after), WORDS, WORDS)
    assert {way.weakens for way in found} == weakens


def test_weakened_by_a_removed_header_reports_it() -> None:
    before = RECORD.replace("body:", "headers: {etag: a, vary: b}\n    body:")
    (way,) = ways(baseline(before), baseline(before.replace(", vary: b", "")), weakening=True)
    assert way == 'baseline.output.headers.vary: is no longer expected: "b"'


# Rules: each row is stricter on the right; backwards it asks for less.

OUTPUT = {"rows": [{"id": 1, "n": 2.5}, {"id": 2, "n": 3}], "name": "Ada", "price": 9.5, "at": "now"}
STRICTER = """
tolerance: {price: {rel: 0.1}} | tolerance: {price: {rel: 0.05}}
tolerance: {price: {max_delta: 2}} | tolerance: {price: {max_delta: 1}}
arrays: {rows: unordered} | arrays: {rows: ordered}
arrays: {rows: unordered} | arrays: {rows: {by: id}}
options: {allow_missing_fields: true} | options: {allow_missing_fields: false}
 | options: {allow_field_reordering: false}
options: {allow_empty_arrays: true} |
options: {trim_whitespace: true} |
 | type: exact
type: semantic, method: words | type: structural
type: semantic, method: words, min_similarity: 0.7 | type: semantic, method: words, min_similarity: 0.9
 | latency: {max_seconds: 3}, cost: {max_usd: 1}
fields: {name: {type: semantic, method: words}} | fields: {name: {type: exact}}
fields: {n: {type: numeric, tolerance: {abs: 1}}} | fields: {n: {type: numeric, tolerance: {abs: 0.5}}}
"""
OTHERWISE = """
fields: {name: {type: semantic, method: words}} |
arrays: {rows: {by: id}} | arrays: {rows: unordered}
tolerance: {price: {abs: 1}} | tolerance: {price: {rel: 0.1}}
arrays: {rows: {by: id}} | arrays: {rows: {by: n}}
latency: {max_seconds: 3} | latency: {max_ratio: 2}
 | tolerance: {cost: {abs: 5}, value: {abs: 9}}
tolerance: {"*": {abs: 1}, price: {abs: 0.1}} | tolerance: {"*": {abs: 1}}
"""
"""What takes something more, or what the table of the code does not know."""


def with_rules(text: str) -> Baseline:
    return made(OUTPUT, YAML.load(f"{{{text}}}", "x.yaml")[0])


@pytest.mark.parametrize(("before", "after"), table(STRICTER))
def test_weakened_with_stricter_rules_reports_only_the_way_back(before: str, after: str) -> None:
    assert ways(with_rules(before), with_rules(after), weakening=True) == []
    assert ways(with_rules(after), with_rules(before), weakening=True)


@pytest.mark.parametrize(("before", "after"), table(OTHERWISE))
def test_weakened_with_other_rules_reports_them(before: str, after: str) -> None:
    assert ways(with_rules(before), with_rules(after), weakening=True)


# Checks and scores of a prompt.

SCORED: dict[str, Any] = {"rubric": {"clear": "Is it clear?"}, "model": "judge", "at_least": 4}
LOOSER_CHECKS = r"""
[{"contains": "the mill"}] | [{"contains": "mill"}] | contains: "the mill" -> "mill"
[{"contains": "a"}, {"contains": "b"}] | [{"contains": "a"}] | contains[1]: "b" -> nothing
[{"not_contains": "x"}] | [{"not_contains": "xy"}] | not_contains: "x" -> "xy"
[{"contains_all": ["a", "b"]}] | [{"contains_all": ["a"]}] | contains_all: -"b"
[{"contains_any": ["a"]}] | [{"contains_any": ["a", "e", "i"]}] | contains_any: +"e" +"i"
[{"min_tokens": 5}] | [{"min_tokens": 4}] | min_tokens: 5 -> 4
[{"max_tokens": 40}] | [{"max_tokens": 80}] | max_tokens: 40 -> 80
[{"json_schema": {}}] | [{"json_schema": true}] | json_schema: {} -> true
"""


def prompt(output: Any = None, rules: Any = None, **execution: Any) -> Baseline:
    current = {"input": {"text": "Say x"}, "execution": {"type": "prompt", **execution}}
    return made(output or {"text": "x"}, rules or {}, current)


@pytest.mark.parametrize(("old", "new", "way"), table(LOOSER_CHECKS))
def test_f57_weakened_reports_a_looser_check(old: str, new: str, way: str) -> None:
    before, after = prompt(checks=json.loads(old)), prompt(checks=json.loads(new))
    assert ways(before, after, weakening=True) == [f"current.execution.checks.{way.strip()}"]
    if json.loads(new) and "_tokens" in new:
        assert ways(after, before, weakening=True) == []


SCORES: list[tuple[Any, Any, str]] = [
    (SCORED, {}, "-> nothing"),
    ({}, SCORED, ""),
    (SCORED, {**SCORED, "at_least": 3}, ".at_least: 4 -> 3"),
    ({**SCORED, "at_least": None}, SCORED, ""),
    (SCORED, {**SCORED, "model": "kind"}, '.model: "judge" -> "kind"'),
    (SCORED, {**SCORED, "scale": [1, 9]}, ".scale: -5 +9"),
    (SCORED, {**SCORED, "rubric": {}}, '.rubric.clear: "Is it clear?" -> nothing'),
]


@pytest.mark.parametrize(("old", "new", "way"), SCORES)
def test_f57_weakened_reports_looser_scores(old: Any, new: Any, way: str) -> None:
    before, after = (prompt(**({"scores": scores} if scores else {})) for scores in (old, new))
    found = ways(before, after, weakening=True)
    assert len(found) == bool(way)
    assert all(one.startswith("current.execution.scores") and way in one for one in found)
