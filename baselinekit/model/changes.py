"""What a refresh or a review would change: made by the rules, shown for approval, applied by the store."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from baselinekit.errors import Problem
from baselinekit.frozen import frozen
from baselinekit.model.baselines import Baseline
from baselinekit.model.values import ABSENT, Json, Path

Risk = Literal["low", "medium", "high"]
RISKS: tuple[Risk, ...] = ("low", "medium", "high")
ChangeKind = Literal["added", "removed", "retyped", "value", "order"]


@frozen
class Lost:
    """A placeholder of the stored output that would be gone. `path` leads through the old output; `file` and
    `line` say where it stands: an output may have a file of its own."""

    path: Path
    text: str
    line: int | None = None
    file: str = ""


@frozen
class Change:
    """One place where the output on file would become another. `path` leads through the output as it would
    be (through the old one where something goes away), `at` through the old one. `after` is what would be
    written. `blocked`: why nobody can approve it. `part`: of the output, or of what the run took."""

    number: int
    kind: ChangeKind
    path: Path
    at: Path
    before: Json = ABSENT
    after: Json = ABSENT
    risk: Risk = "medium"
    lost: tuple[Lost, ...] = ()
    blocked: Problem | None = None
    note: str = ""
    part: Literal["output", "observed"] = "output"


@frozen
class UnchangedPart:
    """A part of the output in which nothing changes."""

    value: Json


@frozen
class ChangedPart:
    """A part that is one change: the whole of it becomes another, comes or goes."""

    number: int


@frozen
class Branch:
    """An object or an array (`names` is None) with changes inside. `before` and `after` are the positions in
    `parts` in the old and in the new order, `order` the change that leads from one to the other."""

    names: tuple[str, ...] | None
    parts: tuple["Part", ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    order: int | None = None


Part = UnchangedPart | ChangedPart | Branch


@frozen
class Seen:
    """What came back from a replay that did not match, as it was kept. `compared_with` is a hash of the
    output and the rules that it was set against, None if nobody wrote that down. `masked`: paths of what is
    not shown; `unsettled`: what would still fail with this very output; `settled`: what only another note of
    the capture makes right (its age, what it took); `variant`: which output of the
    baseline was meant for the place of that run; `troubles`: what says that it went wrong, beside what the
    output itself says of that; `differing`: the leaves that differed, each with its place in the output on
    file and the value that came."""

    id: str
    recipe_hash: str
    resolved: Json
    captured_at: str
    environment: dict[str, Json] = field(default_factory=dict)
    observed: dict[str, Json] = field(default_factory=dict)
    compared_with: str | None = None
    masked: tuple[Path, ...] = ()
    flaw: str | None = None
    unsettled: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()
    variant: int | None = None
    troubles: tuple[str, ...] = ()
    differing: tuple[tuple[Path, Json], ...] = ()
    origin: str = "kept"


@frozen
class RefreshPlan:
    """All changes of one baseline. `shape` says how they are put together, `keys` by which key the elements
    of an array are told apart, by its path in the old output; `troubles` what says that the new answer went
    wrong, where the one on file did not: every change is one of high risk then."""

    baseline: Baseline
    seen: Seen
    changes: tuple[Change, ...]
    shape: Part
    notes: tuple[str, ...] = ()
    keys: dict[Path, str] = field(default_factory=dict)
    troubles: tuple[str, ...] = ()


@frozen
class Group:
    """The same change in several places: the index of a plan, the number of a change. `path` has `[*]` for
    its indexes."""

    path: str
    kind: ChangeKind
    risk: Risk
    members: tuple[tuple[int, int], ...]


@frozen
class RefreshRefusal:
    """A baseline that cannot be refreshed, and why."""

    id: str
    file: str
    problem: Problem


@frozen
class RefreshProposal:
    """What a refresh would do. `passing`: those that a replay found to be right already."""

    plans: tuple[RefreshPlan, ...]
    groups: tuple[Group, ...] = ()
    refusals: tuple[RefreshRefusal, ...] = ()
    passing: tuple[str, ...] = ()


@frozen
class Approval:
    """What was accepted of a plan: changes by their number, and paths that are to be ignored from now on.
    `covered`: the changes that those paths take care of."""

    plan: RefreshPlan
    accepted: frozenset[int]
    ignored: tuple[str, ...] = ()
    covered: frozenset[int] = frozenset()

    @property
    def is_whole(self) -> bool:
        return len(self.accepted | self.covered) == len(self.plan.changes)


@frozen
class Stamp:
    """What is noted with it: which version this is the output of, who said so, and why."""

    version: str | None = None
    by: str | None = None
    reason: str | None = None


@frozen
class Rewritten:
    """A file's text before and after. Of one that is new, nothing is before."""

    file: str
    before: str
    after: str


@frozen
class Applied:
    """What was written, and of what could not be, why."""

    files: tuple[Rewritten, ...] = ()
    ids: tuple[str, ...] = ()
    failures: tuple[Problem, ...] = ()


# A review: what is asked, what was decided, and what is in sight while it is.

Member = tuple[int, int]
"""One change: the index of its plan, and its number in it."""

Question = tuple[Member, ...]
"""What is decided at once: one change, or the same change in several places."""

Verb = Literal["accept", "reject", "skip", "placeholder", "ignore"]
VERBS: tuple[Verb, ...] = ("accept", "reject", "skip", "placeholder", "ignore")


@frozen
class Decision:
    """What becomes of one change. `text`: the placeholder that stands there instead, or the path that is
    ignored from now on."""

    verb: Verb
    text: str = ""


@frozen
class Offer:
    """A text that can be chosen, and why one would."""

    text: str
    reason: str = ""


@frozen
class Offers:
    """What could be chosen for one change: placeholders that stand for it, and paths that ignore it."""

    placeholders: tuple[Offer, ...] = ()
    rules: tuple[Offer, ...] = ()


@frozen
class Dialog:
    """Something that is asked before a decision stands. Either one of `keys` answers it (each with what it
    does), or one of `offers` by its number; `typed` is the text as far as somebody has typed one."""

    question: str
    keys: tuple[tuple[str, str], ...] = ()
    offers: tuple[Offer, ...] = ()
    typed: str | None = None


@frozen
class ChangeContext:
    """What is known around a change. `place`: file and line of what is on file; `target`: whom it asks;
    `drift`: what is no longer as it was at the capture; `facts`: name and text of everything else."""

    place: str
    target: str
    drift: Mapping[str, tuple[Json, Json]]
    facts: tuple[tuple[str, str], ...] = ()


@frozen
class Scene:
    """What is in sight. `members`: the plans and changes of the question, the first one shown in full; none
    when everything is decided. `counts`: how many changes have which verb."""

    number: int
    of: int
    members: tuple[tuple[RefreshPlan, Change], ...]
    about: ChangeContext | None
    counts: Mapping[Verb, int]
    dialog: Dialog | None = None
    said: str = ""
    info: bool = False
    help: bool = False
