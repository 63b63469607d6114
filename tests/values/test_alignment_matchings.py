"""Matchings of rows to columns are as large as can be."""

import random

from hypothesis import given, strategies as st

from baselinekit.values.alignment import Flow


def test_a_matching_is_as_large_as_can_be() -> None:
    chance = random.Random(7)
    for _ in range(200):
        size = chance.randint(1, 6)
        edges = {row: [c for c in range(size) if chance.random() < 0.4] for row in range(size)}
        flow = Flow([1] * size, [1] * size, edges.__getitem__, lambda row, column: True)
        for row in range(size):
            flow.send(row)
        found = {row: column for row, sent in enumerate(flow.sent) for column in sent}
        assert all(column in edges[row] for row, column in found.items())
        assert len(set(found.values())) == len(found)
        assert len(found) == _largest(edges, 0, frozenset())


def _largest(edges: dict[int, list[int]], row: int, taken: frozenset[int]) -> int:
    if row == len(edges):
        return 0
    without = _largest(edges, row + 1, taken)
    return max([without, *(1 + _largest(edges, row + 1, taken | {c}) for c in edges[row] if c not in taken)])


@given(
    st.lists(st.integers(1, 3), max_size=4),
    st.lists(st.integers(1, 3), max_size=4),
    st.sets(st.tuples(st.integers(0, 3), st.integers(0, 3))),
)
def test_groups_find_as_many_partners_as_their_rows_would(
    supply: list[int], room: list[int], edges: set[tuple[int, int]]
) -> None:
    every = range(len(room))
    flow = Flow(supply, room, lambda row: every, lambda row, column: (row, column) in edges)
    for row in range(len(supply)):
        flow.send(row)
    singles = [row for row, count in enumerate(supply) for _ in range(count)]
    places = [column for column, count in enumerate(room) for _ in range(count)]
    alone = Flow(
        [1] * len(singles),
        [1] * len(places),
        lambda row: range(len(places)),
        lambda row, place: (singles[row], places[place]) in edges,
    )
    for row in range(len(singles)):
        alone.send(row)
    assert sum(flow.unpaired) == sum(alone.unpaired) == len(singles) - _most(singles, places, edges)
    assert all(count >= 0 for count in flow.free)
    assert all(
        (row, column) in edges and count > 0
        for row, sent in enumerate(flow.sent)
        for column, count in sent.items()
    )


def _most(rows: list[int], places: list[int], edges: set[tuple[int, int]]) -> int:
    """By trying every set of places: one bit for each."""
    reached = {0: 0}
    for row in rows:
        for taken, count in list(reached.items()):
            for place, column in enumerate(places):
                if (row, column) in edges and not taken >> place & 1:
                    after = taken | 1 << place
                    reached[after] = max(reached.get(after, 0), count + 1)
    return max(reached.values())
