"""`run --dask` without a cluster: what is sent is done in this process, by what a worker has and no more."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from manycases import project_of_cases

from baselinekit.cli.caseworker import judge_cases
from baselinekit.cli.clients import LazyModels, open_clients
from baselinekit.cli.cluster import common_files, order_to_send
from baselinekit.cli.options import RecordingOptions
from baselinekit.cli.outside import build_outside, slip_recorder
from baselinekit.commands.cluster import WorkersLost
from baselinekit.commands.context import Stop
from baselinekit.commands.elsewhere import ClusterRun
from baselinekit.commands.leases import Leases
from baselinekit.commands.parcel import Parcel, SealedValue
from baselinekit.commands.project import Operator, open_project
from baselinekit.errors import CannotReplay, Problem
from baselinekit.evals.elsewhere import CasePacking, CasePolicy, CasesOnCluster
from baselinekit.evals.rating import Queue
from baselinekit.evals.run import RunPolicy, run
from baselinekit.evals.selection import Choice, load
from baselinekit.evals.workers import CaseEngine, CaseOrder
from baselinekit.model.results import Report
from baselinekit.structs import replace
from baselinekit.suites.ratings import Ratings

NOW = 1_700_000_000.0
Done = Callable[[Parcel, Callable[[], Any]], Any]


class FakeCluster:
    """`done`: what comes of a parcel, given what a worker makes of it."""

    is_cancelled = False

    def __init__(self, done: Done):
        self._done = done
        self.sent: list[Parcel] = []

    def done(self, work: Callable[[str, SealedValue], SealedValue], sealed: SealedValue) -> Any:
        self.sent.append(sealed.unsealed())
        return self._done(sealed.unsealed(), lambda: work("run", sealed).unsealed())

    def cancel(self) -> None:
        self.is_cancelled = True


def ran(
    folder: Path, done: Done | None, paths: list[str], jobs: int = 1, **policy: Any
) -> tuple[Report, list[Parcel]]:
    """A run, in threads or by what a worker makes of what is sent to it."""
    project, sent = open_project(Operator(str(folder))), list[Parcel]()
    with open_clients(lambda: NOW, lambda seconds: None, Stop()) as context:
        recording = RecordingOptions()
        models = LazyModels(project, context.clients, recording, False, "run")
        context = models.added_to(context)

        def elsewhere(cases: CaseOrder) -> CaseEngine | None:
            if done is None:
                return None
            cluster: Any = FakeCluster(done)
            order = order_to_send(project, recording, cases.jobs, False, "run")
            leases = Leases(1, models.limits, 1 if cases.first else None, lambda: NOW)
            nothing: Callable[[], dict[str, Any]] = dict

            @contextmanager
            def begin() -> Iterator[ClusterRun]:
                yield ClusterRun(cluster, order, judge_cases, leases, 1, nothing, models.take)
                sent.extend(cluster.sent)

            packing = CasePacking(common_files(project, context, order), Ratings(project.root).contents())
            return CasesOnCluster(begin(), packing, CasePolicy(cases, False))

        queue = Queue(project, lambda: NOW)
        outside = build_outside(project, context.clients, queue, None)
        outside = replace(outside, take=slip_recorder(queue, None))
        given = load(project, paths, None)
        how = RunPolicy(jobs=jobs, **policy)
        return run(project, given, Choice(), how, context, outside, "", elsewhere), sent


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return project_of_cases(tmp_path / "project")


ALL = ["evals", "prompts/one"]


def plainly(parcel: Parcel, worked: Callable[[], Any]) -> Any:
    return worked()


def told(report: Report) -> list[tuple[Any, ...]]:
    return [
        (
            one.id,
            one.outcome,
            one.reason,
            one.explanation,
            [(try_.number, try_.outcome, try_.reason, try_.code, try_.grades) for try_ in one.case.attempts]
            if one.case
            else [],
        )
        for one in report.results
    ]


@pytest.mark.slow
def test_the_results_are_those_of_a_run_here_and_only_what_is_used_is_sent(folder: Path) -> None:
    (folder / "evals/other.txt").write_text("nobody names it")
    (folder / ".git").mkdir()
    (folder / ".git/config").write_text("not to be sent")
    plain, _ = ran(folder, None, ALL)
    sent, parcels = ran(folder, plainly, ALL)
    assert told(sent) == told(plain)
    assert {one.outcome for one in plain.results} == {"passed", "failed", "unscored"}
    assert parcels[-1].policy.order.together == {}
    used = {
        os.path.relpath(file.path, folder)
        for parcel in parcels
        for file in parcel.files
        if ".baselinekit/" not in file.path
    }
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    kept = (".git/", ".baselinekit/", "__pycache__/")
    assert {name for name in files - used if not name.startswith(kept)} == {"evals/other.txt"}


def test_what_one_case_names_goes_with_it_and_nothing_else(folder: Path) -> None:
    _, (parcel,) = ran(folder, plainly, ["evals/known.yaml"])
    assert sorted(os.path.relpath(file.path, folder) for file in parcel.files) == [
        "baselinekit.yaml",
        "evals/known.output.json",
        "evals/known.yaml",
        "models.py",
    ]


def test_what_is_missing_on_the_worker_is_an_error_that_names_it(folder: Path) -> None:
    """A folder of Python's own is sent to nobody."""
    (folder / "evals/schemas").rename(folder / "evals/__pycache__")
    cases = folder / "evals/cases.yaml"
    both = "".join(f"- id: {one}" for one in cases.read_text().split("- id: ") if one[:3] in ("sch", "w0\n"))
    cases.write_text(both.replace("schemas/text", "__pycache__/text"))
    plain, _ = ran(folder, None, ["evals/cases.yaml"])
    report, _ = ran(folder, plainly, ["evals/cases.yaml"])
    here, there = ({one.id: one for one in told_of.results} for told_of in (plain, report))
    assert here["schema"].outcome == "failed"
    assert there["schema"].outcome == "error"
    reason = there["schema"].reason or ""
    assert reason.startswith("on the worker, and not here: ")
    assert "evals/__pycache__/text.json" in reason
    assert "docs/many-machines.md" in reason
    assert [one for one in there if there[one].outcome != here[one].outcome] == ["schema"]


def test_who_ends_worker_after_worker_is_an_error_and_no_other_is(folder: Path) -> None:
    def done(parcel: Parcel, worked: Callable[[], Any]) -> Any:
        if any(turn.case.id == "w2" for turn in parcel.chunk.entries):
            raise WorkersLost(Problem("BK362", "this part of the run was not done", "look at the logs"))
        return worked()

    project_of_cases(folder, others=False)
    report, _ = ran(folder, done, ["evals/cases.yaml"], jobs=4)
    outcomes = {one.id: (one.outcome, one.code) for one in report.results}
    assert outcomes.pop("w2") == ("error", "BK362")
    assert outcomes == {"w0": ("passed", None), "w1": ("passed", None), "w3": ("failed", None)}


def test_what_cannot_be_sent_is_an_error_of_each_of_its_cases(folder: Path) -> None:
    def done(parcel: Parcel, worked: Callable[[], Any]) -> Any:
        raise CannotReplay(Problem("BK361", "a worker has another version", "install the same"))

    report, _ = ran(folder, done, ["evals/known.yaml"])
    assert [(one.outcome, one.code) for one in report.results] == [("error", "BK361")]
    assert "failure_count: 0" in (folder / "evals/known.yaml").read_text()


def test_one_that_does_not_pass_ends_the_run(folder: Path) -> None:
    project_of_cases(folder, works=12, others=False)
    report, parcels = ran(folder, plainly, ["evals/cases.yaml"], first=True)
    assert [one.outcome for one in report.results].count("failed") == 1
    assert sum(len(parcel.chunk.entries) for parcel in parcels) < 8


def test_whole_paths_of_a_case_say_where_the_files_are(folder: Path) -> None:
    """What an AgentV message names is a whole path, which the worker has elsewhere."""
    (folder / "evals/agent").mkdir()
    (folder / "evals/agent/given.txt").write_text("what is given")
    (folder / "evals/agent/judge.py").write_text(
        "import json, sys\n"
        "case = json.load(sys.stdin)\n"
        "text = open(case['input_files'][0]).read()\n"
        "print(json.dumps({'score': int(text == 'what is given'), 'hits': []}))\n"
    )
    (folder / "evals/agent/a.yaml").write_text(
        "execution: {evaluators: [{name: own, type: code_judge, script: [python3, judge.py]}]}\n"
        "evalcases:\n- id: a\n  expected_outcome: Right.\n  input_messages:\n"
        "  - {role: user, content: [{type: file, value: given.txt}, {type: text, value: Hi}]}\n"
    )
    (folder / "baselinekit.yaml").write_text(
        (folder / "baselinekit.yaml").read_text() + "  own: [python3, evals/agent/judge.py]\n"
    )
    report, _ = ran(folder, plainly, ["evals/agent"])
    assert [one.outcome for one in report.results] == ["passed"], told(report)
