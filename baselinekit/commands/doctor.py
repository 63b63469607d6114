"""doctor: check every file, rule and recipe without replaying anything, and show how one baseline is read;
and orphans: list what nothing needs any more."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from shutil import which
from typing import Literal

from baselinekit.clients.programs.git import Git
from baselinekit.commands.history import Part
from baselinekit.commands.judging import check, prepare, target_of
from baselinekit.commands.loading import load, load_partly, locate_each_problem
from baselinekit.commands.project import CaptureEnvironment, Project, as_variant
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused, internal_error
from baselinekit.kinds.settings import Clients
from baselinekit.kinds.table import kind_of
from baselinekit.learning.varying import evidence_for
from baselinekit.matching.dispatch import compile_baseline
from baselinekit.model.baselines import Baseline
from baselinekit.model.recipes import Config
from baselinekit.model.values import ABSENT, Path
from baselinekit.placeholders.grammar import has_marker
from baselinekit.secrets.declared import SHORTEST_WITHIN
from baselinekit.store import atomic, records
from baselinekit.store.project import place_in_config
from baselinekit.store.results import pending_ids
from baselinekit.store.writing import large_outputs, move_outputs
from baselinekit.structs import Struct
from baselinekit.values.paths import of_any_row, render
from baselinekit.values.places import places

USUAL = Config()
ASKED_OF_OPERATOR = ("BK310", "BK501", "BK504")
"""No base_url, a variable without a value: not wrong in a file that leaves these to the operator on
purpose."""


class Findings(Struct):
    """`problems` stop a compare or a run; `notes` are what it needs from the operator: a variable, a
    permission. `shape`: problems of prompt folders that do not stop a run. `cases`, `gates` and `prompts`:
    how many of the evals were checked."""

    checked: int
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]
    drafts: int
    cases: int = 0
    gates: int = 0
    prompts: int = 0
    shape: tuple[Problem, ...] = ()


def check_baselines(project: Project, paths: Sequence[str], clients: Clients) -> Findings:
    """Collect everything that a compare would report before its first request, divided by who can fix it."""
    baselines, broken = load_partly(project, paths)
    problems = [*(broken.problems if broken is not None else ())]
    notes = [*([] if paths else _missing_folders(project))]
    found = [(baseline.source, [*find_problems(project, baseline, clients)]) for baseline in baselines]
    to_locate = [(source, [problem for problem, _ in pairs]) for source, pairs in found]
    for (_, pairs), placed in zip(found, locate_each_problem(to_locate, project.root), strict=True):
        for (_, is_note), problem in zip(pairs, placed, strict=True):
            (notes if is_note else problems).append(problem)
    drafts = sum(baseline.baseline is None for baseline in baselines)
    return Findings(len(baselines), tuple(problems), tuple(notes), drafts)


def _missing_folders(project: Project) -> list[Problem]:
    """Return the folders that the configuration names and that do not exist: their name may be misspelt, or
    nothing may be captured yet. Default folders need not exist."""
    missing = []
    for key, folders in (("baselines", project.folders), ("evals", project.eval_folders)):
        if getattr(project.config, key) != getattr(USUAL, key):
            for folder in folders:
                if not os.path.isdir(os.path.join(project.root, folder)):
                    hint = "check the name; the first capture makes the one of baselines"
                    missing.append(Problem("BK111", f"there is no folder {folder}", hint, at=(key,)))
    return _placed(project, missing)


def _placed(project: Project, problems: list[Problem]) -> list[Problem]:
    """Return problems with their places in the configuration, if it is a file that is here."""
    placed = [problem for problem in problems if problem.at is not None]
    if not placed or project.config_file is None or project.operator.config_from is not None:
        return problems
    others = [problem for problem in problems if problem.at is None]
    return [*place_in_config(project.root, project.config_file, placed), *others]


class MovedOutput(Struct):
    """An output that was moved: its baseline's id and file, the new file and its size."""

    id: str
    file: str
    output_file: str
    size: int


def move_large_outputs(project: Project, paths: Sequence[str]) -> tuple[list[MovedOutput], list[Problem]]:
    """Move the large outputs to files beside their file, as `capture` writes them; and return why others
    stay."""
    moved: list[MovedOutput] = []
    problems: list[Problem] = []
    for baseline in load_partly(project, paths)[0]:
        file = baseline.source.file
        try:
            written = move_outputs(project.root, baseline, project.config.inline_limit)
            moved += [MovedOutput(baseline.id, file, path, size) for path, size in written]
        except BaselinekitError as error:
            problems += [problem.placed(Place(file)) for problem in error.problems]
    return moved, problems


def find_short_secrets(project: Project) -> list[Problem]:
    """Return the secrets that are masked only as whole values, with the place of their declaration."""
    problems = []
    for name, secret in sorted(project.scope.secrets.items()):
        if 0 < len(secret.value) < SHORTEST_WITHIN:
            message = f"the secret {name} has fewer than {SHORTEST_WITHIN} characters"
            message += ", so it is masked only as a whole value and not inside a longer text"
            at: Path | None = ("variables", name) if name in project.config.variables else None
            hint = f"use a secret of {SHORTEST_WITHIN} characters or more"
            problems.append(Problem("BK510", message, hint, at=at))
    return _placed(project, problems)


def find_problems(project: Project, baseline: Baseline, clients: Clients) -> Iterator[tuple[Problem, bool]]:
    """Yield the problems of one baseline, and whether each is a note."""
    if baseline.baseline is None:
        hint = f"baselinekit capture {baseline.source.file}"
        yield Problem("BK223", "no stored output yet", hint), True
    else:
        if any(large_outputs(baseline.baseline, project.config.inline_limit)):
            message = f"the output of {baseline.id} is large: it is read many times faster from a file beside"
            yield Problem("BK116", message, "baselinekit doctor --fix moves it", at=("baseline",)), True
        stored = baseline.baseline  # in another environment another variant is used
        outputs = [baseline] if stored.output is not ABSENT else []
        for variant in (*outputs, *(as_variant(baseline, n) for n in range(len(stored.variants)))):
            try:
                compile_baseline(variant, project.words_of(baseline))
            except Exception as error:  # an unexpected one is a problem of this baseline
                problems = internal_error(error).problems
                yield from ((problem, False) for problem in problems if problem.code not in ASKED_OF_OPERATOR)
    try:
        check(baseline, project.setting_of(baseline, clients))
    except BaselinekitError as error:
        for problem in error.problems:
            yield problem, isinstance(error, Refused) or problem.code in ASKED_OF_OPERATOR


def describe_baseline(project: Project, baseline: Baseline, clients: Clients) -> Iterator[str]:
    """Describe how one baseline is read: what it asks, its arrays, where its rules apply, its
    placeholders."""
    try:
        baseline, matcher = prepare(CaptureEnvironment(project, clients), baseline)
    except InvalidInput as error:
        if error.problems[0].code != "BK223":
            raise
        yield error.problems[0].with_hint
        return
    stored = matcher.known
    title = f": {baseline.name}" if baseline.name else ""
    yield f"{baseline.id}{title}"
    yield f"  file      {baseline.source.file}"
    yield f"  asks      {target_of(baseline.current, project)}"
    if stored.captured_at:
        yield f"  captured  {stored.captured_at}"
    yield f"  type      {matcher.type}"
    for path, mode in matcher.arrays.items():
        yield f"  array     {render(path)}: {mode}"
    applied = {rule.at for rule in matcher.hits}
    for at, rule in {rule.at: rule for rule in matcher.path_rules}.items():
        below = " below body" if rule.pattern.segments[:1] == ("body",) and not rule.pattern.absolute else ""
        unused = "" if at in applied else "   (matches nothing in the stored output)"
        yield f"  rule      {rule.kind}: {rule.text}{below}{unused}"
    folded: dict[tuple[str, str], list[Path]] = {}
    for path, text in places(stored.output):
        if isinstance(text, str) and has_marker(text):
            folded.setdefault((render(of_any_row(path)), text), []).append(path)
    for (where, text), paths in folded.items():
        yield f"  in        {where}: {text}" + (f"   ({len(paths)} times)" if len(paths) > 1 else "")
        if evidence := next(filter(None, (evidence_for(path, stored.learnt) for path in paths)), None):
            yield f"            learnt of {evidence}"


# Orphans: baselines whose recipe refers to something that is gone, files without a baseline, and baselines
# that every run skips. Nothing is reported about what could not be checked, such as baselines that the runs
# did not select; a file that cannot be read is an error.


Kind = Literal["baseline", "output", "pending", "unrun"]

_MISSING: Mapping[str, str] = {
    "BK320": "does not exist",
    "BK324": "no skill is called",
    "BK325": "does not exist",
    "BK403": "is not named in the configuration",
    "BK601": "no model is called",
}
"""For each code, the words of its message when the thing that a recipe refers to does not exist. Other
problems of the same code can be fixed."""


class Orphan(Struct):
    """`file` is relative to the root. `alone`: nothing else is in the file, so that it can be removed."""

    kind: Kind
    id: str
    file: str
    why: str
    alone: bool = True


class Orphans(Struct):
    """`notes`: why nothing is reported about others."""

    found: tuple[Orphan, ...]
    notes: tuple[str, ...] = ()


def find_orphans(project: Project, clients: Clients, parts: Sequence[Part] = ()) -> Orphans:
    """Find everything in the project that nothing needs any more; with result files, also what all of them
    skip."""
    baselines = load(project, ())
    with suppress(BaselinekitError):  # no git, or no repository
        if Git(clients.execute, project.root).left_out():
            message = "what this sparse checkout leaves out is not an orphan, and looks like one"
            return Orphans((), (f"{message}: git sparse-checkout disable",))
    orphans = [
        *missing_sources(project, baselines, clients),
        *unnamed_outputs(project, baselines),
        *(
            Orphan("pending", id, f"{atomic.STATE_FOLDER}/pending/{id}.json", "there is no such baseline")
            for id in sorted(pending_ids(project.root) - {baseline.id for baseline in baselines})
        ),
    ]
    results = [result for _, report in parts for result in report.results]
    # one that a run did not come to was not skipped
    ran = {one.id for one in results if one.outcome != "skipped" or one.verdict or one.code}
    skipped = {one.id: one.reason for one in results if one.id not in ran}
    known_ids = {orphan.id for orphan in orphans if orphan.kind == "baseline"}
    orphans += [
        Orphan("unrun", one.id, one.source.file, f"every run skips it: {skipped[one.id]}", False)
        for one in baselines
        if one.id in skipped and one.id not in known_ids
    ]
    return Orphans(tuple(orphans))


def missing_sources(project: Project, baselines: Sequence[Baseline], clients: Clients) -> Iterator[Orphan]:
    """Yield the baselines whose recipe refers to something missing."""
    counts = Counter(baseline.source.file for baseline in baselines)
    for baseline in baselines:
        try:
            check(baseline, project.setting_of(baseline, clients))
        except BaselinekitError as error:
            gone = next((problem for problem in error.problems if is_gone(problem, baseline)), None)
            if gone is not None:
                file = baseline.source.file
                yield Orphan("baseline", baseline.id, file, gone.message, counts[file] == 1)


def is_gone(problem: Problem, baseline: Baseline) -> bool:
    """Whether the problem means that something is gone. A program that is not named may be allowed in another
    way: it is gone when it is not installed."""
    if problem.code not in _MISSING or _MISSING[problem.code] not in problem.message:
        return False
    family, name = kind_of(baseline.current).asks(baseline.current)
    return family != "commands" or ("/" not in name and which(name) is None)


def unnamed_outputs(project: Project, baselines: Sequence[Baseline]) -> Iterator[Orphan]:
    """Yield the files beside baselines that are named like outputs, and that no baseline refers to."""
    named_paths = set()
    for baseline in baselines:
        for file in baseline.output_files:
            root, name = records.output_location(project.root, baseline.source.file, file)
            named_paths.add(os.path.realpath(os.path.join(root, name)))
    for folder in project.folders:
        for path, inside, files in os.walk(os.path.join(project.root, folder)):
            inside[:] = sorted(name for name in inside if not name.startswith("."))
            for name in sorted(files):
                if records.MARK in name and os.path.realpath(os.path.join(path, name)) not in named_paths:
                    file = os.path.relpath(os.path.join(path, name), project.root)
                    yield Orphan("output", name.split(records.MARK)[0], file, "no baseline refers to it")
