"""An eval case captured as a baseline: its recipe with its checks and its rubric, so that `compare` grades it
and guards its grades."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from baselinekit.commands.capture import Captured, CaptureOptions, NewBaseline, is_same, new_baseline, slug
from baselinekit.commands.importing import Batch
from baselinekit.commands.programs import Trace
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, InvalidInput, Problem
from baselinekit.eva.scripts import ready_scripts, run_before
from baselinekit.evals.checks import setting_of_case
from baselinekit.files.text import decode
from baselinekit.graders.by_line import ScoreLine
from baselinekit.graders.graders import check_of
from baselinekit.kinds.dispatch import inputs_of
from baselinekit.kinds.kind import SCORES
from baselinekit.kinds.prompt import PromptExecution
from baselinekit.kinds.settings import Clients
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Source
from baselinekit.model.evals import Case
from baselinekit.model.values import Json
from baselinekit.secrets.variables import escape_variables_in, names_in
from baselinekit.store.project import read
from baselinekit.store.reading import locate, records_by_id
from baselinekit.store.records import read_record
from baselinekit.structs import plain, replace
from baselinekit.suites.dialect import numbered

RUBRIC = "rubric"
"""The criterion under which the score of a case's rubric is stored."""

TEXT = "text"


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


def batch_of_cases(
    project: Project,
    cases: Sequence[Case],
    ids: Mapping[str, str],
    options: CaptureOptions,
    tags: Sequence[str],
) -> Batch:
    """The new baselines of cases; what cannot be captured is reported with its line."""
    wanted: list[NewBaseline] = []
    errors: list[BaselinekitError] = []
    taken = records_by_id(project.root, project.folders)
    for case in cases:
        assert case.folder is not None
        group, place = options.group or slug(case.folder.id), locate(case.source, (), project.root)
        script, notes = case.scripts.before, tuple[str, ...]()
        if script:
            notes = (
                f"{os.path.basename(script)} ran now, and its inputs are stored: compare does not run it",
            )
        try:
            record = _record_of(case, ids[case.id], project, group, tags)
            new = new_baseline(project, record, replace(options, group=group))
            if not _exists(new, taken, project):
                wanted.append(replace(new, place=place, label=case.id, notes=notes))
        except BaselinekitError as error:
            problems = (
                problem._replace(message=f"{case.id}: {problem.message}", place=place, at=None)
                for problem in error.problems
            )
            errors.append(type(error)(*problems))
    known = len(cases) - len(wanted) - len(errors)
    return Batch(project, wanted, errors, len(errors), known, notes=_notes_on)


def _record_of(case: Case, id: str, project: Project, group: str, tags: Sequence[str]) -> dict[str, Any]:
    """The record of a baseline that is to be captured from a case, without its output."""
    checks, judges = [], []
    for grader in case.graders:
        if (check := check_of(grader)) is not None:
            checks.append(escape_variables_in(check))
        elif isinstance(grader.method, ScoreLine):
            judges.append(grader.method)
        else:
            message = f"no baseline can guard the grader {grader.name}"
            raise InvalidInput(Problem("BK551", message, "keep it to `baselinekit run`"))
    asked: dict[str, Json] = plain(case.recipe.input)
    template = os.path.join(project.root, os.path.dirname(case.source.file), str(asked["prompt"]))
    asked["prompt"] = project.way_back(group, template)
    current = {"input": asked, "execution": _execution(case, checks, judges)}
    record: dict[str, Any] = {"id": id, **({"name": case.name} if case.name else {})}
    record |= {"current": current, "comparison": _rules(bool(judges))}
    return record | {"metadata": {"tags": list(tags)} if tags else {}}


def _rules(is_scored: bool) -> dict[str, Json]:
    """The comparison rules. The text of a model varies, so only the checks are compared, and no score may
    fall."""
    fields = {SCORES: {"type": "numeric", "tolerance": {"min_delta": 0}}}
    return {"type": "structural", "ignore_values": [TEXT]} | ({"fields": fields} if is_scored else {})


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
    raise InvalidInput(Problem("BK113", message, hint))
