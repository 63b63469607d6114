"""Reads the files that a recipe names: regular files inside the project, of a bounded size."""

import os
import stat
from collections.abc import Iterator

from baselinekit.clients.trust import follow_links
from baselinekit.errors import BaselinekitError, CannotReplay, cannot_replay
from baselinekit.files.jsontext import load_json
from baselinekit.files.languages import YAML
from baselinekit.kinds.settings import EXECUTION, Setting, invalid
from baselinekit.model.recipes import Scores, Surroundings
from baselinekit.model.values import Json, Path
from baselinekit.structs import replace
from baselinekit.values.places import places

_LARGEST = 10_000_000


def inside(surroundings: Surroundings, path: str, folder: str = "") -> str:
    """Resolve a path, relative to `folder` or else to the baseline's folder, with links followed; Refused
    outside the project."""
    root = os.path.realpath(surroundings.within or surroundings.root)
    return follow_links(root, os.path.realpath(folder or surroundings.folder), path, link_at)


def link_at(path: str) -> str | None:
    """Return the target of a link; None where there is no link."""
    try:
        return os.readlink(path)
    except OSError:
        return None


def without_following(path: str, flags: int) -> int:
    """Open a file, but no link, and without waiting: a pipe or a device would never end (F42)."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def read_if_there(surroundings: Surroundings, path: str, folder: str = "") -> bytes | None:
    """Return the contents of a file; None where it does not exist."""
    try:
        with open(inside(surroundings, path, folder), "rb", opener=without_following) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _unreadable(path, "it is not a regular file")
            content = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(path, str(getattr(error, "strerror", None) or error)) from None
    if len(content) > _LARGEST:
        raise _unreadable(path, f"it is larger than {_LARGEST:,} bytes")
    return content


def read_bytes(surroundings: Surroundings, path: str) -> bytes:
    content = read_if_there(surroundings, path)
    if content is None:
        where = os.path.relpath(surroundings.folder, surroundings.root)
        raise cannot_replay("BK325", f"the file {path!r} does not exist", f"paths start at {where}/")
    return content


def with_files(value: Json, surroundings: Surroundings) -> Json:
    """Return a value with each `{file: path}` in it replaced by the text of that file."""
    if _names_file(value):
        return read_text(surroundings, value["file"])
    if isinstance(value, dict):
        return {key: with_files(item, surroundings) for key, item in value.items()}
    return [with_files(item, surroundings) for item in value] if isinstance(value, list) else value


def texts_in(value: Json, surroundings: Surroundings) -> Iterator[str]:
    """Yield the texts of the files that a value names as `{file: path}`."""
    for _, item in places(value):
        if _names_file(item):
            yield read_text(surroundings, item["file"])


def _names_file(value: Json) -> bool:
    return isinstance(value, dict) and value.keys() == {"file"} and isinstance(value["file"], str)


def read_text(surroundings: Surroundings, path: str) -> str:
    try:
        return read_bytes(surroundings, path).decode()
    except UnicodeDecodeError:
        raise _unreadable(path, "it is not UTF-8 text") from None


def path_from_root(surroundings: Surroundings, path: str) -> str:
    """Return the path of a file relative to the project's root, for messages."""
    return os.path.relpath(inside(surroundings, path), os.path.realpath(surroundings.root))


def load_document(surroundings: Surroundings, path: str) -> Json:
    """Return the value of a YAML or JSON file; a list unless there is exactly one YAML document."""
    return parse_document(read_text(surroundings, path), path_from_root(surroundings, path))


def parse_document(text: str, name: str) -> Json:
    if name.lower().endswith(".json"):
        return load_json(text, name)
    documents = YAML.load(text, name)
    return documents[0] if len(documents) == 1 else documents


def _unreadable(path: str, reason: str) -> CannotReplay:
    return cannot_replay("BK325", f"the file {path!r} cannot be read: {reason}")


_SCORES = (*EXECUTION, "scores")


def rubric_of(scores: Scores, setting: Setting) -> dict[str, str]:
    """Return each criterion by which a text is scored, with its meaning: from the recipe, or from a file."""
    if not scores.scale[0] < scores.scale[1]:
        raise invalid("BK108", "a scale is the worst and the best number", "such as [1, 5]", _SCORES)
    value: Json = scores.rubric
    if isinstance(scores.rubric, str):
        value = load_document(setting.surroundings, scores.rubric)
    if not isinstance(value, dict) or not value or not all(isinstance(text, str) for text in value.values()):
        hint = "such as {clarity: can a newcomer follow it?}"
        raise invalid("BK108", "a rubric must be a mapping of criteria to their meaning", hint, _SCORES)
    return value


def check_scores(scores: Scores | None, setting: Setting) -> None:
    """Refuse an invalid rubric, scale or model before any request."""
    if scores is not None:
        rubric = rubric_of(scores, setting)
        if scores.form == "line" and (len(rubric) != 1 or scores.scale != (1, 5)):
            message = "a judge that replies with one line gives one score from 1 to 5"
            hint = "state one criterion and no `scale`, or leave `form` out"
            raise invalid("BK108", message, hint, (*_SCORES, "form"))
        check_model(scores.model, (*_SCORES, "model"), setting)


def check_model(name: str, at: Path, setting: Setting) -> None:
    """Check a model; its problems get the place where the recipe names it."""
    try:
        setting.clients.models.check(name)
    except BaselinekitError as error:
        raise type(error)(*(replace(problem, at=at) for problem in error.problems)) from None
