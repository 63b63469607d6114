"""What other tools of pytest keep, as baselines: their snapshots as values of tests, their cassettes as
answers to requests. Nothing is run and nobody is asked."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from baselinekit.errors import BaselinekitError, CannotReplay, Place
from baselinekit.frozen import frozen
from baselinekit.importers import inlinesnapshots, regressions, syrupy, vcr
from baselinekit.importers.drafts import DraftRecipe, ImportChoices, ImportedFile, LeftOut, SourceText
from baselinekit.importers.testcode import FilesOfTests, Moving, ValueDraft
from baselinekit.kinds.pytest import file_of, id_of
from baselinekit.kinds.table import kind_of
from baselinekit.matching.dispatch import compile_baseline
from baselinekit.model.values import ABSENT, Json
from baselinekit.replaying.settings import Clients
from baselinekit.store import writing
from baselinekit.store.reading import LoadedFiles, parse_record
from baselinekit.tree.equality import canonical, same_json
from baselinekit.tree.paths import render
from baselinekit.tree.places import with_values
from baselinekit.workflow.capture import NewBaseline, completed_record, new_baseline
from baselinekit.workflow.importing import ImportSummary, summarize
from baselinekit.workflow.judging import observe
from baselinekit.workflow.known_good import (
    CaptureOptions,
    KnownGood,
    describe_hidden,
    hide_secrets,
    refuse_troubles,
)
from baselinekit.workflow.learning import CaptureLesson, Templating, arrays_of_one
from baselinekit.workflow.project import Project

TOOLS: Mapping[str, Callable[[FilesOfTests, Moving], None]] = {
    syrupy.TITLE: syrupy.read,
    regressions.TITLE: regressions.read,
    inlinesnapshots.TITLE: inlinesnapshots.read,
}
"""Who reads the values that a tool keeps."""

OUTSIDE = inlinesnapshots.FOLDERS
VCR = vcr.TITLE


@frozen
class MovedBaseline:
    """A baseline that is to be written: its file, its record, and where it comes from."""

    file: str
    record: dict[str, Json]
    place: Place


@frozen
class MovedIn:
    """All that comes of some files. `known`: how many are there already, `again`: how many answers stood
    there more than once; `there`: files in the way, which
    hold something else; `project`: with the variables for the credentials that stood in cassettes; `tests`:
    the files whose tests have a baseline now."""

    new: Sequence[MovedBaseline]
    known: int
    there: Sequence[str]
    left_out: Sequence[LeftOut]
    notes: Sequence[str]
    project: Project
    tests: Sequence[str] = ()
    secrets: Sequence[str] = ()
    writes: int = 0
    again: int = 0


def moved_values(project: Project, moving: Moving, moment: str) -> MovedIn:
    """The values of tests as files of the plugin."""
    gathered = _Gathered(project, moving.left_out, moving.notes)
    for draft in sorted(moving.values, key=lambda one: (one.place.file, one.place.line or 0, one.test)):
        called = f"{draft.test.partition('::')[2]}{f' {draft.name}' if draft.name else ''}"
        try:
            gathered.add(_of_value(gathered, draft, moment))
        except BaselinekitError as error:
            gathered.lose(draft.place, f"{called}: {error.problems[0].message}", error.problems[0].hint)
    tests = dict.fromkeys(draft.test.partition("::")[0] for draft in moving.values)
    return replace(gathered.result(project), tests=[*tests])


def _of_value(gathered: "_Gathered", draft: ValueDraft, moment: str) -> MovedBaseline:
    """As the plugin writes a value that has no baseline yet; with it the rules by which it was compared."""
    project, folder = gathered.project, gathered.project.folders[0].rstrip("/")
    file = file_of(draft.test, draft.name, folder)
    templating = Templating(project.scope)
    stored = with_values(templating.template(draft.value), dict(draft.placeholders))
    is_bytes = isinstance(stored, dict) and stored.keys() == {"base64"}  # no text that could be a token
    stored, hidden = hide_secrets(stored, project.redactor, hide=not is_bytes, allow=is_bytes)
    singles = [render(path) for path in arrays_of_one(stored)] if draft.placeholders else []
    rules = dict(draft.rules) | ({"arrays": dict.fromkeys(singles, "ordered")} if singles else {})
    asked = {"test": draft.test} | ({"name": draft.name} if draft.name is not None else {})
    record: dict[str, Json] = {
        "id": id_of(file, folder),
        "baseline": {"output": stored, "captured_at": moment},
        "current": {"input": asked, "execution": {"type": "pytest"}},
        **({"comparison": rules} if rules else {}),
        "metadata": {"last_passed": None, "failure_count": 0},
    }
    baseline = parse_record(record, project.root)
    compile_baseline(baseline, project.words_of(baseline))
    for note in (*templating.notes(), *describe_hidden(hidden)):
        gathered.note(f"{file}: {note}")
    return MovedBaseline(file, record, draft.place)


class _Gathered:
    """What is to be written, beside what is there already."""

    def __init__(self, project: Project, left_out: Sequence[LeftOut], notes: Mapping[str, None]):
        self.project = project
        self._left_out, self._notes = [*left_out], dict(notes)
        self._new: dict[str, MovedBaseline] = {}
        self._there: list[str] = []
        self._known = 0

    def add(self, moved: MovedBaseline) -> None:
        before = self._new.get(moved.file)
        if before is not None:
            if not same_json(_output(before.record), _output(moved.record)):
                message = f"a second value for {moved.file}, whose first is that of {before.place}"
                self.lose(moved.place, message, "remove what is not used any more")
            return
        state = _there(moved, self.project)
        self._known += state == "known"
        self._there += [moved.file] if state == "other" else []
        if state != "known":
            self._new[moved.file] = moved

    def lose(self, place: Place, what: str, hint: str) -> None:
        self._left_out.append(LeftOut(place.line or 0, what, hint, place.file))

    def note(self, text: str) -> None:
        self._notes[text] = None

    def result(self, project: Project) -> MovedIn:
        left_out = sorted(self._left_out, key=lambda one: (one.file, one.line))
        return MovedIn([*self._new.values()], self._known, self._there, left_out, [*self._notes], project)


def _output(record: Mapping[str, Any]) -> Json:
    return record["baseline"]["output"]


def _there(moved: MovedBaseline, project: Project) -> str:
    """Whether its file is `free`, holds the same value already (`known`), or another one (`other`)."""
    if not os.path.lexists(os.path.join(project.root, moved.file)):
        return "free"
    loaded = LoadedFiles()
    loaded.read(moved.file, project.root)
    for one in loaded.baselines:
        output = ABSENT if one.baseline is None else one.baseline.output
        if one.id == moved.record["id"] and output is not ABSENT:
            return "known" if same_json(output, _output(moved.record)) else "other"
    return "other"


# Cassettes: each request with its answer, as a capture stores it.


def moved_cassettes(
    project: Project, texts: Mapping[str, str], choices: ImportChoices, clients: Clients, moment: str
) -> tuple[MovedIn, int]:
    """The interactions of cassettes as files of a capture; and how many of the files were cassettes."""
    cassettes: dict[str, vcr.Cassette] = {}
    left = list[LeftOut]()
    for file, text in texts.items():
        try:
            if (cassette := vcr.read(SourceText(file, text), choices)) is not None:
                cassettes[file] = cassette
        except BaselinekitError as error:
            left.append(vcr.problem_of(error, file))
    answers = {
        id(draft.current): answer
        for cassette in cassettes.values()
        for draft, answer in zip(cassette.imported.drafts, cassette.answers, strict=True)
    }
    files, again = _told_apart(cassettes, answers, left)
    options = CaptureOptions(allow_error_status=True, allow_empty=True, hide_secrets=True, exact=True)
    summary = summarize(project, files, _record_of, options)
    gathered = _Gathered(summary.project, left, {})
    for one in summary.problems:
        for problem in one.problems:
            gathered.lose(problem.place or Place(""), problem.message, problem.hint)
    playing = _Playing(summary, options, clients, moment)
    for draft, place, new in summary.new:
        try:
            moved, notes = playing.stored(new, answers[id(draft.current)])
        except BaselinekitError as error:
            gathered.lose(place, f"{draft.id}: {error.problems[0].message}", error.problems[0].hint)
            continue
        gathered.add(MovedBaseline(moved[0], moved[1], place))
        for note in notes:
            gathered.note(f"{moved[0]}: {note}")
    found = gathered.result(summary.project)
    writes = sum(kind_of(new.draft.current).writes(new.draft.current) for _, _, new in summary.new)
    return (
        replace(
            found, known=found.known + summary.known, again=again, secrets=summary.secrets, writes=writes
        ),
        len(cassettes) + len(left),
    )


def _told_apart(
    cassettes: Mapping[str, vcr.Cassette], answers: Mapping[int, vcr.RecordedAnswer], left: list[LeftOut]
) -> tuple[dict[str, ImportedFile], int]:
    """The drafts of all files, each request once: a baseline holds one answer. How many came again."""
    first: dict[str, tuple[Place, vcr.RecordedAnswer]] = {}
    files: dict[str, ImportedFile] = {}
    again = 0
    for file, cassette in cassettes.items():
        kept = []
        for draft in cassette.imported.drafts:
            answer = answers[id(draft.current)]
            place, known = first.setdefault(canonical(draft.current), (Place(file, draft.line), answer))
            if known is answer:
                kept.append(draft)
            elif (known.response.status, known.response.body) == (
                answer.response.status,
                answer.response.body,
            ):
                again += 1
            else:
                message = f"{draft.id}: the request of {place}, answered otherwise"
                left.append(LeftOut(draft.line, message, "a baseline holds one answer: the first", file))
        files[file] = replace(cassette.imported, drafts=tuple(kept))
    return files, again


def _record_of(draft: DraftRecipe) -> dict[str, Any]:
    return {"id": draft.id, "current": draft.current, "comparison": {}, "metadata": {}}


@frozen
class _Playing:
    """Answers the requests of cassettes with what was recorded."""

    summary: ImportSummary
    options: CaptureOptions
    clients: Clients
    moment: str

    def stored(
        self, new: NewBaseline, answer: vcr.RecordedAnswer
    ) -> tuple[tuple[str, dict[str, Json]], Sequence[str]]:
        """The file of a baseline and its record, and what there is to say of it. A body that is not what its
        type says is read as a text."""
        try:
            return self.stored_as_read(new, answer)
        except CannotReplay as error:
            current = new.record["current"]
            execution = {**current["execution"], "parse": "text"}
            if "parse" in current["execution"]:
                raise
            record = {**new.record, "current": {**current, "execution": execution}}
            try:
                moved, notes = self.stored_as_read(
                    new_baseline(self.summary.project, record, self.options), answer
                )
            except BaselinekitError:
                raise error from None
            return moved, (*notes, f"{error.problems[0].message}: read as a text, `parse: text`")

    def stored_as_read(
        self, new: NewBaseline, answer: vcr.RecordedAnswer
    ) -> tuple[tuple[str, dict[str, Json]], Sequence[str]]:
        project = self.summary.project
        clients = replace(self.clients, send=lambda request: answer.response)
        observation = observe(new.draft.current, project.setting(new.folder, clients))
        refuse_troubles(new.draft, observation, self.options)
        templating = Templating(project.words_of(new.draft).scope)
        output, hidden = hide_secrets(
            templating.template(observation.output), project.redactor, hide=True, allow=False
        )
        lesson = CaptureLesson(output)
        mapping: dict[str, Json] = {"output": output, "captured_at": answer.moment or self.moment}
        known = KnownGood(mapping, 0.0, (), 1, lesson)
        record, told = completed_record(project, new.draft, new.record, None, known)
        compile_baseline(parse_record(record, project.root), project.words_of(new.draft))
        writing.check_names(new.draft.id, new.group)
        notes = (*templating.notes(), *describe_hidden(hidden), *observation.notes, *told)
        return (f"{new.folder}/{new.draft.id}.yaml", record), notes


def write_moved(moved: MovedIn, files: Sequence[MovedBaseline], overwrite: bool) -> Iterator[str]:
    """Write them, and say which is written."""
    project = moved.project
    for one in files:
        folder = os.path.dirname(one.file)
        schema = writing.reference(project.root, folder)
        is_new = not (overwrite and one.file in moved.there)
        writing.write_file(
            one.record, one.file, project.root, project.config.inline_limit, schema, new=is_new
        )
        yield one.file
