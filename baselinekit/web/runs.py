"""The part of the page where runs are read: which there are, one of them case by case, two side by side, and
how each metric went over time."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from threading import Lock

from baselinekit.commands.history import load_parts
from baselinekit.errors import BaselinekitError, InvalidInput, Problem
from baselinekit.escape import escape_controls
from baselinekit.evals.earlier import cases, differences, pair_runs
from baselinekit.metrics import mcnemar_exact
from baselinekit.model.grades import Attempt, iterate_grades
from baselinekit.model.recipes import Usage
from baselinekit.model.results import Report, Result
from baselinekit.model.values import Json
from baselinekit.report.blocks import Block
from baselinekit.report.details import page_blocks
from baselinekit.report.differences import describe_in_brief
from baselinekit.report.sections import earlier_blocks, run_blocks
from baselinekit.report.values import encode
from baselinekit.store.results import result_files, results_path
from baselinekit.structs import Struct, plain
from baselinekit.values.texts import Mask, mask_and_clip, no_mask
from baselinekit.web.limits import LONGEST_TEXT, MOST_ATTEMPTS, MOST_RUNS

_MOST_DIFFERENCES = 100
_DECIDED = ("passed", "failed")
_MODEL = "model"
"""The part of a case that may differ from run to run: people compare models here."""


class RunsDesk:
    """The runs that are kept here, and the result files that were named. `files`: their names, from `cwd`."""

    def __init__(self, root: str, files: Sequence[str], cwd: str, mask: Mask = no_mask):
        self._root, self._files, self._cwd, self._mask = root, [*files], cwd, mask
        self._facts: dict[str, dict[str, Json] | None] = {}
        self._lock = Lock()
        self._read = lru_cache(maxsize=4)(self._load)  # the rows of a run, and then its cases

    def check(self) -> None:
        """Raise if a file that was named cannot be read."""
        for name in self._files:
            self.report({"run": name})

    def names(self) -> list[str]:
        """The names of all runs: first the files that were named."""
        return [
            *self._files,
            *(results_path(name) for name in reversed(result_files(self._root)[-MOST_RUNS:])),
        ]

    def _load(self, name: str) -> Report:
        if name not in self.names():
            raise InvalidInput(Problem("BK509", f"no run {name!r} is here", "load the page again"))
        ((_, report),) = load_parts([name], self._cwd if name in self._files else self._root)
        return report

    def report(self, given: Mapping[str, Json], key: str = "run") -> Report:
        with self._lock:
            return self._read(str(given.get(key, "")))

    def list(self) -> Json:
        """Return a line for each run, with its metrics."""
        runs = []
        for name in self.names():
            if name not in self._facts:
                try:
                    self._facts[name] = _facts(name, self.report({"run": name}), name in self._files)
                except BaselinekitError:
                    self._facts[name] = None
            runs.append(self._facts[name] or {"name": name, "started": "", "unreadable": True})
        named = {(run["id"], run["started"]) for run in runs if run.get("is_named")}
        once = [run for run in runs if run.get("is_named") or (run.get("id"), run["started"]) not in named]
        return {"runs": sorted(once, key=lambda run: str(run["started"]), reverse=True)}

    def rows(self, given: Mapping[str, Json]) -> Json:
        """Return a row for each result, and what there is about the run as a whole."""
        report = self.report(given)
        rows = [_row(result, self._mask) for result in report.results]
        facts = {"started": report.started, "command": report.command, "commit": report.commit}
        return {**facts, "rows": rows, "blocks": written_blocks(run_blocks(report), self._mask)}

    def case(self, given: Mapping[str, Json]) -> Json:
        report, id = self.report(given), given.get("id")
        result = next((one for one in report.results if one.id == id), None)
        if result is None:
            raise InvalidInput(Problem("BK509", f"{id!r} is not in this run", "load the page again"))
        attempts = result.case.attempts if result.case else ()
        return {
            "id": result.id,
            "outcome": result.outcome,
            "blocks": written_blocks(page_blocks(result, None, _MOST_DIFFERENCES), self._mask),
            "attempts": [_attempt(attempt, self._mask) for attempt in attempts[:MOST_ATTEMPTS]],
        }

    def compare(self, given: Mapping[str, Json]) -> Json:
        """Return what changed from one run to another, with the exact tests. Models may differ; a case that
        was edited in between counts for nothing."""
        before, now = self.report(given, "before"), self.report(given)
        was = {result.id: result for result in before.results}
        both = [(was[one.id], one) for one in now.results if one.id in was]
        edited = {new.id: parts for old, new in both if (parts := {*differences(old, new)} - {_MODEL})}
        flips = [
            {
                "id": new.id,
                "before": old.outcome,
                "now": new.outcome,
                "why": f"not counted: another {' and '.join(sorted(edited[new.id]))}"
                if new.id in edited
                else self._mask(describe_in_brief(new)),
            }
            for old, new in both
            if old.outcome != new.outcome
        ]
        both = [(old, new) for old, new in both if new.id not in edited]
        decided = [(old, new) for old, new in both if old.outcome in _DECIDED and new.outcome in _DECIDED]
        lost = sum(old.outcome == "passed" != new.outcome for old, new in decided)
        won = sum(new.outcome == "passed" != old.outcome for old, new in decided)
        blocks: list[Json] = []
        if cases(before) and cases(now):
            blocks = written_blocks(earlier_blocks(pair_runs(before, now, (_MODEL,)).earlier), self._mask)
        return {
            "flips": sorted(flips, key=lambda flip: (flip["now"] == "passed", flip["id"])),
            "both": len(both),
            "edited": len(edited),
            "lost": lost,
            "won": won,
            "p": mcnemar_exact(lost, won),
            "added": [result.id for result in now.results if result.id not in was],
            "gone": sorted(was.keys() - {result.id for result in now.results}),
            "blocks": blocks,
        }


def _facts(name: str, report: Report, is_named: bool) -> dict[str, Json]:
    metrics = {
        metric.name: metric.value
        for metric in (report.suite.metrics if report.suite else ())
        if metric.view != "pooled"
    }
    summary = report.summary
    decided = summary.passed + summary.failed
    metrics.setdefault("pass rate", summary.passed / decided if decided else None)
    return {
        "name": name,
        "is_named": is_named,
        "id": report.id,
        "started": report.started,
        "seconds": report.seconds,
        "commit": report.commit,
        "suite": report.suite.name if report.suite else "",
        "counts": {key: value for key, value in plain(summary).items() if key != "complete"},
        "complete": report.complete,
        "metrics": {key: value for key, value in metrics.items() if value is not None},
    }


def judge_usage(attempt: Attempt) -> Usage:
    """What the judges of an attempt used; the rest is of the tested model."""
    return sum((grade.usage for grade in attempt.grades), Usage())


def _row(result: Result, mask: Mask) -> dict[str, Json]:
    facts = result.case
    attempts = facts.attempts if facts else ()
    judged = sum(map(judge_usage, attempts), Usage())
    seconds = sum(attempt.seconds for attempt in attempts) if attempts else result.seconds
    judged_seconds = sum(attempt.judged_seconds for attempt in attempts)
    models = {str(one.environment["model"]) for one in attempts if "model" in one.environment}
    graders = {grade.grader for attempt in attempts for grade in iterate_grades(attempt.grades)}
    return {
        "id": result.id,
        "name": escape_controls(mask(result.name or "")),
        "outcome": result.outcome,
        "verdict": result.verdict or "",
        "why": mask(describe_in_brief(result)),
        "kind": facts.eval_type if facts else result.kind,
        "category": (facts.category or "") if facts else "",
        "tags": [*facts.tags] if facts else [],
        "difficulty": (facts.difficulty or "") if facts else "",
        "graders": sorted(graders),
        "model": ", ".join(sorted(models)),
        "score": facts.score if facts else None,
        "passed": sum(attempt.outcome == "passed" for attempt in attempts),
        "attempts": len(attempts) or result.attempts,
        "seconds": round(seconds, 4),
        "judged_seconds": round(judged_seconds, 4),
        "tokens": _tokens(result.usage) - _tokens(judged),
        "judged_tokens": _tokens(judged),
        "usd": float(result.usage.cost_usd or 0) - float(judged.cost_usd or 0),
        "judged_usd": float(judged.cost_usd or 0),
    }


def _tokens(usage: Usage) -> int:
    return (usage.tokens_in or 0) + (usage.tokens_out or 0)


def _attempt(attempt: Attempt, mask: Mask) -> dict[str, Json]:
    def clip(text: str) -> str:
        return escape_controls(mask_and_clip(text, LONGEST_TEXT, mask))

    output = attempt.output if isinstance(attempt.output, str) else encode(attempt.output, 2)
    return {
        "number": attempt.number,
        "outcome": attempt.outcome,
        "score": attempt.score,
        "reason": clip(attempt.reason),
        "seconds": attempt.seconds,
        "judged_seconds": attempt.judged_seconds,
        "output": None if attempt.output is None else clip(output),
        "grades": [
            {
                "grader": one.grader,
                "kind": one.kind,
                "outcome": one.outcome,
                "score": one.score,
                "reason": clip(one.reason),
            }
            for one in iterate_grades(attempt.grades)
        ],
        "transcript": [
            {
                "grader": one.grader,
                "model": one.model,
                "question": clip(one.question),
                "reply": clip(one.reply),
            }
            for one in attempt.transcript
        ],
    }


def written_blocks(blocks: Iterable[Block], mask: Mask) -> list[Json]:
    """What a report consists of, as values: each struct as a mapping, with its kind."""
    return [{"kind": type(block).__name__, **_written(block, mask)} for block in blocks]


def _written(value: Json, mask: Mask) -> Json:
    if isinstance(value, Struct):
        return {name: _written(getattr(value, name), mask) for name in value.__struct_fields__}
    if isinstance(value, tuple):
        return [_written(item, mask) for item in value]
    return escape_controls(mask(value)) if isinstance(value, str) else value
