"""One run in parts, each on a machine of its own: which baseline belongs to which part, and where it would
stand in the whole."""

import re
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.baselines import Baseline
from baselinekit.model.results import Result, Shard

MOST = 10_000
_FORM = re.compile(r"(\d{1,9})/(\d{1,9})")


def parse(text: str) -> Shard:
    """`2/4`: the second of four."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise InvalidInput(Problem("BK508", f"--shard {text!r} is not NUMBER/OF", "as in --shard 2/4"))
    number, of = int(match[1]), int(match[2])
    if not 1 <= of <= MOST:
        raise InvalidInput(
            Problem("BK508", f"--shard {text}: from 1 to {MOST:,} shards", "as in --shard 2/4")
        )
    if not 1 <= number <= of:
        what = f"--shard {text}: the shards of {of} are {f'1/{of} to {of}/{of}' if of > 1 else '1/1'}"
        raise InvalidInput(Problem("BK508", what, "they are counted from 1"))
    return Shard(number, of)


def home(id: str, of: int) -> int:
    """The shard of a baseline: by its id alone, on every machine and in every version the same."""
    return int.from_bytes(sha256(id.encode("utf-8", "surrogatepass")).digest()[:8], "big") % of + 1


class Share:
    """What of all that was selected is to be run here, and its place in the whole. Without a shard: all."""

    def __init__(self, chosen: Sequence[Baseline], shard: Shard | None):
        numbered = list(enumerate(chosen))
        if shard is not None:
            numbered = [(n, one) for n, one in numbered if home(one.id, shard.of) == shard.number]
        self.baselines = [baseline for _, baseline in numbered]
        self.shard = None if shard is None else replace(shard, total=len(chosen))
        self._positions = [number for number, _ in numbered]

    def placed(self, results: Sequence[Result]) -> tuple[Result, ...]:
        """The results, each with its position where this is not the whole."""
        if self.shard is None:
            return tuple(results)
        return tuple(replace(one, position=n) for one, n in zip(results, self._positions, strict=True))
