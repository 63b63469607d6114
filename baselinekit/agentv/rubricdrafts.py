"""Drafts of rubrics: for each case that has an expected outcome but no rubric, a model drafts the items,
and they are written into the file. Nothing else in the file changes, comments included."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from difflib import unified_diff
from typing import Annotated

from baselinekit.agentv.form import CASES, LINE
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.files.edit import edited
from baselinekit.files.languages import language
from baselinekit.graders.base import texts_of_case
from baselinekit.graders.by_template import RubricItem, item_problems
from baselinekit.graders.judging import ask_until_readable, nonce_of, question, reply, unusable_reply
from baselinekit.model.evals import Case
from baselinekit.model.recipes import Answer, ModelQuestion
from baselinekit.model.values import Edit, Json, Path
from baselinekit.schema import read_as
from baselinekit.structs import Meta, Struct, asdict
from baselinekit.suites.loading import FetchFile, forms_in, load_cases
from baselinekit.suites.targets import Targets
from baselinekit.values.equality import identical
from baselinekit.values.paths import render
from baselinekit.values.places import value_at
from baselinekit.values.texts import Mask

RUBRICS = "rubrics"
_RETRIES = 2
_TASK = (
    "Write the rubric by which answers to the question will be judged: 3 to 7 items that "
    "together cover the expected outcome and ask for nothing beyond it. Each item says one thing that a good "
    "answer does, so concretely that two readers of an answer would agree whether it does it. `id` is a "
    "short name of lower-case letters, digits and `-`; `weight` is how much the item counts, from 0.5 to 3; "
    "`required` is true only for what an answer must not lack. The reference answer, if there is one, is an "
    "example of a good answer, and others may be worded quite differently."
)
_WEIGHT = Meta(gt=0, le=10, description="a number above 0, at most 10")


class DraftedItem(Struct):
    id: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}(?!\n)$", description="a-z, 0-9, _ and -")]
    expected_outcome: Annotated[str, Meta(pattern=LINE, description="one line of text")]
    weight: Annotated[int, _WEIGHT] | Annotated[float, _WEIGHT]
    required: bool

    @property
    def line(self) -> str:
        return f"{self.id} ({self.weight:g}{', required' if self.required else ''}): {self.expected_outcome}"


# Which cases have no rubric.


class CaseWithoutRubric(Struct):
    """A case without a rubric. `raw`: the case as its file states it."""

    case: Case
    raw: Json


def find_lacking(
    files: Sequence[str], root: str, fetch: FetchFile | None, targets: Targets, read: Callable[[str], str]
) -> tuple[list[CaseWithoutRubric], list[str]]:
    """Return the cases without a rubric, and the names of those that have one. All problems of all files are
    raised at once. `read`: returns the text of a file."""
    cases = load_cases(files, root, fetch_file=fetch, targets=targets)
    lacking, having = [], []
    for file in files:
        own_cases = [case for case in cases if case.source.file == file]
        if not own_cases or forms_in(root, file) != {CASES}:
            hint = f"name a file of cases that have an expected_outcome: {CASES}: in YAML, or JSON Lines"
            message = "rubrics belong to the cases of AgentV's form"
            raise InvalidInput(Problem("BK776", message, hint, Place(file)))
        documents = language(file).load(read(file), file)
        for case in own_cases:
            raw = value_at(documents[case.source.document], case.source.at)
            if raw.get(RUBRICS):
                having.append(str(case.name))
            else:
                lacking.append(CaseWithoutRubric(case, raw))
    return lacking, having


# Drafting a rubric for one case.


class Draft(Struct):
    """The draft of a rubric. `items` is empty if no reply could be used, for the reason in
    `error`."""

    lacking: CaseWithoutRubric
    items: list[DraftedItem]
    error: Problem | None = None


def draft(found: CaseWithoutRubric, model: str, ask: Callable[[ModelQuestion], Answer], mask: Mask) -> Draft:
    """Draft a rubric, in at most three tries. Of what a case is asked, the model sees the first question."""
    texts = {name.replace("_", " "): text for name, text in texts_of_case(found.case).items() if text}
    nonce = nonce_of(*texts.values())
    example = {"id": "…", "expected_outcome": "…", "weight": 1, "required": True}
    asked = question(model, _TASK, texts, {RUBRICS: [example]})
    try:
        result = ask_until_readable(asked, ask, mask, lambda text: read_draft(text, nonce), _RETRIES)
    except BaselinekitError as failure:
        return Draft(found, [], failure.problems[0])
    return Draft(found, result.value or [], None if result.value else result.errors[-1].problems[0])


def read_draft(text: str, nonce: str) -> list[DraftedItem]:
    """Read the items of a reply; raise that it is unusable if any of them is not valid."""
    raw_items = reply(text, (RUBRICS,), nonce)[RUBRICS]
    if not isinstance(raw_items, list) or not 3 <= len(raw_items) <= 7:
        raise unusable_reply("does not have 3 to 7 items", text)
    items, problems = read_as(list[DraftedItem], raw_items)
    if items is None:
        at, message = render(problems[0].at or ()), problems[0].message.partition(", found ")[0]
        raise unusable_reply(f"is not as asked for: rubrics{at}: {message}", text)
    if len({item.expected_outcome for item in items}) < len(items):
        raise unusable_reply("has the same item twice", text)
    stated = [RubricItem(item.id, item.expected_outcome, None, item.weight, item.required) for item in items]
    for problem in item_problems(stated):  # the checks of the rubric in a file
        raise unusable_reply(f"makes no rubric: {problem.message}", text)
    return items


# Writing the drafts into the file.


def with_rubrics(body: str, file: str, drafts: Sequence[Draft]) -> str:
    """Return the text of the file with the drafts. It is read again, and nothing else may have changed;
    NotRecorded where it cannot be written so."""
    written = language(file)
    documents = written.load(body, file)
    edits: dict[int, list[Edit]] = defaultdict(list)
    for draft in drafts:
        source = draft.lacking.case.source
        if draft.items and not _is_unchanged(documents, source.document, source.at, draft.lacking.raw):
            message = f"the case {draft.lacking.case.name!r} has changed while its rubric was drafted"
            raise InvalidInput(Problem("BK122", message, "generate it again", Place(file)))
        if draft.items:
            edits[source.document].append(Edit((*source.at, RUBRICS), [asdict(item) for item in draft.items]))
    for document, document_edits in edits.items():
        body = edited(body, document_edits, written, document)
    return body


def _is_unchanged(documents: Sequence[Json], document: int, at: Path, raw: Json) -> bool:
    try:
        return identical(value_at(documents[document], at), raw)
    except (LookupError, TypeError):
        return False


def diff(body: str, file: str, drafts: Sequence[Draft]) -> str:
    """Return the diff of what would be written."""
    before, after = (text.splitlines(keepends=True) for text in (body, with_rubrics(body, file, drafts)))
    lines = unified_diff(before, after, file, file, n=2)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
