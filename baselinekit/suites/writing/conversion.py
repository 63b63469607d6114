"""From one form of eval file to another: read into cases, written, read back from where they are to stand,
and set beside each other. What the second reading does not say is lost, and is named."""

import os
import posixpath
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from baselinekit.documents.languages import dump_yaml
from baselinekit.errors import InvalidInput, Place, Problem
from baselinekit.frozen import frozen
from baselinekit.importers.credentials import credentials_in
from baselinekit.importers.evaldrafts import DraftEvals
from baselinekit.model.evals import Case
from baselinekit.model.values import Json
from baselinekit.store.atomic import is_left, temporary_name
from baselinekit.store.project import name_in_project
from baselinekit.suites.loading import forms_in
from baselinekit.suites.writing import agentv, eva, ours
from baselinekit.suites.writing.sayings import (
    CaseReader,
    Equivalent,
    LeftBehind,
    Wish,
    Written,
    lost_between,
    sayings,
    stated_fields,
)
from baselinekit.trust import check_inside

_STAGED = ".converted-"


@frozen
class WrittenForm:
    """A form that cases can be written in. `dialects`: what the forms of such files are called when they are
    read; `place`: where the file with the cases goes by itself, from a name; `is_folder`: several files that
    belong together. `equivalent`: by which of its graders it says one that it has not."""

    name: str
    what: str
    dialects: tuple[str, ...]
    write: Callable[[Wish], Written]
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
    agentv.write,
    lambda name: f"evals/{name}.eval.yaml",
)
FORMS: Mapping[str, WrittenForm] = {form.name: form for form in (CASES, EVA, AGENTV)}


@frozen
class Conversion:
    """What came of it. `files`: from the project's root, the one with the cases first; `count`: the cases
    there."""

    files: dict[str, str]
    count: int
    lost: tuple[LeftBehind, ...]
    notes: tuple[str, ...] = ()


def converted(path: str, reader: CaseReader, form: WrittenForm, place: str, today: str) -> Conversion:
    """The cases below a path, in another form."""
    suite = reader.suite(path)
    if not suite.cases:
        hint = "name a file of test cases, a prompt folder or its eval file"
        raise InvalidInput(Problem("BK776", f"{path} holds no case", hint))
    files = {case.source.file for case in suite.cases}
    of = {one for file in files for one in forms_in(reader.root, file)}
    if of and of <= {*form.dialects}:
        raise InvalidInput(Problem("BK776", f"{path} is {form.what} already", "choose another form: --to"))
    named = suite.name if suite.file else _name_of(path, suite.cases)
    return rewritten(Wish(suite.cases, reader, named, suite.description, today), form, place)


def _name_of(path: str, cases: Sequence[Case]) -> str:
    """What the ids of all cases begin with, else what the file is called."""
    names = {case.id.partition("/")[0] if "/" in case.id else "" for case in cases}
    return names.pop() or stem_of(path) if len(names) == 1 else stem_of(path)


def stem_of(path: str) -> str:
    """What a file is called without its endings, and one of a usual name by its folder."""
    name = posixpath.basename(path.replace(os.sep, "/").rstrip("/")).split(".")[0]
    usual = ("eval", "evals", "promptfooconfig", "cases", "")
    folder = posixpath.basename(posixpath.dirname(path.replace(os.sep, "/")))
    return folder if name in usual and folder not in ("", ".", "evals") else name or "cases"


def rewritten(wish: Wish, form: WrittenForm, place: str) -> Conversion:
    """These cases in a form, as they would stand at a place, and what they say no more."""
    lost: list[LeftBehind] = []
    wish = replace(wish, cases=tuple(case for case in wish.cases if not _holds_credential(case, lost)))
    written = form.write(wish)
    after: list[Mapping[str, Any]] = []
    if written.files:
        try:
            after = read_back(written.files, wish.reader, form, place)
        except InvalidInput as error:
            usable = [case for case in wish.cases if not _unreadable(case, wish, form, place, lost)]
            if len(usable) == len(wish.cases):
                raise InvalidInput(*(_not_readable(one) for one in error.problems)) from None
            rest = rewritten(replace(wish, cases=tuple(usable)), form, place) if usable else None
            return replace(rest, lost=(*lost, *rest.lost)) if rest else Conversion({}, 0, tuple(lost))
    notes = [*written.notes]
    for case, again in zip(written.cases, after, strict=True):
        before = sayings(case, wish.root, form.equivalent)
        found = dict.fromkeys(lost_between(before, again, wish.reader.mask))
        for message, is_lost in found:
            if is_lost:
                lost.append(LeftBehind(message, case=case))
            elif message not in notes:
                notes.append(message)
    files = {posixpath.join(posixpath.dirname(place), name): text for name, text in written.files.items()}
    if files and not form.is_folder:
        files = {place: next(iter(files.values()))}
    return Conversion(files, len(written.cases), (*written.lost, *lost), tuple(notes))


def _holds_credential(case: Case, lost: list[LeftBehind]) -> bool:
    """Whether a credential stands in plain in what says who is asked, which is told. A target of the
    configuration is written out, and may have one there."""
    found = credentials_in({"input": stated_fields(case.recipe.execution)})
    for one in found:
        message = f"it asks with a credential that stands in plain: {one.message}"
        hint = f"declare {one.name} under `variables:` and write {{{{{one.name}}}}} for it"
        lost.append(LeftBehind(message.replace("input.", "execution."), hint, case))
    return bool(found)


def _unreadable(case: Case, wish: Wish, form: WrittenForm, place: str, lost: list[LeftBehind]) -> bool:
    """Whether this case by itself cannot be read back, which is told with the reason."""
    alone = form.write(replace(wish, cases=(case,)))
    try:
        if alone.files:
            read_back(alone.files, wish.reader, form, place)
    except InvalidInput as error:
        problem = error.problems[0]
        lost.append(LeftBehind(problem.message, problem.hint, case))
        return True
    return False


def _not_readable(problem: Problem) -> Problem:
    message = f"what would be written cannot be read: {problem.message}"
    return Problem("BK777", message, problem.hint or "convert its cases one by one")


# What a reader of another tool's files gives, as our own form and from there as any other.


def imported(draft: DraftEvals, file: str, wish: Wish, form: WrittenForm, place: str) -> Conversion:
    """A draft in a form. `file`: where it was read from; `wish` has everything but the cases."""
    lost = [
        LeftBehind(one.what, one.hint, place=Place(one.file or file, one.line or None))
        for one in draft.left_out
    ]
    own = place if form is CASES else CASES.place(draft.name)
    stated = draft.document["test_cases"]
    usable = stated if isinstance(stated, list) else []
    try:
        cases = _loaded(draft, usable, wish.reader, own)
    except InvalidInput:  # one by one: of which is it?
        usable = [raw for raw in usable if not _is_unreadable(draft, raw, wish.reader, own, lost)]
        cases = _loaded(draft, usable, wish.reader, own)
    if form is not CASES:
        made = rewritten(replace(wish, cases=tuple(cases)), form, place)
        return replace(made, lost=(*lost, *made.lost), notes=(*draft.notes, *made.notes))
    text = dump_yaml({**draft.document, "test_cases": usable})
    return Conversion({place: text} if cases else {}, len(cases), tuple(lost), draft.notes)


def _loaded(draft: DraftEvals, stated: Sequence[Json], reader: CaseReader, place: str) -> list[Case]:
    """Cases of a draft as they will be read."""
    if not stated:
        return []
    text = dump_yaml({**draft.document, "test_cases": list(stated)})
    with staged({posixpath.basename(place): text}, reader.root, CASES, place) as file:
        return reader.cases(file)


def _is_unreadable(
    draft: DraftEvals, raw: Json, reader: CaseReader, place: str, lost: list[LeftBehind]
) -> bool:
    """Whether one case cannot be read, which is told."""
    try:
        _loaded(draft, [raw], reader, place)
    except InvalidInput as error:
        problem = error.problems[0]
        name = raw.get("name") or raw.get("id") if isinstance(raw, dict) else ""
        lost.append(LeftBehind(f"{name}: {problem.message}", problem.hint))
        return True
    return False


# Read back from where it is to stand, so that what it names is found, and what suites say holds.


def read_back(
    files: Mapping[str, str], reader: CaseReader, form: WrittenForm, place: str
) -> list[Mapping[str, Any]]:
    """What the cases of files say that are not there yet, as they will be read at this place."""
    with staged(files, reader.root, form, place) as file:
        return [sayings(case, reader.root, form.equivalent) for case in reader.cases(file)]


@contextmanager
def staged(files: Mapping[str, str], root: str, form: WrittenForm, place: str) -> Iterator[str]:
    """The files beside where they are to stand, for as long as it takes: what is theirs is removed again, and
    so are folders that nobody had."""
    folder = posixpath.dirname(place)
    beside = posixpath.dirname(folder) if form.is_folder else folder
    made = _missing_folders(root, beside)
    _sweep(os.path.join(root, beside))
    own = posixpath.basename(folder if form.is_folder else place)
    top = posixpath.join(beside, f"{_STAGED}{temporary_name()}-{own}")
    names = [posixpath.join(top, name) for name in files] if form.is_folder else [top]
    try:
        for name, text in zip(names, files.values(), strict=False):
            os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
            with open(os.path.join(root, name), "x", encoding="utf-8", newline="") as file:
                file.write(text)
        yield names[0]
    finally:
        _remove(os.path.join(root, top))
        for missing in reversed(made):
            _remove_empty(os.path.join(root, missing))


def _sweep(folder: str) -> None:
    """Remove what a killed process has left there."""
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        end = name.removeprefix(_STAGED).rpartition(".tmp-")[0]
        if name.startswith(_STAGED) and is_left(f"{end}.tmp"):
            _remove(os.path.join(folder, name))


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.lexists(path):
        os.remove(path)


def _missing_folders(root: str, folder: str) -> list[str]:
    """The folders on the way that are not there, the upper ones first."""
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
    """A place as it is named from the project's root; what leads out of the project is refused."""
    name = name_in_project(root, os.path.abspath(path))
    if os.path.isabs(name) or name.startswith("../"):
        hint = "name a place in the project: files there are found with what they name"
        raise InvalidInput(Problem("BK775", f"{path} is outside of the project", hint))
    real = os.path.realpath(root)
    check_inside(real, os.path.realpath(os.path.join(root, name)), path)  # by way of a link
    return name
