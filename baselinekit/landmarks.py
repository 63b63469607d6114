"""Items that two sequences share and that tell a reader where he is: what a diff is best hung on."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

Gap = tuple[int, int, int, int]
"""A stretch of one sequence and one of the other: where they begin and end."""


def gaps(before: Sequence[Hashable], after: Sequence[Hashable]) -> Iterator[Gap]:
    """The stretches that differ, in rising order, found from the landmarks. From the end of one to the
    beginning of the next, both sequences go on with the same items."""
    b1 = a1 = 0
    for b2, a2 in [*landmarks(before, after), (len(before), len(after))]:
        while b1 < b2 and a1 < a2 and before[b1] == after[a1]:
            b1, a1 = b1 + 1, a1 + 1
        tail = 0
        while b1 < b2 - tail and a1 < a2 - tail and before[b2 - tail - 1] == after[a2 - tail - 1]:
            tail += 1
        if b1 < b2 - tail or a1 < a2 - tail:
            yield b1, b2 - tail, a1, a2 - tail
        b1, a1 = b2 + 1, a2 + 1


def landmarks(before: Sequence[Hashable], after: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The places of items that occur once on both sides, as many as stand in the same order."""
    times = Counter(before), Counter(after)
    places = {item: a for a, item in enumerate(after) if times[1][item] == 1}
    common = [(b, places[item]) for b, item in enumerate(before) if times[0][item] == 1 and item in places]
    ends: list[int] = []
    last: list[int] = []
    came_from: list[int] = []
    for number, (_, a) in enumerate(common):
        length = bisect_left(ends, a)
        came_from.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [a]
        last[length : length + 1] = [number]
    chain = []
    number = last[-1] if last else -1
    while number >= 0:
        chain.append(common[number])
        number = came_from[number]
    return chain[::-1]
