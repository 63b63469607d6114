"""`require_keys`: each value that the path selects on its way has to have the rest of it."""

import pytest
import ruled

from baselinekit.model.values import Json

BOTH = [{"id": 1, "x": 2}, {"x": 2}]
FIRST = [{"id": 1, "x": 2}, {"x": 3}]
NO_ROWS: list[Json] = []

Row = tuple[str, Json, list[str]]
REQUIRED: list[Row] = [
    # the path, what came, and what is missing
    ("u.*.id", BOTH, ["u[1].id"]),
    ("$.u[*].id", BOTH, ["u[1].id"]),
    ("$.u[:1].id", BOTH, []),
    ("$.u[?(@.x == 2)].id", BOTH, ["u[1].id"]),
    ("$.u[?(@.x == 2)].id.n", FIRST, ["u[0].id.n"]),
    ("$.u[*]['id','x']", BOTH, ["u[1].id"]),
    ("$['u','v']", BOTH, ["v"]),
    ("$.u[0,2].x", BOTH, ["u[2]"]),
    ("$.u[?(@.x == 9)].id", BOTH, ["u"]),
    ("$.u[2:]", BOTH, ["u"]),
    ("u.*.id", NO_ROWS, []),
    ("u.*.id", None, ["u"]),
    ("**.nobody", BOTH, ["$"]),
    ("$..u[*].id", BOTH, ["u[1].id"]),
    ("$..[?(@.x == 2)].id", BOTH, ["u[1].id"]),
    ("$..[?(@.x == 9)].id", FIRST, ["$"]),
    ("$.u[*]..id", BOTH, ["u[1]"]),
    ("$.u['0']", BOTH, ['u."0"']),
    ("u.0.id", BOTH, []),
]


@pytest.mark.parametrize(("path", "came", "missing"), REQUIRED)
def test_require_keys_reports_selected_value_without_key(path: str, came: Json, missing: list[str]) -> None:
    rules = {"require_keys": [path], "ignore_values": ["u"]}
    found = ruled.compare({"n": 1, "u": came}, {"n": 1, "u": came}, rules)
    assert [shown for shown, _ in ruled.shown(found)] == missing


def test_require_keys_difference_names_its_path() -> None:
    rules = {"require_keys": ["$.u[?(@.x == 9)].id"]}
    (found,) = ruled.compare({"u": BOTH}, {"u": BOTH}, rules).differences
    assert (found.rule, found.note) == (
        "require_keys: $.u[?(@.x == 9)].id",
        "is required, and nothing here is what its path selects",
    )
