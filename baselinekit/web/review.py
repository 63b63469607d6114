"""The part of the page where changes are reviewed: what is pending as cards, and what is decided about them.

It plans and writes with the functions of `refresh` and `review`, so that the files become the same. Nothing
is decided here: the page holds the decisions until they are written, all at once."""

import json
from collections.abc import Iterator, Sequence
from threading import Lock

from baselinekit.changes.reviewing import (
    confirmation_question,
    count_verbs,
    covered_changes,
    no_placeholder,
    no_rule,
    rules_for,
    settle_plans,
)
from baselinekit.commands import refresh as refreshing, review as reviewing
from baselinekit.commands.context import RunContext
from baselinekit.commands.project import Project
from baselinekit.commands.refresh import NO_ANSWERS, Permit, RefreshScope, mask_proposal
from baselinekit.errors import BaselinekitError, InvalidInput, NothingSelected
from baselinekit.escape import escape_controls
from baselinekit.kinds.bodies import is_byte_hash
from baselinekit.model.changes import (
    ApprovalNote,
    Change,
    Decision,
    Group,
    Member,
    Offer,
    RefreshPlan,
    RefreshProposal,
)
from baselinekit.model.values import ABSENT, Json, json_type
from baselinekit.report.differences import mark_changes
from baselinekit.report.resultfile import read as read_results
from baselinekit.report.reviewing import format_path, highest_risk, refused_document, unified_file
from baselinekit.report.values import encode
from baselinekit.store.images import image_of
from baselinekit.structs import replace
from baselinekit.values.equality import canonical
from baselinekit.values.paths import render
from baselinekit.values.places import value_or_absent
from baselinekit.values.texts import mask_and_clip, no_mask
from baselinekit.web.limits import (
    LONGEST_DIFFS,
    LONGEST_IN_LIST,
    LONGEST_LINE,
    LONGEST_TEXT,
    MOST_CARDS,
    MOST_DIFF_LINES,
    MOST_FILES_OF_A_DIFF,
)


class ReviewDesk:
    """The pending changes of a project, or those in the result files of a CI job. Each request plans anew
    from the files: what was edited meanwhile is refused."""

    def __init__(self, project: Project, scope: RefreshScope, context: RunContext):
        self._project, self._scope, self._context = project, scope, context
        self._one_at_a_time = Lock()
        self._shown = RefreshProposal(())  # what was planned last: a preview is of what is on the page

    def propose(self) -> RefreshProposal:
        try:
            self._shown = refreshing.propose(self._project, self._scope, self._context)
        except NothingSelected as nothing:
            if nothing.problems[0].code != NO_ANSWERS:
                raise
            self._shown = RefreshProposal(())
        return self._shown

    def document(self, proposal: RefreshProposal, with_diffs: bool = False) -> dict[str, Json]:
        """Return what the page shows. `with_diffs`: also what the files become, for a page without a
        server."""
        groups = [*self._same_values(proposal)]
        cards = [*self._cards(proposal, groups[:MOST_CARDS])]
        room = LONGEST_DIFFS if with_diffs else 0
        for card, group in zip(cards, groups, strict=False):
            if room > 0:
                card["diff"] = self._files_after(proposal, dict.fromkeys(group.members, Decision("accept")))
                room -= sum(map(len, card["diff"]["lines"]))
        return {
            "cards": cards,
            "more": max(0, len(groups) - MOST_CARDS),
            "refused": refused_document(proposal),
            "sources": [self._source(name, text) for name, text in self._scope.results],
        }

    @staticmethod
    def _same_values(proposal: RefreshProposal) -> Iterator[Group]:
        """Yield the groups, those of other values in parts: what is accepted at once was seen."""
        for group in proposal.groups:
            parts: dict[str, list[Member]] = {}
            for n, number in group.members:
                change = proposal.plans[n].changes[number]
                values = "" if group.kind != "value" else canonical([change.before, change.after])
                parts.setdefault(values, []).append((n, number))
            for members in parts.values():
                yield replace(group, members=tuple(members))

    def _source(self, name: str, text: str) -> dict[str, Json]:
        """Return which commit and target the answers of a CI job are of."""
        report = read_results(text, name)
        targets = {str(report.environment[key]) for key in ("base_url", "model") if key in report.environment}
        facts = {"file": name, "started": report.started, "commit": report.commit or ""}
        return {**facts, "target": self._mask(", ".join(sorted(targets)))}

    def _cards(self, proposal: RefreshProposal, groups: Sequence[Group]) -> Iterator[dict[str, Json]]:
        """Yield each change once, with all the baselines that have it."""
        advisor, plans = reviewing.ChangeAdvisor(self._project), proposal.plans
        shown = mask_proposal(proposal, self._project.redactor).plans
        digests = reviewing.digests_of(proposal, self._project)
        changed_of = [[(plans[n], plans[n].changes[number]) for n, number in one.members] for one in groups]
        contexts = advisor.about_each([changed[0] for changed in changed_of])
        for group, changed, about in zip(groups, changed_of, contexts, strict=True):
            (plan, change), (n, number) = changed[0], group.members[0]
            why_none = {
                "placeholders": next(filter(None, (no_placeholder(one) for _, one in changed)), ""),
                "rules": next(filter(None, (no_rule(one) for _, one in changed)), ""),
            }
            placeholders = [] if why_none["placeholders"] else advisor.offers(changed)
            rules = [] if why_none["rules"] else rules_for(plan, change)
            pairs = {(_in_brief(one.before), _in_brief(one.after)) for _, one in changed}
            yield {
                "path": group.path,
                "kind": change.kind,
                "risk": highest_risk([one for _, one in changed]),
                "place": about.place,
                "target": about.target,
                "facts": [[name, text] for name, text in about.facts],
                "drift": [*map(list, self._drift(plan))],
                "notes": [*map(self._mask, plan.notes)],
                "placeholders": [[offer.text, offer.reason] for offer in placeholders],
                "rules": [*self._rules(plans, group, rules, digests)],
                "why_none": why_none,
                "sides": self._sides(shown[n], shown[n].changes[number]),
                "different": len(pairs),
                "images": self._images(plan, change),
                "members": [
                    self._member(shown[n], number, digests[n, number]) for n, number in group.members
                ],
            }

    @staticmethod
    def _rules(
        plans: Sequence[RefreshPlan], group: Group, rules: Sequence[Offer], digests: dict[Member, str]
    ) -> Iterator[list[Json]]:
        """Yield the rules that cover all changes of a card, each with the other changes that it covers."""
        for rule in rules:
            of_plan = {n: covered_changes(plans[n], rule.text) for n, _ in group.members}
            covered = {(n, number) for n, numbers in of_plan.items() for number in numbers}
            if covered.issuperset(group.members):
                others = sorted(covered.difference(group.members))
                yield [rule.text, rule.reason, [digests[member] for member in others]]

    def _drift(self, plan: RefreshPlan) -> Iterator[tuple[str, str, str]]:
        for name, was, now in reviewing.drift_since_capture(plan):
            yield name, self._mask(was), self._mask(now)

    def _member(self, plan: RefreshPlan, number: int, seen: str) -> dict[str, Json]:
        change, baseline = plan.changes[number], plan.baseline
        return {
            "id": baseline.id,
            "seen": seen,
            "file": baseline.source.file,
            "path": format_path(change),
            "risk": change.risk,
            "before": _in_brief(change.before),
            "after": _in_brief(change.after),
            "loses": [[lost.text, render(lost.path)] for lost in change.lost],
            "note": self._mask(change.note),
            "blocked": self._mask(change.blocked.with_hint) if change.blocked else "",
            "confirm": confirmation_question([change]),
        }

    def _sides(self, plan: RefreshPlan, change: Change) -> list[Json]:
        """Return the stored and the new value in parts, marked where they differ; null for a side that is
        absent. Of another order the values are shown, a line each."""
        values = [change.before, change.after]
        stored = plan.baseline.baseline.output if plan.baseline.baseline else None
        rows = self._project.redactor.mask_value(value_or_absent(stored, change.at), change.at)
        if change.kind == "order" and isinstance(rows, list):
            values = ["\n".join(encode(rows[number]) for number in order) for order in values]
        marked = mark_changes(*map(_text_of, values))
        return [
            None
            if value is ABSENT
            else {"type": json_type(value), "parts": [[int(it), text] for it, text in parts]}
            for value, parts in zip(values, marked, strict=True)
        ]

    def _images(self, plan: RefreshPlan, change: Change) -> list[Json]:
        """Return both sides as pictures if both are bytes: each is kept here, or only its hash is known."""
        stored = plan.baseline.baseline.output if plan.baseline.baseline else None
        found = value_or_absent(stored, change.at[:-1]), value_or_absent(plan.seen.resolved, change.path[:-1])
        if change.path[-1:] != ("sha256",) or not all(map(is_byte_hash, found)):
            return []
        return [{**side, "data": image_of(self._project.root, side["sha256"])} for side in found]

    def _mask(self, text: str) -> str:
        return escape_controls(self._project.redactor.mask_said(text))

    # What is decided.

    def preview(self, given: dict[str, Json]) -> dict[str, Json]:
        """Return what the files would become, and what a rule covers besides."""
        with self._one_at_a_time:
            proposal = self._shown if self._shown.plans else self.propose()
            decided = self._decisions(proposal, given).decided
            digests = reviewing.digests_of(proposal, self._project)
            covered = [digests[member] for member, one in decided.items() if one.verb == "ignore"]
            return {**self._files_after(proposal, decided), "covered": covered}

    def write(self, given: dict[str, Json]) -> dict[str, Json]:
        """Write what is decided, as `review` does at its end, and return what became of it."""
        with self._one_at_a_time:
            proposal = self.propose()
            read = self._decisions(proposal, given)
            stamp = ApprovalNote(
                refreshing.version_of(self._project, self._context.clients), read.by, read.reason
            )
            approvals = settle_plans(proposal.plans, read.decided)
            applied = refreshing.apply(self._project, approvals, stamp)
            left = [*reviewing.undecided(proposal.plans, read.decided)]
        counts = count_verbs(one for one in read.decided.values() if one.verb != "skip")
        return {
            "counts": dict(counts),
            "files": [one.file for one in applied.files],
            "failures": [self._mask(str(problem)) for problem in applied.failures],
            "left": len(left),
        }

    def _decisions(self, proposal: RefreshProposal, given: dict[str, Json]) -> reviewing.DecisionsRead:
        try:
            text = json.dumps(given)
            return reviewing.decisions_in(text, "decisions.json", proposal, self._project, Permit())
        except InvalidInput as error:  # the text is the page's: its places mean nothing to people
            problems = dict.fromkeys(problem._replace(place=None, at=None) for problem in error.problems)
            raise InvalidInput(*problems) from None

    def _files_after(self, proposal: RefreshProposal, decided: dict[Member, Decision]) -> dict[str, Json]:
        approvals = settle_plans(proposal.plans, decided)
        few = approvals[:MOST_FILES_OF_A_DIFF]
        try:
            applied = refreshing.apply(self._project, few, ApprovalNote(), dry_run=True)
        except BaselinekitError as error:
            return {"lines": [], "problems": [self._mask(one.with_hint) for one in error.problems]}
        lines = [line for file in applied.files for line in unified_file(file)]
        notes = [f"… and {len(lines) - MOST_DIFF_LINES:,} more lines"] if len(lines) > MOST_DIFF_LINES else []
        notes += [f"… and {len(approvals) - len(few):,} more baselines"] if len(approvals) > len(few) else []
        shown = [mask_and_clip(line, LONGEST_LINE, self._mask) for line in lines[:MOST_DIFF_LINES]]
        return {
            "lines": [*shown, *notes],
            "problems": [self._mask(one.with_hint) for one in applied.failures],
        }


def _text_of(value: Json, limit: int = LONGEST_TEXT) -> str:
    """Return a value as it is read: a text as it is, anything else as JSON."""
    if value is ABSENT:
        return ""
    text = value if isinstance(value, str) else encode(value, 2)
    return escape_controls(mask_and_clip(text, limit, no_mask))


def _in_brief(value: Json) -> str:
    return _text_of(value, LONGEST_IN_LIST)
