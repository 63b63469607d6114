"""`baselinekit report`: earlier runs, the shards of one run, or two runs side by side."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import click

from baselinekit.cli import delivery, options as cli, screen
from baselinekit.cli.compare import format_weakened
from baselinekit.commands import history as past
from baselinekit.evals.earlier import PARTS, MeanDelta, Pairing, load_both, mean_delta, pair_runs
from baselinekit.model.values import Json
from baselinekit.report import terminal
from baselinekit.report.blocks import Cell, Tone, table, terminal_lines
from baselinekit.report.history import format_history, format_history_json
from baselinekit.report.resultfile import written
from baselinekit.report.sections import earlier_blocks
from baselinekit.report.wording import Style, format_lines
from baselinekit.secrets.variables import Redactor
from baselinekit.store.project import nearest_config
from baselinekit.store.results import write_text
from baselinekit.values.texts import count_noun, list_first

_MOST_IDS = 10


_OF_HISTORY = ("ids", "last", "imported")
_OF_ONE_RUN = "different"


@dataclass
class ReportOptions:
    """Without RESULTS: pass rate, flips, the last regression and the duration of every baseline that did not
    always pass. Every compare keeps its results in .baselinekit/results/: the last 200 runs, at most 200 MB.

    RESULTS are files of `compare -o x.json` or `run -o x.json`: the shards of one run become one report, and
    its exit code is the one of a single compare. A missing shard makes it incomplete; files of different
    runs, targets, configurations or versions are refused.

    With --compare-to: two runs of eval cases, case by case; results of AgentV (.jsonl, .yaml) too. A
    difference that chance explains is called insufficient evidence.

    \b
    baselinekit report --id 'users-*' --last 20       what became of them
    baselinekit report shard-*.json -o all.html       one run from its shards
    baselinekit report now.json --compare-to old.json

    \b
    Exit code of two runs: 0 no regression; 1 a case or a metric regressed; 2 usage or an invalid
    file; 3 undecided: cases are gone, have no verdict any more, or got worse and are too few to
    judge; 5 no case in common.
    """

    results: tuple[str, ...] = cli.argument(nargs=-1, metavar="[RESULTS]...", type=click.Path())
    ids: tuple[str, ...] = cli.several("--id", "GLOB", help="Of earlier runs: everything about these.")
    last: int | None = cli.count("N", help="Of earlier runs: only the last N.")
    imported: tuple[str, ...] = cli.several("--import", "FILE", help="Keep a result file as an earlier run.")
    different: tuple[str, ...] = cli.several(
        "--allow-different", type=click.Choice(past.MAY_DIFFER), help="Combine shards that differ in this."
    )
    before: str | None = cli.option(
        "--compare-to",
        "BEFORE",
        excludes=(*_OF_HISTORY, _OF_ONE_RUN, "outputs"),
        help="Compare with this earlier run.",
    )
    across: tuple[str, ...] = cli.several(
        type=click.Choice(PARTS),
        needs="before",
        help="With --compare-to: even if this part of a case differs.",
    )
    partial: bool = cli.flag(
        needs="before", help="With --compare-to: cases that only BEFORE has leave nothing undecided."
    )
    mean: bool = cli.flag(
        "--mean-delta",
        needs="before",
        excludes=("across", "partial"),
        help="With --compare-to: by the mean difference, as AgentV does.",
    )
    threshold: float = cli.option(
        "X",
        type=cli.Number(0, 1),
        default=0.1,
        needs="mean",
        show_default=True,
        help="With --mean-delta: how much is a win or a loss.",
    )
    printing: cli.PrintingOptions = cli.including(cli.PrintingOptions)
    project: cli.ProjectOptions = cli.project_options(("config",))


@cli.command(ReportOptions)
def report(options: ReportOptions) -> int:
    if options.before is not None:
        return _report_two_runs(options, options.before)
    if options.results:
        cli.refuse_without_effect("a report of RESULTS", *_OF_HISTORY)
        return _report_one_run(options)
    cli.refuse_without_effect("a report of earlier runs", _OF_ONE_RUN, "quiet")
    return _report_earlier_runs(options)


def _report_earlier_runs(options: ReportOptions) -> int:
    if wrong := [path for path in options.printing.outputs if not path.endswith((".html", ".htm"))]:
        message = f"-o {wrong[0]}: the history of runs is an HTML page"
        raise cli.misuse(message, "name a file x.html, or use --json")
    project = cli.project_of(options.project)
    if options.imported:
        kept = past.add(project.root, past.load_parts(options.imported, os.getcwd()))
        screen.line(f"imported {count_noun(kept, 'run')}", err=options.printing.as_json)
        if not (options.ids or options.printing.as_json or options.printing.outputs):
            return 0
    runs = past.load(project.root, options.ids, options.last)
    for path in options.printing.outputs:
        from baselinekit.report.html.page import render_history  # needs jinja2

        write_text(path, render_history(runs))
        screen.say(f"wrote {path}", err=options.printing.as_json)
    if options.printing.as_json:
        screen.show_json(format_history_json(runs))
    elif not options.printing.outputs:
        screen.show(format_history(runs, screen.style_of(options.printing.verbose)))
    return 0


def _report_one_run(options: ReportOptions) -> int:
    delivery.check(options.printing.outputs)
    merged = past.merge(past.load_parts(options.results, os.getcwd()), options.different)
    redactor = Redactor({})
    # the redactor learns which random-looking values are not secrets: an id, a tag
    for result in merged.results:
        redactor.mask_value(result.resolved)
        for difference in result.differences:
            redactor.mask_value(difference.expected, difference.path)
            redactor.mask_value(difference.actual, difference.path)
    screen.install(redactor.mask_said)
    config = nearest_config(os.path.dirname(options.results[0]))
    root = os.path.dirname(config) if config else os.getcwd()
    before = (terminal.format_passed, terminal.format_failures)
    sections = (*before, format_weakened, terminal.format_warnings)
    return delivery.finish(merged, options.printing, root, sections, read=options.results).exit_code


def _report_two_runs(options: ReportOptions, before: str) -> int:
    if len(options.results) != 1:
        hint = f"baselinekit report NOW.json --compare-to {before}"
        raise cli.misuse(f"--compare-to needs one file to compare, not {len(options.results)}", hint)
    screen.install(Redactor({}).mask_said)
    earlier, now = load_both(before, options.results[0], os.getcwd())
    style = screen.style_of(options.printing.verbose)
    if options.mean:
        delta = mean_delta(earlier, now, options.threshold)
        document, lines = _delta_document(delta), _describe_delta(delta, style)
        verdict, exit_code = _delta_verdict(delta, style), delta.exit_code
    else:
        pairing = pair_runs(earlier, now, options.across, options.partial)
        unsure = [metric.name for metric in pairing.unsure]
        facts = {"lost": list(pairing.lost), "too_few": unsure, "exit_code": pairing.exit_code}
        document = written(pairing.earlier) | facts
        lines = [
            *terminal_lines(earlier_blocks(pairing.earlier), style),
            *_list_ids("without a verdict now", pairing.lost, style),
        ]
        verdict, exit_code = _verdict(pairing, style), pairing.exit_code
    if options.printing.as_json:
        screen.show_document(document)
    else:
        screen.show("" if options.printing.quiet else format_lines(lines))
        screen.line(verdict)
    return exit_code


def _list_ids(label: str, ids: Sequence[str], style: Style) -> list[str]:
    """Format `  2 only in the earlier run: a, b`, or nothing if there are no ids."""
    names = list_first([*map(screen.safe_line, ids)], len(ids) if style.verbose else _MOST_IDS)
    return [f"  {len(ids):,} {label}: {names}"] if ids else []


def _verdict(pairing: Pairing, style: Style) -> str:
    """The last line: the exit code in words."""
    earlier, undecided = pairing.earlier, style.paint("undecided", "yellow")
    if earlier.regressed:
        cases = len(earlier.those("regressed"))
        regressions = [count_noun(cases, "case")] if cases else []
        regressions += [metric.name for metric in earlier.metrics if metric.verdict == "regressed"]
        return f"{style.paint('regressed', 'bold red')}: {', '.join(regressions)}"
    if earlier.tells_nothing:
        return f"{undecided}: no case can be compared"
    if pairing.exit_code:
        parts = [
            f"{one.lost:,} of {one.lost + one.won:,} that changed got worse ({one.name}), too few to decide"
            for one in pairing.unsure[:1]
        ]
        if pairing.lost:
            parts.append(f"{count_noun(len(pairing.lost), 'case')} without a verdict now")
        if pairing.unmatched:
            parts.append(f"{count_noun(len(earlier.gone), 'case')} gone (--partial allows it)")
        return f"{undecided}: {', '.join(parts)}"
    compared = count_noun(len(earlier.cases) - len(earlier.those("not comparable")), "case")
    unsure = len(earlier.those("insufficient evidence"))
    # a fall that chance explains does not prove that nothing regressed
    beyond = " beyond chance" if any(metric.lost for metric in earlier.metrics) else ""
    verdict = style.paint(f"no regression{beyond}", "green")
    return f"{verdict} in {compared}; insufficient evidence in {unsure:,}"


def _describe_delta(delta: MeanDelta, style: Style) -> list[str]:
    tones: dict[str, Tone] = {"win": "passed", "loss": "failed", "tie": "dim"}
    rows = []
    for pair in sorted(delta.pairs, key=lambda pair: pair.delta):
        if style.verbose or pair.outcome != "tie":
            scores, difference = f"{pair.before:.3f} -> {pair.now:.3f}", f"{float(pair.delta):+.3f}"
            word = Cell(pair.outcome, tones[pair.outcome])
            rows.append((word, screen.safe_line(pair.id), scores, difference))
    heads = ("outcome", "case", "scores", "difference")
    return [
        *terminal_lines([table(heads, rows)] if rows else [], style),
        *_list_ids("only in the earlier run, not counted", delta.only_before, style),
        *_list_ids("only in the later run, not counted", delta.only_now, style),
        *_list_ids("without a score, not counted", delta.unscored, style),
        *_list_ids("of the errors count with the score that their row states", delta.errors, style),
    ]


def _delta_verdict(delta: MeanDelta, style: Style) -> str:
    if not delta.pairs:
        return f"{style.paint('undecided', 'yellow')}: no case has a score in both runs"
    counted = f"{delta.count('win'):,} won, {delta.count('loss'):,} lost, {delta.count('tie'):,} tied"
    words = {-1: ("regressed", "bold red"), 0: ("neutral", "dim"), 1: ("improved", "green")}
    word, color = words[(delta.mean > 0) - (delta.mean < 0)]
    return f"{style.paint(word, color)}: mean difference {float(delta.mean):+.3f} ({counted})"


def _delta_document(delta: MeanDelta) -> dict[str, Json]:
    """The comparison with AgentV's own keys, and the ids that were not counted."""
    unmatched = {"file1": len(delta.only_before), "file2": len(delta.only_now)}
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
        "unmatched": unmatched,
        "summary": {
            "total": 2 * (len(delta.pairs) + len(delta.unscored)) + sum(unmatched.values()),
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
