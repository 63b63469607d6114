"""What a run leaves in the folders of the prompts whose cases it ran: a row for the run, and one for each
time that a prompt was sent."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from baselinekit.errors import nearest
from baselinekit.evals.checks import Prepared
from baselinekit.frozen import frozen
from baselinekit.kinds.table import kind_of
from baselinekit.model.evals import Case, Suite
from baselinekit.model.grades import Attempt, GraderKind
from baselinekit.model.prompts import EvalRow, PromptFolder, UsageRow
from baselinekit.model.results import Result
from baselinekit.store import promptlogs
from baselinekit.store.atomic import Hurry
from baselinekit.suites.promptfolders import read_folder
from baselinekit.workflow.project import Project

ALL = "all"
"""The scope of a run of all cases of a folder."""


@frozen
class RunFacts:
    """What a row says of a run besides its results. `now`: when it ended; `graders`: the kind of graders that
    alone was asked; `inputs`: by the path of a folder, those that the operator typed; `interrupted`: by a
    signal or by the time limit of its suite."""

    now: str
    attempts: int = 1
    graders: GraderKind | None = None
    inputs: Mapping[str, list[str]] = field(default_factory=dict)
    interrupted: bool = False


def note_runs(
    project: Project,
    suite: Suite,
    chosen: Sequence[Case],
    results: Sequence[Result],
    facts: RunFacts,
    hurry: Hurry | None = None,
) -> list[str]:
    """Append a row to the log of each prompt folder of which something was run. Given back is what could not
    be noted: whatever a run came to, it stands."""
    told = []
    outcomes = {result.id: result for result in results}
    folders = {case.folder.path: case.folder for case in chosen if case.folder}
    for path, row in rows_of(suite.cases, chosen, outcomes, facts).items():
        now, _ = read_folder(project.root, path, folders[path].eval_file)
        if now.content != row.content:  # nobody knows which cases had the old files, and which the new ones
            told.append(f"the files of {path} were changed while its cases ran: run them again")
            row = replace(row, content=None)
        told += promptlogs.note_evals(project.root, path, masked(project, row), hurry)
    return told


def rows_of(
    cases: Sequence[Case], chosen: Sequence[Case], results: Mapping[str, Result], facts: RunFacts
) -> dict[str, EvalRow]:
    """The row of each folder by its path. `cases`: all that there are, of which some were chosen."""
    rows = {}
    for folder in {case.folder.path: case.folder for case in chosen if case.folder}.values():
        wanted = [case for case in chosen if _is_of(case, folder)]
        run = [case for case in wanted if results[case.id].outcome != "skipped"]
        if not any(_attempted(results[case.id]) for case in wanted):
            continue
        passed = [case for case in run if results[case.id].outcome == "passed"]
        whole = len(run) == sum(_is_of(case, folder) for case in cases)
        rows[folder.path] = EvalRow(
            facts.now,
            all_passed=bool(run) and len(passed) == len(wanted) and not facts.interrupted,
            total=len(run),
            passed=len(passed),
            failed_cases=[name_in_row(case) for case in run if case not in passed],
            scope=ALL if whole and facts.graders is None else [name_in_row(case) for case in run],
            content=folder.content,
            attempts=facts.attempts,
            graders=facts.graders,
            inputs=facts.inputs.get(folder.path, []),
            interrupted=facts.interrupted,
        )
    return rows


def typed_inputs(project: Project, prepared: Sequence[Prepared]) -> dict[str, list[str]]:
    """By the path of a folder, those of its inputs that the operator typed: its cases are others then."""
    found: dict[str, set[str]] = {}
    for one in prepared:
        if one.case.folder is not None:
            found.setdefault(one.case.folder.path, set()).update(project.typed.keys() & one.names)
    return {path: sorted(names) for path, names in found.items()}


def misspelt_inputs(project: Project, prepared: Sequence[Prepared]) -> list[str]:
    """What the operator typed and nobody takes, where an input is called almost so. Other cases than those of
    prompts may use it as a variable."""
    if any(one.case.folder is None for one in prepared):
        return []
    names = sorted({name for one in prepared for name in one.names})
    unknown = (name for name in project.typed if name not in names)
    return [f"no prompt has an input {name!r}: {hint}" for name in unknown if (hint := nearest(name, names))]


def _is_of(case: Case, folder: PromptFolder) -> bool:
    return case.folder is not None and case.folder.path == folder.path


def _attempted(result: Result) -> bool:
    """Whether anything of a case was run, if not all of it."""
    return result.case is not None and any(one.outcome != "skipped" for one in result.case.attempts)


def name_in_row(case: Case) -> str:
    """A case by its name, a query by its text: it has no other name."""
    name = case.name or case.id
    return f"triggering: {name}" if kind_of(case.recipe).asks_nobody else name


def masked(project: Project, row: EvalRow) -> EvalRow:
    """Names are texts of the checkout; whatever is written is searched for secrets all the same."""
    mask = project.redactor.mask_value
    return replace(row, failed_cases=mask(row.failed_cases), scope=mask(row.scope))


def note_use(
    project: Project, case: Case, attempt: Attempt, now: str, hurry: Hurry | None = None
) -> list[str]:
    """A row for an attempt that sent the prompt of a folder, as soon as it is made: a run that is killed has
    used the prompt as often as it did."""
    if case.folder is None or not attempt.sent:
        return []
    model = attempt.environment.get("model")
    row = UsageRow(
        now,
        sent=True,
        verified=attempt.verified,
        case=project.redactor.mask(name_in_row(case)),
        model=None if model is None else str(model),
        content=case.folder.content,
    )
    return promptlogs.note_use(project.root, case.folder.path, row, hurry)
