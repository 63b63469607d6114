"""`baselinekit doctor` and `baselinekit calibrate`: check files, and how well judges agree with people."""

import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import click

from baselinekit.cli import delivery, screen
from baselinekit.cli.clients import real_context, with_models
from baselinekit.cli.options import (
    ASKING,
    ProjectOptions,
    RecordingOptions,
    argument,
    command,
    flag,
    including,
    option,
    project_of,
    project_options,
    refuse_without_effect,
    several,
)
from baselinekit.cli.remotefiles import RemoteFiles
from baselinekit.clients.programs.git import Git
from baselinekit.clients.trust import (
    host_of,
    imports_from_its_folder,
    in_ci,
    programs_from_checkout,
    unrestricted_programs,
)
from baselinekit.commands import gitsetup
from baselinekit.commands.doctor import Findings, find_short_secrets, move_large_outputs
from baselinekit.commands.history import Part, load_parts
from baselinekit.commands.loading import load
from baselinekit.commands.orphans import Orphan, Orphans, find_orphans
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, InvalidInput, NothingSelected, Problem, first_of_each_file
from baselinekit.evals import selection
from baselinekit.evals.checks import examine_all
from baselinekit.evals.judgeprograms import describe_judges
from baselinekit.evals.judges import Probed, calibrate as measure, judges_of, judges_to_probe, probe
from baselinekit.evals.scripts import describe_scripts
from baselinekit.evals.selection import folders
from baselinekit.model.recipes import Model
from baselinekit.model.values import Json
from baselinekit.report.next_commands import explain_commands
from baselinekit.report.sections import describe_agreement
from baselinekit.sandbox.sandbox import Sandbox
from baselinekit.store.atomic import remove
from baselinekit.structs import asdict, replace
from baselinekit.suites.loading import load_partly
from baselinekit.suites.promptfolders import eval_files
from baselinekit.suites.ratings import measured_file
from baselinekit.suites.targets import describe_targets
from baselinekit.values.texts import Mask, count_noun, mask_and_clip

# `baselinekit doctor`.


_REFUSALS = {"BK340", *(f"BK40{number}" for number in range(1, 9))}
"""Codes of refusals that an option on the command line can lift."""

_PUBLIC_URLS = {"openai": "https://api.openai.com", "anthropic": "https://api.anthropic.com"}
_LONGEST_REASON = 200
_MOST_CODES = 3
_FULL_GRANT = "a file can run any code, through the arguments it passes or the files beside it"
_FROM_A_PULL_REQUEST = "as a pull request may have changed it"


@dataclass(eq=False, repr=False)
class DoctorOptions:
    """Check the configuration, and every baseline, eval case, suite, gate and prompt folder below PATHS
    (default: all of the project), without sending a request.

    Of the whole project it also lists what nothing needs: baselines whose prompt, input file, skill,
    command or model no longer exists, and output and pending files that belong to no baseline; with --from
    also baselines that complete runs never ran (the files of all shards count as one run). Nothing is
    removed without --prune, and never a baseline that shares its file with others, or is never run.

    \b
    Exit code: 0 the files are in order, 2 something in them would stop a
    compare or a run, 1 only the shape of a prompt folder is wrong, or with
    --fail-on-unused something is not needed, 3 a judge failed a probe. A
    missing permission or value is only a note, because the operator can
    supply it. 5 there is nothing to check.
    """

    paths: tuple[str, ...] = argument(nargs=-1, type=click.Path())
    fix: bool = flag(help="First move large outputs out of their files into files beside them.")
    results: tuple[str, ...] = several(
        "--from", metavar="RESULTS", help="Result files: also list the baselines that they never run."
    )
    prune: bool = flag(help="Remove the files that nothing needs, after a question.")
    yes: bool = flag("-y", "--yes", help="With --prune: do not ask.")
    fail_on_unused: bool = flag(help="Exit code 1 if nothing needs a file.")
    ci: bool = flag(help="Also print what a run may do, and who allows it.")
    probe_judges: bool = flag(help="Test each judge on texts whose verdict is known.")
    as_json: bool = flag("--json", help="Print the findings as JSON.")
    project: ProjectOptions = project_options()


@command(DoctorOptions)
def doctor(options: DoctorOptions) -> int:
    project = project_of(options.project)
    of_the_whole = ("results", "prune", "yes", "fail_on_unused")
    if options.probe_judges:
        refuse_without_effect("a probe of judges", *of_the_whole)
        return probe_judges(project, options)
    if options.paths:
        refuse_without_effect("the check of some paths", *of_the_whole)
    if not options.prune:
        refuse_without_effect("doctor without --prune", "yes")
    parts = load_parts(options.results, os.getcwd())
    unused = _prune(project, parts, options) if options.prune else None
    moved, left_notes = move_large_outputs(project, options.paths) if options.fix else ([], [])
    with real_context() as context:
        clients = with_models(context, project, RecordingOptions()).clients
        sandbox = Sandbox(clients.execute, project.trust.allow_exec)
        try:
            findings = examine_all(project, options.paths, clients, sandbox.check)
        except InvalidInput as error:
            raise InvalidInput(*(_without_ids(problem, project) for problem in error.problems)) from None
        # in CI nobody merges and every clone is new: a missing merge driver does not matter
        git = Git(clients.execute, project.root)
        if unused is None and not options.paths:
            # of files that cannot be read, the findings already report why
            with suppress(*((BaselinekitError,) if findings.problems else ())):
                unused = find_orphans(project, clients, parts)
        missing = None if in_ci(os.environ) else gitsetup.missing_driver(git)
    other_notes = [note for note in findings.notes if not (options.fix and note.code == "BK116")]
    notes = (*left_notes, *other_notes, *find_short_secrets(project), *([missing] if missing else ()))
    findings = replace(findings, notes=notes)
    if options.as_json:
        allowed = {"allowed": all_permissions(project)} if options.ci else {}
        fixed = {"moved": [asdict(output) for output in moved]} if options.fix else {}
        screen.show_document(_document(findings) | _unused_document(unused) | fixed | allowed)
    else:
        for output in moved:
            line = f"moved the output of {output.id} out of {output.file} into {output.output_file}"
            screen.line(f"{screen.safe_line(line)} ({output.size:,} bytes)")
        _print(findings, project, options)
        _print_unused(unused, options)
    delivery.annotate_problems((*findings.problems, *findings.shape), project.root)
    if _has_nothing(findings) and (options.paths or not project.config_file):
        where = "there" if options.paths else "here, and no configuration"
        message = f"nothing was checked: there is no baseline and no eval {where}"
        begin = "begin with baselinekit init, or capture one: baselinekit capture http GET URL"
        raise NothingSelected(Problem("BK509", message, "name other paths" if options.paths else begin))
    if findings.problems:
        return 2
    return int(bool(findings.shape or (options.fail_on_unused and unused and unused.found)))


_UNUSED = {
    "baseline": "source gone",
    "output": "output file without a baseline",
    "pending": "pending without a baseline",
    "unrun": "never run",
}


def _prune(project: Project, parts: Sequence[Part], options: DoctorOptions) -> Orphans:
    """Remove what nothing needs, and print each file: those that git tracks can be restored, others cannot.
    What is left is returned."""
    with real_context() as context:
        unused = find_orphans(project, with_models(context, project).clients, parts)
    removable = [orphan for orphan in unused.found if orphan.alone]
    if removable and not options.yes:
        files = count_noun(len(removable), "file")
        for orphan in removable:
            screen.line(_describe_unused(orphan), err=options.as_json)
        if not (sys.stdin is not None and sys.stdin.isatty()):
            message = f"--prune would remove {files}, and there is no terminal to ask in"
            raise InvalidInput(Problem("BK508", message, "add --yes"))
        click.confirm(f"Remove {files}?", abort=True, err=True)
    for orphan in removable:
        remove(project.root, orphan.file)
        screen.line(f"removed {screen.safe_line(orphan.file)}", err=options.as_json)
    return replace(unused, found=tuple(orphan for orphan in unused.found if not orphan.alone))


def _describe_unused(orphan: Orphan) -> str:
    return screen.safe_line(f"{_UNUSED[orphan.kind]}: {orphan.id}   {orphan.file}   {orphan.why}")


def _print_unused(unused: Orphans | None, options: DoctorOptions) -> None:
    if unused is None:
        return
    others = [orphan for orphan in unused.found if orphan.kind != "baseline"]  # those are problems already
    for orphan in others:
        screen.line(_describe_unused(orphan))
    for note in unused.notes:
        screen.line(f"note: {screen.safe_line(note)}")
    if any(orphan.alone for orphan in others):
        screen.next_commands(["baselinekit doctor --prune"])


def _unused_document(unused: Orphans | None) -> dict[str, Json]:
    if unused is None:
        return {}
    found: list[Json] = [
        {
            "kind": orphan.kind,
            "id": orphan.id,
            "file": orphan.file,
            "why": orphan.why,
            "removable": orphan.alone,
        }
        for orphan in unused.found
    ]
    return {"unused": found, "unused_notes": list(unused.notes)}


def _has_nothing(findings: Findings) -> bool:
    evals = findings.cases + findings.gates + findings.prompts
    return not (findings.checked or findings.drafts or evals or findings.problems or findings.shape)


def _without_ids(problem: Problem, project: Project) -> Problem:
    """The problem with a hint that holds here: a path that is missing may be meant as an id, which other
    commands select by an option."""
    meant = re.search(r"--id (.+)\)$", problem.hint)
    if problem.code != "BK111" or meant is None:
        return problem
    try:
        files = [baseline.source.file for baseline in load(project, ()) if baseline.id == meant[1]]
    except BaselinekitError:  # some file is wrong, which a plain call reports
        files = []
    hint = f"the baseline of this id: {shlex.join(['baselinekit', 'doctor', *files])}"
    return replace(problem, hint=hint if files else "check the name")


def _print(findings: Findings, project: Project, options: DoctorOptions) -> None:
    problems = (*findings.problems, *findings.shape)
    for problem in first_of_each_file(problems):
        screen.line(screen.safe(str(problem)))
    for note in first_of_each_file(findings.notes, "note"):
        screen.line(f"note: {screen.safe(str(note))}")
    if options.ci:
        for line in all_permissions(project):
            screen.line(screen.safe_line(line))
    count = len(problems)
    if _has_nothing(findings):
        if project.config_file and not options.paths:
            line = f"{project.config_file} is in order; there is no baseline and no eval yet"
            screen.line(screen.safe_line(line))
        return
    if count:
        screen.line(count_noun(count, "problem"))
        codes = sorted({problem.code for problem in problems})
        screen.next_commands(explain_commands(codes[:_MOST_CODES]))
        return
    drafts = f", {findings.drafts} without an output yet" if findings.drafts else ""
    evals = {"eval case": findings.cases, "gate": findings.gates, "prompt": findings.prompts}
    counts = [count_noun(number, noun) for noun, number in evals.items() if number]
    if findings.checked or not counts:
        counts.insert(0, count_noun(findings.checked, "baseline"))
    verb = "is" if findings.checked + sum(evals.values()) == 1 else "are"
    summary = f"{', '.join(counts[:-1])}{' and ' if counts[1:] else ''}{counts[-1]}"
    screen.line(f"{summary} {verb} in order{drafts}")
    if refused := sorted({note.code for note in findings.notes} & _REFUSALS):
        screen.line(
            f"with the current permissions, a run of all of them is refused (exit 4): {', '.join(refused)}"
        )
        screen.next_commands(explain_commands(refused[:1]))


def all_permissions(project: Project) -> list[str]:
    return [
        *describe_permissions(project),
        *describe_targets(project.targets, project.config_file or ""),
        *describe_scripts(project),
        *_describe_judges(project),
    ]


def _describe_judges(project: Project) -> Iterator[str]:
    try:
        files = eval_files(folders(project), project.root)
        suite, _ = load_partly(files, project.root, project.fetch_file, project.targets)
    except BaselinekitError as error:
        yield f"judges were not looked for: {error.problems[0].message}"
    else:
        yield from describe_judges(project, suite.cases)


def describe_permissions(project: Project) -> list[str]:
    """Describe what a run may do, and who permits it."""
    by_config = project.config_file or "no configuration"
    by_config += f" as of {project.operator.config_from}" if project.operator.config_from else ""
    hosts = project.trust.allow_hosts
    destinations = "any origin (no allow_hosts is set)" if hosts is None else ", ".join(hosts)
    origins = project.trust.named_origins
    secrets = ", ".join(sorted(project.scope.secrets)) or "none"
    commands = ", ".join(sorted(project.config.commands)) or "none"
    skills = ", ".join(sorted(project.config.skills)) or "none"
    models = dict(sorted(project.models.items()))
    other_programs = "any program (--allow-exec)" if project.trust.allow_exec else "no other program"
    argv = {name: command.argv for name, command in project.commands.items()}
    skill_commands = {name: skill.command for name, skill in project.config.skills.items() if skill.command}
    model_commands = {f"model {name}": model.command for name, model in models.items() if model.command}
    shadowed = [name for name, words in model_commands.items() if imports_from_its_folder(words)]
    full = ", ".join([*unrestricted_programs({**skill_commands, **argv}), *shadowed])
    parts = programs_from_checkout(
        {**skill_commands, **argv, **model_commands}, lambda word: _is_of_checkout(project.root, word)
    )
    parts |= {name: [skill.python] for name, skill in project.config.skills.items() if skill.python}
    parts |= {f"model {name}": [model.python] for name, model in models.items() if model.python}
    checkout_files = "; ".join(f"{name}: {', '.join(files)}" for name, files in sorted(parts.items()))
    settable = "; ".join(
        f"{name}: {', '.join(c.env)}" for name, c in sorted(project.commands.items()) if c.env
    )
    named_hosts = {*map(host_of, origins | project.trust.configured_origins), *(hosts or ())}
    named = ", ".join(sorted(named_hosts)) or "none"
    limits = project.ceilings
    return [
        f"requests go to {destinations}",
        f"in CI, private networks and cloud metadata only where named here (metadata by address): {named}",
        f"a file may set: timeout {limits.timeout} s, max_body {limits.max_body:,}, "
        f"retries {limits.retries}, redirects {limits.redirects}{'' if limits.verify else ', verify: false'}",
        f"secrets ({secrets}) go to {', '.join(sorted(origins)) or 'no origin'}",
        f"commands named in {by_config}: {commands}; {other_programs}",
        *([f"full grants: with {full} {_FULL_GRANT}"] if full else []),
        *([f"code of the checkout, {_FROM_A_PULL_REQUEST}: {checkout_files}"] if checkout_files else []),
        f"variables that files may set: {settable or 'none'}",
        f"skills named in {by_config}: {skills}",
        f"models named in {by_config}: {'; '.join(map(describe_model, models.items())) or 'none'}",
        f"files are read below {project.root}",
        "files of public git repositories, without a password: "
        + ", ".join(RemoteFiles(project).hosts_allowed or ["none"]),
    ]


def _is_of_checkout(root: str, word: str) -> bool:
    """Whether a word of the configuration is a file of the project; paths start at the root."""
    root = os.path.realpath(root)
    path = os.path.realpath(os.path.join(root, word))
    return os.path.isfile(path) and os.path.commonpath([root, path]) == root


def describe_model(entry: tuple[str, Model]) -> str:
    """Describe where questions to a model go: to an address with a key, or to a program on this machine."""
    name, model = entry
    key = f" with the secret {model.key}" if model.key else ""
    if model.openai or model.anthropic:
        form = "openai" if model.openai else "anthropic"
        return f"{name} at {model.base_url or _PUBLIC_URLS[form]}{key}"
    if model.command or model.python:
        variables = f" with {', '.join(model.env)}" if model.env else ""
        return f"{name} runs {shlex.join(model.command) if model.command else model.python}{variables}"
    return f"{name} is {model.llm or model.form or model.folder}{key}"


def _document(findings: Findings) -> dict[str, Json]:
    numbers = {key: getattr(findings, key) for key in ("checked", "cases", "gates", "prompts", "drafts")}
    lists = {
        key: [*map(screen.problem_document, getattr(findings, key))] for key in ("problems", "shape", "notes")
    }
    return numbers | {"problem_count": len(findings.problems)} | lists


def probe_judges(project: Project, options: DoctorOptions) -> int:
    """Probe the judges; 3 if a text fooled one, or one could not tell a wrong answer from a right one."""
    judges = judges_to_probe(project, options.paths)
    with real_context() as context:
        models = with_models(context, project, RecordingOptions()).clients.models
        for judge in judges:
            models.check(judge.model)
        probes = probe(judges, models.ask)
    if options.as_json:
        grade_keys = ("outcome", "code", "reason")
        documents = [
            {"judge": result.judge, "probe": result.probe, "wanted": result.wanted}
            | {key: getattr(result.grade, key) for key in grade_keys}
            | {"holds": result.holds}
            for result in probes
        ]
        screen.show_document(documents)
    else:
        print_probes(probes, [judge.name for judge in judges], project.redactor.mask)
    return 0 if all(result.holds for result in probes) else 3


def print_probes(probes: Sequence[Probed], judges: Sequence[str], mask: Mask) -> None:
    widest = max(len(result.probe) for result in probes)
    for judge in judges:
        results = [result for result in probes if result.judge == judge]
        right = sum(result.holds for result in results)
        screen.line(screen.safe_line(f"{judge}: {right} of {len(results)} probes judged correctly"))
        for result in results:
            word = "ok  " if result.holds else "FAIL"
            outcome = "unreadable" if result.grade.code == "BK640" else result.grade.outcome
            line = f"  {word}  {result.probe:<{widest}}  wanted {result.wanted:<10}  got {outcome}"
            has_reason = result.grade.reason and not result.holds
            reason = f"  ({mask_and_clip(result.grade.reason, _LONGEST_REASON, mask)})" if has_reason else ""
            screen.line(screen.safe_line(line) + screen.safe_line(reason))
        if right < len(results):
            screen.line(screen.safe_line(f"  do not trust what {judge} says: use a stronger model"))


# `baselinekit calibrate`.


@dataclass(eq=False, repr=False)
class CalibrateOptions:
    """Ask each judge that has a calibration file about the outputs in it, which people have judged.

    The result is written beside the file, as x.measured.json, and every run shows it from then on.
    """

    paths: tuple[str, ...] = argument(nargs=-1, type=click.Path())
    suite: str | None = option(
        metavar="FILE", help="Use this suite; the default is PATHS, or the suite in evals/."
    )
    as_json: bool = flag("--json", help="Print what was measured as JSON.")
    recording: RecordingOptions = including(RecordingOptions)
    project: ProjectOptions = project_options(ASKING)


@command(CalibrateOptions)
def calibrate(options: CalibrateOptions) -> int:
    project = project_of(options.project)
    judges = judges_of(project.root, selection.load(project, options.paths, options.suite).cases)
    with real_context() as context:
        models = with_models(context, project, options.recording).clients.models
        measured = measure(project.root, judges, models.ask)
    if options.as_json:
        documents = [
            {"file": judge.file, **asdict(agreement), "accuracy": agreement.accuracy}
            for judge, agreement in measured
        ]
        screen.show_document(documents)
        return 0
    for judge, agreement in measured:
        screen.line(screen.safe_line(f"{agreement.model}: {describe_agreement(agreement)}"))
        screen.line(screen.safe_line(f"  kept: {measured_file(judge.file)}"))
    return 0
