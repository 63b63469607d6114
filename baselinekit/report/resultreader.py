"""A result file read back. It may come from a CI artifact, from outside: whatever is not exactly what
results/json.py writes is told with its place. What is read renders to the same bytes again."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal

from baselinekit.documents import jsonfile
from baselinekit.documents.marks import mark
from baselinekit.documents.text import place
from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.questions import Spent
from baselinekit.model.results import OUTCOMES, Coverage, Repeats, Report, Result, Shard, Spot
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.report import attempts, attempts as usage, earlier, weakened
from baselinekit.report.fields import (
    COVERAGE,
    DIFFERENCE,
    FILE,
    OBSERVED,
    REPEATS,
    RESULT,
    RUN,
    SHARD,
    SIDES,
    SPENT,
    SUMMARY,
    UNANSWERED,
    Reader,
)
from baselinekit.report.resultfile import FORMAT
from baselinekit.texts import already_masked, clipped

DEEPER = 16
"""Levels of nesting around an output, which may itself be as deep as any."""

_MEND = "write it anew: baselinekit compare -o results.json, or run -o results.json"
_LONGEST_PATH = 80
_STEP = re.compile(r'\[(\d{1,18})\]|(?:\A|(?!\A)\.)(?:("(?:[^"\\]|\\.)*")|([^\W\d][\w-]*))')


def read(text: str, file: str) -> Report:
    """The report of a result file's text; or everything that is wrong with it (the first of it, at least)."""
    raw = jsonfile.load(text, file, DEEPER)
    wants = Reader()
    report = _report(raw, wants)
    if report is None or wants.problems:
        raise InvalidInput(*_placed(wants.problems, text, file))
    return report


def _placed(problems: Iterable[Problem], text: str, file: str) -> list[Problem]:
    found = list(problems)
    marks = mark(jsonfile.events(text), 0, [problem.at or () for problem in found])
    placed = []
    for problem in found:
        nodes = marks.reach(problem.at or ())[0]
        where = place(file, text, nodes[-1].start if nodes else 0)
        placed.append(replace(problem, hint=problem.hint or _MEND).placed(where))
    return placed


def _report(raw: Json, wants: Reader) -> Report | None:
    form = raw.get("format") if isinstance(raw, dict) else None
    if form != FORMAT:
        wants.complain((("format",) if form is not None else ()), *_other_form(form))
        return None
    if not wants.mapping(raw, FILE, ()):
        return None
    run, summary = raw["run"], raw["summary"]
    fine = wants.mapping(run, RUN, ("run",)), wants.mapping(summary, SUMMARY, ("summary",))
    results = [_result(one, ("results", number), wants) for number, one in enumerate(raw["results"])]
    kept = tuple(result for result in results if result is not None)
    if not all(fine) or len(kept) < len(results):
        return None
    _check_ids(kept, wants)
    report = Report(
        id=run["id"],
        started=run["started"],
        seconds=run["seconds"],
        tool=run["tool"],
        command=run["command"],
        results=kept,
        complete=summary["complete"],
        interrupted=run.get("interrupted", False),
        environment=run["environment"],
        config=run["config"],
        warnings=wants.texts(run, "warnings", ("run",)),
        not_recorded=wants.texts(run, "not_recorded", ("run",)),
        spent=_spent(run, wants),
        commit=run.get("commit"),
        shard=_shard(run["shard"], wants),
        coverage=_coverage(run, wants),
        against=weakened.read(run, wants),
        suite=attempts.read_suite(run.get("suite"), ("run", "suite"), wants),
        earlier=earlier.read(run, wants),
    )
    counted = report.summary
    for outcome in OUTCOMES:
        if summary[outcome] != getattr(counted, outcome):
            what = f"says {summary[outcome]:,} {outcome}, and the results are {getattr(counted, outcome):,}"
            wants.complain(("summary", outcome), what)
    return report


def _other_form(form: Json) -> tuple[str, str]:
    if isinstance(form, str) and form.startswith("baselinekit.results/"):
        return f"is of the form {form!r}, and this version reads {FORMAT!r}", "use the version that wrote it"
    return f"is no result file: its `format` is not {FORMAT!r}", _MEND


def _check_ids(results: Iterable[Result], wants: Reader) -> None:
    seen: dict[str, int] = {}
    for number, result in enumerate(results):
        if result.id in seen:
            what = f"{result.id!r} is there twice: results[{seen[result.id]}] has it too"
            wants.complain(("results", number, "id"), what)
        seen.setdefault(result.id, number)


def _shard(raw: Json, wants: Reader) -> Shard | None:
    at: Path = ("run", "shard")
    if raw is None or not wants.mapping(raw, SHARD, at):
        return None
    if raw["number"] > raw["of"]:
        wants.complain((*at, "number"), f"is {raw['number']}, and there are {raw['of']} shards")
    same = {name: raw.get(name, "") for name in ("target", "configuration", "content")}
    return Shard(raw["number"], raw["of"], raw["total"], **same)


def _coverage(run: dict[str, Json], wants: Reader) -> Coverage:
    raw = run.get("coverage")
    if raw is None or not wants.mapping(raw, COVERAGE, ("run", "coverage")):
        return Coverage()
    return Coverage(raw["chosen"], raw["left_out"])


def _spent(run: dict[str, Json], wants: Reader) -> Spent | None:
    raw = run.get("spent")
    if raw is None or not wants.mapping(raw, SPENT, ("run", "spent")):
        return None
    spent = Spent(raw["calls"], raw["tokens"], Decimal(str(raw["cost_usd"])))
    open_ones = raw.get("unanswered")
    if open_ones is None or not wants.mapping(open_ones, UNANSWERED, ("run", "spent", "unanswered")):
        return spent
    may = Decimal(str(open_ones["cost_usd"]))
    return replace(spent, unanswered=open_ones["calls"], may_tokens=open_ones["tokens"], may_usd=may)


def _result(raw: Json, at: Path, wants: Reader) -> Result | None:
    if not wants.mapping(raw, RESULT, at) or not wants.mapping(raw["observed"], OBSERVED, (*at, "observed")):
        return None
    differences = tuple(
        _spot(one, (*at, "differences", number), wants) for number, one in enumerate(raw["differences"])
    )
    if raw["difference_count"] < len(differences):
        what = f"is {raw['difference_count']}, and there are {len(differences)} differences"
        wants.complain((*at, "difference_count"), what)
    if "resolved" in raw and raw["outcome"] != "failed":
        wants.complain(
            (*at, "resolved"), f"belongs to a failed result only, and this one is {raw['outcome']}"
        )
    observed = raw["observed"]
    return Result(
        id=raw["id"],
        file=raw["file"],
        line=raw["line"],
        kind=raw["kind"],
        outcome=raw["outcome"],
        reason=raw["reason"],
        code=raw["code"],
        verdict=raw["verdict"],
        name=raw.get("name"),
        criticality=raw.get("criticality"),
        target=raw.get("target", ""),
        differences=tuple(spot for spot in differences if spot is not None),
        difference_count=raw["difference_count"],
        explanation=wants.texts(raw, "explanation", at),
        notes=wants.texts(raw, "notes", at),
        attempts=raw["attempts"],
        seconds=observed["seconds"],
        usage=usage.read(observed),
        scores=wants.numbers(observed.get("scores", {}), (*at, "observed", "scores")),
        environment_drift=_drift(raw["environment_drift"], (*at, "environment_drift"), wants),
        recipe_hash=raw["recipe_hash"],
        resolved=raw.get("resolved", ABSENT),
        position=raw.get("position"),
        repeats=_repeats(raw.get("repeats"), (*at, "repeats"), wants),
        case=attempts.read_case(raw.get("case"), (*at, "case"), wants),
    )


def _repeats(raw: Json, at: Path, wants: Reader) -> Repeats | None:
    if raw is None or not wants.mapping(raw, REPEATS, at):
        return None
    return Repeats(raw["replays"], raw["passed"], raw["errors"])


def _drift(raw: dict[str, Json], at: Path, wants: Reader) -> dict[str, tuple[Json, Json]]:
    return {
        name: (sides.get("captured", ABSENT), sides.get("now", ABSENT))
        for name, sides in raw.items()
        if wants.mapping(sides, SIDES, (*at, name))
    }


def _spot(raw: Json, at: Path, wants: Reader) -> Spot | None:
    if not wants.mapping(raw, DIFFERENCE, at):
        return None
    path = path_of(raw["path"])
    if path is None:
        wants.complain(
            (*at, "path"),
            f"{clipped(raw['path'], _LONGEST_PATH, already_masked, counted=False)!r} is no path to one place",
            "as in body.users[1].id",
        )
        return None
    expected, actual = raw.get("expected", ABSENT), raw.get("actual", ABSENT)
    more = raw["rule"], raw.get("note")
    return Spot(path, raw["kind"], expected, actual, raw["file"], raw["line"], *more)


def path_of(text: str) -> Path | None:
    """The steps of a path as `paths.render` writes it: to one place, so without wildcards."""
    steps: list[str | int] = []
    position = 0
    while position < len(text) and text != "$":
        match = _STEP.match(text, position)
        if match is None:
            return None
        index, quoted, plain = match.groups()
        try:
            steps.append(
                int(index) if index else plain if plain is not None else json.loads(quoted, strict=False)
            )
        except ValueError:
            return None
        position = match.end()
    return tuple(steps) if text else None
