"""A review: what is asked, what was decided, and what is in sight while it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from baselinekit.model.changes import Change, Plan
from baselinekit.model.values import Json

Member = tuple[int, int]
"""One change: the index of its plan, and its number in it."""

Question = tuple[Member, ...]
"""What is decided at once: one change, or the same change in several places."""

Verb = Literal["accept", "reject", "skip", "placeholder", "ignore"]
VERBS: tuple[Verb, ...] = ("accept", "reject", "skip", "placeholder", "ignore")


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of one change. `text`: the placeholder that stands there instead, or the path that is
    ignored from now on."""

    verb: Verb
    text: str = ""


@dataclass(frozen=True, slots=True)
class Offer:
    """A text that can be chosen, and why one would."""

    text: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Offers:
    """What could be chosen for one change: placeholders that stand for it, and paths that ignore it."""

    placeholders: tuple[Offer, ...] = ()
    rules: tuple[Offer, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialog:
    """Something that is asked before a decision stands. Either one of `keys` answers it (each with what it
    does), or one of `offers` by its number; `typed` is the text as far as somebody has typed one."""

    question: str
    keys: tuple[tuple[str, str], ...] = ()
    offers: tuple[Offer, ...] = ()
    typed: str | None = None


@dataclass(frozen=True, slots=True)
class About:
    """What is known around a change. `place`: file and line of what is on file; `target`: whom it asks;
    `drift`: what is no longer as it was at the capture; `facts`: name and text of everything else."""

    place: str
    target: str
    drift: Mapping[str, tuple[Json, Json]]
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Scene:
    """What is in sight. `members`: the plans and changes of the question, the first one shown in full; none
    when everything is decided. `counts`: how many changes have which verb."""

    number: int
    of: int
    members: tuple[tuple[Plan, Change], ...]
    about: About | None
    counts: Mapping[Verb, int]
    dialog: Dialog | None = None
    said: str = ""
    info: bool = False
    help: bool = False
