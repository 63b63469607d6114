"""Drafts of rubrics: for each case that has an expected outcome but no rubric, a model drafts the items,
and they are written into the file. Nothing else in the file changes, comments included."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from difflib import unified_diff

from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.evals.selection import resolve_path
from baselinekit.files.edit import edited
from baselinekit.files.languages import language
from baselinekit.graders.by_rubric import RubricItem, item_problems
from baselinekit.graders.judging import ask_until_readable, nonce_of, question, reply, unusable_reply
from baselinekit.graders.wire import texts_of_case
from baselinekit.lazy import lazy_pattern
from baselinekit.model.evals import Case
from baselinekit.model.recipes import Answer, ModelQuestion, Usage
from baselinekit.model.values import Edit, Json, Path
from baselinekit.store.atomic import edit_text
from baselinekit.structs import Struct, field
from baselinekit.suites.dialects.agentvforms import CASES
from baselinekit.suites.loading import forms_in, load_cases
from baselinekit.values.equality import identical, is_number
from baselinekit.values.places import value_at
from baselinekit.values.texts import Mask

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


class DraftedItem(Struct):
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


# Which cases have no rubric.


class CaseWithoutRubric(Struct):
    """A case without a rubric. `raw`: the case as its file states it."""

    case: Case
    raw: Json

    @property
    def name(self) -> str:
        return self.case.name or self.case.id

    @property
    def place(self) -> tuple[int, Path]:
        return self.case.source.document, self.case.source.at


class EvalFileState(Struct):
    """A file of cases: those without a rubric, those that have one, and those without an expected outcome."""

    file: str
    body: str
    lacking: tuple[CaseWithoutRubric, ...]
    having: tuple[str, ...]
    without_outcome: tuple[str, ...]


def load_states(project: Project, paths: Sequence[str], read: Callable[[str], str]) -> list[EvalFileState]:
    """Load the files; all problems of all of them are raised at once. `read`: returns the text of a file."""
    files = list(dict.fromkeys(resolve_path(project, path) for path in paths))
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
    lacking, having, without_outcome = [], [], []
    for case in cases:
        raw = value_at(documents[case.source.document], case.source.at)
        case_without_rubric = CaseWithoutRubric(case, raw)
        if raw.get(RUBRICS):
            having.append(case_without_rubric.name)
        elif not any(str(raw.get(key) or "").strip() for key in _OUTCOMES):
            without_outcome.append(case_without_rubric.name)
        else:
            lacking.append(case_without_rubric)
    return EvalFileState(file, body, tuple(lacking), tuple(having), tuple(without_outcome))


# Drafting a rubric for one case.


class Draft(Struct):
    """The draft of a rubric. `items` is None if no reply could be used; `error` says why."""

    lacking: CaseWithoutRubric
    items: Items | None
    usage: Usage = field(default_factory=Usage)
    error: Problem | None = None


def draft(
    lacking: CaseWithoutRubric, model: str, ask: Callable[[ModelQuestion], Answer], mask: Mask
) -> Draft:
    """Draft a rubric, in at most three tries."""
    texts = texts_of(lacking.case)
    nonce = nonce_of(*texts.values())
    try:
        result = ask_until_readable(
            draft_question(model, texts), ask, mask, lambda text: read_draft(text, nonce), _RETRIES
        )
    except BaselinekitError as failure:
        return Draft(lacking, None, error=failure.problems[0])
    error = None if result.value else result.errors[-1].problems[0]
    return Draft(lacking, result.value, result.usage, error)


def texts_of(case: Case) -> dict[str, str]:
    """The texts that the model sees. Of what a case is asked, it sees only the first question."""
    return {name.replace("_", " "): text for name, text in texts_of_case(case).items() if text}


def draft_question(model: str, texts: dict[str, str]) -> ModelQuestion:
    example = {"id": "…", "expected_outcome": "…", "weight": 1, "required": True}
    return question(model, _TASK.format(fewest=FEWEST, most=MOST), texts, {RUBRICS: [example]})


def read_draft(text: str, nonce: str) -> Items:
    """Read the items of a reply; raise that it is unusable if any of them is not valid."""
    raw_items = reply(text, (RUBRICS,), nonce)[RUBRICS]
    if not isinstance(raw_items, list) or not FEWEST <= len(raw_items) <= MOST:
        raise unusable_reply(f"does not have {FEWEST} to {MOST} items", text)
    items = []
    for number, raw in enumerate(raw_items, 1):
        reason = reason_unusable(raw)
        if reason:
            raise unusable_reply(f"has an item, the {number}., {reason}", text)
        items.append(DraftedItem(raw["id"], raw["expected_outcome"].strip(), raw["weight"], raw["required"]))
    if len({item.id for item in items}) < len(items):
        raise unusable_reply("has two items of one id", text)
    if len({item.expected_outcome for item in items}) < len(items):
        raise unusable_reply("has the same item twice", text)
    rubric_items = [
        RubricItem(item.id, item.expected_outcome, None, item.weight, item.required) for item in items
    ]
    for problem in item_problems(rubric_items):  # the checks for the rubric in a file
        raise unusable_reply(f"makes no rubric: {problem.message}", text)
    return tuple(items)


def reason_unusable(raw: Json) -> str:
    if not isinstance(raw, dict) or raw.keys() != set(_KEYS):
        return f"that does not have {', '.join(_KEYS)} and nothing else"
    if not isinstance(raw["id"], str) or not _ID.fullmatch(raw["id"]):
        return "whose id is not of lower-case letters, digits and -"
    outcome = raw["expected_outcome"]
    if not isinstance(outcome, str) or not outcome.strip() or not outcome.strip().isprintable():
        return "whose expected_outcome is not one line of text"
    weight = raw["weight"]
    if not is_number(weight) or not math.isfinite(weight) or not 0 < weight <= _HEAVIEST:
        return f"whose weight is not above 0 and at most {_HEAVIEST}"
    return "" if isinstance(raw["required"], bool) else "whose required is neither true nor false"


# Writing the drafts into the file.


def with_rubrics(body: str, file: str, drafts: Sequence[Draft]) -> str:
    """The text of the file with the drafts. It is read again, and nothing else may have changed; NotRecorded
    where it cannot be written so."""
    written = language(file)
    documents = written.load(body, file)
    edits: dict[int, list[Edit]] = defaultdict(list)
    for draft in drafts:
        if draft.items is None:
            continue
        document, at = draft.lacking.place
        if not is_there(documents, document, at, draft.lacking.raw):
            message = f"the case {draft.lacking.name!r} has changed while its rubric was drafted"
            raise InvalidInput(Problem("BK697", message, "generate it again", Place(file)))
        edits[document].append(Edit((*at, RUBRICS), [item.written for item in draft.items]))
    for document, document_edits in edits.items():
        body = edited(body, document_edits, written, document)
    return body


def is_there(documents: Sequence[Json], document: int, at: Path, raw: Json) -> bool:
    try:
        return identical(value_at(documents[document], at), raw)
    except (LookupError, TypeError):
        return False


def write(project: Project, file: str, drafts: Sequence[Draft]) -> None:
    """Write the drafts into the file as it is now, so that edits made meanwhile are kept."""
    edit_text(project.root, file, lambda body: with_rubrics(body, file, drafts))


def diff(state: EvalFileState, drafts: Sequence[Draft]) -> str:
    """The diff of what would be written."""
    after = with_rubrics(state.body, state.file, drafts)
    before, now = (text.splitlines(keepends=True) for text in (state.body, after))
    lines = unified_diff(before, now, state.file, state.file, n=2)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
