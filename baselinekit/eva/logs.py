"""The logs in a prompt folder: a line for each run of its cases (`.eval.jsonl`) and for each time that the
prompt was sent (`.usage.jsonl`).

A row is one line, appended by one write under the lock of the file and synced, so a partial row is never
followed by another on the same line. Lines of other tools are read too: unknown keys are ignored, and a line
that cannot be read is reported with its place and does not affect others."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, Place, Problem, suggest
from baselinekit.eva.folders import read_folder
from baselinekit.files import jsontext
from baselinekit.kinds.table import kind_of
from baselinekit.model.evals import Case, Suite
from baselinekit.model.grades import Attempt, GraderKind
from baselinekit.model.prompts import EvalRow, PromptFolder, UsageRow
from baselinekit.model.results import Result
from baselinekit.model.values import Json
from baselinekit.schema import read_as
from baselinekit.store import atomic
from baselinekit.store.project import MAX_OUTPUT_BYTES, check_open_file, read, resolve
from baselinekit.structs import Struct, asdict, field, replace

EVALS, USES = ".eval.jsonl", ".usage.jsonl"
ALL = "all"
"""The scope in the row of a run of all cases of a folder."""

Row = TypeVar("Row", EvalRow, UsageRow)

_FILES: dict[type[Struct], tuple[str, str]] = {EvalRow: (EVALS, "this run"), UsageRow: (USES, "this use")}
_OPTIONAL = ("graders", "inputs", "interrupted")
"""Keys of a row that are written only if they have a value."""


# What a run adds: a row for itself, and one for each time that a prompt was sent.


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
    project: Project, suite: Suite, chosen: Sequence[Case], results: Sequence[Result], facts: RunFacts
) -> list[str]:
    """Append a row to the log of each prompt folder of which something was run. Return warnings about rows
    that could not be written; the results of the run count nevertheless."""
    warnings = []
    outcomes = {result.id: result for result in results}
    mask = project.redactor.mask_value  # names come from the checkout, but everything written is masked
    for folder in {case.folder.path: case.folder for case in chosen if case.folder}.values():
        row = _row_of_run(folder, suite.cases, chosen, outcomes, facts)
        if row is None:
            continue
        now, _ = read_folder(project.root, folder.path, folder.eval_file)
        if now.content != row.content:  # it is unknown which cases had the old files
            warnings.append(f"the files of {folder.path} were changed while its cases ran: run them again")
            row = replace(row, content=None)
        row = replace(row, failed_cases=mask(row.failed_cases), scope=mask(row.scope))
        warnings += note(project.root, folder.path, row)
    return warnings


def _row_of_run(
    folder: PromptFolder,
    cases: Sequence[Case],
    chosen: Sequence[Case],
    results: Mapping[str, Result],
    facts: RunFacts,
) -> EvalRow | None:
    """Return the row of a folder; None if nothing of it was run. `cases`: all cases, of which some were
    chosen."""
    own, own_chosen = (
        [case for case in some if case.folder is not None and case.folder.path == folder.path]
        for some in (cases, chosen)
    )
    attempted = [
        attempt.outcome != "skipped"
        for case in own_chosen
        if (made := results[case.id].case) is not None
        for attempt in made.attempts
    ]
    if not (facts.interrupted or any(attempted)):
        return None
    run = [case for case in own_chosen if results[case.id].outcome != "skipped"]
    passed = [case for case in run if results[case.id].outcome == "passed"]
    is_whole = len(run) == len(own) and facts.graders is None
    return EvalRow(
        facts.now,
        all_passed=bool(run) and len(passed) == len(own_chosen) and not facts.interrupted,
        total=len(run),
        passed=len(passed),
        failed_cases=[_name_in_row(case) for case in run if case not in passed],
        scope=ALL if is_whole else [_name_in_row(case) for case in run],
        content=folder.content,
        attempts=facts.attempts,
        graders=facts.graders,
        inputs=facts.inputs.get(folder.path, []),
        interrupted=facts.interrupted,
    )


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
        case=project.redactor.mask(_name_in_row(case)),
        model=None if model is None else str(model),
        content=case.folder.content,
    )
    return note(project.root, case.folder.path, row)


def _name_in_row(case: Case) -> str:
    """The name of a case in a row; that of a trigger query is its text."""
    name = case.name or case.id
    return f"triggering: {name}" if kind_of(case.recipe).asks_nobody else name


InputNames = Sequence[tuple[Case, frozenset[str]]]
"""Cases, each with the names of its inputs."""


def typed_inputs(project: Project, cases: InputNames) -> dict[str, list[str]]:
    """The inputs that the operator typed, by the path of their prompt folder: they change its cases."""
    names: dict[str, set[str]] = {}
    for case, inputs in cases:
        if case.folder is not None:
            names.setdefault(case.folder.path, set()).update(project.operator.variables.keys() & inputs)
    return {path: sorted(typed) for path, typed in names.items()}


def misspelt_inputs(project: Project, cases: InputNames) -> list[str]:
    """Warn about typed inputs that no prompt has, if one has a similar name. Cases that are not of prompts
    may use them as variables, so with such cases there is no warning."""
    if any(case.folder is None for case, _ in cases):
        return []
    names = sorted({name for _, inputs in cases for name in inputs})
    unknown = (name for name in project.operator.variables if name not in names)
    return [f"no prompt has an input {name!r}: {hint}" for name in unknown if (hint := suggest(name, names))]


# Writing.


def note(root: str, folder: str, row: EvalRow | UsageRow) -> list[str]:
    """Append a row. Returns notes about the file, or the reason why nothing was appended: the verdict of the
    run does not depend on it."""
    name, subject = _FILES[type(row)]
    file = os.path.join(folder, name)
    content = {key: value for key, value in asdict(row).items() if value or key not in _OPTIONAL}
    try:
        with atomic.lock(root, file, lambda: atomic.SHORT_WAIT):
            return _append_line(root, file, jsontext.to_bytes(content) + b"\n")
    except BaselinekitError as error:
        reason = "; ".join(
            problem.message + (f" ({problem.hint})" if problem.hint else "") for problem in error.problems
        )
        return [f"{subject} of {folder or 'the prompt'} is not noted: {reason}"]


def _append_line(root: str, file: str, line: bytes) -> list[str]:
    folder, name = os.path.split(file)
    path = os.path.join(resolve(root, folder), name)
    log = atomic.open_log(path, file, 0o666)
    try:
        check_open_file(root, log, path, file)
        size = os.fstat(log).st_size
        is_torn = size > 0 and os.pread(log, 1, size - 1) != b"\n"
        atomic.append(log, file, b"\n" + line if is_torn else line)
        with atomic.reporting(file):
            os.fsync(log)
    finally:
        os.close(log)
    message = "the last line had no line end, as after a kill; the new row begins a line of its own"
    return [f"{file}: {message}"] if is_torn else []


# Reading.


class Log(Struct, Generic[Row]):
    """The rows of a file, the oldest first. A line that cannot be read is None, and a note says why."""

    rows: tuple[Row | None, ...] = ()
    notes: tuple[Problem, ...] = ()


def read_rows(root: str, folder: str, kind: type[Row]) -> Log[Row]:
    """Read the rows of a folder. A file that does not exist has no rows."""
    file = os.path.join(folder, _FILES[kind][0])
    if not os.path.lexists(os.path.join(root, file)):
        return Log()
    rows: list[Row | None] = []
    notes: list[Problem] = []
    for number, line in enumerate(read(root, file, MAX_OUTPUT_BYTES).split(b"\n"), 1):
        if not line.strip():
            continue
        row, reason = None, "it is no JSON, or not all of it"
        with suppress(jsontext.NotJson, UnicodeDecodeError):
            row, reason = _row(kind, jsontext.decode(line.decode("utf-8")))
        rows.append(row)
        if row is None:
            hint = "remove the line, or fix it; it counts for nothing"
            notes.append(Problem("BK768", f"a row that cannot be read: {reason}", hint, Place(file, number)))
    return Log(tuple(rows), tuple(notes))


def _row(kind: type[Row], value: Json) -> tuple[Row | None, str]:
    """Return the row, or what is wrong with it. Another tool may add keys, and leave out the time."""
    if not isinstance(value, dict):
        return None, "it is no mapping"
    known = {key: value[key] for key in kind.__struct_fields__ if value.get(key) is not None}
    row, problems = read_as(kind, {"ts": "", **known})
    return row, "; ".join(
        f"{'.'.join(map(str, problem.at or ()))}: {problem.message}" for problem in problems
    )
