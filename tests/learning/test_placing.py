"""Where a placeholder goes that the operator names: in place of a value, or of a part of a text."""

import pytest

from baselinekit.learning.templating import placed
from baselinekit.placeholders.table import PlaceholderContext

HEX = 'value="<<any_hex>>"'


@pytest.mark.parametrize(
    ("value", "placeholder", "stored"),
    [
        (7, "<<any_integer>>", "<<any_integer>>"),
        (7, "n<<any_integer>>", None),
        ('<i value="0a1b2c3d">', HEX, f"<i {HEX}>"),
        ('<i value="zzz"><i value="00ff00ff">', HEX, f'<i value="zzz"><i {HEX}>'),
        ("<<any_date>>: 7\nof 8", "of <<any_integer>>", "<<any_date>>: 7\nof <<any_integer>>"),
        ("1 ms\n22 ms\nnone", "<<any_integer>> ms", "<<any_integer>> ms\n<<any_integer>> ms\nnone"),
        (r"took 1 ms, \<<raw>>", "took <<any_integer>> ms", r"took <<any_integer>> ms, \<<raw>>"),
    ],
)
def test_placed_in_value_or_in_its_text(value: object, placeholder: str, stored: str | None) -> None:
    assert placed(value, placeholder, PlaceholderContext()) == stored
