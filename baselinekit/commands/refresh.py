"""refresh: the new output of a failed compare becomes the known-good one, as far as it is approved. A plan
states what changes in a baseline, why and at which risk; one writer writes what a refresh or a review accepts
of it."""

import os
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain
from typing import Any

from baselinekit.changes.changes import ComparisonRules, changes_of, group_changes, merge_accepted
from baselinekit.changes.reviewing import covered_changes
from baselinekit.clients.programs.git import Git
from baselinekit.commands.capture import (
    ReplayJob,
    Replays,
    check_placeholders,
    in_turns,
    nothing_there,
    observe_all,
)
from baselinekit.commands.context import RunContext
from baselinekit.commands.judging import compare_settled, compile_and_check, observe
from baselinekit.commands.loading import load, locate_problems
from baselinekit.commands.pending import compared_with, expected_hash, kept_output_of
from baselinekit.commands.project import CaptureEnvironment, Project, as_variant, without_branch
from baselinekit.commands.selection import Selection, list_names, select
from baselinekit.errors import BaselinekitError, CannotReplay, InvalidInput, NothingSelected, Problem, suggest
from baselinekit.files.jsontext import compact
from baselinekit.kinds.dispatch import recipe_hash
from baselinekit.kinds.kind import Trouble
from baselinekit.kinds.settings import Clients, Setting
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.learning.lesson import LearningCase, Lesson, learn_again
from baselinekit.learning.templating import (
    OutputTemplater,
    placed,
    places_of,
    secrets_in,
    single_element_arrays,
)
from baselinekit.learning.varying import evidence_of, masked_places, select_valid_evidence
from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.model import changes as model
from baselinekit.model.baselines import ArrayMode, Baseline, Rules, known_path
from baselinekit.model.recipes import Observation
from baselinekit.model.values import ABSENT, Json, Path, parse_time
from baselinekit.placeholders.grammar import has_marker, is_template, split, tokens_in, unescaped
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.placeholders.template import binds, compile_text
from baselinekit.report.next_commands import check_commands, command_line
from baselinekit.schema import read_as
from baselinekit.secrets.variables import MASK, Redactor
from baselinekit.store.results import drop_pending, load_pending, mark_accepted, pending_ids, save_pending
from baselinekit.store.writing import Renewal, renew
from baselinekit.structs import Struct, field, plain, replace
from baselinekit.values.changes import Hints
from baselinekit.values.equality import identical
from baselinekit.values.paths import of_any_row, parse, render
from baselinekit.values.places import places, value_at, with_texts, with_values

NO_ANSWERS = "BK530"
"""The code where no answer of a compare is kept: nothing is pending."""


class RefreshScope(Struct):
    """What a refresh covers: `words` are ids (with wildcards) or paths. `results`: the name and the text of
    each result file. `replay`: replay the baselines now. `rules`: what is written instead of the new
    outputs."""

    words: Sequence[str] = ()
    selection: Selection = field(default_factory=Selection)
    all_failed: bool = False
    results: tuple[tuple[str, str], ...] = ()
    replay: bool = False
    jobs: int = 8
    rules: model.NewRules = model.NO_RULES


# The sources of new outputs: a failed compare, a result file, or the targets themselves.


Found = tuple[Baseline, model.KeptOutput] | model.RefreshRefusal | str
"""An output to accept, why there is none, or the id of a baseline that passes."""


def pending_answers(project: Project, scope: RefreshScope, chosen: Iterable[Baseline]) -> Iterator[Found]:
    """Yield the outputs that compares have kept. For an id that was named there should be one, unless only
    rules are written: then the stored output is as good."""
    ids = pending_ids(project.root)
    for baseline in chosen:
        try:
            seen = load_pending(project.root, baseline.id) if baseline.id in ids else None
        except InvalidInput as error:
            yield from refusals_of(baseline, error)
            continue
        if seen is not None:
            yield baseline, seen
        elif baseline.id in scope.words and scope.rules and baseline.baseline is not None:
            output, hash = baseline.baseline.output, recipe_hash(baseline.current)
            yield baseline, model.KeptOutput(baseline.id, hash, output, "", origin=STORED)
        elif baseline.id in scope.words:
            reason = "it passed when it was last compared, or none could be kept"
            hint = f"{compare_command(project, baseline)}, or refresh --replay"
            problem = Problem(NO_ANSWERS, f"no answer of {baseline.id} is kept: {reason}", hint)
            yield model.RefreshRefusal(baseline.id, baseline.source.file, problem)


def answers_in_results(
    project: Project, chosen: Iterable[Baseline], results: tuple[str, str], narrowed: bool, now: str
) -> Iterator[Found]:
    """Yield the outputs of another machine, from the name and the text of its result file. Only those of
    failed results are used, with their environment, as the rules of this checkout let them be seen."""
    from baselinekit.report import resultfile

    name, text = results
    report = resultfile.read(text, name)
    baselines = {baseline.id: baseline for baseline in chosen}
    for result in report.results:
        baseline = baselines.get(result.id)
        if result.outcome != "failed" or (baseline is None and narrowed):
            continue
        known = baseline.baseline if baseline is not None else None
        if baseline is None or known is None or known.variants or result.resolved is ABSENT:
            message = f"{result.id} has not one stored output here, or its new one is over 1 MB"
            hint = "compare it here: baselinekit compare"
            yield model.RefreshRefusal(result.id, name, Problem("BK535", message, hint))
            continue
        stored = known.output
        try:
            if result.expected_hash != expected_hash(stored):
                raise InvalidInput(stale_problem(project, baseline, "its stored output"))
            resolved = seen_through(baseline, result.resolved, project.words_of(baseline))
        except BaselinekitError as error:
            yield from refusals_of(baseline, error)
            continue
        if identical(resolved, stored):
            yield baseline.id
            continue
        yield (
            baseline,
            model.KeptOutput(
                id=result.id,
                recipe_hash=result.recipe_hash,
                resolved=resolved,
                captured_at=min(report.started, now),  # no time that is still to come
                environment=without_branch(report.environment),
                masked=masked_paths(resolved),
                origin=name,
            ),
        )


def replayed_answers(
    here: CaptureEnvironment, chosen: Sequence[Baseline], jobs: int, context: RunContext
) -> Iterator[Found]:
    """Yield what the targets answer now."""
    advance = context.advance(len(chosen))

    def work(baseline: Baseline) -> list[Found]:
        try:
            chosen_variant, matcher = compile_and_check(here, baseline)
            setting = here.project.setting_of(baseline, here.clients)
            observation = observe(baseline.current, setting)
            comparison = compare_settled(matcher, observation, setting)
        except BaselinekitError as error:
            advance("error")
            return [*refusals_of(baseline, error)]
        advance("passed")
        if comparison.passed:
            drop_pending(here.project.root, baseline.id)
            return [baseline.id]
        seen = kept_output_of(here, chosen_variant, comparison, observation, context.timestamp())
        return [(baseline, replace(seen, origin="replay"))]

    answers = in_turns(chosen, work, jobs, context, lambda baseline: here.project.claim(baseline.current))
    return chain.from_iterable(filter(None, answers))


def refusals_of(baseline: Baseline, error: BaselinekitError) -> list[model.RefreshRefusal]:
    return [model.RefreshRefusal(baseline.id, baseline.source.file, problem) for problem in error.problems]


# What a refresh covers, and what it proposes.


def propose(project: Project, scope: RefreshScope, context: RunContext) -> model.RefreshProposal:
    """Return what would change, in everything that is selected. Nothing is replayed unless that is
    requested."""
    chosen = _selected(project, scope)
    for path in scope.rules.paths:
        parse(path)
    planned: dict[str, model.RefreshPlan] = {}
    refusals, passing, elsewhere = list[model.RefreshRefusal](), list[str](), None
    for answer in _answers(project, scope, chosen, context):
        if isinstance(answer, model.RefreshRefusal):
            refusals.append(answer)
        elif isinstance(answer, str):
            passing.append(answer)
        else:
            baseline, seen = answer
            try:
                planned[baseline.id] = plan_of(project, baseline, seen, scope.rules)
            except BaselinekitError as error:
                if scope.rules and [problem.code for problem in error.problems] == ["BK523"]:
                    elsewhere = error  # the rules may be about other baselines
                    continue
                placed = locate_problems(baseline, error.problems, project.root)
                refusals += refusals_of(baseline, type(error)(*placed))
    if elsewhere is not None and not planned:
        raise elsewhere
    plans = tuple(planned.values())
    if not (plans or refusals or passing):
        message = f"there is nothing to refresh: {_kept_answers(project)}"
        if scope.results:
            message = f"nothing failed in {' and '.join(name for name, _ in scope.results)}"
        raise NothingSelected(Problem(NO_ANSWERS, message, "baselinekit compare or run, or refresh --replay"))
    return model.RefreshProposal(plans, group_changes(plans), tuple(refusals), tuple(passing))


def _selected(project: Project, scope: RefreshScope) -> list[Baseline]:
    """Return the baselines that a refresh covers; InvalidInput if nothing was named."""
    if not (scope.words or scope.all_failed or scope.results or scope.selection != Selection()):
        message = f"refresh which baselines? {_kept_answers(project)}"
        raise InvalidInput(Problem("BK508", message, "name ids or paths, or pass --all-failed"))
    return select(find_baselines(project, scope.words), scope.selection)


def _answers(
    project: Project, scope: RefreshScope, chosen: Sequence[Baseline], context: RunContext
) -> Iterable[Found]:
    if scope.replay:
        return replayed_answers(CaptureEnvironment(project, context.clients), chosen, scope.jobs, context)
    if not scope.results:
        return pending_answers(project, scope, chosen)
    narrowed, now = bool(scope.words) or scope.selection != Selection(), context.timestamp()
    return chain.from_iterable(
        answers_in_results(project, chosen, file, narrowed, now) for file in scope.results
    )


def _kept_answers(project: Project) -> str:
    ids = sorted(pending_ids(project.root))
    return f"answers are kept of {list_names(ids)}" if ids else "no answer of a failed compare is kept"


def accepted_by(plans: Sequence[model.RefreshPlan], paths: Sequence[str]) -> list[frozenset[int]]:
    """Return for each plan the changes that are below one of the paths; without paths, all, or with rules of
    the operator only those that are one of the placeholders."""
    if not paths:
        has_rules = any(plan.ruled for plan in plans)
        return [plan.placed if has_rules else frozenset(range(len(plan.changes))) for plan in plans]
    covered = {text: [covered_changes(plan, text) for plan in plans] for text in paths}
    for text, numbers in covered.items():
        if not any(numbers):
            changed = dict.fromkeys(render(change.path) for plan in plans for change in plan.changes)
            hint = f"what changes is {list_names([*changed])}"
            raise InvalidInput(Problem("BK508", f"--path {text}: nothing changes there", hint))
    return [plan.placed.union(*(numbers[n] for numbers in covered.values())) for n, plan in enumerate(plans)]


def find_baselines(project: Project, words: Sequence[str]) -> list[Baseline]:
    """Return the baselines that the words name: by their ids, also with wildcards, or by paths. A word that
    could be both, such as the name of a folder, is an id."""
    everything = load(project, ())
    ids = [one.id for one in everything]
    found: dict[str, Baseline] = {}
    for word in words:
        named = [one for one in everything if fnmatchcase(one.id, word)]
        if not named and not os.path.lexists(os.path.join(project.cwd, word)):
            hint = suggest(word, ids) or f"the ids are {list_names(ids)}"
            raise NothingSelected(Problem("BK509", f"there is no baseline and no path {word!r}", hint))
        found |= {one.id: one for one in named or load(project, [word])}
    return list(found.values()) if words else everything


# The plan: what changes in one baseline, and whether anything forbids it.


STORED = "stored"
"""The origin of an output that is the stored one: rules are written without a new answer."""


def plan_of(
    project: Project, baseline: Baseline, seen: model.KeptOutput, rules: model.NewRules = model.NO_RULES
) -> model.RefreshPlan:
    """Return every change from the stored output to the new one, after the new `rules` are applied.
    InvalidInput explains why there can be no plan."""
    if seen.variant is not None:
        stored = baseline.baseline
        if stored is None or seen.variant >= len(stored.variants):
            raise InvalidInput(stale_problem(project, baseline, "its variants"))
        baseline = as_variant(baseline, seen.variant)
    if part := _changed_since(baseline, seen):
        raise InvalidInput(stale_problem(project, baseline, part))
    if seen.flaw is not None:
        raise InvalidInput(Problem("BK521", f"{baseline.id}: {seen.flaw}: it is not stored as known-good"))
    words, on_file = project.words_of(baseline), baseline.comparison
    ruled: tuple[str, ...] = ()
    if rules:
        baseline, seen, ruled = with_rules(project, baseline, seen, rules)
    arrays = compile_baseline(baseline, words).arrays
    outcomes = kind_of(baseline.current).outcomes(baseline.current)
    seen_at = parse_time(seen.captured_at)
    when = seen_at.timestamp() if seen_at else 0.0
    template = OutputTemplater(words.scope).template

    def accepts(text: str, value: Json) -> bool:
        with suppress(InvalidInput):
            compiled = compile_text(text, words)
            # a bound placeholder depends on other places
            if not (isinstance(compiled, str) or binds(compiled) or is_template(value)):
                return compiled.accepts(unescaped(value), {})
        return False

    def to_stored(value: Json) -> Json:
        return with_texts(value, lambda text: text if is_template(text) else template(unescaped(text)))

    ways = ComparisonRules(arrays, accepts, to_stored, outcomes, words, when)
    old = baseline.baseline.output if baseline.baseline else ABSENT
    found = changes_of(old, seen.resolved, ways)
    changes = tuple(block_secrets(change, project, seen) for change in found.changes)
    changes += tuple(observed_changes(baseline, seen, len(changes)))
    if not changes and not rules:
        message = f"{baseline.id} fails for a reason outside its output: {'; '.join(seen.unsettled)}"
        raise InvalidInput(Problem("BK537", message, "change the rule, or fix the target"))
    keys = {at: mode.removeprefix("by ") for at, mode in arrays.items() if mode.startswith("by ")}
    if signs := _troubles_of(baseline, seen):
        changes = tuple(replace(change, risk="high") for change in changes)
    texts = [*rules.placeholders.values()]
    alone = frozenset(change.number for change in changes if change.after in texts)
    wrong = [f"it went wrong: {text}" for text in signs]
    wrong += [f"it will still fail: {text}" for text in seen.unsettled]
    notes = (*found.taken, *wrong)
    return model.RefreshPlan(baseline, seen, changes, found.shape, notes, keys, signs, ruled, alone, on_file)


def _changed_since(baseline: Baseline, seen: model.KeptOutput) -> str:
    """Return what has changed since an output was compared; empty if nothing has."""
    if seen.recipe_hash != recipe_hash(baseline.current):
        return "its recipe"
    is_known = seen.compared_with in (None, compared_with(baseline))
    return "" if is_known else "its stored output, or what it is compared by,"


def with_rules(
    project: Project, baseline: Baseline, seen: model.KeptOutput, rules: model.NewRules
) -> tuple[Baseline, model.KeptOutput, tuple[str, ...]]:
    """Return the baseline with the operator's rules and placeholders, the new output seen through them, and a
    line about each. Rules for other outputs are left out."""
    stored, kind, words = baseline.baseline, kind_of(baseline.current), project.words_of(baseline)
    assert stored is not None
    outputs = (stored.output, seen.resolved)
    leading = {path for path in rules.paths if any(places_of(output, path, kind) for output in outputs)}
    if not leading:
        raise InvalidInput(nothing_there(stored.output, rules.paths[0], kind))
    check_placeholders(rules.placeholders, words)
    ruled: list[str] = []
    old, new = outputs
    for path, text in rules.placeholders.items():
        if path not in leading:
            continue
        if not next(tokens_in(text), None):
            raise InvalidInput(Problem("BK524", f"--placeholder {path}: {text!r} holds no placeholder"))
        at_places = places_of(new, path, kind)
        found = {place: placed(value_at(new, place), text, words) for place in at_places}
        if None in found.values():
            unfit = next(place for place in at_places if found[place] is None)
            message = f"{render(unfit)}: {text!r} does not accept what came"
            raise InvalidInput(Problem("BK524", message, "choose another placeholder"))
        new = with_values(new, found)
        for place in places_of(old, path, kind):  # a value that the placeholder does not accept goes,
            value = value_at(old, place)  # but one for a part of a text leaves the text
            kept_text = value if isinstance(value, str) and len(split(text)) > 1 else text
            old = with_values(old, {place: placed(value, text, words) or kept_text})
        ruled.append(f"{path} takes {text}" + (f" in {len(at_places):,} places" if at_places[1:] else ""))
    stated, problems = read_as(Rules, rules.comparison)
    if stated is None or problems:
        raise InvalidInput(*problems)
    comparison: dict[str, Any] = {}
    for name in rules.comparison:
        given, present = getattr(stated, name), getattr(baseline.comparison, name)
        chosen = [path for path in given if path in leading]
        if isinstance(given, list):
            comparison[name] = list(dict.fromkeys([*present, *chosen]))
            ruled += [f"comparison.{name}: {path}" for path in chosen]
        else:
            comparison[name] = {**present, **{path: given[path] for path in chosen}}
            ruled += [f"comparison.{name}: {path}: {compact(plain(given[path]))}" for path in chosen]
    changed = replace(baseline.comparison, **comparison)
    after = replace(baseline, baseline=replace(stored, output=old), comparison=changed)
    after = with_fixed_arrays(project, baseline, after)
    new = seen_through(after, new, words)
    masked = tuple(path for path in masked_paths(new) if path in seen.masked)
    return after, replace(seen, resolved=new, masked=masked), tuple(ruled)


def seen_through(baseline: Baseline, output: Json, words: PlaceholderContext) -> Json:
    """Return a kept output as the rules of a baseline let it be seen: what they do not tell apart is as
    stored. What holds a placeholder was matched before, so that it is compared as it is written."""
    stored = baseline.baseline
    assert stored is not None
    names: dict[str, str] = {}

    def closed(text: str) -> str:
        return names.setdefault(text, f"\0{len(names)}\0") if has_marker(text) else text

    modes = compile_baseline(baseline, words).arrays
    each: dict[str, ArrayMode] = dict.fromkeys((render(at) for at in modes if modes[at] == "each"), "each")
    rules = replace(baseline.comparison, require_keys=[], latency=None, cost=None, max_age=None)
    rules = replace(rules, arrays={**each, **rules.arrays})
    known = replace(stored, output=with_texts(stored.output, closed))
    matcher = compile_baseline(replace(baseline, baseline=known, comparison=rules), words)
    comparison = matcher.compare(Observation(with_texts(output, closed), 0.0))
    if comparison.questions:  # only a model knows whether these texts mean the same
        return output
    texts = {name: text for text, name in names.items()}
    return with_texts(comparison.resolved, lambda text: texts.get(text, text))


def with_output(
    project: Project, plan: model.RefreshPlan, accepted: range | frozenset[int], ignored: tuple[str, ...] = ()
) -> Baseline:
    """Return the baseline with the accepted changes in it."""
    stored = plan.baseline.baseline
    assert stored is not None
    rules: Rules = plan.baseline.comparison
    if ignored:
        rules = replace(rules, ignore_fields=[*rules.ignore_fields, *ignored])
    output = merge_accepted(plan.shape, plan.changes, accepted)
    after = replace(plan.baseline, baseline=replace(stored, output=output), comparison=rules)
    return with_fixed_arrays(project, plan.baseline, after)


def with_fixed_arrays(project: Project, before: Baseline, after: Baseline) -> Baseline:
    """Return the baseline with `ordered` for the arrays that now have one element, with a placeholder in it,
    and had not before: otherwise that would describe all elements, and arrays of any length would pass."""
    described, singles = (
        [of_any_row(path) for path in single_element_arrays(one.baseline.output if one.baseline else None)]
        for one in (before, after)
    )
    if set(singles) <= set(described):
        return after
    try:
        modes = compile_baseline(after, project.words_of(after)).arrays
    except InvalidInput:  # reported when the new baseline is checked
        return after
    shapes = {of_any_row(path) for path, mode in modes.items() if mode == "each"}
    fixed = [render(shape) for shape in singles if shape in shapes and shape not in described]
    arrays: dict[str, ArrayMode] = {**after.comparison.arrays, **dict.fromkeys(fixed, "ordered")}
    return replace(after, comparison=replace(after.comparison, arrays=arrays))


def new_troubles(baseline: Baseline, troubles: Iterable[Trouble]) -> list[str]:
    """Return the signs that an answer went wrong, unless the stored one has the same."""
    output = baseline.baseline.output if baseline.baseline else None
    seen = kind_of(baseline.current).troubles(baseline.current, Observation(output, 0.0))
    known = {trouble.message for trouble in seen}
    return [trouble.message for trouble in troubles if trouble.message not in known]


def _troubles_of(baseline: Baseline, seen: model.KeptOutput) -> tuple[str, ...]:
    found = kind_of(baseline.current).troubles(baseline.current, Observation(seen.resolved, 0.0))
    return (*new_troubles(baseline, found), *seen.troubles)


def stale_problem(project: Project, baseline: Baseline, part: str) -> Problem:
    hint = f"compare again: {compare_command(project, baseline)}"
    return Problem("BK531", f"{baseline.id}: {part} changed since that compare", hint)


def compare_command(project: Project, baseline: Baseline) -> str:
    """Return the command that compares a baseline again, and keeps its output if that fails."""
    if test_command := kind_of(baseline.current).own_command(baseline.current):
        return shlex.join(test_command)
    (command,) = check_commands([(baseline.id, baseline.source.file)], project.folders, project.eval_folders)
    return command


def block_secrets(change: model.Change, project: Project, seen: model.KeptOutput) -> model.Change:
    """Block a change that would write a secret into the file, or a mask in place of one."""
    if change.kind in ("removed", "order"):
        return change
    at = change.path
    masked = (path for path in seen.masked if path[: len(at)] == at or at[: len(path)] == path)
    if (hidden := next(masked, None)) is not None:
        problem = "was masked when it was kept, and what is not shown cannot be approved"
    elif found := next(secrets_in(change.after, project.redactor, at), None):
        hidden, secret = found
        problem = f"holds {secret}"
    else:
        return change
    place = render(hidden)
    placeholder = command_line("refresh", seen.id, "--placeholder", f"{place}=<<any_string>>")
    hint = f"{placeholder}, or {command_line('refresh', seen.id, '--ignore', place)}"
    return replace(change, blocked=Problem("BK534", f"{place} {problem}", hint))


def masked_paths(output: Json) -> tuple[Path, ...]:
    """Return the places of texts with a mask in them, and of objects with one in a key."""
    return tuple(
        path
        for path, value in places(output)
        if any(
            MASK in text for text in (value if isinstance(value, dict) else [value]) if isinstance(text, str)
        )
    )


def observed_changes(baseline: Baseline, seen: model.KeptOutput, number: int) -> Iterator[model.Change]:
    """Yield the changes of the recorded time or cost, if a rule has failed on them."""
    stored = baseline.baseline
    observed = stored.observed if stored else None
    for n, text in enumerate(seen.settled, number):
        key = {"latency": "seconds", "cost": "cost_usd"}.get(text.partition(".")[0])
        path: Path = ("observed", key) if key else ("captured_at",)
        old = getattr(observed, key, None) if key else stored and stored.captured_at
        new = seen.observed.get(key) if key else seen.captured_at
        risk: model.Risk = "medium" if key else "low"
        yield model.Change(n, "value", path, path, old, new, risk, note=text, part="observed")


# Writing what was approved into the files, with its provenance.


class Permit(Struct):
    """What may be done without asking again."""

    high_risk: bool = False
    drop_placeholders: bool = False


def reason_against(plan: model.RefreshPlan, accepted: Collection[int], permit: Permit) -> Problem | None:
    """Return why these changes cannot be accepted together, the most serious reason first."""
    chosen = [change for change in plan.changes if change.number in accepted]
    if blocked := next((change.blocked for change in chosen if change.blocked), None):
        return blocked
    lost = next((lost for change in chosen for lost in change.lost), None)
    if lost is not None and not permit.drop_placeholders:
        message = f"{lost.text} at {render(lost.path)} would be lost"
        hint = "accept other parts (--path), edit the file by hand, or pass --drop-placeholders"
        return Problem("BK533", message, hint)
    risky = next((change for change in chosen if change.risk == "high"), None)
    if risky is not None and not permit.high_risk:
        kind = "another value" if risky.kind == "value" else risky.kind
        message = f"{render(risky.path)} is a high-risk change ({kind})"
        return Problem("BK532", message, f"decide about it: {command_line('review', plan.baseline.id)}")
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


def apply(
    project: Project, approvals: Sequence[model.Approval], stamp: model.ApprovalNote, dry_run: bool = False
) -> model.Applied:
    """Write what was accepted, except what would not be a valid baseline, and drop what was kept of it and of
    what was rejected. What is undecided stays kept."""
    renewals: list[Renewal] = []
    failures: list[Problem] = []
    for approval in approvals:
        if approval.writes:
            after = with_output(project, approval.plan, approval.accepted, approval.ignored)
            try:
                compile_baseline(after, project.words_of(after))
                renewals.append(_renewal(approval, after, stamp))
            except BaselinekitError as error:
                unfit = "what was accepted does not fit the rules"
                problems = [replace(one, message=f"{unfit}: {one.message}") for one in error.problems]
                failures += locate_problems(after, problems, project.root)
    applied = renew(renewals, project.root, dry_run)
    kept_ids = pending_ids(project.root)
    for approval in approvals:
        if not dry_run and (not approval.writes or approval.plan.baseline.id in applied.ids):
            try:
                _keep_undecided(project, approval, kept_ids)
            except BaselinekitError as error:
                failures += error.problems
    return replace(applied, failures=(*failures, *applied.failures))


def _keep_undecided(project: Project, approval: model.Approval, kept_ids: Collection[str]) -> None:
    """Keep the new output of a baseline as far as it is undecided, to be compared with the output that is
    stored now. If it came from elsewhere or from a replay, nothing of it was kept, and nothing is."""
    plan = approval.plan
    undecided = [change for change in plan.changes if change.number not in approval.decided]
    if not undecided:
        was_accepted = approval.is_whole and approval.accepted
        (mark_accepted if was_accepted else drop_pending)(project.root, plan.baseline.id)
    elif plan.seen.origin == "kept" and plan.baseline.id in kept_ids:
        open_numbers = {change.number for change in undecided}
        output = merge_accepted(plan.shape, plan.changes, approval.accepted | open_numbers)
        noted = {change.note for change in undecided if change.part == "observed"}
        rest = replace(
            plan.seen,
            resolved=output,
            compared_with=compared_with(with_output(project, plan, approval.accepted, approval.ignored)),
            masked=masked_paths(output) if plan.seen.masked else (),  # others moved
            settled=tuple(text for text in plan.seen.settled if text in noted),
            differing=(),
        )
        save_pending(project.root, rest)


def _renewal(approval: model.Approval, after: Baseline, stamp: model.ApprovalNote) -> Renewal:
    plan, stored = approval.plan, after.baseline
    assert stored is not None
    seen, place = plan.seen, known_path(plan.baseline.variant)
    accepted = [change for change in plan.changes if change.number in approval.accepted]
    values: dict[Path, Json] = {}
    if accepted:
        values[(*place, "captured_at")] = seen.captured_at
        if seen.environment:
            kept = {name: value for name, value in stored.environment.items() if name != "git"}
            values[(*place, "environment")] = {**kept, **seen.environment}  # a person may have added some
        if seen.observed and (approval.is_whole or any(change.part == "observed" for change in accepted)):
            values[("baseline", "observed")] = seen.observed
        for key, value in (("approved_by", stamp.by), ("reason", stamp.reason)):
            if value or getattr(stored, key) is not None:  # an approval is for one output only
                values[("baseline", key)] = value or ABSENT
        if stamp.version:
            values[("baseline_version",)] = stamp.version
    if approval.is_whole and seen.origin != STORED:
        values[("metadata", "failure_count")] = 0
    if after.comparison.ignore_fields != plan.on_file.ignore_fields:
        values[("comparison", "ignore_fields")] = after.comparison.ignore_fields
    for name in ("arrays", "tolerance"):  # not those that only the code of a test states
        known = getattr(plan.on_file, name)
        for path, rule in getattr(after.comparison, name).items():
            if known.get(path) != rule:
                values[("comparison", name, path)] = plain(rule)
    changed = bool(plan.ruled) or any(change.part == "output" for change in accepted)
    output = stored.output if changed else ABSENT
    previous = plan.baseline.baseline
    if changed and previous and not previous.variants:  # variants have their own placeholders
        still_learnt = select_valid_evidence(previous.learnt, previous.output, stored.output)
        if still_learnt != previous.learnt:
            values[("baseline", "learnt")] = still_learnt or ABSENT
    hints = Hints(plan.keys, ordered=any(change.kind == "order" for change in accepted))
    return Renewal(plan.baseline.id, plan.baseline.source, output, plan.baseline.variant, values, hints)


def mask_proposal(proposal: model.RefreshProposal, redactor: Redactor) -> model.RefreshProposal:
    """Mask what a refresh would change, for display: a file may contain secrets as well."""

    def mask_change(change: model.Change) -> model.Change:
        before = redactor.mask_value(change.before, change.at)
        after = redactor.mask_value(change.after, change.path)
        return replace(change, before=before, after=after)

    plans = [replace(plan, changes=tuple(map(mask_change, plan.changes))) for plan in proposal.plans]
    return replace(proposal, plans=tuple(plans))


# refresh --learn: baselines are replayed, and placeholders put where the outputs vary. Nothing else is
# written: a value that has changed in the same way in all replays stays, and is reported.

REPLAYS = 3


class LearnPlan(Struct):
    """What is learnt of one baseline: the lesson, values masked. `renewal`: what is to be written, None if
    nothing is. `kept`: the time of the compare whose answer is used as one more replay, None if there is
    none."""

    baseline: Baseline
    replays: int
    lesson: Lesson
    renewal: Renewal | None = None
    kept: str | None = None


class LearnProposal(Struct):
    """All plans, and why other baselines could not be replayed."""

    plans: tuple[LearnPlan, ...]
    failures: tuple[Problem, ...] = ()


def propose_learning(
    project: Project,
    scope: RefreshScope,
    times: int,
    context: RunContext,
    replaces_handwritten: bool = False,
    is_unchanged: bool = False,
) -> LearnProposal:
    """Replay what is selected, `times` times, and return what is learnt from that. Nothing is written.
    `replaces_handwritten`: also replace a handwritten placeholder that proves too narrow. `is_unchanged`: the
    user states that nothing was changed on the service, so that whatever differs varies."""
    chosen = _selected(project, scope)
    if scope.all_failed:
        pending = pending_ids(project.root)
        chosen = [baseline for baseline in chosen if baseline.id in pending]
    if not chosen:
        message = "there is nothing to learn: no compare has failed since"
        raise NothingSelected(Problem(NO_ANSWERS, message, "baselinekit compare"))
    here, plans, failures = CaptureEnvironment(project, context.clients), list[LearnPlan](), list[Problem]()
    prepared: list[tuple[Baseline, Matcher, Setting]] = []
    for baseline in chosen:
        try:  # one that cannot be replayed at all is reported before anything is asked
            setting = project.setting_of(baseline, context.clients)
            prepared.append((*compile_and_check(here, baseline), setting))
        except BaselinekitError as error:
            failures += locate_problems(baseline, error.problems, project.root)
    replay_jobs = [ReplayJob(baseline.current, setting, times) for baseline, _, setting in prepared]
    for number, replays in chain.from_iterable(observe_all(replay_jobs, context, scope.jobs)):
        baseline, matcher, setting = prepared[number]
        compare, kept = partial(compare_settled, setting=setting), kept_answer(project, baseline)
        try:
            observations = _sound(baseline, replays)
            mask = project.redactor.knowing([one.output for one in observations]).mask_value
            case = LearningCase(
                baseline=baseline,
                matcher=matcher,
                observations=observations,
                settled=[compare(matcher, one) for one in observations],
                words=project.words_of(baseline),
                now=setting.clients.now(),
                compare=compare,
                kept=kept,
                mask=mask,
                is_unchanged=is_unchanged,
                replaces_handwritten=replaces_handwritten,
            )
            lesson = learn_again(case)
        except BaselinekitError as error:
            failures += locate_problems(baseline, error.problems, project.root)
            continue
        lesson = replace(lesson, volatile=masked_places(lesson.volatile, mask))
        is_new = lesson.volatile or lesson.lists
        count = len(observations) + (kept is not None)
        renewal = _lesson_renewal(baseline, lesson, count, project.redactor) if is_new else None
        kept_at = kept.captured_at if kept else None
        plans.append(LearnPlan(baseline, len(observations), lesson, renewal, kept_at))
    return LearnProposal(tuple(plans), tuple(failures))


def _sound(baseline: Baseline, replays: Replays) -> Sequence[Observation]:
    """Return the replays; raise if one of them could not be made, or went wrong."""
    if isinstance(replays, BaselinekitError):
        raise replays
    for replay in replays:
        troubles = kind_of(baseline.current).troubles(baseline.current, replay)
        for message in new_troubles(baseline, troubles):
            raise CannotReplay(Problem("BK521", f"{message}: nothing is learnt of that", "fix it"))
        if (reason := replay.reason_not_to_store) is not None:
            raise CannotReplay(Problem("BK521", f"{reason}: nothing is learnt of that"))
    return replays


def _lesson_renewal(baseline: Baseline, lesson: Lesson, answers: int, redactor: Redactor) -> Renewal:
    """Return what a lesson from this number of answers writes."""
    stored, values = baseline.baseline, dict[Path, Json]()
    assert stored is not None
    if lesson.baseline.comparison.arrays != baseline.comparison.arrays:
        values["comparison", "arrays"] = plain(lesson.baseline.comparison.arrays)
    if not lesson.refusals:
        values["metadata", "failure_count"] = 0
    if lesson.volatile and baseline.source.form == "native":
        learnt = stored.learnt
        if not stored.variants:
            learnt = select_valid_evidence(learnt, stored.output, lesson.output)
        values["baseline", "learnt"] = {**learnt, **evidence_of(lesson.volatile, answers, redactor)}
    return Renewal(baseline.id, baseline.source, lesson.output, baseline.variant, values)


def kept_answer(project: Project, baseline: Baseline) -> model.KeptOutput | None:
    """Return the answer kept from the failed compare, if it is an answer to this recipe, was compared with
    what is stored, and went well."""
    stored = baseline.baseline
    try:
        seen = load_pending(project.root, baseline.id)
    except BaselinekitError:
        return None
    if stored is None or seen is None or seen.flaw is not None or not seen.differing:
        return None
    is_other = seen.variant != baseline.variant or seen.compared_with is None
    is_other = is_other or bool(_changed_since(baseline, seen) or _troubles_of(baseline, seen))
    return None if is_other else seen


def apply_learning(
    project: Project, plans: Sequence[LearnPlan], stamp: model.ApprovalNote, dry_run: bool = False
) -> model.Applied:
    """Write the placeholders; the answers kept from failed compares are no longer needed."""
    notes = {("baseline", "approved_by"): stamp.by, ("baseline", "reason"): stamp.reason}
    given = {path: text for path, text in notes.items() if text is not None}
    found = (plan.renewal for plan in plans if plan.renewal)
    renewals = [replace(renewal, values={**renewal.values, **given}) for renewal in found]
    applied = renew(renewals, project.root, dry_run=dry_run)
    for id in () if dry_run else applied.ids:
        drop_pending(project.root, id)
    return applied
