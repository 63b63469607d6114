"""What a change to a baseline lets pass that failed before."""

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


def baseline(text: str) -> Baseline:
    return parse_record(YAML.load(text, "x.yaml")[0])


def weakening(old: str, new: str) -> list[str]:
    before, after = baseline(RECORD), baseline(RECORD.replace(old, new))
    return [way.message for way in weakened(before, after, WORDS, WORDS) if way.weakens]


def found(old: str, new: str, record: str = RECORD) -> list[str]:
    assert old in record
    before, after = baseline(record), baseline(record.replace(old, new))
    return [f"{'.'.join(map(str, way.at))}: {way.message}" for way in weakened(before, after, WORDS, WORDS)]


LETS_MORE_PASS = r"""
name: Ada =>> name: <<any_string>> =>> body.name: a value became a placeholder
name: Ada =>> name: A<<any>> =>> a value became a placeholder
name: Ada =>> name: Grace =>> another expectation: "Ada" -> "Grace"
name: Ada,  =>>  =>> body.name: is no longer expected: "Ada"
note: << =>> more: 1, note: << =>> body.more: is expected now: 1
<<any_uuid>> =>> <<any_string>> =>> another placeholder
<<any_uuid>> =>> <<any_uuid|null>> =>> another placeholder
<<any_uuid>> =>> <<any_uuid?>> =>> another placeholder
[x, y] =>> [x] =>> body.tags.1: is no longer expected: "y"
    status: 200\n =>>  =>> output.status: is no longer expected
type: structural =>> type: semantic\n  method: words =>> type: structural -> semantic
ignore_fields: [old, =>> ignore_fields: [old, "**.id", =>> ignore_fields: **.id is new
require_keys: [name] =>> require_keys: [] =>> require_keys: -"name"
{abs: 0.1} =>> {abs: 0.2} =>> tolerance.price.abs: 0.1 -> 0.2
{abs: 0.1} =>> {rel: 0.01} =>> tolerance.price.abs: 0.1 -> nothing
{abs: 0.1} =>> {abs: 0.1, rel: 0.01} =>> comparison.tolerance.price.rel: nothing -> 0.01
{price: {abs =>> {"**.n": {abs: 1}, price: {abs =>> tolerance.**.n: nothing -> {"abs": 1}
tolerance: {price =>> tolerance: {allow_empty_arrays: true, price =>> allow_empty_arrays: false -> true
  type: str =>>   options: {case_sensitive: false}\n  type: str =>> options.case_sensitive: true -> false
arrays: {tags: ordered} =>> arrays: {tags: subset} =>> arrays.tags: ordered -> subset
  type: str =>>   fields: {name: {type: semantic, method: words}}\n  type: str =>> fields.name: nothing ->
  latency: {max_ratio: 2}\n =>>  =>> latency.max_ratio: 2 -> nothing
seconds: 1 =>> seconds: 9 =>> seconds: 1 -> 9
endpoint: /users =>> endpoint: /health =>> current.input.endpoint: another request is sent
timeout: 5 =>> timeout: 5, json: {a: [x]} =>> current.input.json: another request
criticality: high =>> criticality: low, skip: flaky =>> skip: flaky
criticality: high =>> criticality: low =>> criticality: high -> low
[fast] =>> [slow] =>> metadata.tags: -fast +slow
"""
ASKS_AS_MUCH = r"""
<<any_string>> =>> <<any_uuid>>
<<any_string>> =>> '<<any_string(1, 9)>>'
<<any_string>> =>> plain
name: Ada =>> name: 'Ada'
old: 1 =>> old: 2
, old: 1 =>>
    status: 200\n =>>     status: 200\n    headers: {content-type: text/plain}\n
structural =>> exact
ignore_fields: [old, rows.*.at] =>> ignore_fields: [old]
ignore_fields: [old, =>> ignore_values: [old]\n  ignore_fields: [
require_keys: [name] =>> require_keys: [name, note]
{price: {abs: 0.1}} =>> {}
max_ratio: 2 =>> max_ratio: 1.5, max_seconds: 3
criticality: high =>> criticality: critical
failure_count: 0 =>> failure_count: 7
"""


def rows_of(text: str) -> list[list[str]]:
    lines = (line.replace(r"\n", "\n") for line in text.splitlines() if line)
    return [(line + " " * line.endswith(" =>>")).split(" =>> ") for line in lines]


@pytest.mark.parametrize(("old", "new", "told"), rows_of(LETS_MORE_PASS))
def test_f57_what_lets_more_pass_is_told(old: str, new: str, told: str) -> None:
    ways = found(old, new)
    assert any(told in way for way in ways), ways


@pytest.mark.parametrize(("old", "new"), rows_of(ASKS_AS_MUCH))
def test_what_asks_for_more_or_the_same_is_no_matter(old: str, new: str) -> None:
    assert weakening(old, new) == []


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        ("{a: [true]}", "{a: [1]}", False),
        ("{a: 5}", "{a: 5.0}", False),
        ("{a: 1, b: 2}", "{b: 2, a: 1}", True),
        ("[1, 2]", "[2, 1]", False),
    ],
)
def test_a_request_with_another_type_of_value_is_another_one(old: str, new: str, is_same: bool) -> None:
    record = RECORD.replace("timeout: 5", f"json: {old}")
    ways = found(f"json: {old}", f"json: {new}", record)
    assert ways == ([] if is_same else ["current.input.json: another request is sent"])


def test_an_output_that_is_gone_and_variants() -> None:
    body = RECORD[RECORD.index("baseline:") : RECORD.index("current:")]
    assert found(body, "") == ["baseline: no longer has a stored output: nothing is compared"]
    variant = '  variants: [{when: {platform: "mac*"}, output: {status: 201}}]\n'
    more = RECORD.replace("  observed", f"{variant}  observed")
    assert "a new variant" in found("  observed", f"{variant}  observed")[0]
    assert "a variant was removed" in found(variant, "", more)[0]
    assert "another expectation: 201 -> 202" in found("status: 201", "status: 202", more)[0]


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
def test_weakened_lists_a_looser_value_of_every_rule(name: str) -> None:
    record = YAML.load(RECORD, "x.yaml")[0]
    before, after = (parse_record(record | {"comparison": rules}) for rules in EVERY_RULE[name])
    assert weakened(before, after, WORDS, WORDS)
