"""The end of a run: which baselines were written, and which no test uses any more. These are found by a run
that covered everything, listed, and removed on request.

A file is unused if it holds one value of a test, no test of this run used it, and its test is gone or passed
without it. For a test that was skipped, failed or did not finish nothing is known, and a run that left
anything out finds nothing at all."""

import difflib
import os
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache

import pytest

from baselinekit.clients.programs.git import Git
from baselinekit.clients.programs.process import Processes
from baselinekit.errors import BaselinekitError
from baselinekit.kinds.pytest import PYTEST
from baselinekit.kinds.table import kind_of
from baselinekit.library.verdicts import judge
from baselinekit.model.baselines import Baseline
from baselinekit.pytest_plugin.files import Projects
from baselinekit.pytest_plugin.session import Covered, Used, terminal_of
from baselinekit.store import atomic, reading, records
from baselinekit.store.project import nearest_config
from baselinekit.store.results import drop_pending
from baselinekit.structs import Struct
from baselinekit.values.texts import count_noun

_MOST_WRITTEN, _MOST_UNUSED, _MOST_COMPARED = 8, 20, 100
_MIN_SIMILARITY = 0.75


class Unused(Struct):
    """An unused baseline of the project at `root`. `like`: the file of a new baseline that looks like it."""

    root: str
    baseline: Baseline
    reason: str
    like: str | None = None


def end_of_run(config: pytest.Config, run: Covered, exit_status: int) -> list[str]:
    """Return the lines for the end of a run. With --baseline-prune the unused baselines are removed."""
    folder, prune = str(config.invocation_params.dir), bool(config.option.baseline_prune)
    lines = [*lines_of_used(run.used, folder)]
    try:
        opened = Projects(str(config.rootpath))
        projects = [
            opened.of(root) for root in dict.fromkeys([str(config.rootpath), *(u[0] for u in run.used)])
        ]
    except BaselinekitError as error:
        return [*lines, f"unused baselines are not looked for: {error}"] if prune else lines
    folders = {project.root: project.folder for project in projects}
    partial = run.left_out or left_out(config, exit_status)
    unused, partial = ([], partial) if partial else find_unused(run, str(config.rootpath), folders)
    failed = [line for one in unused for line in remove(one)] if prune else []
    lines += lines_of_unused(unused, partial, folder, prune, is_verbose=terminal_of(config)[1] > 0)
    return [*lines, *failed]


def lines_of_used(used: Sequence[Used], folder: str) -> Iterator[str]:
    """Yield what was written, and the notes of each file, with paths relative to `folder`."""
    paths = [
        (os.path.relpath(os.path.join(root, file), folder), use, notes) for root, file, use, notes in used
    ]
    for reported in ("written", "updated"):
        names = list(dict.fromkeys(path for path, use, _ in paths if use == reported))
        if len(names) == 1:
            yield f"1 baseline {reported}: {names[0]}"
        elif names:
            yield f"{count_noun(len(names), 'baseline')} {reported}:"
            yield from (f"  {name}" for name in names[:_MOST_WRITTEN])
        if len(names) > _MOST_WRITTEN:
            yield f"  … and {len(names) - _MOST_WRITTEN:,} more"
    yield from (f"{path}: {note}" for path, _, notes in paths for note in notes)


def left_out(config: pytest.Config, exit_status: int) -> str:
    """Return why a run did not cover everything, where the collected tests do not show it; else an empty
    text."""
    if exit_status == pytest.ExitCode.NO_TESTS_COLLECTED:
        return "no test was run"
    if exit_status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return "the run was stopped"
    option = config.option
    if getattr(option, "lf", False):
        return "--lf runs what failed"
    if getattr(option, "setuponly", False) or getattr(option, "setupplan", False):
        return "--setup-only runs no test"
    if option.override_ini:
        return f"-o {option.override_ini[0]} may choose tests"
    single_test = next((str(word) for word in config.args if "::" in str(word)), "")
    return f"of its file only {single_test} was run" if single_test else ""


def find_unused(run: Covered, rootdir: str, folders: Mapping[str, str]) -> tuple[list[Unused], str]:
    """Return the unused baselines; or none, and why the run cannot tell. `folders`: the folder of baselines
    by the root of each project."""
    if unfinished := len(run.collected - run.ended):
        return [], f"{count_noun(unfinished, 'test')} did not finish"
    real = {
        file: os.path.realpath(os.path.join(rootdir, file))
        for file in map(_file, (*run.looked, *run.collected))
    }
    looked = {real[file]: outcome for file, outcome in run.looked.items()}
    tests = {(real[_file(nodeid)], _name(nodeid)): nodeid for nodeid in run.collected}
    functions = {(path, _function(name)) for path, name in tests}
    with_doctests = {path for path, function in functions if "." in function}
    used = {os.path.join(root, file) for root, file, _, _ in run.used}
    began = _file_time() - (time.monotonic() - run.began)
    absent, new = cache(left_out_by_git), cache(lambda root: _new_values(root, run.used))
    found = []
    for root, folder in folders.items():
        for baseline in unused_values(root, folder, used, began):
            test = baseline.current.input.test
            path, function = os.path.realpath(os.path.join(root, _file(test))), _function(_name(test))
            if nodeid := tests.get((path, _name(test))):
                if nodeid not in run.unproven:
                    found.append(Unused(root, baseline, f"{test} passed without it"))
                continue
            if (path, function) in functions:
                continue  # an option or a variable may have chosen other parameters for this run
            if path not in looked and (os.path.exists(path) or _file(test) in absent(root)):
                return [], f"{_file(test)} was not collected"
            is_doctest = "." in function  # which no function of a test has; only --doctest-modules runs it
            if looked.get(path) != "skipped" and (not is_doctest or path in with_doctests):
                found.append(Unused(root, baseline, f"{test} is gone", find_similar(baseline, new(root))))
    return found, ""


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def _name(nodeid: str) -> str:
    return nodeid.partition("::")[2]


def _function(name: str) -> str:
    return name.partition("[")[0]


def _file_time() -> float:
    """Return the present time of the file system, which is not affected by a frozen clock."""
    with tempfile.TemporaryFile() as file:
        return os.fstat(file.fileno()).st_mtime


def left_out_by_git(root: str) -> Collection[str]:
    """Return the files that a sparse checkout leaves out: in the project, but not on the disk."""
    try:
        return Git(Processes().execute, root).left_out()
    except BaselinekitError:  # no git, or no repository
        return ()


def unused_values(root: str, folder: str, used: Collection[str], began: float) -> Iterator[Baseline]:
    """Yield the values of tests whose files were not used. Left out are files written since the run began,
    those that cannot be read, which `compare` and `doctor` report, and those of another project, below a
    configuration of its own."""
    for place, folders, names in os.walk(os.path.join(root, folder)):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if os.path.dirname(nearest_config(place) or "") not in ("", root):
            continue
        for path in (os.path.join(place, name) for name in sorted(names) if name.endswith(".yaml")):
            if path not in used and not os.path.islink(path) and (baseline := read_value(root, path, began)):
                yield baseline


def read_value(root: str, path: str, began: float = float("inf")) -> Baseline | None:
    """Return the value of a test, if the file holds that alone and has not changed since `began`; else
    None."""
    file = os.path.relpath(path, root)
    try:
        with open(path, "rb") as stream:
            data, changed = stream.read(), os.fstat(stream.fileno()).st_mtime
        if b"pytest" not in data or changed >= began or len(reading.records_in(data, file)) != 1:
            return None
        (baseline,) = reading.load([file], root)
    except (BaselinekitError, OSError):
        return None
    return baseline if kind_of(baseline.current) is PYTEST else None


def _new_values(root: str, used: Sequence[Used]) -> list[Baseline]:
    written = [file for project, file, use, _ in used if project == root and use == "written"]
    found = (read_value(root, os.path.join(root, file)) for file in written[:_MOST_COMPARED])
    return [baseline for baseline in found if baseline is not None]


def find_similar(old: Baseline, new: Sequence[Baseline]) -> str | None:
    """Return the file of the new baseline that looks like an old one: it has the same value, or nearly the
    same test id."""
    test, tests = old.current.input.test, {value.source.file: value.current.input.test for value in new}
    likeness = {file: difflib.SequenceMatcher(None, test, other).ratio() for file, other in tests.items()}
    ranked = sorted(new, key=lambda value: likeness[value.source.file], reverse=True)
    for value in ranked:
        with suppress(BaselinekitError):
            if value.baseline is not None and judge(old, value.baseline.output).passed:
                return value.source.file
    nearest = ranked[0].source.file if ranked else ""
    return nearest if likeness.get(nearest, 0) >= _MIN_SIMILARITY else None


def remove(unused: Unused) -> Iterator[str]:
    """Remove an unused baseline, its output beside it, and folders that become empty. Yield why it cannot be
    removed."""
    root, file = unused.root, unused.baseline.source.file
    folder = os.path.dirname(file)
    try:
        with atomic.lock(root, file):
            atomic.remove(root, file)
            if beside := output_beside(unused.baseline, root):
                atomic.remove(root, beside)
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


def output_beside(baseline: Baseline, root: str) -> str | None:
    """Return the file of its output, if it is in the same folder and has the usual name."""
    known_good = baseline.baseline
    if known_good is None or not known_good.output_file or known_good.variants:
        return None
    folder, name = records.output_location(root, baseline.source.file, known_good.output_file)
    is_beside = os.path.dirname(name) == os.path.dirname(baseline.source.file) and records.MARK in name
    return name if folder == root and is_beside else None


def lines_of_unused(
    unused: Sequence[Unused], partial: str, folder: str, pruned: bool, is_verbose: bool = False
) -> Iterator[str]:
    """Yield the lines about unused baselines, with paths relative to `folder`."""
    if not unused:
        why = (
            f"{partial}; only a run of everything tells what is unused"
            if partial
            else "each is used by a test"
        )
        yield from [f"no baseline was removed: {why}"] if pruned else ()
        return
    count, is_one = count_noun(len(unused), "baseline"), len(unused) == 1
    if pruned:
        yield f"{count} that no test used {'was' if is_one else 'were'} removed:"
    else:
        yield f"{count} {'is' if is_one else 'are'} used by no test (to remove: pytest --baseline-prune):"
    most = len(unused) if is_verbose else _MOST_UNUSED
    for one in unused[:most]:
        yield f"  {os.path.relpath(os.path.join(one.root, one.baseline.source.file), folder)}: {one.reason}"
        if one.like:
            like = os.path.relpath(os.path.join(one.root, one.like), folder)
            yield f"    was it renamed? {like} is new and looks like it"
    if len(unused) > most:
        yield f"  … and {len(unused) - most:,} more (all of them: -v)"
