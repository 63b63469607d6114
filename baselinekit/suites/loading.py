"""The forms of eval files, one module per form, and the loading of cases and suites: either all of them,
or all problems of all files."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec

from baselinekit.clients.programs.gitfiles import FetchedFile
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem
from baselinekit.model.evals import Case, Suite
from baselinekit.model.recipes import Execution
from baselinekit.store import records
from baselinekit.store.project import name_in_project, read
from baselinekit.store.reading import keys_of_json, resemble
from baselinekit.structs import replace
from baselinekit.suites import capability, suite
from baselinekit.suites.dialect import Defaults, Dialect, Loading, items
from baselinekit.suites.promptfolders import eval_files
from baselinekit.suites.settings import NUMBERED, load_documents
from baselinekit.suites.suite import WRAPPER, defaults_for
from baselinekit.suites.targets import NO_TARGETS, Targets


def has_folder(name: str) -> bool:
    """Whether the package has the folder of another tool: all else works without it."""
    return find_spec(f"baselinekit.{name}") is not None


def _of_feature(name: str, folder: str, lines: bool = False) -> Iterator[Dialect]:
    """Yield the form of another tool, which has a folder of its own; none if the package lacks the folder."""
    if has_folder(folder):
        form = import_module(f"baselinekit.{folder}.form")
        yield Dialect(name, form.read_item, form.add_schema, form.recognises, in_lists=False, in_lines=lines)


DIALECTS = (
    Dialect("gate", suite.read_gate_item, suite.add_gate_schema, suite.recognises_gate, in_lists=False),
    Dialect("case", capability.read_item, capability.add_schema, capability.recognises, capability.WRAPPER),
    Dialect(
        "regression",
        capability.read_record_item,
        capability.add_record_schema,
        capability.recognises_record,
        records.WRAPPER,
    ),
    Dialect("test_cases", capability.read_file, capability.add_file_schema, capability.recognises_file),
    *_of_feature("prompt_cases", "eva"),
    *_of_feature("evalcases", "agentv", lines=True),
    Dialect("suite", suite.read_item, suite.add_schema, wrapper=suite.WRAPPER, in_lists=False),
)


_EVAL_KEYS = """
    eval_suite eval_trigger eval_type eval_report capability_eval regression_eval format
    evalcases cases triggering test_cases tests evals prompts providers assertions
    input input_messages expected expected_output expected_messages expected_outcome
    grader graders evaluators rubrics outcome criteria current baseline human execution target dataset ref
"""

FetchFile = Callable[[str], FetchedFile]
"""Reads a file that is named by the address of a git repository."""


def forms_in(root: str, file: str) -> set[str]:
    """Return the forms of the items in a file; none if it cannot be read."""
    try:
        _, documents = load_documents(root, file, NUMBERED)
    except BaselinekitError:
        return set()
    return {item.form for document in documents for item in items(document, DIALECTS)}


def is_foreign(root: str, file: str) -> bool:
    """Whether a JSON file that was found, not named, has no key of an eval file, and no misspelling of one: a
    package.json, a schema."""
    keys = keys_of_json(root, file)
    return bool(keys) and not resemble(keys or (), _EVAL_KEYS.split())


def load_suite(file: str, root: str, fetch: FetchFile | None = None, targets: Targets = NO_TARGETS) -> Suite:
    """Return a suite with all its cases."""
    suite = load_evals([file], root, fetch_file=fetch, targets=targets)
    if suite.file is None:
        hint = f"run it as it is: baselinekit run {file}"
        raise InvalidInput(Problem("BK710", "not a suite: it has no `eval_suite:`", hint, Place(file)))
    return suite


def load_cases(
    files: Sequence[str],
    root: str,
    target: Execution | None = None,
    dialects: Sequence[Dialect] = DIALECTS,
    fetch_file: FetchFile | None = None,
    targets: Targets = NO_TARGETS,
) -> list[Case]:
    """Return the cases of these files, in order. A suite among them adds its own cases; the defaults of a
    folder's suite also apply to a file that is loaded alone. `target` replaces those that files name."""
    loading = Loading(root, dialects, fetch_file, targets)
    for file in files:
        loading.file(file, defaults_for(file, loading, Defaults(root, target)))
    loading.finish()
    return loading.cases


def load_evals(
    paths: Sequence[str],
    root: str,
    dialects: Sequence[Dialect] = DIALECTS,
    fetch_file: FetchFile | None = None,
    targets: Targets = NO_TARGETS,
) -> Suite:
    """Return everything below these paths, each case once. If there is exactly one suite, its settings apply
    to all cases; otherwise none do."""
    suite, loading = load_everything(paths, root, dialects, fetch_file, targets)
    loading.finish()
    return suite


def load_everything(
    paths: Sequence[str],
    root: str,
    dialects: Sequence[Dialect] = DIALECTS,
    fetch_file: FetchFile | None = None,
    targets: Targets = NO_TARGETS,
) -> tuple[Suite, Loading]:
    """Return the cases that can be read, as one suite, and what was read, with all problems. Suites are read
    first, those of upper folders before others; a file that a suite refers to is not read again."""
    found = eval_files(paths, root)
    named_files = {name_in_project(root, os.path.join(root, path)) for path in paths}
    foreign_files = [file for file in found if file not in named_files and is_foreign(root, file)]
    files = [file for file in found if file not in foreign_files]
    discovered = {file for file in files if file not in named_files}
    loading = Loading(root, dialects, fetch_file, targets, frozenset(files), discovered)
    defaults = Defaults(root)
    suites = [file for file in files if _mentions_suite(root, file)]
    for file in sorted(suites, key=lambda file: file.count("/")):
        if file not in loading.references:
            loading.file(file, defaults)
    top_suites = [suite for suite in loading.suites if suite.file not in loading.references]
    suite = top_suites[0] if len(top_suites) == 1 else Suite("evals", ())
    for file in files:
        if file not in suites and file not in loading.references:
            suite_defaults = loading.defaults.get(suite.file or "")
            loading.file(file, suite_defaults or defaults_for(file, loading, defaults))
    notes = (f"{file} was passed over: nothing in it belongs to an eval file" for file in foreign_files)
    return replace(_with_cases(suite, loading), notes=tuple(notes)), loading


def _mentions_suite(root: str, file: str) -> bool:
    """Whether a file may be a suite, by a search in its bytes; reading it shows whether it is one."""
    with suppress(BaselinekitError):
        return WRAPPER.encode() in read(root, file)
    return False


def _with_cases(suite: Suite, loading: Loading) -> Suite:
    """Return the suite with the cases read, and with the targets' limit of workers unless it states one."""
    config, description = suite.config, suite.description
    if config.max_workers is None and loading.workers:
        config = replace(config, max_workers=min(loading.workers))
    if description is None and len({case.source.file for case in loading.cases}) == 1:
        description = next(iter(loading.descriptions.values()), None)
    return replace(suite, config=config, cases=tuple(loading.cases), description=description)
