"""The leaves of a document by their shapes, set beside a walk to each of them."""

from typing import Any

from hypothesis import example, given, strategies as st

from baselinekit.values.paths import of_any_row
from baselinekit.values.places import places, value_at
from baselinekit.values.shapes import document_order, leaf_columns

SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3))
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from("abcd"), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(DOCUMENTS)
@example([{"a": 1, "b": [2, []]}, {"b": [], "a": 3}, [4, [5]], {"a": {"a": [6]}}, {}, None])
@example({"a": [[], [1], [], [2, 3], []]})
def test_every_leaf_is_in_the_column_of_its_shape_in_the_order_of_the_document(document: Any) -> None:
    leaves = [one for one in places(document) if not isinstance(one[1], dict | list)]
    wanted: dict[Any, list[Any]] = {}
    for path, value in leaves:
        wanted.setdefault(of_any_row(path), []).append((path, value))
    columns = list(leaf_columns(document))
    found = {column.shape: list(zip(column.paths(), column.values, strict=True)) for column in columns}
    assert len(found) == len(columns)
    assert found == wanted
    for column in columns:
        assert [column.path(number) for number in range(len(column.values))] == column.paths()
        assert [value_at(document, path) for path in column.paths()] == list(column.values)


@given(DOCUMENTS, st.randoms())
def test_paths_are_sorted_as_their_places_stand(document: Any, dice: Any) -> None:
    paths = [path for path, _ in places(document)]
    assert sorted(dice.sample(paths, len(paths)), key=document_order(document)) == paths


def test_many_rows_without_a_common_key_take_no_time_of_their_square() -> None:
    """Each key is looked at where it stands, and not in every row."""
    rows = [{f"key {number}": number} for number in range(20_000)]
    columns = list(leaf_columns(rows))
    assert len(columns) == len(rows)
    assert sum(len(column.values) for column in columns) == len(rows)
