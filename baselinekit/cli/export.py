"""A prompt folder as a skill folder, which agents load."""

import json
import os
from collections.abc import Iterator, Mapping

from baselinekit.cli import screen
from baselinekit.cli.convert_options import ConvertOptions
from baselinekit.cli.options import (
    project_of,
)
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
from baselinekit.suites.promptfolders import folders_below
from baselinekit.suites.skillfolders import SkillFolder, as_skill
from baselinekit.values.texts import count_noun

_SKILLS = "skills"
_EXAMPLES = "examples"


def write_skill(options: ConvertOptions) -> int:
    project = project_of(options.project)
    folder = prompt_folder(project, options.paths[0])
    place = locate(Source(folder.meta_file), ("status",), project.root)
    status = folder.meta.status
    if status != "ready":
        hint = f"baselinekit promote {folder.id} tells what is missing; --force writes it as it is"
        problem = Problem(
            "BK773", f"{folder.id} is {status}, and only what is ready is exported", hint, place
        )
        if not options.force:
            screen.line(screen.safe(str(problem)), err=True)
            return 1
        screen.line(screen.safe_line(f"note: {folder.id} is {status}, not ready"), err=True)
    skill = _build_skill(folder, project)
    base = os.path.join(project.root, _SKILLS) if options.output is None else options.output
    target = os.path.join(base, skill.name)
    existing = dict(_existing_files(skill, target))
    changed = [path for path, text in existing.items() if text != skill.files[path]]
    if changed and not options.overwrite:
        _refuse(skill, existing, changed, target, options)
    new = [path for path in skill.files if existing.get(path) != skill.files[path]]
    for path in new:
        check_place(os.path.join(target, path))
    for path in new:
        write_text(os.path.join(target, path), skill.files[path])
    _print(skill, target, new, options)
    return 0


def prompt_folder(project: Project, name: str) -> PromptFolder:
    """The prompt folder that the operator names; refused if anything is wrong with it."""
    path = resolve_path_or_prompt(project, name)
    if os.path.isfile(os.path.join(project.root, path)):
        path = os.path.dirname(path)
    if path not in folders_below(project.root, [path]):
        hint = "name a folder with a meta.yml and a prompt.xml, an id or an alias"
        raise InvalidInput(Problem("BK755", f"{name} is not a prompt folder", hint))
    return load_valid_folder(project.root, path)


def _build_skill(folder: PromptFolder, project: Project) -> SkillFolder:
    """The skill folder of a prompt folder; an error names the line of meta.yml that prevents it."""
    template = decode(read(project.root, folder.template), folder.template).body
    try:
        return as_skill(folder, template, dict(_examples(project.root, folder)))
    except BaselinekitError as error:
        source = Source(folder.meta_file)
        raise type(error)(
            *(
                replace(problem, place=locate(source, problem.at or (), project.root), at=None)
                for problem in error.problems
            )
        ) from None


def _examples(root: str, folder: PromptFolder) -> Iterator[tuple[str, str]]:
    """The inputs of each example in a prompt folder."""
    examples_folder = os.path.join(folder.path, _EXAMPLES)
    names = (
        os.listdir(os.path.join(root, examples_folder))
        if os.path.isdir(os.path.join(root, examples_folder))
        else []
    )
    for name in sorted(names):
        file = os.path.join(examples_folder, name, INPUTS)
        if os.path.isfile(os.path.join(root, file)):
            yield name, decode(read(root, file), file).body


def _existing_files(skill: SkillFolder, target: str) -> Iterator[tuple[str, str]]:
    """The files of the skill that exist already, with their texts."""
    for path in skill.files:
        try:
            with open(os.path.join(target, path), encoding="utf-8", newline="") as file:
                yield path, file.read()
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError):
            yield path, ""


def _refuse(
    skill: SkillFolder, existing: Mapping[str, str], changed: list[str], target: str, options: ConvertOptions
) -> None:
    style = screen.style_of()
    for path in changed:
        shown_path = os.path.relpath(os.path.join(target, path))
        screen.line(style.paint(screen.safe_line(shown_path), "bold"), err=options.as_json)
        screen.show(format_lines(unified(existing[path], skill.files[path])), err=options.as_json)
    hint = "take what was changed there into the prompt folder; --overwrite replaces it"
    raise InvalidInput(
        *(
            Problem(
                "BK771",
                "it differs from what would be written now",
                hint,
                Place(os.path.relpath(os.path.join(target, path))),
            )
            for path in changed
        )
    )


def _print(skill: SkillFolder, target: str, new: list[str], options: ConvertOptions) -> None:
    shown_path = os.path.relpath(target)
    if options.as_json:
        states = {path: "written" if path in new else "unchanged" for path in skill.files}
        files = [{"path": os.path.join(shown_path, path), "state": state} for path, state in states.items()]
        screen.show_json(json.dumps({"id": skill.name, "folder": shown_path, "files": files}) + "\n")
        return
    for path in new:
        screen.line(screen.safe_line(f"wrote {os.path.join(shown_path, path)}"))
    if not new:
        screen.line(
            screen.safe_line(
                f"{shown_path} is as it would be written: {count_noun(len(skill.files), 'file')}"
            )
        )
