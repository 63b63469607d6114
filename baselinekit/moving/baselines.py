"""What other pytest tools keep, as baselines: what a run compared with snapshots becomes values of tests,
cassettes become answers to requests, and no request is sent."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from baselinekit.clients.trust import check_inside
from baselinekit.commands import capture
from baselinekit.commands.capture import CaptureOptions, NewBaseline
from baselinekit.commands.importing import summarize
from baselinekit.commands.judging import observe
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, Place
from baselinekit.files.languages import JSON
from baselinekit.importers.drafts import DraftRecipe, ImportChoices, ImportedFile, SourceText
from baselinekit.kinds.pytest import file_of, id_of, new_record
from baselinekit.kinds.settings import Clients
from baselinekit.kinds.table import kind_of
from baselinekit.learning.templating import OutputTemplater, single_element_arrays
from baselinekit.matching.dispatch import compile_baseline
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.moving import vcr
from baselinekit.secrets.variables import names_in
from baselinekit.store import atomic, writing
from baselinekit.store.reading import load_partly, parse_record
from baselinekit.structs import MutableStruct, Struct, field, replace
from baselinekit.suites.writing import Loss
from baselinekit.values.equality import canonical, same_json
from baselinekit.values.paths import render
from baselinekit.values.places import with_values
from baselinekit.values.texts import count_noun

PLUGIN = "baselinekit.pytest_plugin.taking"
OPTION = "--baseline-taken-to"
"""The plugin, and its option for the file where it writes them."""


class TakenValue(Struct):
    """One compared value. `code`: what the test compares it with; `file` and `line`: where it does; `output`:
    the value as a JSON text; `rules`: how it was compared; `lost`: why it cannot be kept."""

    code: str
    name: str | None
    file: str
    line: int
    output: str = "null"
    placeholders: tuple[tuple[Path, str], ...] = ()
    rules: Mapping[str, Json] = field(default_factory=dict)
    lost: str = ""


class TakenTest(Struct):
    """A test that compared values, or asked for a fixture that does. `name`: its node id without the file."""

    file: str
    name: str
    line: int
    passed: bool
    values: tuple[TakenValue, ...]


PYTEST, VCR = "pytest", vcr.TITLE


class MovedBaseline(Struct):
    """A baseline that is to be written: its file, its record, and where it comes from."""

    file: str
    record: dict[str, Any]
    place: Place


class CodeChange(Struct):
    """A change to make in a test: what it compares a value with, and the name of that value if it has one."""

    place: Place
    code: str
    name: str | None

    @property
    def baseline(self) -> str:
        return "baseline" if self.name is None else f'baseline("{self.name}")'


class MovedIn(MutableStruct):
    """The baselines made from tests or files. `project`: with variables for the credentials found in
    cassettes; `new`: what is to be written, by its file; `known`: how many baselines exist already; `there`:
    the files of `new` that exist with other content; `changes`: those to make in the tests; `writes`: how
    many requests may write."""

    project: Project
    lost: list[tuple[Place, Loss]] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)
    new: dict[str, MovedBaseline] = field(default_factory=dict)
    known: int = 0
    there: list[str] = field(default_factory=list)
    changes: dict[CodeChange, None] = field(default_factory=dict)
    writes: int = 0

    def add(self, moved: MovedBaseline, notes: Iterable[str]) -> None:
        file, output = moved.file, moved.record["baseline"]["output"]
        self.notes |= dict.fromkeys(f"{file}: {text}" for text in notes)
        if (first := self.new.get(file)) is not None:
            if not same_json(first.record["baseline"]["output"], output):
                message = f"a second value for {file}: the first is from {first.place}"
                self.lose(moved.place, message, "give each value of a test a name of its own")
            return
        root = self.project.root
        if os.path.lexists(os.path.join(root, file)):
            stored = [one.baseline.output for one in load_partly([file], root)[0] if one.baseline is not None]
            if any(value is not ABSENT and same_json(value, output) for value in stored):
                self.known += 1
                return
            self.there.append(file)
        self.new[file] = moved

    def all_notes(self) -> Iterator[str]:
        yield from self.notes
        if self.writes:
            count = count_noun(self.writes, "request")
            yield f"{count} may write: compare sends them, as it sends the others"
        used = {name for one in self.new.values() for name in names_in(one.record["current"])}
        names = sorted(used & {*self.project.scope.secrets} - {*self.project.config.variables})
        if names:
            variables = ", ".join(f"{{{{{name}}}}}" for name in names)
            yield f"credentials became {variables}: baselinekit compare --secret {names[0]} gives a value"

    def lose(self, place: Place, message: str, hint: str) -> None:
        self.lost.append((place, Loss(message, hint)))


def moved_values(project: Project, tests: Sequence[TakenTest], moment: str) -> MovedIn:
    """Turn the values that tests compared into baseline files of the plugin."""
    moved = MovedIn(project)
    root = os.path.realpath(project.root)
    for test in tests:
        file = os.path.relpath(test.file, root)
        node = f"{file}::{test.name}"
        if not test.passed:
            message = f"{test.name}: it did not pass, so that its values are not known to be good"
            moved.lose(Place(file, test.line), message, "make it pass, and convert again")
            continue
        # without those that a loop compared again
        for value in {(value.name, value.output, value.lost): value for value in test.values}.values():
            place = Place(os.path.relpath(value.file, root), value.line)
            label = f"{test.name} {value.name}" if value.name else test.name
            if value.lost:
                moved.lose(place, f"{label}: {value.lost}", "")
                continue
            try:
                check_inside(root, test.file, test.file)
                moved.add(*_value_baseline(project, node, value, place, moment))
            except BaselinekitError as error:
                moved.lose(place, f"{label}: {error.problems[0].message}", error.problems[0].hint)
            else:
                moved.changes[CodeChange(place, value.code, value.name)] = None
    return moved


def _value_baseline(
    project: Project, test: str, value: TakenValue, place: Place, moment: str
) -> tuple[MovedBaseline, Iterable[str]]:
    """Return the baseline that the plugin would write for a value, with the rules it was compared by."""
    folder = project.folders[0].rstrip("/")
    file = file_of(test, value.name, folder)
    templating = OutputTemplater(project.scope)
    (output,) = JSON.load(value.output, str(place))
    placeholders = dict(value.placeholders)
    stored = with_values(templating.template(output), placeholders)
    is_bytes = isinstance(stored, dict) and stored.keys() == {"base64"}  # no text that could be a token
    stored, hidden = capture.hide_secrets(stored, project.redactor, hide=not is_bytes, allow=is_bytes)
    singles = [render(path) for path in single_element_arrays(stored)] if placeholders else []
    rules = dict(value.rules) | ({"arrays": dict.fromkeys(singles, "ordered")} if singles else {})
    record = new_record(id_of(file, folder), test, value.name, stored, moment, rules)
    baseline = parse_record(record)
    compile_baseline(baseline, project.words_of(baseline))
    loose = [render(path) for path, text in placeholders.items() if text == "<<any>>"]
    notes = [f"{path} becomes <<any>>, and anything passes there" for path in loose]
    return MovedBaseline(file, record, place), (*notes, *templating.notes(), *capture.describe_hidden(hidden))


# Cassettes: each request with its answer, as a capture stores it.


def moved_cassettes(
    project: Project, texts: Mapping[str, str], choices: ImportChoices, clients: Clients, moment: str
) -> tuple[MovedIn, int]:
    """Turn the interactions of cassettes into baseline files as a capture writes them; also return how many
    of the files were cassettes."""
    files: dict[str, ImportedFile] = {}
    firsts: dict[str, tuple[Place, vcr.RecordedAnswer]] = {}
    lost: list[tuple[Place, Loss]] = []
    broken = 0
    for file, text in texts.items():
        try:
            cassette = vcr.read(SourceText(file, text), choices)
        except BaselinekitError as error:
            problem = error.problems[0]
            lost.append((problem.place or Place(file), Loss(problem.message, problem.hint)))
            broken += 1
            continue
        if cassette is None:
            continue
        drafts = []
        for draft, answer in zip(cassette.imported.drafts, cassette.answers, strict=True):
            at = Place(file, draft.line)
            place, first = firsts.setdefault(canonical(draft.current), (at, answer))
            if first is answer:
                drafts.append(draft)
            elif replace(first.response, headers=answer.response.headers) != answer.response:
                hint = "a baseline holds one answer: the first"
                lost.append((at, Loss(f"{draft.id}: the request of {place}, answered otherwise", hint)))
        files[file] = replace(cassette.imported, drafts=tuple(drafts))
    options = CaptureOptions(allow_error_status=True, allow_empty=True, hide_secrets=True, exact=True)

    def record_of(draft: DraftRecipe) -> dict[str, Any]:
        return {"id": draft.id, "current": draft.current, "comparison": {}, "metadata": {}}

    summary = summarize(project, files, record_of, options)
    writes = sum(kind_of(new.draft.current).writes(new.draft.current) for new in summary.new)
    moved = MovedIn(summary.project, lost, known=summary.known, writes=writes)
    for problem in (problem for failure in summary.problems for problem in failure.problems):
        moved.lose(problem.place or Place(""), problem.message, problem.hint)
    for draft, new in zip(summary.drafts, summary.new, strict=True):
        place, answer = firsts[canonical(draft.current)]
        try:
            record, notes = _answered(summary.project, new, answer, options, clients, moment)
        except BaselinekitError as error:
            moved.lose(place, f"{new.draft.id}: {error.problems[0].message}", error.problems[0].hint)
        else:
            moved.add(MovedBaseline(f"{new.folder}/{new.draft.id}.yaml", record, place), notes)
    return moved, len(files) + broken


def _answered(
    project: Project,
    new: NewBaseline,
    answer: vcr.RecordedAnswer,
    options: CaptureOptions,
    clients: Clients,
    moment: str,
) -> tuple[dict[str, Json], Sequence[str]]:
    """Return the record of a baseline whose request is answered with what was recorded, and the notes on
    it."""
    setting = project.setting(new.folder, replace(clients, send=lambda request: answer.response))
    learnt = capture.learn_from(project, new, [observe(new.draft.current, setting)], options, clients.now())
    known: dict[str, Json] = {"output": learnt.lesson.output, "captured_at": answer.moment or moment}
    record, notes = capture.completed_record(project, learnt.new, known)
    writing.check_names(new.draft.id, os.path.basename(new.folder))
    return record, (*learnt.notes, *notes)


def write_moved(moved: MovedIn, overwrite: bool) -> None:
    root, limit = moved.project.root, moved.project.config.inline_limit
    for file, baseline in moved.new.items():
        schema = atomic.reference(root, os.path.dirname(file))
        is_new = not (overwrite and file in moved.there)
        writing.write_file(baseline.record, file, root, limit, schema, new=is_new)
