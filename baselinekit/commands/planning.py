"""What a refresh would change in one baseline, what forbids it, and how it is written once approved."""

import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress

from baselinekit.changes.changes import ComparisonRules, changes_of, merge_accepted
from baselinekit.changes.placing import placed, places_of
from baselinekit.clients.programs.git import Git
from baselinekit.commands.known_good import check_placeholders, nothing_there
from baselinekit.commands.loading import locate_problems
from baselinekit.commands.pending import compared_with
from baselinekit.commands.project import Project, as_variant, flatten
from baselinekit.errors import BaselinekitError, InvalidInput, Problem
from baselinekit.escape import one_line
from baselinekit.kinds.dispatch import recipe_hash
from baselinekit.kinds.settings import Clients
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.learning.evidence import select_valid_evidence
from baselinekit.learning.templating import OutputTemplater, secrets_in, single_element_arrays
from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.model.baselines import ArrayMode, Baseline, Rules, known_path
from baselinekit.model.changes import (
    NO_RULES,
    Applied,
    Approval,
    ApprovalNote,
    Change,
    KeptOutput,
    NewRules,
    RefreshPlan,
    RefreshProposal,
    Rewritten,
    Risk,
)
from baselinekit.model.recipes import Observation
from baselinekit.model.values import ABSENT, Json, Path, parse_time
from baselinekit.placeholders.grammar import has_marker, split, tokens_in
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import binds, compile_text
from baselinekit.report.next_commands import check_commands
from baselinekit.schema import read_as
from baselinekit.secrets.variables import MASK, Redactor, as_text
from baselinekit.store.results import drop_pending, mark_accepted, save_pending
from baselinekit.store.writing import Renewal, preview as previewed, renew
from baselinekit.structs import Struct, replace
from baselinekit.values.alignment import Accepts
from baselinekit.values.changes import Hints
from baselinekit.values.paths import Pattern, leads_to, of_any_row, render
from baselinekit.values.places import value_at, with_values

# What a refresh would change in one baseline, and whether anything forbids it.

STORED = "stored"
"""The origin of an output that is the stored one: rules are written without a new answer."""


def plan_of(
    project: Project, baseline: Baseline, seen: KeptOutput, rules: NewRules = NO_RULES
) -> RefreshPlan:
    """Return every change from the output on file to the new one, and first what `rules` settle. InvalidInput
    says why there can be no plan."""
    if seen.variant is not None:
        stored = baseline.baseline
        if stored is None or seen.variant >= len(stored.variants):
            raise InvalidInput(stale_problem(project, baseline, "its variants"))
        baseline = as_variant(baseline, seen.variant)
    if seen.recipe_hash != recipe_hash(baseline.current):
        raise InvalidInput(stale_problem(project, baseline, "its recipe"))
    if seen.compared_with is not None and seen.compared_with != compared_with(baseline):
        raise InvalidInput(stale_problem(project, baseline, "its stored output, or what it is compared by,"))
    if seen.flaw is not None:
        raise InvalidInput(Problem("BK526", f"{baseline.id}: {seen.flaw}: it is not stored as known-good"))
    words = project.words_of(baseline)
    ruled: tuple[str, ...] = ()
    written: dict[Path, Json] = {}
    if rules:
        baseline, seen, ruled, written = with_rules(project, baseline, seen, rules)
    before = compile_baseline(baseline, words)
    outcomes = kind_of(baseline.current).outcomes(baseline.current)
    seen_at = parse_time(seen.captured_at)
    when = seen_at.timestamp() if seen_at else 0.0
    ways = ComparisonRules(before.arrays, _make_accepts(words), _make_to_stored(words), outcomes, words, when)
    old = baseline.baseline.output if baseline.baseline else ABSENT
    difference = changes_of(old, seen.resolved, ways)
    changes = tuple(block_secrets(change, project, seen) for change in difference.changes)
    changes += tuple(observed_changes(baseline, seen, len(changes)))
    if not changes and not rules:
        message = f"{baseline.id} fails for a reason outside its output: {'; '.join(seen.unsettled)}"
        raise InvalidInput(Problem("BK537", message, "change the rule, or fix the target"))
    keys = {at: mode.removeprefix("by ") for at, mode in before.arrays.items() if mode.startswith("by ")}
    troubles = tuple(new_trouble_messages(baseline, old, seen))
    if troubles:
        changes = tuple(replace(change, risk="high") for change in changes)
    texts = set(rules.placeholders.values())
    placed_alone = frozenset(change.number for change in changes if _is_text(change.after, texts))
    plan = RefreshPlan(
        baseline, seen, changes, difference.shape, (), keys, troubles, ruled, written, placed_alone
    )
    notes = (
        *difference.taken,
        *(f"it went wrong: {text}" for text in troubles),
        *(f"it will still fail: {text}" for text in seen.unsettled),
        *(describe_environment(project, baseline, seen) if changes else ()),
    )
    if before.hits or before.arrays:  # otherwise no rule matched anything that it could lose
        after = with_output(project, plan, range(len(changes)))
        notes = (*describe_rule_changes(before, after, words), *notes)
    return replace(plan, notes=notes)


def _is_text(value: Json, texts: Collection[str]) -> bool:
    return isinstance(value, str) and value in texts


def with_rules(
    project: Project, baseline: Baseline, seen: KeptOutput, rules: NewRules
) -> tuple[Baseline, KeptOutput, tuple[str, ...], dict[Path, Json]]:
    """Return the baseline with the operator's rules and placeholders, the new output seen through them, a
    line about each, and the values that the record gets. Rules for other outputs are left out."""
    stored, kind, words = baseline.baseline, kind_of(baseline.current), project.words_of(baseline)
    assert stored is not None
    outputs = (stored.output, seen.resolved)
    leading = {path for path in rules.paths if any(places_of(output, path, kind) for output in outputs)}
    if not leading:
        raise InvalidInput(nothing_there(stored.output, rules.paths[0], kind))
    check_placeholders(rules.placeholders, words)
    ruled, written = [], dict[Path, Json]()
    old, new = stored.output, seen.resolved
    for path, text in rules.placeholders.items():
        if path not in leading:
            continue
        if not next(tokens_in(text), None):
            raise InvalidInput(Problem("BK524", f"--placeholder {path}: {text!r} holds no placeholder"))
        number = 0
        for place in places_of(new, path, kind):
            placeholder = placed(value_at(new, place), text, words)
            if placeholder is None:
                message = f"{render(place)}: {text!r} does not accept what came"
                raise InvalidInput(Problem("BK524", message, "choose another placeholder"))
            new, number = with_values(new, {place: placeholder}), number + 1
        for place in places_of(old, path, kind):
            value = value_at(old, place)
            old = with_values(old, {place: placed(value, text, words) or _replaced(value, text)})
        ruled.append(f"{path} takes {text}" + (f" in {number:,} places" if number > 1 else ""))
    comparison: dict[str, Json] = {}
    for name, given in rules.comparison.items():
        kept = [path for path in given if path in leading]
        comparison[name] = kept if isinstance(given, list) else {path: given[path] for path in kept}
        ruled += [f"comparison.{name}: {path}" + _shown(given, path) for path in kept]
    stated, problems = read_as(Rules, comparison)
    if stated is None or problems:
        raise InvalidInput(*problems)
    present = baseline.comparison
    ignored = [*present.ignore_fields, *(p for p in stated.ignore_fields if p not in present.ignore_fields)]
    arrays, tolerance = {**present.arrays, **stated.arrays}, {**present.tolerance, **stated.tolerance}
    changed = replace(present, ignore_fields=ignored, arrays=arrays, tolerance=tolerance)
    after = replace(baseline, baseline=replace(stored, output=old), comparison=changed)
    fixed: dict[str, ArrayMode] = dict.fromkeys(arrays_to_fix(project, baseline, after), "ordered")
    after = replace(after, comparison=replace(changed, arrays={**arrays, **fixed}))
    if comparison.get("ignore_fields"):
        written["comparison", "ignore_fields"] = ignored
    for name in ("arrays", "tolerance"):
        for path, value in {**comparison.get(name, {}), **(fixed if name == "arrays" else {})}.items():
            written["comparison", name, path] = value
    new = seen_through(after, new, words)
    masked = tuple(path for path in seen.masked if _is_still_masked(new, path))
    return after, replace(seen, resolved=new, masked=masked), tuple(ruled), written


def _replaced(value: Json, text: str) -> Json:
    """Return what becomes of a stored value that a placeholder for the new one does not accept: it goes, but
    a placeholder for a part of a text leaves the text."""
    return value if isinstance(value, str) and len(split(text)) > 1 else text


def _shown(given: Json, path: str) -> str:
    if isinstance(given, list):
        return ""
    rule = given[path]
    parts = (f"{key} {value}" for key, value in rule.items()) if isinstance(rule, dict) else [str(rule)]
    return f" {', '.join(parts)}"


def _is_still_masked(output: Json, path: Path) -> bool:
    try:
        return is_masked(value_at(output, path))
    except (LookupError, TypeError):
        return False


def seen_through(baseline: Baseline, output: Json, words: PlaceholderContext) -> Json:
    """Return a kept output as the rules of a baseline let it be seen: what they do not tell apart is as
    stored. What holds a placeholder was matched before, so that it is compared as it is written."""
    stored = baseline.baseline
    assert stored is not None
    names: dict[str, str] = {}

    def closed(value: Json) -> Json:
        if isinstance(value, str) and has_marker(value):
            return names.setdefault(value, f"\0{len(names)}\0")
        if isinstance(value, dict):
            return {key: closed(item) for key, item in value.items()}
        return [closed(item) for item in value] if isinstance(value, list) else value

    def opened(value: Json) -> Json:
        if isinstance(value, str):
            return texts.get(value, value)
        if isinstance(value, dict):
            return {key: opened(item) for key, item in value.items()}
        return [opened(item) for item in value] if isinstance(value, list) else value

    modes = compile_baseline(baseline, words).arrays
    each: dict[str, ArrayMode] = dict.fromkeys((render(at) for at in modes if modes[at] == "each"), "each")
    rules = replace(baseline.comparison, require_keys=[], latency=None, cost=None, max_age=None)
    rules = replace(rules, arrays={**each, **rules.arrays})
    expected = replace(baseline, baseline=replace(stored, output=closed(stored.output)), comparison=rules)
    comparison = compile_baseline(expected, words).compare(Observation(closed(output), 0.0))
    texts = {name: text for text, name in names.items()}
    return opened(comparison.resolved)


def with_output(
    project: Project, plan: RefreshPlan, accepted: range | frozenset[int], ignored: tuple[str, ...] = ()
) -> Baseline:
    """Return the baseline with the accepted changes in it."""
    stored = plan.baseline.baseline
    assert stored is not None
    rules: Rules = plan.baseline.comparison
    if ignored:
        rules = replace(rules, ignore_fields=[*rules.ignore_fields, *ignored])
    output = merge_accepted(plan.shape, plan.changes, accepted)
    after = replace(plan.baseline, baseline=replace(stored, output=output), comparison=rules)
    fixed: dict[str, ArrayMode] = dict.fromkeys(arrays_to_fix(project, plan.baseline, after), "ordered")
    return replace(after, comparison=replace(rules, arrays={**rules.arrays, **fixed})) if fixed else after


def arrays_to_fix(project: Project, before: Baseline, after: Baseline) -> Iterator[str]:
    """Yield the arrays that now have one element, with a placeholder in it, and did not describe all elements
    before: from now on they would, and arrays of any length would pass."""
    stored_output, output = (
        baseline.baseline.output if baseline.baseline else None for baseline in (before, after)
    )
    before_singles = set(single_element_arrays(stored_output))
    singles = [path for path in single_element_arrays(output) if path not in before_singles]
    if not singles:
        return
    try:
        modes = compile_baseline(after, project.words_of(after)).arrays
        modes_before = compile_baseline(before, project.words_of(before)).arrays
    except InvalidInput:  # reported when the new baseline is checked
        return
    templates = {of_any_row(path) for path, mode in modes_before.items() if mode == "each"}
    shapes = (of_any_row(path) for path in singles if modes.get(path) == "each")
    yield from dict.fromkeys(render(shape) for shape in shapes if shape not in templates)


def covers(pattern: Pattern, change: Change, plan: RefreshPlan) -> bool:
    """Whether a path that the operator named leads to a change, or to something that contains it."""
    if change.part != "output":
        return False
    stored = plan.baseline.baseline
    output = stored.output if change.kind == "removed" and stored else plan.seen.resolved
    path = change.path
    starts: list[tuple[Json, int]] = [(output, 0)]
    kind = kind_of(plan.baseline.current)
    in_answer = kind.paths_start_in_answer and path[:1] == (kind.answer,)
    if in_answer and not pattern.absolute and isinstance(output, dict):
        starts.append((output[kind.answer], 1))
    return any(leads_to(pattern, path[skip:], value) for value, skip in starts)


def new_trouble_messages(baseline: Baseline, old: Json, seen: KeptOutput) -> Iterator[str]:
    """Yield the signs that the answer went wrong, unless the one on file has the same."""
    recipe, kind = baseline.current, kind_of(baseline.current)
    known_messages = {trouble.message for trouble in kind.visible_troubles(recipe, old)}
    for trouble in kind.visible_troubles(recipe, seen.resolved):
        if trouble.message not in known_messages:
            yield trouble.message
    yield from seen.troubles


def stale_problem(project: Project, baseline: Baseline, part: str) -> Problem:
    hint = f"compare again: {compare_command(project, baseline)}"
    return Problem("BK531", f"{baseline.id}: {part} changed since that compare", hint)


def compare_command(project: Project, baseline: Baseline) -> str:
    """Return the command that compares a baseline again, and keeps its output if that fails."""
    if test_command := kind_of(baseline.current).own_command(baseline.current):
        return shlex.join(test_command)
    (command,) = check_commands([(baseline.id, baseline.source.file)], project.folders, project.eval_folders)
    return command


def _make_accepts(words: PlaceholderContext) -> Accepts:
    """Return a function that says whether a placeholder accepts a new value. A value with a placeholder in it
    is not accepted, nor is anything by a bound placeholder, which depends on other places."""

    def accepts(text: str, value: Json) -> bool:
        with suppress(InvalidInput):
            template = compile_text(text, words)
            plain = _plain_value(value)
            if plain is ABSENT or isinstance(template, str) or binds(template):
                return False
            return template.accepts(plain, {})
        return False

    return accepts


def _plain_value(value: Json) -> Json:
    """Return the value that a stored text stands for; ABSENT if it stands for several."""
    if not isinstance(value, str) or not has_marker(value):
        return value
    parts = split(value)
    return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else ABSENT


def _make_to_stored(words: PlaceholderContext) -> Callable[[Json], Json]:
    """Return a function that turns a new value into its stored form: with names in place of declared values,
    as a capture writes it."""
    templating = OutputTemplater(words.scope)

    def to_stored(value: Json) -> Json:
        if isinstance(value, str):
            plain = _plain_value(value)
            return value if plain is ABSENT else templating.template(plain)
        if isinstance(value, dict):
            return {key: to_stored(item) for key, item in value.items()}
        return [to_stored(item) for item in value] if isinstance(value, list) else value

    return to_stored


def block_secrets(change: Change, project: Project, seen: KeptOutput) -> Change:
    """Block a change that would write a secret into the file, or a mask in place of one."""
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
        return replace(change, blocked=Problem("BK534", message, _way_out(seen, hidden)))
    for path, message in secrets_in(change.after, project.redactor, change.path):
        problem = Problem("BK534", f"{render(path)} holds {message}", _way_out(seen, path))
        return replace(change, blocked=problem)
    return change


def _way_out(seen: KeptOutput, path: Path) -> str:
    """Return the command that stores a placeholder for a value which cannot be shown."""
    ignore = _command("refresh", seen.id, "--ignore", render(path))
    return f"{_command('refresh', seen.id, '--placeholder', f'{render(path)}=<<any_string>>')}, or {ignore}"


def _command(*words: str) -> str:
    return one_line(shlex.join(["baselinekit", *words]))


def is_masked(value: Json) -> bool:
    if isinstance(value, str):
        return MASK in value
    if isinstance(value, dict):
        return any(MASK in key or is_masked(item) for key, item in value.items())
    return any(map(is_masked, value)) if isinstance(value, list) else False


def observed_changes(baseline: Baseline, seen: KeptOutput, number: int) -> Iterator[Change]:
    """Yield the changes of the recorded time or cost, if a rule has failed on them."""
    stored = baseline.baseline
    observed = stored.observed if stored else None
    for n, text in enumerate(seen.settled, number):
        key = {"latency": "seconds", "cost": "cost_usd"}.get(text.partition(".")[0])
        path: Path = ("observed", key) if key else ("captured_at",)
        old = getattr(observed, key, None) if key else stored and stored.captured_at
        new = seen.observed.get(key) if key else seen.captured_at
        risk: Risk = "medium" if key else "low"
        yield Change(n, "value", path, path, old, new, risk, note=text, part="observed")


def describe_rule_changes(before: Matcher, after: Baseline, words: PlaceholderContext) -> Iterator[str]:
    """Describe what becomes of the rules with the new output. If they cannot be applied to it, it is refused;
    if they would leave nothing of it, accepting only a part may still be right."""
    try:
        matcher = compile_baseline(after, words)
    except InvalidInput as error:
        if any(problem.code != "BK224" for problem in error.problems):
            reason = "the new output does not fit the rules"
            raise InvalidInput(
                *(replace(problem, message=f"{reason}: {problem.message}") for problem in error.problems)
            ) from None
        yield from (f"not all of it can be accepted: {problem.message}" for problem in error.problems)
        return
    hit_places = {rule.at for rule in matcher.hits}
    lost = {rule.at: rule for rule in before.hits if rule.at not in hit_places}
    for rule in sorted(lost.values(), key=lambda rule: str(rule.at)):
        yield f"{rule.kind}: {rule.text} matches nothing any more"


# Writing approved changes into the files: what was accepted, with its provenance.


class Permit(Struct):
    """What may be done without asking again."""

    high_risk: bool = False
    drop_placeholders: bool = False


def reason_against(plan: RefreshPlan, accepted: Collection[int], permit: Permit) -> Problem | None:
    """Return why these changes cannot be accepted together, the most serious reason first."""
    chosen = [change for change in plan.changes if change.number in accepted]
    blocked = next((change.blocked for change in chosen if change.blocked), None)
    if blocked is not None:
        return blocked
    lost = [lost for change in chosen for lost in change.lost]
    if lost and not permit.drop_placeholders:
        further = f", and {len(lost) - 1} more" if len(lost) > 1 else ""
        message = f"{lost[0].text} at {render(lost[0].path)} would be lost{further}"
        hint = "accept other parts (--path), edit the file by hand, or pass --drop-placeholders"
        return Problem("BK533", message, hint)
    risky = [change for change in chosen if change.risk == "high"]
    if risky and not permit.high_risk:
        further = f", and {len(risky) - 1} more" if len(risky) > 1 else ""
        kind = "another value" if risky[0].kind == "value" else risky[0].kind
        message = f"{render(risky[0].path)} is a high-risk change ({kind}){further}"
        return Problem("BK532", message, f"decide about it: {_command('review', plan.baseline.id)}")
    return None


_COMMIT = lazy_pattern(r"-g[0-9a-f]{4,64}$")


def version_of(project: Project, clients: Clients) -> str | None:
    """Return the tag of the present commit, and how many commits later it is: `v1.2-3`; None without a tag.
    The commit itself is in the environment."""
    try:
        output = Git(clients.execute, project.root).ask("describe", "--tags")
    except BaselinekitError:
        return None
    return _COMMIT.sub("", output.decode("utf-8", "replace").strip()) or None


def is_in_git(project: Project, clients: Clients) -> bool:
    try:
        return not Git(clients.execute, project.root).run("rev-parse", "--git-dir").exit_code
    except BaselinekitError:
        return False


def preview(project: Project, approvals: Sequence[Approval], stamp: ApprovalNote) -> tuple[Rewritten, ...]:
    """Return the files that would change. Nothing is written."""
    fit, _ = _renewals(project, approvals, stamp)
    return previewed([renewal for renewal, _ in fit], project.root).files


def apply(project: Project, approvals: Sequence[Approval], stamp: ApprovalNote, sync: bool = True) -> Applied:
    """Write what was accepted, and drop what was kept of it. What was not accepted stays kept. `sync=False`
    is for callers that wait for the disk only once, after many files."""
    fit, failures = _renewals(project, approvals, stamp)
    applied = renew([renewal for renewal, _ in fit], project.root, sync)
    done = set(applied.ids)
    for renewal, approval in fit:
        plan = approval.plan
        if renewal.id not in done:
            continue
        if approval.is_whole:
            (mark_accepted if approval.accepted else drop_pending)(project.root, plan.baseline.id)
        else:  # the rest stays kept, to be compared with the new output
            after = with_output(project, plan, approval.accepted, approval.ignored)
            save_pending(
                project.root, replace(plan.seen, compared_with=compared_with(after), differing=(), varied=())
            )
    return replace(applied, failures=(*failures, *applied.failures))


def _renewals(
    project: Project, approvals: Sequence[Approval], stamp: ApprovalNote
) -> tuple[list[tuple[Renewal, Approval]], list[Problem]]:
    """Return what is to be written, except what would not be a valid baseline."""
    fit: list[tuple[Renewal, Approval]] = []
    failures: list[Problem] = []
    for approval in approvals:
        plan = approval.plan
        if not approval.accepted and not approval.ignored and not plan.ruled:
            continue
        after = with_output(project, plan, approval.accepted, approval.ignored)
        try:
            compile_baseline(after, project.words_of(after))
        except BaselinekitError as error:
            failures += locate_problems(plan.baseline, error.problems, project.root)
        else:
            fit.append((_renewal(approval, after, stamp), approval))
    return fit, failures


def without_commit(baseline: Baseline) -> Json:
    """Return ABSENT if an earlier version wrote the commit as the version: it is another commit now."""
    stored, version = baseline.baseline, baseline.baseline_version
    git: Json = stored.environment.get("git") if stored else None
    commit = str(git.get("commit")) if isinstance(git, dict) else ""
    is_commit = version and _ABBREVIATED.fullmatch(version) and commit.startswith(version)
    return ABSENT if is_commit else None


_ABBREVIATED = lazy_pattern(r"[0-9a-f]{7,64}")


def renewed_environment(stored: dict[str, Json], seen: dict[str, Json]) -> dict[str, Json]:
    """Return the environment of a new output: what a person wrote there stays, and the commit is that of the
    run."""
    return {**{name: value for name, value in stored.items() if name != "git"}, **seen}


def describe_environment(project: Project, baseline: Baseline, seen: KeptOutput) -> Iterator[str]:
    """Describe in one line what a refresh changes in the environment of a baseline."""
    before = flatten(baseline.baseline.environment if baseline.baseline else {})
    after = flatten(renewed_environment(before, seen.environment))
    changed = {name: after[name] for name in before if name in after and after[name] != before[name]}
    sides = (f"{name} {as_text(before[name])} -> {as_text(value)}" for name, value in changed.items())
    if changed:
        yield project.redactor.mask(f"environment: {', '.join(sides)}")


def _renewal(approval: Approval, after: Baseline, stamp: ApprovalNote) -> Renewal:
    plan, stored = approval.plan, after.baseline
    assert stored is not None
    seen, place = plan.seen, known_path(plan.baseline.variant)
    accepted = [change for change in plan.changes if change.number in approval.accepted]
    values = dict(plan.written)
    if accepted:
        values[(*place, "captured_at")] = seen.captured_at
        if seen.environment:
            values[(*place, "environment")] = renewed_environment(stored.environment, seen.environment)
        if seen.observed and (approval.is_whole or any(change.part == "observed" for change in accepted)):
            values[("baseline", "observed")] = seen.observed
        for key, value in (("approved_by", stamp.by), ("reason", stamp.reason)):
            if value or getattr(stored, key) is not None:  # an approval is for one output only
                values[("baseline", key)] = value or ABSENT
        version = stamp.version or without_commit(plan.baseline)
        if version is not None:
            values[("baseline_version",)] = version
    if approval.is_whole and seen.origin != STORED:
        values[("metadata", "failure_count")] = 0
    if approval.ignored:
        values[("comparison", "ignore_fields")] = after.comparison.ignore_fields
    for path in after.comparison.arrays:
        if path not in plan.baseline.comparison.arrays:
            values[("comparison", "arrays", path)] = "ordered"
    changed = bool(plan.ruled) or any(change.part == "output" for change in accepted)
    output = stored.output if changed else ABSENT
    previous = plan.baseline.baseline
    if changed and previous and not previous.variants:  # variants have their own placeholders
        still_learnt = select_valid_evidence(previous.learnt, previous.output, stored.output)
        if still_learnt != previous.learnt:
            values[("baseline", "learnt")] = still_learnt or ABSENT
    hints = Hints(plan.keys, ordered=any(change.kind == "order" for change in accepted))
    return Renewal(plan.baseline.id, plan.baseline.source, output, plan.baseline.variant, values, hints)


def mask_proposal(proposal: RefreshProposal, redactor: Redactor) -> RefreshProposal:
    """Mask what a refresh would change, for display: a file may contain secrets as well."""

    def mask_change(change: Change) -> Change:
        before = redactor.mask_value(change.before, change.at)
        after = redactor.mask_value(change.after, change.path)
        if before is change.before and after is change.after:
            return change
        return replace(change, before=before, after=after)

    plans = [replace(plan, changes=tuple(map(mask_change, plan.changes))) for plan in proposal.plans]
    return replace(proposal, plans=tuple(plans))
