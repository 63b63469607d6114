"""A review as a state machine: keys and decisions go in, scenes and approvals come out; no terminal."""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from itertools import groupby

from baselinekit.changes.changes import with_after
from baselinekit.errors import InvalidInput
from baselinekit.kinds.table import kind_of
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
from baselinekit.model.values import Json, Path
from baselinekit.structs import MutableStruct, field
from baselinekit.values.paths import find, of_any_row, parse, render
from baselinekit.values.texts import count_noun, list_first

# What can be done instead of storing a new value.

Changed = tuple[RefreshPlan, Change]

_NOT_THE_OUTPUT = "this is recorded at capture and is not part of the output"
_WHOLE: tuple[Path, ...] = ((), ("body",), ("stdout",))


def no_placeholder(change: Change) -> str:
    """Return why no placeholder can stand for this change; empty if one can."""
    if change.part != "output":
        return _NOT_THE_OUTPUT
    if change.kind == "removed":
        return "there is no new value here that a placeholder could stand for"
    return "no placeholder can stand for an order" if change.kind == "order" else ""


def no_rule(change: Change) -> str:
    """Return why no path can be ignored instead; empty if one can."""
    if change.part != "output":
        return _NOT_THE_OUTPUT
    if change.path in _WHOLE:
        return "ignoring the whole output would compare nothing"
    if change.kind == "order":
        return "an order is ignored by `arrays: {path: unordered}` in the file"
    if change.kind in ("added", "removed") and isinstance(change.path[-1], int):
        return "a whole row was added or removed, and only a field of a row can be ignored"
    return ""


def rules_for(plan: RefreshPlan, change: Change) -> list[Offer]:
    """Return the path that would ignore a change, in every row of its arrays: a row has no place of its own
    once others come before it."""
    shape = of_any_row(change.path)
    where = "here only" if shape == change.path else "in every row"
    return [Offer(_unambiguous(render(shape), plan), where)]


def rule_problem(text: str, members: Sequence[Changed]) -> str:
    """Return why a path cannot be ignored instead of these changes; empty if it can."""
    try:
        for plan, change in members:
            if change.number not in covered_changes(plan, text):
                return f"it does not lead to {render(change.path)}"
    except InvalidInput as error:
        return error.problems[0].message
    return ""


def covered_changes(plan: RefreshPlan, text: str) -> frozenset[int]:
    """Return the changes of a plan to which a path leads, or to something that contains them."""
    pattern, stored, kind = parse(text), plan.baseline.baseline, kind_of(plan.baseline.current)

    def places_in(output: Json) -> set[Path]:
        found = {path for path, _ in find(pattern, output)}
        if kind.paths_start_in_answer and not pattern.absolute and isinstance(output, dict):
            found |= {(kind.answer, *path) for path, _ in find(pattern, output.get(kind.answer))}
        return found

    old, new = places_in(stored.output if stored else None), places_in(plan.seen.resolved)
    return frozenset(
        change.number
        for change in plan.changes
        for selected in [old if change.kind == "removed" else new]
        if change.part == "output"
        and any(change.path[:length] in selected for length in range(len(change.path) + 1))
    )


def _unambiguous(text: str, plan: RefreshPlan) -> str:
    """Return the path, from the root of the output if it would be ambiguous otherwise."""
    stored = plan.baseline.baseline
    starts = kind_of(plan.baseline.current).starts(parse(text), stored.output if stored else None)
    return f"$.{text}" if len(starts) > 1 else text


# The decisions.


def settle_plans(plans: Sequence[RefreshPlan], decisions: Mapping[Member, Decision]) -> list[Approval]:
    """Return what was decided about each plan in which anything but skips was decided."""
    taken = sorted(member for member, decision in decisions.items() if decision.verb != "skip")
    approvals = []
    for n, members in groupby(taken, lambda member: member[0]):
        plan, ignored = plans[n], dict[str, None]()
        numbers: dict[Verb, set[int]] = {verb: set() for verb in VERBS}
        for _, number in members:
            decision = decisions[n, number]
            numbers[decision.verb].add(number)
            if decision.verb == "placeholder":
                plan = with_after(plan, number, decision.text)
            elif decision.verb == "ignore":
                ignored[decision.text] = None
        covered, rejected = frozenset(numbers["ignore"]), frozenset(numbers["reject"])
        accepted = frozenset(numbers["accept"] | numbers["placeholder"])
        approvals.append(Approval(plan, accepted, tuple(ignored), covered, rejected))
    return approvals


def count_verbs(decisions: Iterable[Decision]) -> dict[Verb, int]:
    """Count the changes by decision."""
    counts = Counter(decision.verb for decision in decisions)
    return {verb: counts[verb] for verb in VERBS if counts[verb]}


def confirmation_question(changes: Sequence[Change]) -> str:
    """Return the question that names why somebody may rely on what changes; empty without a reason."""
    risky = sum(change.risk == "high" for change in changes)
    lost = dict.fromkeys(loss.text for change in changes for loss in change.lost)
    reasons = [count_noun(risky, "change") + " of high risk"] if risky else []
    reasons += [f"the loss of {', '.join(lost)}"] if lost else []
    return f"accept {' and '.join(reasons)}?" if reasons else ""


class Ledger(MutableStruct):
    """The questions and the decisions on them. `at` is the current question, or one after the last when all
    is decided. `steps`: what there was before each step."""

    questions: tuple[Question, ...]
    decided: Mapping[Member, Decision] = field(default_factory=dict)
    at: int = 0
    steps: list[tuple[int, tuple[Question, ...], Mapping[Member, Decision]]] = field(default_factory=list)

    @property
    def in_sight(self) -> list[Member]:
        """The undecided changes of the current question."""
        return self.undecided(self.questions[self.at : self.at + 1])

    @property
    def last(self) -> list[Member]:
        """The changes that the last step decided, all alike; none if it only split a question."""
        return [member for member in self.decided if self.steps and member not in self.steps[-1][2]]

    @property
    def is_all_skipped(self) -> bool:
        return all(decision.verb == "skip" for decision in self.decided.values())

    def undecided(self, questions: Iterable[Question]) -> list[Member]:
        return [member for question in questions for member in question if member not in self.decided]

    def decide(self, members: Iterable[Member], decision: Decision) -> None:
        """Store a decision and move on to the next question with an undecided change, counted from here."""
        self.steps.append((self.at, self.questions, self.decided))
        self.decided = {**self.decided, **dict.fromkeys(members, decision)}
        indexes = [*range(self.at, len(self.questions)), *range(self.at)]
        self.at = next((n for n in indexes if self.undecided([self.questions[n]])), len(self.questions))

    def take_apart(self) -> None:
        """Split the current question into one for each undecided change."""
        self.steps.append((self.at, self.questions, self.decided))
        decided = tuple(part for part in self.questions[self.at] if part in self.decided)
        questions = (*((decided,) if decided else ()), *((member,) for member in self.in_sight))
        self.questions = (*self.questions[: self.at], *questions, *self.questions[self.at + 1 :])
        self.at += bool(decided)

    def undo(self) -> bool:
        """Undo the last step; return whether there was one."""
        if not self.steps:
            return False
        self.at, self.questions, self.decided = self.steps.pop()
        return True


# A review: a key of the current question decides, or begins a conversation: a generator that yields dialogs
# and receives the keys typed in them. Decisions are collected until they are written.


ENTER, ESCAPE = ("\r", "\n"), "\x1b"
_BACKSPACE, _CLEAR_LINE = ("\x7f", "\b"), "\x15"
_LONGEST = 500
_YES = ("y", "Y")
_YES_OR_NO = (("y", "yes"), ("n", "no"))

Conversation = Generator[Dialog, str, None]


class Review(MutableStruct):
    """`shown`: the plans as they may be shown, without secrets. `offers`: the placeholders that fit;
    `problem`: why a text is not one that fits; `about`: the context of a change. `ended`: "write" when the
    decisions are to be applied, "nothing" when they are not."""

    plans: Sequence[RefreshPlan]
    shown: Sequence[RefreshPlan]
    ledger: Ledger
    offers: Callable[[Sequence[Changed]], Sequence[Offer]]
    problem: Callable[[str, Sequence[Changed]], str]
    about: Callable[[RefreshPlan, Change], ChangeContext]
    ended: str = ""
    _dialog: Dialog | None = None
    _conversation: Conversation | None = None
    _message: str = ""
    _with_info: bool = False
    _with_help: bool = False

    @property
    def scene(self) -> Scene:
        ledger, in_sight, dialog = self.ledger, self.ledger.in_sight, self._dialog
        about = self.about(*self._look_up(in_sight[0])) if in_sight else None
        if dialog is None and not in_sight:
            decided = sum(decision.verb != "skip" for decision in ledger.decided.values())
            end = f"that was the last: {count_noun(decided, 'change')} decided. Write the files?"
            dialog = Dialog(end, (("Enter", "write"), ("u", "undo"), ("n", "no")))
        return Scene(
            min(ledger.at + 1, len(ledger.questions)),
            len(ledger.questions),
            tuple((self.shown[n], self.shown[n].changes[number]) for n, number in in_sight),
            about,
            count_verbs(ledger.decided.values()),
            dialog,
            self._message,
            self._with_info,
            self._with_help,
        )

    def press(self, key: str) -> None:
        """Handle one key, as it was typed."""
        self._message, self._with_help = "", False
        commands = _COMMANDS if self.ledger.in_sight else _COMMANDS_AT_END
        if self._conversation is not None:
            self._go_on(lambda conversation: conversation.send(key))
        elif key in commands:
            self._conversation = commands[key](self)
            self._go_on(next)
        elif key.isprintable() and key and self.ledger.in_sight:
            self._message = f"{key!r} does nothing here: ? lists the keys"

    def _go_on(self, step: Callable[[Conversation], Dialog]) -> None:
        try:
            self._dialog = step(self._conversation) if self._conversation else None
        except StopIteration:
            self._dialog = self._conversation = None

    def _look_up(self, member: Member) -> Changed:
        plan = self.plans[member[0]]
        return plan, plan.changes[member[1]]

    def _in_sight(self) -> list[Changed]:
        return [self._look_up(member) for member in self.ledger.in_sight]

    def decide(self, verb: Verb, text: str = "", members: Sequence[Member] = ()) -> None:
        """Decide about these changes, or about those of the current question."""
        self.ledger.decide(members or self.ledger.in_sight, Decision(verb, text))
        if not self.ledger.in_sight and self.ledger.is_all_skipped:
            self.ended = "write"  # nothing is to be written, so there is no question

    def accept(self) -> Conversation:
        changes = [change for _, change in self._in_sight()]
        if blocked := next((change.blocked for change in changes if change.blocked), None):
            self._message = f"it cannot be accepted: {blocked.message}: p and g can help"
        elif (yield from _confirm(changes)):
            self.decide("accept")

    def decide_all(self, verb: Verb) -> Conversation:
        """Decide on all remaining changes, except accept those that somebody may rely on."""
        members = remaining = self.ledger.undecided(self.ledger.questions)
        if verb == "accept":
            changes = {member: self._look_up(member)[1] for member in remaining}
            members = [n for n, one in changes.items() if not (one.blocked or confirmation_question([one]))]
        if not members:
            self._message = "each of these needs a decision of its own"
            return
        question = f"{verb} {len(members)} of the {len(remaining)} that remain?"
        if (yield Dialog(question, _YES_OR_NO)) in _YES:
            self.decide(verb, members=members)

    def put_placeholder(self) -> Conversation:
        changed = self._in_sight()
        self._message = next((reason for _, change in changed if (reason := no_placeholder(change))), "")
        if self._message:
            return
        offers = tuple(self.offers(changed))
        text = yield from self._choose("which placeholder should stand here?", offers, changed, self.problem)
        if not text:
            return
        after = [with_after(plan, change.number, text).changes[change.number] for plan, change in changed]
        if (yield from _confirm(after)):
            self.decide("placeholder", text)

    def ignore(self) -> Conversation:
        """Ignore a path; the changes that the rule covers need no decision."""
        changed = self._in_sight()
        self._message = next((reason for _, change in changed if (reason := no_rule(change))), "")
        if self._message:
            return
        offers = tuple(rule for rule in rules_for(*changed[0]) if not rule_problem(rule.text, changed))
        ids = list(dict.fromkeys(plan.baseline.id for plan, _ in changed))
        question = f"which path is added to comparison.ignore_fields of {list_first(ids, 1)}?"
        if text := (yield from self._choose(question, offers, changed, rule_problem)):
            plans = dict.fromkeys(n for n, _ in self.ledger.in_sight)
            covered = [(n, number) for n in plans for number in covered_changes(self.plans[n], text)]
            self.decide("ignore", text, self.ledger.undecided([tuple(covered)]))

    def _choose(
        self,
        question: str,
        offers: tuple[Offer, ...],
        changed: Sequence[Changed],
        problem: Callable[[str, Sequence[Changed]], str],
    ) -> Generator[Dialog, str, str]:
        """Return the chosen text; empty if none is. A number takes an offer and Enter the first one, `t`
        begins a typed text; Esc leaves. The dialog stays open until the text is valid."""
        texts: dict[str, str] = {str(n): offer.text for n, offer in enumerate(offers, 1)}
        first, typed = texts.get("1", ""), None
        while True:
            key = yield Dialog(question, offers=offers, typed=typed)
            if key == ESCAPE or (typed is None and key in ("n", "q")):
                return ""
            if (key in ENTER and (typed is not None or offers)) or (typed is None and key in texts):
                text = typed if typed is not None else texts.get(key, first)
                self._message = problem(text, changed)
                if not self._message:
                    return text
            elif typed is None and key == "t":
                typed = first
            elif typed is None:
                self._message = f"1 to {len(offers)} takes one, t types one, Esc cancels" if key else ""
            elif key in _BACKSPACE:
                typed = typed[:-1]
            elif key == _CLEAR_LINE:
                typed = ""
            elif key.isprintable() and len(typed) < _LONGEST:
                typed += key

    def take_apart(self) -> None:
        number = len(self.ledger.in_sight)
        self._message = f"{number} questions instead of one" if number > 1 else "it is one change only"
        if number > 1:
            self.ledger.take_apart()

    def undo(self) -> None:
        self._message = "" if self.ledger.undo() else "nothing is decided yet"

    def quit(self) -> Conversation:
        key = "y"
        if not self.ledger.is_all_skipped:
            keys = (("y", "write it"), ("n", "discard it"), ("Esc", "go on"))
            key = yield Dialog("keep the decisions made so far?", keys)
        self.ended = {"y": "write", "Y": "write", "n": "nothing", "N": "nothing"}.get(key, "")

    def write(self) -> None:
        self.ended = "write"

    def toggle_info(self) -> None:
        self._with_info = not self._with_info

    def show_help(self) -> None:
        self._with_help = True


def _confirm(changes: Sequence[Change]) -> Generator[Dialog, str, bool]:
    """Return at once, or after a confirmation where somebody may rely on what would change."""
    words = confirmation_question(changes)
    return not words or (yield Dialog(words, _YES_OR_NO)) in _YES


_COMMANDS: dict[str, Callable[[Review], Conversation | None]] = {
    "a": Review.accept,
    "r": lambda review: review.decide("reject"),
    "s": lambda review: review.decide("skip"),
    "A": lambda review: review.decide_all("accept"),
    "R": lambda review: review.decide_all("reject"),
    "S": lambda review: review.decide_all("skip"),
    "p": Review.put_placeholder,
    "g": Review.ignore,
    "m": Review.take_apart,
    "i": Review.toggle_info,
    "u": Review.undo,
    "?": Review.show_help,
    "q": Review.quit,
}
_COMMANDS_AT_END: dict[str, Callable[[Review], Conversation | None]] = {
    **dict.fromkeys((*ENTER, *_YES), Review.write),
    **dict.fromkeys(("n", "N", "q"), Review.quit),
    "u": Review.undo,
}
