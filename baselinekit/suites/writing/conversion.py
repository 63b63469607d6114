"""Convert eval files from one form to another: cases are read, written, read back from their new place, and
compared. What the second reading lacks is lost, and is reported."""

import os
import posixpath
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from secrets import token_hex
from typing import Any

from baselinekit.clients.trust import check_inside
from baselinekit.errors import InvalidInput, Place, Problem
from baselinekit.files.languages import dump_yaml
from baselinekit.importers.credentials import credentials_in
from baselinekit.importers.evaldrafts import DraftEvals
from baselinekit.kinds.messages import heading_of
from baselinekit.model.evals import Case
from baselinekit.model.values import Json
from baselinekit.store.project import name_in_project
from baselinekit.structs import Struct, replace
from baselinekit.suites.loading import forms_in
from baselinekit.suites.writing import eva, ours
from baselinekit.suites.writing.moving import moved_to, renamed_files
from baselinekit.suites.writing.sayings import (
    CaseReader,
    Equivalent,
    Loss,
    WriteRequest,
    Written,
    case_facts,
    lost_between,
    stated_fields,
)

_STAGED_PREFIX = ".baselinekit-converted-"
_LEFTOVER_SECONDS = 3600
"""After which a staged file belongs to no process any more."""

_PROGRAMS = "where its judges' programs run"
_QUESTION = "the question"


class WrittenForm(Struct):
    """A form in which cases can be written. `dialects`: the names of its dialects when such files are read;
    `place`: the default path of the file with the cases, from a name; `is_folder`: whether it has several
    files that belong together. `equivalent`: replaces a grader that it lacks by graders that it has."""

    name: str
    title: str
    dialects: tuple[str, ...]
    write: Callable[[WriteRequest], Written]
    place: Callable[[str], str]
    is_folder: bool = False
    equivalent: Equivalent | None = None


CASES = WrittenForm(
    "cases", "a file of test cases", ("case", "test_cases"), ours.write, lambda name: f"evals/{name}.yaml"
)
EVA = WrittenForm(
    "eva",
    "an eva prompt folder",
    ("prompt_cases",),
    eva.write,
    lambda name: f"prompts/{name}/eval.yml",
    is_folder=True,
    equivalent=eva.equivalent,
)
AGENTV = WrittenForm(
    "agentv",
    "an AgentV eval file",
    ("evalcases",),
    lambda wish: import_module("baselinekit.agentv.writer").write(wish),
    lambda name: f"evals/{name}.eval.yaml",
)
FORMS: Mapping[str, WrittenForm] = {form.name: form for form in (CASES, EVA, AGENTV)}


class Conversion(Struct):
    """The result of a conversion. `files`: by path from the project's root, the one with the cases first;
    `count`: the number of cases in them."""

    files: dict[str, str]
    count: int
    lost: tuple[Loss, ...]
    notes: tuple[str, ...] = ()


def convert_suite(path: str, reader: CaseReader, form: WrittenForm, place: str, today: str) -> Conversion:
    """Convert the cases below a path to another form."""
    suite = reader.suite(path)
    if not suite.cases:
        hint = "name a file of test cases, a prompt folder or its eval file"
        raise InvalidInput(Problem("BK776", f"{path} holds no case", hint))
    files = {case.source.file for case in suite.cases}
    source_forms = {form_name for file in files for form_name in forms_in(reader.root, file)}
    if source_forms and source_forms <= {*form.dialects}:
        raise InvalidInput(Problem("BK776", f"{path} is {form.title} already", "choose another form: --to"))
    name = suite.name if suite.file else _common_name(path, suite.cases)
    return rewrite_suite(WriteRequest(suite.cases, reader, name, suite.description, today), form, place)


def _common_name(path: str, cases: Sequence[Case]) -> str:
    """Return the common prefix of the cases' ids, else the name of the file."""
    names = {case.id.partition("/")[0] if "/" in case.id else "" for case in cases}
    return names.pop() or stem_of(path) if len(names) == 1 else stem_of(path)


def stem_of(path: str) -> str:
    """Return the name of a file without endings; for a usual name, such as `eval`, that of its folder."""
    name = posixpath.basename(path.replace(os.sep, "/").rstrip("/")).split(".")[0]
    usual_names = ("eval", "evals", "promptfooconfig", "cases", "")
    folder = posixpath.basename(posixpath.dirname(path.replace(os.sep, "/")))
    return folder if name in usual_names and folder not in ("", ".", "evals") else name or "cases"


def rewrite_suite(wish: WriteRequest, form: WrittenForm, place: str) -> Conversion:
    """Return these cases in a form, as files at a place, and what is lost."""
    lost: list[Loss] = []
    usable_cases = [case for case in wish.cases if not _holds_credential(case, lost)]
    wish = replace(wish, cases=tuple(moved_to(case, place, wish.root) for case in usable_cases))
    originals = {case.id: original for original, case in zip(usable_cases, wish.cases, strict=True)}
    written = form.write(wish)
    reread: list[Mapping[str, Any]] = []
    if written.files:
        try:
            reread = read_back(written.files, wish.reader, form, place)
        except InvalidInput as error:
            usable = [case for case in wish.cases if not _unreadable(case, wish, form, place, lost)]
            if len(usable) == len(wish.cases):
                raise InvalidInput(*(_unreadable_problem(problem) for problem in error.problems)) from None
            conversion = rewrite_suite(replace(wish, cases=tuple(usable)), form, place) if usable else None
            return (
                replace(conversion, lost=(*lost, *conversion.lost))
                if conversion
                else Conversion({}, 0, tuple(lost))
            )
    notes = [*written.notes]
    for case, reread_case in zip(written.cases, reread, strict=True):
        original = originals[case.id]
        before = {
            **case_facts(case, wish.root, form.equivalent),
            _PROGRAMS: case_facts(original, wish.root)[_PROGRAMS],
        }
        for name, new_name in renamed_files(original, case).items():
            if any(heading_of(new_name) in text for _, text in reread_case[_QUESTION][0]):
                hint = f"-o {posixpath.dirname(original.source.file) or '.'}/NAME keeps the name"
                lost.append(Loss(f"its question would name the file {name} as {new_name}", hint, case))
                before[_QUESTION] = _with_heading(before[_QUESTION], name, new_name)
        losses = dict.fromkeys(lost_between(before, reread_case, wish.reader.mask))
        for message, is_lost in losses:
            if is_lost:
                lost.append(Loss(message, case=case))
            elif message not in notes:
                notes.append(message)
    files = {posixpath.join(posixpath.dirname(place), name): text for name, text in written.files.items()}
    if files and not form.is_folder:
        files = {place: next(iter(files.values()))}
    return Conversion(files, len(written.cases), (*written.lost, *lost), tuple(notes))


def _with_heading(question: Any, name: str, new_name: str) -> Any:
    """Return the question with another name above the text of a file."""
    messages, other = question
    headings = heading_of(name), heading_of(new_name)
    return tuple((role, text.replace(*headings)) for role, text in messages), other


def _holds_credential(case: Case, lost: list[Loss]) -> bool:
    """Whether the target of a case holds a plain credential, which is reported. A target of the configuration
    is written out in full, and may hold one."""
    credentials = credentials_in({"input": stated_fields(case.recipe.execution)})
    for credential in credentials:
        message = f"it asks with a credential that stands in plain: {credential.message}"
        hint = f"declare {credential.name} under `variables:` and write {{{{{credential.name}}}}} for it"
        lost.append(Loss(message.replace("input.", "execution."), hint, case))
    return bool(credentials)


def _unreadable(case: Case, wish: WriteRequest, form: WrittenForm, place: str, lost: list[Loss]) -> bool:
    """Whether this case alone cannot be read back, which is reported with the reason."""
    written = form.write(replace(wish, cases=(case,)))
    try:
        if written.files:
            read_back(written.files, wish.reader, form, place)
    except InvalidInput as error:
        problem = error.problems[0]
        lost.append(Loss(problem.message, problem.hint, case))
        return True
    return False


def _unreadable_problem(problem: Problem) -> Problem:
    message = f"what would be written cannot be read: {problem.message}"
    return Problem("BK777", message, problem.hint or "convert its cases one by one")


# Drafts from files of other tools, written in our own form, and from there in any other.


def import_draft(
    draft: DraftEvals, file: str, wish: WriteRequest, form: WrittenForm, place: str
) -> Conversion:
    """Return a draft in a form. `file`: the file that it was read from; `wish` has all but the cases."""
    lost = [
        Loss(item.message, item.hint, place=Place(_beside(file, item.file), item.line))
        for item in draft.left_out
    ]
    own_place = place if form is CASES else CASES.place(draft.name)
    raw_cases = draft.document["test_cases"]
    usable = raw_cases if isinstance(raw_cases, list) else []
    try:
        cases = _load_draft(draft, usable, wish.reader, own_place)
    except InvalidInput:  # read one by one to find the unreadable cases
        usable = [raw for raw in usable if not _is_unreadable(draft, raw, wish.reader, own_place, lost)]
        cases = _load_draft(draft, usable, wish.reader, own_place)
    if form is not CASES:
        conversion = rewrite_suite(replace(wish, cases=tuple(cases)), form, place)
        return replace(conversion, lost=(*lost, *conversion.lost), notes=(*draft.notes, *conversion.notes))
    text = dump_yaml({**draft.document, "test_cases": usable})
    return Conversion({place: text} if cases else {}, len(cases), tuple(lost), draft.notes)


def _beside(file: str, other: str) -> str:
    """The path of another file that a file names; its own if there is none."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(file), other)) if other else file


def _load_draft(draft: DraftEvals, raw_cases: Sequence[Json], reader: CaseReader, place: str) -> list[Case]:
    """Return the cases of a draft as they will be read."""
    if not raw_cases:
        return []
    text = dump_yaml({**draft.document, "test_cases": list(raw_cases)})
    with staged({posixpath.basename(place): text}, reader.root, CASES, place) as file:
        return reader.cases(file)


def _is_unreadable(draft: DraftEvals, raw: Json, reader: CaseReader, place: str, lost: list[Loss]) -> bool:
    """Whether a case cannot be read, which is reported."""
    try:
        _load_draft(draft, [raw], reader, place)
    except InvalidInput as error:
        problem = error.problems[0]
        name = raw.get("name") or raw.get("id") if isinstance(raw, dict) else ""
        lost.append(Loss(f"{name}: {problem.message}", problem.hint))
        return True
    return False


# Files are read back from their final place, so that the files they name are found and suites apply.


def read_back(
    files: Mapping[str, str], reader: CaseReader, form: WrittenForm, place: str
) -> list[Mapping[str, Any]]:
    """Return what the cases of new files say, as they will be read at this place."""
    with staged(files, reader.root, form, place) as file:
        return [case_facts(case, reader.root, form.equivalent) for case in reader.cases(file)]


@contextmanager
def staged(files: Mapping[str, str], root: str, form: WrittenForm, place: str) -> Iterator[str]:
    """Write the files next to their final place for the duration of the block. The files are removed again,
    and so are the folders created for them."""
    folder = posixpath.dirname(place)
    parent = posixpath.dirname(folder) if form.is_folder else folder
    missing_folders = _missing_folders(root, parent)
    _sweep(os.path.join(root, parent))
    base_name = posixpath.basename(folder if form.is_folder else place)
    top = posixpath.join(parent, f"{_STAGED_PREFIX}{token_hex(8)}-{base_name}")
    names = [posixpath.join(top, name) for name in files] if form.is_folder else [top]
    try:
        for name, text in zip(names, files.values(), strict=False):
            os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
            with open(os.path.join(root, name), "x", encoding="utf-8", newline="") as file:
                file.write(text)
        yield names[0]
    finally:
        _remove(os.path.join(root, top))
        for missing in reversed(missing_folders):
            _remove_empty(os.path.join(root, missing))


def _sweep(folder: str) -> None:
    """Remove files that a killed process left there."""
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        path = os.path.join(folder, name)
        if name.startswith(_STAGED_PREFIX) and os.lstat(path).st_mtime < time.time() - _LEFTOVER_SECONDS:
            _remove(path)


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.lexists(path):
        os.remove(path)


def _missing_folders(root: str, folder: str) -> list[str]:
    """Return the missing folders of a path, upper ones first."""
    missing: list[str] = []
    while folder and not os.path.isdir(os.path.join(root, folder)):
        missing.insert(0, folder)
        folder = posixpath.dirname(folder)
    return missing


def _remove_empty(folder: str) -> None:
    try:
        os.rmdir(folder)
    except OSError:
        return


def name_of_place(root: str, path: str) -> str:
    """Return a path relative to the project's root; one that leads out of the project is refused."""
    name = name_in_project(root, os.path.abspath(path))
    if os.path.isabs(name) or name.startswith("../"):
        hint = "name a place in the project: files there are found with what they name"
        raise InvalidInput(Problem("BK775", f"{path} is outside of the project", hint))
    real_root = os.path.realpath(root)
    check_inside(real_root, os.path.realpath(os.path.join(root, name)), path)  # also through a link
    return name
