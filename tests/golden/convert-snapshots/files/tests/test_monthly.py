import pytest


@pytest.mark.parametrize("month", ["jan-2024"])
def test_totals(month, data_regression):
    data_regression.check({"month": month, "count": 2})


def test_curve(num_regression):
    num_regression.check({"x": [1, 2.5], "y": 3.0}, tolerances={"y": {"atol": 0.1}})


def test_caption(file_regression):
    file_regression.check("Sales\n", basename="caption")


def test_plain():
    assert 1 + 1 == 2
