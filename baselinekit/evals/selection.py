"""Which eval cases a run is about, and the suite that is meant."""

import os
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from baselinekit.documents.languages import LINES, SUFFIXES
from baselinekit.errors import InvalidInput, NothingSelected, Problem, nearest
from baselinekit.frozen import frozen
from baselinekit.grade.graders import row_of
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Baseline, Metadata
from baselinekit.model.evals import Case, Suite
from baselinekit.model.grades import Grader, GraderKind
from baselinekit.model.recipes import Execution
from baselinekit.model.results import Coverage
from baselinekit.suites.loading import load_evals, load_suite
from baselinekit.suites.promptfolders import find_folder, folders_below, names_of_all
from baselinekit.workflow.loading import check_configuration, from_root
from baselinekit.workflow.project import Project
from baselinekit.workflow.selection import expression

_MOST_NAMED = 10
EVALS, PROMPTS = "evals", "prompts"
"""Where evals are looked for unless the configuration says so, and prompt folders too."""


@frozen
class Choice:
    """`categories`: the kind of a case (capability, regression) or its category. `grader`: only graders of
    this kind are asked, and every case needs one. `among`: only these ids, those that did not pass last.
    `cases`: only these, each by its name."""

    categories: Sequence[str] = ()
    tags: Sequence[str] = ()
    expression: str | None = None
    grader: GraderKind | None = None
    ids: Sequence[str] = ()
    exclude_tags: Sequence[str] = ()
    among: frozenset[str] | None = None
    cases: Sequence[str] = ()

    def coverage(self, paths: Sequence[str], left_out: int) -> Coverage:
        stated = {
            "paths": list(paths),
            "ids": list(self.ids),
            "cases": list(self.cases),
            "categories": list(self.categories),
            "tags": list(self.tags),
            "exclude_tags": list(self.exclude_tags),
            "expression": self.expression,
            "grader_type": self.grader,
            "last_failed": self.among is not None,
        }
        return Coverage({name: value for name, value in stated.items() if value}, left_out)


def choose(cases: Sequence[Case], wanted: Choice) -> list[Case]:
    """The chosen ones, in their order, with the graders that are to be asked. None at all is an error: what
    cannot fail is no pass."""
    named = _named(cases, wanted.cases) if wanted.cases and cases else frozenset()
    chosen = [
        case
        for case in cases
        if (not wanted.cases or case.id in named)
        and (not wanted.categories or {*wanted.categories} & {case.kind, case.category})
        and (not wanted.ids or any(fnmatchcase(case.id, glob) for glob in wanted.ids))
        and not {*wanted.exclude_tags} & {*case.tags}
        and (wanted.among is None or case.id in wanted.among)
        and (not wanted.tags or {*wanted.tags} & {*case.tags})
    ]
    if wanted.expression:
        mentions = expression(wanted.expression)
        told = [  # as the grammar of -k looks at what it chooses from
            Baseline(case.id, case.recipe, case.name, metadata=Metadata(tags=list(case.tags)))
            for case in chosen
        ]
        chosen = [case for case, baseline in zip(chosen, told, strict=True) if mentions(baseline)]
    if not chosen:
        raise NothingSelected(Problem("BK509", *_nothing(cases, wanted)))
    return chosen if wanted.grader is None else graded_by(chosen, wanted.grader)


def name_of_case(case: Case) -> str | None:
    """By what --case chooses a case: its name, else its own part of the id. None for the queries of a prompt
    folder, which ask nothing of the prompt."""
    if case.folder is not None and kind_of(case.recipe).asks_nobody:
        return None
    return case.name or case.id.rpartition("/")[2]


def _named(cases: Sequence[Case], names: Sequence[str]) -> frozenset[str]:
    """The ids of the cases with these names. Who asks for one that is not there is told so, whatever others
    are."""
    known = {name: None for name in map(name_of_case, cases) if name is not None}
    unknown = [name for name in names if name not in known]
    if unknown:
        listed = ", ".join([*known][:_MOST_NAMED])
        hint = f"there are {listed}" if 0 < len(known) <= _MOST_NAMED else "run --list shows the cases"
        problems = (
            Problem("BK509", f"there is no case {name!r}", nearest(name, known) or hint) for name in unknown
        )
        raise NothingSelected(*problems)
    return frozenset(case.id for case in cases if name_of_case(case) in names)


def _nothing(cases: Sequence[Case], wanted: Choice) -> tuple[str, str]:
    if not cases:
        return "there are no eval cases here", "write one: `baselinekit explain BK705` shows how it looks"
    if wanted.among is not None and not wanted.among & {case.id for case in cases}:
        return "all of these passed when they were last run", "leave out --lf to run them all"
    of = f"none of the {len(cases):,} cases is selected"
    if wanted.ids and not any(fnmatchcase(case.id, glob) for case in cases for glob in wanted.ids):
        near = nearest(wanted.ids[0], [case.id for case in cases])
        return of, near or "baselinekit run --list shows the cases"
    for given, known in (
        (wanted.categories, {word for case in cases for word in (case.kind, case.category) if word}),
        (wanted.tags, {tag for case in cases for tag in case.tags}),
    ):
        if given and not {*given} & known:
            listed = ", ".join(sorted(known)) or "none"
            return of, nearest(given[0], known) or f"there are {listed}"
    if wanted.ids or wanted.exclude_tags or wanted.cases or wanted.among is not None:
        return of, "no case matches all the selections: leave one out"
    return of, "-k matches words of the id, the name or a tag"


def graded_by(cases: Sequence[Case], kind: GraderKind) -> list[Case]:
    """The cases with their graders of one kind; of those that are made of others, the ones whose parts all
    are."""

    def is_of_kind(grader: Grader) -> bool:
        parts = row_of(grader).parts(grader.method)
        return all(map(is_of_kind, parts)) if parts else grader.kind == kind

    without = [case.id for case in cases if not any(map(is_of_kind, case.graders))]
    if without:
        more = f" and {len(without) - _MOST_NAMED:,} more" if len(without) > _MOST_NAMED else ""
        what = f"no {kind} grader in {', '.join(without[:_MOST_NAMED])}{more}"
        hint = "add one to each, or leave these out by -k or --tag"
        raise InvalidInput(Problem("BK721", what, hint))
    return [replace(case, graders=tuple(filter(is_of_kind, case.graders))) for case in cases]


def with_borderline(suite: Suite, passes: bool) -> Suite:
    """The suite with what the operator says of borderline cases, which goes before what they say."""
    cases = (
        replace(case, pass_rule=replace(case.pass_rule, borderline_passes=passes)) for case in suite.cases
    )
    return replace(suite, cases=tuple(cases))


# The suite that a run is about: the one that is named, or everything that is found below some paths.


def load(project: Project, paths: Sequence[str], suite: str | None, target: Execution | None = None) -> Suite:
    """All errors of all files at once. Without paths it is everything below `evals:` of the configuration; a
    suite among what is found says how it is run."""
    if suite is not None and paths:
        what = "a suite names its own files, so --suite and paths cannot be combined"
        raise InvalidInput(Problem("BK508", what, "leave one of them out"))
    if suite is not None:
        return load_suite(
            named_by_operator(project, suite),
            project.root,
            target,
            fetch_file=project.fetch_file,
            targets=project.targets,
        )
    named = [found_by_operator(project, path) for path in paths] or folders(project)
    if not named:
        hint = "create evals/eval-suite.yaml with baselinekit init --eval, or name a suite: --suite FILE"
        raise NothingSelected(Problem("BK509", f"there is no folder {_shown(project)} here", hint))
    found = load_evals(named, project.root, target, fetch_file=project.fetch_file, targets=project.targets)
    if not found.cases:
        where = ", ".join(paths) or _shown(project)
        if paths and folders_below(project.root, named):
            hint = "a prompt's cases stand in its eval.yml: docs/eval-files.md shows one"
            raise NothingSelected(Problem("BK509", f"there is no eval case in {where}", hint))
        hint = "an eval case has `input`, `expected` and `grader`: docs/evals.md shows one"
        raise NothingSelected(Problem("BK509", f"there is no eval case in {where}", hint))
    return found


def found_by_operator(project: Project, path: str) -> str:
    """A path of the command line, or the folder of the prompt that has this id or alias: a word that is no
    path may be one."""
    named = named_by_operator(project, path)
    is_word = not (os.sep in path or path.endswith((*SUFFIXES, LINES)))
    if not is_word or os.path.lexists(os.path.join(project.root, named)):
        return named
    folder = find_folder(project.root, path)
    if folder is None and (near := nearest(path, names_of_all(project.root))):
        what = f"there is no file or folder {path}, and no prompt of this id or alias"
        raise InvalidInput(Problem("BK111", what, near))
    return named if folder is None else folder


def named_by_operator(project: Project, path: str) -> str:
    """A path of the command line from the root; one that stands elsewhere as it is, which nobody else may
    name."""
    check_configuration(project, [os.path.join(project.cwd, path)])
    found = from_root(os.path.join(project.cwd, path), project.root)
    outside = found.split(os.sep)[0] == os.pardir
    return os.path.normpath(os.path.join(project.root, found)) if outside else found


def folders(project: Project) -> list[str]:
    """Where evals are looked for when nobody names a place, as far as it is there: what the configuration
    says, else `evals/` and the prompt folders below `prompts/`."""
    stated = project.config.evals
    folders = [stated] if isinstance(stated, str) else stated
    known = [folder for folder in folders if os.path.isdir(os.path.join(project.root, folder))]
    if stated != EVALS or not os.path.isdir(os.path.join(project.root, PROMPTS)):
        return known
    return [*known, *folders_below(project.root, [PROMPTS])]


def _shown(project: Project) -> str:
    stated = project.config.evals
    return ", ".join(f"{each.rstrip('/')}/" for each in ([stated] if isinstance(stated, str) else stated))
