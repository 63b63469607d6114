"""A prompt folder as a skill folder, which agents load."""

import json
import os
from collections.abc import Mapping

from baselinekit.cli import screen
from baselinekit.cli.convert_options import ConvertOptions
from baselinekit.cli.options import project_of
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.eva.folders import load_valid_folder
from baselinekit.evals.selection import resolve_path_or_prompt
from baselinekit.files.text import decode
from baselinekit.model.baselines import Source
from baselinekit.model.prompts import PromptFolder
from baselinekit.report.differences import unified
from baselinekit.report.wording import format_lines
from baselinekit.store.project import INPUTS, read
from baselinekit.store.reading import locate
from baselinekit.store.results import check_place, write_text
from baselinekit.structs import replace
from baselinekit.suites.promptfolders import as_skill, folders_below
from baselinekit.values.texts import count_noun


def write_skill(options: ConvertOptions) -> int:
    project = project_of(options.project)
    folder = _prompt_folder(project, options.paths[0])
    status = folder.meta.status
    if status != "ready" and not options.force:
        message = f"{folder.id} is {status}, and only what is ready is exported"
        hint = f"baselinekit promote {folder.id} tells what is missing; --force writes it as it is"
        place = locate(Source(folder.meta_file), ("status",), project.root)
        screen.line(screen.safe(str(Problem("BK773", message, hint, place))), err=True)
        return 1
    if status != "ready":
        screen.line(screen.safe_line(f"note: {folder.id} is {status}, not ready"), err=True)
    files = _skill_files(folder, project)
    base = os.path.join(project.root, "skills") if options.output is None else options.output
    target = os.path.join(base, folder.id)
    existing = {path: _existing_text(os.path.join(target, path)) for path in files}
    new = [path for path, text in existing.items() if text != files[path]]
    changed = [path for path in new if existing[path] is not None]
    shown = {path: os.path.relpath(os.path.join(target, path)) for path in files}
    if changed and not options.overwrite:
        for path in changed:
            title = screen.style_of().paint(screen.safe_line(shown[path]), "bold")
            screen.line(title, err=options.as_json)
            lines = format_lines(unified(existing[path] or "", files[path]))
            screen.show(lines, err=options.as_json)
        message = "it differs from what would be written now"
        hint = "take what was changed there into the prompt folder; --overwrite replaces it"
        raise InvalidInput(*(Problem("BK771", message, hint, Place(shown[path])) for path in changed))
    for path in new:
        check_place(os.path.join(target, path))
    for path in new:
        write_text(os.path.join(target, path), files[path])
    shown_target = os.path.relpath(target)
    if options.as_json:
        states = {name: "written" if path in new else "unchanged" for path, name in shown.items()}
        listed = [{"path": name, "state": state} for name, state in states.items()]
        screen.show_json(json.dumps({"id": folder.id, "folder": shown_target, "files": listed}) + "\n")
        return 0
    for path in new:
        screen.line(screen.safe_line(f"wrote {shown[path]}"))
    if not new:
        count = count_noun(len(files), "file")
        screen.line(screen.safe_line(f"{shown_target} is as it would be written: {count}"))
    return 0


def _prompt_folder(project: Project, name: str) -> PromptFolder:
    """The prompt folder that the operator names; refused if anything is wrong with it."""
    path = resolve_path_or_prompt(project, name)
    if os.path.isfile(os.path.join(project.root, path)):
        path = os.path.dirname(path)
    if path not in folders_below(project.root, [path]):
        hint = "name a folder with a meta.yml and a prompt.xml, an id or an alias"
        raise InvalidInput(Problem("BK755", f"{name} is not a prompt folder", hint))
    return load_valid_folder(project.root, path)


def _skill_files(folder: PromptFolder, project: Project) -> Mapping[str, str]:
    """The files of the skill; an error names the line of meta.yml that prevents it."""
    root, examples = project.root, {}
    above = os.path.join(folder.path, "examples")
    for name in (
        sorted(os.listdir(os.path.join(root, above))) if os.path.isdir(os.path.join(root, above)) else ()
    ):
        file = os.path.join(above, name, INPUTS)
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


def _existing_text(path: str) -> str | None:
    """The text of a file that is there; None if there is none."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        return ""
