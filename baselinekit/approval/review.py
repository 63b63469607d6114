"""review: one change after the other, decided by whoever looks; all of it written at once, at the end."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from baselinekit.approval.approving import apply, preview
from baselinekit.approval.planning import with_output
from baselinekit.errors import BaselinekitError, Problem
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
from baselinekit.model.values import Json
from baselinekit.placeholders.table import Words
from baselinekit.refresh.alternatives import (
    Changed,
    no_placeholder,
    no_rule,
    placeholder_problem,
    placeholders_for,
    rules_for,
    unreadable,
)
from baselinekit.refresh.decisions import Ledger, Settled, settled
from baselinekit.refresh.reviewing import Knowing, Review, questions_of
from baselinekit.refresh.risk import compared_with
from baselinekit.report.reviewing import format_pending_json
from baselinekit.store.reading import locate
from baselinekit.store.results import drop_pending, load_pending, save_pending
from baselinekit.variables import MASK, as_text
from baselinekit.workflow.environment import flat
from baselinekit.workflow.history import mask_proposal
from baselinekit.workflow.judging import target_of
from baselinekit.workflow.learning import secrets_in
from baselinekit.workflow.project import Project

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
        why = (
            placeholder_problem(text, seen, self.words_of) if seen else unreadable(text, self._project.words)
        )
        secrets = secrets_in(text, self._project.redactor, members[0][1].path)
        return why or next((f"it holds {what}" for _, what in secrets), "")

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
        before, now = flat(known.environment if known else {}), flat(seen.environment)
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


def shown(project: Project, proposal: RefreshProposal) -> RefreshProposal:
    """What may be looked at."""
    return mask_proposal(proposal, project.redactor)


def as_json(project: Project, proposal: RefreshProposal) -> str:
    """All that is pending, with what could be chosen for each change."""
    knows = Knows(project)
    asked = sorted(member for group in proposal.groups for member in group.members)
    offers = {
        (n, number): _offers(knows, proposal.plans[n], proposal.plans[n].changes[number])
        for n, number in asked
    }
    return format_pending_json(shown(project, proposal), offers)


def _offers(knows: Knows, plan: RefreshPlan, change: Change) -> Offers:
    return Offers(
        () if no_placeholder(change) else tuple(knows.offers([(plan, change)])),
        () if no_rule(change) else tuple(rules_for(plan, change)),
    )


def counted(decided: Mapping[Member, Decision]) -> dict[Verb, int]:
    """How many changes were decided in which way. To skip one is to decide nothing."""
    verbs = [decision.verb for decision in decided.values() if decision.verb != "skip"]
    return {verb: verbs.count(verb) for verb in VERBS if verb in verbs}


def diffs(
    project: Project, plans: Sequence[RefreshPlan], decided: Mapping[Member, Decision], stamp: Stamp
) -> tuple[Rewritten, ...]:
    """The files as these decisions would make them. Nothing is written."""
    approvals = [one.approval for one in settled(plans, decided) if one.writes]
    return preview(project, approvals, stamp)


def finish(
    project: Project, plans: Sequence[RefreshPlan], decided: Mapping[Member, Decision], stamp: Stamp
) -> Applied:
    """Write what was accepted, forget what was rejected, and keep the rest for another time."""
    results = settled(plans, decided)
    applied = apply(project, [one.approval for one in results if one.writes], stamp)
    written = set(applied.ids)
    failures: list[Problem] = []
    for one in results:
        if not one.writes or one.approval.plan.baseline.id in written:
            failures += _keep_rest(project, one)
    return replace(applied, failures=(*applied.failures, *failures))


def _keep_rest(project: Project, one: Settled) -> Sequence[Problem]:
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
    after = with_output(plan, approval.accepted, approval.ignored)
    with suppress(BaselinekitError):
        if load_pending(project.root, id) is None:
            return ()
    try:
        save_pending(project.root, replace(one.rest, compared_with=compared_with(after)))
    except BaselinekitError as error:
        return error.problems
    return ()
