"""Which rows on file are which of those that came back: a matching that keeps identical rows together."""

from hypothesis import given, strategies as st

from baselinekit.changes.rows import align_rows
from baselinekit.model.values import Json
from baselinekit.values.equality import canonical

ROWS = st.lists(
    st.sampled_from([1, True, "x", "<<any_string>>"])
    | st.fixed_dictionaries(
        {"id": st.integers(0, 3), "name": st.sampled_from(["a", "b", "<<any_string>>"])},
        optional={"more": st.sampled_from([[1], [1, 2]])},
    ),
    max_size=6,
)


def accepts(text: str, value: Json) -> bool:
    return text == "<<any_string>>" and isinstance(value, str)


@given(ROWS, ROWS, st.sampled_from([None, "id"]))
def test_align_rows_gives_each_row_one_partner(old: list[Json], new: list[Json], by: str | None) -> None:
    rows, _ = align_rows(old, new, by, accepts)
    assert sorted([*(e for e, _ in rows.pairs), *rows.missing]) == [*range(len(old))]
    assert sorted([*(a for _, a in rows.pairs), *rows.extra]) == [*range(len(new))]


@given(ROWS, st.data())
def test_align_rows_pairs_identical_rows(old: list[Json], data: st.DataObject) -> None:
    new = [row for row in old if data.draw(st.booleans())]
    rows, restored = align_rows(old, new, None, accepts)
    assert rows.extra == []
    assert len(rows.missing) == len(old) - len(new)
    assert all(restored.get(a, new[a]) == new[a] for _, a in rows.pairs if "<<" not in canonical(old))


def test_align_rows_restores_placeholders() -> None:
    old = [{"id": 1, "name": "<<any_string>>", "n": 1}, {"id": 2, "name": "<<any_string>>", "n": 2}]
    new = [{"id": 2, "name": "b", "n": 5}, {"id": 7, "name": "a", "n": 1}]
    rows, restored = align_rows(old, new, None, accepts)
    assert sorted(rows.pairs) == [(0, 1), (1, 0)]
    assert restored == {
        0: {"id": 2, "name": "<<any_string>>", "n": 5},
        1: {"id": 7, "name": "<<any_string>>", "n": 1},
    }
