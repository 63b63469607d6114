"""Lists that move by themselves, learnt by refresh --learn: with a rule for their order, or one row that
describes all; and how a person's word that nothing was changed is taken."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st
from learning_desk import desk_of, learn, lists, passes, stays, text_of
from ticking import iso

from baselinekit.placeholders.grammar import escape_value
from baselinekit.values.paths import render


def jobs(now: float, number: int) -> Any:
    rows = [
        {"name": f"job-{n}", "at": iso(now), "took": n + 0.5, "kind": "backup", "tags": ["a", "b"]}
        for n in range(number % 3 + 1)
    ]
    return {"queue": "main", "jobs": rows}


JOBS = """queue: main
jobs:
  - {name: job-0, at: "2024-01-20T10:30:00Z", took: 0.5, kind: backup, tags: [a, b]}
"""


def test_learn_describes_rows_that_come_and_go_by_one_row(tmp_path: Path) -> None:
    desk = desk_of(tmp_path, jobs, JOBS)
    plan = learn(desk)
    assert (stays(plan), lists(plan)) == ([], {"body.jobs": "each"})
    assert [(render(item.path), item.proposal.text) for item in plan.lesson.volatile] == [
        ("body.jobs.*.name", "<<any_nonempty_string>>"),
        ("body.jobs.*.at", "<<any_iso_datetime>>"),
        ("body.jobs.*.took", "<<any_number>>"),
    ]
    assert "body.jobs: each" in text_of(desk)
    assert 'body.jobs.*.name: "3 replays: job-0, job-1, job-2"' in text_of(desk)
    assert all(passes(desk) for _ in range(6))


ROW = {"name": "job-9", "at": "2026-11-22T10:00:00Z", "took": 9.5, "kind": "backup", "tags": ["a", "b"]}
WRONG: list[tuple[str, Any]] = [
    ("no row", []),
    ("a value that was the same in all rows", [ROW, {**ROW, "kind": "restore"}]),
    ("another type", [ROW, {**ROW, "took": "9.5"}]),
    ("no moment", [{**ROW, "at": "soon"}]),
    ("a key more", [{**ROW, "error": "x"}]),
    ("a key less", [ROW, {key: value for key, value in ROW.items() if key != "took"}]),
]


def test_compare_reports_values_that_no_learnt_row_had(tmp_path: Path) -> None:
    desk = desk_of(tmp_path, jobs, JOBS)
    learn(desk)
    assert passes(desk, {"queue": "main", "jobs": [ROW] * 7})
    assert not passes(desk, {"queue": "other", "jobs": [ROW]})
    assert [name for name, rows in WRONG if passes(desk, {"queue": "main", "jobs": rows})] == []


def test_learn_keeps_the_rows_that_every_answer_has(tmp_path: Path) -> None:
    """A row of the moment among a catalogue: no price of the others is given up for it."""

    def answer(now: float, number: int) -> Any:
        extra = [{"name": "offer", "size": number}] if number % 2 else []
        return {"rows": [*names("ab", "abc"), *extra, *names("a", "abcd", "b")]}

    desk = desk_of(tmp_path, answer, f"rows: {json.dumps(names('ab', 'abc', 'a', 'abcd', 'b'))}")
    plan = learn(desk)
    assert (stays(plan), lists(plan)) == ([], {"body.rows": "subset"})
    assert all(passes(desk) for _ in range(4))
    assert passes(desk, {"rows": names("ab", "abc", "a", "abcd", "b", "xyz")})
    assert not passes(desk, {"rows": names("ab", "abc", "a", "abcd", "xyz")})
    changed = [*names("ab", "abc", "a", "abcd"), {"name": "b", "size": 9}]
    assert not passes(desk, {"rows": changed})
    desk.service["/x"] = lambda now, number: {"rows": answer(now, number)["rows"][1:]}
    assert stays(learn(desk)) == ["body.rows[0]"]


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (("12", "7", "3"), "<<any_digits>>"),
        (("2026-11-22", "2026-11-21", "2025-01-30"), "<<any_iso_date>>"),
        ((1, None, 3), "<<any_integer(0)|null>>"),
        (([], [2], [3]), "<<any_array>>"),
        (("a <<any>>", "b", "c"), "<<any_nonempty_string>>"),
    ],
)
def test_learn_describes_rows_narrowly(tmp_path: Path, values: tuple[Any, ...], text: str) -> None:
    rows = [{"v": value, "same": "<<any>> x"} for value in values]
    stored = f"rows:\n  - {json.dumps(escape_value(rows[0]))}\n"
    desk = desk_of(tmp_path, lambda now, number: {"rows": some(rows, number)}, stored)
    plan = learn(desk)
    assert (stays(plan), lists(plan)) == ([], {"body.rows": "each"})
    assert text in text_of(desk)
    assert all(passes(desk) for _ in range(3))
    assert not passes(desk, {"rows": [{"v": values[0], "same": "y x"}]})


def some(rows: list[Any], number: int) -> list[Any]:
    """Some of three rows, of which none is there each time."""
    return [rows[:1], rows[1:], rows][number % 3]


def names(*rows: str) -> list[dict[str, Any]]:
    return [{"name": row, "size": len(row)} for row in rows]


FILE = "rows:\n  - {name: ab, size: 2}\n  - {name: abc, size: 3}\n  - {name: a, size: 1}\n"
AGREE = [names("ab", "abc", "a", "x"), names("a", "abc", "ab"), names("ab", "xyz", "a")]


@pytest.mark.parametrize("rows", AGREE)
def test_learn_refuses_a_list_on_which_all_answers_agree(tmp_path: Path, rows: Any) -> None:
    desk = desk_of(tmp_path, lambda now, number: {"rows": rows}, FILE)
    before = text_of(desk)
    plan = learn(desk)
    assert plan.lesson.refusals
    assert not plan.lesson.lists
    assert text_of(desk) == before
    assert not passes(desk)


def test_learn_of_rows_in_changing_order_makes_them_unordered(tmp_path: Path) -> None:
    def answer(now: float, number: int) -> Any:
        rows = names("ab", "abc", "a")
        return {"rows": rows[number % 3 :] + rows[: number % 3]}

    desk = desk_of(tmp_path, answer, FILE)
    plan = learn(desk)
    assert (stays(plan), lists(plan)) == ([], {"body.rows": "unordered"})
    assert all(passes(desk) for _ in range(4))
    assert passes(desk, {"rows": names("a", "abc", "ab")})
    assert not passes(desk, {"rows": names("a", "abc")})
    assert not passes(desk, {"rows": names("a", "abc", "ax")})
    assert not passes(desk, {"rows": [*names("a", "abc"), {"name": "ab", "size": 9}]})


def test_learn_of_varying_rows_in_changing_order_pairs_them_by_name(tmp_path: Path) -> None:
    def answer(now: float, number: int) -> Any:
        rows = [{**row, "at": iso(now)} for row in names("ab", "abc", "a")]
        return {"rows": rows[number % 3 :] + rows[: number % 3]}

    stored = FILE.replace("}", ', at: "2024-01-20T10:30:00Z"}')
    desk = desk_of(tmp_path, answer, stored)
    plan = learn(desk)
    assert (stays(plan), lists(plan)) == ([], {"body.rows": "by name"})
    assert "body.rows:\n" in text_of(desk) or "{by: name}" in text_of(desk)
    assert all(passes(desk) for _ in range(4))
    assert not passes(desk, {"rows": [{**row, "at": iso(1.8e9)} for row in names("ab", "abc")]})
    rows = [{**row, "at": iso(1.8e9)} for row in names("ab", "abc", "a")]
    assert passes(desk, {"rows": rows})
    assert not passes(desk, {"rows": [*rows[:2], {**rows[2], "size": 7}]})


CELLS = st.integers(0, 5) | st.sampled_from(["a", "b", "2026-11-22", "x y"]) | st.booleans()
ROWS = st.lists(st.fixed_dictionaries({"sku": CELLS, "price": st.integers(0, 5)}), min_size=1, max_size=5)


@given(kept=ROWS, new=st.lists(ROWS, min_size=3, max_size=3), head=st.booleans(), at=st.integers(0, 4))
@settings(deadline=None)
@example(
    [{"sku": n, "price": n} for n in range(3)], [[{"sku": 9, "price": 9}] * n for n in (1, 2, 3)], False, 0
)
def test_learn_never_gives_up_a_row_that_was_the_same_in_every_answer(
    kept: list[Any], new: list[list[Any]], head: bool, at: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = [[*extra, *kept] if head else [*kept, *extra] for extra in new]
        stored = f"rows: {json.dumps(kept)}"
        desk = desk_of(Path(folder), lambda now, number: {"rows": rows[(number - 1) % 3]}, stored)
        learn(desk)
        if all(passes(desk) for _ in rows):
            row = kept[at % len(kept)]
            changed = {**row, "price": row["price"] + 100}
            for body in (body for body in rows if body.count(row) == kept.count(row)):
                left = list(body)
                left.remove(row)
                assert not passes(desk, {"rows": [*left, changed]}), text_of(desk)


@pytest.mark.parametrize("rule", ["arrays: {body.rows: ordered}", "arrays: {rows: {by: name}}"])
def test_learn_keeps_a_handwritten_rule_of_an_array(tmp_path: Path, rule: str) -> None:
    def answer(now: float, number: int) -> Any:
        return {"rows": names("ab", "abc", "a", "x")[number % 3 :]}

    desk = desk_of(tmp_path, answer, FILE, rule)
    plan = learn(desk)
    assert plan.lesson.refusals
    assert not plan.lesson.lists
    assert rule.split(": ", 1)[1] in text_of(desk)


def test_learn_allows_a_key_that_only_some_rows_have_to_be_absent(tmp_path: Path) -> None:
    def answer(now: float, number: int) -> Any:
        rows = [{"name": "a", "note": "x"}, {"name": "b"}, {"name": "c", "note": "y"}]
        return {"rows": some(rows, number)}

    desk = desk_of(tmp_path, answer, "rows:\n  - {name: a, note: x}\n")
    assert stays(learn(desk)) == []
    assert passes(desk, {"rows": [{"name": "z"}, {"name": "z", "note": "z"}]})
    assert not passes(desk, {"rows": [{"name": "z", "note": 3}]})
    assert not passes(desk, {"rows": [{"note": "z"}]})


# A person's word that nothing was changed: the output on file is one more answer of the same service.

RESTARTED: list[tuple[str, Any, str]] = [
    ("n: Ada", {"n": "Bob"}, "<<any_nonempty_string>>"),
    (FILE, {"rows": names("ab", "abc", "a", "x")}, "subset"),
    (FILE, {"rows": names("a", "abc", "ab")}, "unordered"),
    (FILE, {"rows": names("x", "xy", "xyz", "wxyz")}, "each"),
]


@pytest.mark.parametrize(("stored", "now", "written"), RESTARTED)
def test_learn_unchanged_learns_a_restart(tmp_path: Path, stored: str, now: Any, written: str) -> None:
    desk = desk_of(tmp_path, lambda at, number: now, stored)
    before = text_of(desk)
    assert learn(desk).lesson.refusals
    assert text_of(desk) == before
    assert stays(learn(desk, is_unchanged=True)) == []
    assert written in text_of(desk)
    assert passes(desk)


LOST = [("n: 5", (404, {"n": 5})), ("n: 5", {"n": 5, "m": 1}), ("n: 5", {"n": "5"}), (FILE, {"rows": []})]


@pytest.mark.parametrize(("stored", "now"), LOST)
def test_learn_unchanged_never_learns_structure_type_or_status(tmp_path: Path, stored: str, now: Any) -> None:
    desk = desk_of(tmp_path, lambda at, number: now, stored)
    before = text_of(desk)
    assert learn(desk, is_unchanged=True).lesson.refusals
    assert text_of(desk) == before
    assert not passes(desk)
