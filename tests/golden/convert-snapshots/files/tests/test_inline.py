from dirty_equals import IsDatetime, IsList, IsPositiveInt
from inline_snapshot import snapshot

TOTAL = snapshot(12.5)


def test_order():
    order = {"id": 7, "at": "2024-02-29T10:00:00Z", "lines": ["a"]}
    assert order == snapshot({"id": IsPositiveInt, "at": IsDatetime(iso_string=True), "lines": ["a"]})
    for total in (12.5, 12.5):
        assert total == TOTAL


def test_bound():
    assert 2 <= snapshot(3)


def test_tags():
    assert ["a", "b"] == snapshot(IsList("a", "b"))
