"""The logs in a prompt folder, and the promotion that they allow: from draft to tested to ready.

There is a line for each run of its cases (`.eval.jsonl`) and for each time that the prompt was sent
(`.usage.jsonl`). A row is one line, appended by one write under the lock of the file and synced, so a
partial row is never followed by another on the same line. Lines of other tools are read too: unknown keys
are ignored, and a line that cannot be read is reported with its place and does not affect others."""

import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.eva.folders import REQUIRED, STATUSES, load_valid_folder, read_folder
from baselinekit.files import jsontext
from baselinekit.files.edit import edited
from baselinekit.files.languages import is_plain, language
from baselinekit.files.text import decode, mark, reach
from baselinekit.kinds.table import kind_of
from baselinekit.model.evals import Case, Suite
from baselinekit.model.grades import Attempt
from baselinekit.model.prompts import EvalRow, PromptFolder, Status, UsageRow
from baselinekit.model.results import Result
from baselinekit.model.values import Edit, Json, parse_time
from baselinekit.schema import describe_value, place_problems, read_as
from baselinekit.store import atomic, project
from baselinekit.store.project import METAS, TEMPLATE, is_prompt_folder
from baselinekit.structs import Struct, asdict, replace
from baselinekit.values.changes import Hints
from baselinekit.values.paths import render
from baselinekit.values.texts import count_noun, list_first

EVALS, USES = ".eval.jsonl", ".usage.jsonl"
ALL = "all"
"""The scope in the row of a run of all cases of a folder."""

Row = TypeVar("Row", EvalRow, UsageRow)

_FILES: dict[type[Struct], tuple[str, str]] = {EvalRow: (EVALS, "this run"), UsageRow: (USES, "this use")}
_OPTIONAL = ("graders", "inputs", "interrupted")
"""Keys of a row that are written only if they have a value."""


# What a run adds: a row for itself, and one for each time that a prompt was sent.


def note_runs(
    project: Project,
    suite: Suite,
    chosen: Sequence[Case],
    results: Sequence[Result],
    run: EvalRow,
    inputs: Mapping[str, list[str]],
) -> list[str]:
    """Append a row to the log of each prompt folder that took part in a run. `run`: what holds for all of
    them; `inputs`: those that the operator typed, by the path of a folder. Return warnings about rows that
    could not be written; the results of the run count nevertheless."""
    warnings = []
    outcomes = {result.id: result for result in results}
    mask = project.redactor.mask_value  # names come from the checkout, but everything written is masked
    for folder in {case.folder.path: case.folder for case in chosen if case.folder}.values():
        typed = replace(run, inputs=inputs.get(folder.path, []))
        row = _row_of_run(folder, suite.cases, chosen, outcomes, typed)
        if row is None:
            continue
        now = read_folder(project.root, folder.path, folder.eval_file).folder
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
    row: EvalRow,
) -> EvalRow | None:
    """Return the row of a folder; None if nothing of it was run. `cases`: all cases, `chosen` or not."""
    own, own_chosen = (
        [case for case in some if case.folder is not None and case.folder.path == folder.path]
        for some in (cases, chosen)
    )
    made = [results[case.id].case for case in own_chosen]
    attempted = [one.outcome != "skipped" for facts in made if facts for one in facts.attempts]
    if not (row.interrupted or any(attempted)):
        return None
    run = [case for case in own_chosen if results[case.id].outcome != "skipped"]
    passed = [case for case in run if results[case.id].outcome == "passed"]
    is_whole = len(run) == len(own) and row.graders is None
    return replace(
        row,
        all_passed=bool(run) and len(passed) == len(own_chosen) and not row.interrupted,
        total=len(run),
        passed=len(passed),
        failed_cases=[_name_in_row(case) for case in run if case not in passed],
        scope=ALL if is_whole else [_name_in_row(case) for case in run],
        content=folder.content,
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
    """The name of a case in a row; a trigger query has its text as its name."""
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


# Writing.


def note(root: str, folder: str, row: EvalRow | UsageRow) -> list[str]:
    """Append a row. Returns the reason if nothing was appended: the verdict of the run does not depend on
    it."""
    name, subject = _FILES[type(row)]
    file = os.path.join(folder, name)
    content = {key: value for key, value in asdict(row).items() if value or key not in _OPTIONAL}
    try:
        with atomic.lock(root, file, lambda: atomic.SHORT_WAIT):
            _append_line(root, file, jsontext.to_bytes(content) + b"\n")
        return []
    except BaselinekitError as error:
        reason = "; ".join(one.message + (f" ({one.hint})" if one.hint else "") for one in error.problems)
        return [f"{subject} of {folder or 'the prompt'} is not noted: {reason}"]


def _append_line(root: str, file: str, line: bytes) -> None:
    folder, name = os.path.split(file)
    path = os.path.join(project.resolve(root, folder), name)
    log = atomic.open_log(path, file, 0o666)
    try:
        project.check_open_file(root, log, path, file)
        size = os.fstat(log).st_size
        is_torn = size > 0 and os.pread(log, 1, size - 1) != b"\n"  # as after a kill
        atomic.append(log, file, b"\n" + line if is_torn else line)
        with atomic.reporting(file):
            os.fsync(log)
    finally:
        os.close(log)


# Reading.


class Log(Struct, Generic[Row]):
    """The rows of a file, the oldest first. A line that cannot be read is None, and a note has the
    reason."""

    rows: tuple[Row | None, ...] = ()
    notes: tuple[Problem, ...] = ()


def read_rows(root: str, folder: str, kind: type[Row]) -> Log[Row]:
    """Read the rows of a folder. A file that does not exist has no rows."""
    file = os.path.join(folder, _FILES[kind][0])
    if not os.path.lexists(os.path.join(root, file)):
        return Log()
    rows: list[Row | None] = []
    notes: list[Problem] = []
    for number, line in enumerate(project.read(root, file, project.MAX_OUTPUT_BYTES).split(b"\n"), 1):
        if not line.strip():
            continue
        row, reason = None, "it is not JSON, or not all of it"
        with suppress(jsontext.NotJson, UnicodeDecodeError):
            row, reason = _row(kind, jsontext.decode(line.decode("utf-8")))
        rows.append(row)
        if row is None:
            hint = "remove the line, or fix it; it counts for nothing"
            notes.append(Problem("BK130", f"a row that cannot be read: {reason}", hint, Place(file, number)))
    return Log(tuple(rows), tuple(notes))


def _row(kind: type[Row], value: Json) -> tuple[Row | None, str]:
    """Return the row, or what is wrong with it. Another tool may add keys, and leave out the time."""
    if not isinstance(value, dict):
        return None, "it is not a mapping"
    known = {key: value[key] for key in kind.__struct_fields__ if value.get(key) is not None}
    row, problems = read_as(kind, {"ts": "", **known})
    return row, "; ".join(f"{render(one.at or ())}: {one.message}" for one in problems)


# promote: a prompt goes from draft to tested to ready if its uses and its cases allow it.

_NEXT: dict[Status, Status] = {"draft": "tested", "tested": "ready"}
_USES: dict[Status, int] = {"draft": 3, "tested": 10}
"""How many uses are required to leave this status."""

_KEYS = (*REQUIRED, "description", "triggers")
"""The usual order of keys in meta.yml: a missing key is inserted in its place."""

_MOST_NAMED = 5


class PromotionGate(Struct):
    """One requirement: whether it is met, what was found, and a hint where that is not enough."""

    name: str
    met: bool
    found: str
    hint: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.found}" + (f": {self.hint}" if self.hint else "")


class PromotionStep(Struct):
    """A step from one status to the next, with its requirements. `notes`: what is wrong with the logs."""

    folder: PromptFolder
    before: Status
    after: Status
    gates: tuple[PromotionGate, ...]
    notes: tuple[Problem, ...] = ()

    @property
    def unmet(self) -> list[PromotionGate]:
        return [gate for gate in self.gates if not gate.met]


def find_prompt(project: Project, name: str, path: str) -> PromptFolder:
    """Return the prompt at a path, which is its folder or a file in it. `name`: as the operator typed it."""
    folder = os.path.dirname(path) if os.path.isfile(os.path.join(project.root, path)) else path
    folder = "" if folder == os.curdir else folder
    full = os.path.join(project.root, folder)
    if not os.path.isdir(full) or not is_prompt_folder(os.listdir(full)):
        message = f"{name!r} is not a folder, id or alias of a prompt"
        hint = f"a prompt's folder has a {TEMPLATE} and a {METAS[0]}"
        raise InvalidInput(Problem("BK111", message, hint))
    return load_valid_folder(project.root, folder)


def next_step(project: Project, folder: PromptFolder) -> PromotionStep:
    """The next step of a prompt, judged by its logs. Nothing is written. InvalidInput if the prompt has no
    further step, or no status."""
    root = project.root
    before = _status(root, folder)
    if before == "ready":
        hint = "change `status` in the file by hand to take it back"
        at = Place(folder.meta_file)
        message = f"{folder.id} is ready already: there is no further status"
        raise InvalidInput(Problem("BK767", message, hint, at))
    uses, evals = read_rows(root, folder.path, UsageRow), read_rows(root, folder.path, EvalRow)
    gates = [_enough_uses(folder, before, uses)]
    if before == "tested" and folder.meta.promotion.require_eval is not False:
        if folder.eval_file is not None:
            gates.append(PromotionGate("eval file", True, os.path.basename(folder.eval_file)))
        else:
            hint = f"write {folder.path}/eval.yml with `cases:`"
            gates.append(PromotionGate("eval file", False, "there is none", hint))
        gates.append(PromotionGate("eval run", *_last_run(folder, evals)))
    return PromotionStep(folder, before, _NEXT[before], tuple(gates), (*uses.notes, *evals.notes))


# The requirements.


def _enough_uses(folder: PromptFolder, before: Status, log: Log[UsageRow]) -> PromotionGate:
    minimum = folder.meta.promotion.min_uses
    minimum = _USES[before] if minimum is None else minimum
    sent = [row for row in log.rows if row is not None and row.sent]
    if before == "tested":
        counted, counting = "found right", [row for row in sent if row.verified is True]
    else:
        counted, counting = "not found wrong", [row for row in sent if row.verified is not False]
    message = f"{len(counting):,} of at least {minimum:,} (sent, and {counted} by verify.sh)"
    if len(counting) >= minimum:
        return PromotionGate("uses", True, message)
    hint = f"each attempt of a case is a use: {_command(folder)}"
    if before == "tested" and folder.verify is None:
        hint = "write verify.sh, which exits with 0 if an answer is right, or set `promotion: {min_uses: 0}`"
    return PromotionGate("uses", False, message, hint)


def _last_run(folder: PromptFolder, log: Log[EvalRow]) -> tuple[bool, str, str]:
    """Return whether the cases passed, what was found, and a hint. Only the most recent run decides, whatever
    the outcome of those before it."""
    if not log.rows:
        return False, "the cases have never been run", _command(folder)
    row = log.rows[-1]
    if reason := _does_not_count(folder, row):
        message = f"the most recent row of {EVALS} does not count: {reason}"
        return False, message, f"run all cases again: {_command(folder)}"
    assert row is not None
    when = row.ts or "at an unknown time"
    message = f"{row.passed:,} of {row.total:,} passed in the most recent run ({when})"
    if row.all_passed and row.passed == row.total:
        return True, message, ""
    failed = f"; not {list_first(row.failed_cases, _MOST_NAMED)}" if row.failed_cases else ""
    return False, message + failed, f"once that is fixed: {_command(folder)}"


def _does_not_count(folder: PromptFolder, row: EvalRow | None) -> str:
    """The reason why a row does not count for the prompt as it is now; "" if it counts."""
    if row is None:
        return "it cannot be read, so its outcome is unknown"
    if row.interrupted:
        return f"the run was ended early, after {count_noun(row.total, 'case')}"
    if not row.total:
        return "it is empty: no case was run"
    if row.scope is None:
        return "it does not say what was run (another tool may have written it)"
    if row.content is None:
        return "the files of the prompt were changed while its cases ran"
    if row.graders is not None:
        return f"only {row.graders} graders were asked"
    if row.inputs:
        return f"inputs were typed in place of those of the cases ({list_first(row.inputs, _MOST_NAMED)})"
    if row.scope != ALL:
        names = [row.scope] if isinstance(row.scope, str) else row.scope
        return f"only some cases were run ({list_first(names, _MOST_NAMED)})"
    if row.content != folder.content:
        return f"the prompt or its cases have changed since (it was {row.content}, now {folder.content})"
    return ""


def _command(folder: PromptFolder) -> str:
    return f"baselinekit run {shlex.quote(folder.id)}"


# Taking the step: only `status` and `updated` of the description change, and not a byte more.


def write_step(project: Project, step: PromotionStep, now: str) -> None:
    """Write the step. The file is read again under its lock, so that a change made meanwhile is not lost."""
    file = step.folder.meta_file

    def edit(body: str) -> str:
        if _stated(body, file) != step.before:
            message = f"the status is no longer {step.before}"
            hint = "somebody changed it in this moment: look at the file, and promote again"
            raise InvalidInput(Problem("BK122", message, hint, Place(file)))
        return promoted(body, file, step.after, now)

    atomic.edit_text(project.root, file, edit)


def promoted(body: str, file: str, status: Status, now: str) -> str:
    """The text of a description with the new status and the date of the change."""
    form = language(file)
    nodes, missing = reach(mark(form.events(body)), 0, ("updated",))
    old = "" if missing else nodes[-1].value
    time = parse_time(now)
    day = now if time is None or "T" in old else time.date().isoformat()
    edits = [Edit(("status",), str(status)), Edit(("updated",), day)]
    text = edited(body, edits, form, hints=Hints(siblings=_KEYS))
    if not old or nodes[-1].style or is_plain(old):
        return text
    # A date without quotes is replaced by one without quotes, so that readers still take it for a date.
    node = reach(mark(form.events(text)), 0, ("updated",))[0][-1]
    return text[: node.start] + day + text[node.end :]


def _status(root: str, folder: PromptFolder) -> Status:
    """Read the status in the file of a prompt."""
    file = folder.meta_file
    body = decode(project.read(root, file), file).body
    stated = _stated(body, file)
    for status in STATUSES:
        if status == stated:
            return status
    hint = f"write one of {', '.join(STATUSES)}"
    problem = Problem("BK767", f"the status is {describe_value(stated)}", hint, at=("status",))
    raise InvalidInput(*place_problems(body, file, {0: [problem]}))


def _stated(body: str, file: str) -> Json:
    documents = language(file).load(body, file)
    return documents[0].get("status") if documents and isinstance(documents[0], dict) else None
