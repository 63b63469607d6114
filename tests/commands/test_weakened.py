"""What a change to a baseline lets pass that failed before."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from baselinekit.commands.weakened import weakened
from baselinekit.files.languages import YAML
from baselinekit.matching.dispatch import compile_baseline
from baselinekit.model.baselines import Baseline
from baselinekit.model.recipes import Observation
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.store.reading import parse_record
from baselinekit.structs import replace
from baselinekit.values.paths import covers, parse

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
    return parse_record(YAML.load(text, "x.yaml")[0], ".")


def found(old: str, new: str, record: str = RECORD) -> list[str]:
    assert old in record
    before, after = baseline(record), baseline(record.replace(old, new))
    return [f"{'.'.join(map(str, way.at))}: {way.message}" for way in weakened(before, after, WORDS, WORDS)]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("name: Ada", "name: <<any_string>>", "body.name: a value became a placeholder"),
        ("name: Ada", "name: A<<any>>", "a value became a placeholder"),
        ("name: Ada", "name: Grace", 'another expectation: "Ada" -> "Grace"'),
        ("name: Ada, ", "", 'body.name: is no longer expected: "Ada"'),
        ("note: <<", "more: 1, note: <<", "body.more: is expected now: 1"),
        ("<<any_uuid>>", "<<any_string>>", "another placeholder"),
        ("<<any_uuid>>", "<<any_uuid|null>>", "another placeholder"),
        ("<<any_uuid>>", "<<any_uuid?>>", "another placeholder"),
        ("<<any_uuid>>", "x1", "another expectation"),
        ("[x, y]", "[x]", "body.tags: expects 1 element instead of 2"),
        ("[x, y]", "[x, z]", "body.tags.1: another expectation"),
        ("status: 200", "status: 500", "output.status: another expectation"),
        ("    status: 200\n", "", "output.status: is no longer expected"),
        ("type: structural", "type: semantic\n  method: words", "type: structural -> semantic"),
        ("structural", "numeric", "type: structural -> numeric"),
        ("ignore_fields: [old,", "ignore_fields: [old, name,", "ignore_fields: name is new"),
        ("ignore_fields: [old,", 'ignore_fields: [old, "**.id",', "ignore_fields: **.id is new"),
        ("require_keys: [name]", "require_keys: []", "name is no longer required"),
        ("{abs: 0.1}", "{abs: 0.2}", "tolerance of price: abs 0.1 -> abs 0.2"),
        ("{abs: 0.1}", "{rel: 0.01}", "tolerance of price: abs 0.1 -> rel 0.01"),
        ("{abs: 0.1}", "{abs: 0.1, rel: 0.01}", "tolerance of price"),
        ("{abs: 0.1}", "{max_delta: 0.1}", "tolerance of price"),
        ("{price: {abs", '{"**.n": {abs: 1}, price: {abs', "tolerance of **.n: none -> abs 1"),
        (
            "tolerance: {price",
            "tolerance: {allow_empty_arrays: true, price",
            "allow_empty_arrays is true now",
        ),
        ("  type: str", "  options: {case_sensitive: false}\n  type: str", "case_sensitive is false now"),
        ("  type: str", "  options: {allow_additional_fields: true}\n  type: str", "allow_additional_fields"),
        ("arrays: {tags: ordered}", "arrays: {tags: subset}", "arrays: tags: ordered -> subset"),
        ("arrays: {tags: ordered}", "arrays: {}", "arrays: tags: ordered -> as they are"),
        (
            "  type: str",
            "  fields: {name: {type: semantic, method: words}}\n  type: str",
            "fields: name: type: structural",
        ),
        ("max_ratio: 2", "max_ratio: 3", "latency: max_ratio: 2 -> 3"),
        ("  latency: {max_ratio: 2}\n", "", "latency: max_ratio: 2 -> no limit"),
        ("seconds: 1", "seconds: 9", "seconds: 1 -> 9"),
        ("endpoint: /users", "endpoint: /health", "current.input.endpoint: another request is sent"),
        ("timeout: 5", "timeout: 50", "current.input.timeout: another request"),
        ("timeout: 5", "timeout: 5, json: {a: [x]}", "current.input.json: another request"),
        ("criticality: high", "criticality: low, skip: flaky", "skip: flaky"),
        ("criticality: high", "criticality: low", "criticality: high -> low"),
        ("[fast]", "[slow]", "tags select what is run: -fast +slow"),
    ],
)
def test_f57_what_lets_more_pass_is_told(old: str, new: str, told: str) -> None:
    ways = found(old, new)
    assert any(told in way for way in ways), ways


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<<any_string>>", "<<any_uuid>>"),
        ("<<any_string>>", "'<<any_string(1, 9)>>'"),
        ("<<any_string>>", "<<any_duration>>"),
        ("<<any_string>>", "plain"),
        ("<<any_uuid>>", "0ae23f2d-220e-4029-88fc-cb6cf50424d2"),
        ("name: Ada", "name: 'Ada'"),
        ("old: 1", "old: 2"),  # it is ignored, then and now
        (", old: 1", ""),
        ("    status: 200\n", "    status: 200\n    headers: {content-type: text/plain}\n"),
        ("structural", "exact"),
        ("ignore_fields: [old, rows.*.at]", "ignore_fields: [old]"),
        ("rows.*.at]", "rows.0.at, rows.*.at.b]"),  # within what was ignored
        ("ignore_fields: [old,", "ignore_values: [old]\n  ignore_fields: ["),
        ("require_keys: [name]", "require_keys: [name, note]"),
        ("{abs: 0.1}", "{abs: 0.05}"),
        ("{abs: 0.1}", "{min_delta: -0.1, max_delta: 0.05}"),
        ("{price: {abs: 0.1}}", "{}"),
        ("{price: {abs: 0.1}}", "{price: {abs: 0.1}, allow_empty_arrays: false}"),
        ("max_ratio: 2", "max_ratio: 1.5, max_seconds: 3"),
        ("criticality: high", "criticality: critical"),
        ("failure_count: 0", "failure_count: 7"),
        ("id: a", "id: a\nname: another"),
    ],
)
def test_what_asks_for_more_or_the_same_is_no_matter(old: str, new: str) -> None:
    assert found(old, new) == []


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


def test_a_placeholder_of_ones_own_that_means_more_now() -> None:
    record = RECORD.replace("<<any_uuid>>", "<<order_no>>")
    before, after = baseline(record), baseline(record.replace("<<order_no>>", "ORD-7"))
    assert weakened(before, after, WORDS, WORDS) == []
    narrow = replace(WORDS, own={"order_no": r"ORD-[89]"})
    assert weakened(before, after, narrow, WORDS) != []


def test_many_changes_are_each_told() -> None:
    assert len(found("name: Ada, price: 9.5", "name: B, price: 9.7")) == 2


@pytest.mark.parametrize(
    ("wide", "narrow", "held"),
    [
        ("a", "a.b", True),
        ("a.*", "a.b.c", True),
        ("**.c", "a.b.c", True),
        ("**", "a", True),
        ("a.*.c", "a.0.c", True),
        ("a.b", "a.*", False),
        ("a.b", "**.b", False),
        ("a.b", "a", False),
        ("a.**.c", "a.c", True),
    ],
)
def test_one_path_holds_another(wide: str, narrow: str, held: bool) -> None:
    assert covers(parse(wide), parse(narrow)) is held


ONE, TENTH = {"abs": 1}, {"abs": 0.1}
NAMES = {"type": "semantic", "method": "words"}
RANKED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"tolerance": {"a.b": ONE, "$.a.b": TENTH}}, {"tolerance": {"a.b": ONE}}, "abs 1 and abs 0.1 -> abs 1"),
    ({"tolerance": {"*": ONE, "**.b": TENTH}}, {"tolerance": {"*": ONE}}, "of **.b: abs 0.1 -> abs 1"),
    ({"tolerance": {"a.*": ONE, "a.b": TENTH}}, {"tolerance": {"a.*": ONE}}, "of a.b: abs 0.1 -> abs 1"),
    ({"tolerance": {"a.*": ONE, "*.b": TENTH}}, {"tolerance": {"a.*": ONE}}, "abs 1 where *.b had abs 0.1"),
    (
        {"tolerance": {"**": ONE, "**.b": TENTH}},
        {"tolerance": {"**": ONE, "**.b": TENTH, "a.*": ONE}},
        "abs 1 where **.b had abs 0.1",
    ),
    (
        {"ignore_fields": ["**.b"], "tolerance": {"a.b": ONE}},
        {"ignore_fields": ["**.b"]},
        "ignore_fields: **.b now applies where tolerance: a.b did",
    ),
    (
        {"fields": {"a.*": NAMES, "a.b": {"type": "structural"}}},
        {"fields": {"a.*": NAMES}},
        "fields: a.b: type: structural -> semantic",
    ),
]


@pytest.mark.parametrize(("then", "now", "told"), RANKED)
def test_what_gives_way_to_another_rule_is_told(then: dict[str, Any], now: dict[str, Any], told: str) -> None:
    output = {"a": {"b": 1, "c": 2}, "x": {"b": 3}}
    before, after = made(output, then), made(output, now)
    found = [way.message for way in weakened(before, after, WORDS, WORDS)]
    assert any(told in way for way in found), found
    assert weakened(before, before, WORDS, WORDS) == weakened(after, after, WORDS, WORDS) == []


PATHS = ["a", "b", "*.a", "a.*", "*.b", "a.b", "**.a", "**.b", "$.a", "$.a.b", "**.*"]
NUMBERED = st.dictionaries(
    st.sampled_from(["a", "b"]),
    st.one_of(st.integers(1, 3), st.dictionaries(st.sampled_from(["a", "b"]), st.integers(1, 3))),
)
RANKING = st.fixed_dictionaries(
    {},
    optional={
        "ignore_fields": st.lists(st.sampled_from(PATHS), max_size=1),
        "tolerance": st.dictionaries(
            st.sampled_from(["*", *PATHS]), st.sampled_from([ONE, TENTH, {"abs": 2}]), max_size=3
        ),
    },
)


@given(NUMBERED, NUMBERED, RANKING, RANKING)
def test_whatever_rule_decides_what_passes_now_is_never_missed(
    output: Any, answer: Any, then: Any, now: Any
) -> None:
    from baselinekit.errors import BaselinekitError

    try:
        before, after = made(output, then), made(output, now)
        failed = compile_baseline(before, WORDS).compare(Observation(answer, 0.0)).differences
        fails = compile_baseline(after, WORDS).compare(Observation(answer, 0.0)).differences
    except BaselinekitError:
        return
    assert weakened(before, before, WORDS, WORDS) == []
    if failed and not fails:
        assert weakened(before, after, WORDS, WORDS), (output, then, now, answer)


simple: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([1, 2, "x", "Y", True, None, "<<any_integer>>", "<<any_string>>", "<<any>>"]),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=2), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=4,
)
answers: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from([1, 2, "x", "Y", True, None]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from("ab"), inner, max_size=2)
    ),
    max_leaves=4,
)
rules = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["exact", "structural"]),
        "ignore_fields": st.lists(st.sampled_from(["a", "b", "*.a"]), max_size=1),
        "arrays": st.sampled_from([{"a": "ordered"}, {"a": "unordered"}]),
        "tolerance": st.sampled_from(
            [{"a": {"abs": 1}}, {"a": {"abs": 0.5}}, {"allow_missing_fields": True}]
        ),
    },
)


def made(output: Any, comparison: Any) -> Baseline:
    current = {"input": "x", "execution": {"type": "skill", "skill_name": "x"}}
    record = {"id": "a", "baseline": {"output": output}, "current": current, "comparison": comparison}
    return parse_record(record, ".")


@given(simple, simple, rules, rules, answers)
def test_f57_what_failed_then_and_passes_now_is_never_missed(
    old: Any, new: Any, then: Any, now: Any, answer: Any
) -> None:
    from baselinekit.errors import BaselinekitError

    try:
        before, after = made(old, then), made(new, now)
        failed = compile_baseline(before, WORDS).compare(Observation(answer, 0.0)).differences
        fails = compile_baseline(after, WORDS).compare(Observation(answer, 0.0)).differences
    except BaselinekitError:
        return
    if failed and not fails:
        assert weakened(before, after, WORDS, WORDS), (old, new, then, now, answer)


@given(simple, rules)
def test_what_is_the_same_is_no_weaker(output: Any, comparison: Any) -> None:
    assert weakened(made(output, comparison), made(output, comparison), WORDS, WORDS) == []
