"""Eval files to cases and suites: all of them, or everything that is wrong in any of them."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from baselinekit.documents.languages import language
from baselinekit.documents.text import decode
from baselinekit.errors import BaselinekitError, Problem
from baselinekit.model.evals import Case, Suite
from baselinekit.model.recipes import Execution
from baselinekit.programs.gitaddress import FetchedFile
from baselinekit.store.discovery import keys_of_json
from baselinekit.store.project import name_in_project, read
from baselinekit.store.reading import without_collector
from baselinekit.suites.dialects.dialect import Defaults, Dialect, Loading, items
from baselinekit.suites.dialects.suite import WRAPPER, defaults_for
from baselinekit.suites.dialects.table import DIALECTS
from baselinekit.suites.promptfolders import eval_files
from baselinekit.suites.settings import NUMBERED
from baselinekit.suites.targets import NO_TARGETS, Targets

# Which files hold evals: those that are named, and those below the folders that are named.


def discover_evals(paths: Sequence[str], root: str) -> tuple[list[str], list[str]]:
    """The suites, those of the upper folders first, and the other files."""
    found = eval_files(paths, root)
    suites = []
    for file in found:  # by a look at its bytes; whether it really is one is found out when it is read
        with suppress(BaselinekitError):
            suites += [file] if WRAPPER.encode() in read(root, file) else []
    return sorted(suites, key=lambda file: file.count("/")), [file for file in found if file not in suites]


def forms_in(root: str, file: str) -> set[str]:
    """What a file holds; nothing where it cannot be read."""
    try:
        documents = language(file).load(decode(read(root, file), file).body, file, numbered=NUMBERED)
    except BaselinekitError:
        return set()
    return {item.form for document in documents for item in items(document, DIALECTS)}


# What lies among eval files and is none: a package.json, a schema.


_KEYS = (
    *(
        "eval_suite",
        "eval_trigger",
        "eval_type",
        "eval_report",
        "capability_eval",
        "regression_eval",
        "format",
    ),
    *(
        "evalcases",
        "cases",
        "triggering",
        "test_cases",
        "tests",
        "evals",
        "prompts",
        "providers",
        "assertions",
    ),
    *("input", "input_messages", "expected", "expected_output", "expected_messages", "expected_outcome"),
    *("grader", "graders", "evaluators", "rubrics", "outcome", "criteria", "current", "baseline", "human"),
    *("execution", "target", "dataset", "ref"),
)
_AS_GOOD_AS = 0.8
"""How alike a key has to be to one of an eval file to be a mistake in writing it."""


def is_foreign(root: str, file: str) -> bool:
    """Whether a JSON file that was only found has no key of an eval file, nor one that could be meant so."""
    return keys_of_json(root, file, _KEYS, _AS_GOOD_AS) == "others"


# Eval files to cases and suites: all of them, or everything that is wrong in any of them.

FetchFile = Callable[[str], FetchedFile]
"""Reads a file that is named by an address of a git repository."""


def load_suite(
    file: str,
    root: str,
    target: Execution | None = None,
    dialects: Sequence[Dialect] = DIALECTS,
    fetch_file: FetchFile | None = None,
    targets: Targets = NO_TARGETS,
) -> Suite:
    """A suite and all its cases. `target`: whom to ask instead of those that the files name, where a case
    does not say so itself."""
    loading = Loading(root, dialects, fetch_file=fetch_file, targets=targets)
    with without_collector():
        loading.file(file, Defaults(root, target), only_suite=True)
    loading.finish()
    return _with_cases(loading.suites[0], loading)


def load_cases(
    files: Sequence[str],
    root: str,
    target: Execution | None = None,
    dialects: Sequence[Dialect] = DIALECTS,
    fetch_file: FetchFile | None = None,
    targets: Targets = NO_TARGETS,
) -> list[Case]:
    """The cases of these files, in their order. A suite among them brings its own along; what the suite of
    the folder says for its cases holds for a file by itself as well."""
    loading = Loading(root, dialects, fetch_file=fetch_file, targets=targets)
    with without_collector():
        for file in files:
            loading.file(file, defaults_for(file, loading, Defaults(root, target)))
    loading.finish()
    return loading.cases


def load_evals(
    paths: Sequence[str],
    root: str,
    target: Execution | None = None,
    dialects: Sequence[Dialect] = DIALECTS,
    fetch_file: FetchFile | None = None,
    targets: Targets = NO_TARGETS,
) -> Suite:
    """Everything below these paths, each case once. One suite among it says how all of it is run; where
    there are several, or none, nobody does."""
    loading, suite = _loaded(paths, root, target, dialects, fetch_file, targets)
    loading.finish()
    return suite


def load_partly(
    paths: Sequence[str],
    root: str,
    fetch_file: FetchFile | None = None,
    targets: Targets = NO_TARGETS,
) -> tuple[Suite, list[Problem]]:
    """What can be read of it, and what is wrong with the rest."""
    loading, suite = _loaded(paths, root, None, DIALECTS, fetch_file, targets)
    return suite, loading.wrong()


def _loaded(
    paths: Sequence[str],
    root: str,
    target: Execution | None,
    dialects: Sequence[Dialect],
    fetch_file: FetchFile | None,
    targets: Targets,
) -> tuple[Loading, Suite]:
    suites, loose = discover_evals(paths, root)
    named = {name_in_project(root, os.path.join(root, path)) for path in paths}
    foreign = [file for file in loose if file not in named and is_foreign(root, file)]
    loose = [file for file in loose if file not in foreign]
    loading = Loading(
        root,
        dialects,
        files=frozenset((*suites, *loose)),
        walked={*suites, *loose} - named,
        fetch_file=fetch_file,
        targets=targets,
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
                loading.file(file, ours or defaults_for(file, loading, defaults))
    suite = chosen[0] if len(chosen) == 1 else Suite("evals", ())
    return loading, replace(_with_cases(suite, loading), notes=tuple(map(passed_over, foreign)))


def passed_over(file: str) -> str:
    return f"{file} was passed over: nothing in it belongs to an eval file"


def _with_cases(suite: Suite, loading: Loading) -> Suite:
    """With what was read; and as many at once as the targets let, where nobody else says how many."""
    config = suite.config
    if config.max_workers is None and loading.workers:
        config = replace(config, max_workers=min(loading.workers))
    description = suite.description
    if description is None and len({case.source.file for case in loading.cases}) == 1:
        description = next(iter(loading.described.values()), None)
    return replace(suite, config=config, cases=tuple(loading.cases), description=description)
