"""What other comparers promise, or are known to get wrong, in our words and with our rules.

The tables of published/ name no Python: one file a tool, and where selectors of RFC 9535 lead."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import ruled

from baselinekit.errors import InvalidInput
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json, Path as Place
from baselinekit.values.paths import find, parse

UNORDERED = {"arrays": {"**": "unordered"}}
SUBSET = {"arrays": {"**": "subset"}, "options": {"allow_additional_fields": True}}

CASES: list[tuple[str, Json, Json, dict[str, Any], bool]] = [
    # DeepDiff: known false passes and false fails of ignore_order and its relatives
    ("deepdiff: multiplicity under ignore_order", [1, 1, 2], [1, 2, 2], UNORDERED, False),
    ("deepdiff: True is not 1", {"a": True}, {"a": 1}, {}, False),
    ("deepdiff: True is not 1 inside unordered", [True, 2], [2, 1], UNORDERED, False),
    ("deepdiff: 1 and 1.0 are one number", {"a": 1}, {"a": 1.0}, {}, True),
    ("deepdiff: a tolerance holds inside unordered objects",
     [{"n": 1.0, "k": "a"}, {"n": 2.0, "k": "b"}], [{"n": 2.04, "k": "b"}, {"n": 0.96, "k": "a"}],
     {**UNORDERED, "tolerance": {"*": {"abs": 0.05}}}, True),
    ("deepdiff: and no wider",
     [{"n": 1.0, "k": "a"}, {"n": 2.0, "k": "b"}], [{"n": 2.06, "k": "b"}, {"n": 0.96, "k": "a"}],
     {**UNORDERED, "tolerance": {"*": {"abs": 0.05}}}, False),
    ("deepdiff: 2^53 and 2^53 + 1 under a tolerance and any order",
     [2**53, 5], [5, 2**53 + 1], {**UNORDERED, "tolerance": {"*": {"abs": 0.5}}}, False),
    ("deepdiff: a text is not a number", [1, "1"], ["1", "1"], UNORDERED, False),
    ("deepdiff: nested lists keep their multiplicity", [[1, 1], [2]], [[2], [1]], UNORDERED, False),
    # Karate
    ("karate: contains only, loose before strict", ["<<any>>", 1], [1, 2], UNORDERED, True),
    ("karate: contains only, strict before loose", [1, "<<any>>"], [2, 1], UNORDERED, True),
    ("karate: contains only refuses more", [1, 2], [1, 2, 3], UNORDERED, False),
    ("karate: contains", [3, 1], [1, 2, 3], SUBSET, True),
    ("karate: contains deep", {"a": [{"b": 1}]}, {"a": [{"b": 1, "c": 2}, {"b": 3}], "d": 1}, SUBSET, True),
    ("karate: contains deep refuses", {"a": [{"b": 2}]}, {"a": [{"b": 1}, {"b": 3}]}, SUBSET, False),
    ("karate: #present accepts null", {"a": "<<any>>"}, {"a": None}, {}, True),
    ("karate: #present needs the key", {"a": "<<any>>"}, {}, {}, False),
    ("karate: ##string may be absent", {"a": "<<any_string?>>"}, {}, {}, True),
    ("karate: ##string may be null", {"a": "<<any_string?|null>>"}, {"a": None}, {}, True),
    ("karate: #null needs the key", {"a": "<<any_null>>"}, {}, {}, False),
    ("karate: #regex matches the whole", {"a": "<<regex('[0-9]+')>>"}, {"a": "12x"}, {}, False),
    ("karate: #[] each", ["<<any_string>>"], ["a", "b"], {}, True),
    ("karate: match each of nothing", ["<<any_string>>"], [], {}, False),
    ("karate: #[2]", "<<length(2)>>", [1, 2], {"type": "structural"}, True),
    ("karate: decimals are exact", {"a": 0.1}, {"a": 0.10000000000000002}, {}, False),
    # JsonUnit
    ("json-unit: any-string", {"a": "<<any_string>>"}, {"a": 1}, {}, False),
    ("json-unit: any-number refuses a boolean", {"a": "<<any_number>>"}, {"a": True}, {}, False),
    ("json-unit: ignore needs the key", {"a": 1, "b": 1}, {"b": 1}, {"ignore_values": ["a"]}, False),
    ("json-unit: ignore-element does not", {"a": 1, "b": 1}, {"b": 1}, {"ignore_fields": ["a"]}, True),
    ("json-unit: IGNORING_ARRAY_ORDER", {"a": [1, [2, 3]]}, {"a": [[3, 2], 1]}, UNORDERED, True),
    ("json-unit: IGNORING_EXTRA_FIELDS", {"a": 1}, {"a": 1, "b": 2},
     {"options": {"allow_additional_fields": True}}, True),
    ("json-unit: IGNORING_EXTRA_ARRAY_ITEMS", [1, 2], [2, 5, 1], SUBSET, True),
    ("json-unit: tolerance", {"a": 1.0}, {"a": 1.009}, {"tolerance": {"*": {"abs": 0.01}}}, True),
    ("json-unit: tolerance zero", {"a": 1}, {"a": 1.00}, {"tolerance": {"*": {"abs": 0}}}, True),
    ("json-unit: missing is not null", {"a": None}, {}, {}, False),
    ("json-unit: options for one path alone", {"a": [1, 2], "b": [1, 2]}, {"a": [2, 1], "b": [2, 1]},
     {"arrays": {"a": "unordered"}}, False),
    # jd
    ("jd: sets of objects by key", [{"id": "foo", "a": 1}, {"id": "bar", "a": 2}],
     [{"id": "bar", "a": 2}, {"id": "foo", "a": 1}], {"arrays": {"$": {"by": "id"}}}, True),
    ("jd: the rest of the object counts", [{"id": "foo", "a": 1}], [{"id": "foo", "a": 2}],
     {"arrays": {"$": {"by": "id"}}}, False),
    ("jd: a multiset has as many", ["foo", "foo", "bar"], ["bar", "foo", "foo"], UNORDERED, True),
    ("jd: a multiset does not forget", ["foo", "foo", "bar"], ["bar", "foo"], UNORDERED, False),
    ("jd: precision", {"a": 1.01}, {"a": 1.02}, {"tolerance": {"a": {"abs": 0.01}}}, True),
    ("jd: precision in a set", [1.01, 5], [5, 1.02], {**UNORDERED, "tolerance": {"*": {"abs": 0.01}}}, True),
    ("jd: a list is not a set", [1, 2], [2, 1], {}, False),
    ("jd: an empty object is no null", {"a": {}}, {"a": None}, {}, False),
    # dirty-equals: a greedy list whose verdict hangs on the order
    ("dirty-equals: loose first", ["<<any_integer>>", "<<any_integer(1, 5)>>"], [3, 9], UNORDERED, True),
    ("dirty-equals: strict first", ["<<any_integer(1, 5)>>", "<<any_integer>>"], [3, 9], UNORDERED, True),
    # keploy: a whole array matched by its first element
    ("keploy: three times one is not one, two, three", [1, 1, 1], [1, 2, 3], UNORDERED, False),
    # Hoverfly: added fields
    ("hoverfly: an added field is a difference", {"a": {"b": 1}}, {"a": {"b": 1, "c": 1}}, {}, False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected", "actual", "rules", "passes"), CASES, ids=[case[0] for case in CASES]
)
def test_published(name: str, expected: Json, actual: Json, rules: dict[str, Any], passes: bool) -> None:
    assert ruled.compare(expected, actual, rules).passed is passes


def test_more_differences_than_anybody_shows_are_no_pass() -> None:
    """DeepDiff with max_diffs answers {} here."""
    found = ruled.compare({str(n): n for n in range(999)}, {str(n): -n - 1 for n in range(999)})
    assert (found.passed, found.count) == (False, 999)


def test_one_row_removed_at_the_head_of_fifty_is_one_change() -> None:
    """DeepDiff reports 245 here."""
    rows = [{"id": n, "a": n, "b": str(n), "c": [n], "d": None, "e": n / 7} for n in range(50)]
    assert ruled.compare(rows, rows[1:]).count == 1


PUBLISHED = Path(__file__).with_name("published")
TOOLS = {
    "karate": 270,
    "jsonunit": 178,
    "deepdiff": 159,
    "dirty_equals": 341,
    "jest": 227,
    "pact": 145,
    "pact_responses": 42,
    "jd": 122,
}
"""How many cases there are of each, so that none is lost unseen."""


class Published(NamedTuple):
    tool: str
    name: str
    expected: Json
    rules: dict[str, Any]
    actual: Json
    passes: bool


def published(tool: str) -> Iterator[Published]:
    """Rows of [what it shows, baseline, rules, outputs that pass, outputs that fail]."""
    for name, expected, rules, accepted, refused in _table(tool):
        for passes, outputs in ((True, accepted), (False, refused)):
            for actual in outputs:
                yield Published(tool, name, expected, rules, actual, passes)


def _table(name: str) -> Any:
    return json.loads((PUBLISHED / f"{name}.json").read_text("utf-8"))


@pytest.mark.parametrize("tool", TOOLS)
def test_their_verdict_is_ours(tool: str) -> None:
    cases = list(published(tool))
    wrong_passes = [case for case in cases if _passes(case) and not case.passes]
    wrong_fails = [case for case in cases if case.passes and not _passes(case)]
    assert (wrong_passes, wrong_fails, len(cases)) == ([], [], TOOLS[tool])


def _passes(case: Published) -> bool:
    recipe = "http" if case.tool.endswith("responses") else "skill"
    return ruled.compare(case.expected, case.actual, case.rules, recipe).passed


@pytest.mark.parametrize(
    ("tool", "name", "expected", "rules", "pass_there", "fail_there"),
    _table("otherwise"),
    ids=[f"{row[0]}: {row[1]}" for row in _table("otherwise")],
)
def test_where_another_tool_says_otherwise(
    tool: str,
    name: str,
    expected: Json,
    rules: dict[str, Any],
    pass_there: list[Json],
    fail_there: list[Json],
) -> None:
    """What docs/moving-in.md lists: here it fails, or passes, by design."""
    ours = [ruled.compare(expected, actual, rules).passed for actual in [*pass_there, *fail_there]]
    assert ours == [False] * len(pass_there) + [True] * len(fail_there)


SELECTORS = _table("jsonpath")
SELECTS: list[tuple[str, Json, list[list[str | int]]]] = [
    (selector, document, places)
    for document, selectors in SELECTORS["selects"]
    for selector, places in selectors.items()
    if selector not in SELECTORS["not read by jsonpath-ng"]
]
REFUSED = [
    selector
    for kind in ("invalid", "not supported", "not read by jsonpath-ng")
    for selector in SELECTORS[kind]
]


def test_how_many_selectors_there_are() -> None:
    assert (len(SELECTS), len(REFUSED), len(SELECTORS["read all the same"])) == (263, 310, 3)


@pytest.mark.parametrize("selector", REFUSED, ids=ascii)
def test_what_is_no_selector_is_refused(selector: str) -> None:
    with pytest.raises(InvalidInput):
        parse(selector)


@pytest.mark.parametrize("selector", SELECTORS["read all the same"], ids=ascii)
def test_what_is_read_although_the_standard_has_it_otherwise(selector: str) -> None:
    assert parse(selector).absolute


@pytest.mark.slow
@pytest.mark.parametrize(
    ("selector", "document", "places"), SELECTS, ids=[f"{n}: {row[0]!a}" for n, row in enumerate(SELECTS)]
)
def test_what_a_selector_selects_may_change_and_nothing_else(
    selector: str, document: Json, places: list[list[str | int]]
) -> None:
    """Each leaf in turn becomes something else. It passes if the selector leads to it, or to something around
    it, before and after."""
    assert sorted(map(repr, (path for path, _ in find(parse(selector), document)))) == sorted(
        repr(tuple(place)) for place in places
    )
    below = "$.doc" + selector[1:]
    stored: Json = {"keep": 1, "doc": document}
    matcher = ruled.matcher(stored, {"ignore_fields": [below]})
    before = {("doc", *place) for place in places}
    for leaf in _leaves(document, ("doc",)):
        for value in OTHERS:
            came = _with(stored, leaf, value)
            after = {path for path, _ in find(parse(below), came)}
            free = any(leaf[:length] in before & after for length in range(len(leaf) + 1))
            passed = matcher.compare(Observation(came, 0.0)).passed
            assert passed is (free or json.dumps(came) == json.dumps(stored)), (leaf, value)


OTHERS: list[Json] = ["another text", 98765, None, True, [], {"a": 1}, {"a": "b", "b": 2}]


def _leaves(value: Json, path: Place) -> Iterator[Place]:
    below = list(
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    if not below:
        yield path
    for key, child in below:
        yield from _leaves(child, (*path, key))


def _with(document: Json, path: Place, value: Json) -> Json:
    """A copy of the document with another value at one place."""
    if not path:
        return value
    copied: Any = copy.copy(document)
    copied[path[0]] = _with(copied[path[0]], path[1:], value)
    return copied
