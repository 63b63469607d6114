"""review: changes decided one by one at a terminal, or by a program; all of it written at once."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import cast

from baselinekit.approval.planning import (
    Permit,
    apply,
    covers,
    forbidden,
    mask_proposal,
    preview,
    with_output,
)
from baselinekit.documents.jsontext import load_json
from baselinekit.errors import BaselinekitError, InvalidInput, Problem, nearest
from baselinekit.model.baselines import Baseline
from baselinekit.model.changes import (
    VERBS,
    Applied,
    Change,
    ChangeContext,
    Decision,
    Member,
    Offer,
    Offers,
    RefreshPlan,
    RefreshProposal,
    Rewritten,
    Stamp,
    Verb,
)
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.table import Words
from baselinekit.refresh.alternatives import (
    Changed,
    covered_changes,
    no_placeholder,
    no_rule,
    placeholder_problem,
    placeholders_for,
    rule_problem,
    rules_for,
    unreadable,
)
from baselinekit.refresh.changes import with_after
from baselinekit.refresh.reviewing import Knowing, Ledger, Review, Settled, questions_of, settle_plans
from baselinekit.report.reviewing import format_pending_json
from baselinekit.schema.records import place_problems
from baselinekit.store.reading import locate
from baselinekit.store.results import drop_pending, load_pending, save_pending
from baselinekit.tree.paths import Pattern, parse, render
from baselinekit.variables import MASK, as_text
from baselinekit.workflow.judging import target_of
from baselinekit.workflow.learning import secrets_in
from baselinekit.workflow.pending import compared_with
from baselinekit.workflow.project import Project, flatten

# review: one change after the other, decided by whoever looks; all of it written at once, at the end.


_FOR_WHAT_IS_HIDDEN = ("<<any_nonempty_string>>", "<<any_string>>", "<<any>>")


def begin(project: Project, proposal: RefreshProposal) -> Review:
    """The review of a proposal, at its first question. What is shown has no secrets in it."""
    knowing = Knows(project)
    shown = mask_proposal(proposal, project.redactor)
    return Review(
        proposal.plans,
        shown.plans,
        Ledger(questions_of(proposal.groups)),
        Knowing(knowing.offers, knowing.problem, knowing.about),
    )


class Knows:
    """What the project says of a change. It is asked again and again, so it remembers."""

    def __init__(self, project: Project):
        self._project = project
        self._words: dict[int, tuple[Baseline, Words]] = {}
        self._about: dict[tuple[int, int], tuple[RefreshPlan, ChangeContext]] = {}

    def words_of(self, baseline: Baseline) -> Words:
        if id(baseline) not in self._words:
            self._words[id(baseline)] = baseline, self._project.words_of(baseline)
        return self._words[id(baseline)][1]

    def offers(self, members: Sequence[Changed]) -> list[Offer]:
        """The placeholders that fit. A proposal must not spell out what is hidden, so for that it is a plain
        one."""
        if any(self._is_hidden(change) for _, change in members):
            return [Offer(text, "the new output is not shown") for text in _FOR_WHAT_IS_HIDDEN]
        return placeholders_for(members, self.words_of)

    def _is_hidden(self, change: Change) -> bool:
        shown = self._project.redactor.mask_value(change.after, change.path)
        return shown is not change.after or MASK in as_text(change.after)

    def problem(self, text: str, members: Sequence[Changed]) -> str:
        """Why a text cannot stand there: it does not fit, or gives something away."""
        seen = [member for member in members if not self._is_hidden(member[1])]
        reason = (
            placeholder_problem(text, seen, self.words_of) if seen else unreadable(text, self._project.words)
        )
        secrets = secrets_in(text, self._project.redactor, members[0][1].path)
        return reason or next((f"it holds {what}" for _, what in secrets), "")

    def about(self, plan: RefreshPlan, change: Change) -> ChangeContext:
        key = id(plan), change.number
        if key not in self._about:
            self._about[key] = plan, self._looked_up(plan, change)
        return self._about[key][1]

    def _looked_up(self, plan: RefreshPlan, change: Change) -> ChangeContext:
        baseline, seen, mask = plan.baseline, plan.seen, self._project.redactor.mask_value
        path = (*baseline.output_path, *change.at) if change.part == "output" else ("baseline", *change.at)
        place = locate(baseline.source, path, self._project.root)
        where = place.file if place.line is None else f"{place.file}:{place.line}"
        known = baseline.baseline
        before, now = flatten(known.environment if known else {}), flatten(seen.environment)
        drift = {
            name: (value, now[name])
            for name, value in sorted(before.items())
            if name in now and now[name] != value and name != "git.dirty"
        }
        facts = tuple((name, str(mask(text))) for name, text in _facts(plan, now))
        return ChangeContext(where, target_of(baseline.current, self._project), mask(drift), facts)


def _facts(plan: RefreshPlan, now: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """What is noted of the baseline, and of what was seen."""
    baseline, known = plan.baseline, plan.baseline.baseline
    yield "recipe", baseline.current.kind
    for name, text in (("name", baseline.name), ("version", baseline.baseline_version)):
        if text:
            yield name, text
    if known is not None:
        for name, text in (
            ("captured", known.captured_at),
            ("approved by", known.approved_by),
            ("reason", known.reason),
        ):
            if text:
                yield name, text
    meta = baseline.metadata
    yield "last passed", meta.last_passed or "never"
    if meta.failure_count:
        times = "once" if meta.failure_count == 1 else f"{meta.failure_count:,} times"
        yield "failed", f"{times} since"
    origin = "" if plan.seen.origin == "kept" else f" ({plan.seen.origin})"
    yield "seen", f"{plan.seen.captured_at}{origin}"
    for name, value in sorted(now.items()):
        yield name, as_text(value)


def as_json(project: Project, proposal: RefreshProposal) -> str:
    """All that is pending, with what could be chosen for each change."""
    knows = Knows(project)
    asked = sorted(member for group in proposal.groups for member in group.members)
    offers = {
        (n, number): Offers(
            () if no_placeholder(change) else tuple(knows.offers([(plan, change)])),
            () if no_rule(change) else tuple(rules_for(plan, change)),
        )
        for n, number in asked
        for plan in (proposal.plans[n],)
        for change in (plan.changes[number],)
    }
    return format_pending_json(mask_proposal(proposal, project.redactor), offers)


def count_verbs(decided: Mapping[Member, Decision]) -> dict[Verb, int]:
    """How many changes were decided in which way. To skip one is to decide nothing."""
    verbs = [decision.verb for decision in decided.values() if decision.verb != "skip"]
    return {verb: verbs.count(verb) for verb in VERBS if verb in verbs}


def preview_decisions(
    project: Project, plans: Sequence[RefreshPlan], decided: Mapping[Member, Decision], stamp: Stamp
) -> tuple[Rewritten, ...]:
    """The files as these decisions would make them. Nothing is written."""
    approvals = [one.approval for one in settle_plans(plans, decided) if one.writes]
    return preview(project, approvals, stamp)


def finish(
    project: Project, plans: Sequence[RefreshPlan], decided: Mapping[Member, Decision], stamp: Stamp
) -> Applied:
    """Write what was accepted, forget what was rejected, and keep the rest for another time."""
    results = settle_plans(plans, decided)
    applied = apply(project, [one.approval for one in results if one.writes], stamp)
    written = set(applied.ids)
    failures: list[Problem] = []
    for one in results:
        if not one.writes or one.approval.plan.baseline.id in written:
            failures += keep_rest(project, one)
    return replace(applied, failures=(*applied.failures, *failures))


def keep_rest(project: Project, one: Settled) -> Sequence[Problem]:
    """What was seen of a baseline stays kept as far as it is undecided. It was of another place, or asked for
    anew, so that nothing is kept of it: then that stays so."""
    approval = one.approval
    plan = approval.plan
    id = plan.baseline.id
    if plan.seen.origin != "kept":
        return ()
    if one.rest is None:
        drop_pending(project.root, id)
        return ()
    after = with_output(project, plan, approval.accepted, approval.ignored)
    with suppress(BaselinekitError):
        if load_pending(project.root, id) is None:
            return ()
    try:
        save_pending(project.root, replace(one.rest, compared_with=compared_with(after), differing=()))
    except BaselinekitError as error:
        return error.problems
    return ()


# Decisions that a program made: read strictly, and either all of them hold or none does.


_KEYS = {"id": str, "number": int, "path": str, "decision": str, "value": str, "confirm": bool}
_TAKES_VALUE = ("placeholder", "ignore")
_MOST_NAMED = 5


def decisions_in(
    text: str, name: str, plans: Sequence[RefreshPlan], knows: Knows, permit: Permit
) -> dict[Member, Decision]:
    """What a text decides of these plans. InvalidInput holds everything that is wrong with it."""
    document = load_json(text, name)
    at: Path = ()
    if isinstance(document, dict) and document.keys() == {"decisions"}:
        document, at = document["decisions"], ("decisions",)
    if not isinstance(document, list):
        message = "decisions must be a list, or an object with the single key `decisions`"
        raise InvalidInput(*place_problems(text, name, {0: [Problem("BK538", message, _LOOKS, at=at)]}))
    reading = _DecisionReader(plans, knows, permit)
    for n, one in enumerate(document):
        reading.read(one, (*at, n))
    if reading.problems:
        raise InvalidInput(*place_problems(text, name, {0: reading.problems}))
    return {**_covered(plans, reading.decided), **reading.decided}


_LOOKS = 'an example: {"id": "users", "path": "body.name", "decision": "accept"}'


class _Wrong(Exception):
    """A decision that cannot be carried out: what, how to mend it, and at which of its keys."""

    def __init__(self, what: str, hint: str = "", key: str = "", code: str = "BK538"):
        super().__init__(what)
        self.problem = Problem(code, what, hint, at=(key,) if key else ())


@dataclass(slots=True)
class _DecisionReader:
    plans: Sequence[RefreshPlan]
    knows: Knows
    permit: Permit
    decided: dict[Member, Decision] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def read(self, one: Json, at: Path) -> None:
        try:
            verb = _checked(one)
            for member in self.members(one):
                if member in self.decided:
                    raise _Wrong(f"{self.named(member)} is decided twice", "decide it once")
                self.decide(member, verb, one)
        except _Wrong as wrong:
            self.problems.append(replace(wrong.problem, at=(*at, *(wrong.problem.at or ()))))

    def members(self, one: dict[str, Json]) -> list[Member]:
        """The changes that a decision names: those of a baseline, at a path or with a number."""
        chosen = [n for n, plan in enumerate(self.plans) if fnmatchcase(plan.baseline.id, one["id"])]
        if not chosen:
            hint = nearest(one["id"], [plan.baseline.id for plan in self.plans])
            raise _Wrong(f"nothing of {one['id']!r} is pending", hint or "review --json lists it", "id")
        pattern = _pattern(one["path"]) if "path" in one else None
        found = [
            (n, change.number)
            for n in chosen
            for change in self.plans[n].changes
            if one.get("number", change.number) == change.number
            and (pattern is None or _leads(pattern, one["path"], change, self.plans[n]))
        ]
        if not found:
            key = "path" if "path" in one else "number"
            known = [_where(change) for n in chosen for change in self.plans[n].changes]
            hint = nearest(str(one[key]), known) or f"what changes is {', '.join(known[:_MOST_NAMED])}"
            raise _Wrong(f"nothing changes at {key} {one[key]!r}", hint, key)
        return found

    def decide(self, member: Member, verb: Verb, one: dict[str, Json]) -> None:
        plan = self.plans[member[0]]
        change = plan.changes[member[1]]
        text = ""
        if verb == "placeholder":
            text = self.placeholder((plan, change), one)
            plan = with_after(plan, change.number, text)
        elif verb == "ignore":
            text = _rule((plan, change), one)
        if verb in ("accept", "placeholder"):
            permit = Permit(True, True) if one.get("confirm") else self.permit
            reason = forbidden(plan, {change.number}, permit)
            if reason is not None:
                hint = 'if it is meant, add "confirm": true' if reason.code != "BK534" else reason.hint
                raise _Wrong(f"{plan.baseline.id}: {reason.message}", hint, "decision", reason.code)
        self.decided[member] = Decision(verb, text)

    def placeholder(self, changed: Changed, one: dict[str, Json]) -> str:
        reason = no_placeholder(changed[1])
        if reason:
            raise _Wrong(reason, "accept or reject it", "decision")
        text = one["value"] if "value" in one else self.knows.offers([changed])[0].text
        reason = self.knows.problem(text, [changed])
        if reason:
            raise _Wrong(f"{text}: {reason}", "", "value" if "value" in one else "decision")
        return str(text)

    def named(self, member: Member) -> str:
        plan = self.plans[member[0]]
        return f"{plan.baseline.id} {_where(plan.changes[member[1]])}"


def _checked(one: Json) -> Verb:
    """The verb of a decision that says what it must, and nothing else."""
    if not isinstance(one, dict):
        raise _Wrong("a decision must be an object", _LOOKS)
    for key, value in one.items():
        if key not in _KEYS:
            raise _Wrong(f"a decision has no key {key!r}", nearest(key, _KEYS) or ", ".join(_KEYS), key)
        if not isinstance(value, _KEYS[key]) or (isinstance(value, bool) and key != "confirm"):
            raise _Wrong(f"{key} is {_A[_KEYS[key]]}", "", key)
    missing = next((key for key in ("id", "decision") if key not in one), None)
    if missing:
        raise _Wrong(f"a decision needs its {missing}", _LOOKS)
    if one["decision"] not in VERBS:
        hint = nearest(one["decision"], VERBS) or ", ".join(VERBS)
        raise _Wrong(f"there is no decision {one['decision']!r}", hint, "decision")
    if "value" in one and one["decision"] not in _TAKES_VALUE:
        raise _Wrong(f"{one['decision']} takes no value", "a placeholder does, and ignore", "value")
    return cast(Verb, one["decision"])


_A: Mapping[type, str] = {str: "a text", int: "a number", bool: "true or false"}


def _pattern(text: str) -> Pattern:
    try:
        return parse(text)
    except InvalidInput as error:
        raise _Wrong(error.problems[0].message, error.problems[0].hint, "path", "BK201") from None


def _leads(pattern: Pattern, text: str, change: Change, plan: RefreshPlan) -> bool:
    return covers(pattern, change, plan) if change.part == "output" else text == _where(change)


def _where(change: Change) -> str:
    return render(change.path if change.part == "output" else ("baseline", *change.path))


def _covered(plans: Sequence[RefreshPlan], decided: Mapping[Member, Decision]) -> dict[Member, Decision]:
    """What else the rules take care of."""
    rules = {(n, one.text): one for (n, _), one in decided.items() if one.verb == "ignore"}
    return {
        (n, number): one for (n, text), one in rules.items() for number in covered_changes(plans[n], text)
    }


def _rule(changed: Changed, one: dict[str, Json]) -> str:
    reason = no_rule(changed[1])
    if reason:
        raise _Wrong(reason, "accept or reject it", "decision")
    text = str(one.get("value", "")) or rules_for(*changed)[0].text
    reason = rule_problem(text, [changed])
    if reason:
        raise _Wrong(f"{text}: {reason}", "", "value")
    return text


def undecided(plans: Sequence[RefreshPlan], decided: Mapping[Member, Decision]) -> Iterator[Member]:
    """What still waits after all of that."""
    for n, plan in enumerate(plans):
        for change in plan.changes:
            if decided.get((n, change.number), Decision("skip")).verb == "skip":
                yield n, change.number
