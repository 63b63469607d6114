"""`baselinekit convert`: eval files, prompt folders, snapshots and cassettes in another form."""

import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import partial

import click

from baselinekit.cli import options as cli, screen
from baselinekit.cli.clients import asking, open_clients, timestamps
from baselinekit.cli.entry import INTERRUPTED, clock
from baselinekit.clients.programs.process import deny_inspection, signal_group
from baselinekit.clients.trust import check_inside
from baselinekit.commands.context import Stop
from baselinekit.commands.executor import in_threads
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused, describe_exit
from baselinekit.evals.selection import resolve_path, resolve_path_or_prompt
from baselinekit.files.languages import dump_yaml, yaml_flow
from baselinekit.files.text import decode
from baselinekit.importers.drafts import ImportChoices, SourceText
from baselinekit.model.baselines import Source
from baselinekit.model.prompts import PromptFolder
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
from baselinekit.report.wording import first_of
from baselinekit.store.atomic import STATE_FOLDER, edit_text
from baselinekit.store.project import INPUTS, MAX_OUTPUT_BYTES, limits_of, read
from baselinekit.store.reading import locate, locate_each
from baselinekit.store.results import check_place, write_text
from baselinekit.structs import Struct, convert as as_structs, replace
from baselinekit.suites.promptfolders import as_skill, folders_below
from baselinekit.suites.writing import CaseReader, Loss, WriteRequest
from baselinekit.values.texts import count_noun

SKILL, RUBRICS = "skill", "rubrics"


_OF_RUBRICS = (
    *("model", "targets", "check", "jobs", "verbose"),
    *(field.name for field in fields(cli.RecordingOptions)),
)


@dataclass
class ConvertOptions:
    """Write what is in PATHS in another form: eval cases as a file of test cases (cases), a prompt folder
    (eva) or a file of AgentV (agentv); a prompt folder as a skill folder, which agents load (skill); rubrics
    for the cases of AgentV's files that have none, drafted by a model (rubrics).

    What another tool keeps is recognised by its content (a configuration of promptfoo, the evals.json of a
    skill), or named by --from. `--from pytest` runs your tests once and makes baselines of what they
    compare with snapshots of syrupy, inline-snapshot or pytest-regressions; you name the tests, so they need
    no --allow-exec. `--from vcr` makes baselines of cassettes, and runs nothing.

    \b
    baselinekit convert prompts/refactor --to cases        evals/refactor.yaml
    baselinekit convert evals/strings.yaml --to eva        prompts/strings/
    baselinekit convert promptfooconfig.yaml               evals/NAME.yaml
    baselinekit convert tests --from pytest                baselines/tests/…
    baselinekit convert refactor --to skill                skills/refactor/SKILL.md
    baselinekit convert evals/math.yaml --to rubrics

    What would be written is read again and compared with what it came from: whatever it does not say is
    listed with its line, and then nothing is written unless --partial wants it.

    \b
    Exit code: 0 it is written; 1 the prompt is not ready, or with --check cases have no rubrics;
    2 nothing was written: something does not carry over, cannot be read or is there;
    3 a case got no usable draft (the others are written).
    """

    paths: tuple[str, ...] = cli.argument(nargs=-1, required=True, metavar="PATH…")
    to: str | None = cli.option(
        type=click.Choice([*forms.FORMS, SKILL, RUBRICS]), help="The form [default for other tools: cases]."
    )
    tool: str | None = cli.option(
        "--from",
        type=click.Choice([PYTEST, VCR]),
        excludes=("to", "output", "force", *_OF_RUBRICS),
        help="Snapshots of tests, which it runs, or cassettes.",
    )
    output: str | None = cli.option(
        "-o", "--output", "PATH", help="A file, or the folder of a prompt or skills [default: by its name]."
    )
    partial: bool = cli.flag(help="Write what carries over, and list the rest in the file.")
    overwrite: bool = cli.flag(help="Replace files that are there.")
    dry_run: bool = cli.flag(help="Write nothing: print what would be written.")
    force: bool = cli.flag(help="Of a skill: also write a prompt that is not ready.")
    model: str = cli.option(
        "--model", "--target", "NAME", default="judge", help="Of rubrics: the model that drafts [judge]."
    )
    targets: str | None = cli.option("FILE", help="Of rubrics: the targets file [default: `targets:`].")
    check: bool = cli.flag(help="Of rubrics: ask no model and write nothing; exit 1 if any case has none.")
    jobs: int = cli.jobs_option("Of rubrics: how many at once.", 4)
    as_json: bool = cli.flag("--json", help="Print what was written, and what is lost, as JSON.")
    verbose: bool = cli.flag("-v", "--verbose", help="Of rubrics: every item, and which cases are skipped.")
    recording: cli.RecordingOptions = cli.including(cli.RecordingOptions)
    project: cli.ProjectOptions = cli.project_options()


@cli.command(ConvertOptions)
def convert(options: ConvertOptions) -> int:
    if options.tool is not None:
        return move_in(options, options.tool)
    if options.to == RUBRICS:
        refused = ("output", "partial", "overwrite", "as_json", "base_url", "force")
        cli.refuse_without_effect("a draft of rubrics", *refused)
        return draft_rubrics(options)
    if len(options.paths) > 1:
        message = f"one file or folder is converted at a time, and {len(options.paths)} are named"
        raise cli.misuse(message, "convert them by several commands")
    cli.refuse_without_effect("a conversion", "base_url", "allow_exec", *_OF_RUBRICS)
    if options.to == SKILL:
        cli.refuse_without_effect("a skill folder", "partial")
        return write_skill(options)
    cli.refuse_without_effect("eval cases", "force")
    return convert_evals(options)


def convert_evals(options: ConvertOptions) -> int:
    """Write eval cases in another form; the content of the file decides which reader is used."""
    path, project = options.paths[0], cli.project_of(options.project)
    today, _, _ = timestamps(clock())().partition("T")
    draft = _draft(path, options, project)
    form = forms.FORMS[options.to or "cases"]
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
    first_file = cli.path_from_here(project)(next(iter(files), ""))
    return Delivery(
        texts=files,
        write=partial(_write_texts, project.root, files),
        count=count_noun(conversion.count, "case"),
        existing=[name for name in files if os.path.lexists(os.path.join(project.root, name))],
        lost=lost,
        notes=[*conversion.notes, *_notes_on_secrets(files)],
        after=[*_models_to_declare(project, draft.models if draft is not None else {})],
        next=f"baselinekit run {first_file} --list",
        facts={"to": form.name, "cases": conversion.count},
    ).deliver(options, project)


def _write_texts(root: str, texts: Mapping[str, str]) -> None:
    for name in texts:
        check_place(os.path.join(root, name))
    for name, text in texts.items():
        write_text(os.path.join(root, name), text)


def _draft(path: str, options: ConvertOptions, project: Project) -> DraftEvals | None:
    """The draft read from a file of another tool; None for a file or folder of our own."""
    if not os.path.exists(path):
        raise InvalidInput(Problem("BK776", f"there is no {path}", "name an eval file or a prompt folder"))
    folder, root = os.path.realpath(os.path.dirname(path) or "."), os.path.realpath(project.root)

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
        source = SourceText(path, cli.read_text("convert", path, "an eval file"))
        files = EvalFiles(partial(cli.read_beside, path, root=project.root), fitting)
        if (draft := forms.read_draft(source, files)) is not None:
            return draft
        if options.to is None:
            _ = source.value  # raises if it cannot be read
    if options.to is None:
        hint = f"if it is of this project, name the form to write: baselinekit convert {path} --to eva"
        raise InvalidInput(Problem("BK776", f"{path} is neither a file of promptfoo nor an evals.json", hint))
    return None


def _typed_place(options: ConvertOptions, form: forms.WrittenForm, project: Project, stem: str) -> str:
    """The file for the cases: the typed path, or by default one named after the source, in the same folder
    below the folder of evals or prompts: files with the same name in several folders do not collide."""
    if options.output is not None:
        if form.is_folder or os.path.isdir(options.output):
            return os.path.join(options.output, os.path.basename(form.place(stem)))
        return options.output
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
_MAX_LOST = 20


class Delivery(Struct):
    """`texts`: the text of each file that is to be written; `existing`: those that are there with other
    content; `count`: of what is carried over; `also`: what was there already; `after`: what else people have
    to do; `facts`: for --json."""

    texts: Mapping[str, str]
    write: Callable[[], None]
    count: str
    also: str = ""
    existing: Sequence[str] = ()
    lost: Sequence[Placed] = ()
    notes: Sequence[str] = ()
    after: Sequence[str] = ()
    next: str = ""
    facts: Mapping[str, Json] = {}

    def deliver(self, options: ConvertOptions, project: Project) -> int:
        out, from_here = screen.Output(options.as_json), cli.path_from_here(project)
        lost_lines = [f"  {line}" for line in first_of([_line(*one) for one in self.lost], _MAX_LOST)]
        if lost_lines:
            lost_lines.insert(0, f"{count_noun(len(self.lost), 'thing')} not carried over:")
        if self.lost and not (options.partial and (self.texts or self.also)):
            out.document(self._document([], []))
            if not options.as_json:
                hint = ": --partial writes the rest" if self.texts else ""
                screen.complain(*lost_lines, f"nothing was written{hint}")
            return 2
        if options.dry_run:
            out.document(self._document([], [*self.texts]))
            for name, text in self.texts.items():
                out.say(f"--- {name}")
                out.show(screen.safe(text.removesuffix("\n") + "\n"))
        else:
            if self.existing and not options.overwrite:
                hint = "keep it, or replace it with --overwrite"
                raise InvalidInput(
                    *(Problem("BK113", "it is there already", hint, Place(name)) for name in self.existing)
                )
            self.write()
            out.document(self._document([*self.texts], []))
            out.say(*first_of([f"wrote {from_here(name)}" for name in self.texts], _MAX_SHOWN, "file"))
        verb = "would be carried over" if options.dry_run else "carried over"
        out.say(f"{self.count} {verb}{self.also}", *(f"note: {note}" for note in self.notes))
        out.say(*lost_lines, *self.after)
        if self.next and self.texts and not options.dry_run:
            out.next_commands([self.next])
        return 0

    def _document(self, written: list[Json], planned: list[Json]) -> dict[str, Json]:
        lost: list[Json] = [
            {"what": loss.message, "fix": loss.hint, "at": place, "case": loss.case and loss.case.id}
            for place, loss in self.lost
        ]
        return {
            **self.facts,
            "written": written,
            "would_write": planned,
            "lost": lost,
            "notes": [*self.notes],
        }


# What tests compare with snapshots, and cassettes.

_ENVIRONMENTS = (".venv", "venv", "node_modules", ".tox", ".nox")
_SKIPPED = {".git", ".hg", "__pycache__", ".mypy_cache", STATE_FOLDER, *_ENVIRONMENTS}
_HINTS = {
    PYTEST: "name tests that do, as for pytest: a folder, a file or FILE::TEST",
    VCR: "name a folder with cassettes, such as tests/cassettes",
}


def move_in(options: ConvertOptions, tool: str) -> int:
    """Take over what tests compare with snapshots, or cassettes, as baselines."""
    project = cli.project_of(options.project)
    moment = timestamps(clock())()
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
    codes = dict.fromkeys(change.code for change in moved.changes)
    after = [f"in the tests, {_usual_change(code)}" for code in codes]
    named = [one for one in moved.changes if one.name is not None]
    after += first_of([f"  {one.place}: {one.code} → {one.baseline}" for one in named], _MAX_SHOWN)
    folder = os.path.commonpath(list(map(os.path.dirname, names)) or ["."])
    next_command = f"baselinekit compare {folder}"
    if tool == PYTEST:
        files = dict.fromkeys(change.place.file for change in moved.changes)
        next_command = f"pytest {' '.join([*files][:3])}"
    changes = [{"at": str(one.place), "old": one.code, "new": one.baseline} for one in moved.changes]
    return Delivery(
        texts={name: dump_yaml(one.record) if options.dry_run else "" for name, one in moved.new.items()},
        write=lambda: write_moved(moved, options.overwrite),
        count=count_noun(len(names), "answer" if tool == VCR else "value"),
        also=f", {moved.known:,} there already" if moved.known else "",
        existing=moved.there,
        lost=lost,
        notes=[*moved.all_notes()],
        after=after,
        next=next_command,
        facts={"from": tool, "there_already": moved.known, "changes": changes},
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
        named.append(f"{os.path.realpath(file)}{colons}{test}")
    with tempfile.TemporaryDirectory() as folder:
        taken = os.path.join(folder, "taken.json")
        exit_code = _run_pytest([*named, "-p", PLUGIN, f"{OPTION}={taken}"], root)
        if exit_code not in (0, 1) or not os.path.exists(taken):
            message = f"pytest {describe_exit(exit_code)}, and did not run the tests"
            raise InvalidInput(Problem("BK776", message, "make them run with pytest first"))
        with open(taken, encoding="utf-8") as text:
            return as_structs(json.load(text), list[TakenTest])


def _run_pytest(words: Sequence[str], root: str) -> int:
    """Return its exit code. A Ctrl-C ends it with all that it started."""
    deny_inspection()
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "pytest", *words],
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            for line in process.stdout or ():
                screen.complain(line.decode("utf-8", "replace").rstrip())
        except BaseException:
            signal_group(process, signal.SIGKILL)
            raise
    return process.returncode


def _cassettes(project: Project, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The files below the paths that may be cassettes, from the project's root, and their texts."""
    root = os.path.realpath(project.root)
    files: dict[str, None] = {}
    limit = limits_of(root).files
    for path in paths:
        full_path = os.path.realpath(path)
        check_inside(root, full_path, path)
        files |= {os.path.relpath(full_path, root): None} if os.path.isfile(full_path) else {}
        for above, folders, names in os.walk(full_path):  # links to folders are not followed
            folders[:] = sorted(name for name in folders if name not in _SKIPPED)
            files |= {os.path.relpath(os.path.join(above, name), root): None for name in sorted(names)}
            if len(files) > limit:
                message = f"more than {limit:,} files below {path}"
                raise InvalidInput(Problem("BK106", message, "name a folder with fewer"))
    for file in files:
        with suppress(UnicodeDecodeError, BaselinekitError):  # no text, or a link out of the project
            text = read(project.root, file, MAX_OUTPUT_BYTES).decode("utf-8-sig")
            if vcr.recognises(file, text):
                yield file, text


def write_skill(options: ConvertOptions) -> int:
    project = cli.project_of(options.project)
    folder = _prompt_folder(project, options.paths[0])
    status = folder.meta.status
    if status != "ready" and not options.force:
        message = f"{folder.id} is {status}, and only what is ready is exported"
        hint = f"baselinekit promote {folder.id} tells what is missing; --force writes it as it is"
        place = locate(Source(folder.meta_file), ("status",), project.root)
        screen.complain(Problem("BK767", message, hint, place))
        return 1
    base = os.path.join(project.root, "skills") if options.output is None else options.output
    target = os.path.relpath(os.path.join(base, folder.id), project.root)
    files = {os.path.join(target, name): text for name, text in _skill_files(folder, project).items()}
    if not (options.overwrite or options.dry_run):
        hint = "take what was changed there into the prompt folder; --overwrite replaces it"
        changed = [name for name, text in files.items() if _is_other(os.path.join(project.root, name), text)]
        shown = map(cli.path_from_here(project), changed)
        if problems := [Problem("BK113", "it has other content", hint, Place(name)) for name in shown]:
            raise InvalidInput(*problems)
    return Delivery(
        texts=files,
        write=partial(_write_texts, project.root, files),
        count="1 skill",
        notes=[] if status == "ready" else [f"{folder.id} is {status}, not ready"],
        facts={"to": SKILL, "id": folder.id},
    ).deliver(options, project)


def _is_other(path: str, text: str) -> bool:
    """Whether a file is there with other content."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read() != text
    except (OSError, UnicodeDecodeError):
        return os.path.lexists(path)


def _prompt_folder(project: Project, name: str) -> PromptFolder:
    """The prompt folder that the operator names; refused if anything is wrong with it."""
    path = resolve_path_or_prompt(project, name)
    if os.path.isfile(os.path.join(project.root, path)):
        path = os.path.dirname(path)
    if path not in folders_below(project.root, [path]):
        hint = "name a folder with a meta.yml and a prompt.xml, an id or an alias"
        raise InvalidInput(Problem("BK750", f"{name} is not a prompt folder", hint))
    from baselinekit.eva.folders import load_valid_folder  # of a feature folder

    return load_valid_folder(project.root, path)


def _skill_files(folder: PromptFolder, project: Project) -> Mapping[str, str]:
    """The files of the skill; an error names the line of meta.yml that prevents it."""
    root = project.root
    examples = {}
    above = os.path.join(root, folder.path, "examples")
    for name in sorted(os.listdir(above)) if os.path.isdir(above) else ():
        file = os.path.join(folder.path, "examples", name, INPUTS)
        if os.path.isfile(os.path.join(root, file)):
            examples[name] = decode(read(root, file), file).body
    template = decode(read(root, folder.template), folder.template).body
    try:
        return as_skill(folder, template, examples)
    except BaselinekitError as error:
        source = Source(folder.meta_file)
        places = (locate(source, problem.at or (), root) for problem in error.problems)
        pairs = zip(error.problems, places, strict=True)
        raise type(error)(*(replace(problem, place=place, at=None) for problem, place in pairs)) from None


def draft_rubrics(options: ConvertOptions) -> int:
    from baselinekit.agentv import rubricdrafts as drafting  # a feature folder

    project = cli.project_of(options.project, options.recording.offline is not None, options.targets)
    root = project.root
    files = list(dict.fromkeys(resolve_path(project, path) for path in options.paths))

    def text_of(file: str) -> str:
        return decode(read(root, file), file).body

    lacking, having = drafting.find_lacking(files, root, project.fetch_file, project.targets, text_of)
    if options.verbose or not lacking:
        screen.say(*(f"skipped  {name}: has rubrics" for name in having))
    if options.check:
        screen.say(*(f"missing  {one.case.name}   {one.case.source.file}" for one in lacking))
        screen.line(f"{count_noun(len(lacking), 'case')} without rubrics, {len(having):,} with them")
        return 1 if lacking else 0
    if not lacking:
        screen.line("nothing to do: every case with an expected_outcome has rubrics")
        return 0
    with asking(project, options.recording) as context:
        models, mask = context.clients.models, project.redactor.mask_declared
        try:
            models.check(options.model)
        except InvalidInput as error:
            raise InvalidInput(*(project.targets.problems_of(options.model) or error.problems)) from None

        def work(case: drafting.CaseWithoutRubric) -> drafting.Draft:
            return drafting.draft(case, options.model, models.ask, mask)

        results = in_threads(lacking, work, options.jobs, context.stop, context.cancel)
        interrupted = context.stop.is_set()
    drafts = [result for result in results if result is not None]
    for result in drafts:
        name = result.lacking.case.name
        if not result.items:
            screen.say(f"error    {name}: {result.error.message if result.error else 'nothing was drafted'}")
            continue
        screen.say(f"drafted  {name}: {count_noun(len(result.items), 'item')}")
        if options.verbose:
            screen.say(*(f"           {item.line}" for item in result.items))
    written_count = 0
    for file in files:
        ready = [result for result in drafts if result.items and result.lacking.case.source.file == file]
        try:
            if ready and options.dry_run:
                screen.show(screen.safe(drafting.diff(text_of(file), file, ready)))
            elif ready:  # into the file as it is now, so that edits made meanwhile are kept
                edit_text(root, file, partial(drafting.with_rubrics, file=file, drafts=ready))
                screen.say(f"wrote {file}")
            written_count += len(ready)
        except BaselinekitError as error:  # the drafts for other files are still written
            screen.say(f"error    {error}")
    missing_count = len(lacking) - written_count
    action = "would get rubrics" if options.dry_run else "got rubrics"
    screen.line(f"{count_noun(written_count, 'case')} {action}, {missing_count:,} did not")
    return INTERRUPTED if interrupted else 3 if missing_count else 0
