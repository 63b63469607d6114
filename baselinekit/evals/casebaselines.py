"""An eval case captured as a baseline: its recipe with its checks and its rubric, so that `compare` grades it
and guards its grades."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from baselinekit.commands.capture import Captured, CaptureOptions, NewBaseline, is_same, new_baseline, slug
from baselinekit.commands.importing import Batch
from baselinekit.commands.programs import Trace
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.eva.scripts import ready_scripts, run_before
from baselinekit.evals.checks import load_schema, setting_of_case
from baselinekit.files.text import decode
from baselinekit.graders.by_line import ScoreLine
from baselinekit.graders.graders import check_of, files_of, row_of
from baselinekit.kinds.dispatch import inputs_of
from baselinekit.kinds.kind import SCORES
from baselinekit.kinds.prompt import PromptExecution
from baselinekit.kinds.settings import Clients
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Source
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grader
from baselinekit.model.values import Json
from baselinekit.secrets.variables import escape_variables_in, names_in
from baselinekit.store.project import read
from baselinekit.store.reading import locate, records_by_id
from baselinekit.store.records import read_record
from baselinekit.structs import Struct, plain, replace
from baselinekit.suites.dialect import numbered

RUBRIC = "rubric"
"""The criterion under which the score of a case's rubric is stored."""

TEXT = "text"


class CaseDraft(Struct):
    """The record of a baseline that is to be captured from a case, without its output."""

    case: Case
    record: dict[str, Any]
    group: str
    place: Place | None
    notes: tuple[str, ...] = ()


def has_answer(case: Case) -> bool:
    """Whether a case of a prompt folder has an answer to capture: a trigger query only asks a judge."""
    return case.folder is not None and kind_of(case.recipe).asks_models == "always"


def with_values(case: Case, values: Mapping[str, Json], project: Project) -> Case:
    """The case with those values as inputs that its template asks for."""
    assert case.folder is not None
    template = case.folder.template
    used = set(names_in(decode(read(project.root, template), template).body))
    inputs = {name: value for name, value in values.items() if name in used}
    recipe = kind_of(case.recipe).with_inputs(case.recipe, inputs) if inputs else case.recipe
    return replace(case, recipe=recipe)


def with_script_inputs(case: Case, project: Project, clients: Clients) -> Case:
    """The case with the inputs that the script before it prints, if the script may be run."""
    if case.scripts.before is None:
        return case
    setting = setting_of_case(project, case.source.file, clients)
    alone = replace(case, scripts=replace(case.scripts, after=None))
    script, _ = ready_scripts(project, alone, setting)
    if script is None:
        return case
    inputs, _ = inputs_of(case.recipe, setting)
    trace = Trace(project.redactor.knowing(inputs))
    return with_values(case, run_before(script, case, inputs, setting, trace), project)


def baseline_ids(cases: Iterable[Case]) -> dict[str, str]:
    """The ids of the baselines by the ids of the cases. Names of several cases that give the same file name
    are numbered: an id does not depend on which of them are captured."""
    taken: set[str] = set()
    return {
        case.id: numbered(f"{slug(case.folder.id)}.{slug(case.name or case.id)}", taken)
        for case in cases
        if case.folder is not None
    }


def drafts_of(
    cases: Sequence[Case], ids: Mapping[str, str], project: Project, group: str | None, tags: Sequence[str]
) -> tuple[list[CaseDraft], list[BaselinekitError]]:
    """The drafts of all cases, and the errors of those that no baseline can guard."""
    drafts: list[CaseDraft] = []
    errors: list[BaselinekitError] = []
    for case in cases:
        try:
            drafts.append(_draft_of(case, ids[case.id], project, group, tags))
        except BaselinekitError as error:
            errors.append(error)
    return drafts, errors


def _draft_of(case: Case, id: str, project: Project, group: str | None, tags: Sequence[str]) -> CaseDraft:
    assert case.folder is not None
    group = group or slug(case.folder.id)
    checks, judges = [], []
    for grader in (_with_schema(grader, case, project) for grader in case.graders):
        if (check := check_of(grader)) is not None:
            checks.append(escape_variables_in(check))
        elif isinstance(grader.method, ScoreLine):
            judges.append(grader.method)
        else:
            message = f"{case.id}: no baseline can guard the grader {grader.name}"
            place = locate(case.source, grader.at, project.root)
            raise InvalidInput(Problem("BK774", message, "keep it to `baselinekit run`", place))
    current = {"input": _input(case, group, project), "execution": _execution(case, checks, judges)}
    record: dict[str, Any] = {"id": id}
    if case.name:
        record["name"] = case.name
    record |= {"current": current, "comparison": _rules(bool(judges))}
    record["metadata"] = {"tags": list(tags)} if tags else {}
    notes = []
    if case.scripts.before:
        script = os.path.basename(case.scripts.before)
        notes = [f"{script} ran now, and its inputs are stored: compare does not run it"]
    return CaseDraft(case, record, group, locate(case.source, (), project.root), tuple(notes))


def _rules(is_scored: bool) -> dict[str, Json]:
    """The comparison rules. The text of a model varies, so only the checks are compared, and no score may
    fall."""
    fields = {SCORES: {"type": "numeric", "tolerance": {"min_delta": 0}}}
    return {"type": "structural", "ignore_values": [TEXT]} | ({"fields": fields} if is_scored else {})


def _with_schema(grader: Grader, case: Case, project: Project) -> Grader:
    """The grader with the schema of its file inlined, as a baseline is in another folder."""
    row = row_of(grader)
    path = next((file for file in files_of(grader).values() if file), None)
    if path is None:
        return grader
    return replace(grader, method=row.with_document(grader.method, load_schema(case, path, project.root)))


def _input(case: Case, group: str, project: Project) -> dict[str, Json]:
    """The template and its inputs, with paths relative to the folder of the new file."""
    stated: dict[str, Json] = plain(case.recipe.input)
    folder = os.path.join(project.root, os.path.dirname(case.source.file))
    for key in ("prompt", "inputs_from"):
        if key in stated:
            stated[key] = project.way_back(group, os.path.join(folder, stated[key]))
    return stated


def _execution(case: Case, checks: list[Json], judges: Sequence[ScoreLine]) -> dict[str, Json]:
    execution: PromptExecution = case.recipe.execution
    fields: dict[str, Json] = {"type": execution.type, "model": execution.model}
    timeout = execution.timeout if case.timeout is None else case.timeout
    if timeout is not None:
        fields["timeout"] = timeout
    if checks:
        fields["checks"] = checks
    for judge in judges:
        rubric = {RUBRIC: judge.rubric}
        scores = {"rubric": rubric, "model": judge.model, "at_least": judge.pass_threshold, "form": "line"}
        fields["scores"] = scores
    return fields


def batch_of_cases(project: Project, drafts: Sequence[CaseDraft], options: CaptureOptions) -> Batch:
    """The new baselines of cases; what cannot be captured is reported with its line."""
    wanted: list[NewBaseline] = []
    errors: list[BaselinekitError] = []
    taken = records_by_id(project.root, project.folders)
    for draft in drafts:
        try:
            new = new_baseline(project, draft.record, replace(options, group=draft.group))
            if not _exists(new, taken, project):
                wanted.append(replace(new, place=draft.place, label=draft.case.id, notes=draft.notes))
        except BaselinekitError as error:
            id, place = draft.case.id, draft.place
            problems = (
                problem._replace(message=f"{id}: {problem.message}", place=place, at=None)
                for problem in error.problems
            )
            errors.append(type(error)(*problems))
    known = len(drafts) - len(wanted) - len(errors)
    return Batch(project, wanted, errors, len(errors), known, notes=_notes_on)


def _notes_on(captured: Sequence[Captured]) -> Iterator[str]:
    if captured:
        yield "texts are stored and not compared, their checks and scores are"


def _exists(new: NewBaseline, taken: Mapping[str, tuple[Source, dict[str, Json]]], project: Project) -> bool:
    """Whether the same baseline exists already. InvalidInput if another baseline has its name."""
    if (existing := taken.get(new.draft.id.casefold())) is None:
        return False
    source, raw = existing
    existing_baseline, _ = read_record(raw, source)
    if existing_baseline is not None and is_same(new.draft, existing_baseline, project):
        return True
    message = f"{new.draft.id} is captured already, with another recipe, in {source.file}"
    hint = "if the case was edited, remove that file and capture it again"
    raise InvalidInput(Problem("BK520", message, hint))
