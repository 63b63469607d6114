"""Which eval cases a run is about, and which suite they come from."""

import os
from collections.abc import Sequence

from baselinekit.commands.loading import check_configuration, relative_to_root
from baselinekit.commands.project import Project
from baselinekit.commands.selection import Selection, test_of
from baselinekit.errors import InvalidInput, NothingSelected, Problem
from baselinekit.files.languages import LINES, SUFFIXES
from baselinekit.graders.graders import row_of
from baselinekit.kinds.table import kind_of
from baselinekit.model.evals import Case, Suite
from baselinekit.model.grades import Grader, GraderKind
from baselinekit.model.results import Coverage
from baselinekit.structs import replace
from baselinekit.suites.dialect import error_for
from baselinekit.suites.loading import load_everything, load_suite
from baselinekit.suites.promptfolders import find_folder, folders_below
from baselinekit.values.texts import list_first

_MOST_NAMED = 10
EVALS, PROMPTS = "evals", "prompts"
"""The default folders of evals and of prompt folders."""


class Choice(Selection):
    """Which cases are chosen. `categories`: the kind of a case (capability, regression) or its category;
    `grader`: only graders of this kind are asked, and every case needs one; `cases`: only these names."""

    categories: Sequence[str] = ()
    grader: GraderKind | None = None
    cases: Sequence[str] = ()

    def coverage(self, paths: Sequence[str], left_out: int) -> Coverage:
        own = {"cases": [*self.cases], "categories": [*self.categories], "grader_type": self.grader}
        chosen = super().coverage(paths, left_out).chosen
        return Coverage(chosen | {name: value for name, value in own.items() if value}, left_out)


def choose(cases: Sequence[Case], choice: Choice) -> list[Case]:
    """Return the chosen cases in their order, with the chosen graders. NothingSelected if there are none: a
    run without cases must not pass."""
    known_names = {name for name in map(name_of_case, cases) if name is not None}
    unknown = [name for name in choice.cases if name not in known_names]
    if cases and unknown:
        hint = f"there are {list_first(sorted(known_names), _MOST_NAMED)}"
        raise NothingSelected(Problem("BK509", f"there is no case {', '.join(map(repr, unknown))}", hint))
    is_selected = test_of(choice)
    chosen = [
        case
        for case in cases
        if (not choice.cases or name_of_case(case) in choice.cases)
        and (not choice.categories or {*choice.categories} & {case.kind, case.category})
        and is_selected(case)
    ]
    if not chosen:
        raise NothingSelected(Problem("BK509", *_describe_empty_selection(cases, choice)))
    return chosen if choice.grader is None else graded_by(chosen, choice.grader)


def is_query(case: Case) -> bool:
    """Whether a case of a prompt folder is a query that should, or should not, trigger the prompt."""
    return case.folder is not None and kind_of(case.recipe).asks_nobody


def name_of_case(case: Case) -> str | None:
    """The name by which --case chooses a case: its name, else the last part of its id. None for the trigger
    queries of a prompt folder, which do not use the prompt."""
    return None if is_query(case) else case.name or case.id.rpartition("/")[2]


def _describe_empty_selection(cases: Sequence[Case], choice: Choice) -> tuple[str, str]:
    if not cases:
        return "there are no eval cases here", "write one: `baselinekit explain BK705` shows how it looks"
    if choice.among is not None and not choice.among & {case.id for case in cases}:
        return "all of these passed when they were last run", "leave out --lf to run them all"
    return f"none of the {len(cases):,} cases is selected", "baselinekit run --list shows them all"


def graded_by(cases: Sequence[Case], kind: GraderKind) -> list[Case]:
    """The cases with only their graders of one kind; a composite grader is kept if all its parts are."""

    def is_of_kind(grader: Grader) -> bool:
        parts = row_of(grader).parts(grader.method)
        return all(map(is_of_kind, parts)) if parts else grader.kind == kind

    without = [case.id for case in cases if not any(map(is_of_kind, case.graders))]
    if without:
        message = f"no {kind} grader in {list_first(without, _MOST_NAMED)}"
        raise InvalidInput(Problem("BK508", message, "add one to each, or leave these out by -k or --tag"))
    return [replace(case, graders=tuple(filter(is_of_kind, case.graders))) for case in cases]


def with_borderline(suite: Suite, passes: bool) -> Suite:
    """The suite with the operator's choice whether borderline cases pass, which overrides the cases."""
    rules = (replace(case.pass_rule, borderline_passes=passes) for case in suite.cases)
    cases = zip(suite.cases, rules, strict=True)
    return replace(suite, cases=tuple(replace(case, pass_rule=rule) for case, rule in cases))


# The suite of a run: the one that is named, or everything that is found below some paths.


def load(project: Project, paths: Sequence[str], suite: str | None, keep_going: bool = False) -> Suite:
    """Load a suite. All errors of all files are raised at once; with `keep_going` the suite has the cases of
    the files that can be read, and lists the problems of the others. Without paths, everything below `evals:`
    of the configuration is loaded; a suite file among the files found gives the settings."""
    if suite is not None and paths:
        message = "a suite names its own files, so --suite and paths cannot be combined"
        raise InvalidInput(Problem("BK508", message, "leave one of them out"))
    if suite is not None:
        return load_suite(resolve_path(project, suite), project.root, project.fetch_file, project.targets)
    places = [resolve_path_or_prompt(project, path) for path in paths] or folders(project)
    listed = ", ".join(f"{name.rstrip('/')}/" for name in project.eval_folders)
    if not places:
        hint = "create evals/eval-suite.yaml with baselinekit init --eval, or name a suite: --suite FILE"
        raise NothingSelected(Problem("BK509", f"there is no folder {listed} here", hint))
    fetch, targets = project.fetch_file, project.targets
    found, loading = load_everything(places, project.root, fetch_file=fetch, targets=targets)
    if problems := loading.all_problems():
        broken = {problem.place.file for problem in problems if problem.place}
        readable = tuple(case for case in found.cases if keep_going and case.source.file not in broken)
        if not readable:
            raise error_for(problems)(*problems)
        found = replace(found, cases=readable, unread=tuple(problems))
    if not found.cases:
        hint = "a case has `input`, `expected` and `grader`, or is in the eval.yml of a prompt"
        message = f"there is no eval case in {', '.join(paths) or listed}"
        raise NothingSelected(Problem("BK509", message, f"{hint}: docs/eval-files.md shows one"))
    return found


def resolve_path_or_prompt(project: Project, path: str) -> str:
    """A path of the command line, from the root. A word that is not a path may be the id or alias of a
    prompt: then it is the folder of that prompt."""
    relative = resolve_path(project, path)
    is_word = not (os.sep in path or path.endswith((*SUFFIXES, LINES)))
    if not is_word or os.path.lexists(os.path.join(project.root, relative)):
        return relative
    folder = find_folder(project.root, path)
    return relative if folder is None else folder


def resolve_path(project: Project, path: str) -> str:
    """A path of the command line, from the root. A path outside of the project is absolute; only the operator
    may name one."""
    check_configuration(project, [os.path.join(project.cwd, path)])
    relative = relative_to_root(os.path.join(project.cwd, path), project.root)
    is_outside = relative.split(os.sep)[0] == os.pardir
    return os.path.normpath(os.path.join(project.root, relative)) if is_outside else relative


def folders(project: Project) -> list[str]:
    """The existing folders in which evals are looked for by default: those of the configuration, else
    `evals/` and the prompt folders below `prompts/`."""
    existing = [name for name in project.eval_folders if os.path.isdir(os.path.join(project.root, name))]
    if project.config.evals != EVALS or not os.path.isdir(os.path.join(project.root, PROMPTS)):
        return existing
    return [*existing, *folders_below(project.root, [PROMPTS])]
