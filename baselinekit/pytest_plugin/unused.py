"""The end of a run: which baselines were written, and which no test uses any more. These are found by a run
that covered everything, listed, and removed on request.

A file is unused if it holds one value of a test, no test of this run used it, and its test is gone or passed
without it. For a test that was skipped, failed or did not finish nothing is known, and a run that left
anything out finds nothing at all."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from baselinekit.errors import BaselinekitError
from baselinekit.kinds.pytest import PYTEST
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Baseline
from baselinekit.pytest_plugin.fixture import Projects
from baselinekit.pytest_plugin.session import Run, Used
from baselinekit.report.wording import first_of
from baselinekit.store import atomic, reading, records
from baselinekit.store.results import drop_pending
from baselinekit.structs import Struct
from baselinekit.values.texts import count_noun

_MOST_WRITTEN = 8


class Unused(Struct):
    """An unused baseline of the project at `root`."""

    root: str
    baseline: Baseline
    reason: str


def end_of_run(config: pytest.Config, run: Run, exit_status: int) -> list[str]:
    """Return the lines for the end of a run. With --baseline-prune the unused baselines are removed."""
    rootdir, prune = str(config.rootpath), bool(config.option.baseline_prune)
    partial = run.left_out or left_out(config, exit_status)
    unused: list[Unused] = []
    try:
        opened = Projects(rootdir)
        roots = dict.fromkeys([rootdir, *(root for root, *_ in run.used)])
        folders = {project.root: project.folder for project in map(opened.of, roots)}
        if not partial:
            unused, partial = find_unused(run, rootdir, folders)
    except BaselinekitError as error:
        partial = str(error)
    failed = [line for one in unused for line in remove(one)] if prune else []
    return [*lines_of_used(run.used), *lines_of_unused(unused, partial, prune), *failed]


def lines_of_used(used: Sequence[Used]) -> Iterator[str]:
    """Yield what was written, and the notes of each file."""
    for reported in ("written", "updated"):
        names = list(dict.fromkeys(file for _, file, use, _ in used if use == reported))
        if len(names) == 1:
            yield f"1 baseline {reported}: {names[0]}"
        elif names:
            yield f"{count_noun(len(names), 'baseline')} {reported}:"
            yield from (f"  {name}" for name in first_of(names, _MOST_WRITTEN))
    yield from (f"{file}: {note}" for _, file, _, notes in used for note in notes)


def left_out(config: pytest.Config, exit_status: int) -> str:
    """Return why a run did not cover everything, where the collected tests do not show it; else an empty
    text."""
    option = config.option
    if exit_status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return "the run was stopped, or had no test"
    for name in ("lf", "setuponly", "setupplan", "override_ini"):
        if getattr(option, name, None):
            return f"--{name.replace('_', '-')} may leave tests out"
    single_test = next((str(word) for word in config.args if "::" in str(word)), "")
    return f"of its file only {single_test} was run" if single_test else ""


def find_unused(run: Run, rootdir: str, folders: Mapping[str, str]) -> tuple[list[Unused], str]:
    """Return the unused baselines; or none, and why the run cannot tell. `folders`: the folder of baselines
    by the root of each project."""
    if unfinished := len(run.collected - run.ended):
        return [], f"{count_noun(unfinished, 'test')} did not finish"
    looked = {_test_of(rootdir, file)[0]: outcome for file, outcome in run.looked.items()}
    tests = {_test_of(rootdir, nodeid): nodeid for nodeid in run.collected}
    functions = {(path, _function(name)) for path, name in tests}
    used = {os.path.join(root, file) for root, file, _, _ in run.used}
    found = []
    for root, folder in folders.items():
        for baseline in unused_values(root, folder, used):
            test = baseline.current.input.test
            path, name = _test_of(root, test)
            if nodeid := tests.get((path, name)):
                if nodeid not in run.unproven:
                    found.append(Unused(root, baseline, f"{test} passed without it"))
            elif (path, _function(name)) in functions or "." in _function(name):
                continue  # an option may have chosen other parameters for this run, or left out doctests
            elif path not in looked and os.path.exists(path):
                return [], f"{test.partition('::')[0]} was not collected"
            elif looked.get(path) != "skipped":
                found.append(Unused(root, baseline, f"{test} is gone"))
    return found, ""


def _test_of(root: str, nodeid: str) -> tuple[str, str]:
    file, _, name = nodeid.partition("::")
    return os.path.realpath(os.path.join(root, file)), name


def _function(name: str) -> str:
    return name.partition("[")[0]


def unused_values(root: str, folder: str, used: Collection[str]) -> Iterator[Baseline]:
    """Yield the values of tests whose files were not used. Left out are files that hold anything else, those
    that cannot be read, which `compare` and `doctor` report, and those of another project, below a
    configuration of its own."""
    if not os.path.isdir(os.path.join(root, folder)):
        return
    discovery = reading.discover_files([folder], root)
    of_others = tuple(f"{os.path.dirname(config)}/" for config in discovery.configs)
    for file in discovery.files:
        path = os.path.join(root, file)
        if path in used or file.startswith(of_others) or os.path.islink(path):
            continue
        try:
            is_single = len(records.records_in(Path(path).read_bytes(), file)) == 1
            (baseline,) = reading.load([file], root) if is_single else (None,)
        except (BaselinekitError, OSError):
            continue
        if baseline is not None and kind_of(baseline.current) is PYTEST:
            yield baseline


def remove(unused: Unused) -> Iterator[str]:
    """Remove an unused baseline, its output beside it, and folders that become empty. Yield why it cannot be
    removed."""
    root, file = unused.root, unused.baseline.source.file
    folder = os.path.dirname(file)
    try:
        with atomic.lock(root, file):
            atomic.remove(root, file)
            for output_file in unused.baseline.output_files[:1]:
                in_root, name = records.output_location(root, file, output_file)
                if (in_root, os.path.dirname(name)) == (root, folder) and records.MARK in name:
                    atomic.remove(root, name)  # one elsewhere, or of another name, is not its own
    except BaselinekitError as error:
        yield from (f"{file} is still there: {problem.message}" for problem in error.problems)
        return
    drop_pending(root, unused.baseline.id)
    while os.path.dirname(folder):  # the top folder of baselines stays
        try:
            os.rmdir(os.path.join(root, folder))
        except OSError:
            return
        folder = os.path.dirname(folder)


def lines_of_unused(unused: Sequence[Unused], partial: str, pruned: bool) -> Iterator[str]:
    if not unused and pruned:
        more = "only a run of everything tells what is unused"
        yield f"no baseline was removed: {f'{partial}; {more}' if partial else 'each is used by a test'}"
    if unused:
        done = "removed" if pruned else "to remove: pytest --baseline-prune"
        yield f"{count_noun(len(unused), 'baseline')} used by no test ({done}):"
    for one in unused:
        yield f"  {one.baseline.source.file}: {one.reason}"
