"""`baselinekit compare-runs`: two result files side by side."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click

from baselinekit.cli import screen
from baselinekit.cli.options import Number, argument, command, flag, option, several
from baselinekit.errors import InvalidInput, Problem
from baselinekit.evals.earlier import check_parts
from baselinekit.evals.sidebyside import MeanDelta, Pairing, load_both, mean_delta, pair_runs
from baselinekit.model.values import Json
from baselinekit.report.beside import describe_earlier
from baselinekit.report.resultfile import written
from baselinekit.report.wording import Style, format_lines, list_first
from baselinekit.secrets.variables import Redactor
from baselinekit.values.texts import count_noun

_THRESHOLD = 0.1
_MOST_IDS = 10
_WIDEST = 50


@dataclass(eq=False, repr=False)
class CompareRunsOptions:
    """Compare two runs of eval cases, case by case: BEFORE and NOW are files of `run -o x.json`, or results
    of AgentV (.jsonl, .yaml).

    A difference that chance explains is called insufficient evidence. With --mean-delta AgentV's own rule
    decides instead: the mean of all score differences, in three digits, must not be below zero.

    \b
    Exit code: 0 no regression; 1 a case or a metric regressed, or with --mean-delta the mean is
    below zero; 2 usage or an invalid file; 3 undecided: cases are gone, have no verdict any more,
    or got worse and are too few to judge; 5 no case in common.
    """

    before: str = argument(metavar="BEFORE", type=click.Path())
    now: str = argument(metavar="NOW", type=click.Path())
    across: tuple[str, ...] = several(
        metavar="PART", help="Compare even if the model, judge, files, grader or case differs."
    )
    partial: bool = flag(help="Cases that only BEFORE has leave nothing undecided.")
    mean: bool = flag("--mean-delta", help="Decide by the mean of the score differences, as AgentV does.")
    threshold: float | None = option(
        type=Number(0, 1),
        metavar="X",
        help=f"With --mean-delta: from which difference a case is a win or a loss ({_THRESHOLD}).",
    )
    as_json: bool = flag("--json", help="Print it as JSON.")
    quiet: bool = flag("-q", "--quiet", help="Print only the last line.")
    verbose: bool = flag("-v", "--verbose", help="Print every case and every id.")


@command(CompareRunsOptions)
def compare_runs(options: CompareRunsOptions) -> int:
    if options.threshold is not None and not options.mean:
        message = "--threshold belongs to --mean-delta: the exact tests need none"
        raise InvalidInput(Problem("BK508", message, "add --mean-delta, or leave it out"))
    if options.mean and (options.across or options.partial):
        message = "--mean-delta counts every case that both runs have, whatever differs"
        raise InvalidInput(Problem("BK508", message, "leave --across and --partial out"))
    check_parts(options.across)
    screen.install(Redactor({}).mask_said)
    earlier, now = load_both(options.before, options.now, os.getcwd())
    style = screen.style_of(options.verbose)
    if options.mean:
        threshold = _THRESHOLD if options.threshold is None else options.threshold
        delta = mean_delta(earlier, now, threshold)
        deliver(options, delta_document(delta), describe_delta(delta, style), delta_verdict(delta, style))
        return delta.exit_code
    pairing = pair_runs(earlier, now, options.across, options.partial)
    document = written(pairing.earlier) | {
        "lost": list(pairing.lost),
        "too_few": [metric.name for metric in pairing.unsure],
        "exit_code": pairing.exit_code,
    }
    deliver(options, document, describe_pairing(pairing, style), verdict(pairing, style))
    return pairing.exit_code


def deliver(options: CompareRunsOptions, document: Json, lines: Iterator[str], last: str) -> None:
    if options.as_json:
        screen.show_document(document)
        return
    if not options.quiet:
        screen.show(format_lines(lines))
    screen.line(last)


def describe_pairing(pairing: Pairing, style: Style) -> Iterator[str]:
    earlier = pairing.earlier
    yield from describe_earlier(earlier, style)
    yield from list_ids("only in the earlier run", earlier.gone, style)
    yield from list_ids("only in the later run", earlier.added, style)
    yield from list_ids("without a verdict now", pairing.lost, style)


def list_ids(label: str, ids: Sequence[str], style: Style) -> Iterator[str]:
    """Format `  2 only in the earlier run: a, b`, or nothing if there are no ids."""
    if ids:
        most = len(ids) if style.verbose else _MOST_IDS
        yield f"  {len(ids):,} {label}: {list_first([*map(screen.safe_line, ids)], most)}"


def verdict(pairing: Pairing, style: Style) -> str:
    """The last line: the exit code in words."""
    earlier = pairing.earlier
    compared = len(earlier.cases) - len(earlier.those("not comparable"))
    if earlier.regressed:
        regressions = [count_noun(number, "case") for number in [len(earlier.those("regressed"))] if number]
        regressions += [metric.name for metric in earlier.metrics if metric.verdict == "regressed"]
        return f"{style.paint('regressed', 'bold red')}: {', '.join(regressions)}"
    if earlier.tells_nothing:
        return f"{style.paint('undecided', 'yellow')}: no case can be compared"
    if pairing.exit_code:
        first, parts = "", list[str]()
        for metric in pairing.unsure[:1]:
            if metric.won:
                changed = count_noun(metric.lost + metric.won, "case")
                parts.append(f"{metric.lost:,} of {changed} that changed got worse ({metric.name})")
            else:
                counts = f"{metric.name}: {metric.lost:,} of {metric.pairs:,}"
                first = f"{style.paint('every case that changed got worse', 'bold red')} ({counts}); "
            parts.append("too few to rule out chance")
        parts += [f"{count_noun(len(pairing.lost), 'case')} without a verdict now"] if pairing.lost else []
        parts += (
            [f"{count_noun(len(earlier.gone), 'case')} gone (--partial allows it)"]
            if pairing.unmatched
            else []
        )
        return f"{first}{style.paint('undecided', 'yellow')}: {', '.join(parts)}"
    unsure = len(earlier.those("insufficient evidence"))
    unsure_note = f"; insufficient evidence in {unsure:,}" if unsure else ""
    # a fall that chance explains is no proof that nothing regressed
    beyond = " beyond chance" if any(metric.lost for metric in earlier.metrics) else ""
    return f"{style.paint(f'no regression{beyond}', 'green')} in {count_noun(compared, 'case')}{unsure_note}"


def describe_delta(delta: MeanDelta, style: Style) -> Iterator[str]:
    colors = {"win": "green", "loss": "bold red", "tie": "dim"}
    pairs = [pair for pair in delta.pairs if style.verbose or pair.outcome != "tie"]
    ids = {pair.id: screen.safe_line(pair.id) for pair in pairs}
    widest = min(_WIDEST, max(map(len, ids.values()), default=0))
    for pair in sorted(pairs, key=lambda pair: pair.delta):
        scores = f"{pair.before:.3f} -> {pair.now:.3f}  {float(pair.delta):+.3f}"
        line = f"  {pair.outcome:<4}  {ids[pair.id]:<{widest}}   {scores}"
        yield style.paint(line, colors[pair.outcome])
    yield from list_ids("only in the earlier run, not counted", delta.only_before, style)
    yield from list_ids("only in the later run, not counted", delta.only_now, style)
    yield from list_ids("without a score, not counted", delta.unscored, style)
    yield from list_ids("of the errors count with the score that their row states", delta.errors, style)


def delta_verdict(delta: MeanDelta, style: Style) -> str:
    losses = delta.count("loss")
    counted = f"{count_noun(delta.count('win'), 'win')}, {losses:,} loss{'es' * (losses != 1)}"
    counted += f", {count_noun(delta.count('tie'), 'tie')} of {count_noun(len(delta.pairs), 'pair')}"
    if not delta.pairs:
        return f"{style.paint('undecided', 'yellow')}: no case has a score in both runs"
    words = {-1: ("regressed", "bold red"), 0: ("neutral", "dim"), 1: ("improved", "green")}
    word, color = words[(delta.mean > 0) - (delta.mean < 0)]
    return f"{style.paint(word, color)}: mean difference {float(delta.mean):+.3f} ({counted})"


def delta_document(delta: MeanDelta) -> dict[str, Json]:
    """The comparison with AgentV's own keys, and the ids that were not counted."""
    return {
        "matched": [
            {
                "eval_id": pair.id,
                "score1": pair.before,
                "score2": pair.now,
                "delta": float(pair.delta),
                "outcome": pair.outcome,
            }
            for pair in delta.pairs
        ],
        "unmatched": {"file1": len(delta.only_before), "file2": len(delta.only_now)},
        "summary": {
            "total": 2 * len([*delta.pairs, *delta.unscored]) + len([*delta.only_before, *delta.only_now]),
            "matched": len(delta.pairs),
            "wins": delta.count("win"),
            "losses": delta.count("loss"),
            "ties": delta.count("tie"),
            "mean_delta": float(delta.mean),
        },
        "threshold": delta.threshold,
        "only_in_file1": list(delta.only_before),
        "only_in_file2": list(delta.only_now),
        "without_score": list(delta.unscored),
        "errors": list(delta.errors),
        "exit_code": delta.exit_code,
    }
