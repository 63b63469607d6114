"""Items that two sequences share and that tell a reader where he is: what a diff is best hung on."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence


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
