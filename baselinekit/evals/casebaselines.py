"""An eval case as a baseline: its recipe with its checks and its rubric, so that `compare` grades anew and
guards the grades."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.evals.checks import load_schema, setting_of_case
from baselinekit.evals.scripts import Trace, ready_scripts, run_before
from baselinekit.frozen import frozen
from baselinekit.grade.by_line import ScoreLine
from baselinekit.grade.checks import check_of
from baselinekit.grade.graders import files_of, row_of
from baselinekit.grade.judging import short_digest
from baselinekit.kinds.kind import SCORES
from baselinekit.kinds.prompt import PromptExecution, PromptInput
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Baseline, Source
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grader
from baselinekit.model.values import Json, Path
from baselinekit.replaying.dispatch import inputs_of
from baselinekit.replaying.settings import Clients
from baselinekit.store import writing
from baselinekit.store.project import read
from baselinekit.store.reading import locate, taken_ids
from baselinekit.store.records import read_record
from baselinekit.variables import names_in, unexpanded
from baselinekit.workflow.capture import (
    Captured,
    CapturedTogether,
    NewBaseline,
    capture_each,
    check_new,
    folder_made,
    new_baseline,
    write_known_good,
)
from baselinekit.workflow.context import RunContext
from baselinekit.workflow.importing import worst_of
from baselinekit.workflow.known_good import CaptureOptions, KnownGood
from baselinekit.workflow.naming import is_same, slug
from baselinekit.workflow.project import Project

RUBRIC = "rubric"
"""The criterion under which the score of a case's rubric is stored."""

TEXT = "text"

_HASH = 6


@frozen
class CaseDraft:
    """The record of a baseline that is to be captured of a case, but for its output."""

    case: Case
    record: dict[str, Any]
    group: str
    place: Place | None
    notes: tuple[str, ...] = ()


def has_answer(case: Case) -> bool:
    """Whether a case of a prompt folder has an answer to keep: of a trigger query only a judge is asked."""
    return case.folder is not None and kind_of(case.recipe).asks_models == "always"


def with_values(case: Case, values: Mapping[str, Json], project: Project) -> Case:
    """The case with those of the operator's values that its template asks for."""
    assert case.folder is not None
    template = case.folder.template
    used = set(names_in(decode(read(project.root, template), template).body))
    given = {name: value for name, value in values.items() if name in used}
    recipe = kind_of(case.recipe).with_inputs(case.recipe, given) if given else case.recipe
    return replace(case, recipe=recipe)


def with_printed(case: Case, project: Project, clients: Clients) -> Case:
    """The case with what the script before it prints as inputs, if it may be run."""
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
    """By the id of a case, that of its baseline. Of cases whose names come to the same file name (`für` and
    `f r`, or two that begin alike for long) the first in the file has it, and the others have a hash of
    theirs behind it: with whichever of them a baseline is captured, it is called the same."""
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for case in cases:
        if case.folder is not None:
            name = case.name or case.id
            id = f"{slug(case.folder.id)}.{slug(name)}"
            if id in taken:
                id += f"-{short_digest(case.folder.path, name)[:_HASH]}"
            taken.add(id)
            ids[case.id] = id
    return ids


def drafts_of(
    cases: Sequence[Case],
    called: Mapping[str, str],
    project: Project,
    group: str | None,
    tags: Sequence[str] = (),
) -> tuple[list[CaseDraft], list[BaselinekitError]]:
    """All of them, by their ids; of those that no baseline can guard, why."""
    drafts: list[CaseDraft] = []
    errors: list[BaselinekitError] = []
    for case in cases:
        try:
            drafts.append(_draft_of(case, called[case.id], project, group, tags))
        except BaselinekitError as error:
            errors.append(error)
    return drafts, errors


def _draft_of(case: Case, id: str, project: Project, group: str | None, tags: Sequence[str]) -> CaseDraft:
    assert case.folder is not None
    group = group or slug(case.folder.id)
    graders = [_checked(grader, case, project) for grader in case.graders]
    checks = [check for grader in graders if (check := check_of(grader)) is not None]
    judges = [grader.method for grader in graders if isinstance(grader.method, ScoreLine)]
    left = [
        grader for grader in graders if check_of(grader) is None and not isinstance(grader.method, ScoreLine)
    ]
    if left:
        what = f"{case.id}: no baseline can guard the grader {left[0].name}"
        raise InvalidInput(
            Problem(
                "BK774", what, "keep it to `baselinekit run`", locate(case.source, left[0].at, project.root)
            )
        )
    record: dict[str, Any] = {
        "id": id,
        **({"name": case.name} if case.name else {}),
        "current": {
            "input": _input(case, group, project),
            "execution": _execution(case, [_literal(check) for check in checks], judges),
        },
        "comparison": _rules(is_text_compared=False, is_scored=bool(judges)),
        "metadata": {"tags": list(tags)} if tags else {},
    }
    return CaseDraft(case, record, group, locate(case.source, (), project.root), tuple(_notes(case)))


def with_text_compared(draft: CaseDraft) -> dict[str, Any]:
    """Its record for a text that came the same each time: then the text has to stay as it is, too."""
    scored = "scores" in draft.record["current"]["execution"]
    return {**draft.record, "comparison": _rules(is_text_compared=True, is_scored=scored)}


def _rules(*, is_text_compared: bool, is_scored: bool) -> dict[str, Json]:
    """The text of a model rarely repeats: what is compared is what its graders say of it, and no score may
    fall."""
    rules: dict[str, Json] = {"type": "structural"}
    if not is_text_compared:
        rules["ignore_values"] = [TEXT]
    if is_scored:
        rules["fields"] = {SCORES: {"type": "numeric", "tolerance": {"min_delta": 0}}}
    return rules


def _checked(grader: Grader, case: Case, project: Project) -> Grader:
    """The grader with what it needs of files in place: a baseline stands in another folder."""
    row = row_of(grader)
    named = next((path for path in files_of(grader).values() if path), None)
    if named is None:
        return grader
    return replace(grader, method=row.with_document(grader.method, load_schema(case, named, project.root)))


def _input(case: Case, group: str, project: Project) -> dict[str, Json]:
    """The template and its inputs, named from the folder of the new file."""
    asked: PromptInput = case.recipe.input
    folder = os.path.join(project.root, os.path.dirname(case.source.file))

    def way(path: str) -> str:
        return project.way_back(group, os.path.join(folder, path))

    return {
        **({"prompt": way(asked.prompt)} if asked.prompt is not None else {}),
        **({"text": asked.text} if asked.text is not None else {}),
        **({"inputs": dict(asked.inputs)} if asked.inputs else {}),
        **({"inputs_from": way(asked.inputs_from)} if asked.inputs_from is not None else {}),
    }


def _execution(case: Case, checks: list[Json], judges: Sequence[ScoreLine]) -> dict[str, Json]:
    execution: PromptExecution = case.recipe.execution
    stated: dict[str, Json] = {"type": execution.type, "model": execution.model}
    timeout = execution.timeout if case.timeout is None else case.timeout
    stated |= {"timeout": timeout} if timeout is not None else {}
    stated |= {"checks": checks} if checks else {}
    for judge in judges:
        stated["scores"] = {
            "rubric": {RUBRIC: judge.rubric},
            "model": judge.model,
            "at_least": judge.pass_threshold,
            "form": "line",
        }
    return stated


def _literal(value: Json) -> Json:
    """The value so that it is the same after variables have been expanded."""
    if isinstance(value, str):
        return unexpanded(value)
    if isinstance(value, dict):
        return {unexpanded(key): _literal(item) for key, item in value.items()}
    return [_literal(item) for item in value] if isinstance(value, list) else value


def _notes(case: Case) -> Iterator[str]:
    if case.scripts.before:
        script = os.path.basename(case.scripts.before)
        yield f"{script} ran now, and its inputs are stored: compare does not run it"


# The capture itself: each case is asked, checked and scored, and written where all of that is well.


def capture_cases(
    project: Project, drafts: Sequence[CaseDraft], options: CaptureOptions, context: RunContext
) -> tuple[CapturedTogether, int]:
    """New files, and how many cases are captured already. What can be captured is, and what cannot is told
    with its line."""
    steady: set[str] = set()

    def compared(baseline: Baseline, outputs: Sequence[Json]) -> Mapping[Path, str]:
        texts = [output.get(TEXT) if isinstance(output, dict) else output for output in outputs]
        if len(texts) > 1 and all(text == texts[0] for text in texts):
            steady.add(baseline.id)
        return {}

    options = replace(options, described=compared)
    asked: list[tuple[CaseDraft, NewBaseline]] = []
    errors: list[BaselinekitError] = []

    def keep(number: int, known_good: KnownGood) -> Captured:
        draft, new = asked[number]
        is_steady = new.draft.id in steady
        if is_steady:
            rules = with_text_compared(draft)["comparison"]
            new = replace(new, record={**new.record, "comparison": rules})
        captured = write_known_good(project, new, known_good, options)
        return replace(captured, notes=(*captured.notes, *draft.notes, *([_STEADY] if is_steady else [])))

    def blame(number: int, error: BaselinekitError) -> BaselinekitError:
        return _at(error, asked[number][0])

    taken, known = taken_ids(project.root, project.folders), 0
    with ExitStack() as folders:
        for draft in drafts:
            try:
                new = new_baseline(project, draft.record, replace(options, group=draft.group))
                if _is_there(new, taken, project):
                    known += 1
                    continue
                writing.check_names(new.draft.id, new.group)
                folders.enter_context(folder_made(project.root, new.folder))
                check_new(project, new, context)
                asked.append((draft, new))
            except BaselinekitError as error:
                errors.append(_at(error, draft))
        if known and not asked and not errors:
            what = "each case there is captured already"
            hint = "to accept new answers: baselinekit refresh ID --replay"
            raise InvalidInput(Problem("BK520", what, hint))
        pairs = [(new.draft, new.folder) for _, new in asked]
        found = capture_each(project, pairs, options, context, keep, blame)
        errors += found.errors
        if not found.done and errors:  # the folders that were made for it go again
            raise worst_of(errors)
        if not found.done and found.is_interrupted:
            raise KeyboardInterrupt
    return replace(found, errors=errors), known


_STEADY = "the text came the same each time and is compared, too"


def notes_on(captured: Sequence[Captured]) -> Iterator[str]:
    """What there is to say of all of them."""
    varying = [one for one in captured if _STEADY not in one.notes]
    if any(one.replays > 1 for one in varying):
        yield "a text that varied is stored and not compared: its checks and its score are"
    elif varying:
        yield "texts are stored and not compared, their checks and scores are; --repeat 3 finds steady texts"


def _is_there(
    new: NewBaseline, taken: Mapping[str, tuple[Source, dict[str, Json]]], project: Project
) -> bool:
    """Whether a baseline asks and checks the same already. Another one of its name is in the way."""
    if (known := taken.get(new.draft.id.casefold())) is None:
        return False
    source, raw = known
    other, _ = read_record(raw, source)
    if other is not None and is_same(new.draft, other, project):
        return True
    what = f"{new.draft.id} is captured already, with another recipe, in {source.file}"
    raise InvalidInput(
        Problem("BK520", what, "if the case was edited, remove that file and capture it again")
    )


def _at(error: BaselinekitError, draft: CaseDraft) -> BaselinekitError:
    """The error at the line of the case, and in its name."""
    problems = (
        replace(problem, message=f"{draft.case.id}: {problem.message}", place=draft.place, at=None)
        for problem in error.problems
    )
    return type(error)(*problems)
