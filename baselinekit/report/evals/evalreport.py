"""The results of an eval run or a gate, as plain values for every form, and as JSON (`-o x.eval.json`):
counts, metrics, failures with expected and actual values, and recommendations."""

from collections.abc import Iterator, Sequence

from baselinekit.escape import markdown_code, markdown_text
from baselinekit.metrics import metric_name
from baselinekit.model.grades import BORDERLINE, Attempt, Grade, iterate_grades, map_grades
from baselinekit.model.results import Metric, Report, ReportedDifference, Result, Typed
from baselinekit.model.values import ABSENT, Json
from baselinekit.report.blocks import Heading, Items
from baselinekit.report.confusion import classes_documents
from baselinekit.report.next_commands import refresh_command, select_renewable, typed_of
from baselinekit.report.resultfile import written
from baselinekit.report.sections import metric_document
from baselinekit.report.values import cut_line, encode, page, short, without_absent
from baselinekit.report.wording import collect_warnings, count_borderline
from baselinekit.structs import replace
from baselinekit.values.paths import render as render_path

FAULTS = ("failed", "error", "unscored")
_MOST_SHOWN = 20
_MOST_PLACES = 10
_KINDS = ("capability", "regression")
_GRADERS = ("code", "model", "human")
_TITLES = {"capability": "Capability Evals", "regression": "Regression Evals"}
_MOST_LISTED = 500
_LONGEST_REASON = 200


def render(report: Report) -> str:
    return page(document(report))


def document(report: Report) -> dict[str, Json]:
    cases = [result for result in report.results if result.case is not None]
    suite, warnings = report.suite, collect_warnings(report)
    skipped = [
        {"eval_id": result.id, "reason": result.reason} for result in cases if result.outcome == "skipped"
    ]
    return {
        "eval_report": {
            "metadata": {
                "suite_name": suite.name if suite else None,
                "run_id": report.id,
                "timestamp": report.started,
                "duration_seconds": round(report.seconds, 3),
                "environment": {
                    "model": report.environment.get("model"),
                    "version": suite.version if suite else None,
                    "commit": report.commit,
                },
            },
            "summary": summary(report),
            "metrics": {key_of(metric): metric.value for metric in named_metrics(report)},
            "metrics_in_full": [metric_document(metric) for metric in suite.metrics] if suite else [],
            **({"judges": written(suite.judges)} if suite and suite.judges else {}),
            **({"classified": classified} if (classified := classes_documents(report)) else {}),
            **({"compared_to": written(report.earlier)} if report.earlier else {}),
            "failures": [failure(result) for result in cases if result.outcome in FAULTS],
            **({"warnings": warnings} if warnings else {}),
            **({"skipped": skipped} if skipped else {}),
            "recommendations": recommendations(report),
        }
    }


def summary(report: Report) -> dict[str, Json]:
    """Return the counts of all cases, and of each kind of case and of grader."""
    cases = [result for result in report.results if result.case is not None]
    document = count_results(cases)
    document["by_category"] = {
        kind: count_results(cases_of_kind)
        for kind in _KINDS
        if (cases_of_kind := [case for case in cases if case.case and case.case.eval_type == kind])
    }
    document["by_grader"] = {}
    for kind in _GRADERS:  # a case counts once for each kind that it has, and passes if all of that kind do
        grades_of_kind = ([grade for grade in grades_of(case) if grade.kind == kind] for case in cases)
        graded = [grades for grades in grades_of_kind if grades]
        passed = sum(all(grade.outcome == "passed" for grade in deciding_grades(grades)) for grades in graded)
        if graded:
            document["by_grader"][kind] = {"total": len(graded), "passed": passed}
    return {"total_evals": document.pop("total"), **document, "complete": report.complete}


def count_results(results: Sequence[Result]) -> dict[str, Json]:
    """Return how many results have each outcome, and the pass rates: of those that ran, and of those that
    were decided, which thresholds and gates use."""
    counts: dict[str, Json] = {"total": len(results)}
    for outcome in ("passed", "failed", "error", "unscored", "skipped"):
        counts[outcome] = sum(result.outcome == outcome for result in results)
    ran = len(results) - counts["skipped"]
    decided = counts["passed"] + counts["failed"]
    if borderline := count_borderline(results):
        counts["borderline"] = borderline
    counts["pass_rate"] = round(counts["passed"] / ran, 3) if ran else None
    counts["pass_rate_of_decided"] = round(counts["passed"] / decided, 3) if decided else None
    return counts


def explaining_attempt(result: Result) -> Attempt | None:
    """Return the attempt that explains the outcome of the result."""
    attempts = result.case.attempts if result.case else ()
    matching = [attempt for attempt in attempts if attempt.outcome == result.outcome]
    return next(iter(matching or attempts), None)


def grades_of(result: Result) -> tuple[Grade, ...]:
    attempt = explaining_attempt(result)
    return attempt.grades if attempt else ()


def all_grades_of(result: Result) -> list[tuple[Grade, str]]:
    """Return every grade, each followed by its parts, which are named by their path; and how each counts, if
    that is not the default: among graders that all have to pass one may be optional, and in a mean one may be
    required, or have a higher weight."""
    by_mean = result.case is not None and result.case.pass_rule.by == "mean"
    listed = []
    for grade in grades_of(result):
        listed.append((grade, describe_standing(grade, by_mean)))
        listed += [
            (part, describe_standing(part, True)) for part in iterate_grades(grade.parts, f"{grade.grader}/")
        ]
    return listed


def describe_standing(grade: Grade, in_mean: bool) -> str:
    """Return `optional`, or in a mean `required` and `weight 2`."""
    if not in_mean:
        return "" if grade.required else "optional"
    weight = "" if grade.weight == 1 else f"weight {grade.weight:g}"
    return ", ".join(filter(None, ("required" if grade.required else "", weight)))


def deciding_grades(grades: Sequence[Grade]) -> list[Grade]:
    """Return the grades that decide the case: the required ones, else all."""
    return [grade for grade in grades if grade.required] or list(grades)


def place_of(grade: Grade, result: Result) -> str:
    """Return the place of a grader in its file, if its line is not that of its case."""
    return f"{result.file}:{grade.line}" if grade.line not in (None, result.line) else ""


def line_of(result: Result) -> int | None:
    """Return the line to look at first: of the grader that explains the outcome, or of the case."""
    lines = (
        grade.line
        for top in deciding_grades(grades_of(result))
        for grade in (*iterate_grades(top.parts), top)
        if grade.outcome == result.outcome
    )
    return next((line for line in lines if line is not None), result.line)


def describe_grades(result: Result) -> Iterator[str]:
    """Yield a line for each grader that did not let the case pass, for forms that show no graders otherwise:
    `failed contains (evals/a.yaml:12)`, `unscored judge, not judged (evals/a.yaml:15): …`. The reason is left
    out if the reason of the case contains it."""
    listed = all_grades_of(result) if result.outcome != "passed" and not result.differences else ()
    grades = [grade for grade, _ in listed]
    for grade in grades:
        place = place_of(grade, result)
        if grade.outcome == "passed" or (len(grades) == 1 and not place):
            continue
        name = ", ".join(filter(None, (grade.grader, grade.verdict)))
        place_text = f" ({place})" if place else ""
        reason = (
            " ".join(filter(None, (grade.code, grade.reason))) if grade.reason not in result.reason else ""
        )
        yield f"{grade.outcome} {name}{place_text}" + (f": {reason}" if reason else "")


def describe_parts(result: Result) -> list[str]:
    """Return these lines if a grader has parts: its reason alone does not say which of them failed."""
    return list(describe_grades(result)) if any(grade.parts for grade in grades_of(result)) else []


def named_metrics(report: Report) -> list[Metric]:
    """Return each metric once, in the view that its name usually means: pass@k case by case, pass^k
    pooled."""
    metrics = report.suite.metrics if report.suite else ()
    return [
        metric
        for metric in metrics
        if metric_name(metric.name) and (metric.view == "per case") == ("@" in metric.name)
    ]


def key_of(metric: Metric) -> str:
    return metric.name.replace("@", "_at_").replace("^", "_hat_").replace(" ", "_")


def failure(result: Result) -> dict[str, Json]:
    """Return one case that did not pass: the reason, what was expected, and what came."""
    attempt, grades = explaining_attempt(result), grades_of(result)
    details: dict[str, Json] = {
        "outcome": result.outcome,
        "verdict": result.verdict,
        "file": result.file,
        "line": result.line,
        "attempts": [attempt.outcome for attempt in result.case.attempts] if result.case else [],
        "graders": [grade_document(grade) for grade in grades],
    }
    if result.differences:
        details["differences"] = [
            {
                "path": render_path(spot.path),
                **without_absent({"expected": spot.expected, "actual": spot.actual}),
            }
            for spot in result.differences[:_MOST_SHOWN]
        ]
    if (
        attempt
        and attempt.output is not None
        and all("actual" not in grade.details for grade in iterate_grades(attempt.grades))
    ):
        details["output"] = attempt.output
    return {"eval_id": result.id, "name": result.name, "reason": result.reason, "details": details}


def grade_document(grade: Grade) -> dict[str, Json]:
    """Return a grade with its parts."""
    document: dict[str, Json] = {
        "grader": grade.grader,
        "kind": grade.kind,
        "outcome": grade.outcome,
        "score": grade.score,
    }
    document |= {"verdict": grade.verdict} if grade.verdict else {}
    document |= {"code": grade.code} if grade.code else {}
    document |= {"line": grade.line} if grade.line is not None else {}
    document |= {"reason": grade.reason} if grade.reason else {}
    document |= {"failed_gates": list(grade.failed_gates)} if grade.failed_gates else {}
    document |= {"details": grade.details} if grade.details else {}
    return document | ({"parts": list(map(grade_document, grade.parts))} if grade.parts else {})


def recommendations(report: Report) -> list[str]:
    """Return recommendations that follow from the results alone, with the ids of the cases."""
    return list(dict.fromkeys(_recommend(report)))


def recommendation_blocks(report: Report) -> Iterator[Heading | Items]:
    advice = [text.partition(": baselinekit ") for text in recommendations(report)]
    if advice:
        yield Heading("Recommendations")
        yield Items(tuple((words, f"baselinekit {rest}" if mark else "") for words, mark, rest in advice))


def _recommend(report: Report) -> Iterator[str]:
    for result in report.results:
        if result.case is None:
            continue
        if result.outcome == "failed":
            yield after_failure(result, typed_of(report))
        elif result.outcome == "error":
            yield f"{result.id}: could not be judged ({result.code}): fix that first, it has no result yet"
        elif result.outcome == "unscored":
            yield f"{result.id}: {result.reason or 'undecided'}: it counts as neither until then"
        elif result.verdict == "flaky":
            yield f"{result.id}: passed only when it was retried: find out how often, with --attempts 10"
    for metric in report.suite.metrics if report.suite else ():
        if metric.met is False and metric.value is None:
            yield f"{metric.name} is not available ({metric.why}): raise --attempts"


def after_failure(result: Result, typed: Typed) -> str:
    """Return the recommendation for a failure, by the findings of its graders."""
    if result.verdict == "flaky":
        passed = sum(attempt.outcome == "passed" for attempt in result.case.attempts) if result.case else 0
        return f"{result.id}: passes sometimes ({passed} of {result.attempts}): it is unstable, not broken"
    if result.differences:
        places = ", ".join(dict.fromkeys(render_path(spot.path) for spot in result.differences[:3]))
        if not select_renewable([result]):
            return f"{result.id}: the answer is not as expected at {places}"
        command = refresh_command([result], typed)
        return f"{result.id}: the answer changed at {places}: check it, or accept it: {command}"
    failing = [grade for grade in deciding_grades(grades_of(result)) if grade.outcome == "failed"]
    if failing and len({grade.kind for grade in grades_of(result)}) > 1:
        passing = [grade.grader for grade in grades_of(result) if grade.outcome == "passed"]
        if passing:
            verdicts = f"{failing[0].grader} failed it, but {', '.join(passing)} did not"
            return f"{result.id}: {verdicts}: {failing[0].reason or 'look at both'}"
    attempt = explaining_attempt(result)
    return f"{result.id}: {(attempt.reason if attempt else '') or 'failed'}"


def evidence(result: Result) -> list[tuple[str, str]]:
    """Return what was expected and what came, if a grader says so; for a baseline, where it differs."""
    if result.differences:
        return [(render_path(spot.path), describe_spot(spot)) for spot in result.differences[:_MOST_PLACES]]
    failing = [
        grade.details for grade in iterate_grades(grades_of(result)) if grade.outcome == result.outcome
    ]
    details = next((details for details in failing if {"expected", "actual"} & details.keys()), {})
    sides = [(name.capitalize(), details[name]) for name in ("expected", "actual") if name in details]
    attempt = explaining_attempt(result)
    output = attempt.output if attempt is not None else None
    if "actual" not in details and output is not None and output != result.name:  # the name is shown already
        sides.append(("Actual", output))
    return [(label, side if isinstance(side, str) else encode(side, 2)) for label, side in sides]


def check_lines(results: Sequence[Result], mark: str, sides: int) -> Iterator[str]:
    """Yield Markdown that lists each case: `- [ ] id: name (FAILED)`. `sides`: up to how many of the expected
    and actual values are shown of one that did not pass."""
    for kind, title in _TITLES.items():
        of_kind = [
            result for result in results if (result.case.eval_type if result.case else "regression") == kind
        ]
        passed = sum(result.outcome == "passed" for result in of_kind)
        if of_kind:
            yield from ("", f"{mark} {title} ({passed}/{len(of_kind)} passed)", "")
        listed = of_kind
        if len(of_kind) > _MOST_LISTED:  # passed results are only counted then
            listed = [result for result in of_kind if result.outcome != "passed"][:_MOST_LISTED]
        for result in listed:
            yield from _check(result, sides)
        if len(of_kind) > len(listed):
            yield f"- … and {len(of_kind) - len(listed):,} more; {passed:,} passed"


def _check(result: Result, sides: int) -> Iterator[str]:
    name = f": {markdown_text(cut_line(result.name))}" if result.name else ""
    words = ["" if result.outcome == "passed" else result.outcome.upper()]
    words += [result.verdict or ""] if result.verdict in (BORDERLINE, "flaky") else []
    stated = ", ".join(filter(None, words))
    is_passed = result.outcome == "passed"
    yield f"- [{'x' if is_passed else ' '}] {markdown_text(result.id)}{name}" + (
        f" ({stated})" if stated else ""
    )
    if is_passed:
        return
    shown_sides = evidence(result)[:sides]
    for label, text in shown_sides:
        yield f"  - {markdown_text(cut_line(label))}: {markdown_code(cut_line(text, _LONGEST_REASON))}"
    if not shown_sides and result.reason and (sides or result.outcome == "skipped"):
        yield f"  - Reason: {markdown_text(cut_line(result.reason, _LONGEST_REASON))}"


def describe_spot(spot: ReportedDifference) -> str:
    if spot.expected is ABSENT:
        return f"not in the baseline: {short(spot.actual)}"
    if spot.actual is ABSENT:
        return f"missing; it was {short(spot.expected)}"
    return f"{short(spot.expected)} -> {short(spot.actual)}"


def format_share(value: float) -> str:
    """Format with three digits, as is usual for rates."""
    return f"{value:.3f}"


def other_reasons(result: Result) -> list[str]:
    """Return why attempts did not pass, if the result gives another reason: each reason once."""
    shown_attempt = explaining_attempt(result)
    reasons: dict[str, str] = {}
    for attempt in result.case.attempts if result.case else ():
        is_same = shown_attempt is not None and (attempt.outcome, attempt.reason) == (
            shown_attempt.outcome,
            shown_attempt.reason,
        )
        if attempt.outcome != "passed" and attempt.reason and not is_same:
            code = f"{attempt.code} " if attempt.code and attempt.outcome == "error" else ""
            reasons.setdefault(f"{attempt.outcome}: {code}{attempt.reason}", f"attempt {attempt.number}")
    return [f"{attempt} {reason}" for reason, attempt in reasons.items()]


def _strip_details(grade: Grade) -> Grade:
    return replace(grade, details={})


def without_details(report: Report) -> Report:
    """Return the report without details of graders and outputs: for a suite that keeps both private."""
    results = []
    for result in report.results:
        if result.case is not None:
            attempts = tuple(
                replace(
                    attempt,
                    output=None,
                    grades=tuple(map_grades(grade, _strip_details) for grade in attempt.grades),
                )
                for attempt in result.case.attempts
            )
            case = replace(result.case, attempts=attempts)
            result = replace(result, case=case, differences=(), resolved=None, explanation=())
        results.append(result)
    return replace(report, results=tuple(results))
