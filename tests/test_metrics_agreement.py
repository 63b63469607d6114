"""Agreement of raters: examples that were published, and laws that hold for any ratings."""

from itertools import permutations

import pytest
from hypothesis import given, strategies as st

from baselinekit.metrics import cohen_kappa, krippendorff, ranking_agreement, scale_agreement, share_of_most


def units(*raters: str) -> list[list[int | None]]:
    """Rows of raters, `.` where one said nothing, as columns of units."""
    rows = [[None if word == "." else int(word) for word in rater.split()] for rater in raters]
    return [list(column) for column in zip(*rows, strict=True)]


FOUR_OBSERVERS = units(
    "1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 ."
)
"""Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), C and D."""

THREE_CODERS = units(
    ". . . . . 3 4 1 2 1 1 3 3 . 3", "1 . 2 1 3 3 4 3 . . . . . . .", ". . 2 1 3 4 4 . 2 1 1 3 3 . 4"
)
"""The example that Wikipedia works through."""

TWO_OBSERVERS = units("0 1 0 0 0 0 0 0 1 0", "1 1 1 0 0 1 0 0 0 0")
"""Krippendorff (2011), A: binary data of two observers."""


@pytest.mark.parametrize(
    ("ratings", "level", "alpha"),
    [
        (FOUR_OBSERVERS, "nominal", 0.743),
        (FOUR_OBSERVERS, "ordinal", 0.815),
        (FOUR_OBSERVERS, "interval", 0.849),
        (THREE_CODERS, "nominal", 0.691),
        (THREE_CODERS, "interval", 0.811),
        (TWO_OBSERVERS, "nominal", 0.095),
    ],
)
def test_krippendorffs_alpha_is_as_published(ratings: list, level: str, alpha: float) -> None:
    assert krippendorff(ratings, level) == pytest.approx(alpha, abs=0.0005)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("table", "kappa"),
    [
        ((20, 5, 10, 15), 0.4),  # 50 grant proposals, as Wikipedia has it
        ((45, 15, 25, 15), 0.1304),  # the same observed agreement, other totals
        ((25, 35, 5, 35), 0.2593),
    ],
)
def test_cohens_kappa_is_as_published(table: tuple[int, int, int, int], kappa: float) -> None:
    pairs = [
        pair
        for pair, count in zip(((1, 1), (1, 0), (0, 1), (0, 0)), table, strict=True)
        for _ in range(count)
    ]
    assert cohen_kappa([a for a, _ in pairs], [b for _, b in pairs]) == pytest.approx(kappa, abs=0.0001)


def test_what_is_not_defined_is_not_a_number() -> None:
    assert krippendorff([[1, 1], [1, 1]], "nominal") is None
    assert krippendorff([[1, None], [None, 2]], "ordinal") is None
    assert cohen_kappa([1, 1], [1, 1]) is None
    assert cohen_kappa([None], [1]) is None


@pytest.mark.parametrize(
    ("values", "low", "high", "agreement"),
    [
        ([4, 4], 1, 5, 1.0),
        ([4, 5], 1, 5, 0.9375),
        ([3, 5], 1, 5, 0.75),
        ([1, 5], 1, 5, 0.0),
        ([4, 4, 4, 4, 2], 1, 5, 0.9),
        ([3], 1, 5, 1.0),
    ],
)
def test_agreement_on_a_scale_follows_the_distance(
    values: list[float], low: float, high: float, agreement: float
) -> None:
    assert scale_agreement(values, low, high) == pytest.approx(agreement)


def test_per_cent_agreement() -> None:
    assert share_of_most([True, True, True, True, False]) == 0.8


def test_rankings_agree_by_the_pairs_that_they_order_alike() -> None:
    first, same, other = {1: 1.0, 2: 2.0, 3: 3.0}, {1: 1.0, 2: 2.0, 3: 3.0}, {1: 3.0, 2: 2.0, 3: 1.0}
    assert ranking_agreement([first, same]) == 1.0
    assert ranking_agreement([first, other]) == 0.0
    assert ranking_agreement([first, {1: 2.0, 2: 2.0, 3: 2.0}]) == 0.5


RATING = st.none() | st.integers(1, 5)
UNITS = st.integers(2, 4).flatmap(
    lambda raters: st.lists(st.lists(RATING, min_size=raters, max_size=raters), min_size=1, max_size=8)
)


@given(UNITS, st.sampled_from(["nominal", "ordinal", "interval"]), st.randoms(use_true_random=False))
def test_alpha_is_at_most_one_and_asks_nobody_for_their_place(
    ratings: list, level: str, random: object
) -> None:
    alpha = krippendorff(ratings, level)  # type: ignore[arg-type]
    assert alpha is None or alpha <= 1 + 1e-9
    order = list(range(len(ratings[0])))
    random.shuffle(order)  # type: ignore[attr-defined]
    mixed = [[unit[place] for place in order] for unit in reversed(ratings)]
    again = krippendorff(mixed, level)  # type: ignore[arg-type]
    assert (alpha is None) == (again is None)
    assert alpha is None or again == pytest.approx(alpha)


@given(st.lists(st.integers(1, 5), min_size=2, max_size=6))
def test_raters_who_all_say_the_same_agree_wholly_and_others_less(values: list[int]) -> None:
    for agreement in (scale_agreement(values, 1, 5), share_of_most(values)):
        assert -1e-9 <= agreement <= 1 + 1e-9
        assert (agreement >= 1 - 1e-9) == (len({*values}) == 1)
    assert krippendorff([[value, value] for value in values], "ordinal") in (None, pytest.approx(1.0))


@given(st.lists(st.permutations([1, 2, 3, 4]), min_size=2, max_size=4))
def test_the_concordance_of_rankings_does_not_hang_on_the_order_of_raters(orders: list[list[int]]) -> None:
    rankings = [{item: float(place) for place, item in enumerate(order)} for order in orders]
    found = {round(ranking_agreement(list(some)), 9) for some in permutations(rankings)}
    assert len(found) == 1
    assert 0 <= found.pop() <= 1
