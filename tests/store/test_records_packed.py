"""A record that is held packed is the one that was read."""

from decimal import Decimal

from hypothesis import given, strategies as st

from baselinekit.model.values import Json
from baselinekit.store.records import packed, unpack_record
from baselinekit.tree.equality import canonical

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(st.dictionaries(st.text(), VALUES), st.booleans())
def test_a_packed_record_is_read_back(raw: dict[str, Json], compressed: bool) -> None:
    again = unpack_record(packed(raw, compressed=compressed))
    assert canonical(again) == canonical(raw)
    assert [*again] == [*raw]


def test_a_number_that_only_a_decimal_holds_cannot_be_packed() -> None:
    assert packed({"n": [Decimal("1e999")]}) == b""


def test_a_packed_record_takes_less_than_half_its_bytes() -> None:
    text = "\n".join(f"row {number} of a table" for number in range(200))
    assert len(packed({"output": text})) < len(text) / 2
