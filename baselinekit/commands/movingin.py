"""What other pytest tools store, as baselines: snapshots become values of tests, cassettes become answers to
requests. Nothing is run and no request is sent."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from baselinekit.commands.capture import (
    CaptureOptions,
    KnownGood,
    NewBaseline,
    completed_record,
    describe_hidden,
    hide_secrets,
    new_baseline,
    refuse_troubles,
)
from baselinekit.commands.importing import summarize
from baselinekit.commands.judging import observe
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, CannotReplay, Place
from baselinekit.importers import inlinesnapshots, regressions, syrupy, vcr
from baselinekit.importers.drafts import DraftRecipe, ImportChoices, ImportedFile, LeftOut, SourceText
from baselinekit.importers.testcode import SnapshotImport, SnapshotSources, ValueDraft
from baselinekit.kinds.pytest import file_of, id_of
from baselinekit.kinds.settings import Clients
from baselinekit.kinds.table import kind_of
from baselinekit.learning.lesson import Lesson
from baselinekit.learning.templating import OutputTemplater, single_element_arrays
from baselinekit.matching.dispatch import compile_baseline
from baselinekit.model.baselines import Known
from baselinekit.model.values import ABSENT, Json
from baselinekit.store import schemafile, writing
from baselinekit.store.reading import LoadedFiles, parse_record
from baselinekit.structs import MutableStruct, Struct, field, replace
from baselinekit.values.equality import canonical, same_json
from baselinekit.values.paths import render
from baselinekit.values.places import with_values

TOOLS: Mapping[str, Callable[[SnapshotSources, SnapshotImport], None]] = {
    syrupy.TITLE: syrupy.read,
    regressions.TITLE: regressions.read,
    inlinesnapshots.TITLE: inlinesnapshots.read,
}
"""The functions that read the values of a tool."""

OUTSIDE = inlinesnapshots.FOLDERS
VCR = vcr.TITLE


class MovedBaseline(Struct):
    """A baseline that is to be written: its file, its record, and where it comes from."""

    file: str
    record: dict[str, Json]
    place: Place


class MovedIn(MutableStruct):
    """The baselines made from some files, by their own file. `known`: how many exist already, `again`: how
    many answers were there more than once; `there`: existing files with other content; `project`: with
    variables for the credentials found in cassettes; `tests`: the files whose tests now have a baseline."""

    project: Project
    left_out: list[LeftOut] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    new: dict[str, MovedBaseline] = field(default_factory=dict)
    known: int = 0
    there: list[str] = field(default_factory=list)
    tests: Sequence[str] = ()
    secrets: Sequence[str] = ()
    writes: int = 0
    again: int = 0

    def add(self, moved: MovedBaseline) -> None:
        if (first := self.new.get(moved.file)) is not None:
            if not same_json(_stored_output(first.record), _stored_output(moved.record)):
                message = f"a second value for {moved.file}: the first is from {first.place}"
                self.lose(moved.place, message, "remove what is not used any more")
            return
        state = _file_state(moved, self.project)
        if state == "known":
            self.known += 1
            return
        self.there += [moved.file] if state == "other" else []
        self.new[moved.file] = moved

    def lose(self, place: Place, message: str, hint: str) -> None:
        self.left_out.append(LeftOut(place.line or 0, message, hint, place.file))

    def note(self, file: str, notes: Iterable[str]) -> None:
        self.notes |= dict.fromkeys(f"{file}: {text}" for text in notes)


def moved_values(project: Project, moving: SnapshotImport, moment: str) -> MovedIn:
    """Turn the values of tests into baseline files of the plugin."""
    moved = MovedIn(project, [*moving.left_out], dict(moving.notes))
    for draft in sorted(
        moving.values, key=lambda value: (value.place.file, value.place.line or 0, value.test)
    ):
        label = f"{draft.test.partition('::')[2]}{f' {draft.name}' if draft.name else ''}"
        try:
            moved.add(_value_baseline(moved, draft, moment))
        except BaselinekitError as error:
            moved.lose(draft.place, f"{label}: {error.problems[0].message}", error.problems[0].hint)
    moved.tests = [*dict.fromkeys(draft.test.partition("::")[0] for draft in moving.values)]
    return moved


def _value_baseline(moved: MovedIn, draft: ValueDraft, moment: str) -> MovedBaseline:
    """Return the baseline that the plugin would write for a value, with the rules it was compared by."""
    project, folder = moved.project, moved.project.folders[0].rstrip("/")
    file = file_of(draft.test, draft.name, folder)
    templating = OutputTemplater(project.scope)
    stored = with_values(templating.template(draft.value), dict(draft.placeholders))
    is_bytes = isinstance(stored, dict) and stored.keys() == {"base64"}  # no text that could be a token
    stored, hidden = hide_secrets(stored, project.redactor, hide=not is_bytes, allow=is_bytes)
    singles = [render(path) for path in single_element_arrays(stored)] if draft.placeholders else []
    rules = dict(draft.rules) | ({"arrays": dict.fromkeys(singles, "ordered")} if singles else {})
    current_input = {"test": draft.test} | ({"name": draft.name} if draft.name is not None else {})
    record: dict[str, Json] = {
        "id": id_of(file, folder),
        "baseline": {"output": stored, "captured_at": moment},
        "current": {"input": current_input, "execution": {"type": "pytest"}},
        **({"comparison": rules} if rules else {}),
        "metadata": {"last_passed": None, "failure_count": 0},
    }
    baseline = parse_record(record, project.root)
    compile_baseline(baseline, project.words_of(baseline))
    moved.note(file, (*templating.notes(), *describe_hidden(hidden)))
    return MovedBaseline(file, record, draft.place)


def _stored_output(record: Mapping[str, Any]) -> Json:
    return record["baseline"]["output"]


def _file_state(moved: MovedBaseline, project: Project) -> str:
    """Whether its file is `free`, holds the same value already (`known`), or another one (`other`)."""
    if not os.path.lexists(os.path.join(project.root, moved.file)):
        return "free"
    loaded = LoadedFiles()
    loaded.read(moved.file, project.root)
    for baseline in loaded.baselines:
        output = ABSENT if baseline.baseline is None else baseline.baseline.output
        if baseline.id == moved.record["id"] and output is not ABSENT:
            return "known" if same_json(output, _stored_output(moved.record)) else "other"
    return "other"


# Cassettes: each request with its answer, as a capture stores it.


def moved_cassettes(
    project: Project, texts: Mapping[str, str], choices: ImportChoices, clients: Clients, moment: str
) -> tuple[MovedIn, int]:
    """Turn the interactions of cassettes into baseline files as a capture writes them; also return how many
    of the files were cassettes."""
    cassettes: dict[str, vcr.Cassette] = {}
    left_out = list[LeftOut]()
    for file, text in texts.items():
        try:
            if (cassette := vcr.read(SourceText(file, text), choices)) is not None:
                cassettes[file] = cassette
        except BaselinekitError as error:
            left_out.append(vcr.problem_of(error, file))
    answers = {
        id(draft.current): answer
        for cassette in cassettes.values()
        for draft, answer in zip(cassette.imported.drafts, cassette.answers, strict=True)
    }
    seen = len(cassettes) + len(left_out)
    files, repeated = _without_duplicates(cassettes, answers, left_out)
    options = CaptureOptions(allow_error_status=True, allow_empty=True, hide_secrets=True, exact=True)
    summary = summarize(project, files, _record_of, options)
    writes = sum(kind_of(new.draft.current).writes(new.draft.current) for _, _, new in summary.new)
    moved = MovedIn(summary.project, left_out, known=summary.known, again=repeated, writes=writes)
    moved.secrets = summary.secrets
    for failure in summary.problems:
        for problem in failure.problems:
            moved.lose(problem.place or Place(""), problem.message, problem.hint)
    for draft, place, new in summary.new:
        storing = (answers[id(draft.current)], options, clients, moment)
        try:
            try:
                record, notes = _stored(summary.project, new, *storing)
            except CannotReplay as error:
                as_text = _stored_as_text(summary.project, new, options, error)
                record, notes = _stored(summary.project, as_text, *storing)
                notes = (*notes, f"{error.problems[0].message}: read as a text, `parse: text`")
        except BaselinekitError as error:
            moved.lose(place, f"{draft.id}: {error.problems[0].message}", error.problems[0].hint)
            continue
        file = f"{new.folder}/{new.draft.id}.yaml"
        moved.add(MovedBaseline(file, record, place))
        moved.note(file, notes)
    return moved, seen


def _without_duplicates(
    cassettes: Mapping[str, vcr.Cassette], answers: Mapping[int, vcr.RecordedAnswer], left_out: list[LeftOut]
) -> tuple[dict[str, ImportedFile], int]:
    """Return the drafts of all files, each request once, as a baseline holds one answer; and how many were
    repeated."""
    first_answers: dict[str, tuple[Place, vcr.RecordedAnswer]] = {}
    files: dict[str, ImportedFile] = {}
    repeated = 0
    for file, cassette in cassettes.items():
        drafts = []
        for draft in cassette.imported.drafts:
            answer = answers[id(draft.current)]
            place, first_answer = first_answers.setdefault(
                canonical(draft.current), (Place(file, draft.line), answer)
            )
            if first_answer is answer:
                drafts.append(draft)
            elif (first_answer.response.status, first_answer.response.body) == (
                answer.response.status,
                answer.response.body,
            ):
                repeated += 1
            else:
                message = f"{draft.id}: the request of {place}, answered otherwise"
                left_out.append(LeftOut(draft.line, message, "a baseline holds one answer: the first", file))
        files[file] = replace(cassette.imported, drafts=tuple(drafts))
    return files, repeated


def _record_of(draft: DraftRecipe) -> dict[str, Any]:
    return {"id": draft.id, "current": draft.current, "comparison": {}, "metadata": {}}


def _stored(
    project: Project,
    new: NewBaseline,
    answer: vcr.RecordedAnswer,
    options: CaptureOptions,
    clients: Clients,
    moment: str,
) -> tuple[dict[str, Json], Sequence[str]]:
    """Return the record of a baseline whose request is answered with what was recorded, and the notes on
    it."""
    clients = replace(clients, send=lambda request: answer.response)
    observation = observe(new.draft.current, project.setting(new.folder, clients))
    refuse_troubles(new.draft, observation, options)
    templating = OutputTemplater(project.words_of(new.draft).scope)
    output, hidden = hide_secrets(
        templating.template(observation.output), project.redactor, hide=True, allow=False
    )
    lesson = Lesson(replace(new.draft, baseline=Known(output=output)))
    mapping: dict[str, Json] = {"output": output, "captured_at": answer.moment or moment}
    known_good = KnownGood(mapping, 0.0, (), 1, lesson)
    record, notes = completed_record(project, new.draft, new.record, None, known_good)
    compile_baseline(parse_record(record, project.root), project.words_of(new.draft))
    writing.check_names(new.draft.id, new.group)
    return record, (*templating.notes(), *describe_hidden(hidden), *observation.notes, *notes)


def _stored_as_text(
    project: Project, new: NewBaseline, options: CaptureOptions, error: CannotReplay
) -> NewBaseline:
    """Return a baseline whose body does not match its content type, and is read as a text."""
    current = new.record["current"]
    if "parse" in current["execution"]:
        raise error
    execution = {**current["execution"], "parse": "text"}
    return new_baseline(project, {**new.record, "current": {**current, "execution": execution}}, options)


def write_moved(moved: MovedIn, files: Sequence[MovedBaseline], overwrite: bool) -> Iterator[str]:
    """Write the files, and yield the name of each."""
    project = moved.project
    for baseline in files:
        folder = os.path.dirname(baseline.file)
        schema = schemafile.reference(project.root, folder)
        is_new = not (overwrite and baseline.file in moved.there)
        writing.write_file(
            baseline.record, baseline.file, project.root, project.config.inline_limit, schema, new=is_new
        )
        yield baseline.file
