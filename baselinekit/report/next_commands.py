"""The commands to type next, the most useful first, for every form of report and every command.

They depend on the kind of result: a baseline is compared, and reviewed by its id; a regression record among
evals is run, and reviewed by its file; what a case without a baseline expects, only people can say."""

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence

from baselinekit.escape import one_line
from baselinekit.kinds.table import KINDS
from baselinekit.lazy import lazy_pattern
from baselinekit.model import results
from baselinekit.model.baselines import is_settled_by_refresh
from baselinekit.model.evals import GateResult
from baselinekit.model.results import UNDECIDED, Report, Result, Typed
from baselinekit.structs import replace

NOTHING = Typed()

Place = Callable[[str], str]
"""Returns the path of a project file from where the command will be typed."""

_MOST_COMMANDS = 2
_MOST_NAMED = 3
_MOST_FILES = 20
_RESULT_FILE = lazy_pattern(r"(.*/)?[^/.]*\.json", re.DOTALL)
_WAITING = ("pending", "disputed")
"""Verdicts that only people can settle."""


def command_line(*words: str) -> str:
    """Return a command that is quoted for a shell and safe to show in a terminal or a page."""
    return one_line(shlex.join(["baselinekit", *words]))


def typed_of(report: Report) -> Typed:
    """Return what was typed for a run, for the commands that follow it."""
    return replace(report.typed, narrowed=report.typed.narrowed or report.shard is not None)


def rule_commands(rules: Mapping[str, Sequence[Sequence[str]]], operator: Sequence[str]) -> list[str]:
    """Return the command for each baseline, by its id, that states rules about what varies without a
    placeholder: each an option and its value."""
    words = {id: [word for option in options for word in option] for id, options in rules.items() if options}
    commands = [command_line("refresh", id, *options, *operator) for id, options in words.items()]
    return commands[:_MOST_COMMANDS]


def explain_commands(codes: Iterable[str]) -> list[str]:
    return [command_line("explain", code) for code in codes]


def select_renewable(results: Sequence[Result]) -> list[Result]:
    """Return the results that failed with an output that could be accepted."""
    return [
        result
        for result in results
        if result.outcome == "failed"
        and result.verdict not in UNDECIDED
        and not (
            result.differences and not any(is_settled_by_refresh(spot.rule) for spot in result.differences)
        )
        and (result.case is None or (result.case.eval_type == "regression" and bool(result.differences)))
    ]


def review_command(results: Sequence[Result], typed: Typed = NOTHING) -> str:
    """Return the command that shows the new outputs, and accepts them one by one. It reads the result file if
    there is one, since readers elsewhere have no kept answers."""
    targets = list(dict.fromkeys(result.id if result.case is None else result.file for result in results))
    compared = all(result.case is None for result in results)
    words = ["review", *(_answers_from(typed) if compared else ())]
    if not compared:
        words += targets[:_MOST_FILES]
    elif len(targets) <= (_MOST_FILES if typed.narrowed else _MOST_NAMED):
        words += [*typed.paths, *_id_options(targets, _MOST_FILES)] if typed.paths else targets
    elif typed.paths or typed.selection:
        words += [*typed.paths, *typed.selection]
    return command_line(*words, *typed.operator)


def _answers_from(typed: Typed) -> tuple[str, ...]:
    """Return the options that say where a refresh gets the new outputs: from a result file, or by asking
    again if they could not be kept."""
    if typed.results:
        return tuple(word for file in typed.results for word in ("--from", file))
    return ("--replay", *typed.asking) if typed.unkept else ()


def show_commands(
    results: Sequence[Result], paths: Sequence[str] | None = None, place: Place = str, typed: Typed = NOTHING
) -> list[str]:
    """Return the commands that show the failures in detail. `paths`: the paths given to the command of these
    results; None in a report, whose readers do not know them, so it names the files."""
    compared_ids = [result.id for result in results if result.case is None]
    cases = [result for result in results if result.case is not None]
    options = ("-v", *typed.asking, *typed.operator)
    commands = []
    if compared_ids:
        scope = typed.paths if paths is None else paths
        selection = _id_options(compared_ids) or typed.selection
        commands.append(command_line("compare", *scope, *selection, *options))
    if cases:
        files = list(dict.fromkeys(place(result.file) for result in cases))
        run_paths = (files if len(files) <= _MOST_NAMED else ()) if paths is None else paths
        ids = [result.id for result in cases]
        commands.append(command_line("run", *run_paths, *_id_options(ids), *options))
    return commands


def check_commands(
    written: Sequence[tuple[str, str]],
    baselines: Sequence[str],
    evals: Sequence[str],
    options: Sequence[str] = (),
    place: Place = str,
) -> list[str]:
    """Return the commands that check whether what was just written passes, by its ids and files. `baselines`
    and `evals`: the folders that `compare` and `run` search by default; files outside of both are named."""
    ids: dict[str, list[str]] = {"compare": [], "run": []}
    files = []
    for id, file in written:
        if lies_in(file, baselines) or lies_in(file, evals):
            ids["compare" if lies_in(file, baselines) else "run"].append(id)
        elif place(file) not in files:
            files.append(place(file))
    commands = [command_line("compare", *_id_options(ids["compare"]), *options)] if ids["compare"] else []
    if files:
        commands.append(command_line("compare", *files[:_MOST_FILES], *options))
    return commands + ([command_line("run", *_id_options(ids["run"]))] if ids["run"] else [])


def after_compare(
    report: Report, paths: Sequence[str] = (), folders: Sequence[str] = ("",), verbose: bool = False
) -> list[str]:
    """Return the commands after a compare: the values to learn, where accepting would not help for long; the
    failures in detail, unless `verbose` has shown them; and the review of what came. `paths`: the paths given
    to it, which are repeated if a failure is outside of the folders that compare searches by default."""
    failed = [result for result in report.results if result.outcome == "failed"]
    typed, commands = typed_of(report), []
    options = (*typed.asking, *typed.operator)
    has_stopped = report.interrupted and any(result.verdict == "limit" for result in report.results)
    if has_stopped and not typed.results:  # goes on with what it did not come to, and what did not pass
        commands.append(command_line("compare", *paths, *typed.selection, "--lf", *options))
    paths = () if all(lies_in(result.file, folders) for result in failed) else tuple(paths)
    volatile = [one.id for one in failed if one.verdict in (results.VOLATILE, results.PARTLY_VOLATILE)]
    volatile = [] if typed.results else volatile
    if volatile:  # what differs is learnt, not approved
        targets = paths or (volatile if len(volatile) <= _MOST_NAMED else ["--all-failed"])
        commands.append(command_line("refresh", *targets, "--learn", *options))
    changed = select_renewable([one for one in failed if not volatile or one.verdict != results.VOLATILE])
    if failed and not verbose and not (volatile and changed):
        is_known = len(failed) > 1 and not typed.results and not typed.unkept  # what failed, where it ran
        shown = command_line("compare", *paths, "--lf", "-v", *options)
        commands += [shown] if is_known else show_commands(failed, paths, typed=typed)[:1]
    if changed:
        is_named = len(failed) == 1 or (typed.unkept and len(failed) <= _MOST_FILES)
        targets = paths or ([result.id for result in failed] if is_named else ())
        commands.append(command_line("review", *_answers_from(typed), *targets, *typed.operator))
    commands += explain_commands(_error_codes(report))
    return (commands or _programs_that_compare(report))[:_MOST_COMMANDS]


def _programs_that_compare(report: Report) -> list[str]:
    """Return, for a run in which nothing was compared, the programs that compare their own values."""
    targets: dict[str, dict[str, None]] = {}
    for result in report.results if not report.summary.passed else ():
        kind = KINDS.get(result.kind)
        if kind is not None and (program := kind.brought_by):
            targets.setdefault(program, {})[result.target.removeprefix(f"{program} ")] = None
    return [
        one_line(shlex.join([program, *(names if len(names) <= _MOST_NAMED else ())]))
        for program, names in targets.items()
    ]


def after_run(
    report: Report,
    words: Sequence[str],
    targets: Sequence[str],
    verbose: bool,
    files: Sequence[str],
    kept_files: Sequence[str],
    place: Place,
) -> list[str]:
    """Return the commands after a run. `words`: what was typed; `targets`: the paths or the suite among it;
    `files`: the reports that were asked for; `kept_files`: those that the suite keeps."""
    failed = [result for result in report.results if result.outcome == "failed"]
    commands = []
    if not report.complete:
        command = [word for word in words if word not in ("--resume", "-x", "--exitfirst")]
        commands.append(command_line(*command, "--resume"))
    if failed and not verbose:
        commands += show_commands(failed[:1], targets, typed=typed_of(report))
    is_own_target = not any(word == "--target" or word.startswith("--target=") for word in words)
    if is_own_target and (renewable := select_renewable(failed)):
        commands.append(command_line("review", place(renewable[0].file), *typed_of(report).operator))
    if any(result.verdict in _WAITING for result in report.results):
        commands += _grade_commands([path for path in (*files, *kept_files) if _RESULT_FILE.fullmatch(path)])
    commands += explain_commands(_error_codes(report))
    return commands[:_MOST_COMMANDS]


def after_gate(
    judged: Sequence[GateResult], words: Sequence[str], has_run: bool, files: Sequence[str], place: Place
) -> list[str]:
    """Return the commands that resume an interrupted gate, and those that show why a gate is not met.
    `words`: what was typed; `files`: the result files that were judged."""
    commands = []
    if has_run and not all(gate.report.complete for gate in judged):
        commands.append(command_line(*(word for word in words if word != "--resume"), "--resume"))
    for gate in judged:
        failing = [result for result in gate.report.results if result.outcome in ("failed", "error")]
        if gate.state != "met" and failing:
            first = failing[0]
            if first.case is not None and not first.case.fingerprint:  # a baseline is a case for a gate only
                first = replace(first, case=None)
            commands += show_commands([first], [place(gate.gate.suite)] if gate.gate.suite else None, place)
    if any(result.verdict in _WAITING for gate in judged for result in gate.report.results):
        commands += _grade_commands(files)
    return list(dict.fromkeys(commands))[:_MOST_COMMANDS]


def _grade_commands(files: Sequence[str]) -> list[str]:
    return ["baselinekit grade", *(command_line("grade", "--finish", file) for file in files[:1])]


def _error_codes(report: Report) -> list[str]:
    codes = (result.code for result in report.results if result.outcome == "error" and result.code)
    return list(dict.fromkeys(codes))


def lies_in(file: str, folders: Sequence[str]) -> bool:
    """Whether a file is in one of these folders."""
    prefixes = (folder.removeprefix("./").rstrip("/") for folder in folders)
    return any(folder in ("", ".") or file.startswith(f"{folder}/") for folder in prefixes)


def _id_options(ids: Sequence[str], most: int = _MOST_NAMED) -> list[str]:
    """Return `--id` options; none if there are too many to be useful: then everything is selected."""
    return [word for id in ids for word in ("--id", id)] if len(ids) <= most else []
