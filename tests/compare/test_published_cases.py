"""What other comparers promise, or are known to get wrong, in our words."""

from typing import Any

import pytest
import ruled

from baselinekit.model.values import Json

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
    ("deepdiff: a text is no number", [1, "1"], ["1", "1"], UNORDERED, False),
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
