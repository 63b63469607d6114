"""Eval files to cases and suites: all of them, or everything that is wrong in any of them."""

import os
import posixpath
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from baselinekit.documents.languages import language
from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused, nearest
from baselinekit.grade.by_matcher import BaselineMatch
from baselinekit.model.baselines import Baseline
from baselinekit.model.evals import Case, Suite
from baselinekit.model.graders import Grader
from baselinekit.model.recipes import Execution
from baselinekit.model.values import Json, Path, json_type
from baselinekit.schema.places import below, named_at, place_problems
from baselinekit.store import records, records as outputs
from baselinekit.store.files import read, resolve, shown
from baselinekit.store.locating import same_ids
from baselinekit.store.reading import discover, without_collector
from baselinekit.suites import files
from baselinekit.suites.dialects import capability, suite as suites, testcases
from baselinekit.suites.dialects.capability import Defaults
from baselinekit.suites.files import BESIDE, EvalItem, discover_evals
from baselinekit.suites.settings import (
    MAIN_SUITE,
    Settings,
    nearest_upward,
    wrong_paths,
    wrong_results,
)

# One load of eval files: what they gave so far, where they lead, and everything that is wrong with them.


_BASELINE = Grader("baseline", "code", BaselineMatch(), at=("baseline",))


@dataclass(slots=True)
class Loading:
    """What the files gave so far. `open`: the suites that lead to where we are; `referred`: what suites have
    named, and who did first; `defaults`: what a suite says for its cases; `walked`: what nobody named, but
    was found in a folder."""

    root: str
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

    def suite(self, file: str, defaults: Defaults) -> None:
        """A file that must be a suite."""
        self.file(file, defaults, only_suite=True)

    def beside(self, file: str, defaults: Defaults) -> Defaults:
        """What the nearest eval-suite.yaml upward says for its cases, for a file that is run without it."""
        path = nearest_upward(self.root, file, MAIN_SUITE)
        if path is None or path == file:
            return defaults
        if path not in self.defaults:
            self.defaults[path] = self._said_by(path, defaults)
        return self.defaults[path]

    def _said_by(self, path: str, defaults: Defaults) -> Defaults:
        """The defaults with what a suite says, whose own references are not followed."""
        try:
            body = decode(read(self.root, path), path).body
            documents = language(path).load(body, path, numbered=files.NUMBERED)
        except BaselinekitError as error:
            self.problems += [problem.placed(Place(path)) for problem in error.problems]
            return defaults
        for number, document in enumerate(documents):
            for item in files.items(document):
                if item.form == "suite":
                    *_, defaults, wrong = suites.read(item.raw, defaults)
                    self.problems += place_problems(body, path, {number: below(wrong, item.at)})
        return defaults

    def file(self, file: str, defaults: Defaults, only_suite: bool = False) -> None:
        """All of a file."""
        try:
            data = read(self.root, file)
            body = decode(data, file).body
            documents, source = records.opened(data, body, file, files.NUMBERED)
        except BaselinekitError as error:
            self.problems += [problem.placed(Place(file)) for problem in error.problems]
            return
        defaults = replace(defaults, named=self.settings.graders(self.root, file, defaults.named))
        wrong: dict[int, list[Problem]] = {}
        empty = True
        for number, document in enumerate(documents):
            one = _Document(self, file, number, source)
            for item in files.items(document):
                empty = False
                found = one.no_suite(item) if only_suite else None
                wrong.setdefault(number, []).extend([found] if found else one.item(item, defaults))
        if any(wrong.values()):
            self.problems += place_problems(body, file, wrong)
        if empty:
            hint = "write a case into it, or remove it"
            self.problems.append(Problem("BK710", "no case: the file is empty", hint, Place(file, 1, 1)))


@dataclass(frozen=True, slots=True)
class _Document:
    """One document on its way to cases: they are kept in the load, and what is wrong comes back with paths
    into the document."""

    loading: Loading
    file: str
    number: int
    source: records.SourceOf

    def no_suite(self, item: EvalItem) -> Problem | None:
        if item.form == "suite" or item.problem is not None:
            return None
        what = "no suite: it holds cases without `eval_suite:`"
        return Problem("BK710", what, f"run it as it is: baselinekit run {self.file}", at=item.at)

    def item(self, item: EvalItem, defaults: Defaults) -> list[Problem]:
        if item.problem is not None:
            passed_over = item.form in ("gate", "report") and self.file in self.loading.walked
            hint = item.problem.hint.replace(files.FILE, shlex.quote(self.file))
            return [] if passed_over else [replace(item.problem, hint=hint)]
        if item.form == "test_cases":
            return self.test_cases(item, defaults)
        if item.form == "regression":
            return below(self.regression(item, defaults), item.at)
        return self.suite(item, defaults) if item.form == "suite" else self.case(item.at, item.raw, defaults)

    def case(self, at: Path, raw: Json, defaults: Defaults) -> list[Problem]:
        if not isinstance(raw, dict):
            hint = "a case is a mapping with id, input, expected and grader"
            return [Problem("BK710", f"no case, but a JSON {json_type(raw)}", hint, at=at)]
        source = replace(self.source(self.number, at, raw), form="native")
        case, problems = capability.read(raw, source, defaults)
        problems = problems or (wrong_paths(self.loading.root, case) if case else [])
        self.loading.cases += [case] if case and not problems else []
        return below(problems, at)

    def test_cases(self, item: EvalItem, defaults: Defaults) -> list[Problem]:
        defaults, problems = testcases.read(item.raw, defaults)
        problems = below(problems, item.at)
        cases = item.raw["test_cases"]
        for index, raw in enumerate(cases if isinstance(cases, list) else ()):
            problems += self.case((*item.at, "test_cases", index), raw, defaults)
        return problems

    def regression(self, item: EvalItem, defaults: Defaults) -> list[Problem]:
        baseline, problems = records.read_record(item.raw, self.source(self.number, item.at, item.raw))
        if baseline is None or problems:
            return problems
        known, failed = outputs.with_files(baseline.baseline, self.loading.root, self.file)
        for at, error in failed:
            problems += [named_at(problem, (*at, "output_file")) for problem in error.problems]
        if known is None and not problems:
            hint = f"capture it: baselinekit capture from {self.file}"
            problems = [Problem("BK104", f"{baseline.id} has no baseline yet", hint, at=())]
        if not problems:
            about = item.raw.get("metadata")
            category = about.get("category") if isinstance(about, dict) else None
            case = _regression(replace(baseline, baseline=known), defaults)
            self.loading.cases.append(replace(case, category=category))
        return problems

    def suite(self, item: EvalItem, defaults: Defaults) -> list[Problem]:
        """The suite, and everything it refers to."""
        loading, raw = self.loading, item.raw if isinstance(item.raw, dict) else {}
        stated, config, defaults, problems = suites.read(item.raw, defaults)
        thresholds, more = loading.settings.thresholds(loading.root, self.file, raw.get("thresholds"))
        if stated is not None:
            more += wrong_results(loading.root, self.file, stated.reporting.output_dir)
        problems = below([*problems, *more], item.at)
        loading.defaults[self.file] = defaults
        before = len(loading.suites)
        loading.open.append(self.file)
        evals = raw.get("evals")
        for index, entry in enumerate(evals if isinstance(evals, list) else ()):
            problems += self.entry((*item.at, "evals", index), entry, defaults)
        loading.open.pop()
        if stated is not None:
            version = None if stated.version is None else str(stated.version)
            made = Suite(stated.name, (), version, stated.description, config, stated.reporting)
            loading.suites.insert(before, replace(made, thresholds=thresholds, file=self.file, at=item.at))
        return problems

    def entry(self, at: Path, raw: Json, defaults: Defaults) -> list[Problem]:
        """One of the `evals:`: a reference, or a case in place."""
        if isinstance(raw, str):
            return [Problem("BK716", f"{raw!r} is no reference", f"write $ref: {raw}", at=at)]
        if isinstance(raw, dict) and suites.REF in raw:
            return below(self.reference(raw, defaults), at)
        problems: list[Problem] = []
        for item in files.items(raw):
            wrong = item.problem and replace(item.problem, at=(*at, *(item.problem.at or ())))
            problems += self.item(replace(item, at=(*at, *item.at), problem=wrong), defaults)
        return problems

    def reference(self, raw: dict[str, Json], defaults: Defaults) -> list[Problem]:
        """Load what a `$ref` leads to, a file or all files below a folder."""
        name = raw[suites.REF]
        problems = [
            Problem("BK103", f"unknown key {key!r} beside $ref", "move it into the file", at=(key,))
            for key in raw
            if key != suites.REF
        ]
        if not isinstance(name, str) or not name.strip():
            return [*problems, Problem("BK716", "a reference is the path of a file", at=(suites.REF,))]
        try:
            paths = self.paths(name)
        except BaselinekitError as error:
            return [*problems, *(named_at(problem, (suites.REF,)) for problem in error.problems)]
        for path in paths:
            if path in self.loading.referred and self.loading.referred[path][0] != self.loading.open[0]:
                continue  # another suite has brought it along: a case runs once
            self.loading.referred[path] = (self.loading.open[0], self.file)
            self.loading.file(path, defaults)
        return problems

    def paths(self, name: str) -> list[str]:
        """The files that a reference leads to, or why it does not."""
        folder, path = outputs.beside(self.loading.root, self.file, name)
        there = resolve(folder, path)
        path = shown(self.loading.root, posixpath.join(folder, path))
        if os.path.isdir(there):
            found = [file for file in discover([path], self.loading.root, BESIDE) if file != self.file]
            if not found:
                raise InvalidInput(Problem("BK716", f"no eval file is below {path}", "add one"))
            self._refuse_twice(found)
            self.loading.walked.update(found)
            return found
        if not os.path.exists(there):
            beside = os.listdir(os.path.dirname(there)) if os.path.isdir(os.path.dirname(there)) else []
            hint = nearest(os.path.basename(path), beside) or "paths start at the folder of the suite"
            raise InvalidInput(Problem("BK716", f"there is no file {path}", hint))
        if path in self.loading.open:
            way = " -> ".join([*self.loading.open[self.loading.open.index(path) :], path])
            hint = "take this reference out"
            raise InvalidInput(Problem("BK716", f"the suite leads back to itself: {way}", hint))
        self._refuse_twice([path])
        return [path]

    def _refuse_twice(self, paths: Sequence[str]) -> None:
        for path in paths:
            top, by = self.loading.referred.get(path, ("", ""))
            if top == self.loading.open[0]:
                what = f"{path} is referred to twice, by {by} already"
                raise InvalidInput(Problem("BK716", what, "take one of the two references out"))


def _regression(baseline: Baseline, defaults: Defaults) -> Case:
    """A regression record as a case: what it knows to be good is what it is graded by."""
    about = baseline.metadata
    return Case(
        baseline.id,
        baseline.current,
        (_BASELINE,),
        kind="regression",
        name=baseline.name,
        description=baseline.description,
        tags=tuple(about.tags),
        criticality=about.criticality,
        timeout=defaults.timeout,
        retries=defaults.retries,
        skip=about.skip,
        baseline=baseline,
        source=baseline.source,
    )


# Eval files to cases and suites: all of them, or everything that is wrong in any of them.


def load_suite(file: str, root: str, target: Execution | None = None) -> Suite:
    """A suite and all its cases. `target`: whom to ask instead of those that the files name, where a case
    does not say so itself."""
    loading = Loading(root)
    with without_collector():
        loading.suite(file, Defaults(root, target))
    loading.finish()
    return replace(loading.suites[0], cases=tuple(loading.cases))


def load_cases(files: Sequence[str], root: str, target: Execution | None = None) -> list[Case]:
    """The cases of these files, in their order. A suite among them brings its own along; what the suite of
    the folder says for its cases holds for a file by itself as well."""
    loading = Loading(root)
    with without_collector():
        for file in files:
            loading.file(file, loading.beside(file, Defaults(root, target)))
    loading.finish()
    return loading.cases


def load_evals(paths: Sequence[str], root: str, target: Execution | None = None) -> Suite:
    """Everything below these paths, each case once. One suite among it says how all of it is run; where
    there are several, or none, nobody does."""
    loading, suite = _loaded(paths, root, target)
    loading.finish()
    return suite


def load_partly(paths: Sequence[str], root: str) -> tuple[Suite, list[Problem]]:
    """What can be read of it, and what is wrong with the rest."""
    loading, suite = _loaded(paths, root, None)
    return suite, loading.wrong()


def _loaded(paths: Sequence[str], root: str, target: Execution | None) -> tuple[Loading, Suite]:
    suites, loose = discover_evals(paths, root)
    loading = Loading(
        root, walked={*suites, *loose} - {shown(root, os.path.join(root, path)) for path in paths}
    )
    defaults = Defaults(root, target)
    with without_collector():
        for file in suites:
            if file not in loading.referred:
                loading.file(file, defaults)
        chosen = [suite for suite in loading.suites if suite.file not in loading.referred]
        ours = loading.defaults.get(str(chosen[0].file)) if len(chosen) == 1 else None
        for file in loose:
            if file not in loading.referred:
                loading.file(file, ours or loading.beside(file, defaults))
    suite = chosen[0] if len(chosen) == 1 else Suite("evals", ())
    return loading, replace(suite, cases=tuple(loading.cases))
