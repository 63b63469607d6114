"""review: changes are decided one by one at a terminal, or by a program; everything is written at once."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import cast

from baselinekit.changes.alternatives import (
    Changed,
    covered_changes,
    no_placeholder,
    no_rule,
    placeholder_problem,
    placeholder_syntax_problem,
    placeholders_for,
    rule_problem,
    rules_for,
)
from baselinekit.changes.changes import with_after
from baselinekit.changes.reviewing import Ledger, Review, ReviewContext
from baselinekit.commands.judging import target_of
from baselinekit.commands.project import Project, flatten
from baselinekit.commands.refresh import Permit, mask_proposal, reason_against
from baselinekit.errors import InvalidInput, Problem, suggest
from baselinekit.files.jsontext import load_json
from baselinekit.learning.templating import secrets_in
from baselinekit.model.changes import (
    VERBS,
    Change,
    ChangeContext,
    Decision,
    Member,
    Offer,
    Offers,
    RefreshPlan,
    RefreshProposal,
    Verb,
)
from baselinekit.model.values import Json, Path
from baselinekit.report.reviewing import format_pending_json
from baselinekit.schema import place_problems
from baselinekit.secrets.variables import MASK, as_text
from baselinekit.store.reading import locate
from baselinekit.structs import MutableStruct, field, replace
from baselinekit.values.paths import render

# review: changes are decided one by one; everything is written at once, at the end.


_HIDDEN_PLACEHOLDERS = ("<<any_nonempty_string>>", "<<any_string>>", "<<any>>")


def begin_review(project: Project, proposal: RefreshProposal) -> Review:
    """Start the review of a proposal, at its first question. What it shows has no secrets in it."""
    knowing = ChangeAdvisor(project)
    masked = mask_proposal(proposal, project.redactor)
    return Review(
        proposal.plans,
        masked.plans,
        Ledger(tuple(group.members for group in proposal.groups)),
        ReviewContext(knowing.offers, knowing.problem, knowing.about),
    )


class ChangeAdvisor:
    """What the project knows about a change. Results are cached, as they are needed again and again."""

    def __init__(self, project: Project):
        self._project = project
        self.words_of = project.words_of
        self._about: dict[tuple[int, int], tuple[RefreshPlan, ChangeContext]] = {}

    def offers(self, members: Sequence[Changed]) -> list[Offer]:
        """Return the placeholders that fit. For a hidden value they are general ones, which reveal nothing of
        it."""
        if any(self._is_hidden(change) for _, change in members):
            return [Offer(text, "the new output is not shown") for text in _HIDDEN_PLACEHOLDERS]
        return placeholders_for(members, self.words_of)

    def _is_hidden(self, change: Change) -> bool:
        masked = self._project.redactor.mask_value(change.after, change.path)
        return masked is not change.after or MASK in as_text(change.after)

    def problem(self, text: str, members: Sequence[Changed]) -> str:
        """Return why a text cannot be stored there: it does not fit, or reveals something."""
        visible = [member for member in members if not self._is_hidden(member[1])]
        reason = (
            placeholder_problem(text, visible, self.words_of)
            if visible
            else placeholder_syntax_problem(text, self._project.words)
        )
        secrets = secrets_in(text, self._project.redactor, members[0][1].path)
        return reason or next((f"it holds {secret}" for _, secret in secrets), "")

    def about(self, plan: RefreshPlan, change: Change) -> ChangeContext:
        key = id(plan), change.number
        if key not in self._about:
            self._about[key] = plan, self._look_up(plan, change)
        return self._about[key][1]

    def _look_up(self, plan: RefreshPlan, change: Change) -> ChangeContext:
        baseline, seen, mask = plan.baseline, plan.seen, self._project.redactor.mask_value
        path = (*baseline.output_path, *change.at) if change.part == "output" else ("baseline", *change.at)
        place = locate(baseline.source, path, self._project.root)
        where = place.file if place.line is None else f"{place.file}:{place.line}"
        stored = baseline.baseline
        before, now = flatten(stored.environment if stored else {}), flatten(seen.environment)
        drift = {
            name: (value, now[name])
            for name, value in sorted(before.items())
            if name in now and now[name] != value and name != "git.dirty"
        }
        facts = tuple((name, str(mask(text))) for name, text in _facts(plan, now))
        return ChangeContext(where, target_of(baseline.current, self._project), mask(drift), facts)


def _facts(plan: RefreshPlan, now: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """Yield the facts about the baseline and its new output."""
    baseline, stored = plan.baseline, plan.baseline.baseline
    yield "recipe", baseline.current.kind
    for name, text in (("name", baseline.name), ("version", baseline.baseline_version)):
        if text:
            yield name, text
    if stored is not None:
        for name, text in (
            ("captured", stored.captured_at),
            ("approved by", stored.approved_by),
            ("reason", stored.reason),
        ):
            if text:
                yield name, text
    metadata = baseline.metadata
    yield "last passed", metadata.last_passed or "never"
    if metadata.failure_count:
        times = "once" if metadata.failure_count == 1 else f"{metadata.failure_count:,} times"
        yield "failed", f"{times} since"
    origin = "" if plan.seen.origin == "kept" else f" ({plan.seen.origin})"
    yield "seen", f"{plan.seen.captured_at}{origin}"
    for name, value in sorted(now.items()):
        yield name, as_text(value)


def as_json(project: Project, proposal: RefreshProposal, operator: Sequence[str] = ()) -> str:
    """Return all pending changes, with the choices for each. `operator`: the options about the project."""
    knows = ChangeAdvisor(project)
    members = sorted(member for group in proposal.groups for member in group.members)
    offers = {
        (n, number): Offers(
            () if no_placeholder(change) else tuple(knows.offers([(plan, change)])),
            () if no_rule(change) else tuple(rules_for(plan, change)),
        )
        for n, number in members
        for plan in (proposal.plans[n],)
        for change in (plan.changes[number],)
    }
    return format_pending_json(mask_proposal(proposal, project.redactor), offers, operator)


# Decisions made by a program: they are read strictly, and either all of them are valid or none is used.


_KEYS = {"id": str, "number": int, "path": str, "decision": str, "value": str, "confirm": bool}
_TAKES_VALUE = ("placeholder", "ignore")
_MOST_NAMED = 5


def decisions_in(
    text: str, name: str, plans: Sequence[RefreshPlan], knows: ChangeAdvisor, permit: Permit
) -> dict[Member, Decision]:
    """Return what a text decides about these plans. InvalidInput holds everything that is wrong with it."""
    document = load_json(text, name)
    at: Path = ()
    if isinstance(document, dict) and document.keys() == {"decisions"}:
        document, at = document["decisions"], ("decisions",)
    if not isinstance(document, list):
        message = "decisions must be a list, or an object with the single key `decisions`"
        raise InvalidInput(*place_problems(text, name, {0: [Problem("BK538", message, _EXAMPLE, at=at)]}))
    reader = _DecisionReader(plans, knows, permit)
    for n, entry in enumerate(document):
        reader.read(entry, (*at, n))
    if reader.problems:
        raise InvalidInput(*place_problems(text, name, {0: reader.problems}))
    return {**_covered_by_rules(plans, reader.decided), **reader.decided}


_EXAMPLE = 'an example: {"id": "users", "path": "body.name", "decision": "accept"}'


class _InvalidDecision(Exception):
    """A decision that cannot be carried out: the message, a hint, and which of its keys is wrong."""

    def __init__(self, message: str, hint: str = "", key: str = "", code: str = "BK538"):
        super().__init__(message)
        self.problem = Problem(code, message, hint, at=(key,) if key else ())


class _DecisionReader(MutableStruct):
    plans: Sequence[RefreshPlan]
    knows: ChangeAdvisor
    permit: Permit
    decided: dict[Member, Decision] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def read(self, entry: Json, at: Path) -> None:
        try:
            verb = _check_entry(entry)
            for member in self.members(entry):
                if member in self.decided:
                    raise _InvalidDecision(f"{self.name_member(member)} is decided twice", "decide it once")
                self.decide(member, verb, entry)
        except _InvalidDecision as error:
            self.problems.append(replace(error.problem, at=(*at, *(error.problem.at or ()))))

    def members(self, entry: dict[str, Json]) -> list[Member]:
        """Return the changes that a decision names: those of a baseline, at a path or with a number."""
        chosen = [n for n, plan in enumerate(self.plans) if fnmatchcase(plan.baseline.id, entry["id"])]
        if not chosen:
            hint = suggest(entry["id"], [plan.baseline.id for plan in self.plans])
            raise _InvalidDecision(
                f"nothing of {entry['id']!r} is pending", hint or "review --json lists it", "id"
            )
        members = [
            (n, change.number)
            for n in chosen
            for covered in [_covered(self.plans[n], entry.get("path"))]
            for change in self.plans[n].changes
            if entry.get("number", change.number) == change.number and change.number in covered
        ]
        if not members:
            key = "path" if "path" in entry else "number"
            paths = [_place_name(change) for n in chosen for change in self.plans[n].changes]
            hint = suggest(str(entry[key]), paths) or f"what changes is {', '.join(paths[:_MOST_NAMED])}"
            raise _InvalidDecision(f"nothing changes at {key} {entry[key]!r}", hint, key)
        return members

    def decide(self, member: Member, verb: Verb, entry: dict[str, Json]) -> None:
        plan = self.plans[member[0]]
        change = plan.changes[member[1]]
        text = ""
        if verb == "placeholder":
            text = self.placeholder((plan, change), entry)
            plan = with_after(plan, change.number, text)
        elif verb == "ignore":
            text = _ignore_rule((plan, change), entry)
        if verb in ("accept", "placeholder"):
            permit = Permit(True, True) if entry.get("confirm") else self.permit
            problem = reason_against(plan, {change.number}, permit)
            if problem is not None:
                hint = 'if it is meant, add "confirm": true' if problem.code != "BK534" else problem.hint
                raise _InvalidDecision(
                    f"{plan.baseline.id}: {problem.message}", hint, "decision", problem.code
                )
        self.decided[member] = Decision(verb, text)

    def placeholder(self, changed: Changed, entry: dict[str, Json]) -> str:
        reason = no_placeholder(changed[1])
        if reason:
            raise _InvalidDecision(reason, "accept or reject it", "decision")
        text = entry["value"] if "value" in entry else self.knows.offers([changed])[0].text
        reason = self.knows.problem(text, [changed])
        if reason:
            raise _InvalidDecision(f"{text}: {reason}", "", "value" if "value" in entry else "decision")
        return str(text)

    def name_member(self, member: Member) -> str:
        plan = self.plans[member[0]]
        return f"{plan.baseline.id} {_place_name(plan.changes[member[1]])}"


def _check_entry(entry: Json) -> Verb:
    """Return the verb of a decision that has all required keys, and no others."""
    if not isinstance(entry, dict):
        raise _InvalidDecision("a decision must be an object", _EXAMPLE)
    for key, value in entry.items():
        if key not in _KEYS:
            raise _InvalidDecision(
                f"a decision has no key {key!r}", suggest(key, _KEYS) or ", ".join(_KEYS), key
            )
        if not isinstance(value, _KEYS[key]) or (isinstance(value, bool) and key != "confirm"):
            raise _InvalidDecision(f"{key} is {_TYPE_NAMES[_KEYS[key]]}", "", key)
    missing = next((key for key in ("id", "decision") if key not in entry), None)
    if missing:
        raise _InvalidDecision(f"a decision needs its {missing}", _EXAMPLE)
    if entry["decision"] not in VERBS:
        hint = suggest(entry["decision"], VERBS) or ", ".join(VERBS)
        raise _InvalidDecision(f"there is no decision {entry['decision']!r}", hint, "decision")
    if "value" in entry and entry["decision"] not in _TAKES_VALUE:
        raise _InvalidDecision(
            f"{entry['decision']} takes no value", "a placeholder does, and ignore", "value"
        )
    return cast(Verb, entry["decision"])


_TYPE_NAMES: Mapping[type, str] = {str: "a text", int: "a number", bool: "true or false"}


def _covered(plan: RefreshPlan, path: str | None) -> Collection[int]:
    """Return the changes at a path: in the output, or by the name of what the run took."""
    if path is None:
        return range(len(plan.changes))
    try:
        observed = {one.number for one in plan.changes if one.part != "output" and path == _place_name(one)}
        return observed | covered_changes(plan, path)
    except InvalidInput as error:
        raise _InvalidDecision(error.problems[0].message, error.problems[0].hint, "path", "BK201") from None


def _place_name(change: Change) -> str:
    return render(change.path if change.part == "output" else ("baseline", *change.path))


def _covered_by_rules(
    plans: Sequence[RefreshPlan], decided: Mapping[Member, Decision]
) -> dict[Member, Decision]:
    """Return what else the rules cover."""
    ignored = {
        (n, decision.text): decision for (n, _), decision in decided.items() if decision.verb == "ignore"
    }
    return {
        (n, number): decision
        for (n, text), decision in ignored.items()
        for number in covered_changes(plans[n], text)
    }


def _ignore_rule(changed: Changed, entry: dict[str, Json]) -> str:
    reason = no_rule(changed[1])
    if reason:
        raise _InvalidDecision(reason, "accept or reject it", "decision")
    text = str(entry.get("value", "")) or rules_for(*changed)[0].text
    reason = rule_problem(text, [changed])
    if reason:
        raise _InvalidDecision(f"{text}: {reason}", "", "value")
    return text


def undecided(plans: Sequence[RefreshPlan], decided: Mapping[Member, Decision]) -> Iterator[Member]:
    """Yield what is still undecided after all of that."""
    for n, plan in enumerate(plans):
        for change in plan.changes:
            if decided.get((n, change.number), Decision("skip")).verb == "skip":
                yield n, change.number
