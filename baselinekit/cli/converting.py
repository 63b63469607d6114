"""Eval cases written in another form, also those of other tools; and what tests compare with snapshots, and
the cassettes of pytest plugins, as baselines."""

import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from baselinekit.cli import screen
from baselinekit.cli.clients import open_clients
from baselinekit.cli.convert_options import ConvertOptions
from baselinekit.cli.entry import clock
from baselinekit.cli.options import project_of, read_text
from baselinekit.clients.programs.process import deny_inspection, signal_group
from baselinekit.clients.trust import check_inside
from baselinekit.commands.context import Stop
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused
from baselinekit.files.languages import dump_yaml, yaml_flow
from baselinekit.importers.drafts import ImportChoices, SourceText
from baselinekit.model.values import Json
from baselinekit.moving import conversion as forms, vcr
from baselinekit.moving.baselines import (
    OPTION,
    PLUGIN,
    PYTEST,
    VCR,
    TakenTest,
    moved_cassettes,
    moved_values,
    write_moved,
)
from baselinekit.moving.reading import DraftEvals, EvalFiles
from baselinekit.store.project import MAX_OUTPUT_BYTES, limits_of, read
from baselinekit.store.reading import locate_each
from baselinekit.store.results import check_place, write_text
from baselinekit.structs import Struct, convert, replace
from baselinekit.suites.writing import CaseReader, Loss, WriteRequest
from baselinekit.values.texts import count_noun


def convert_evals(options: ConvertOptions) -> int:
    """Write eval cases in another form; the content of the file decides which reader is used."""
    path, project = options.paths[0], project_of(options.project)
    today = datetime.fromtimestamp(clock()(), UTC).strftime("%Y-%m-%d")
    draft, form = _draft(path, options, project), forms.FORMS[options.to or "cases"]
    stem = forms.stem_of(path)
    if draft is not None and stem in ("promptfooconfig", "evals", "cases"):
        stem = draft.name
    place = forms.name_of_place(project.root, _typed_place(options, form, project, stem))
    reader = CaseReader(project.root, project.fetch_file, project.targets, project.redactor.mask_said)
    if draft is None:
        conversion = forms.convert_suite(forms.name_of_place(project.root, path), reader, form, place, today)
    else:
        conversion = forms.import_draft(draft, path, WriteRequest((), reader, stem, today=today), form, place)
    lost = [*_placed_losses(conversion.lost, project)]
    files = dict(conversion.files)
    if files and lost:
        first = next(iter(files))
        title = f"From {_shown(path)}. Not carried over:"
        comment = "".join(f"# {line}\n" for line in (title, *(f"  {_line(*one)}" for one in lost)))
        files[first] = screen.redact(comment) + files[first]

    def write() -> None:
        for name in files:
            check_place(os.path.join(project.root, name))
        for name, text in files.items():
            write_text(os.path.join(project.root, name), text)

    first_file = _shown(os.path.join(project.root, next(iter(files), "")))
    return Delivery(
        texts=files,
        existing=[name for name in files if os.path.lexists(os.path.join(project.root, name))],
        lost=lost,
        count=count_noun(conversion.count, "case"),
        notes=[*conversion.notes, *_notes_on_secrets(files)],
        after=[*_models_to_declare(project, draft.models if draft is not None else {})],
        next=f"baselinekit run {first_file} --list",
        facts={"to": form.name, "cases": conversion.count},
        write=write,
    ).deliver(options, project)


def _draft(path: str, options: ConvertOptions, project: Project) -> DraftEvals | None:
    """The draft read from a file of another tool; None for a file or folder of our own."""
    if not os.path.exists(path):
        raise InvalidInput(Problem("BK776", f"there is no {path}", "name an eval file or a prompt folder"))
    folder, root = os.path.realpath(os.path.dirname(path) or "."), os.path.realpath(project.root)

    def read(reference: str) -> str:
        target = os.path.realpath(os.path.join(folder, reference))
        check_inside(root, target, reference)
        if not os.path.isfile(target):
            raise InvalidInput(Problem("BK111", "there is no such file", "correct the reference"))
        return read_text("convert", target, "a text")

    def fitting(pattern: str) -> Sequence[str]:
        prefix = re.sub(r"(?s)[*?\[].*", "", pattern)
        if os.pardir in pattern.removeprefix(prefix).split("/"):
            return ()
        try:
            check_inside(root, os.path.realpath(os.path.join(folder, os.path.dirname(prefix))), pattern)
        except Refused:
            return ()
        return sorted(glob.glob(pattern, root_dir=folder, recursive=True))

    if os.path.isfile(path):
        source = SourceText(path, read_text("convert", path, "an eval file"))
        if (draft := forms.read_draft(source, EvalFiles(read, fitting))) is not None:
            return draft
        if options.to is None:
            _ = source.value  # what cannot be read is reported as that
    if options.to is None:
        hint = f"if it is of this project, name the form to write: baselinekit convert {path} --to eva"
        raise InvalidInput(Problem("BK776", f"{path} is no file of promptfoo and no evals.json", hint))
    return None


def _typed_place(options: ConvertOptions, form: forms.WrittenForm, project: Project, stem: str) -> str:
    """The file for the cases: the typed path, or by default one named after the source, in the same folder
    below the folder of evals or prompts: files of one name in several folders stay apart."""
    if options.output is not None:
        is_folder = form.is_folder or os.path.isdir(options.output)
        return (
            os.path.join(options.output, os.path.basename(form.place(stem))) if is_folder else options.output
        )
    source = os.path.relpath(os.path.realpath(options.paths[0]), os.path.realpath(project.root))
    top, *folders = os.path.dirname(source).split(os.sep)
    if folders[-1:] == [stem]:  # a file that is called as its folder
        folders.pop()
    name = os.path.join(*folders, stem) if top in ("evals", "prompts") else stem
    if form.place(name) == source:
        name = f"{name}.{form.name}"
    return os.path.join(project.root, form.place(name))


def _shown(path: str) -> str:
    return os.path.relpath(path) if os.path.isabs(path) else path


Placed = tuple[str, Loss]
"""Something that does not carry over, with its place, which may be empty."""


def _line(place: str, loss: Loss) -> str:
    return screen.safe_line(f"{place}: {loss}" if place else str(loss))


def _placed_losses(losses: Sequence[Loss], project: Project) -> Iterator[Placed]:
    """What is lost, each with its place; every file is read only once."""
    sources = {id(loss.case): loss.case.source for loss in losses if loss.case is not None}
    found = locate_each([(source, [()]) for source in sources.values()], project.root)
    places = {case: replace(place, column=None) for case, (place,) in zip(sources, found, strict=True)}
    for loss in losses:
        place = places.get(id(loss.case)) if loss.place is None else loss.place
        shown_place = "" if place is None else str(replace(place, file=_shown(place.file)))
        yield shown_place, loss


def _models_to_declare(project: Project, models: Mapping[str, Json]) -> Iterator[str]:
    """The models that the cases use but the configuration does not declare."""
    missing = {name: entry for name, entry in models.items() if name not in project.config.models}
    if missing:
        yield "baselinekit.yaml has to name whom they ask, below `models:`"
    for name, entry in missing.items():
        yield f"  {name}: {yaml_flow(entry) if entry is not None else '{…}'}"
    known = {*project.config.variables, *project.scope.secrets}
    keys = dict.fromkeys(str(entry["key"]) for entry in missing.values() if entry and "key" in entry)
    if keys.keys() - known:
        yield "and where the keys come from, below `variables:`"
    for key in keys:
        if key not in known:
            variable = f"{key.removesuffix('_key').upper()}_API_KEY"
            yield f"  {key}: {yaml_flow({'from_env': variable, 'secret': True})}"


def _notes_on_secrets(files: Mapping[str, str]) -> Iterator[str]:
    for name, text in files.items():
        lines = zip(text.split("\n"), screen.redact(text).split("\n"), strict=False)
        masked = (number for number, (original, redacted) in enumerate(lines, 1) if original != redacted)
        if (number := next(masked, None)) is not None:
            yield f"{name}:{number} holds what looks like a secret: take it out before you commit it"


# What was converted, written and shown.

_MAX_SHOWN = 10


class Delivery(Struct):
    """`texts`: the text of each file that is to be written; `existing`: those that are there with other
    content; `count`: of what is carried over; `known`: how many are there already; `after`: what else people
    have to do; `facts`: for --json."""

    texts: Mapping[str, str]
    existing: Sequence[str]
    lost: Sequence[Placed]
    count: str
    notes: Sequence[str]
    after: Sequence[str]
    next: str
    facts: Mapping[str, Json]
    write: Callable[[], None]
    known: int = 0
    also: str = ""

    def deliver(self, options: ConvertOptions, project: Project) -> int:
        is_stopped = bool(self.lost) and not (options.partial and (self.texts or self.known))
        if self.existing and not (is_stopped or options.overwrite or options.dry_run):
            hint = "keep it, or replace it with --overwrite"
            problems = (Problem("BK775", "it is there already", hint, Place(name)) for name in self.existing)
            raise InvalidInput(*problems)
        if not (is_stopped or options.dry_run):
            self.write()
        if options.as_json:
            lost: list[Json] = [
                {"what": loss.message, "hint": loss.hint, "at": place}
                | ({"case": loss.case.id} if loss.case is not None else {})
                for place, loss in self.lost
            ]
            names = [] if is_stopped else [*self.texts]
            written = ([], names) if options.dry_run else (names, [])
            places = dict(zip(("written", "would_write"), written, strict=True))
            document = {**self.facts, **places, "lost": lost, "notes": [*self.notes]}
            screen.show_json(json.dumps(document) + "\n")
        else:
            self._show(options, project, is_stopped)
        return 2 if is_stopped else 0

    def _show(self, options: ConvertOptions, project: Project, is_stopped: bool) -> None:
        if options.dry_run and not is_stopped:
            for name, text in self.texts.items():
                screen.line(screen.safe_line(f"--- {name}"))
                screen.line(screen.safe(text.removesuffix("\n")))
        elif not is_stopped:
            names = [_shown(os.path.join(os.path.abspath(project.root), name)) for name in self.texts]
            folders = Counter(map(os.path.dirname, names))
            many = [f"{count_noun(count, 'file')} in {folder}" for folder, count in folders.items()]
            for name in names if len(names) <= _MAX_SHOWN else many:
                screen.line(screen.safe_line(f"wrote {name}"))
        if not is_stopped:
            verb = "would be carried over" if options.dry_run else "carried over"
            screen.line(f"{self.count} {verb}{self.also}")
            for note in self.notes:
                screen.line(screen.safe_line(f"note: {note}"))
        if self.lost:
            screen.line(f"{count_noun(len(self.lost), 'thing')} not carried over:", err=is_stopped)
            for line in screen.first_lines([_line(*one) for one in self.lost]):
                screen.line(f"  {line}", err=is_stopped)
        if is_stopped:
            hint = ": --partial writes the rest" if self.texts else ""
            screen.line(f"nothing was written{hint}", err=True)
            return
        for line in self.after:
            screen.line(screen.safe_line(line))
        if self.texts and not options.dry_run:
            screen.next_commands([screen.safe_line(self.next)])


# What tests compare with snapshots, and cassettes.

_SKIPPED_FOLDERS = (
    *(".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".tox", ".nox", ".baselinekit"),
    ".mypy_cache",
)
_MOST_LAST_LINES = 3
_EXIT_CODES = {
    2: "it was interrupted, or a file of tests cannot be imported",
    3: "an error within pytest or a plugin",
    4: "an option or a path that it does not take",
    5: "there is no test",
}
"""Why pytest ran no tests, by its exit code."""

_HINTS = {
    PYTEST: "name tests that do, as for pytest: a folder, a file or FILE::TEST",
    VCR: "name a folder with cassettes, such as tests/cassettes",
}


def move_in(options: ConvertOptions) -> int:
    """Take over what tests compare with snapshots, or cassettes, as baselines."""
    project, tool = project_of(options.project), options.tool or PYTEST
    moment = datetime.fromtimestamp(clock()(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if tool == PYTEST:
        moved = moved_values(project, _run_tests(project, options.paths), moment)
        is_empty = not (moved.new or moved.known or moved.lost)
        what = "no test compares a snapshot of syrupy, inline-snapshot or pytest-regressions"
    else:
        base_url = project.override_base_url or project.base_url
        known = frozenset((*project.scope.values, *project.scope.secrets))
        choices = ImportChoices(base_url=base_url, unsafe=True, known=known)
        with open_clients(clock(), None, Stop()) as context:
            texts = dict(_cassettes(project, options.paths))
            moved, seen_count = moved_cassettes(project, texts, choices, context.clients, moment)
        is_empty, what = not seen_count, "nothing of vcr there"
    if is_empty:
        raise InvalidInput(Problem("BK776", f"{' '.join(options.paths)}: {what}", _HINTS[tool]))
    in_order = sorted(moved.lost, key=lambda item: (item[0].file, item[0].line or 0))
    lost = [(str(place._replace(column=None)), loss) for place, loss in in_order]
    names = [*moved.new]
    after = [f"in the tests, {_usual_change(code)}" for code in {change.code: 0 for change in moved.changes}]
    named = [change for change in moved.changes if change.name is not None]
    after += [f"  {change.place}: {change.code} → {change.baseline}" for change in named[:_MAX_SHOWN]]
    if len(named) > _MAX_SHOWN:
        after.append(f"  … and {len(named) - _MAX_SHOWN:,} more: --dry-run --json lists all")
    if tool == PYTEST:
        next_command = (
            f"pytest {' '.join([*dict.fromkeys(change.place.file for change in moved.changes)][:3])}"
        )
    else:
        next_command = f"baselinekit compare {os.path.commonpath(list(map(os.path.dirname, names)) or ['.'])}"
    changes = [
        {"at": str(change.place), "old": change.code, "new": change.baseline} for change in moved.changes
    ]
    also = f", {moved.known:,} there already" if moved.known else ""
    return Delivery(
        texts={name: dump_yaml(one.record) if options.dry_run else "" for name, one in moved.new.items()},
        existing=moved.there,
        lost=lost,
        count=count_noun(len(names), "answer" if tool == VCR else "value"),
        notes=[*moved.all_notes()],
        after=after,
        next=next_command,
        facts={"from": tool, "there_already": moved.known, "changes": changes},
        write=lambda: write_moved(moved, options.overwrite),
        known=moved.known,
        also=also + (f", {moved.again:,} recorded again" if moved.again else ""),
    ).deliver(options, project)


def _usual_change(code: str) -> str:
    if code.startswith("snapshot"):
        return f"`== {code}` becomes `== baseline`"
    return f"`{code.replace('…', 'value')}` becomes `assert value == baseline`"


def _run_tests(project: Project, paths: Sequence[str]) -> list[TakenTest]:
    """Run the user's tests with the plugin that records what they compare; their output goes to standard
    error. The file of the plugin holds the values in clear text: it is in a folder of ours, and removed."""
    root = os.path.realpath(project.root)
    named = []
    for path in paths:
        file, colons, test = path.partition("::")
        check_inside(root, os.path.realpath(file), file)
        if not os.path.exists(file):
            raise InvalidInput(Problem("BK776", f"there is no {file}", _HINTS[PYTEST]))
        named.append(f"{os.path.realpath(file)}{colons}{test}")
    with tempfile.TemporaryDirectory() as folder:
        taken = os.path.join(folder, "taken.json")
        exit_code, last_lines = _run_pytest([*named, "-p", PLUGIN, f"{OPTION}={taken}"], root)
        if exit_code not in (0, 1) or not os.path.exists(taken):
            reason = _EXIT_CODES.get(exit_code, "it ended before the tests did")
            end = "; ".join(line.strip("=!_- ") for line in last_lines)
            message = f"pytest did not run the tests (exit code {exit_code}, {reason}): {end}"
            raise InvalidInput(Problem("BK776", message, "make them run with pytest first"))
        with open(taken, encoding="utf-8") as text:
            return convert(json.load(text), list[TakenTest])


def _run_pytest(words: Sequence[str], root: str) -> tuple[int, list[str]]:
    """Return its exit code and the last lines that it wrote. A Ctrl-C ends it with all that it started."""
    deny_inspection()
    lines = deque[str](maxlen=_MOST_LAST_LINES)
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "pytest", *words],
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            for data in process.stdout or ():
                line = data.decode("utf-8", "replace").rstrip()
                screen.line(screen.safe(line), err=True)
                lines += [line.strip()] if line else []
        except BaseException:
            signal_group(process, signal.SIGKILL)
            raise
    return process.returncode, [*lines]


def _cassettes(project: Project, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The files below the paths that may be cassettes, from the project's root, and their texts."""
    root = os.path.realpath(project.root)
    files: dict[str, None] = {}
    limit = limits_of(root).files
    for path in paths:
        full_path = os.path.realpath(path)
        check_inside(root, full_path, path)
        if not os.path.exists(full_path):
            raise InvalidInput(Problem("BK776", f"there is no {path}", _HINTS[VCR]))
        files |= {os.path.relpath(full_path, root): None} if os.path.isfile(full_path) else {}
        for above, folders, names in os.walk(full_path):  # links to folders are not followed
            folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
            files |= {os.path.relpath(os.path.join(above, name), root): None for name in sorted(names)}
            if len(files) > limit:
                message = f"more than {limit:,} files below {path}"
                raise InvalidInput(Problem("BK106", message, "name a folder with fewer"))
    for file in files:
        with suppress(UnicodeDecodeError, BaselinekitError):  # no text, or a link out of the project
            text = read(project.root, file, MAX_OUTPUT_BYTES).decode("utf-8-sig")
            if vcr.recognises(file, text):
                yield file, text
