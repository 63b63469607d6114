"""The exact tests behind a comparison of two runs, against published figures."""

from math import isclose

import pytest
from hypothesis import given, strategies as st

from baselinekit.metrics import fisher_exact, holm_adjust, mcnemar_exact

COUNTS = st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("lost", "won", "chance"),
    [
        (0, 5, 0.0625),
        (0, 6, 0.03125),
        (1, 9, 0.021484),
        (2, 8, 0.109375),
        (3, 10, 0.092285),
        (5, 5, 1),
        (0, 0, 1),
    ],
)
def test_mcnemar_is_exact(lost: int, won: int, chance: float) -> None:
    assert mcnemar_exact(lost, won) == pytest.approx(chance, abs=1e-6)
    assert mcnemar_exact(won, lost) == mcnemar_exact(lost, won)


@pytest.mark.parametrize(
    ("before", "now", "chance"),
    [  # as R's fisher.test gives them
        ((3, 4), (1, 4), 0.4857143),
        ((5, 5), (0, 5), 0.0079365),
        ((6, 6), (0, 6), 0.0021645),
        ((10, 10), (5, 10), 0.0325077),
        ((8, 10), (2, 10), 0.0230141),
        ((1, 1), (0, 1), 1.0),
        ((3, 3), (0, 3), 0.1),
        ((4, 4), (0, 4), 0.0285714),
    ],
)
def test_fisher_is_exact_and_three_attempts_can_never_tell(
    before: tuple[int, int], now: tuple[int, int], chance: float
) -> None:
    assert fisher_exact(*before, *now) == pytest.approx(chance, abs=1e-6)


def test_holm_steps_down() -> None:
    assert holm_adjust([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm_adjust([]) == []


@given(COUNTS, COUNTS)
def test_fisher_does_not_mind_which_run_came_first(before: tuple[int, int], now: tuple[int, int]) -> None:
    chance = fisher_exact(*before, *now)
    assert 0 < chance <= 1
    assert isclose(chance, fisher_exact(*now, *before))
    (was, of), (is_now, of_now) = before, now
    assert isclose(chance, fisher_exact(of - was, of, of_now - is_now, of_now))


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_makes_a_chance_smaller_and_keeps_their_order(chances: list[float]) -> None:
    adjusted = holm_adjust(chances)
    assert all(after >= before for before, after in zip(chances, adjusted, strict=True))
    pairs = sorted(zip(chances, adjusted, strict=True))
    assert [after for _, after in pairs] == sorted(after for _, after in pairs)
