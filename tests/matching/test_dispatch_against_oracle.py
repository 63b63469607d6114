"""The matcher against an oracle that was written from the specification alone (oracle.py), on random
documents and rules; and laws that need no oracle. 3,000 pairs; BASELINEKIT_THOROUGH=1 has 200,000."""

import copy
import os
import random
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from asked import answer, disagrees, pasteable, shrunken
from hypothesis import example, given, settings, strategies as st
from oracle import verdicts
from oracle_paths import below, value_at
from oracle_rules import Case
from randomrules import KINDS, document, random_case, shuffled

THOROUGH = bool(os.environ.get("BASELINEKIT_THOROUGH"))
SIZE = 1_000 if THOROUGH else 300
CHUNKS = range(200 if THOROUGH else 10)
LAWFUL = range(10_000 if THOROUGH else 400)
SHOWN = 3

STRICTER: dict[int, tuple[str, Case]] = {
    95197: (
        "a template wants an element, though any number of them is left out but for one",
        Case(
            {"items": [{}], "meta": {}},
            {"items": [], "meta": {}},
            {
                "ignore_values": ["**.items.*"],
                "tolerance": {"items[0].id": {"abs": 1}},
                "arrays": {"items": "each"},
            },
        ),
    ),
    99548: (
        "a filter that reads a placeholder may hold: the element is left out, and the other side's is not",
        Case(
            {"rows": ["<<any>>"], "n": None},
            {"rows": [{"id": 2}], "n": None},
            {"ignore_values": ["$.rows[?(!@.id || @.id > 2)]"], "arrays": {"$.rows": "unordered"}},
        ),
    ),
    179158: (
        "in any order, an element that an index holds back from being left out looks for a partner alone",
        Case(
            {"meta": {}, "tags": ["red", True]},
            {"meta": {}, "tags": [True, "red"]},
            {
                "ignore_fields": ["**.tags.*"],
                "tolerance": {"$.tags[0]": {"max_delta": 0.5}},
                "arrays": {"$.tags": "unordered"},
            },
        ),
    ),
}
"""Of 200,000 the pairs that the matcher fails and the oracle passes."""

LOOSER: dict[int, tuple[str, Case]] = {
    87814: (
        "for a row whose value does not count any row may stand that another rule leaves out",
        Case(
            {"rows": [{"price": 1.0}, {"price": 1, "role": "guest"}]},
            {"rows": [{"price": 1.0}, None]},
            {
                "ignore_values": ["$.rows[?(@.price != 1.0)]", "$['rows'][?(@.role == 'guest')]"],
                "arrays": {"rows": "subset"},
            },
        ),
    ),
}
"""The one that it passes and the oracle fails: no rule selects both rows, and each is selected by one."""


def report(found: list[tuple[int, Case]], wrong: Any) -> str:
    """The first few wrong cases, made small, so that they can be pasted into a test."""
    lines = [f"{len(found)} wrong"]
    for seed, case in found[:SHOWN]:
        small = shrunken(case, wrong)
        lines.append(f"random_case({seed}): {wrong(small)}\n{pasteable(small)}")
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", CHUNKS)
def test_the_matcher_answers_as_the_specification_says(chunk: int) -> None:
    cases = ((seed, random_case(seed)) for seed in range(chunk * SIZE, (chunk + 1) * SIZE))
    known = {*STRICTER, *LOOSER}
    found = [(seed, case) for seed, case in cases if seed not in known and disagrees(case)]
    assert not found, report(found, disagrees)


@pytest.mark.parametrize(("why", "case"), STRICTER.values(), ids=map(str, STRICTER))
def test_where_the_matcher_is_stricter(why: str, case: Case) -> None:
    assert (answer(case)[0], verdicts(case)) == ("fail", {"pass"}), why


@pytest.mark.parametrize(("why", "case"), LOOSER.values(), ids=map(str, LOOSER))
def test_where_the_matcher_is_looser(why: str, case: Case) -> None:
    assert (answer(case)[0], verdicts(case)) == ("pass", {"fail"}), why


SELECTORS = {
    "wildcard": r"\*",
    "deep": r"\*\*|\.\.",
    "index": r"\[\d+\]",
    "negative index": r"\[-\d+\]",
    "slice": r"\[[-\d]*:",
    "union": r"\[\d+,",
    "quoted name": r"\['|\"",
    "filter": r"\[\?",
    "filter ==": r"\?[^\]]*==",
    "filter !=": r"\?[^\]]*!=",
    "filter <": r"\?[^\]]*[<>]",
    "filter existence or negation": r"\?\(?!?@\.\w+[\])]",
    "filter && ||": r"\?[^\]]*(&&|\|\|)",
}
PLACED = ("?>>", "|null", " as ", "any_", "one_of", "number(", "regex", "length", "{{any_")


@cache
def counted() -> tuple[Counter[str], int]:
    seeds = range(2_000)
    found: Counter[str] = Counter()
    for case in map(random_case, seeds):
        allowed = verdicts(case)
        found["undecided" if {"pass", "fail"} <= allowed else min(allowed)] += 1
        paths = [path for kind in KINDS for path in case.rules.get(kind, ())]
        kinds = {*case.rules, f"type {case.rules.get('type')}"} - {"type"}
        kinds |= {f"arrays {mode}" for mode in case.rules.get("arrays", {}).values()}
        kinds |= {name for name, form in SELECTORS.items() if any(re.search(form, path) for path in paths)}
        kinds |= {form for form in PLACED if form in repr(case.expected)}
        kinds |= {"tolerance *"} if "*" in case.rules.get("tolerance", {}) else set()
        kinds |= {"http"} if case.http else set()
        found.update(kinds)
    return found, len(seeds)


@pytest.mark.slow
def test_the_cases_are_worth_asking() -> None:
    found, size = counted()
    assert min(found["pass"], found["fail"]) >= 0.25 * size, found
    assert found["undecided"] <= 0.12 * size, found
    assert {form: found[form] for form in PLACED if found[form] < 0.01 * size} == {}
    wanted = {*KINDS, *SELECTORS, "options", "tolerance *", "http"}
    wanted |= {f"type {name}" for name in ("exact", "structural", "numeric", None)}
    wanted |= {f"arrays {mode}" for mode in ("unordered", "ordered", "each", "subset", {"by": "id"})}
    assert {name: found[name] for name in wanted if found[name] < 0.02 * size} == {}


USERS = [{"id": 1, "role": "admin", "mfa": True}, {"id": 2, "role": "guest", "mfa": False}]
SLACK = {"users": USERS}
NO_MFA = {"users": [{**USERS[0], "mfa": False}, USERS[1]]}
NO_GUEST_MFA = {"users": [USERS[0], {**USERS[1], "mfa": True}]}


@pytest.mark.parametrize(
    ("expected", "actual", "rules", "verdict"),
    [
        ({"a": 1}, {"a": 1.0}, {}, "pass"),
        ({"a": 1}, {"a": True}, {}, "fail"),
        ({"a": 1}, {"a": 1.0}, {"type": "exact"}, "fail"),
        ({"a": 1}, {"a": 1, "b": 2}, {}, "fail"),
        ({"a": 1}, {"a": 1, "b": 2}, {"tolerance": {"allow_additional_fields": True}}, "pass"),
        ({"a": "x\r\n"}, {"a": "x\n"}, {"type": "exact"}, "pass"),
        ({"a": [1, 1, 2]}, {"a": [2, 1, 1]}, {"arrays": {"a": "unordered"}}, "pass"),
        ({"a": [1, 1, 2]}, {"a": [2, 2, 1]}, {"arrays": {"a": "unordered"}}, "fail"),
        ({"a": [1]}, {"a": [1, 2]}, {"arrays": {"a": "subset"}}, "pass"),
        ({"a": ["<<any_integer>>"]}, {"a": [1, 2]}, {}, "pass"),
        ({"a": ["<<any_integer>>"]}, {"a": []}, {}, "fail"),
        ({"a": ["<<any_integer>>"]}, {"a": []}, {"options": {"allow_empty_arrays": True}}, "pass"),
        (
            {"a": "<<any_integer|null as k>>", "b": "<<any_integer|null as k>>"},
            {"a": None, "b": 1},
            {},
            "fail",
        ),
        ({"a": 4.2}, {"a": 3.9}, {"type": "numeric", "tolerance": {"a": {"min_delta": -0.3}}}, "pass"),
        ([0.93, 7], ["cpu", 0.93, 7], {"type": "numeric"}, "fail"),
        (
            {"price": 1.0},
            {"price": 50.0},
            {"tolerance": {"*": {"abs": 100}, "**.price": {"abs": 0.01}}},
            "fail",
        ),
        (SLACK, NO_MFA, {"ignore_fields": ["$.users[?(@.role != 'admin')]"]}, "fail"),
        (SLACK, NO_GUEST_MFA, {"ignore_fields": ["$.users[?(@.role != 'admin')]"]}, "pass"),
        (SLACK, {"users": []}, {"ignore_values": ["$.users[?(@.role != 'admin')]"]}, "fail"),
        (SLACK, {"users": USERS[::-1]}, {"arrays": {"users": {"by": "id"}}}, "pass"),
        (SLACK, {"users": USERS[:1]}, {"ignore_fields": ["users[1]"]}, "pass"),
        (SLACK, SLACK, {"require_keys": ["users.*.email"]}, "fail"),
    ],
)
def test_the_oracle_says_what_the_specification_says(
    expected: Any, actual: Any, rules: dict[str, Any], verdict: str
) -> None:
    assert verdicts(Case(expected, actual, rules)) == {verdict}


@pytest.mark.parametrize("path", ["x", "users.*.id"])
def test_a_path_that_begins_at_both_roots_is_refused(path: str) -> None:
    inner = {"x": 1, "users": [{"id": 1}]}
    stored = {"status": 200, "body": {**inner, "status": 1, "body": inner}}
    assert verdicts(Case(stored, stored, {"ignore_fields": [f"body.{path}"]}, True)) == {"refused"}


# Laws that hold whatever the specification says of a case.


def lawful(wrong: Any) -> None:
    cases = [(seed, random_case(seed)) for seed in LAWFUL]
    found = [(seed, case) for seed, case in cases if wrong(case)]
    assert not found, report(found, wrong)


def passes(case: Case) -> str:
    return answer(case)[0]


def test_an_output_is_what_it_is() -> None:
    """Whatever the rules, but for those that an output may break by itself: required keys, each."""

    def wrong(case: Case) -> str | None:
        rules = {kind: rule for kind, rule in case.rules.items() if kind != "require_keys"}
        if "each" in case.rules.get("arrays", {}).values():
            return None
        said = passes(Case(case.actual, case.actual, rules, case.http))
        return None if said in ("pass", "refused") else f"the actual output is not itself: {said}"

    lawful(wrong)


def turned(value: Any) -> Any:
    return dict(reversed(value.items())) if isinstance(value, dict) else value[::-1]


@pytest.mark.slow
def test_the_order_in_which_rules_are_written_never_counts() -> None:
    def wrong(case: Case) -> str | None:
        rules = {kind: turned(rule) if kind in KINDS else rule for kind, rule in case.rules.items()}
        one, other = passes(case), passes(Case(case.expected, case.actual, rules, case.http))
        return None if one == other else f"{one} as they are written, {other} the other way round"

    lawful(wrong)


@pytest.mark.slow
def test_the_order_of_keys_never_counts() -> None:
    def wrong(case: Case) -> str | None:
        options = {**case.rules.get("tolerance", {}), **case.rules.get("options", {})}
        if options.get("allow_field_reordering") is False:
            return None
        pick, outputs = random.Random(7), copy.deepcopy([case.expected, case.actual])
        for place, value in below(outputs):
            if isinstance(value, dict):
                shuffled(pick, value_at(outputs, place))
        one, other = passes(case), passes(Case(outputs[0], outputs[1], case.rules, case.http))
        return None if one == other else f"{one} with these keys, {other} with the same in another order"

    lawful(wrong)


TYPES: list[dict[str, Any]] = [
    {},
    {"type": "structural"},
    {"type": "exact"},
    {"type": "numeric"},
    {"type": "semantic", "method": "words"},
]


def with_fewer_ignored(rules: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Without one of the rules that ignore, and without all. A value that is ignored has to be there where
    `ignore_values` is more exact than `ignore_fields`: there each kind is left out as a whole."""
    kinds = [kind for kind in ("ignore_fields", "ignore_values") if rules.get(kind)]
    for kind in kinds if len(kinds) == 1 else kinds[:1]:
        for at in range(len(rules[kind])):
            yield {**rules, kind: rules[kind][:at] + rules[kind][at + 1 :]}
    yield {name: rule for name, rule in rules.items() if name not in kinds}


@pytest.mark.slow
@pytest.mark.parametrize("type", TYPES, ids=str)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=3_000 if THOROUGH else 300)
@example(seed=1158)
@example(seed=2845)
def test_an_ignore_rule_never_makes_a_comparison_stricter(type: dict[str, Any], seed: int) -> None:
    case = random_case(seed)
    rules = {**case.rules, **type}
    if type.get("type") in ("exact", "numeric"):
        rules.pop("arrays", None)
    if passes(Case(case.expected, case.actual, rules, case.http)) == "fail":
        for fewer in with_fewer_ignored(rules):
            without = passes(Case(case.expected, case.actual, fewer, case.http))
            assert without != "pass", (case.expected, case.actual, rules, fewer)


IGNORED: list[tuple[Any, Any, dict[str, Any]]] = [
    ({"names": ["x"], "n": 1}, {"n": 1}, {"type": "numeric", "ignore_fields": ["names.*"]}),
    ({"names": ["x"], "n": 1}, {"n": 1, "names": 2}, {"type": "numeric", "ignore_values": ["names.*"]}),
    ({"name": "x", "n": 1}, {"n": 1}, {"type": "numeric", "ignore_values": ["name"]}),
    ({"a": {"s": "x"}, "n": 1}, {"n": 1}, {"type": "numeric", "ignore_fields": ["a.s"]}),
    ({"a": ["x", "y"], "n": 1}, {"n": 1}, {"type": "numeric", "ignore_fields": ["$.a[?(@ == 'x')]"]}),
    ({"a": "<<any?>>", "n": 1}, {"n": 1}, {"ignore_values": ["a"]}),
    (
        [{"n": 1, "a": "<<any?>>"}, {"n": 1, "a": "x"}],
        [{"n": 1}, {"n": 1, "a": "y"}],
        {"ignore_values": ["$[*].a"]},
    ),
]


@pytest.mark.parametrize(("stored", "actual", "rules"), IGNORED, ids=str)
def test_what_need_not_be_there_need_not_be_there_ignored(
    stored: Any, actual: Any, rules: dict[str, Any]
) -> None:
    assert passes(Case(stored, actual, rules)) == "pass"


def test_an_ignored_value_of_a_row_without_a_placeholder_must_be_there() -> None:
    rows = [{"n": 1, "a": "<<any?>>"}, {"n": 1, "a": "x"}]
    assert passes(Case(rows, [{"n": 1}, {"n": 1}], {"ignore_values": ["$[*].a"]})) == "fail"


@pytest.mark.slow
@pytest.mark.parametrize(
    "rules", [{}, {"type": "exact"}, {"arrays": {"**.rows": "unordered", "**.tags": "unordered"}}]
)
def test_a_row_more_or_less_never_passes(rules: dict[str, Any]) -> None:
    for seed in LAWFUL:
        pick = random.Random(seed)
        stored = document(pick)
        for place, value in below(stored):
            if isinstance(value, list):
                actual = copy.deepcopy(stored)
                rows = value_at(actual, place)
                rows.insert(pick.randint(0, len(rows)), {"new": 1})
                assert passes(Case(stored, actual, rules)) == "fail", (stored, actual)
                assert passes(Case(actual, stored, rules)) == "fail", (actual, stored)
