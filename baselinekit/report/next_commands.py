"""What to type next, the most useful first: every form of report and every command asks here.

The verb depends on what a result is of: a baseline is compared, and refreshed by its id; a regression record
among evals is run, and refreshed by its file; what a case without a baseline expects, only people can say."""

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from baselinekit.escape import one_line
from baselinekit.kinds.table import KINDS
from baselinekit.lazy import lazy_pattern
from baselinekit.metrics import metric_name
from baselinekit.model.baselines import settled_by_refresh
from baselinekit.model.evals import Judged
from baselinekit.model.results import UNDECIDED, VOLATILE, Report, Result, Spot
from baselinekit.placeholders.grammar import tokens_in
from baselinekit.report.typed import Typed, read_typed
from baselinekit.tree.places import places

NOTHING = Typed()

Place = Callable[[str], str]
"""How a file of the project is called from where the command will be typed."""

_MOST_COMMANDS = 4
_MOST_AFTER_A_GATE = 3
_MOST_NAMED = 3
_MOST_FILES = 20
_MOST_DRAFTS = 5
_RESULT_FILE = lazy_pattern(r"(.*/)?[^/.]*\.json", re.DOTALL)
_OUTCOMES = (("status",), ("exit_code",))
"""Where an output says whether it worked."""

_WAITING = ("pending", "disputed")
"""Verdicts that only people can settle."""


def command_line(*words: str) -> str:
    """A command as a shell takes it, and as a terminal and a page may show it."""
    return one_line(shlex.join(["baselinekit", *words]))


def typed_of(report: Report) -> Typed:
    """What was typed for a run, for the commands that go on from it."""
    return replace(read_typed(report.command, report.results_file), unkept=report.unkept)


def explain_commands(codes: Iterable[str]) -> list[str]:
    return [f"baselinekit explain {code}" for code in codes]


def select_renewable(results: Sequence[Result]) -> list[Result]:
    """Those that failed with an output that can be taken for right."""
    return [
        result
        for result in results
        if result.outcome == "failed"
        and result.verdict not in UNDECIDED
        and not (result.differences and not any(settled_by_refresh(spot.rule) for spot in result.differences))
        and (result.case is None or (result.case.eval_type == "regression" and bool(result.differences)))
    ]


def refresh_command(results: Sequence[Result], typed: Typed = NOTHING, *more: str) -> str:
    """The command that takes what came for right, from now on, with the permissions that it will need: who is
    asked still has to say yes. Who reads this elsewhere has the result file, and no kept answers."""
    named = list(dict.fromkeys(result.id if result.case is None else result.file for result in results))
    compared = all(result.case is None for result in results)
    is_few = len(named) <= (_MOST_FILES if typed.narrowed or not compared else _MOST_NAMED)
    words = ["refresh", *(_answers_from(typed) if compared else ())]
    if not compared:
        words += named[:_MOST_FILES]
    elif is_few and typed.paths:
        words += [*typed.paths, *(word for id in named for word in ("--id", id))]
    elif is_few:
        words += named
    elif typed.paths or typed.selection:
        words += [*typed.paths, *typed.selection]
    elif "--from" not in words:
        words.append("--all-failed")
    return command_line(*words, *_permissions(results), *more, *typed.operator)


def _answers_from(typed: Typed) -> tuple[str, ...]:
    """Where a refresh has what came from: who could not keep it asks again."""
    if typed.results:
        return "--from", typed.results
    return ("--replay", *typed.asking) if typed.unkept else ()


def _permissions(results: Sequence[Result]) -> list[str]:
    """What is at risk, as far as the differences tell: the flags without which nothing of it is accepted."""
    spots = [spot for result in results for spot in result.differences]
    risky = any(
        spot.kind == "type"
        or (spot.kind == "missing" and isinstance(spot.path[-1:][0] if spot.path else "", str))
        or spot.path in _OUTCOMES
        for spot in spots
    )
    loses = any(is_placeholder(spot) for spot in spots)
    return [*(["--allow-high-risk"] if risky or loses else []), *(["--drop-placeholders"] if loses else [])]


def is_placeholder(spot: Spot) -> bool:
    """Whether what is expected there is one, or holds one."""
    if spot.kind == "extra":
        return False
    return any(next(tokens_in(value), None) for _, value in places(spot.expected))


def show_commands(
    results: Sequence[Result],
    paths: Sequence[str] | None = None,
    place: Place = str,
    typed: Typed = NOTHING,
) -> list[str]:
    """The commands that show what did not pass, at length. `paths`: what was named to the command whose
    results these are. Who reads a report of them does not know that: there the files are named."""
    compared = [result.id for result in results if result.case is None]
    tried = [result for result in results if result.case is not None]
    more = ("-v", *typed.asking, *typed.operator)
    below = typed.paths if paths is None else paths
    chosen = _ids(compared) or typed.selection
    commands = [command_line("compare", *below, *chosen, *more)] if compared else []
    if tried:
        files = list(dict.fromkeys(place(result.file) for result in tried))
        where = (files if len(files) <= _MOST_NAMED else ()) if paths is None else paths
        commands.append(command_line("run", *where, *_ids([result.id for result in tried]), *more))
    return commands


def check_commands(
    written: Sequence[tuple[str, str]],
    baselines: Sequence[str],
    evals: Sequence[str],
    more: Sequence[str] = (),
    place: Place = str,
) -> list[str]:
    """The commands that show whether what was just written passes, by its ids and files. `baselines` and
    `evals`: the folders in which `compare` and `run` look by themselves; what lies in neither is named."""
    known = [(id, file) for id, file in written if lies_in(file, baselines)]
    cases = [pair for pair in written if pair not in known and lies_in(pair[1], evals)]
    others = [pair for pair in written if pair not in known and pair not in cases]
    files = list(dict.fromkeys(place(file) for _, file in others))[:_MOST_FILES]
    commands = [command_line("compare", *_ids([id for id, _ in known]), *more)] if known else []
    commands += [command_line("compare", *files, *more)] if files else []
    return commands + ([command_line("run", *_ids([id for id, _ in cases]))] if cases else [])


def after_compare(
    report: Report, paths: Sequence[str] = (), folders: Sequence[str] = ("",), verbose: bool = False
) -> list[str]:
    """`paths`: what was named to the compare; it is named again where what failed lies outside of the folders
    in which a compare looks by itself. Who asked for the details is shown how the baseline is read."""
    failed = [result for result in report.results if result.outcome == "failed"]
    typed = typed_of(report)
    known = [result for result in failed if lies_in(result.file, folders)]
    if verbose and known:
        return [command_line("explain", known[0].id, *typed.operator)]
    if len(known) == len(failed):
        paths = ()
    typed = replace(typed, paths=tuple(paths))
    answers, elsewhere = _answers_from(typed), bool(typed.results)
    commands: list[str] = []
    if len(failed) == 1:
        named = (*answers, *(paths or (failed[0].id,)))
        refresh = command_line("refresh", *named, "--dry-run", *typed.operator)
        commands = [*show_commands(failed, paths, typed=typed), refresh]
    elif failed:
        last = show_commands(failed, paths, typed=typed)[0]
        again = paths or (_named_again(failed) if typed.unkept else ())
        if not elsewhere and not typed.unkept:  # where it ran, it is known what failed
            last = command_line("compare", *paths, "--lf", "-v", *typed.asking, *typed.operator)
        commands = [last, command_line("review", *answers, *again, *typed.operator)]
    learning = [] if elsewhere else learn_commands(failed, paths, typed)
    if not select_renewable(failed) or (learning and all(one.verdict == VOLATILE for one in failed)):
        commands = commands[:1]  # there is nothing to approve
    commands = learning + commands
    commands += explain_commands(error_codes(report))
    drafts = sorted({result.file for result in report.results if result.code == "BK223"})
    if drafts:
        commands.append(command_line("capture", "from", *drafts[:_MOST_DRAFTS], *typed.operator))
    return (commands or programs_that_compare(report))[:_MOST_COMMANDS]


def _named_again(failed: Sequence[Result]) -> list[str]:
    """What is asked again, where nothing tells what has failed; of very many all are."""
    return [result.id for result in failed] if len(failed) <= _MOST_FILES else []


def programs_that_compare(report: Report) -> list[str]:
    """Of a run in which nothing was compared: what compares the values that other programs bring."""
    if report.summary.passed:
        return []
    programs: dict[str, list[str]] = {}
    for result in report.results:
        if (kind := KINDS.get(result.kind)) is not None and kind.brought_by:
            programs.setdefault(kind.brought_by, []).append(result.target)
    return [
        one_line(shlex.join([program, *dict.fromkeys(one.removeprefix(f"{program} ") for one in targets)]))
        if len(targets) <= _MOST_NAMED
        else program
        for program, targets in programs.items()
    ]


def learn_commands(failed: Sequence[Result], paths: Sequence[str], typed: Typed) -> list[str]:
    """Of those that differ only in what varies by nature: that is to be learnt, not approved."""
    ids = [result.id for result in failed if result.verdict == VOLATILE and result.case is None]
    if not ids:
        return []
    named = paths or ids[:_MOST_FILES]
    if not paths and len(ids) > _MOST_NAMED and len(ids) == len(failed):
        named = ["--all-failed"]
    return [command_line("refresh", *named, "--learn", *typed.asking, *typed.operator)]


def after_run(
    report: Report,
    words: Sequence[str],
    named: Sequence[str],
    verbose: bool,
    files: Sequence[str],
    kept: Sequence[str],
    place: Place,
) -> list[str]:
    """`words`: what was typed; `named`: the paths or the suite among it. `files`: the reports that were asked
    for; `kept`: those that the suite keeps."""
    failed = [result for result in report.results if result.outcome == "failed"]
    commands = []
    if not report.complete:
        again = [word for word in words if word not in ("--resume", "-x", "--exitfirst")]
        commands.append(command_line(*again, "--resume"))
    if failed and not verbose:
        commands += show_commands(failed[:1], named, typed=typed_of(report))
    if renewable := select_renewable(failed):
        commands.append(
            command_line("refresh", place(renewable[0].file), "--dry-run", *typed_of(report).operator)
        )
    if any(result.verdict in _WAITING for result in report.results):
        commands += ["baselinekit grade", *finish_commands(list_result_files([*files, *kept]))]
    commands += explain_commands(error_codes(report))
    if commands:
        return commands[:_MOST_COMMANDS]
    # a gate, for who asked so often that there is something to judge, and said nowhere what is enough
    metrics = report.suite.metrics if report.suite else ()
    is_several = any(metric.name == "pass@3" and metric.value is not None for metric in metrics)
    is_stated = any(metric.threshold is not None for metric in metrics)
    results = list_result_files(kept)
    if not results or not is_several or is_stated or report.coverage.left_out:
        return []
    return [command_line("gate", results[0], "--preset", "staging")]


def after_gate(
    judged: Sequence[Judged], words: Sequence[str], has_run: bool, files: Sequence[str], place: Place
) -> list[str]:
    """What goes on where a gate was stopped, and what shows why it is not met. `words`: what was typed;
    `files`: the result files that were judged."""
    commands = []
    if has_run and not all(gate.report.complete for gate in judged):
        commands.append(command_line(*(word for word in words if word != "--resume"), "--resume"))
    for one in judged:
        wrong = [result for result in one.report.results if result.outcome in ("failed", "error")]
        if one.state != "met" and wrong:
            # a baseline is no case but for the gate, which counts it as one
            first = replace(wrong[0], case=None) if is_baseline(wrong[0]) else wrong[0]
            commands += show_commands([first], [place(one.gate.suite)] if one.gate.suite else None, place)
        short = [metric for metric in one.metrics if metric.value is None and metric.threshold is not None]
        if short and not one.gate.suite and not all(map(is_baseline, one.report.results)):
            needed = max(k for _, k in ((metric_name(metric.name) or ("@", 3)) for metric in short))
            commands.append(command_line("run", "--attempts", str(needed), "-o", "results.json"))
    if any(result.verdict in _WAITING for one in judged for result in one.report.results):
        commands += ["baselinekit grade", *finish_commands(files)]
    return list(dict.fromkeys(commands))[:_MOST_AFTER_A_GATE]


def finish_commands(files: Sequence[str]) -> list[str]:
    return [command_line("grade", "--finish", file) for file in files[:1]]


def is_baseline(result: Result) -> bool:
    return result.case is None or not result.case.fingerprint


def list_result_files(paths: Iterable[str]) -> list[str]:
    """Those among them that a gate reads."""
    return [path for path in paths if _RESULT_FILE.fullmatch(path)]


def error_codes(report: Report) -> list[str]:
    codes = (result.code for result in report.results if result.outcome == "error" and result.code)
    return list(dict.fromkeys(codes))


def lies_in(file: str, folders: Sequence[str]) -> bool:
    """Whether a file is found by who looks into these folders."""
    plain = (folder.removeprefix("./").rstrip("/") for folder in folders)
    return any(folder in ("", ".") or file.startswith(f"{folder}/") for folder in plain)


def _ids(ids: Sequence[str]) -> list[str]:
    """Too many ids are no help: then all is looked at."""
    return [word for id in ids for word in ("--id", id)] if len(ids) <= _MOST_NAMED else []
