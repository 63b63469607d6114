import pytest


@pytest.mark.parametrize("month", ["jan-2024", "feb-2024"])
def test_totals(month, data_regression):
    data_regression.check(totals(month))


def test_curve(num_regression):
    num_regression.check(curve(), tolerances={"y": {"atol": 0.1}})


def test_picture(image_regression, file_regression):
    image_regression.check(picture())
    file_regression.check(caption(), basename="caption")
