"""Edits of every kind on files full of placeholders and comments: after a refresh the compare passes, and
what the edit did not touch is still there, byte for byte."""

import copy
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest
from desk import Desk

from baselinekit.files.languages import YAML
from baselinekit.placeholders.grammar import tokens_in

pytestmark = pytest.mark.slow

EDITS = 500 if os.environ.get("BASELINEKIT_THOROUGH") else 21
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


def edit(kind: str, source: random.Random, body: dict[str, Any]) -> int:
    """Change an answer; return how many placeholders the file may lose by it."""
    orders, totals = body["orders"], body["totals"]
    row, number = source.choice(orders), source.randint(500, 900)
    edits: dict[str, list[tuple[Any, Any, Any, int]]] = {
        "value": [
            (row["customer"], "name", f"New {number}", 0),
            (totals, "net", number, 0),
            (totals, "notes", "first line\nanother\n", 0),
            (row, "id", number, 0),  # by which a row is known
            (body["shop"], "new", [1, {"a": None}], 0),
        ],
        "placeholder": [(row, "ref", "no uuid", 1)],
        "retyped": [(row, "lines", "none", 2), (totals, "net", "ten", 0), (body, "shop", [1], 1)],
        "removed": [(row, "at", None, 1), (row, "customer", None, 1), (totals, "net", None, 0)],
        "inserted": [
            (body, "orders", [order(number), *orders], 0),
            (body, "orders", [*orders, order(number)], 0),
        ],
        "deleted": [(body, "orders", [other for other in orders if other is not row], 5)],
        "reordered": [(body, "orders", source.sample(orders, len(orders)), 0)],
    }
    place, key, new, lost = source.choice(edits[kind])
    if kind == "removed":
        del place[key]
    else:
        place[key] = new
    return lost


KINDS = ("value", "placeholder", "retyped", "removed", "inserted", "deleted", "reordered")


def placeholders(text: str) -> int:
    (document,) = YAML.load(text, "x.yaml")
    return len(list(tokens_in(document["baseline"]["output"])))


@pytest.mark.parametrize("kind", KINDS)
def test_refresh_after_any_edit_passes_and_keeps_the_rest(tmp_path: Path, kind: str) -> None:
    for number in range(EDITS // len(KINDS)):
        source = random.Random(f"{kind}-{number}")
        size = range(1, 1 + source.randint(3, 6))
        desk = Desk(tmp_path / str(number))
        file = desk.put("shop", FILE % rows(size))
        body = answer(size)
        before, changed = file.read_text(), copy.deepcopy(body)
        may_lose = edit(kind, source, changed)
        desk.says("shop", changed)
        if changed == body:
            continue
        assert desk.compare(record="never").summary.failed == 1
        assert not desk.refresh().failures
        after = file.read_text()
        assert placeholders(before) - placeholders(after) <= may_lose, after
        assert desk.compare(record="never").summary.passed == 1, after
        assert desk.pending() == []
        _outside_nothing_changed(before, after)
        if kind not in ("removed", "retyped", "deleted"):  # they take the comments of their lines with them
            assert [comment for comment in re.findall(r"# .*", before) if comment not in after] == []


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
