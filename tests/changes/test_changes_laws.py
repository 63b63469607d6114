"""Edits of every kind on files full of placeholders and comments: after a refresh the compare passes, and
what the edit did not touch is still there, byte for byte."""

import copy
import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from desk import Desk

from baselinekit.files.languages import YAML
from baselinekit.placeholders.grammar import tokens_in

pytestmark = pytest.mark.slow

EDITS = 500 if os.environ.get("BASELINEKIT_THOROUGH") else 70
UUID = "0190163d-8694-739b-aea5-96{:010x}"
FILE = """\
status: 200
body:
  # everything about the shop
  shop: {name: 'Corner',   url: "https://shop.example/<<any_integer>>"}   # it moves
  orders:                       # newest first
%s
  totals:
    net: 10.50                  # without tax
    at: <<any_iso_datetime>>
    notes: |
      first line
      second line
  codes: [ A1, <<any_string(2)>>, C3 ]
"""
ROW = """\
    - id: {n}          # order {n}
      ref: "<<any_uuid>>"
      at: <<any_iso_datetime>>   # when
      customer:
        name: 'Customer {n}'
        link: /c/<<any_integer>>/orders
      lines:
        - {{sku: S{n}, qty: {n}, price: <<any_number>>}}
        - {{sku: T{n}, qty: 1, price: <<any_number>>}}
"""


def rows(numbers: range) -> str:
    return "".join(ROW.format(n=n) for n in numbers).rstrip("\n")


def order(n: int) -> dict[str, Any]:
    return {
        "id": n,
        "ref": UUID.format(n),
        "at": "2026-01-01T00:00:00Z",
        "customer": {"name": f"Customer {n}", "link": f"/c/{n}/orders"},
        "lines": [{"sku": f"S{n}", "qty": n, "price": 1.5}, {"sku": f"T{n}", "qty": 1, "price": 2}],
    }


def answer(numbers: range) -> dict[str, Any]:
    return {
        "shop": {"name": "Corner", "url": "https://shop.example/7"},
        "orders": [order(n) for n in numbers],
        "totals": {"net": 10.5, "at": "2026-01-01T00:00:00Z", "notes": "first line\nsecond line\n"},
        "codes": ["A1", "xy", "C3"],
    }


Body = dict[str, Any]
Edit = Callable[[random.Random, Body], int]
"""Changes an answer, and says how many placeholders the file may lose by it."""

IN_A_ROW = 5


def some(source: random.Random, body: Body) -> dict[str, Any]:
    return source.choice(body["orders"])


def value(source: random.Random, body: Body) -> int:
    place, key, new = source.choice(
        [
            (some(source, body)["customer"], "name", f"New {source.random()}"),
            (body["totals"], "net", source.randint(20, 99)),
            (body["totals"], "notes", "first line\nanother\n"),
            (some(source, body), "id", source.randint(1000, 2000)),  # by which a row is known
            (body["codes"], 0, "Z9"),
            (body["shop"], "new", [1, {"a": None}]),
        ]
    )
    place[key] = new
    return 0


def placeholder(source: random.Random, body: Body) -> int:
    some(source, body)["ref"] = "no uuid"
    return 1


def removed(source: random.Random, body: Body) -> int:
    place, key, lost = source.choice(
        [(some(source, body), "at", 1), (some(source, body), "customer", 1), (body["totals"], "net", 0)]
    )
    del place[key]
    return lost


def retyped(source: random.Random, body: Body) -> int:
    place, key, new, lost = source.choice(
        [(some(source, body), "lines", "none", 2), (body["totals"], "net", "ten", 0), (body, "shop", [1], 1)]
    )
    place[key] = new
    return lost


def inserted(source: random.Random, body: Body) -> int:
    body["orders"].insert(source.randint(0, len(body["orders"])), order(source.randint(500, 900)))
    return 0


def deleted(source: random.Random, body: Body) -> int:
    del body["orders"][source.randrange(len(body["orders"]))]
    return IN_A_ROW


def reordered(source: random.Random, body: Body) -> int:
    source.shuffle(body["orders"])
    return 0


KINDS: list[Edit] = [value, placeholder, removed, retyped, inserted, deleted, reordered]


def placeholders(text: str) -> int:
    (document,) = YAML.load(text, "x.yaml")
    return len(list(tokens_in(document["baseline"]["output"])))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_after_any_edit_the_compare_passes_and_the_rest_is_as_it_was(tmp_path: Path, kind: Edit) -> None:
    for number in range(EDITS // len(KINDS)):
        source = random.Random(f"{kind.__name__}-{number}")
        size = range(1, 1 + source.randint(3, 6))
        here = Desk(tmp_path / str(number))
        file = here.put("shop", FILE % rows(size))
        body = answer(size)
        here.says("shop", body)
        assert here.compare().summary.passed == 1
        before = file.read_text()
        changed = copy.deepcopy(body)
        may_lose = kind(source, changed)
        here.says("shop", changed)
        report = here.compare(record="never")
        if changed == body:
            continue
        assert report.summary.failed == 1
        applied = here.refresh()
        assert not applied.failures, [str(problem) for problem in applied.failures]
        after = file.read_text()
        assert placeholders(before) - placeholders(after) <= may_lose, after
        assert here.compare(record="never").summary.passed == 1, after
        assert here.pending() == []
        _outside_nothing_changed(before, after)
        _comments_stay(before, after, kind)


def _outside_nothing_changed(before: str, after: str) -> None:
    """But for what is noted of the new output."""
    head, tail = "  output:\n", "  captured_at: "
    assert before[: before.index(head)] == after[: after.index(head)]
    rest = after[after.index(tail) :]
    rest = re.sub(r"  environment:\n(    .*\n)+", "", rest)
    expected = before[before.index(tail) :]
    expected = re.sub(r'captured_at: ".*"', 'captured_at: "2026-11-21T10:00:00Z"', expected)
    expected = expected.replace("failure_count: 3", "failure_count: 0")
    assert rest == expected


def _comments_stay(before: str, after: str, kind: Edit) -> None:
    if kind in (removed, retyped, deleted):  # they take the comments of their lines with them
        return
    for comment in re.findall(r"# .*", before):
        assert comment in after, (comment, after)
