"""A case as a file at another place states it: its paths, which start at the folder of its file, lead to the
same files from there."""

import posixpath
from collections.abc import Sequence
from typing import Any, TypeVar

from baselinekit.errors import BaselinekitError
from baselinekit.graders.composite import Composite
from baselinekit.graders.graders import row_of
from baselinekit.kinds.messages import is_parts
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grader
from baselinekit.structs import replace
from baselinekit.suites.messages import NamedFiles

M = TypeVar("M", bound=Any)


def moved_to(case: Case, place: str, root: str) -> Case:
    """Return the case with the paths that a file at `place` has to state."""
    old, new = posixpath.dirname(case.source.file), posixpath.dirname(place)
    if old == new or posixpath.isabs(case.source.file):
        return case
    graders = tuple(_moved_grader(grader, old, new) for grader in case.graders)
    wanted = replace(
        case.wanted,
        asked=_moved_messages(case.wanted.asked, case.source.file, place, root),
        messages=_moved_messages(case.wanted.messages, case.source.file, place, root),
    )
    recipe = case.recipe
    if asked := getattr(recipe.input, "messages", None):
        messages = _moved_messages(asked, case.source.file, place, root)
        recipe = replace(recipe, input=replace(recipe.input, messages=[*messages]))
    return replace(case, recipe=recipe, graders=graders, wanted=wanted)


def renamed_files(case: Case, moved: Case) -> dict[str, str]:
    """Return the names of files in the question that differ in the moved case, with the new ones."""
    return {
        part["value"]: new_part["value"]
        for message, new_message in zip(case.wanted.asked, moved.wanted.asked, strict=True)
        if is_parts(message.content)
        for part, new_part in zip(message.content, new_message.content, strict=True)
        if part["type"] == "file" and part["value"] != new_part["value"]
    }


def _moved_grader(grader: Grader, old: str, new: str) -> Grader:
    method: Any = grader.method
    if isinstance(method, Composite):
        parts = tuple(_moved_grader(part, old, new) for part in method.graders)
        judge = None if method.judge is None else _moved_grader(method.judge, old, new)
        return replace(grader, method=replace(method, graders=parts, judge=judge))
    row = row_of(grader)
    paths = {key: _moved_path(path, old, new) for key, path in row.files(method).items() if path}
    program = row.starts(method)
    if program is not None:
        cwd = _moved_path(program.cwd or ".", old, new)
        if hasattr(method, "cwd"):
            paths["cwd"] = cwd
        else:  # the program that writes the prompt
            method = replace(method, prompt=replace(method.prompt, cwd=cwd))
    return replace(grader, method=replace(method, **paths) if paths else method)


def _moved_path(path: str, old: str, new: str) -> str:
    moved = posixpath.relpath(posixpath.join(old, path), new or ".")
    return moved if "/" in moved or moved == "." else f"./{moved}"  # a lone word might be read as a text


def _moved_messages(messages: Sequence[M], file: str, place: str, root: str) -> tuple[M, ...]:
    """Return messages whose files are named from the root, unless they are found from the new place too."""
    before, after = NamedFiles.of(root, file), NamedFiles.of(root, place)

    def moved(part: Any) -> Any:
        if part["type"] != "file":
            return part
        try:
            path = before.find(part["value"])
        except BaselinekitError:  # such as an address
            return part
        try:
            is_found = after.find(part["value"]) == path
        except BaselinekitError:
            is_found = False
        return part if is_found else {**part, "value": f"/{path}"}

    return tuple(
        replace(message, content=[moved(part) for part in message.content])
        if is_parts(message.content)
        else message
        for message in messages
    )
