"""What `baselinekit capture FILE` reads: files of other tools, recognised by their content, our own with
recipes, and prompt folders."""

import os
import shlex
from collections.abc import Sequence
from typing import Any

from baselinekit.cli import recipes
from baselinekit.cli.capture_options import DraftOptions
from baselinekit.cli.capturing import capture_batch, capture_options
from baselinekit.cli.options import command, parse_pairs, project_of, read_text
from baselinekit.cli.recipes import with_files
from baselinekit.clients.trust import check_inside
from baselinekit.commands.capture import NewBaseline, group_of
from baselinekit.commands.importing import Batch, reader_of, summarize
from baselinekit.commands.loading import load
from baselinekit.commands.project import Project
from baselinekit.errors import InvalidInput, NothingSelected, Place, Problem
from baselinekit.importers.drafts import HINT_FOR_URL, DraftRecipe, ImportChoices, flaw_of_url
from baselinekit.report.next_commands import lies_in
from baselinekit.store.project import CONFIG_NAME, place_in_config, project_root
from baselinekit.store.reading import parse_record
from baselinekit.structs import replace


@command(DraftOptions, name="")
def capture_files(options: DraftOptions) -> int:
    # imported here, as requests need no evals
    from baselinekit.cli.casecapture import read_cases, split_prompt_paths

    settings = capture_options(options.storing, options.group)
    prompts, other_paths = split_prompt_paths(options.paths, project_of(options.project))
    if prompts and other_paths:
        message = f"{prompts[0]} is a prompt folder, and {other_paths[0]} is none"
        raise InvalidInput(Problem("BK508", message, "capture them by two commands"))
    if options.cases and not prompts:
        message = f"--case names a case of a prompt folder, and {other_paths[0]} is none"
        raise InvalidInput(Problem("BK508", message, "leave it out"))
    texts = {} if prompts else {path: text for path in options.paths if (text := _text(path)) is not None}
    readers = {path: reader for path, text in texts.items() if (reader := reader_of(path, text)) is not None}
    paths = [path for path in options.paths if path not in readers]

    def read() -> Batch:
        if prompts:
            return read_cases(options, settings)
        project = project_of(options.project)
        batch = Batch(project, ())
        if readers:
            choices = _choices(options, project)
            files = {path: reader(choices) for path, reader in readers.items()}
            batch = summarize(project, files, lambda draft: _record(draft, options, project), settings)
        return replace(batch, new=[*batch.new, *_drafts(paths, project)]) if paths else batch

    return capture_batch(read, options.storing, settings, options.many, options.recording)


def _choices(options: DraftOptions, project: Project) -> ImportChoices:
    base_url = project.override_base_url or project.base_url
    if flaw := flaw_of_url(base_url or ""):
        problems = [Problem("BK508", f"base_url: {flaw}", HINT_FOR_URL, at=("base_url",))]
        if project.config_file is not None and project.operator.config_from is None:
            problems = place_in_config(project.root, project.config_file, problems)
        raise InvalidInput(*problems)
    return ImportChoices(
        base_url=base_url,
        unsafe=options.unsafe,
        hosts=options.hosts,
        types=options.types,
        params=parse_pairs("--param", options.params, "NAME=VALUE"),
        known=frozenset((*project.scope.values, *project.scope.secrets)),
        read=lambda name: recipes.content(f"@{name}"),
        beside=_text_beside,
    )


def _drafts(paths: Sequence[str], project: Project) -> list[NewBaseline]:
    """The baselines of our own files that have a recipe and no output yet."""
    loaded = load(project, paths)
    drafts = [draft for draft in loaded if draft.baseline is None]
    if not drafts and loaded:
        message = "every baseline there already has an output, and capture does not overwrite"
        hint = "to accept new answers: baselinekit refresh PATH --replay"
        raise InvalidInput(Problem("BK520", message, hint))
    if not drafts:
        hint = "a file needs an id and a `current:`"
        raise NothingSelected(Problem("BK509", "there is nothing to capture there", hint))
    _refuse_unread(project, [draft.source.file for draft in drafts])
    return [NewBaseline(draft, os.path.dirname(draft.source.file)) for draft in drafts]


def _refuse_unread(project: Project, files: Sequence[str]) -> None:
    """Refuse drafts where neither `compare` nor `run` looks: what was captured would never be compared."""
    problems = []
    for file in dict.fromkeys(files):
        if not lies_in(file, (*project.folders, *project.eval_folders)):
            folder = project.folders[0]
            message = f"a compare does not look there, only in {', '.join(project.folders)}"
            is_there = os.path.isdir(os.path.join(project.root, folder))
            create = "" if is_there else f"mkdir -p {shlex.quote(folder)} && "
            move = shlex.join(["mv", file, os.path.join(folder, os.path.basename(file))])
            hint = f"{create}{move}, or name its folder in {CONFIG_NAME} (`baselines:`)"
            problems.append(Problem("BK529", message, hint, Place(file)))
    if problems:
        raise InvalidInput(*problems)


def _text(path: str) -> str | None:
    """The text of a file or of standard input; None if the reader of baselines should report what is wrong
    with it."""
    if path != "-" and not os.path.isfile(path):
        return None
    try:
        return read_text("capture", path, "a file of requests")
    except InvalidInput as error:
        if any(problem.code == "BK106" for problem in error.problems):
            hint = "take out of it what is not to be asked, and give the parts"
            raise InvalidInput(*(replace(problem, hint=hint) for problem in error.problems)) from None
        if path == "-":
            raise
        return None


def _text_beside(document: str, reference: str) -> str:
    """Read a file that a document refers to. It must be in the document's folder or, in a git repository, in
    the repository."""
    folder = os.path.realpath("." if document == "-" else os.path.dirname(document) or ".")
    target = os.path.realpath(os.path.join(folder, reference))
    check_inside(os.path.realpath(project_root(None, folder)), target, reference)
    if not os.path.isfile(target):
        raise InvalidInput(Problem("BK111", "there is no such file", "correct the reference"))
    return read_text("capture", target, "a JSON or YAML file")


def _record(draft: DraftRecipe, options: DraftOptions, project: Project) -> dict[str, Any]:
    """The new record from the file and the command line. Paths of files that it sends are relative to its own
    future folder."""
    tags = list(dict.fromkeys([*options.tags, *draft.tags]))
    record: dict[str, Any] = {"id": draft.id} | ({"name": draft.name} if draft.name else {})
    record |= {"current": draft.current, "comparison": {}, "metadata": {"tags": tags} if tags else {}}
    if "files" in draft.current["input"] or {"verify", "cert"} & draft.current["execution"].keys():
        group = options.group or group_of(parse_record(record), project)
        record["current"] = with_files(draft.current, group, project)
    return record
