"""generate rubrics: for each case that says what its answer should do, but not by which items it is judged, a
model drafts the items, and they are written into the file. Nothing else in it changes, comments included."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import field
from difflib import unified_diff

from baselinekit.documents.languages import language
from baselinekit.documents.splice import apply
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.evals.selection import named_by_operator
from baselinekit.frozen import frozen
from baselinekit.grade.judging import ask_until_readable, question, reply, short_digest, unusable
from baselinekit.grade.rubricitems import RubricItem, item_problems
from baselinekit.grade.wire import texts_of_case
from baselinekit.lazy import lazy_pattern
from baselinekit.model.evals import Case
from baselinekit.model.recipes import Answer, Ask, Usage
from baselinekit.model.values import Edit, Json, Path
from baselinekit.store.atomic import edit_text
from baselinekit.suites.dialects.agentvforms import CASES
from baselinekit.suites.loading import forms_in, load_cases
from baselinekit.texts import Mask
from baselinekit.tree.equality import identical, is_number
from baselinekit.tree.places import value_at
from baselinekit.workflow.project import Project

RUBRICS = "rubrics"
FORM = "evalcases"
FEWEST, MOST = 3, 7
_RETRIES = 2
_OUTCOMES = ("expected_outcome", "outcome")
_ID = lazy_pattern(r"[a-z0-9][a-z0-9_-]{0,63}")
_HEAVIEST = 10
_KEYS = ("id", "expected_outcome", "weight", "required")
_TASK = (
    "Write the rubric by which answers to the question will be judged: {fewest} to {most} items that "
    "together cover the expected outcome and ask for nothing beyond it. Each item says one thing that a good "
    "answer does, so concretely that two readers of an answer would agree whether it does it. `id` is a "
    "short name of lower-case letters, digits and `-`; `weight` is how much the item counts, from 0.5 to 3; "
    "`required` is true only for what an answer must not lack. The reference answer, if there is one, is an "
    "example of a good answer, and others may be worded quite differently."
)


@frozen
class DraftedItem:
    id: str
    expected_outcome: str
    weight: int | float
    required: bool

    @property
    def written(self) -> dict[str, Json]:
        return {key: getattr(self, key) for key in _KEYS}

    @property
    def line(self) -> str:
        return f"{self.id} ({self.weight:g}{', required' if self.required else ''}): {self.expected_outcome}"


Items = tuple[DraftedItem, ...]


# Which cases lack a rubric.


@frozen
class Lacking:
    """A case without a rubric. `raw` is as its file states it."""

    case: Case
    raw: Json

    @property
    def name(self) -> str:
        return self.case.name or self.case.id

    @property
    def place(self) -> tuple[int, Path]:
        return self.case.source.document, self.case.source.at


@frozen
class EvalFileState:
    """A file of cases: those without a rubric, those that have one, and those that say nothing of what an
    answer should do."""

    file: str
    body: str
    lacking: tuple[Lacking, ...]
    having: tuple[str, ...]
    without_outcome: tuple[str, ...]


def load_states(project: Project, paths: Sequence[str], read: Callable[[str], str]) -> list[EvalFileState]:
    """The files, valid as they are; or everything that is wrong with any of them. `read`: the text of one."""
    files = list(dict.fromkeys(named_by_operator(project, path) for path in paths))
    cases = defaultdict(list)
    for case in load_cases(files, project.root, fetch_file=project.fetch_file, targets=project.targets):
        cases[case.source.file].append(case)
    for file in files:
        if not cases[file] or forms_in(project.root, file) != {FORM}:
            hint = f"name a file of cases that have an expected_outcome: {CASES}: in YAML, or JSON Lines"
            raise InvalidInput(
                Problem("BK695", "rubrics belong to the cases of AgentV's form", hint, Place(file))
            )
    return [state_of(file, read(file), cases[file]) for file in files]


def state_of(file: str, body: str, cases: Sequence[Case]) -> EvalFileState:
    documents = language(file).load(body, file)
    lacking, having, without = [], [], []
    for case in cases:
        raw = value_at(documents[case.source.document], case.source.at)
        one = Lacking(case, raw)
        if raw.get(RUBRICS):
            having.append(one.name)
        elif not any(str(raw.get(key) or "").strip() for key in _OUTCOMES):
            without.append(one.name)
        else:
            lacking.append(one)
    return EvalFileState(file, body, tuple(lacking), tuple(having), tuple(without))


# What a model drafts for one case.


@frozen
class Draft:
    """`items` are None where no reply could be used, which `error` tells."""

    lacking: Lacking
    items: Items | None
    usage: Usage = field(default_factory=Usage)
    error: Problem | None = None


def draft(lacking: Lacking, model: str, ask: Callable[[Ask], Answer], mask: Mask) -> Draft:
    """Three tries, then an error."""
    texts = texts_of(lacking.case)
    nonce = short_digest(*texts.values())
    try:
        heard = ask_until_readable(
            draft_question(model, texts), ask, mask, lambda text: read_draft(text, nonce), _RETRIES
        )
    except BaselinekitError as error:
        return Draft(lacking, None, error=error.problems[0])
    return Draft(lacking, heard.value, heard.usage, heard.error.problems[0] if heard.error else None)


def texts_of(case: Case) -> dict[str, str]:
    """What the model is shown: nothing of what cases are asked with beside their first question."""
    return {name.replace("_", " "): text for name, text in texts_of_case(case).items() if text}


def draft_question(model: str, texts: dict[str, str]) -> Ask:
    shown = {"id": "…", "expected_outcome": "…", "weight": 1, "required": True}
    return question(model, _TASK.format(fewest=FEWEST, most=MOST), texts, {RUBRICS: [shown]})


def read_draft(text: str, nonce: str) -> Items:
    """The items of a reply; an unusable reply where any of them is not as it should be."""
    stated = reply(text, (RUBRICS,), nonce)[RUBRICS]
    if not isinstance(stated, list) or not FEWEST <= len(stated) <= MOST:
        raise unusable(f"does not have {FEWEST} to {MOST} items", text)
    items = []
    for number, raw in enumerate(stated, 1):
        why = why_unusable(raw)
        if why:
            raise unusable(f"has an item, the {number}., {why}", text)
        items.append(DraftedItem(raw["id"], raw["expected_outcome"].strip(), raw["weight"], raw["required"]))
    if len({item.id for item in items}) < len(items):
        raise unusable("has two items of one id", text)
    if len({item.expected_outcome for item in items}) < len(items):
        raise unusable("has the same item twice", text)
    as_stated = [RubricItem(one.id, one.expected_outcome, None, one.weight, one.required) for one in items]
    for problem in item_problems(as_stated):  # as a file is checked that states them
        raise unusable(f"makes no rubric: {problem.message}", text)
    return tuple(items)


def why_unusable(raw: Json) -> str:
    if not isinstance(raw, dict) or raw.keys() != set(_KEYS):
        return f"that does not have {', '.join(_KEYS)} and nothing else"
    if not isinstance(raw["id"], str) or not _ID.fullmatch(raw["id"]):
        return "whose id is not of lower-case letters, digits and -"
    said = raw["expected_outcome"]
    if not isinstance(said, str) or not said.strip() or not said.strip().isprintable():
        return "whose expected_outcome is not one line of text"
    weight = raw["weight"]
    if not is_number(weight) or not math.isfinite(weight) or not 0 < weight <= _HEAVIEST:
        return f"whose weight is not above 0 and at most {_HEAVIEST}"
    return "" if isinstance(raw["required"], bool) else "whose required is neither true nor false"


# Writing them down.


def with_rubrics(body: str, file: str, drafts: Sequence[Draft]) -> str:
    """The text with the drafts in it, read again and found to be the same but for them. NotRecorded where it
    cannot be written so."""
    written = language(file)
    found = written.load(body, file)
    edits: dict[int, list[Edit]] = defaultdict(list)
    for one in drafts:
        if one.items is None:
            continue
        document, at = one.lacking.place
        if not is_there(found, document, at, one.lacking.raw):
            what = f"the case {one.lacking.name!r} has changed while its rubric was drafted"
            raise InvalidInput(Problem("BK697", what, "generate it again", Place(file)))
        edits[document].append(Edit((*at, RUBRICS), [item.written for item in one.items]))
    for document, few in edits.items():
        body = apply(body, few, document, written)
    return body


def is_there(documents: Sequence[Json], document: int, at: Path, raw: Json) -> bool:
    try:
        return identical(value_at(documents[document], at), raw)
    except (LookupError, TypeError):
        return False


def write(project: Project, file: str, drafts: Sequence[Draft]) -> None:
    """Into the file as it is now: whoever edited it meanwhile is not overruled."""
    edit_text(project.root, file, lambda body: with_rubrics(body, file, drafts))


def diff(state: EvalFileState, drafts: Sequence[Draft]) -> str:
    """What would be written."""
    after = with_rubrics(state.body, state.file, drafts)
    before, now = (text.splitlines(keepends=True) for text in (state.body, after))
    lines = unified_diff(before, now, state.file, state.file, n=2)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
