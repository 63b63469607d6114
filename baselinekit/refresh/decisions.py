"""The questions of a review, what was decided of them, and what follows for each baseline."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from baselinekit.model.changes import (
    Approval,
    Change,
    Decision,
    Dialog,
    Member,
    Question,
    RefreshPlan,
    Seen,
    Verb,
)
from baselinekit.refresh.changes import merged, with_after
from baselinekit.tree.paths import places, render
from baselinekit.variables import MASK

_SETTLING = ("accept", "placeholder")


@dataclass(frozen=True, slots=True)
class Settled:
    """What becomes of one plan. `rest`: what stays kept of what was seen, None if nothing is left open."""

    approval: Approval
    rest: Seen | None

    @property
    def writes(self) -> bool:
        return bool(self.approval.accepted or self.approval.ignored)


def settled(plans: Sequence[RefreshPlan], decisions: Mapping[Member, Decision]) -> list[Settled]:
    """Of each plan in which anything was decided, skips aside, what follows."""
    of_plan: dict[int, dict[int, Decision]] = {}
    for (n, number), decision in decisions.items():
        if decision.verb != "skip":
            of_plan.setdefault(n, {})[number] = decision
    return [settle_plan(plans[n], decided) for n, decided in sorted(of_plan.items())]


def settle_plan(plan: RefreshPlan, decided: Mapping[int, Decision]) -> Settled:
    for number, decision in decided.items():
        if decision.verb == "placeholder":
            plan = with_after(plan, number, decision.text)
    accepted = frozenset(n for n, decision in decided.items() if decision.verb in _SETTLING)
    covered = frozenset(n for n, decision in decided.items() if decision.verb == "ignore")
    ignored = tuple(dict.fromkeys(decided[n].text for n in sorted(covered)))
    approval = Approval(plan, accepted, ignored, covered)
    undecided = [change for change in plan.changes if change.number not in decided]
    if not undecided:
        return Settled(approval, None)
    output = merged(plan.shape, plan.changes, accepted | {change.number for change in undecided})
    masked = tuple(  # what went away may have moved them
        path
        for path, value in places(output)
        if isinstance(value, str | dict)
        and any(MASK in text for text in ([value] if isinstance(value, str) else value))
    )
    noted = {change.note for change in undecided if change.part == "observed"}
    rest = replace(
        plan.seen,
        resolved=output,
        masked=masked if plan.seen.masked else (),
        settled=tuple(text for text in plan.seen.settled if text in noted),
    )
    return Settled(approval, rest)


# What a review asks before a decision stands.

_TO_DO: dict[Verb, str] = {"accept": "accept", "reject": "reject", "skip": "leave"}


def needs_words(change: Change) -> bool:
    """Whether one key is not enough: somebody may rely on what would change, or has thought about it."""
    return change.risk == "high" or bool(change.lost)


def confirmation(changes: Sequence[Change]) -> str:
    """The question, with what speaks against a yes; empty if nothing does."""
    reasons = list(dict.fromkeys(_reasons(changes)))
    if not reasons:
        return ""
    if len(reasons) == 1:
        return f"this {reasons[0]}: accept?"
    return f"this {', '.join(reasons[:-1])} and {reasons[-1]}: accept?"


def _reasons(changes: Sequence[Change]) -> Iterator[str]:
    high = [change for change in changes if change.risk == "high"]
    for kind, one, several in (
        ("removed", "removes a key that was guarded", "removes {} keys that were guarded"),
        ("retyped", "makes a value one of another type", "makes {} values of another type"),
    ):
        alike = [change for change in high if change.kind == kind]
        if alike:
            yield one if len(alike) == 1 else several.format(len(alike))
    others = [change for change in high if change.kind not in ("removed", "retyped")]
    if len(others) == 1:
        yield others[0].note or f"accepts a failure at {render(others[0].path)} as the known-good answer"
    elif others:
        yield f"makes {len(others)} high-risk changes"
    lost = list(dict.fromkeys(one.text for change in changes for one in change.lost))
    if lost:
        number = sum(len(change.lost) for change in changes)
        times = f" ({number} times)" if number > len(lost) else ""
        yield f"loses {', '.join(lost[:3])}{', …' if len(lost) > 3 else ''}{times}"


def everything(verb: Verb, number: int, baselines: int, here: tuple[str, int]) -> Dialog:
    """Whether what remains is meant, or only what remains of one baseline."""
    if baselines == 1:
        return Dialog(f"{_TO_DO[verb]} all {number} that remain?", keys_of("y yes", "n no"))
    id, few = here
    question = f"{_TO_DO[verb]} all {number} that remain, in {baselines} baselines?"
    return Dialog(question, keys_of("y all", f"b the {few} of {id}", "n no"))


def keys_of(*words: str) -> tuple[tuple[str, str], ...]:
    """`y yes` as the key and what it does."""
    return tuple((key, does) for key, _, does in (word.partition(" ") for word in words))


@dataclass(frozen=True, slots=True)
class _Step:
    """How things stood before something was decided."""

    at: int
    questions: tuple[Question, ...]
    before: tuple[tuple[Member, Decision | None], ...] = ()


@dataclass(slots=True)
class Ledger:
    """`at` is the question in sight, or one after the last when all is decided."""

    questions: tuple[Question, ...]
    decided: dict[Member, Decision] = field(default_factory=dict)
    at: int = 0
    steps: list[_Step] = field(default_factory=list)

    @property
    def in_sight(self) -> list[Member]:
        """What is still to be decided of the question in sight."""
        if self.at >= len(self.questions):
            return []
        return [member for member in self.questions[self.at] if member not in self.decided]

    @property
    def last(self) -> list[Member]:
        """What the last step decided; nothing, where it only took a question apart."""
        return [member for member, _ in self.steps[-1].before] if self.steps else []

    @property
    def is_all_skipped(self) -> bool:
        return all(decision.verb == "skip" for decision in self.decided.values())

    def remaining(self, plan: int | None = None) -> list[Member]:
        """All that is undecided, of every plan or of one."""
        every = (member for question in self.questions for member in question)
        return [m for m in every if m not in self.decided and plan in (None, m[0])]

    def decide(self, decisions: Mapping[Member, Decision]) -> None:
        """What is in sight then is the next question with something undecided, seen from here."""
        before = tuple((member, self.decided.get(member)) for member in decisions)
        self.steps.append(_Step(self.at, self.questions, before))
        self.decided.update(decisions)
        places = [*range(self.at, len(self.questions)), *range(self.at)]
        unfinished = (n for n in places if any(part not in self.decided for part in self.questions[n]))
        self.at = next(unfinished, len(self.questions))

    def take_apart(self, members: Sequence[Member]) -> None:
        """A question for each of them."""
        self.steps.append(_Step(self.at, self.questions))
        done = tuple(part for part in self.questions[self.at] if part in self.decided)
        ones = (*((done,) if done else ()), *((member,) for member in members))
        self.questions = (*self.questions[: self.at], *ones, *self.questions[self.at + 1 :])
        self.at += bool(done)

    def undo(self) -> bool:
        """Back to before the last step; whether there was one."""
        if not self.steps:
            return False
        step = self.steps.pop()
        self.at, self.questions = step.at, step.questions
        for member, decision in step.before:
            if decision is None:
                del self.decided[member]
            else:
                self.decided[member] = decision
        return True
