"""Eval cases written in another form, also those of other tools."""

import glob
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property

from baselinekit.cli import screen
from baselinekit.cli.convert_options import ConvertOptions
from baselinekit.cli.entry import clock
from baselinekit.cli.options import (
    project_of,
    read_text,
)
from baselinekit.clients.trust import check_inside
from baselinekit.commands.project import Project
from baselinekit.errors import InvalidInput, Place, Problem, Refused
from baselinekit.files.languages import yaml_flow
from baselinekit.importers.drafts import SourceText
from baselinekit.importers.evaldrafts import DraftEvals, EvalFiles
from baselinekit.importers.table import eval_importer_of
from baselinekit.model.values import Json
from baselinekit.store.reading import locate_each
from baselinekit.store.results import check_place, write_text
from baselinekit.structs import replace
from baselinekit.suites.writing.conversion import (
    FORMS,
    Conversion,
    WrittenForm,
    convert_suite,
    import_draft,
    name_of_place,
    stem_of,
)
from baselinekit.suites.writing.sayings import CaseReader, Loss, WriteRequest
from baselinekit.values.texts import count_noun


def convert_evals(options: ConvertOptions) -> int:
    """Write eval cases in another form; the content of the file decides which reader is used."""
    path, project = options.paths[0], project_of(options.project)
    today = datetime.fromtimestamp(clock()(), UTC).strftime("%Y-%m-%d")
    draft = _draft(path, project)
    if draft is None and options.to is None:
        if os.path.isfile(path):
            _ = SourceText(path, read_text("convert", path, "an eval file")).value
        hint = f"if it is of this project, name the form to write: baselinekit convert {path} --to eva"
        raise InvalidInput(Problem("BK776", f"{path} is no file of promptfoo and no evals.json", hint))
    form = FORMS[options.to or "cases"]
    reader = CaseReader(project.root, project.fetch_file, project.targets, project.redactor.mask_said)
    stem = stem_of(options.paths[0]) if draft is None else _draft_stem(draft, options.paths[0])
    place = name_of_place(project.root, _typed_place(options, form, project, stem))
    if draft is None:
        source = name_of_place(project.root, options.paths[0])
        conversion = convert_suite(source, reader, form, place, today)
    else:
        wish = WriteRequest((), reader, stem, today=today)
        conversion = import_draft(draft, options.paths[0], wish, form, place)
    return _Delivery(options, project, form, conversion, draft).deliver()


def _draft_stem(draft: DraftEvals, path: str) -> str:
    stem = stem_of(path)
    return draft.name if stem in ("promptfooconfig", "evals", "cases") else stem


def _typed_place(options: ConvertOptions, form: WrittenForm, project: Project, stem: str) -> str:
    """The file for the cases: the typed path, or by default one named after the source, in the same folder
    below the folder of evals or prompts: files of one name in several folders stay apart."""
    if options.output is None:
        source = os.path.relpath(os.path.realpath(options.paths[0]), os.path.realpath(project.root))
        top, *folders = os.path.dirname(source).split(os.sep)
        if folders[-1:] == [stem]:  # a file that is called as its folder
            folders.pop()
        name = os.path.join(*folders, stem) if top in ("evals", "prompts") else stem
        if form.place(name) == source:
            name = f"{name}.{form.name}"
        return os.path.join(project.root, form.place(name))
    if form.is_folder:
        return os.path.join(options.output, os.path.basename(form.place(stem)))
    if os.path.isdir(options.output):
        return os.path.join(options.output, os.path.basename(form.place(stem)))
    return options.output


def _draft(path: str, project: Project) -> DraftEvals | None:
    """The draft read from a file of another tool; None for a file of our own."""
    if not os.path.isfile(path):
        if not os.path.exists(path):
            raise InvalidInput(
                Problem("BK776", f"there is no {path}", "name an eval file or a prompt folder")
            )
        return None
    source = SourceText(path, read_text("convert", path, "an eval file"))
    importer = eval_importer_of(source)
    if importer is None:
        return None
    folder = os.path.realpath(os.path.dirname(path) or ".")

    def read(reference: str) -> str:
        target = os.path.realpath(os.path.join(folder, reference))
        check_inside(os.path.realpath(project.root), target, reference)
        if not os.path.isfile(target):
            raise InvalidInput(Problem("BK111", "there is no such file", "correct the reference"))
        return read_text("convert", target, "a text")

    def fitting(pattern: str) -> Sequence[str]:
        prefix = re.sub(r"(?s)[*?\[].*", "", pattern)
        if os.pardir in pattern.removeprefix(prefix).split("/"):
            return ()
        start = os.path.realpath(os.path.join(folder, os.path.dirname(prefix)))
        try:
            check_inside(os.path.realpath(project.root), start, pattern)
        except Refused:
            return ()
        return sorted(glob.glob(pattern, root_dir=folder, recursive=True))

    return importer.read(source, EvalFiles(read, fitting))


class _Delivery:
    """Writes a conversion to files, and prints what it did."""

    def __init__(
        self,
        options: ConvertOptions,
        project: Project,
        form: WrittenForm,
        conversion: Conversion,
        draft: DraftEvals | None,
    ):
        self._options, self._project, self._form = options, project, form
        self._conversion, self._draft = conversion, draft

    def deliver(self) -> int:
        options, conversion = self._options, self._conversion
        files = dict(self.files()) if options.partial or not conversion.lost else {}
        existing = [name for name in files if os.path.lexists(os.path.join(self._project.root, name))]
        if existing and not (options.overwrite or options.dry_run):
            hint = "choose another place with -o, or replace it with --overwrite"
            raise InvalidInput(
                *(Problem("BK775", "it is there already", hint, Place(name)) for name in existing)
            )
        if not options.dry_run:
            for name in files:
                check_place(os.path.join(self._project.root, name))
            for name, text in files.items():
                write_text(os.path.join(self._project.root, name), text)
        if options.as_json:
            screen.show_json(json.dumps(self.document(files)) + "\n")
        else:
            self.print_files(files)
        return 0 if files else 2

    def files(self) -> Iterator[tuple[str, str]]:
        """The files; the one with the cases starts with a comment on what is lost."""
        header = "".join(
            f"# {line}\n"
            for line in (
                f"From {self.shown(self._options.paths[0])}. Not carried over:",
                *(f"  {text}" for text in self.lost_lines()),
            )
        )
        header = screen.redact(header)
        for number, (name, text) in enumerate(self._conversion.files.items()):
            yield name, header + text if number == 0 and self._conversion.lost else text

    def lost_lines(self) -> list[str]:
        lines = (f"{place}: {lost}" if place else str(lost) for place, lost in self.lost_places)
        return [screen.safe_line(line) for line in lines]

    @cached_property
    def lost_places(self) -> list[tuple[str, Loss]]:
        """What is lost, each with its place; every file is read only once."""
        sources = {id(lost.case): lost.case.source for lost in self._conversion.lost if lost.case is not None}
        places = locate_each([(source, [()]) for source in sources.values()], self._project.root)
        case_places = {
            case: str(replace(place, column=None)) for case, (place,) in zip(sources, places, strict=True)
        }
        return [
            (
                case_places.get(id(lost.case), "")
                if lost.place is None
                else str(replace(lost.place, file=self.shown(lost.place.file))),
                lost,
            )
            for lost in self._conversion.lost
        ]

    def shown(self, path: str) -> str:
        return os.path.relpath(path) if os.path.isabs(path) else path

    def print_files(self, files: Mapping[str, str]) -> None:
        conversion, options = self._conversion, self._options
        if options.dry_run:
            for name, text in files.items():
                screen.line(screen.safe_line(f"--- {name}"))
                screen.line(screen.safe(text.removesuffix("\n")))
        else:
            for name in files:
                screen.line(
                    screen.safe_line(f"wrote {os.path.relpath(os.path.join(self._project.root, name))}")
                )
        if files:
            verb = "would be carried over" if options.dry_run else "carried over"
            screen.line(f"{count_noun(conversion.count, 'case')} {verb}")
            for note in self.notes(files):
                screen.line(screen.safe_line(f"note: {note}"))
        if conversion.lost:
            screen.line(f"{count_noun(len(conversion.lost), 'thing')} not carried over:", err=not files)
            for text in screen.first_lines(self.lost_lines()):
                screen.line(f"  {text}", err=not files)
        if not files:
            hint = ": --partial writes the rest" if conversion.files else ""
            screen.line(f"nothing was written{hint}", err=True)
            return
        self.print_models()
        if not options.dry_run:
            first = os.path.relpath(os.path.join(self._project.root, next(iter(files))))
            screen.next_commands([f"baselinekit run {screen.safe_line(first)} --list"])

    def notes(self, files: Mapping[str, str]) -> Iterator[str]:
        """Notes about rewordings, and about texts that look like secrets."""
        yield from self._conversion.notes
        for name, text in files.items():
            lines = zip(text.split("\n"), screen.redact(text).split("\n"), strict=False)
            masked = [number for number, (original, redacted) in enumerate(lines, 1) if original != redacted]
            if masked:
                yield f"{name}:{masked[0]} holds what looks like a secret: take it out before you commit it"

    def print_models(self) -> None:
        """Print the models that the cases use but the configuration does not declare."""
        declared = self._project.config.models
        models = self._draft.models if self._draft is not None else {}
        missing = {name: entry for name, entry in models.items() if name not in declared}
        if not missing:
            return
        screen.line("baselinekit.yaml has to name whom they ask, below `models:`")
        for name, entry in missing.items():
            entry_text = yaml_flow(entry) if entry is not None else "{…}"
            screen.line(screen.safe_line(f"  {name}: {entry_text}"))
        known_keys = {*self._project.config.variables, *self._project.scope.secrets}
        needed_keys = [
            str(entry["key"]) for entry in missing.values() if isinstance(entry, dict) and "key" in entry
        ]
        keys = [key for key in dict.fromkeys(needed_keys) if key not in known_keys]
        if keys:
            screen.line("and where the keys come from, below `variables:`")
        for key in keys:
            variable = f"{key.removesuffix('_key').upper()}_API_KEY"
            line = f"  {key}: {yaml_flow({'from_env': variable, 'secret': True})}"
            screen.line(screen.safe_line(line))

    def document(self, files: Mapping[str, str]) -> dict[str, Json]:
        lost = [
            {"what": item.message, "hint": item.hint, "at": place}
            | ({"case": item.case.id} if item.case is not None else {})
            for place, item in self.lost_places
        ]
        written = [] if self._options.dry_run else [*files]
        result: dict[str, Json] = {
            "to": self._form.name,
            "written": written,
            "cases": self._conversion.count,
        }
        return result | {"lost": lost, "notes": [*self.notes(files)]}
