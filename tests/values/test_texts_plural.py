"""Numbers of things in words."""

import pytest

from baselinekit.values.texts import count_noun


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 cases"), (1, "1 case"), (2, "2 cases"), (1204, "1,204 cases")]
)
def test_how_many_there_are_is_said_as_people_say_it(number: int, said: str) -> None:
    assert count_noun(number, "case") == said
