"""The results of an eval run or a gate, as plain values for every form, and as JSON (`-o x.eval.json`):
counts, metrics, failures with expected and actual values, and recommendations. And what a page shows of
one result: the differences, and for an eval case the grades, expected beside actual, and each attempt."""

from collections.abc import Iterator, Sequence

from baselinekit.codes import explain
from baselinekit.escape import markdown_code, markdown_text
from baselinekit.metrics import metric_name
from baselinekit.model.grades import BORDERLINE, FAULTS, OUTCOMES, Attempt, Grade, iterate_grades, map_grades
from baselinekit.model.results import Metric, Report, Result
from baselinekit.model.values import ABSENT, Json
from baselinekit.report import blocks, wording
from baselinekit.report.blocks import Block, Cell, Diff, DiffLine, Heading, Note, Table
from baselinekit.report.differences import diff_lines, diffs, unified
from baselinekit.report.next_commands import refresh_command, select_renewable, typed_of
from baselinekit.report.resultfile import written
from baselinekit.report.sections import beside_document
from baselinekit.report.values import cut_line, encode, first_lines, page, short
from baselinekit.structs import replace
from baselinekit.values.paths import render as render_path
from baselinekit.values.texts import count_noun

_MOST_SHOWN = 20
_MOST_PLACES = 10
_TITLES = {"capability": "Capability Evals", "regression": "Regression Evals"}
_MOST_LISTED = 500
_LONGEST_REASON = 200


def render(report: Report) -> str:
    return page({"eval_report": document(report)})


def document(report: Report) -> dict[str, Json]:
    cases = [result for result in report.results if result.case is not None]
    metrics = report.suite.metrics if report.suite else ()
    beside, warnings = beside_document(report), wording.collect_warnings(report)
    left_out = [case for case in cases if case.outcome == "skipped"]
    skipped = [{"eval_id": case.id, "reason": case.reason} for case in left_out]
    return {
        "metadata": {
            "suite_name": beside.pop("suite", None),
            "run_id": report.id,
            "timestamp": report.started,
            "duration_seconds": round(report.seconds, 3),
            "environment": {
                "model": report.environment.get("model"),
                "version": report.suite.version if report.suite else None,
                "commit": report.commit,
            },
        },
        "summary": summary(report),
        # each in the view that its name usually means: pass@k case by case, pass^k pooled
        "metrics": {
            key_of(metric): metric.value
            for metric in metrics
            if metric_name(metric.name) and (metric.view == "per case") == ("@" in metric.name)
        },
        "metrics_in_full": beside.pop("metrics", []),
        **beside,
        "failures": [_failure(result) for result in cases if result.outcome in FAULTS],
        **({"warnings": warnings} if warnings else {}),
        **({"skipped": skipped} if skipped else {}),
        "recommendations": recommendations(report),
    }


def summary(report: Report) -> dict[str, Json]:
    """Return the counts of all cases, and of each kind of case and of grader."""
    cases = [result for result in report.results if result.case is not None]
    counts = count_results(cases)
    of_kind: dict[str, list[Result]] = {kind: [] for kind in _TITLES}
    for case in cases:
        of_kind.setdefault(case.case.eval_type if case.case else "", []).append(case)
    by_grader = {}
    for kind in ("code", "model", "human"):  # a case counts once for each kind, and passes if all of it do
        grades_of_kind = ([grade for grade in grades_of(case) if grade.kind == kind] for case in cases)
        graded = [grades for grades in grades_of_kind if grades]
        passed = sum(all(grade.outcome == "passed" for grade in deciding_grades(grades)) for grades in graded)
        if graded:
            by_grader[kind] = {"total": len(graded), "passed": passed}
    return {
        "total_evals": counts.pop("total"),
        **counts,
        "by_category": {kind: count_results(of_kind[kind]) for kind in _TITLES if of_kind[kind]},
        "by_grader": by_grader,
        "complete": report.complete,
    }


def count_results(results: Sequence[Result]) -> dict[str, Json]:
    """Return how many results have each outcome, and the pass rates: of those that ran, and of those that
    were decided, which thresholds and gates use."""
    counts: dict[str, Json] = {"total": len(results)}
    order = ("passed", *OUTCOMES[:-1])
    counts |= {outcome: sum(result.outcome == outcome for result in results) for outcome in order}
    ran = len(results) - counts["skipped"]
    decided = counts["passed"] + counts["failed"]
    if borderline := wording.count_borderline(results):
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
        listed.append((grade, _describe_standing(grade, by_mean)))
        parts = iterate_grades(grade.parts, f"{grade.grader}/")
        listed += [(part, _describe_standing(part, True)) for part in parts]
    return listed


def _describe_standing(grade: Grade, in_mean: bool) -> str:
    if not in_mean:
        return "" if grade.required else "optional"
    weight = "" if grade.weight == 1 else f"weight {grade.weight:g}"
    return ", ".join(filter(None, ("required" if grade.required else "", weight)))


def deciding_grades(grades: Sequence[Grade]) -> list[Grade]:
    """Return the grades that decide the case: the required ones, else all."""
    return [grade for grade in grades if grade.required] or list(grades)


def place_of(grade: Grade, result: Result) -> str:
    """Return the place of a grader in its file, if it has another line than its case."""
    return f"{result.file}:{grade.line}" if grade.line not in (None, result.line) else ""


def line_of(result: Result) -> int | None:
    """Return the line to look at first: of the grader that explains the outcome, or of the case."""
    tops = deciding_grades(grades_of(result))
    grades = (grade for top in tops for grade in (*iterate_grades(top.parts), top))
    lines = (grade.line for grade in grades if grade.outcome == result.outcome)
    return next((line for line in lines if line is not None), result.line)


def describe_grades(result: Result) -> Iterator[str]:
    """Yield a line for each grader that did not let the case pass, for forms that show no graders otherwise:
    `failed contains (evals/a.yaml:12)`, `unscored judge, not judged (evals/a.yaml:15): …`. The reason is left
    out if the reason of the case contains it."""
    is_shown = result.outcome != "passed" and not result.differences
    grades = [grade for grade, _ in all_grades_of(result)] if is_shown else []
    for grade in grades:
        place = place_of(grade, result)
        if grade.outcome == "passed" or (len(grades) == 1 and not place):
            continue
        words = f"{grade.outcome} {grade.grader}" + (f", {grade.verdict}" if grade.verdict else "")
        words += f" ({place})" if place else ""
        if grade.reason not in result.reason:
            words += f": {' '.join(filter(None, (grade.code, grade.reason)))}"
        yield words


def key_of(metric: Metric) -> str:
    return metric.name.replace("@", "_at_").replace("^", "_hat_").replace(" ", "_")


def _failure(result: Result) -> dict[str, Json]:
    """Return one case that did not pass: the reason, what was expected, and what came."""
    attempt, grades = explaining_attempt(result), grades_of(result)
    details: dict[str, Json] = {
        "outcome": result.outcome,
        "verdict": result.verdict,
        "file": result.file,
        "line": result.line,
        "attempts": [attempt.outcome for attempt in result.case.attempts] if result.case else [],
        "graders": written(grades),
    }
    if result.differences:
        details["differences"] = written(result.differences[:_MOST_SHOWN])
    states_output = any("actual" in grade.details for grade in iterate_grades(grades))
    if attempt and attempt.output is not None and not states_output:
        details["output"] = attempt.output
    return {"eval_id": result.id, "name": result.name, "reason": result.reason, "details": details}


def recommendations(report: Report) -> list[str]:
    """Return recommendations that follow from the results alone, with the ids of the cases."""
    cases = [result for result in report.results if result.case is not None]
    advice = [f"{case.id}: {words}" for case in cases if (words := _advise(case, report))]
    for metric in report.suite.metrics if report.suite else ():
        if metric.met is False and metric.value is None:
            advice.append(f"{metric.name} is not available ({metric.why}): raise --attempts")
    return list(dict.fromkeys(advice))


def _advise(result: Result, report: Report) -> str:
    """Return what to do about a case, by its outcome and the findings of its graders."""
    if result.outcome == "error":
        return f"could not be judged ({result.code}): fix that first, it has no result yet"
    if result.outcome == "unscored":
        return f"{result.reason or 'undecided'}: it counts as neither until then"
    if result.outcome != "failed":
        is_retried = result.verdict == "flaky"
        return "passed only when it was retried: find out how often, with --attempts 10" if is_retried else ""
    if result.verdict == "flaky":
        passed = sum(attempt.outcome == "passed" for attempt in result.case.attempts) if result.case else 0
        return f"passes sometimes ({passed} of {result.attempts}): it is unstable, not broken"
    if result.differences:
        places = ", ".join(dict.fromkeys(render_path(spot.path) for spot in result.differences[:3]))
        if not select_renewable([result]):
            return f"the answer is not as expected at {places}"
        command = refresh_command([result], typed_of(report))
        return f"the answer changed at {places}: check it, or accept it: {command}"
    grades = grades_of(result)
    failing = [grade for grade in deciding_grades(grades) if grade.outcome == "failed"]
    passing = [grade.grader for grade in grades if grade.outcome == "passed"]
    if failing and passing and len({grade.kind for grade in grades}) > 1:
        why = failing[0].reason or "look at both"
        return f"{failing[0].grader} failed it, but {', '.join(passing)} did not: {why}"
    attempt = explaining_attempt(result)
    return (attempt.reason if attempt else "") or "failed"


def recommendation_blocks(report: Report) -> Iterator[Heading | Table]:
    advice = [text.partition(": baselinekit ") for text in recommendations(report)]
    if advice:
        yield Heading("Recommendations")
        commands = [Cell(f"baselinekit {rest}" if mark else "", is_code=True) for _, mark, rest in advice]
        rows = [(words, command) for (words, *_), command in zip(advice, commands, strict=True)]
        yield blocks.table(("", ""), rows)


def evidence(result: Result) -> list[tuple[str, str]]:
    """Return what was expected and what came, as far as a grader states it; for a baseline, where it
    differs."""
    if result.differences:
        places = []
        for spot in result.differences[:_MOST_PLACES]:
            text = f"{short(spot.expected)} -> {short(spot.actual)}"
            if spot.expected is ABSENT:
                text = f"not in the baseline: {short(spot.actual)}"
            elif spot.actual is ABSENT:
                text = f"missing; it was {short(spot.expected)}"
            places.append((render_path(spot.path), text))
        return places
    grades = iterate_grades(grades_of(result))
    failing = [grade.details for grade in grades if grade.outcome == result.outcome]
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
        cases = [one for one in results if (one.case.eval_type if one.case else "regression") == kind]
        if not cases:
            continue
        failing = [result for result in cases if result.outcome != "passed"]
        passed = len(cases) - len(failing)
        yield from ("", f"{mark} {title} ({passed}/{len(cases)} passed)", "")
        listed = cases if len(cases) <= _MOST_LISTED else failing[:_MOST_LISTED]
        for result in listed:
            name = f": {markdown_text(cut_line(result.name))}" if result.name else ""
            words = ["" if result.outcome == "passed" else result.outcome.upper()]
            words += [str(result.verdict)] if result.verdict in (BORDERLINE, "flaky") else []
            stated = f" ({', '.join(filter(None, words))})" if any(words) else ""
            yield f"- [{' ' if words[0] else 'x'}] {markdown_text(result.id)}{name}{stated}"
            shown = [*evidence(result)[:sides]] if words[0] else []
            if words[0] and not shown and result.reason and (sides or result.outcome == "skipped"):
                yield f"  - Reason: {markdown_text(cut_line(result.reason, _LONGEST_REASON))}"
            for label, text in shown:
                code = markdown_code(cut_line(text, _LONGEST_REASON))
                yield f"  - {markdown_text(cut_line(label))}: {code}"
        if len(cases) > len(listed):
            yield f"- … and {len(cases) - len(listed):,} more; {passed:,} passed"


def other_reasons(result: Result) -> list[str]:
    """Return why attempts did not pass, if the result gives another reason: each reason once."""
    reasons: dict[str, int] = {}
    for attempt in result.case.attempts if result.case else ():
        if attempt.outcome != "passed" and attempt.reason:
            reasons.setdefault(_describe_attempt(attempt), attempt.number)
    if (shown := explaining_attempt(result)) is not None:
        reasons.pop(_describe_attempt(shown), None)
    return [f"attempt {number} {reason}" for reason, number in reasons.items()]


def _describe_attempt(attempt: Attempt) -> str:
    code = f"{attempt.code} " if attempt.code and attempt.outcome == "error" else ""
    return f"{attempt.outcome}: {code}{attempt.reason}"


def without_details(report: Report) -> Report:
    """Return the report without details of graders and outputs: for a suite that keeps both private."""

    def strip(grade: Grade) -> Grade:
        return map_grades(grade, lambda grade: replace(grade, details={}))

    results = []
    for result in report.results:
        if result.case is not None:
            attempts = tuple(
                replace(attempt, output=None, grades=tuple(map(strip, attempt.grades)))
                for attempt in result.case.attempts
            )
            case = replace(result.case, attempts=attempts)
            result = replace(result, case=case, differences=(), resolved=None, explanation=())
        results.append(result)
    return replace(report, results=tuple(results))


# What a page shows of one result.

_MOST_ATTEMPTS = 100
_MOST_DETAILS = 12
_LONGEST_DETAIL = 400
_SIDES: dict[str, tuple[blocks.LineTone, str]] = {"expected": ("gone", "-"), "actual": ("came", "+")}
_SHOWN_ABOVE = ("expected", "actual", "differences")


def result_blocks(result: Result, unshared: Result | None, most: int) -> Iterator[Block]:
    """Yield the details of a result. `unshared`: the result without the differences that are shown for
    several baselines at once; `most`: how many differences, and lines of a text."""
    place = wording.format_place(result)
    yield Note(place, code=result.target) if result.target else Note("", code=place)
    facts = [wording.describe_usage(result.usage)]
    facts += [count_noun(result.attempts, "attempt")] if result.attempts > 1 else []
    if unshared is not None and unshared is not result:
        number, own = wording.count_differences(result), wording.count_differences(unshared)
        facts.append(f"{count_noun(number, 'difference')}, {number - own:,} of them above")
    if words := ", ".join(filter(None, facts)):
        yield Note(words, "dim")
    yield from map(Note, wording.describe_reason(result).splitlines()[:_MOST_SHOWN])
    if result.code and (code := explain(result.code)):
        yield Note(f"{result.code}: {code.title}. More:", code=f"baselinekit explain {result.code}")
    if unshared is not None:
        shown_diffs, left_out = diffs(unshared, most=most)
        yield from shown_diffs
        if left_out:
            yield Note(wording.describe_unshown(left_out), "dim")
    yield from _case_blocks(result, most)
    changed, commits = wording.describe_drift(result)
    if changed:
        rows = [(short(name), short(was), short(now)) for name, was, now in changed[: blocks.MOST_ROWS]]
        yield blocks.table(("what", "then", "now"), rows, "Changed since capture")
    if commits:
        yield Note(f"changed since capture: {commits}", "dim")
    yield from (Note(f"note: {note}", "dim") for note in result.notes[:_MOST_SHOWN])


def _case_blocks(result: Result, most: int) -> Iterator[Block]:
    """Yield the details of an eval case beyond those of every result."""
    grades = grades_of(result)
    if result.outcome != "passed" and not result.differences:
        for grade in [*iterate_grades(grades)][: blocks.MOST_ROWS]:
            yield from _structure_differences(grade)
        yield from _expected_and_actual(result, most)
    if grades:
        yield _grades_table(result)
    attempts = result.case.attempts if result.case else ()
    if len(attempts) > 1 or any(attempt.again for attempt in attempts):
        yield _attempts_table(attempts, result)


def _structure_differences(grade: Grade) -> Iterator[Diff]:
    """Yield where an output does not match a structure, for a case without a baseline; with one, the result
    has the differences."""
    differences = grade.details.get("differences")
    lines: list[DiffLine] = []
    for difference in differences[: blocks.MOST_ROWS] if isinstance(differences, list) else ():
        if isinstance(difference, dict):
            lines.append(DiffLine("dim", short(difference.get("path", "$"), 200)))
            lines += _sides({side: short(difference[side], 500) for side in _SIDES if side in difference})
    if lines:
        yield Diff(cut_line(grade.grader), "differs", "", tuple(lines))


def _sides(sides: dict[str, str], most: int = 1) -> Iterator[DiffLine]:
    for side, text in sides.items():
        texts = first_lines(text, most) or ['""']
        tone, sign = _SIDES[side]
        yield from (DiffLine(tone, f"{sign} {line}") for line in texts[:most])
        yield from (DiffLine("dim", line) for line in texts[most:])


def _expected_and_actual(result: Result, most: int) -> Iterator[Diff]:
    """Yield expected beside actual, as far as they are known: a diff if the texts have lines in common."""
    sides = {label.lower(): text for label, text in evidence(result) if label.lower() in _SIDES}
    if all("\n" in text.strip() for text in sides.values()) and len(sides) == 2:
        changed = unified(sides["expected"], sides["actual"])
        if any(line.startswith("| ") for line in changed):
            yield Diff("expected and actual", "", "", tuple(diff_lines(changed, most)))
            return
    if sides:
        yield Diff(" and ".join(sides), "", "", tuple(_sides(sides, most)))


def _grades_table(result: Result) -> Table:
    grades = all_grades_of(result)
    rows = []
    for grade, standing in grades[: blocks.MOST_ROWS]:
        kind = f"{grade.kind}, {standing}" if standing not in ("", "optional") else grade.kind
        notes = {name: value for name, value in grade.details.items() if name not in _SHOWN_ABOVE}
        shown = [(name, value) for name, value in notes.items() if value not in (None, "", [], {})]
        why = [grade.reason.replace("\n", " ")]
        why += [f"{cut_line(name, 60)}: {short(value, _LONGEST_DETAIL)}" for name, value in shown]
        rows.append(
            (
                Cell(grade.grader, is_code=True),
                kind,
                *_judged_cells(grade),
                Cell(place_of(grade, result), "dim"),
                "\n".join(filter(None, why[: _MOST_DETAILS + 1])),
            )
        )
    caption = "What the graders said"
    if len(grades) > len(rows):
        caption += f" (the first {len(rows)} of {len(grades):,})"
    return blocks.table(("grader", "kind", "outcome", "score", "where", "why"), rows, caption)


def _judged_cells(judged: Grade | Attempt) -> tuple[Cell, Cell]:
    verdict = judged.verdict if judged.verdict != judged.outcome else ""
    outcome = Cell(", ".join(filter(None, (judged.outcome, verdict))), judged.outcome)
    return outcome, Cell("" if judged.score is None else f"{judged.score:.3f}")


def _attempts_table(attempts: Sequence[Attempt], result: Result) -> Table:
    """Return a table with each attempt in a row; `again` counts the replays because the environment
    failed."""
    explaining = explaining_attempt(result)
    rows = []
    for attempt in attempts[:_MOST_ATTEMPTS]:
        is_known = explaining is not None and attempt.reason == explaining.reason
        why = [] if is_known else [attempt.reason.replace("\n", " ")]
        why += [f"replayed {attempt.again} more times"] if attempt.again else []
        took, used = wording.format_seconds(attempt.seconds), wording.describe_usage(attempt.usage)
        words = "\n".join(filter(None, why))
        rows.append((str(attempt.number), *_judged_cells(attempt), took, used, words))
    passed = sum(attempt.outcome == "passed" for attempt in attempts)
    caption = f"{passed:,} of {len(attempts):,} attempts passed"
    if len(attempts) > len(rows):
        caption += f" (the first {len(rows)} are shown)"
    return blocks.table(("attempt", "outcome", "score", "took", "used", "why"), rows, caption)
