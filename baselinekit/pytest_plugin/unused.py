"""Baselines that no test uses any more: found by a run that covered everything, listed, and removed on
request.

A file is unused if it holds one value of a test, no test of this run used it, and its test is gone or passed
without it. For a test that was skipped, failed or did not finish nothing is known, and a run that left
anything out finds nothing at all."""

import difflib
import os
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import pytest

from baselinekit.errors import BaselinekitError
from baselinekit.kinds.pytest import KIND
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Baseline
from baselinekit.pytest_plugin.files import Projects, plain_nodeid
from baselinekit.pytest_plugin.registry import Registry, terminal_of
from baselinekit.store import atomic, reading, records
from baselinekit.store.project import nearest_config
from baselinekit.store.results import drop_pending
from baselinekit.structs import MutableStruct, Struct, field, replace
from baselinekit.values.texts import count_noun

_MOST_COMPARED, _MOST_NAMED = 100, 20
_MIN_SIMILARITY = 0.75
_GONE = "is gone"


class Covered(MutableStruct):
    """What a run covered, by node ids as pytest writes them.

    `began`: when it began, as a file time. `looked`: the outcome of collecting each file; "skipped" for a
    module that is skipped as a whole. `collected`: the tests that were to run; `ended`: those that finished;
    `unproven`: those of which a phase failed or was skipped. `left_out`: why the run did not cover
    everything."""

    rootdir: str
    began: float
    looked: dict[str, str] = field(default_factory=dict)
    collected: set[str] = field(default_factory=set)
    ended: set[str] = field(default_factory=set)
    unproven: set[str] = field(default_factory=set)
    left_out: str = ""

    def reason_partial(self) -> str:
        """Return why this run did not cover everything; empty where it did."""
        unfinished = len(self.collected - self.ended)
        if self.left_out:
            return self.left_out
        return f"{count_noun(unfinished, 'test')} did not finish" if unfinished else ""


class Unused(Struct):
    """An unused baseline in `file` of the project at `root`. `beside`: the file of its output, if it has one.
    `like`: the file of a new baseline that looks like this one."""

    root: str
    file: str
    id: str
    test: str
    reason: str
    beside: str | None = None
    like: str | None = None

    @property
    def path(self) -> str:
        return os.path.join(self.root, self.file)


class Claim(Struct):
    """The unused baselines. `partial`: why the run can find none."""

    found: tuple[Unused, ...] = ()
    partial: str = ""


class PartialError(Exception):
    """The run left something out, so that no baseline can be called unused."""


def find_unused(
    covered: Covered, used: Collection[str], written: Iterable[str], folders: Mapping[str, str]
) -> Claim:
    """Find the unused baselines. `used`: the paths of the files that tests used; `written`: those of them
    that are new. `folders`: the folder of baselines by the root of each project."""
    if partial := covered.reason_partial():
        return Claim(partial=partial)
    search = Search(covered)
    found = []
    try:
        for root, folder in folders.items():
            values = unused_values(root, folder, used, covered.began)
            found += [
                unused for value in values if (unused := search.judge_baseline(value, root)) is not None
            ]
    except PartialError as error:
        return Claim(partial=str(error))
    return Claim(tuple(with_similar(found, [path for path in written if os.path.exists(path)])))


class RunCoverage(Protocol):
    """What the hooks have recorded of a run: the facts of Covered, with the node ids of xdist, and `began` by
    the monotonic clock."""

    began: float
    looked: dict[str, str]
    collected: set[str]
    ended: set[str]
    unproven: set[str]
    left_out: str


def file_time() -> float:
    """Return the present time of the file system, which is not affected by a frozen clock."""
    with tempfile.TemporaryFile() as file:
        return os.fstat(file.fileno()).st_mtime


def report_unused(
    config: pytest.Config,
    observer: RunCoverage,
    registry: Registry,
    exit_status: int,
) -> list[str]:
    """Return the lines about unused baselines at the end of a run, and remove them with --baseline-prune."""
    folder, prune = str(config.invocation_params.dir), bool(config.option.baseline_prune)
    projects = Projects(str(config.rootpath))
    folders = {}
    try:
        used = {used_file.path: used_file for files in registry.tests.values() for used_file in files}
        for root in dict.fromkeys([str(config.rootpath), *(used_file.root for used_file in used.values())]):
            project = projects.of(root)
            folders[project.root] = project.project.folders[0].rstrip("/")
    except BaselinekitError as error:
        return [f"unused baselines are not looked for: {error}"] if prune else []
    covered = Covered(
        str(config.rootpath),
        file_time() - (time.monotonic() - observer.began),
        {plain_nodeid(config, nodeid): outcome for nodeid, outcome in observer.looked.items()},
        {plain_nodeid(config, nodeid) for nodeid in observer.collected},
        {plain_nodeid(config, nodeid) for nodeid in observer.ended},
        {plain_nodeid(config, nodeid) for nodeid in observer.unproven},
        observer.left_out or left_out(config, exit_status),
    )
    written = [path for path, used_file in used.items() if used_file.use == "written"]
    claim = find_unused(covered, used, written, folders)
    failed = list(remove(claim)) if prune else []
    summary = lines(claim, folder, prune, verbose=terminal_of(config)[1] > 0)
    return [*summary, *failed]


def left_out(config: pytest.Config, exit_status: int) -> str:
    """Return why a run did not cover everything, where the collected tests do not show it; else an empty
    text."""
    if exit_status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        return (
            "no test was run" if exit_status == pytest.ExitCode.NO_TESTS_COLLECTED else "the run was stopped"
        )
    option = config.option
    if getattr(option, "lf", False):
        return "--lf runs what failed"
    if getattr(option, "setuponly", False) or getattr(option, "setupplan", False):
        return "--setup-only runs no test"
    if option.override_ini:
        return f"-o {option.override_ini[0]} may choose tests"
    single_test = next((str(word) for word in config.args if "::" in str(word)), "")
    return f"of its file only {single_test} was run" if single_test else ""


def unused_values(root: str, folder: str, used: Collection[str], began: float) -> Iterator[Baseline]:
    """Yield the values of tests whose files were not used. Left out are files written since the run began,
    those that cannot be read, which `compare` and `doctor` report, and those of another project, below a
    configuration of its own."""
    configured = {}
    for place, folders, names in os.walk(os.path.join(root, folder)):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for path in (os.path.join(place, name) for name in sorted(names) if name.endswith(".yaml")):
            if path in used or os.path.islink(path):
                continue
            if place not in configured:
                configured[place] = os.path.dirname(nearest_config(place) or "") in ("", root)
            baseline = read_value(root, path, began) if configured[place] else None
            if baseline is not None:
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
    return baseline if kind_of(baseline.current) is KIND else None


class Search:
    """Searches the tests of a run for those that baselines belong to."""

    def __init__(self, covered: Covered):
        self._covered = covered
        self._tests = self.by_place(covered.collected)
        self._files = self.by_place(covered.looked)
        self._functions = {(path, without_parameters(rest)) for path, rest in self._tests}
        self._left_out: dict[str, Collection[str]] = {}

    def by_place(self, nodeids: Iterable[str]) -> dict[tuple[str, str], str]:
        """Return node ids by the path of their file and the rest of the id."""
        paths: dict[str, str] = {}
        nodeids_by_place = {}
        for nodeid in nodeids:
            file, _, rest = nodeid.partition("::")
            if file not in paths:
                paths[file] = os.path.realpath(os.path.join(self._covered.rootdir, file))
            nodeids_by_place[paths[file], rest] = nodeid
        return nodeids_by_place

    def judge_baseline(self, baseline: Baseline, root: str) -> Unused | None:
        """Return the baseline as unused, or None where a test may use it."""
        test = baseline.current.input.test
        reason = self.reason(test, root)
        if reason is None:
            return None
        return Unused(root, baseline.source.file, baseline.id, test, reason, output_beside(baseline, root))

    def reason(self, test: str, root: str) -> str | None:
        """Return why an unused file of a test is no longer needed; None where it may be needed."""
        file, _, rest = test.partition("::")
        path = os.path.realpath(os.path.join(root, file))
        nodeid = self._tests.get((path, rest))
        if nodeid is not None:
            return f"{test} passed without it" if nodeid not in self._covered.unproven else None
        looked = self._files.get((path, ""))
        if (path, without_parameters(rest)) in self._functions:
            return None  # an option or a variable may have chosen other parameters for this run
        if looked is None and (os.path.exists(path) or file in self.sparse(root)):
            raise PartialError(f"{file} was not collected")
        if is_doctest(rest) and not any(
            place == path and is_doctest(name) for place, name in self._functions
        ):
            return None  # only --doctest-modules runs it
        skipped = looked is not None and self._covered.looked[looked] == "skipped"
        return None if skipped else f"{test} {_GONE}"

    def sparse(self, root: str) -> Collection[str]:
        """Return the files that a sparse checkout leaves out: in the project, but not on the disk."""
        if root not in self._left_out:
            from baselinekit.clients.programs.git import Git
            from baselinekit.clients.programs.process import Processes

            try:
                self._left_out[root] = Git(Processes().execute, root).left_out()
            except BaselinekitError:  # no git, or no repository
                self._left_out[root] = ()
        return self._left_out[root]


def is_doctest(test: str) -> bool:
    """Whether a test has the name of a doctest in a module: with a dot, which no function has."""
    return "." in without_parameters(test)


def without_parameters(test: str) -> str:
    function, _, _ = test.partition("[")
    return function


def output_beside(baseline: Baseline, root: str) -> str | None:
    """Return the file of its output, if it is in the same folder and has the usual name."""
    known_good = baseline.baseline
    if known_good is None or not known_good.output_file or known_good.variants:
        return None
    folder, name = records.output_location(root, baseline.source.file, known_good.output_file)
    is_beside = os.path.dirname(name) == os.path.dirname(baseline.source.file) and records.MARK in name
    return name if folder == root and is_beside else None


def with_similar(claimed: Sequence[Unused], written: Sequence[str]) -> Iterator[Unused]:
    """Add to unused baselines whose test is gone the new baseline that looks like it: one with the same
    value, or with nearly the same test id."""
    for unused in claimed:
        is_gone = unused.reason.endswith(_GONE)
        yield (
            replace(unused, like=find_similar(unused, written[:_MOST_COMPARED]))
            if is_gone and written
            else unused
        )


def find_similar(unused: Unused, written: Sequence[str]) -> str | None:
    old = read_value(unused.root, unused.path)
    new = {path: read_value(unused.root, path) for path in written if path.startswith(unused.root + os.sep)}
    candidates = [value for value in new.values() if value is not None]
    likeness = {
        value.source.file: difflib.SequenceMatcher(None, unused.test, value.current.input.test).ratio()
        for value in candidates
    }
    candidates.sort(key=lambda value: -likeness[value.source.file])
    same = next((value.source.file for value in candidates if old is not None and agrees(old, value)), None)
    if same is not None or not candidates:
        return same
    nearest = candidates[0].source.file
    return nearest if likeness[nearest] >= _MIN_SIMILARITY else None


def agrees(old: Baseline, new: Baseline) -> bool:
    """Whether the value of the new baseline passes the comparison with the old one."""
    from baselinekit.library.verdicts import judge

    try:
        return new.baseline is not None and judge(old, new.baseline.output).passed
    except BaselinekitError:
        return False


def remove(claim: Claim) -> Iterator[str]:
    """Remove the unused baselines, and folders that become empty. Yield a line for each that cannot be
    removed."""
    for unused in claim.found:
        try:
            with atomic.lock(unused.root, unused.file):
                atomic.remove(unused.root, unused.file)
                if unused.beside:
                    atomic.remove(unused.root, unused.beside)
        except BaselinekitError as error:
            yield from (f"{unused.file} is still there: {problem.message}" for problem in error.problems)
            continue
        drop_pending(unused.root, unused.id)
        folder = os.path.dirname(unused.file)
        while os.path.dirname(folder):  # the top folder of baselines stays
            try:
                os.rmdir(os.path.join(unused.root, folder))
            except OSError:
                break
            folder = os.path.dirname(folder)


def lines(claim: Claim, folder: str, pruned: bool, verbose: bool = False) -> Iterator[str]:
    """Yield the lines for the end of a run, with paths relative to `folder`."""
    most = len(claim.found) if verbose else _MOST_NAMED
    if claim.partial:
        if pruned:
            yield f"no baseline was removed: {claim.partial}; only a run of everything tells what is unused"
        return
    if not claim.found:
        if pruned:
            yield "no baseline was removed: each is used by a test"
        return
    count, is_one = count_noun(len(claim.found), "baseline"), len(claim.found) == 1
    if pruned:
        yield f"{count} that no test used {'was' if is_one else 'were'} removed:"
    else:
        yield f"{count} {'is' if is_one else 'are'} used by no test (to remove: pytest --baseline-prune):"
    for unused in claim.found[:most]:
        yield f"  {os.path.relpath(unused.path, folder)}: {unused.reason}"
        if unused.like:
            like = os.path.relpath(os.path.join(unused.root, unused.like), folder)
            yield f"    was it renamed? {like} is new and looks like it"
    if len(claim.found) > most:
        yield f"  … and {len(claim.found) - most:,} more (all of them: -v)"
