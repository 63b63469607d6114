from dirty_equals import IsDatetime, IsPositiveInt
from inline_snapshot import snapshot


def test_order():
    assert order() == snapshot({"id": IsPositiveInt, "at": IsDatetime(iso_string=True), "lines": ["a"]})
    assert total() == snapshot(12.5)
    assert count() <= snapshot(3)


def test_who():
    assert who() == snapshot(User(name="Ada"))
