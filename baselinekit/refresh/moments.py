"""Values that a clock writes, mostly in whole seconds: replays within the same second agree on them by
chance, so that those who repeat wait for the next one."""

import re

from baselinekit.model.values import Json
from baselinekit.paths import children
from baselinekit.placeholders.kinds import is_number
from baselinekit.placeholders.ranges import is_of_our_time

TICK = 1.1
"""Seconds after which a clock of whole seconds shows another time for certain."""

_CLOCK = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}")


def is_moment(value: Json) -> bool:
    if isinstance(value, str):
        return _CLOCK.search(value) is not None
    return is_number(value) and is_of_our_time(value)


def tells_time(output: Json) -> bool:
    """Whether a moment is anywhere in an output."""
    return is_moment(output) or any(tells_time(child) for _, child in children(output))
