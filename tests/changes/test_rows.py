"""Which rows on file are which of those that came back: a matching that keeps identical rows together."""

from baselinekit.changes.rows import align_rows


def test_align_rows_restores_placeholders() -> None:
    old = [{"id": 1, "name": "<<any_string>>", "n": 1}, {"id": 2, "name": "<<any_string>>", "n": 2}]
    new = [{"id": 2, "name": "b", "n": 5}, {"id": 7, "name": "a", "n": 1}]
    rows, restored = align_rows(old, new, None, lambda text, value: isinstance(value, str))
    assert sorted(rows.pairs) == [(0, 1), (1, 0)]
    assert restored == {
        0: {"id": 2, "name": "<<any_string>>", "n": 5},
        1: {"id": 7, "name": "<<any_string>>", "n": 1},
    }
