"""Convert eval files from one form to another: cases are read, written, read back from their new place, and
compared. What the second reading lacks is lost, and is listed."""

import os
import posixpath
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from secrets import token_hex
from typing import Any, TypeVar

from baselinekit.clients.trust import check_inside
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.files.languages import dump_yaml
from baselinekit.graders.composite import Composite, without_places
from baselinekit.graders.graders import graders_with_positions, row_of
from baselinekit.importers.credentials import credentials_in
from baselinekit.importers.drafts import SourceText
from baselinekit.kinds.messages import is_parts
from baselinekit.model.evals import Case
from baselinekit.model.grades import Grader, PassRule
from baselinekit.model.values import Json
from baselinekit.moving import promptfoo, skillevals
from baselinekit.moving.reading import DraftEvals, EvalFiles
from baselinekit.report.differences import shorten_pair
from baselinekit.secrets.finding import mask_secrets
from baselinekit.store.project import name_in_project
from baselinekit.structs import Struct, plain, replace
from baselinekit.suites import writing
from baselinekit.suites.loading import forms_in
from baselinekit.suites.messages import NamedFiles
from baselinekit.suites.writing import CaseReader, Equivalent, Loss, WriteRequest, Written
from baselinekit.values.texts import Mask, mask_and_clip

T = TypeVar("T")
M = TypeVar("M", bound=Any)


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
    "cases", "a file of test cases", ("case", "test_cases"), writing.write, "evals/{}.yaml".format
)
EVA = WrittenForm(
    "eva",
    "an eva prompt folder",
    ("prompt_cases",),
    lambda wish: import_module("baselinekit.eva.writer").write(wish),
    "prompts/{}/eval.yml".format,
    True,
    lambda grader, case: import_module("baselinekit.eva.writer").equivalent(grader, case),
)
AGENTV = WrittenForm(
    "agentv",
    "an AgentV eval file",
    ("evalcases",),
    lambda wish: import_module("baselinekit.agentv.writer").write(wish),
    "evals/{}.eval.yaml".format,
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
    prefixes = {case.id.partition("/")[0] if "/" in case.id else "" for case in suite.cases}
    shared = prefixes.pop() if len(prefixes) == 1 else ""
    name = suite.name if suite.file else shared or stem_of(path)
    return rewrite_cases(WriteRequest(suite.cases, reader, name, suite.description, today), form, place)


def stem_of(path: str) -> str:
    """Return the name of a file without endings; for a usual name, such as `eval`, the name of its folder."""
    name = posixpath.basename(path.replace(os.sep, "/").rstrip("/")).split(".")[0]
    usual_names = ("eval", "evals", "promptfooconfig", "cases", "")
    folder = posixpath.basename(posixpath.dirname(path.replace(os.sep, "/")))
    return folder if name in usual_names and folder not in ("", ".", "evals") else name or "cases"


def rewrite_cases(wish: WriteRequest, form: WrittenForm, place: str) -> Conversion:
    """Return these cases in a form, as files at a place, and what is lost."""
    lost: list[Loss] = []
    cases = [case for case in wish.cases if not _holds_credential(case, lost)]

    def facts(case: Case) -> dict[str, Any]:
        return case_facts(case, form.equivalent) | facts_of_place(case, wish.root)

    def write(cases: Sequence[Case]) -> tuple[Written, list[dict[str, Any]]]:
        written = form.write(replace(wish, cases=tuple(moved_to(case, place, wish.root) for case in cases)))
        if not written.files:
            return written, []
        with staged(written.files, wish.root, form, place) as file:
            return written, [*map(facts, wish.reader.cases(file))]

    written, reread = _all_readable(cases, write, lambda case, why: lost.append(Loss(*why, case)))
    originals = {case.id: case for case in cases}
    notes = dict.fromkeys(written.notes)
    for case, after in zip(written.cases, reread, strict=True):
        before = facts(case) | facts_of_place(originals[case.id], wish.root)
        for message, is_lost in dict.fromkeys(lost_between(before, after, wish.reader.mask)):
            if is_lost:
                lost.append(Loss(message, case=case))
            else:
                notes[message] = None
    files = {posixpath.join(posixpath.dirname(place), name): text for name, text in written.files.items()}
    if files and not form.is_folder:
        files = {place: next(iter(files.values()))}
    return Conversion(files, len(written.cases), (*written.lost, *lost), tuple(notes))


def _all_readable(
    items: Sequence[T], read: Callable[[Sequence[T]], M], lose: Callable[[T, tuple[str, str]], None]
) -> M:
    """What is read of the items. Those that cannot be read even alone are lost."""
    try:
        return read(items)
    except InvalidInput as error:
        usable = []
        for item in items:
            try:
                read([item])
                usable.append(item)
            except InvalidInput as reason:
                lose(item, (reason.problems[0].message, reason.problems[0].hint))
        if len(usable) < len(items):
            return read(usable)
        hint = "convert its cases one by one"
        texts = [(f"what would be written cannot be read: {one.message}", one.hint) for one in error.problems]
        raise InvalidInput(*(Problem("BK776", text, advice or hint) for text, advice in texts)) from None


def _holds_credential(case: Case, lost: list[Loss]) -> bool:
    """Whether the target of a case holds a plain credential, which is listed. A target of the configuration
    is written out in full, and may hold one."""
    credentials = credentials_in({"input": plain(case.recipe.execution)})
    for credential in credentials:
        message = f"it asks with a credential in plain text: {credential.message}"
        hint = f"declare {credential.name} under `variables:` and write {{{{{credential.name}}}}} for it"
        lost.append(Loss(message.replace("input.", "execution."), hint, case))
    return bool(credentials)


# Drafts from files of other tools, written in our own form, and from there in any other.


def read_draft(source: SourceText, files: EvalFiles) -> DraftEvals | None:
    """The draft of another tool's file, recognised by its content; None for any other file."""
    try:
        for tool in (skillevals, promptfoo):
            if tool.recognises(source):
                draft: DraftEvals = tool.read(source, files)
                return draft
    except BaselinekitError:  # neither JSON nor YAML
        return None
    return None


def import_draft(
    draft: DraftEvals, file: str, wish: WriteRequest, form: WrittenForm, place: str
) -> Conversion:
    """Return a draft in a form. `file`: the file that it was read from; `wish` has all but the cases."""
    folder = posixpath.dirname(file)
    lost = []
    for item in draft.left_out:
        other = posixpath.normpath(posixpath.join(folder, item.file)) if item.file else file
        lost.append(Loss(item.message, item.hint, place=Place(other, item.line)))
    own_place = place if form is CASES else CASES.place(draft.name)

    def load(raw_cases: Sequence[Json]) -> tuple[str, list[Case]]:
        if not raw_cases:
            return "", []
        text = dump_yaml({**draft.document, "test_cases": list(raw_cases)})
        with staged({posixpath.basename(own_place): text}, wish.root, CASES, own_place) as name:
            return text, wish.reader.cases(name)

    def lose(raw: Json, why: tuple[str, str]) -> None:
        lost.append(Loss(f"{raw.get('name') or raw.get('id')}: {why[0]}", why[1]))

    text, cases = _all_readable(draft.document["test_cases"], load, lose)
    if form is CASES:
        return Conversion({place: text} if cases else {}, len(cases), tuple(lost), draft.notes)
    made = rewrite_cases(replace(wish, cases=tuple(cases)), form, place)
    return replace(made, lost=(*lost, *made.lost), notes=(*draft.notes, *made.notes))


# What a conversion changed in a case: everything that a case states, by names for people.

_GRADERS = "graders"
_PLAIN_FIELDS = (
    *("kind", "description", "category", "tags", "difficulty", "criticality"),
    *("timeout", "retries", "parallel", "weight", "skip"),
)
_LONGEST_SHOWN = 60


def case_facts(case: Case, equivalent: Equivalent | None = None) -> dict[str, Any]:
    """What a case states, without what depends on its place. With `equivalent`, its graders are those that
    the other form has instead; none of them uses the expectation."""
    rule = case.pass_rule
    passes = f"a mean of {rule.pass_at:g}, borderline from {rule.borderline_at:g}"
    # the default mean with every grader required: if all of them pass, the mean is high enough
    if rule.by == "all" or (rule == PassRule("mean") and all(grader.required for grader in case.graders)):
        passes = "all required graders"
    facts: dict[str, Any] = {f"`{key}`": getattr(case, key) for key in _PLAIN_FIELDS}
    if writing.judges_late(case):
        facts["`judge_after_failure`"] = case.judge_after_failure
    asked = plain(case.recipe.execution)
    facts |= {f"who is asked ({key})": value for key, value in asked.items()}
    facts |= {f"what is wanted ({key})": value for key, value in plain(case.wanted).items()}
    facts.pop("what is wanted (asked)", None)  # compared as the question
    return facts | {
        "the id that its target gets": writing.received_id(case),
        "the pass rule": passes + (", which passes" if rule.borderline_passes else ""),
        "expected": None if equivalent or not case.expected else plain(case.expected),
        "guard.sh": case.scripts.before,
        "verify.sh": case.scripts.after,
        _GRADERS: [part for one in case.graders for part in (equivalent(one, case) if equivalent else [one])],
    }


def facts_of_place(case: Case, root: str) -> dict[str, Any]:
    """What the place of its file may change: the question, which names files, and where programs start."""
    question = writing.question_of(case, root)
    programs = (row_of(part).starts(part.method) for _, part in graders_with_positions(case.graders))
    start = posixpath.dirname(case.source.file)
    folders = {posixpath.normpath(posixpath.join(start, one.cwd or "")) for one in programs if one}
    asked: Any = [{"role": role, "content": text} for role, text in question.messages] or question.other
    return {
        "the question": asked[0]["content"] if question.text is not None else asked,
        "where its judges' programs run": ", ".join(sorted(folders)),
    }


def lost_between(
    before: Mapping[str, Any], after: Mapping[str, Any], mask: Mask = mask_secrets
) -> Iterator[tuple[str, bool]]:
    """Describe what differs between two forms of a case, and whether it is lost, rather than a default that
    the other form adds."""
    for name in dict.fromkeys((*before, *after)):
        values = (side.get(name) for side in (before, after))
        old, new = (None if value in ("", (), [], {}) else value for value in values)
        if name == _GRADERS:
            yield from ((message, True) for message in _lost_graders(old or (), new or ()))
        elif old is None and new is not None:
            yield f"{name} becomes {_shown(new, mask)}: it was not stated", False
        elif new is None and old is not None:
            yield f"{name}: {_shown(old, mask)}", True
        elif old != new:
            old_text, new_text = (mask(_text_of(value)) for value in (old, new))
            old_text, new_text = shorten_pair(old_text, new_text, _LONGEST_SHOWN)
            yield f"{name}: {old_text} would become {new_text}", True


def _shown(value: Any, mask: Mask) -> str:
    return mask_and_clip(_text_of(value), _LONGEST_SHOWN, mask)


def _text_of(value: Any) -> str:
    if isinstance(value, tuple | list) and all(isinstance(item, str) for item in value):
        value = ", ".join(value)
    return " ".join((repr(value) if isinstance(value, str) else str(value)).split())


def _lost_graders(before: Sequence[Grader], after: Sequence[Grader]) -> Iterator[str]:
    """Describe graders that are missing or added, and changes in the others."""

    def judged(grader: Grader) -> Any:
        return grader.kind, without_places(grader.method)

    remaining = list(after)
    for grader in before:
        twin = next((one for one in remaining if judged(one) == judged(grader)), None)
        if twin is None:
            yield f"the grader {grader.name!r}"
            continue
        remaining.remove(twin)
        if twin.weight != grader.weight:
            yield f"the weight {grader.weight:g} of {grader.name!r} would become {twin.weight:g}"
        if twin.required != grader.required:
            words = {True: "required", False: "optional"}
            yield f"{grader.name!r} is {words[grader.required]} and would be {words[twin.required]}"
    yield from (f"a grader {grader.name!r} would be added" for grader in remaining)


# A case as a file at another place states it: paths start at the folder of the file, and lead to the same
# files from there.


def moved_to(case: Case, place: str, root: str) -> Case:
    """Return the case with the paths that a file at `place` has to state."""
    old, new = posixpath.dirname(case.source.file), posixpath.dirname(place)
    if old == new or posixpath.isabs(case.source.file):
        return case
    before, after = NamedFiles.of(root, case.source.file), NamedFiles.of(root, place)

    def moved_part(part: Any) -> Any:
        path = _found(before, part["value"]) if part["type"] == "file" else None
        if path is None or _found(after, part["value"]) == path:
            return part
        return {**part, "value": f"/{path}"}

    def moved(messages: Sequence[M]) -> tuple[M, ...]:
        return tuple(
            replace(one, content=[*map(moved_part, one.content)]) if is_parts(one.content) else one
            for one in messages
        )

    wanted = replace(case.wanted, asked=moved(case.wanted.asked), messages=moved(case.wanted.messages))
    recipe = case.recipe
    if asked := getattr(recipe.input, "messages", None):
        recipe = replace(recipe, input=replace(recipe.input, messages=[*moved(asked)]))
    graders = tuple(_moved_grader(grader, old, new) for grader in case.graders)
    return replace(case, recipe=recipe, graders=graders, wanted=wanted)


def _found(files: NamedFiles, name: str) -> str | None:
    try:
        return files.find(name)
    except BaselinekitError:  # such as an address
        return None


def _moved_grader(grader: Grader, old: str, new: str) -> Grader:
    def moved(path: str) -> str:
        path = posixpath.relpath(posixpath.join(old, path), new or ".")
        return path if "/" in path or path == "." else f"./{path}"  # a lone word might be read as a text

    method: Any = grader.method
    if isinstance(method, Composite):
        return replace(grader, method=method.changed(lambda part: _moved_grader(part, old, new)))
    row = row_of(grader)
    paths = {key: moved(path) for key, path in row.files(method).items() if path}
    program = row.starts(method)
    if program is not None and hasattr(method, "cwd"):
        paths["cwd"] = moved(program.cwd or ".")
    elif program is not None:  # the program that writes the prompt
        method = replace(method, prompt=replace(method.prompt, cwd=moved(program.cwd or ".")))
    return replace(grader, method=replace(method, **paths) if paths else method)


# Files are read back beside their final place, so that the files they name are found and suites apply.

_STAGED_PREFIX = ".baselinekit-converted-"
"""Files with such a name are not read, should a killed process leave one."""


@contextmanager
def staged(files: Mapping[str, str], root: str, form: WrittenForm, place: str) -> Iterator[str]:
    """Write the files next to their final place for the duration of the block. The files are removed again,
    and so are the folders created for them."""
    folder = posixpath.dirname(place)
    parent = posixpath.dirname(folder) if form.is_folder else folder
    created, missing = list[str](), parent
    while missing and not os.path.isdir(os.path.join(root, missing)):
        created.append(os.path.join(root, missing))
        missing = posixpath.dirname(missing)
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
        with suppress(OSError):  # another process may have put a file there
            for path in created:
                os.rmdir(path)


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.lexists(path):
        os.remove(path)


def name_of_place(root: str, path: str) -> str:
    """Return a path relative to the project's root; one that leads out of the project is refused."""
    name = name_in_project(root, os.path.abspath(path))
    if os.path.isabs(name) or name.startswith("../"):
        hint = "name a place in the project: files there are found with what they name"
        raise InvalidInput(Problem("BK404", f"{path} is outside of the project", hint))
    real_root = os.path.realpath(root)
    check_inside(real_root, os.path.realpath(os.path.join(root, name)), path)  # also through a link
    return name
