"""`baselinekit doctor` and `baselinekit calibrate`: check files, and how well judges agree with people."""

import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module

import click

from baselinekit.cli import delivery, options as cli, screen
from baselinekit.cli.clients import asking
from baselinekit.cli.remotefiles import RemoteFiles
from baselinekit.clients import trust
from baselinekit.clients.programs.git import Git
from baselinekit.commands import gitsetup
from baselinekit.commands.doctor import (
    Findings,
    Orphan,
    Orphans,
    find_orphans,
    find_short_secrets,
    move_large_outputs,
)
from baselinekit.commands.history import Part, load_parts
from baselinekit.commands.project import Project
from baselinekit.errors import BaselinekitError, NothingSelected, Problem, first_of_each_file
from baselinekit.evals import selection
from baselinekit.evals.checks import examine_all
from baselinekit.evals.judges import Probed, calibrate as measure, judges_of, judges_to_probe, probe
from baselinekit.model.recipes import Model
from baselinekit.model.values import Json
from baselinekit.report.blocks import Cell, table
from baselinekit.report.next_commands import explain_commands
from baselinekit.report.sections import describe_agreement
from baselinekit.sandbox.sandbox import Sandbox
from baselinekit.store.atomic import remove
from baselinekit.structs import asdict, replace
from baselinekit.suites.loading import has_folder
from baselinekit.suites.ratings import measured_file
from baselinekit.suites.targets import describe_targets
from baselinekit.values.texts import Mask, count_noun, mask_and_clip

# `baselinekit doctor`.


_OF_THE_WHOLE = ("results", "prune", "fail_on_unused")
_LONGEST_REASON = 200
_MOST_CODES = 3
_FULL_GRANT = "a file can run any code, through the arguments it passes or the files beside it"
_FROM_A_PULL_REQUEST = "as a pull request may have changed it"


@dataclass
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

    paths: tuple[str, ...] = cli.argument(nargs=-1, type=click.Path())
    fix: bool = cli.flag(help="First move large outputs out of their files into files beside them.")
    results: tuple[str, ...] = cli.several("--from", "RESULTS", help="Also list what those runs never ran.")
    prune: bool = cli.flag(help="Remove the files that nothing needs, after a question.")
    yes: bool = cli.flag("-y", "--yes", needs="prune", help="With --prune: do not ask.")
    fail_on_unused: bool = cli.flag(help="Exit code 1 if nothing needs a file.")
    ci: bool = cli.flag(help="Also print what a run may do, and who allows it.")
    probe_judges: bool = cli.flag(
        excludes=(*_OF_THE_WHOLE, "fix", "ci"), help="Test each judge on texts whose verdict is known."
    )
    as_json: bool = cli.flag("--json", help="Print the findings as JSON.")
    project: cli.ProjectOptions = cli.project_options()


@cli.command(DoctorOptions)
def doctor(options: DoctorOptions) -> int:
    project = cli.project_of(options.project)
    if options.probe_judges:
        return probe_judges(project, options)
    if options.paths:
        cli.refuse_without_effect("the check of some paths", *_OF_THE_WHOLE)
    parts = load_parts(options.results, os.getcwd())
    unused = _prune(project, parts, options) if options.prune else None
    moved, left_notes = move_large_outputs(project, options.paths) if options.fix else ([], [])
    with asking(project, cli.RecordingOptions()) as context:
        clients = context.clients
        sandbox = Sandbox(clients.execute, project.trust.allow_exec)
        findings = examine_all(project, options.paths, clients, sandbox.check)
        if unused is None and not options.paths:
            # of files that cannot be read, the findings already report why
            with suppress(*((BaselinekitError,) if findings.problems else ())):
                unused = find_orphans(project, clients, parts)
        # in CI every clone is new and merges nothing: a missing merge driver does not matter
        git = Git(clients.execute, project.root)
        missing = None if trust.in_ci(os.environ) else gitsetup.missing_driver(git)
    other_notes = [note for note in findings.notes if not (options.fix and note.code == "BK116")]
    notes = (*left_notes, *other_notes, *find_short_secrets(project), *([missing] if missing else ()))
    findings = replace(findings, notes=notes)
    if options.as_json:
        allowed = {"allowed": all_permissions(project)} if options.ci else {}
        fixed = {"moved": [asdict(output) for output in moved]} if options.fix else {}
        screen.show_document(_document(findings, unused) | fixed | allowed)
    else:
        for output in moved:
            line = f"moved the output of {output.id} out of {output.file} into {output.output_file}"
            screen.say(f"{line} ({output.size:,} bytes)")
        _print(findings, unused, project, options)
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
    with asking(project) as context:
        unused = find_orphans(project, context.clients, parts)
    removable = [orphan for orphan in unused.found if orphan.alone]
    if removable and not options.yes:
        files = count_noun(len(removable), "file")
        screen.say(*map(_describe_unused, removable), err=options.as_json)
        if not (sys.stdin is not None and sys.stdin.isatty()):
            raise cli.misuse(f"--prune would remove {files}, and there is no terminal to ask in", "add --yes")
        click.confirm(f"Remove {files}?", abort=True, err=True)
    for orphan in removable:
        remove(project.root, orphan.file)
        screen.say(f"removed {orphan.file}", err=options.as_json)
    return replace(unused, found=tuple(orphan for orphan in unused.found if not orphan.alone))


def _describe_unused(orphan: Orphan) -> str:
    return f"{_UNUSED[orphan.kind]}: {orphan.id}   {orphan.file}   {orphan.why}"


def _has_nothing(findings: Findings) -> bool:
    evals = findings.cases + findings.gates + findings.prompts
    return not (findings.checked or findings.drafts or evals or findings.problems or findings.shape)


def _document(findings: Findings, unused: Orphans | None) -> dict[str, Json]:
    document: dict[str, Json] = {
        "checked": findings.checked,
        "cases": findings.cases,
        "gates": findings.gates,
        "prompts": findings.prompts,
        "drafts": findings.drafts,
        "problem_count": len(findings.problems),
        "problems": [*map(screen.problem_document, findings.problems)],
        "shape": [*map(screen.problem_document, findings.shape)],
        "notes": [*map(screen.problem_document, findings.notes)],
    }
    if unused is not None:
        document["unused"] = [
            {"kind": one.kind, "id": one.id, "file": one.file, "why": one.why, "removable": one.alone}
            for one in unused.found
        ]
        document["unused_notes"] = list(unused.notes)
    return document


def _print(findings: Findings, unused: Orphans | None, project: Project, options: DoctorOptions) -> None:
    problems = (*findings.problems, *findings.shape)
    screen.say(*first_of_each_file(problems))
    screen.say(*(f"note: {note}" for note in first_of_each_file(findings.notes, "note")))
    screen.say(*(all_permissions(project) if options.ci else ()))
    if problems:
        screen.line(count_noun(len(problems), "problem"))
        codes = sorted({problem.code for problem in problems})
        screen.next_commands(explain_commands(codes[:_MOST_CODES]))
    elif not _has_nothing(findings):
        counts = {"baseline": findings.checked, "eval case": findings.cases}
        counts |= {"gate": findings.gates, "prompt": findings.prompts}
        counted = ", ".join(count_noun(number, noun) for noun, number in counts.items() if number)
        verb = "is" if sum(counts.values()) == 1 else "are"
        drafts = f", {findings.drafts} without an output yet" if findings.drafts else ""
        screen.line(f"{counted} {verb} in order{drafts}")
    elif project.config_file and not options.paths:
        screen.say(f"{project.config_file} is in order; there is no baseline and no eval yet")
    # a baseline that is gone is a problem already
    others = [one for one in unused.found if one.kind != "baseline"] if unused else []
    screen.say(*map(_describe_unused, others))
    screen.say(*(f"note: {text}" for text in (unused.notes if unused else ())))
    if any(orphan.alone for orphan in others):
        screen.next_commands(["baselinekit doctor --prune"])


def all_permissions(project: Project) -> list[str]:
    """Describe what a run may do, and who permits it."""
    by_config = project.config_file or "no configuration"
    by_config += f" as of {project.operator.config_from}" if project.operator.config_from else ""
    allowed, limits, commands = project.trust, project.ceilings, sorted(project.commands.items())
    origins, hosts = allowed.named_origins, allowed.allow_hosts
    named_hosts = {*map(trust.host_of, origins | allowed.configured_origins), *(hosts or ())}
    models, skills = dict(sorted(project.models.items())), project.config.skills
    argv = {name: skill.command for name, skill in skills.items() if skill.command}
    argv |= {name: command.argv for name, command in commands}
    model_argv = {f"model {name}": model.command for name, model in models.items() if model.command}
    shadowed = [name for name, words in model_argv.items() if trust.imports_from_its_folder(words)]
    full = ", ".join([*trust.unrestricted_programs(argv), *shadowed])
    root = os.path.realpath(project.root)

    def is_of_checkout(word: str) -> bool:  # paths start at the root
        path = os.path.realpath(os.path.join(root, word))
        return os.path.isfile(path) and os.path.commonpath([root, path]) == root

    parts = trust.programs_from_checkout({**argv, **model_argv}, is_of_checkout)
    parts |= {name: [skill.python] for name, skill in skills.items() if skill.python}
    parts |= {f"model {name}": [model.python] for name, model in models.items() if model.python}
    checkout_files = "; ".join(f"{name}: {', '.join(files)}" for name, files in sorted(parts.items()))
    settable = "; ".join(f"{name}: {', '.join(command.env)}" for name, command in commands if command.env)

    def listed(names: Iterable[str], otherwise: str = "none") -> str:
        return ", ".join(sorted(names)) or otherwise

    module = "baselinekit.eva.scripts"
    scripts = import_module(module).describe_scripts(project) if has_folder("eva") else ()
    own = f"commands named in {by_config}: {listed(project.config.commands)}"
    return [
        f"requests go to {'any origin (no allow_hosts is set)' if hosts is None else ', '.join(hosts)}",
        "in CI, private networks and cloud metadata only where named here (metadata by address): "
        + listed(named_hosts),
        f"a file may set: timeout {limits.timeout} s, max_body {limits.max_body:,}, "
        f"retries {limits.retries}, redirects {limits.redirects}{'' if limits.verify else ', verify: false'}",
        f"secrets ({listed(project.scope.secrets)}) go to {listed(origins, 'no origin')}",
        f"{own}; {'any program (--allow-exec)' if allowed.allow_exec else 'no other program'}",
        *([f"full grants: with {full} {_FULL_GRANT}"] if full else []),
        *([f"code of the checkout, {_FROM_A_PULL_REQUEST}: {checkout_files}"] if checkout_files else []),
        f"variables that files may set: {settable or 'none'}",
        f"skills named in {by_config}: {listed(skills)}",
        f"models named in {by_config}: {'; '.join(map(describe_model, models.items())) or 'none'}",
        f"files are read below {project.root}",
        f"files of public git repositories, without a password: {', '.join(RemoteFiles(project).hosts)}",
        *describe_targets(project.targets, project.config_file or ""),
        *scripts,
    ]


def describe_model(entry: tuple[str, Model]) -> str:
    """Describe where questions to a model go, and with which secret and variables."""
    name, model = entry
    form = "openai" if model.openai else "anthropic" if model.anthropic else model.llm or model.form
    place = model.base_url or shlex.join(model.command or ()) or model.python or model.folder or form
    given = ", ".join([*([f"the secret {model.key}"] if model.key else []), *model.env])
    return f"{name} at {place}" + (f" with {given}" if given else "")


def probe_judges(project: Project, options: DoctorOptions) -> int:
    """Probe the judges; 3 if a text fooled one, or one could not tell a wrong answer from a right one."""
    judges = judges_to_probe(project, options.paths)
    with asking(project, cli.RecordingOptions()) as context:
        models = context.clients.models
        for judge in judges:
            models.check(judge.model)
        probes = probe(judges, models.ask)
    if options.as_json:
        screen.show_document([asdict(result) | {"holds": result.holds} for result in probes])
    else:
        print_probes(probes, [judge.name for judge in judges], project.redactor.mask)
    return 0 if all(result.holds for result in probes) else 3


def print_probes(probes: Sequence[Probed], judges: Sequence[str], mask: Mask) -> None:
    for judge in judges:
        results = [result for result in probes if result.judge == judge]
        right = sum(result.holds for result in results)
        screen.say(f"{judge}: {right} of {len(results)} probes judged correctly")
        rows = []
        for result in results:
            outcome = "unreadable" if result.grade.code == "BK640" else result.grade.outcome
            reason = "" if result.holds else mask_and_clip(result.grade.reason, _LONGEST_REASON, mask)
            word = Cell("ok", "passed") if result.holds else Cell("FAIL", "failed")
            rows.append((word, result.probe, f"wanted {result.wanted}", f"got {outcome}", reason))
        heads = ("", "probe", "wanted", "got", "reason")
        screen.show(delivery.format_blocks([table(heads, rows)], screen.style_of(verbose=True)))
        if right < len(results):
            screen.say(f"  do not trust {judge}: use a stronger model")


# `baselinekit calibrate`.


@dataclass
class CalibrateOptions:
    """Ask each judge that has a calibration file about the outputs in it, which people have judged.

    The result is written beside the file, as x.measured.json, and every run shows it from then on.
    """

    paths: tuple[str, ...] = cli.argument(nargs=-1, type=click.Path())
    suite: str | None = cli.option("FILE", help="This suite; default: PATHS, or the suite in evals/.")
    as_json: bool = cli.flag("--json", help="Print what was measured as JSON.")
    recording: cli.RecordingOptions = cli.including(cli.RecordingOptions)
    project: cli.ProjectOptions = cli.project_options(cli.ASKING)


@cli.command(CalibrateOptions)
def calibrate(options: CalibrateOptions) -> int:
    project = cli.project_of(options.project)
    judges = judges_of(project.root, selection.load(project, options.paths, options.suite).cases)
    with asking(project, options.recording) as context:
        measured = measure(project.root, judges, context.clients.models.ask)
    if options.as_json:
        rows = [{"file": one.file, **asdict(found), "accuracy": found.accuracy} for one, found in measured]
        screen.show_document(rows)
        return 0
    for judge, agreement in measured:
        screen.say(f"{agreement.model}: {describe_agreement(agreement)}")
        screen.say(f"  kept: {measured_file(judge.file)}")
    return 0
