"""What other comparers promise, or are known to get wrong, in our words and with our rules.

The tables of published/ name no Python: one file a tool, and where selectors of RFC 9535 lead."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import ruled

from baselinekit.errors import InvalidInput
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json
from baselinekit.values.paths import find, parse
from baselinekit.values.places import children, places, with_values

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
def test_compare_published_cases_gives_their_verdict(tool: str) -> None:
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
def test_compare_documented_deviations_from_other_tools(
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


@pytest.mark.parametrize("selector", REFUSED, ids=ascii)
def test_parse_unsupported_selector_is_refused(selector: str) -> None:
    with pytest.raises(InvalidInput):
        parse(selector)


@pytest.mark.parametrize("selector", SELECTORS["read all the same"], ids=ascii)
def test_parse_accepts_lenient_selector(selector: str) -> None:
    assert parse(selector).absolute


@pytest.mark.slow
@pytest.mark.parametrize(
    ("selector", "document", "selected"), SELECTS, ids=[f"{n}: {row[0]!a}" for n, row in enumerate(SELECTS)]
)
def test_ignore_fields_selector_allows_changes_only_where_it_selects(
    selector: str, document: Json, selected: list[list[str | int]]
) -> None:
    """Each leaf in turn becomes something else. It passes if the selector leads to it, or to something around
    it, before and after."""
    assert sorted(map(repr, (path for path, _ in find(parse(selector), document)))) == sorted(
        repr(tuple(place)) for place in selected
    )
    below = "$.doc" + selector[1:]
    stored: Json = {"keep": 1, "doc": document}
    matcher = ruled.matcher(stored, {"ignore_fields": [below]})
    before = {("doc", *place) for place in selected}
    for leaf in [path for path, held in places(document, ("doc",)) if not any(children(held))]:
        for value in OTHERS:
            came = with_values(stored, {leaf: value})
            after = {path for path, _ in find(parse(below), came)}
            free = any(leaf[:length] in before & after for length in range(len(leaf) + 1))
            passed = matcher.compare(Observation(came, 0.0)).passed
            assert passed is (free or json.dumps(came) == json.dumps(stored)), (leaf, value)


OTHERS: list[Json] = ["another text", 98765, None, True, [], {"a": 1}, {"a": "b", "b": 2}]
