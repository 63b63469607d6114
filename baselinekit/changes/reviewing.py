"""A review as a state machine: keys and decisions go in, scenes and approvals come out; no terminal."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from baselinekit.changes.alternatives import (
    Changed,
    covered_changes,
    no_placeholder,
    no_rule,
    rule_problem,
    rules_for,
)
from baselinekit.changes.changes import with_after
from baselinekit.model.changes import (
    VERBS,
    Approval,
    Change,
    ChangeContext,
    Decision,
    Dialog,
    Member,
    Offer,
    Question,
    RefreshPlan,
    Scene,
    Verb,
)
from baselinekit.structs import MutableStruct, Struct, field, replace
from baselinekit.values.texts import count_noun

# The questions of a review, the decisions on them, and what follows for each baseline.


def settle_plans(plans: Sequence[RefreshPlan], decisions: Mapping[Member, Decision]) -> list[Approval]:
    """Return what was decided about each plan in which anything but skips was decided."""
    by_plan: dict[int, dict[int, Decision]] = {}
    for (n, number), decision in decisions.items():
        if decision.verb != "skip":
            by_plan.setdefault(n, {})[number] = decision
    return [settle_plan(plans[n], decided) for n, decided in sorted(by_plan.items())]


def settle_plan(plan: RefreshPlan, decided: Mapping[int, Decision]) -> Approval:
    numbers: dict[Verb, set[int]] = {verb: set() for verb in VERBS}
    for number, decision in sorted(decided.items()):
        numbers[decision.verb].add(number)
        if decision.verb == "placeholder":
            plan = with_after(plan, number, decision.text)
    covered = frozenset(numbers["ignore"])
    return Approval(
        plan,
        frozenset(numbers["accept"] | numbers["placeholder"]),
        tuple(dict.fromkeys(decided[number].text for number in sorted(covered))),
        covered,
        frozenset(numbers["reject"]),
    )


def count_verbs(decisions: Iterable[Decision]) -> dict[Verb, int]:
    """Count the changes by decision."""
    verbs = [decision.verb for decision in decisions]
    return {verb: verbs.count(verb) for verb in VERBS if verb in verbs}


# What a review asks before a decision takes effect.

_VERB_TEXTS: dict[Verb, str] = {"accept": "accept", "reject": "reject", "skip": "leave"}


def needs_words(change: Change) -> bool:
    """Whether accepting needs a confirmation: somebody may rely on the value, or wrote a placeholder."""
    return change.risk == "high" or bool(change.lost)


_RISKS = {"removed": ("removes", "guarded key"), "retyped": ("changes the type of", "value")}


def confirmation_question(changes: Sequence[Change]) -> str:
    """Return the question, with the reasons against a yes; empty if there are none."""
    high = Counter(change.kind for change in changes if change.risk == "high")
    reasons = []
    for kind, number in high.items():
        verb, noun = _RISKS.get(kind, ("makes", "high-risk change"))
        reasons.append(f"{verb} {count_noun(number, noun)}")
    if lost := Counter(loss.text for change in changes for loss in change.lost):
        reasons.append(f"loses {', '.join(lost)}" + (f" ({lost.total()} times)" if lost.total() > 1 else ""))
    return f"this {' and '.join(reasons)}: accept?" if reasons else ""


def keys_of(*words: str) -> tuple[tuple[str, str], ...]:
    """Split `y yes` into the key and what it does."""
    return tuple((key, action) for key, _, action in (word.partition(" ") for word in words))


class Ledger(MutableStruct):
    """`at` is the current question, or one after the last when all is decided. `steps`: what there was before
    each step."""

    questions: tuple[Question, ...]
    decided: Mapping[Member, Decision] = field(default_factory=dict)
    at: int = 0
    steps: list[tuple[int, tuple[Question, ...], Mapping[Member, Decision]]] = field(default_factory=list)

    @property
    def in_sight(self) -> list[Member]:
        """The undecided changes of the current question."""
        if self.at >= len(self.questions):
            return []
        return [member for member in self.questions[self.at] if member not in self.decided]

    @property
    def last(self) -> list[Member]:
        """The changes that the last step decided; none if it only split a question."""
        return [member for member in self.decided if self.steps and member not in self.steps[-1][2]]

    @property
    def is_all_skipped(self) -> bool:
        return all(decision.verb == "skip" for decision in self.decided.values())

    def remaining(self) -> list[Member]:
        """Return all undecided changes."""
        return [one for question in self.questions for one in question if one not in self.decided]

    def decide(self, decisions: Mapping[Member, Decision]) -> None:
        """Store decisions and move on to the next question with an undecided change, counted from here."""
        self.steps.append((self.at, self.questions, self.decided))
        self.decided = {**self.decided, **decisions}
        indexes = [*range(self.at, len(self.questions)), *range(self.at)]
        unfinished = (n for n in indexes if any(part not in self.decided for part in self.questions[n]))
        self.at = next(unfinished, len(self.questions))

    def take_apart(self, members: Sequence[Member]) -> None:
        """Split the current question into one for each of these changes."""
        self.steps.append((self.at, self.questions, self.decided))
        decided = tuple(part for part in self.questions[self.at] if part in self.decided)
        questions = (*((decided,) if decided else ()), *((member,) for member in members))
        self.questions = (*self.questions[: self.at], *questions, *self.questions[self.at + 1 :])
        self.at += bool(decided)

    def undo(self) -> bool:
        """Undo the last step; return whether there was one."""
        if not self.steps:
            return False
        self.at, self.questions, self.decided = self.steps.pop()
        return True


# A review as a machine: keys go in, a scene comes out, and decisions are collected until they are written.
# Nothing here knows a terminal.


ENTER, ESCAPE = ("\r", "\n"), "\x1b"
_BACKSPACE, _CLEAR_LINE = ("\x7f", "\b"), "\x15"
_LONGEST = 500


_YES = ("y", "Y")
Answer = Callable[[str], None]


class ReviewContext(Struct):
    """What the caller provides: the placeholders that fit, why a text is not one that fits, and the context
    of a change."""

    offers: Callable[[Sequence[Changed]], Sequence[Offer]]
    problem: Callable[[str, Sequence[Changed]], str]
    about: Callable[[RefreshPlan, Change], ChangeContext]


class Review(MutableStruct):
    """`shown`: the plans as they may be shown, without secrets. `ended`: "write" when the decisions are to be
    applied, "nothing" when they are not."""

    plans: Sequence[RefreshPlan]
    shown: Sequence[RefreshPlan]
    ledger: Ledger
    knowing: ReviewContext
    ended: str = ""
    _dialog: Dialog | None = None
    _answer: Answer | None = None
    _message: str = ""
    _with_info: bool = False
    _with_help: bool = False

    @property
    def scene(self) -> Scene:
        ledger, in_sight = self.ledger, self.ledger.in_sight
        about = self.knowing.about(*self._look_up(in_sight[0])) if in_sight else None
        members = tuple((self.shown[n], self.shown[n].changes[number]) for n, number in in_sight)
        counts = count_verbs(ledger.decided.values())
        number = min(ledger.at + 1, len(ledger.questions))
        dialog = self._dialog
        if dialog is None and not members:
            decided = sum(decision.verb != "skip" for decision in ledger.decided.values())
            many = f"{decided} changes are" if decided > 1 else "one change is"
            end = f"that was the last: {many} decided. Write the files?"
            dialog = Dialog(end, keys_of("Enter write", "u undo", "n no"))
        display = (dialog, self._message, self._with_info, self._with_help)
        return Scene(number, len(ledger.questions), members, about, counts, *display)

    def press(self, key: str) -> None:
        """Handle one key, as it was typed."""
        self._message, self._with_help = "", False
        if self._dialog is not None and self._answer is not None:
            dialog, answer = self._dialog, self._answer
            if dialog.typed is not None or not dialog.keys:
                self._choose(dialog, answer, key)
            else:
                self._dialog = self._answer = None
                answer(key)
        elif not self.ledger.in_sight:
            self._press_at_end(key)
        elif key in _COMMANDS:
            _COMMANDS[key](self)
        elif key and key.isprintable():
            self._message = f"{key!r} does nothing here: ? lists the keys"

    def _look_up(self, member: Member) -> Changed:
        plan = self.plans[member[0]]
        return plan, plan.changes[member[1]]

    def _ask(self, dialog: Dialog, answer: Answer) -> None:
        self._dialog, self._answer = dialog, answer

    def _decide(self, decisions: Mapping[Member, Decision]) -> None:
        self.ledger.decide(decisions)
        if not self.ledger.in_sight and self.ledger.is_all_skipped:
            self.ended = "write"  # nothing is to be written, so there is no question

    def decide(self, verb: Verb, members: Sequence[Member] | None = None) -> None:
        """Decide on these members, or on the current question."""
        members = self.ledger.in_sight if members is None else members
        if members:
            self._decide(dict.fromkeys(members, Decision(verb)))

    def accept(self) -> None:
        members = self.ledger.in_sight
        blocked = next((change.blocked for _, change in map(self._look_up, members) if change.blocked), None)
        if blocked is not None:
            self._message = f"it cannot be accepted: {blocked.message}: p and g can help"
            return
        changes = [self._look_up(member)[1] for member in members]
        self._confirm(changes, lambda: self.decide("accept", members))

    def _confirm(self, changes: Sequence[Change], go_on: Callable[[], None]) -> None:
        """Continue at once, or after a confirmation where somebody may rely on what would change."""
        words = confirmation_question(changes)
        if not words:
            go_on()
        else:
            dialog = Dialog(words, keys_of("y yes", "n no"))
            self._ask(dialog, lambda key: go_on() if key in _YES else None)

    def decide_all(self, verb: Verb) -> None:
        """Decide on all remaining changes, except accept those that somebody may rely on."""
        members = remaining = self.ledger.remaining()
        if verb == "accept":
            changes = {member: self._look_up(member)[1] for member in remaining}
            members = [
                member for member, change in changes.items() if not (change.blocked or needs_words(change))
            ]
        if not members:
            self._message = "each of these needs a decision of its own"
            return
        others = len(remaining) - len(members)
        suffix = f" ({others} more need a decision of their own)" if others else ""
        number = f"{len(members)}" if others else f"all {len(members)}"
        dialog = Dialog(f"{_VERB_TEXTS[verb]} {number} that remain?{suffix}", keys_of("y yes", "n no"))
        self._ask(dialog, lambda key: self.decide(verb, members) if key in _YES else None)

    def ask_for_placeholder(self) -> None:
        members = [self._look_up(member) for member in self.ledger.in_sight]
        self._message = next((reason for _, change in members if (reason := no_placeholder(change))), "")
        if not self._message:
            offers = tuple(self.knowing.offers(members))
            self._ask(Dialog("which placeholder should stand here?", offers=offers), self._take_placeholder)

    def _take_placeholder(self, text: str) -> None:
        members = self.ledger.in_sight
        pairs = [self._look_up(member) for member in members]
        self._message = self.knowing.problem(text, pairs)
        if self._message:
            return
        self._dialog = self._answer = None
        changed = [with_after(plan, change.number, text).changes[change.number] for plan, change in pairs]
        decision = Decision("placeholder", text)
        self._confirm(changed, lambda: self._decide(dict.fromkeys(members, decision)))

    def ask_for_rule(self) -> None:
        members = [self._look_up(member) for member in self.ledger.in_sight]
        self._message = next((reason for _, change in members if (reason := no_rule(change))), "")
        if self._message:
            return
        offers = [rule for rule in rules_for(*members[0]) if not rule_problem(rule.text, members)]
        ids = dict.fromkeys(plan.baseline.id for plan, _ in members)
        suffix = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
        question = f"which path is added to comparison.ignore_fields of {next(iter(ids))}{suffix}?"
        self._ask(Dialog(question, offers=tuple(offers)), self._take_rule)

    def _take_rule(self, text: str) -> None:
        """Ignore a path; the changes that the rule covers need no decision."""
        members = self.ledger.in_sight
        self._message = rule_problem(text, [self._look_up(member) for member in members])
        if self._message:
            return
        self._dialog = self._answer = None
        plans = dict.fromkeys(n for n, _ in members)
        covered = [(n, number) for n in plans for number in covered_changes(self.plans[n], text)]
        undecided = [member for member in covered if member not in self.ledger.decided]
        self._decide(dict.fromkeys(undecided, Decision("ignore", text)))

    def _choose(self, dialog: Dialog, answer: Answer, key: str) -> None:
        """A number takes an offer and Enter the first one, `t` and `<` begin a typed text; Esc leaves. The
        chosen text is checked: the dialog stays open until it is valid."""
        offers, typed = [offer.text for offer in dialog.offers], dialog.typed
        if key == ESCAPE or (typed is None and key in ("n", "q")):
            self._dialog = self._answer = None
        elif key in ENTER and (typed is not None or offers):
            answer(offers[0] if typed is None else typed)
        elif typed is not None:
            if key in _BACKSPACE:
                typed = typed[:-1]
            elif key == _CLEAR_LINE:
                typed = ""
            elif key.isprintable() and len(typed) < _LONGEST:
                typed += key
            self._dialog = replace(dialog, typed=typed)
        elif key.isdecimal() and 0 < int(key) <= len(offers):
            answer(offers[int(key) - 1])
        elif key in ("t", "<"):
            self._dialog = replace(dialog, typed=key if key == "<" else "".join(offers[:1]))
        elif key:
            self._message = f"1 to {len(offers)} takes one, t types one, Esc cancels"

    def take_apart(self) -> None:
        members = self.ledger.in_sight
        if len(members) == 1:
            self._message = "it is one change only"
            return
        self.ledger.take_apart(members)
        self._message = f"{len(members)} questions instead of one"

    def undo(self) -> None:
        self._message = "" if self.ledger.undo() else "nothing is decided yet"

    def quit(self) -> None:
        if self.ledger.is_all_skipped:
            self.ended = "write"
            return
        ends = {"y": "write", "Y": "write", "n": "nothing", "N": "nothing"}

        def answer(key: str) -> None:
            self.ended = ends.get(key, "")

        keys = keys_of("y write it", "n discard it", "Esc go on")
        self._ask(Dialog("keep the decisions made so far?", keys), answer)

    def _press_at_end(self, key: str) -> None:
        if key in ENTER or key in _YES:
            self.ended = "write"
        elif key in ("n", "N", "q"):
            self.quit()
        elif key == "u":
            self.undo()

    def toggle_info(self) -> None:
        self._with_info = not self._with_info

    def show_help(self) -> None:
        self._with_help = True


_COMMANDS: dict[str, Callable[[Review], None]] = {
    "a": Review.accept,
    "r": lambda review: review.decide("reject"),
    "s": lambda review: review.decide("skip"),
    "A": lambda review: review.decide_all("accept"),
    "R": lambda review: review.decide_all("reject"),
    "S": lambda review: review.decide_all("skip"),
    "p": Review.ask_for_placeholder,
    "g": Review.ask_for_rule,
    "m": Review.take_apart,
    "i": Review.toggle_info,
    "u": Review.undo,
    "?": Review.show_help,
    "q": Review.quit,
}
