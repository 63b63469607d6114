"""What a change does to the baselines themselves, beside those of a commit."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Revised:
    """What became of one baseline, or of the configuration. `how`: by what it lets more pass."""

    id: str
    file: str
    line: int | None
    change: Literal["added", "removed", "loosened"]
    how: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Against:
    """All of them, and the commit. `strict`: what was weakened fails the run."""

    ref: str
    commit: str
    changes: tuple[Revised, ...] = ()
    notes: tuple[str, ...] = ()
    strict: bool = False

    @property
    def weakened(self) -> tuple[Revised, ...]:
        """What lets pass now what failed then."""
        return tuple(change for change in self.changes if change.change != "added")
