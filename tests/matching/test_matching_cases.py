"""The rules of comparison as a table that knows nothing of Python: cases.json.

A text in brackets is a heading. A group has a type, rules, and rows of [what it shows, expected, actual,
differences]; a difference is [path, kind], in the order of the document. No differences is a pass."""

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import ruled

from baselinekit.errors import InvalidInput
from baselinekit.model.values import ABSENT, Json
from baselinekit.values.places import value_at


class Case(NamedTuple):
    name: str
    rules: dict[str, Any]
    expected: Json
    actual: Json
    differences: list[list[str]]


def cases() -> Iterator[Case]:
    heading = ""
    for group in json.loads(Path(__file__).with_name("cases.json").read_text("utf-8")):
        if isinstance(group, list):
            heading = group[0]
            continue
        rules = {**group.get("rules", {}), **({"type": group["type"]} if "type" in group else {})}
        for name, expected, actual, differences in group["rows"]:
            yield Case(f"{heading}: {name}", rules, expected, actual, differences)


CASES = list(cases())


def below(*headings: str) -> Any:
    """The rows below some headings."""
    chosen = [case for case in CASES if case.name.startswith(headings)]
    return pytest.mark.parametrize("case", chosen, ids=[case.name for case in chosen])


@below("exact", "structural", "alignment")
def test_compare_reports_missing_key_other_value_and_moved_row(case: Case) -> None:
    check_differences(case)


@below("templates", "placeholders")
def test_compare_accepts_what_a_placeholder_accepts(case: Case) -> None:
    check_differences(case)


@below("numeric", "semantic", "fields")
def test_compare_by_numbers_by_meaning_and_by_field(case: Case) -> None:
    check_differences(case)


@below("ignore_fields", "ignore_values", "require_keys")
def test_compare_leaves_out_ignored_fields_and_requires_keys(case: Case) -> None:
    check_differences(case)


@below("arrays")
def test_compare_pairs_rows_of_unordered_array_in_any_order(case: Case) -> None:
    check_differences(case)


def check_differences(case: Case) -> None:
    before = copy.deepcopy((case.expected, case.actual))
    found = ruled.compare(case.expected, case.actual, case.rules)
    assert ruled.shown(found) == case.differences
    assert found.passed == (not case.differences)
    assert found.count == len(case.differences)
    assert (case.expected, case.actual) == before
    if found.passed:
        assert found.resolved is case.expected
    elif not case.rules.get("require_keys"):
        with suppress(InvalidInput):  # there may be no number left to compare, no key left to pair by
            assert ruled.shown(ruled.compare(found.resolved, case.actual, case.rules)) == []


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_difference_paths_lead_to_expected_and_actual_values(case: Case) -> None:
    for difference in ruled.compare(case.expected, case.actual, case.rules).differences:
        if (difference.rule or "").startswith(("require_keys", "allow_field_reordering")):
            continue
        if difference.kind == "extra":
            assert difference.expected is ABSENT
            assert value_at(case.actual, difference.path) is difference.actual
            assert isinstance(value_at(case.expected, difference.at), dict | list)
        elif difference.kind == "missing":
            assert difference.actual is ABSENT
            assert value_at(case.expected, difference.at) is difference.expected
        else:
            assert value_at(case.expected, difference.at) is difference.expected
            assert value_at(case.actual, difference.path) is difference.actual
