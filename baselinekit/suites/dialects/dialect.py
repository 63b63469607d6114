"""What a dialect is, and one load of eval files: what their items give, each read by its dialect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused, nearest
from baselinekit.kinds.prompt import PromptExecution
from baselinekit.model.baselines import Source
from baselinekit.model.evals import Case, Kind, Suite
from baselinekit.model.grades import Grader
from baselinekit.model.recipes import Execution, Seconds
from baselinekit.model.values import Json, Path, json_type
from baselinekit.schema.complaints import Parts, Schema
from baselinekit.schema.validate import place_problems
from baselinekit.store import records
from baselinekit.store.project import read
from baselinekit.store.reading import same_ids
from baselinekit.suites.settings import NUMBERED, Settings

Criticality = Literal["critical", "high", "medium", "low"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One form of eval files. `read`: an item, whose cases are added to its document, and what is wrong with
    it; `schema`: what an item may be, its parts added to those that are there. `recognises`: by the keys of
    an item; None for what stands below its `wrapper` only, where items of other dialects may stand too.
    `in_lists`: whether a file may hold several."""

    name: str
    read: Callable[[EvalItem, EvalDocument, Defaults], list[Problem]]
    schema: Callable[[Parts], list[Schema]]
    recognises: Callable[[dict[str, Json]], bool] | None = None
    wrapper: str | None = None
    in_lists: bool = True


@dataclass(frozen=True, slots=True)
class Defaults:
    """What holds for a case that says nothing of its own. `target`: whom the operator wants asked;
    `execution`: whom the file or the suite does."""

    root: str
    target: Execution | None = None
    execution: Execution | None = None
    timeout: Seconds | None = None
    retries: int = 0
    parallel: bool = True
    category: str | None = None
    tags: tuple[str, ...] = ()
    criticality: Criticality | None = None
    skip: str | None = None
    kind: Kind = "capability"
    before: str = ""
    graders: tuple[Json, ...] = ()
    named: Mapping[str, Grader] = field(default_factory=dict)

    @property
    def asked(self) -> Execution:
        return self.target or self.execution or PromptExecution("prompt")


# What an eval file holds: its items, each with its form, wherever it stands.


BESIDE = ("baselines", "config", "fixtures", "results")
"""Folders below a named one that hold what goes with evals: known outputs, graders and thresholds, files that
cases name, and what runs have written."""

_OTHERS: dict[str, tuple[str, str, str]] = {
    "ref": ("nothing", "a reference", "in a suite, write: $ref: ./cases.yaml"),
    "eval_report": ("report", "the report of a run", "reports belong in results/"),
    "format": ("report", "the result of a run", "results belong in results/"),
    "evalcases": ("nothing", "an AgentV eval file", "it cannot be read as a suite"),
    "cases": ("nothing", "an eva case file", "it cannot be read as a suite"),
    "triggering": ("nothing", "an eva triggering file", "it cannot be read as a suite"),
}
"""What is no eval case, by a key that only it has: its form, what it looks like, and what to do."""


_KEYS_OF_CASES = ("test_cases", "input", "expected", "grader", "current", "baseline")


@dataclass(frozen=True, slots=True)
class EvalItem:
    """One thing in a document: its form (the name of a dialect, "report" or "nothing"), and where it stands.
    `problem`: why it is nothing that could be run."""

    form: str
    at: Path
    raw: Json
    problem: Problem | None = None

    @classmethod
    def nothing(cls, problem: Problem) -> EvalItem:
        return cls("nothing", problem.at or (), None, problem)


def items(document: Json, dialects: Sequence[Dialect]) -> Iterator[EvalItem]:
    """What a document holds, in its order."""
    if document is None:
        return
    if not isinstance(document, dict):
        yield from _listed(document, (), dialects)
        return
    wrapped = {dialect.wrapper: dialect for dialect in dialects if dialect.wrapper}
    wrappers = [key for key in wrapped if key in document]
    if not wrappers:
        yield _item(document, (), dialects)
        return
    for key in document:
        if key not in wrappers:
            what = f"unknown key {key!r} beside {wrappers[0]}"
            yield EvalItem.nothing(Problem("BK103", what, f"move it below {wrappers[0]}", at=(key,)))
    for key in wrappers:
        dialect = wrapped[key]
        if dialect.in_lists:
            yield from _listed(document[key], (key,), dialects, dialect.name)
        else:
            yield EvalItem(dialect.name, (key,), document[key])


def _listed(
    value: Json, at: Path, dialects: Sequence[Dialect], form: str | None = None
) -> Iterator[EvalItem]:
    if isinstance(value, list) and not value:
        yield EvalItem.nothing(Problem("BK710", "an empty list", "add a case", at=at))
    for number, raw in enumerate(value if isinstance(value, list) else [value]):
        here = (*at, number) if isinstance(value, list) else at
        if not isinstance(raw, dict):
            hint = "a case is a mapping with id, input, expected and grader"
            yield EvalItem.nothing(Problem("BK710", f"not a case but a JSON {json_type(raw)}", hint, at=here))
        else:
            yield EvalItem(form, here, raw) if form else _item(raw, here, dialects)


def _item(raw: dict[str, Json], at: Path, dialects: Sequence[Dialect]) -> EvalItem:
    """By what only one of the forms has."""
    what = hint = ""
    if {"output", "human"} <= raw.keys():
        what = "this looks like labels for a judge"
        hint = "move it into the folder config/ beside the cases, and name it there: calibration: config/…"
    elif raw.keys() <= {"grader", "graders"}:
        what = "this is only a grader"
        hint = "put it in a case, beside id and input, or give it a name in config/graders.yaml"
    else:
        known = next((d for d in reversed(dialects) if d.recognises and d.recognises(raw)), None)
        if known is not None:
            return EvalItem(known.name, at, raw)
    form, words, todo = next((row for key, row in _OTHERS.items() if key in raw), ("nothing", "", ""))
    if words and not what:
        what, hint = f"this looks like {words}", todo
    if not what:
        keys = [*(one.wrapper for one in dialects if one.wrapper), *_KEYS_OF_CASES]
        what = f"it has {', '.join(map(str, list(raw)[:5])) or 'nothing'}"
        hint = next((near for key in raw if (near := nearest(key, keys))), "")
        hint = hint or "a case has id, input, expected and grader"
    return EvalItem(form, at, None, Problem("BK710", f"not a case: {what}", hint, at=at))


# One load of eval files: what they gave so far, where they lead, and everything that is wrong with them.


@dataclass(slots=True)
class Loading:
    """What the files gave so far. `open`: the suites that lead to where we are; `referred`: what suites have
    named, and who did first; `defaults`: what a suite says for its cases; `walked`: what nobody named, but
    was found in a folder."""

    root: str
    dialects: Sequence[Dialect]
    cases: list[Case] = field(default_factory=list)
    suites: list[Suite] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    referred: dict[str, tuple[str, str]] = field(default_factory=dict)
    defaults: dict[str, Defaults] = field(default_factory=dict)
    walked: set[str] = field(default_factory=set)
    settings: Settings = field(default_factory=Settings)

    def wrong(self) -> list[Problem]:
        """All that is wrong, once: a suite may be asked for twice."""
        found = [*self.settings.problems, *self.problems, *same_ids(self.cases, self.root)]
        return list(dict.fromkeys(found))

    def finish(self) -> None:
        """Refuse what cannot be used, all at once."""
        if problems := self.wrong():
            refused = all(problem.code.startswith("BK4") for problem in problems)
            raise (Refused if refused else InvalidInput)(*problems)

    def file(self, file: str, defaults: Defaults, only_suite: bool = False) -> None:
        """All of a file."""
        try:
            data = read(self.root, file)
            body = decode(data, file).body
            documents, source = records.opened(data, body, file, NUMBERED)
        except BaselinekitError as error:
            self.problems += [problem.placed(Place(file)) for problem in error.problems]
            return
        defaults = replace(defaults, named=self.settings.graders(self.root, file, defaults.named))
        wrong: dict[int, list[Problem]] = {}
        empty = True
        for number, document in enumerate(documents):
            one = EvalDocument(self, file, number, source)
            for item in items(document, self.dialects):
                empty = False
                found = one.no_suite(item) if only_suite else None
                wrong.setdefault(number, []).extend([found] if found else one.item(item, defaults))
        if any(wrong.values()):
            self.problems += place_problems(body, file, wrong)
        if empty:
            hint = "write a case into it, or remove it"
            self.problems.append(Problem("BK710", "not a case: the file is empty", hint, Place(file, 1, 1)))


@dataclass(frozen=True, slots=True)
class EvalDocument:
    """One document on its way to cases: they are kept in the load, and what is wrong comes back with paths
    into the document."""

    loading: Loading
    file: str
    number: int
    source_of: records.SourceOf

    @property
    def cases(self) -> list[Case]:
        return self.loading.cases

    def source(self, at: Path, raw: dict[str, Json]) -> Source:
        return self.source_of(self.number, at, raw)

    def no_suite(self, item: EvalItem) -> Problem | None:
        if item.form in ("suite", "gate") or item.problem is not None:
            return None
        what = "not a suite: it contains cases without `eval_suite:`"
        return Problem("BK710", what, f"run it as it is: baselinekit run {self.file}", at=item.at)

    def item(self, item: EvalItem, defaults: Defaults) -> list[Problem]:
        """Read an item by its dialect. A report may lie among cases, and is none."""
        if item.problem is not None:
            passed_over = item.form == "report" and self.file in self.loading.walked
            return [] if passed_over else [item.problem]
        dialect = next(dialect for dialect in self.loading.dialects if dialect.name == item.form)
        return dialect.read(item, self, defaults)
