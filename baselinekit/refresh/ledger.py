"""The questions of a review and what was decided of them, with the way back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from baselinekit.model.review import Decision, Member, Question


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
        return [one for one in every if one not in self.decided and plan in (None, one[0])]

    def decide(self, decisions: Mapping[Member, Decision]) -> None:
        """What is in sight then is the next question with something undecided, seen from here."""
        before = tuple((member, self.decided.get(member)) for member in decisions)
        self.steps.append(_Step(self.at, self.questions, before))
        self.decided.update(decisions)
        places = [*range(self.at, len(self.questions)), *range(self.at)]
        unfinished = (n for n in places if any(one not in self.decided for one in self.questions[n]))
        self.at = next(unfinished, len(self.questions))

    def take_apart(self, members: Sequence[Member]) -> None:
        """A question for each of them."""
        self.steps.append(_Step(self.at, self.questions))
        done = tuple(one for one in self.questions[self.at] if one in self.decided)
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
