"""The rows that a run adds to the logs of prompt folders: one for the run, and one for each time that a
prompt was sent."""

from collections.abc import Mapping, Sequence

from baselinekit.commands.project import Project
from baselinekit.errors import suggest
from baselinekit.evals import promptlogs
from baselinekit.evals.checks import Prepared
from baselinekit.kinds.table import kind_of
from baselinekit.model.evals import Case, Suite
from baselinekit.model.grades import Attempt, GraderKind
from baselinekit.model.prompts import EvalRow, PromptFolder, UsageRow
from baselinekit.model.results import Result
from baselinekit.structs import Struct, field, replace
from baselinekit.suites.promptfolders import read_folder

ALL = "all"
"""The scope in the row of a run of all cases of a folder."""


class RunFacts(Struct):
    """What a row says about a run besides its results. `now`: when it ended; `graders`: the only kind of
    graders that was asked; `inputs`: by the path of a folder, the inputs that the operator typed;
    `interrupted`: by a signal or by the time limit of its suite."""

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
) -> list[str]:
    """Append a row to the log of each prompt folder of which something was run. Return warnings about rows
    that could not be written; the results of the run stand all the same."""
    warnings = []
    outcomes = {result.id: result for result in results}
    folders = {case.folder.path: case.folder for case in chosen if case.folder}
    for path, row in rows_of(suite.cases, chosen, outcomes, facts).items():
        now, _ = read_folder(project.root, path, folders[path].eval_file)
        if now.content != row.content:  # it is unknown which cases had the old files
            warnings.append(f"the files of {path} were changed while its cases ran: run them again")
            row = replace(row, content=None)
        warnings += promptlogs.note(project.root, path, masked(project, row))
    return warnings


def rows_of(
    cases: Sequence[Case], chosen: Sequence[Case], results: Mapping[str, Result], facts: RunFacts
) -> dict[str, EvalRow]:
    """The row of each folder by its path. `cases`: all cases, of which some were chosen."""
    rows = {}
    for folder in {case.folder.path: case.folder for case in chosen if case.folder}.values():
        folder_cases = [case for case in chosen if _is_of(case, folder)]
        run = [case for case in folder_cases if results[case.id].outcome != "skipped"]
        if not (facts.interrupted or any(_attempted(results[case.id]) for case in folder_cases)):
            continue
        passed = [case for case in run if results[case.id].outcome == "passed"]
        is_whole = len(run) == sum(_is_of(case, folder) for case in cases)
        rows[folder.path] = EvalRow(
            facts.now,
            all_passed=bool(run) and len(passed) == len(folder_cases) and not facts.interrupted,
            total=len(run),
            passed=len(passed),
            failed_cases=[name_in_row(case) for case in run if case not in passed],
            scope=ALL if is_whole and facts.graders is None else [name_in_row(case) for case in run],
            content=folder.content,
            attempts=facts.attempts,
            graders=facts.graders,
            inputs=facts.inputs.get(folder.path, []),
            interrupted=facts.interrupted,
        )
    return rows


def typed_inputs(project: Project, prepared: Sequence[Prepared]) -> dict[str, list[str]]:
    """The inputs that the operator typed, by the path of their prompt folder: they change its cases."""
    names_by_folder: dict[str, set[str]] = {}
    for prepared_case in prepared:
        if prepared_case.case.folder is not None:
            names_by_folder.setdefault(prepared_case.case.folder.path, set()).update(
                project.operator.variables.keys() & prepared_case.names
            )
    return {path: sorted(names) for path, names in names_by_folder.items()}


def misspelt_inputs(project: Project, prepared: Sequence[Prepared]) -> list[str]:
    """Warn about typed inputs that no prompt has, if one has a similar name. Cases that are not of prompts
    may use them as variables, so with such cases there is no warning."""
    if any(prepared_case.case.folder is None for prepared_case in prepared):
        return []
    names = sorted({name for prepared_case in prepared for name in prepared_case.names})
    unknown = (name for name in project.operator.variables if name not in names)
    return [f"no prompt has an input {name!r}: {hint}" for name in unknown if (hint := suggest(name, names))]


def _is_of(case: Case, folder: PromptFolder) -> bool:
    return case.folder is not None and case.folder.path == folder.path


def _attempted(result: Result) -> bool:
    """Whether a case was run, at least in part."""
    return result.case is not None and any(attempt.outcome != "skipped" for attempt in result.case.attempts)


def name_in_row(case: Case) -> str:
    """The name of a case in a row; that of a trigger query is its text."""
    name = case.name or case.id
    return f"triggering: {name}" if is_query(case) else name


def is_query(case: Case) -> bool:
    """Whether a case of a prompt folder is a query that should, or should not, trigger the prompt."""
    return case.folder is not None and kind_of(case.recipe).asks_nobody


def masked(project: Project, row: EvalRow) -> EvalRow:
    """The row with its names masked: they come from the checkout, but everything written is masked."""
    mask = project.redactor.mask_value
    return replace(row, failed_cases=mask(row.failed_cases), scope=mask(row.scope))


def note_use(project: Project, case: Case, attempt: Attempt, now: str) -> list[str]:
    """Append a row for an attempt that sent the prompt of a folder. It is written at once, so that it is
    there even if the run is killed."""
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
    return promptlogs.note(project.root, case.folder.path, row)
