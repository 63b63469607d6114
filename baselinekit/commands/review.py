"""review: changes are decided one by one at a terminal, or by a program; everything is written at once."""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Literal

from baselinekit.changes.changes import with_after
from baselinekit.changes.reviewing import (
    Changed,
    Ledger,
    Review,
    covered_changes,
    no_placeholder,
    no_rule,
    rule_problem,
    rules_for,
)
from baselinekit.commands.judging import target_of
from baselinekit.commands.pending import short_hash
from baselinekit.commands.project import Project, flatten
from baselinekit.commands.refresh import Permit, mask_proposal, reason_against
from baselinekit.commands.selection import list_names
from baselinekit.errors import BaselinekitError, InvalidInput, Problem
from baselinekit.files.jsontext import load_json
from baselinekit.learning.templating import secrets_in
from baselinekit.model import changes
from baselinekit.model.baselines import Known
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.grammar import tokens_in, unescaped
from baselinekit.placeholders.narrowest import narrowest
from baselinekit.placeholders.template import compile_text
from baselinekit.report.reviewing import change_document, format_pending_json
from baselinekit.schema import place_problems, read_as
from baselinekit.secrets.variables import MASK, as_text
from baselinekit.store.reading import locate_each
from baselinekit.structs import Struct, replace
from baselinekit.values.equality import canonical
from baselinekit.values.paths import render
from baselinekit.values.places import value_or_absent
from baselinekit.values.texts import count_noun

# review: changes are decided one by one; everything is written at once, at the end.


_MOST_OFFERS = 6
_HIDDEN_PLACEHOLDERS = ("<<any_nonempty_string>>", "<<any_string>>", "<<any>>")


def begin_review(project: Project, proposal: changes.RefreshProposal) -> Review:
    """Start the review of a proposal, at its first question. What it shows has no secrets in it."""
    knowing = ChangeAdvisor(project)
    masked = mask_proposal(proposal, project.redactor)
    ledger = Ledger(tuple(group.members for group in proposal.groups))
    return Review(proposal.plans, masked.plans, ledger, knowing.offers, knowing.problem, knowing.about)


class ChangeAdvisor:
    """What the project knows about a change."""

    def __init__(self, project: Project):
        self._project = project

    def offers(self, members: Sequence[Changed]) -> list[changes.Offer]:
        """Return the narrowest placeholders that accept the old and the new values of all members. For a
        hidden value they are general ones, which reveal nothing of it."""
        if any(self._is_hidden(change) for _, change in members):
            return [changes.Offer(text, "the new output is not shown") for text in _HIDDEN_PLACEHOLDERS]
        values: list[Json] = []
        for plan, change in members:
            if change.kind != "added" and not any(tokens_in(change.before)):
                values.append(unescaped(change.before))
            values.append(_new_value(plan, change))
        values = list({repr(value): value for value in values}.values())  # the same in many places
        words = self._project.words_of(members[0][0].baseline)
        proposals = narrowest(values, words=words)[:_MOST_OFFERS]
        return [changes.Offer(proposal.text, proposal.reason) for proposal in proposals]

    def _is_hidden(self, change: changes.Change) -> bool:
        masked = self._project.redactor.mask_value(change.after, change.path)
        return masked is not change.after or MASK in as_text(change.after)

    def problem(self, text: str, members: Sequence[Changed]) -> str:
        """Return why a text cannot be stored there: it does not fit, or reveals something; else nothing."""
        try:
            for plan, change in members:
                template = compile_text(text, self._project.words_of(plan.baseline))
                if isinstance(template, str):
                    return "that is not a placeholder: one looks like <<any_string>>"
                if not self._is_hidden(change) and not template.accepts(_new_value(plan, change), {}):
                    return f"it does not accept the new value at {render(change.path)}"
        except BaselinekitError as error:
            return error.problems[0].with_hint
        secrets = secrets_in(text, self._project.redactor, members[0][1].path)
        return next((f"it holds {secret}" for _, secret in secrets), "")

    def about(self, plan: changes.RefreshPlan, change: changes.Change) -> changes.ChangeContext:
        return self.about_each([(plan, change)])[0]

    def about_each(self, changed: Sequence[Changed]) -> list[changes.ChangeContext]:
        """Return the context of each change. A file is parsed once, however many of them it holds."""
        project, contexts = self._project, []
        requests = [(plan.baseline.source, [_place_in_file(plan, change)]) for plan, change in changed]
        for (plan, _), (place,) in zip(changed, locate_each(requests, project.root), strict=True):
            where = place.file if place.line is None else f"{place.file}:{place.line}"
            named = ((name, text) for name, text in _facts(plan).items() if text)
            facts = tuple((name, str(project.redactor.mask_value(text))) for name, text in named)
            contexts.append(changes.ChangeContext(where, target_of(plan.baseline.current, project), facts))
        return contexts


def drift_since_capture(plan: changes.RefreshPlan) -> list[tuple[str, str, str]]:
    """Return what is another one in the environment of the new output, and what it was."""
    stored = flatten(plan.baseline.baseline.environment if plan.baseline.baseline else {})
    now = flatten(plan.seen.environment)
    return [
        (name, as_text(stored[name]), as_text(now[name]))
        for name in sorted(stored.keys() & now.keys())
        if stored[name] != now[name]
    ]


def _place_in_file(plan: changes.RefreshPlan, change: changes.Change) -> Path:
    start = plan.baseline.output_path if change.part == "output" else ("baseline",)
    return (*start, *change.at)


def _new_value(plan: changes.RefreshPlan, change: changes.Change) -> Json:
    """Return the new value as it came back: the one that would be written may have variable names in it
    already."""
    value = value_or_absent(plan.seen.resolved, change.path)
    return unescaped(change.after if value is ABSENT else value)


def _facts(plan: changes.RefreshPlan) -> dict[str, str | None]:
    """Return the facts about the baseline and its new output."""
    baseline, seen, metadata = plan.baseline, plan.seen, plan.baseline.metadata
    known = baseline.baseline or Known()
    return {
        "recipe": baseline.current.kind,
        "name": baseline.name,
        "version": baseline.baseline_version,
        "captured": known.captured_at,
        "approved by": known.approved_by,
        "reason": known.reason,
        "last passed": metadata.last_passed or "never",
        "failures": f"{metadata.failure_count:,}" if metadata.failure_count else None,
        "seen": seen.captured_at + ("" if seen.origin == "kept" else f" ({seen.origin})"),
        **{name: as_text(value) for name, value in sorted(flatten(seen.environment).items())},
    }


def as_json(project: Project, proposal: changes.RefreshProposal, operator: Sequence[str] = ()) -> str:
    """Return all pending changes, with the choices for each. `operator`: the options about the project."""
    knows = ChangeAdvisor(project)
    offers: dict[changes.Member, dict[str, Sequence[changes.Offer]]] = {}
    for n, number in (member for group in proposal.groups for member in group.members):
        plan, change = proposal.plans[n], proposal.plans[n].changes[number]
        offers[n, number] = {
            "placeholders": () if no_placeholder(change) else knows.offers([(plan, change)]),
            "rules": () if no_rule(change) else rules_for(plan, change),
        }
    digests = digests_of(proposal, project)
    return format_pending_json(mask_proposal(proposal, project.redactor), offers, digests, operator)


# Decisions made by a program: they are read strictly, and either all of them are valid or none is used.


class DecisionEntry(Struct):
    """A decision as a program sends it: about all changes of a baseline, or those at a path, of a number or
    with a digest. `value`: the placeholder, or the path to ignore; `confirm`: whether a high risk is
    accepted; `seen`: the digest of the change that was looked at, or of several."""

    id: str
    decision: changes.Verb
    number: int | None = None
    path: str | None = None
    value: str | None = None
    confirm: bool = False
    seen: str | list[str] | None = None


class DecisionsFile(Struct):
    """Decisions with who made them and why, as the page of `review -o` exports them."""

    decisions: list[Json]
    format: Literal["baselinekit.decisions/1"] = "baselinekit.decisions/1"
    by: str | None = None
    reason: str | None = None


class DecisionsRead(Struct):
    decided: dict[changes.Member, changes.Decision]
    by: str | None = None
    reason: str | None = None


_EXAMPLE = 'an example: {"id": "users", "path": "body.name", "decision": "accept"}'


def decisions_in(
    text: str, name: str, proposal: changes.RefreshProposal, project: Project, permit: Permit
) -> DecisionsRead:
    """Return what a text decides about these plans. InvalidInput holds everything that is wrong with it."""
    document = load_json(text, name)
    file, problems = DecisionsFile(document if isinstance(document, list) else []), list[Problem]()
    if isinstance(document, dict):
        found, problems = read_as(DecisionsFile, document)
        file = found or file
    elif not isinstance(document, list):
        problems = [Problem("BK538", "decisions must be a list", _EXAMPLE, at=())]
    if problems:
        raise InvalidInput(*place_problems(text, name, {0: problems}))
    before: Path = () if isinstance(document, list) else ("decisions",)
    plans, knows = proposal.plans, ChangeAdvisor(project)
    digests = digests_of(proposal, project)
    decided: dict[changes.Member, changes.Decision] = {}
    wrong: list[Problem] = []
    for number, raw in enumerate(file.decisions):
        entry, problems = read_as(DecisionEntry, raw)
        try:
            for member in _members(plans, entry, digests) if entry else ():
                plan, change = plans[member[0]], plans[member[0]].changes[member[1]]
                if member in decided:
                    message = f"{plan.baseline.id} {_place_name(change)} is decided twice"
                    raise _invalid(message, "decide it once")
                assert entry is not None  # as it has members
                decided[member] = _decide((plan, change), entry, knows, permit)
        except InvalidInput as error:
            problems = list(error.problems)
        wrong += (replace(problem, at=(*before, number, *(problem.at or ()))) for problem in problems)
    if wrong:
        raise InvalidInput(*place_problems(text, name, {0: wrong}))
    # a rule covers other changes, too
    rules = dict.fromkeys((n, decision) for (n, _), decision in decided.items() if decision.verb == "ignore")
    covered = {(n, number): rule for n, rule in rules for number in covered_changes(plans[n], rule.text)}
    return DecisionsRead({**covered, **decided}, file.by, file.reason)


def digests_of(proposal: changes.RefreshProposal, project: Project) -> dict[changes.Member, str]:
    """Return the digest of each change as it is shown: a decision about what was seen is not used for
    something that came later."""
    shown = mask_proposal(proposal, project.redactor).plans
    digests = {}
    for n, plan in enumerate(shown):
        seen = plan.seen  # its facts are written with the change
        facts = [plan.baseline.id, seen.captured_at, seen.environment, seen.observed]
        for change in plan.changes:
            digests[n, change.number] = short_hash(canonical([*facts, change_document(change)]))
    return digests


def _invalid(message: str, hint: str = "", key: str = "", code: str = "BK538") -> InvalidInput:
    return InvalidInput(Problem(code, message, hint, at=(key,) if key else ()))


def _members(
    plans: Sequence[changes.RefreshPlan], entry: DecisionEntry, digests: Mapping[changes.Member, str]
) -> list[changes.Member]:
    """Return the changes that a decision names."""
    chosen = [n for n, plan in enumerate(plans) if fnmatchcase(plan.baseline.id, entry.id)]
    if entry.seen is not None:
        seen = {entry.seen} if isinstance(entry.seen, str) else {*entry.seen}
        found = {
            member: digest for member, digest in digests.items() if member[0] in chosen and digest in seen
        }
        if missing := len(seen - {*found.values()}):
            message = f"{entry.id}: the decision is about {count_noun(missing, 'change')} not pending now"
            raise _invalid(message, "it was edited or compared meanwhile: look again", "seen", "BK531")
        return [*found]
    if not chosen:
        raise _invalid(f"nothing of {entry.id!r} is pending", "review --json lists what is", "id")
    members = []
    for n in chosen:
        covered = {change.number for change in plans[n].changes if entry.path in (None, _place_name(change))}
        covered |= covered_changes(plans[n], entry.path) if entry.path is not None else set()
        members += [(n, number) for number in sorted(covered) if entry.number in (None, number)]
    if not members:
        key, named = ("number", entry.number) if entry.path is None else ("path", entry.path)
        paths = [_place_name(change) for n in chosen for change in plans[n].changes]
        raise _invalid(f"nothing changes at {key} {named!r}", f"what changes is {list_names(paths)}", key)
    return members


def _decide(changed: Changed, entry: DecisionEntry, knows: ChangeAdvisor, permit: Permit) -> changes.Decision:
    plan, change = changed
    verb, text = entry.decision, entry.value or ""
    if verb in ("placeholder", "ignore"):
        is_rule = verb == "ignore"
        if reason := no_rule(change) if is_rule else no_placeholder(change):
            raise _invalid(reason, "accept or reject it", "decision")
        text = text or (rules_for(plan, change) if is_rule else knows.offers([changed]))[0].text
        if reason := rule_problem(text, [changed]) if is_rule else knows.problem(text, [changed]):
            raise _invalid(f"{text}: {reason}", "", "value" if entry.value is not None else "decision")
    elif entry.value is not None:
        raise _invalid(f"{verb} takes no value", "a placeholder does, and ignore", "value")
    if verb in ("accept", "placeholder"):
        after = with_after(plan, change.number, text) if text else plan
        problem = reason_against(after, {change.number}, Permit(True, True) if entry.confirm else permit)
        if problem is not None:
            hint = 'if it is meant, add "confirm": true' if problem.code != "BK534" else problem.hint
            raise _invalid(f"{plan.baseline.id}: {problem.message}", hint, "decision", problem.code)
    return changes.Decision(verb, text)


def _place_name(change: changes.Change) -> str:
    return render(change.path if change.part == "output" else ("baseline", *change.path))


def undecided(
    plans: Sequence[changes.RefreshPlan], decided: Mapping[changes.Member, changes.Decision]
) -> Iterator[changes.Member]:
    """Yield what is still undecided after all of that."""
    for n, plan in enumerate(plans):
        for change in plan.changes:
            if decided.get((n, change.number), changes.Decision("skip")).verb == "skip":
                yield n, change.number
