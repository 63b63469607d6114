"""How long the expressions of one baseline may take in all: many that are each just quick enough add up."""

from collections.abc import Callable
from dataclasses import dataclass, field

SECONDS = 1.0
_NOT_COUNTED = 0.0001
"""What is over as quickly as this would be counted for nothing but the size of the answer."""


@dataclass(slots=True)
class Patience:
    """`clock` counts the seconds that this thread was at work; nobody else's work is held against it."""

    clock: Callable[[], float] = field(default=lambda: 0.0)
    spent: float = 0.0

    def is_over(self, began: float) -> bool:
        """Whether it is over, what began then included."""
        took = self.clock() - began
        if took > _NOT_COUNTED:
            self.spent += took
        return self.spent > SECONDS
