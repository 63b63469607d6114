"""A literal array that is opened since something else than it was met: all that it holds is literal too."""

from collections.abc import Callable
from functools import partial

from baselinekit.compare.alike import Alike
from baselinekit.compare.arrays import Ordered
from baselinekit.compare.columns import literal_columns
from baselinekit.compare.literal import Literal
from baselinekit.compare.mode import Mode
from baselinekit.compare.rules import State
from baselinekit.compare.walk import Link, Node
from baselinekit.model.values import Json

NodeOf = Callable[[Json, Mode, State, Link], Node]


def opened_array(value: list[Json], mode: Mode, state: State, at: Link, node_of: NodeOf) -> Node:
    """Its node: by its columns if its rows are all alike, else row by row."""
    make = partial(_row_by_row, value, mode, state, at, node_of)
    below = state.same_below
    if below is None or mode.type == "numeric" or not mode.allow_field_reordering:
        return make()
    columns = literal_columns(value, below)
    return make() if columns is None else Alike(value, columns, mode, True, make, at)


def _row_by_row(value: list[Json], mode: Mode, state: State, at: Link, node_of: NodeOf) -> Node:
    size = len(value)
    items: list[Node] = []
    for n, item in enumerate(value):
        below, place = state.step(n, item, size), (at, n)
        if item.__class__ is dict or item.__class__ is list:
            items.append(Literal(item, None, mode, below, place))
        else:
            items.append(node_of(item, mode, below, place))
    return Ordered(value, tuple(items), mode, state, at)
