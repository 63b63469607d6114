"""The changes of a refresh or a review: planned by the rules, shown for approval, applied by the store."""

from collections.abc import Mapping
from typing import Literal

from baselinekit.errors import Problem
from baselinekit.model.baselines import Baseline, Rules
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.structs import Struct, field

Risk = Literal["low", "medium", "high"]
RISKS: tuple[Risk, ...] = ("low", "medium", "high")
ChangeKind = Literal["added", "removed", "retyped", "value", "order"]


class LostPlaceholder(Struct):
    """A placeholder of the stored output that would be lost. `path` leads through the old output."""

    path: Path
    text: str


class Change(Struct):
    """A change at one place of the stored output. `path` leads through the new output (through the old one
    where a value is removed), `at` through the old one. `after` is the value to write. `blocked`: why the
    change cannot be approved. `part`: whether it is in the output, or in what the run took."""

    number: int
    kind: ChangeKind
    path: Path
    at: Path
    before: Json = ABSENT
    after: Json = ABSENT
    risk: Risk = "medium"
    lost: tuple[LostPlaceholder, ...] = ()
    blocked: Problem | None = None
    note: str = ""
    part: Literal["output", "observed"] = "output"


class UnchangedPart(Struct):
    """A part of the output in which nothing changes."""

    value: Json


class ChangedPart(Struct):
    """A part that is one change: the whole part is replaced, added or removed."""

    number: int


class Branch(Struct):
    """An object or an array (`names` is None) with changes inside. `before` and `after` are the positions in
    `parts` in the old and in the new order; `order` is the change from one order to the other."""

    names: tuple[str, ...] | None
    parts: tuple["Part", ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    order: int | None = None


Part = UnchangedPart | ChangedPart | Branch


class KeptOutput(Struct):
    """The kept output of a replay that did not match. `compared_with`: a hash of the output and the rules
    that it was compared with, None if unknown. `masked`: paths of masked values; `unsettled`: what would
    still fail with this very output; `settled`: what new notes about the capture settle (its age, what it
    took); `variant`: which output of the baseline was meant for the environment of that run; `troubles`:
    signs that the replay went wrong, beside those in the output itself; `differing`: the leaves that
    differed, each with its path in the stored output and the actual value."""

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


class NewRules(Struct):
    """What the operator states about places where a baseline differs, instead of accepting what came:
    placeholders by path, and `comparison:` as a file states it."""

    placeholders: Mapping[str, str] = field(default_factory=dict)
    comparison: Mapping[str, Json] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.placeholders or self.comparison)

    @property
    def paths(self) -> list[str]:
        return [*self.placeholders, *(path for paths in self.comparison.values() for path in paths)]


NO_RULES = NewRules()


class RefreshPlan(Struct):
    """All changes of one baseline. `shape`: how they fit together; `keys`: the key that identifies the
    elements of an array, by the array's path in the old output; `troubles`: signs that the new answer went
    wrong, which the stored one does not have: then every change has a high risk. `on_file`: the rules that
    the file states; `ruled`: what the operator's own rules settle, one line each; `placed`: the changes that
    are only such a placeholder."""

    baseline: Baseline
    seen: KeptOutput
    changes: tuple[Change, ...]
    shape: Part
    notes: tuple[str, ...] = ()
    keys: dict[Path, str] = field(default_factory=dict)
    troubles: tuple[str, ...] = ()
    ruled: tuple[str, ...] = ()
    placed: frozenset[int] = frozenset()
    on_file: Rules = field(default_factory=Rules)


class Group(Struct):
    """The same change in several places; a member is the index of a plan and the number of a change. `path`
    has `[*]` for its indexes."""

    path: str
    kind: ChangeKind
    risk: Risk
    members: tuple[tuple[int, int], ...]


class RefreshRefusal(Struct):
    """A baseline that cannot be refreshed, and the reason."""

    id: str
    file: str
    problem: Problem


class RefreshProposal(Struct):
    """What a refresh would do. `passing`: the baselines that passed in a replay and need no change."""

    plans: tuple[RefreshPlan, ...]
    groups: tuple[Group, ...] = ()
    refusals: tuple[RefreshRefusal, ...] = ()
    passing: tuple[str, ...] = ()


class Approval(Struct):
    """What was decided about a plan: the accepted and the rejected changes by number, and paths that are
    ignored from now on. `covered`: the changes that those paths cover."""

    plan: RefreshPlan
    accepted: frozenset[int]
    ignored: tuple[str, ...] = ()
    covered: frozenset[int] = frozenset()
    rejected: frozenset[int] = frozenset()

    @property
    def writes(self) -> bool:
        return bool(self.accepted or self.ignored or self.plan.ruled)

    @property
    def decided(self) -> frozenset[int]:
        return self.accepted | self.covered | self.rejected

    @property
    def is_whole(self) -> bool:
        return len(self.accepted | self.covered) == len(self.plan.changes)


class ApprovalNote(Struct):
    """The note written with an approval: the version of the output, who approved it, and why."""

    version: str | None = None
    by: str | None = None
    reason: str | None = None


class Rewritten(Struct):
    """A file's text before and after; a new file has an empty text before."""

    file: str
    before: str
    after: str


class Applied(Struct):
    """What was written, and the problems of what could not be written."""

    files: tuple[Rewritten, ...] = ()
    ids: tuple[str, ...] = ()
    failures: tuple[Problem, ...] = ()


# A review: its questions, its decisions, and what is shown meanwhile.

Member = tuple[int, int]
"""One change: the index of its plan, and its number in the plan."""

Question = tuple[Member, ...]
"""The changes that are decided together: one, or the same change in several places."""

Verb = Literal["accept", "reject", "skip", "placeholder", "ignore"]
VERBS: tuple[Verb, ...] = ("accept", "reject", "skip", "placeholder", "ignore")


class Decision(Struct):
    """The decision about one change. `text`: the placeholder to store instead, or the path to ignore from now
    on."""

    verb: Verb
    text: str = ""


class Offer(Struct):
    """A text that can be chosen, and the reason to choose it."""

    text: str
    reason: str = ""


class Dialog(Struct):
    """A question that is asked before a decision takes effect. It is answered by one of `keys` (each with
    what it does), or by the number of one of `offers`; `typed` is the text typed so far."""

    question: str
    keys: tuple[tuple[str, str], ...] = ()
    offers: tuple[Offer, ...] = ()
    typed: str | None = None


class ChangeContext(Struct):
    """The context of a change. `place`: file and line of the stored value; `target`: the target of the
    baseline; `facts`: name and text of everything else."""

    place: str
    target: str
    facts: tuple[tuple[str, str], ...] = ()


class Scene(Struct):
    """What a review shows. `members`: the plans and changes of the question, the first one shown in full;
    empty when everything is decided. `counts`: the number of changes for each verb."""

    number: int
    of: int
    members: tuple[tuple[RefreshPlan, Change], ...]
    about: ChangeContext | None
    counts: Mapping[Verb, int]
    dialog: Dialog | None = None
    said: str = ""
    info: bool = False
    help: bool = False
