"""What a refresh would do to one baseline, what speaks against it, and how it is written once approved."""

import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from baselinekit.errors import BaselinekitError, InvalidInput, Problem
from baselinekit.frozen import frozen
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.model.baselines import ArrayMode, Baseline, Rules, known_path
from baselinekit.model.changes import (
    Applied,
    Approval,
    Change,
    RefreshPlan,
    RefreshProposal,
    Rewritten,
    Risk,
    Seen,
    Stamp,
)
from baselinekit.model.values import ABSENT, Json, Path, parse_time
from baselinekit.placeholders.grammar import has_marker, split
from baselinekit.placeholders.table import Words
from baselinekit.placeholders.template import binds, compile_text
from baselinekit.programs.git import Git
from baselinekit.refresh.changes import Ways, changes_of, merge_accepted
from baselinekit.refresh.learning import still_true
from baselinekit.replaying.dispatch import recipe_hash
from baselinekit.replaying.settings import Clients
from baselinekit.report.next_commands import check_commands
from baselinekit.store.results import drop_pending, save_pending
from baselinekit.store.writing import Renewal, preview as previewed, renew
from baselinekit.tree.alignment import Accepts
from baselinekit.tree.changes import Hints
from baselinekit.tree.paths import Pattern, of_any_row, render
from baselinekit.variables import MASK, Redactor
from baselinekit.workflow.learning import Templating, arrays_of_one, secrets_in
from baselinekit.workflow.loading import locate_problems
from baselinekit.workflow.pending import compared_with
from baselinekit.workflow.project import Project, as_variant

# What a refresh would do to one baseline, and whether anything speaks against it.


def plan_of(project: Project, baseline: Baseline, seen: Seen) -> RefreshPlan:
    """Every change from what is on file to what was seen. InvalidInput says why there can be no plan."""
    if seen.variant is not None:
        known = baseline.baseline
        if known is None or seen.variant >= len(known.variants):
            raise InvalidInput(_stale(project, baseline, "its variants"))
        baseline = as_variant(baseline, seen.variant)
    if seen.recipe_hash != recipe_hash(baseline.current):
        raise InvalidInput(_stale(project, baseline, "its recipe"))
    if seen.compared_with is not None and seen.compared_with != compared_with(baseline):
        raise InvalidInput(_stale(project, baseline, "its stored output, or what it is compared by,"))
    if seen.flaw is not None:
        raise InvalidInput(Problem("BK526", f"{baseline.id}: {seen.flaw}: it is not stored as known-good"))
    words = project.words_of(baseline)
    before = compile_baseline(baseline, words)
    outcomes = kind_of(baseline.current).outcomes(baseline.current)
    seen_at = parse_time(seen.captured_at)
    when = seen_at.timestamp() if seen_at else 0.0
    ways = Ways(before.arrays, _accepting(words), _fresh(words), outcomes, words, when)
    old = baseline.baseline.output if baseline.baseline else ABSENT
    found = changes_of(old, seen.resolved, ways)
    changes = tuple(block_secrets(change, project, seen) for change in found.changes)
    changes += tuple(observed_changes(baseline, seen, len(changes)))
    if not changes:
        message = f"{baseline.id} fails for a reason outside its output: {'; '.join(seen.unsettled)}"
        raise InvalidInput(Problem("BK537", message, "change the rule, or fix the target"))
    keys = {at: how.removeprefix("by ") for at, how in before.arrays.items() if how.startswith("by ")}
    wrong = tuple(new_troubles(baseline, old, seen))
    if wrong:
        changes = tuple(replace(change, risk="high") for change in changes)
    plan = RefreshPlan(baseline, seen, changes, found.shape, keys=keys, troubles=wrong)
    notes = (
        *found.taken,
        *(f"it went wrong: {what}" for what in wrong),
        *(f"it will still fail: {what}" for what in seen.unsettled),
    )
    if before.hits or before.arrays:  # else no rule has met anything that it could lose
        after = with_output(project, plan, range(len(changes)))
        notes = (*describe_rule_changes(before, after, words), *notes)
    return replace(plan, notes=notes)


def with_output(
    project: Project, plan: RefreshPlan, accepted: range | frozenset[int], ignored: tuple[str, ...] = ()
) -> Baseline:
    """The baseline as it would be with the accepted changes in it."""
    known = plan.baseline.baseline
    assert known is not None
    rules: Rules = plan.baseline.comparison
    if ignored:
        rules = replace(rules, ignore_fields=[*rules.ignore_fields, *ignored])
    output = merge_accepted(plan.shape, plan.changes, accepted)
    after = replace(plan.baseline, baseline=replace(known, output=output), comparison=rules)
    fixed: dict[str, ArrayMode] = dict.fromkeys(arrays_to_fix(project, plan.baseline, after), "ordered")
    return replace(after, comparison=replace(rules, arrays={**rules.arrays, **fixed})) if fixed else after


def arrays_to_fix(project: Project, before: Baseline, after: Baseline) -> Iterator[str]:
    """Arrays of which one element is left, with a placeholder in it, where none has described all elements so
    far: it would from now on, and any number of them would pass."""
    known, output = (one.baseline.output if one.baseline else None for one in (before, after))
    single = set(arrays_of_one(output)) - set(arrays_of_one(known))
    if not single:
        return
    try:
        modes = compile_baseline(after, project.words_of(after)).arrays
        meant = compile_baseline(before, project.words_of(before)).arrays
    except InvalidInput:  # which is told where the new baseline is checked
        return
    templates = {of_any_row(path) for path, how in meant.items() if how == "each"}
    shapes = (of_any_row(path) for path in single if modes.get(path) == "each")
    yield from dict.fromkeys(render(shape) for shape in shapes if shape not in templates)


def covers(pattern: Pattern, change: Change, plan: RefreshPlan) -> bool:
    """Whether a path that the operator named leads to a change, or to something that it is a part of."""
    if change.part != "output":
        return False
    known = plan.baseline.baseline
    output = known.output if change.kind == "removed" and known else plan.seen.resolved
    path = change.path
    starts: list[tuple[Json, int]] = [(output, 0)]
    kind = kind_of(plan.baseline.current)
    in_answer = kind.paths_start_in_answer and path[:1] == (kind.answer,)
    if in_answer and not pattern.absolute and isinstance(output, dict):
        starts.append((output[kind.answer], 1))
    return any(leads_on(pattern, path[skip:], value) for value, skip in starts)


def leads_on(pattern: Pattern, path: tuple[str | int, ...], value: Json) -> bool:
    positions = pattern.start()
    for key in path:
        if pattern.done(positions):
            return True
        size = len(value) if isinstance(value, dict | list) else 0
        with suppress(KeyError, IndexError, TypeError):
            value = value[key]
        positions = pattern.after(positions, key, value, size)
    return pattern.done(positions)


def new_troubles(baseline: Baseline, old: Json, seen: Seen) -> Iterator[str]:
    """What says that the answer went wrong, unless the one on file says the same."""
    recipe, kind = baseline.current, kind_of(baseline.current)
    known = {trouble.message for trouble in kind.visible_troubles(recipe, old)}
    for trouble in kind.visible_troubles(recipe, seen.resolved):
        if trouble.message not in known:
            yield trouble.message
    yield from seen.troubles


def _stale(project: Project, baseline: Baseline, what: str) -> Problem:
    hint = f"compare again: {compare_command(project, baseline)}"
    return Problem("BK531", f"{baseline.id}: {what} changed since that compare", hint)


def compare_command(project: Project, baseline: Baseline) -> str:
    """The command that asks for a baseline once more, and keeps what it answers where that fails."""
    if own := kind_of(baseline.current).own_command(baseline.current):
        return shlex.join(own)
    (command,) = check_commands([(baseline.id, baseline.source.file)], project.folders, project.eval_folders)
    return command


def _accepting(words: Words) -> Accepts:
    """Whether a placeholder accepts what came back. What holds a placeholder itself is no value; and whether
    a bound one does hangs on what stands elsewhere."""

    def accepts(text: str, value: Json) -> bool:
        with suppress(InvalidInput):
            template = compile_text(text, words)
            plain = _plain(value)
            if plain is ABSENT or isinstance(template, str) or binds(template):
                return False
            return template.accepts(plain, {})
        return False

    return accepts


def _plain(value: Json) -> Json:
    """The value that a stored text stands for; ABSENT where that is more than one."""
    if not isinstance(value, str) or not has_marker(value):
        return value
    parts = split(value)
    return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else ABSENT


def _fresh(words: Words) -> Callable[[Json], Json]:
    """What is stored of a value that came back: with names in the place of declared values, as a capture
    writes it."""
    templating = Templating(words.scope)

    def fresh(value: Json) -> Json:
        if isinstance(value, str):
            plain = _plain(value)
            return value if plain is ABSENT else templating.template(plain)
        if isinstance(value, dict):
            return {key: fresh(item) for key, item in value.items()}
        return [fresh(item) for item in value] if isinstance(value, list) else value

    return fresh


def block_secrets(change: Change, project: Project, seen: Seen) -> Change:
    """A change that would bring a secret into the file, or a mask in the place of one, cannot be approved."""
    if change.kind in ("removed", "order"):
        return change
    size = len(change.path)
    hidden = next(
        (path for path in seen.masked if path[:size] == change.path or change.path[: len(path)] == path), None
    )
    if hidden is None and seen.origin != "kept" and is_masked(change.after) and not is_masked(change.before):
        hidden = change.path
    if hidden is not None:
        message = f"{render(hidden)} was masked when it was kept, and what is not shown cannot be approved"
        return replace(change, blocked=Problem("BK534", message, _MEND))
    for path, message in secrets_in(change.after, project.redactor, change.path):
        return replace(change, blocked=Problem("BK534", f"{render(path)} holds {message}", _MEND))
    return change


_MEND = "write a placeholder there by hand, or ignore the field"


def is_masked(value: Json) -> bool:
    if isinstance(value, str):
        return MASK in value
    if isinstance(value, dict):
        return any(MASK in key or is_masked(item) for key, item in value.items())
    return any(map(is_masked, value)) if isinstance(value, list) else False


def observed_changes(baseline: Baseline, seen: Seen, number: int) -> Iterator[Change]:
    """What is noted of the capture, where a rule has found fault with it."""
    known = baseline.baseline
    observed = known.observed if known else None
    for n, text in enumerate(seen.settled, number):
        key = {"latency": "seconds", "cost": "cost_usd"}.get(text.partition(".")[0])
        where: Path = ("observed", key) if key else ("captured_at",)
        old = getattr(observed, key, None) if key else known and known.captured_at
        new = seen.observed.get(key) if key else seen.captured_at
        risk: Risk = "medium" if key else "low"
        yield Change(n, "value", where, where, old, new, risk, note=text, part="observed")


def describe_rule_changes(before: Matcher, after: Baseline, words: Words) -> Iterator[str]:
    """What becomes of the rules with what came back in the file. Where they cannot be held against that, the
    file is not to blame; where they would leave nothing of it, accepting only a part may still be right."""
    try:
        matcher = compile_baseline(after, words)
    except InvalidInput as error:
        if any(problem.code != "BK224" for problem in error.problems):
            reason = "the new output does not fit the rules"
            raise InvalidInput(
                *(replace(one, message=f"{reason}: {one.message}") for one in error.problems)
            ) from None
        yield from (f"not all of it can be accepted: {problem.message}" for problem in error.problems)
        return
    met = {rule.at for rule in matcher.hits}
    lost = {rule.at: rule for rule in before.hits if rule.at not in met}
    for rule in sorted(lost.values(), key=lambda rule: str(rule.at)):
        yield f"{rule.kind}: {rule.text} matches nothing any more"


# What somebody approved, written into the files: as much as was accepted, and with it where it came
# from.


@frozen
class Permit:
    """What may be done without another question."""

    high_risk: bool = False
    drop_placeholders: bool = False


def forbidden(plan: RefreshPlan, accepted: Collection[int], permit: Permit) -> Problem | None:
    """Why these changes cannot be accepted together, the gravest reason first."""
    chosen = [change for change in plan.changes if change.number in accepted]
    blocked = next((change.blocked for change in chosen if change.blocked), None)
    if blocked is not None:
        return blocked
    lost = [lost for change in chosen for lost in change.lost]
    if lost and not permit.drop_placeholders:
        more = f", and {len(lost) - 1} more" if len(lost) > 1 else ""
        message = f"{lost[0].text} at {render(lost[0].path)} would be lost{more}"
        hint = "accept other parts (--path), edit the file by hand, or pass --drop-placeholders"
        return Problem("BK533", message, hint)
    risky = [change for change in chosen if change.risk == "high"]
    if risky and not permit.high_risk:
        more = f", and {len(risky) - 1} more" if len(risky) > 1 else ""
        kind = "another value" if risky[0].kind == "value" else risky[0].kind
        message = f"{render(risky[0].path)} is a high-risk change ({kind}){more}"
        return Problem("BK532", message, "if it is meant, pass --allow-high-risk")
    return None


_COMMIT = lazy_pattern(r"-g[0-9a-f]{4,64}$")


def version_of(project: Project, clients: Clients) -> str | None:
    """The tag that this was seen with, and how many commits later: `v1.2-3`; None where there is none. Which
    commit it was stands in the environment."""
    try:
        said = Git(clients.execute, project.root).ask("describe", "--tags")
    except BaselinekitError:
        return None
    return _COMMIT.sub("", said.decode("utf-8", "replace").strip()) or None


def is_in_git(project: Project, clients: Clients) -> bool:
    try:
        return not Git(clients.execute, project.root).run("rev-parse", "--git-dir").exit_code
    except BaselinekitError:
        return False


def preview(project: Project, approvals: Sequence[Approval], stamp: Stamp) -> tuple[Rewritten, ...]:
    """The files that would change. Nothing is written."""
    fit, _ = _renewals(project, approvals, stamp)
    return previewed([renewal for renewal, _ in fit], project.root).files


def apply(project: Project, approvals: Sequence[Approval], stamp: Stamp, sync: bool = True) -> Applied:
    """Write what was accepted, and forget what was kept of it. What was not accepted stays kept. `sync` may
    be left out by who waits for the disk once, after many."""
    fit, failures = _renewals(project, approvals, stamp)
    applied = renew([renewal for renewal, _ in fit], project.root, sync)
    done = set(applied.ids)
    for renewal, approval in fit:
        plan = approval.plan
        if renewal.id not in done:
            continue
        if approval.is_whole:
            drop_pending(project.root, plan.baseline.id)
        else:  # the rest stays, now set against the new output
            after = with_output(project, plan, approval.accepted, approval.ignored)
            save_pending(project.root, replace(plan.seen, compared_with=compared_with(after), differing=()))
    return replace(applied, failures=(*failures, *applied.failures))


def _renewals(
    project: Project, approvals: Sequence[Approval], stamp: Stamp
) -> tuple[list[tuple[Renewal, Approval]], list[Problem]]:
    """What is to be written. What would be no baseline any more is not."""
    fit: list[tuple[Renewal, Approval]] = []
    failures: list[Problem] = []
    for approval in approvals:
        if not approval.accepted and not approval.ignored:
            continue
        plan = approval.plan
        after = with_output(project, plan, approval.accepted, approval.ignored)
        try:
            compile_baseline(after, project.words_of(after))
        except BaselinekitError as error:
            failures += locate_problems(plan.baseline, error.problems, project.root)
        else:
            fit.append((_renewal(approval, after, stamp), approval))
    return fit, failures


def without_commit(baseline: Baseline) -> Json:
    """ABSENT where an earlier version wrote the commit as the version too: it is another commit now."""
    known, version = baseline.baseline, baseline.baseline_version
    git: Json = known.environment.get("git") if known else None
    commit = str(git.get("commit")) if isinstance(git, dict) else ""
    is_commit = version and _ABBREVIATED.fullmatch(version) and commit.startswith(version)
    return ABSENT if is_commit else None


_ABBREVIATED = lazy_pattern(r"[0-9a-f]{7,64}")


def _renewal(approval: Approval, after: Baseline, stamp: Stamp) -> Renewal:
    plan, known = approval.plan, after.baseline
    assert known is not None
    seen, place = plan.seen, known_path(plan.baseline.variant)
    accepted = [change for change in plan.changes if change.number in approval.accepted]
    values: dict[Path, Json] = {}
    if accepted:
        values[(*place, "captured_at")] = seen.captured_at
        if seen.environment:
            values[(*place, "environment")] = seen.environment
        if seen.observed and (approval.is_whole or any(change.part == "observed" for change in accepted)):
            values[("baseline", "observed")] = seen.observed
        for key, value in (("approved_by", stamp.by), ("reason", stamp.reason)):
            if value is not None or getattr(known, key) is not None:  # an approval is of one output only
                values[("baseline", key)] = value
        version = stamp.version or without_commit(plan.baseline)
        if version is not None:
            values[("baseline_version",)] = version
    if approval.is_whole:
        values[("metadata", "failure_count")] = 0
    if approval.ignored:
        values[("comparison", "ignore_fields")] = after.comparison.ignore_fields
    for path in after.comparison.arrays.keys() - plan.baseline.comparison.arrays.keys():
        values[("comparison", "arrays", path)] = "ordered"
    changed = any(change.part == "output" for change in accepted)
    output = known.output if changed else ABSENT
    stood = plan.baseline.baseline
    if changed and stood and not stood.variants:  # a variant has placeholders of its own
        left = still_true(stood.learnt, stood.output, known.output)
        if left != stood.learnt:
            values[("baseline", "learnt")] = left or ABSENT
    hints = Hints(plan.keys, ordered=any(change.kind == "order" for change in accepted))
    return Renewal(plan.baseline.id, plan.baseline.source, output, plan.baseline.variant, values, hints)


def mask_proposal(proposal: RefreshProposal, redactor: Redactor) -> RefreshProposal:
    """What a refresh would change, to be looked at: what stands in a file may be a secret as well."""

    def mask_change(change: Change) -> Change:
        before = redactor.mask_value(change.before, change.at)
        after = redactor.mask_value(change.after, change.path)
        if before is change.before and after is change.after:
            return change
        return replace(change, before=before, after=after)

    plans = [replace(plan, changes=tuple(map(mask_change, plan.changes))) for plan in proposal.plans]
    return replace(proposal, plans=tuple(plans))
