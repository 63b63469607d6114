"""Everything that can be wrong with eval cases, reported before the first is run, or by `doctor` alone;
and the programs that judge them: who allows them, and how they are started.

A data file cannot start other programs: only a command of the configuration is run, possibly with further
words, or what --allow-exec allows."""

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from itertools import chain
from typing import Any

from baselinekit import errors
from baselinekit.clients.programs import children
from baselinekit.clients.trust import is_interpreted_script
from baselinekit.commands.doctor import ASKED_OF_OPERATOR, Findings, check_baselines
from baselinekit.commands.loading import locate_each_problem
from baselinekit.commands.programs import allowed_by
from baselinekit.commands.project import CaptureEnvironment, Project
from baselinekit.errors import BaselinekitError, InvalidInput, Place, Problem, Refused, cannot_replay
from baselinekit.evals.judges import facts_of
from baselinekit.evals.selection import folders, resolve_path_or_prompt
from baselinekit.graders import graders
from baselinekit.graders.base import JudgeProgram, keys_of, values_of
from baselinekit.graders.graders import Position
from baselinekit.kinds import dispatch as replaying
from baselinekit.kinds.dispatch import digest, granted_timeout
from baselinekit.kinds.files import inside, read_if_there
from baselinekit.kinds.settings import Clients, Setting, above
from baselinekit.kinds.skill import SkillExecution
from baselinekit.kinds.table import kind_of
from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.metrics import metric_name
from baselinekit.model.baselines import Baseline, Known, Source
from baselinekit.model.evals import Case, Suite
from baselinekit.model.grades import FunctionOutput, Grader
from baselinekit.model.recipes import Recipe, Seconds, Surroundings
from baselinekit.model.values import ABSENT, Path
from baselinekit.schema import move_to_name
from baselinekit.secrets.variables import as_text
from baselinekit.store.project import name_in_project, repository_of
from baselinekit.store.reading import discover_files, holds_baselines, is_foreign_json, passed_over_notes
from baselinekit.structs import Struct, field, replace
from baselinekit.suites.loading import forms_in, is_foreign, load_everything
from baselinekit.suites.promptfolders import eval_files, folders_below, holds_cases, is_below
from baselinekit.suites.settings import named_text
from baselinekit.suites.suite import load_gates
from baselinekit.values.texts import count_noun

# The programs that judge: who allows them, and how they are started.


class ReadyJudge(Struct):
    """A program that may be run. `content`: 16 hex digits of the hash of its files in the project; `passed`:
    the variables of the operator that the configuration lists for it."""

    argv: tuple[str, ...]
    cwd: str
    content: str = ""
    passed: tuple[str, ...] = ()


def words_of(command: str | Sequence[str]) -> list[str] | None:
    """Split a command into words; None for a text that only a shell can read."""
    if not isinstance(command, str):
        return [*command]
    with suppress(ValueError):  # a quote that does not end
        return None if children.needs_shell(command) else shlex.split(command)
    return None


class StatedProgram(Struct):
    """A program as a data file states it. `words` is None if it needs a shell. `files`: those of its words
    that are files of the project, with their absolute paths."""

    command: str | tuple[str, ...]
    words: list[str] | None
    cwd: str
    files: Mapping[str, str]
    surroundings: Surroundings

    def from_root(self, word: str) -> str:
        """Return a word. A file is given by its path from the root of its repository."""
        if word not in self.files:
            return word
        return f"./{os.path.relpath(self.files[word], os.path.realpath(self.surroundings.root))}"


def ready_program(project: Project, case: Case, judge: JudgeProgram) -> ReadyJudge:
    """Make a program ready to run; Refused if it is not allowed."""
    program = stated_program(project, case, judge)
    match = entry_that_allows(project, program)
    if match is not None:
        name, further_words = match
        command = project.commands[name]
        hint = f"correct `commands: {name}:` in baselinekit.yaml, or install it"
        argv = (*children.configured_argv(command.argv, project.root, hint), *further_words)
        return ReadyJudge(argv, program.cwd, _content_digest(program), tuple(command.env))
    if not project.trust.allow_exec:
        text = " ".join(judge.text.split())
        message = f"the judge's program `{text}` is not named in {project.trust.configuration}"
        raise Refused(Problem("BK403", message, _permission_hint(program)))
    if program.words is None:
        argv = (children.SHELL, "-c", judge.text)
    else:
        word, *further = program.words
        argv = (children.program_at(word, program.cwd, "install it, or correct its name"), *further)
    return ReadyJudge(argv, program.cwd, _content_digest(program))


def stated_program(project: Project, case: Case, judge: JudgeProgram) -> StatedProgram:
    """Read a program as a case states it: its words, its folder, and the words that are files."""
    folder = os.path.dirname(os.path.join(project.root, case.source.file))
    surroundings = Surroundings(root=repository_of(project.root, case.source.file), folder=folder)
    root = os.path.realpath(surroundings.root)
    cwd = inside(surroundings, judge.cwd or ".")
    if not os.path.isdir(cwd):
        raise cannot_replay("BK320", f"the working folder {judge.cwd!r} does not exist", "correct `cwd`")
    words = words_of(judge.command)
    possible_names = re.findall(r"[^\s|&;<>()$`'\"]+", str(judge.command)) if words is None else words
    paths = {word: os.path.normpath(os.path.join(cwd, word)) for word in possible_names}
    files = {word: at for word, at in paths.items() if at.startswith(root + os.sep) and os.path.isfile(at)}
    return StatedProgram(judge.command, words, cwd, files, replace(surroundings, folder=cwd))


def entry_that_allows(project: Project, program: StatedProgram) -> tuple[str, Sequence[str]] | None:
    """Find the entry under `commands:` that allows a program: by the entry's name, by its words, or by its
    script. Return the name of the entry, and the words after it."""
    root, words = os.path.realpath(project.root), program.words
    if words is None:
        return None
    if words[0] in project.commands:
        return words[0], words[1:]

    def means_same(configured_word: str, word: str) -> bool:
        """Paths are the same if they lead to the same file, even if they start at different folders."""
        if word in program.files:
            return os.path.normpath(os.path.join(root, configured_word)) == program.files[word]
        return configured_word == word

    for name, command in project.commands.items():
        if len(command.argv) <= len(words) and all(map(means_same, command.argv, words)):
            return name, words[len(command.argv) :]
    script = 1 if is_interpreted_script(words) else 0
    if words[script] not in program.files:
        return None
    allowing = allowed_by(project, os.path.relpath(program.files[words[script]], root))
    return None if allowing is None else (allowing, words[script + 1 :])


def _permission_hint(program: StatedProgram) -> str:
    if program.words is None:
        return "state its words as a list and name them under `commands:`, or pass --allow-exec"
    name = os.path.basename([*program.files, *program.words][0]).partition(".")[0]
    entry = f"{name}: [{', '.join(map(program.from_root, program.words))}]"
    return f"add it under `commands:` in baselinekit.yaml ({entry}), or pass --allow-exec"


def _content_digest(program: StatedProgram) -> str:
    """The hash of the files of a program: a changed script may judge differently."""
    digest = sha256()
    for word in program.files:
        digest.update(word.encode() + b"\0")
        with suppress(BaselinekitError):  # a file that is too large for a script
            digest.update(read_if_there(program.surroundings, word) or b"")
    return digest.hexdigest()[:16] if program.files else ""


Runnable = Callable[[FunctionOutput], None]
"""Refuses in advance what may not be run."""

_UNKNOWN_MODEL = "BK601"
_FOR_A_RUN = ("BK320", _UNKNOWN_MODEL, *ASKED_OF_OPERATOR)
"""A program, a model or a variable that only a run needs."""

_ANY_PART = Recipe(None, SkillExecution("skill", "part"))
"""The recipe for comparing a part of an output: any value may be there."""


class Prepared(Struct):
    """A case that can be run: its matchers and programs by the position of the grader that needs
    them, and the texts that its graders judge with, by path. `files`: 16 hex digits of the hash of the files
    that its verdict depends on; "" if it names none. `fault`: an error while it was prepared.
    `scripts`: the scripts before and after an attempt; `names`: the names of its inputs."""

    case: Case
    matchers: dict[Position, tuple[Matcher, ...]] = field(default_factory=dict)
    programs: dict[Position, ReadyJudge] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    baseline: Baseline | None = None
    files: str = ""
    fault: Exception | None = None
    scripts: tuple[Any, Any] = (None, None)
    names: frozenset[str] = frozenset()


def setting_of_case(project: Project, file: str, clients: Clients) -> Setting:
    """The setting for a case of an eval file. Its paths may not leave the repository of the file."""
    return project.setting(os.path.dirname(file), clients, repository_of(project.root, file))


def prepare_cases(
    environment: CaptureEnvironment, cases: Sequence[Case], runnable: Runnable, listed: bool = False
) -> list[Prepared]:
    """Prepare all cases; raise one error with all problems of all of them, each with its place. If nothing is
    wrong but variables without a value, only the cases that need them are errors, when they are run.
    `listed`: the cases will not be run, so nothing has to be allowed, installed or set."""
    prepared, problems, refused = checked_cases(environment, cases, runnable)
    if listed:
        problems, refused = [problem for problem in problems if problem.code not in _FOR_A_RUN], []
    if any(problem.code not in errors.WITHOUT_VARIABLE for problem in problems) or (problems and refused):
        raise InvalidInput(*problems, *refused)
    if refused:
        raise Refused(*refused)
    return prepared


def checked_cases(
    environment: CaptureEnvironment, cases: Sequence[Case], runnable: Runnable
) -> tuple[list[Prepared], list[Problem], list[Problem]]:
    """Return the prepared cases (those with a problem have it as their fault), the problems, and those about
    missing permissions. One of a script is reported once, however many cases use the script."""
    prepared: list[Prepared] = []
    problems: list[tuple[Source, Sequence[Problem]]] = []
    refused: list[tuple[Source, Sequence[Problem]]] = []
    for case in cases:
        try:
            prepared.append(_prepared(environment, case, runnable))
        except Exception as error:  # an unexpected one is reported as the error of this case when it is run
            errors.raise_interrupt(error)
            prepared.append(Prepared(case, fault=error))
            if isinstance(error, BaselinekitError):
                (refused if isinstance(error, Refused) else problems).append((case.source, error.problems))
    root = environment.project.root
    placed = [dict.fromkeys(chain(*locate_each_problem(found, root))) for found in (problems, refused)]
    return prepared, list(placed[0]), list(placed[1])


def _prepared(environment: CaptureEnvironment, case: Case, runnable: Runnable) -> Prepared:
    if case.skip is not None:
        return Prepared(case)
    project = environment.project
    setting = setting_of_case(project, case.source.file, environment.clients)
    setting = replace(setting, ceilings=setting.ceilings.of_a_case())
    case, recipe, names = with_given(project, case, setting)
    baseline = None if case.baseline is None else environment.chosen(case.baseline)
    _refuse_long(case, setting)
    scripts: Any = (None, None)
    if case.scripts.before or case.scripts.after:
        from baselinekit.eva.scripts import ready_scripts  # only prompt folders have scripts

        scripts = ready_scripts(project, case, setting)
    prepared = Prepared(case, baseline=baseline, scripts=scripts, names=names)
    problems = _recipe_problems(case, recipe, setting)
    if not case.graders:
        problems.append(Problem("BK705", f"{case.id} has no grader", "add `grader:` or `expected:`"))
    elif case.pass_rule.by == "mean" and not any(grader.weight for grader in case.graders):
        message = "no grader has any weight, so there is no mean that could pass"
        hint = "leave `weight` out, or state one above 0"
        problems.append(Problem("BK705", message, hint, at=case.graders[0].at))
    for position, grader in graders.graders_with_positions(case.graders):
        try:
            problems += _grader_problems(prepared, position, grader, environment)
            program = graders.row_of(grader).program(grader.method)
            if program is not None:
                runnable(program)
        except BaselinekitError as error:
            found = [
                one if one.place and one.place.line else move_to_name(one, grader.place_of(one.at or ()))
                for one in error.problems
            ]
            if isinstance(error, Refused):
                raise Refused(*found) from None
            problems += found
    if problems:
        raise InvalidInput(*problems)
    programs = [program.content for _, program in sorted(prepared.programs.items())]
    contents = [script and script.content for script in scripts if any(scripts)]
    parts = [replaying.files_hash(case.recipe, setting), programs, prepared.texts, contents]
    return replace(prepared, files=digest(parts) if any(parts) else "")


def _recipe_problems(case: Case, recipe: Recipe, setting: Setting) -> list[Problem]:
    try:
        replaying.check(recipe, setting)
    except Refused:
        raise
    except BaselinekitError as error:  # the case lacks an input; its template is right
        return [
            replace(problem, place=None, at=()) if problem.code == "BK350" else problem
            for problem in error.problems
        ]
    return []


def with_given(project: Project, case: Case, setting: Setting) -> tuple[Case, Recipe, frozenset[str]]:
    """Return the case with the inputs that the operator typed, its recipe for the checks (with empty values
    for inputs that only a script will give), and the names of its inputs: the declared ones, else those that
    its template needs. A typed name that is not an input stays a variable."""
    if case.folder is None and case.scripts.before is None:
        return case, case.recipe, frozenset()
    try:
        values, needed = replaying.inputs_of(case.recipe, setting)
    except BaselinekitError:  # the check of the recipe reports it
        return case, case.recipe, frozenset()
    declared = case.folder.meta.inputs if case.folder is not None else {}
    names = frozenset(declared) or needed | values.keys()
    kind = kind_of(case.recipe)
    given = project.operator.variables if case.folder is not None else {}
    typed = {name: given[name] for name in given.keys() & names}
    if typed:  # inputs that the template does not need are for the scripts
        unused = {f"{case.scripts.prefix}VAR_{name}": as_text(typed[name]) for name in typed.keys() - needed}
        recipe = kind.with_inputs(case.recipe, {name: typed[name] for name in typed.keys() & needed})
        scripts = replace(case.scripts, environment={**case.scripts.environment, **unused})
        case = replace(case, recipe=recipe, scripts=scripts)
    later = needed & names - values.keys() - typed.keys() if case.scripts.before is not None else ()
    return case, kind.with_inputs(case.recipe, dict.fromkeys(later, "")) if later else case.recipe, names


def _refuse_long(case: Case, setting: Setting) -> None:
    """Refuse a case with a longer time limit than the configuration gives a file, its model or its skill."""
    ceiling = setting.ceilings.timeout
    most = max(ceiling, granted_timeout(case.recipe, setting.ceilings) or 0)
    limits: list[tuple[str, Seconds | None, Seconds, Path]] = [("timeout_seconds", case.timeout, most, ())]
    for grader in graders.with_parts(case.graders):
        row = graders.row_of(grader)
        judge, program = row.starts(grader.method), row.program(grader.method)
        if judge is not None:
            limits.append(("timeout", judge.timeout, ceiling, grader.at))
        if program is not None:
            limits.append(("timeout_per_case", program.timeout_per_case, ceiling, grader.at))
    problems = [
        above(name, seconds, longest, at, "timeout")
        for name, seconds, longest, at in limits
        if seconds is not None and seconds > longest
    ]
    if problems:
        raise Refused(*problems)


def _grader_problems(
    prepared: Prepared, position: Position, grader: Grader, environment: CaptureEnvironment
) -> Iterator[Problem]:
    row, method, case, project = graders.row_of(grader), grader.method, prepared.case, environment.project
    problems = [*graders.problems_of(grader, case)]
    yield from (replace(problem, at=grader.place_of(problem.at or ())) for problem in problems)
    if problems:  # its programs and files are not checked then
        return
    if (question := row.asks(method)) is not None:
        _check_model(question[0], case, environment)
    if (program := row.starts(method)) is not None:
        if program.model_calls is not None:
            _check_model(program.model, case, environment)
        prepared.programs[position] = ready_program(project, case, program)
    for text_path in row.texts(method):
        prepared.texts[text_path] = text = named_text(project.root, case.source.file, text_path)
        for problem in row.text_problems(graders.task_of(grader, case), text):
            yield replace(problem, message=f"{text_path}: {problem.message}", at=grader.at)
    if row.compares:
        words = project.words if prepared.baseline is None else project.words_of(prepared.baseline)
        matchers = (compile_baseline(right, words) for right in _right_values(prepared, grader))
        prepared.matchers[position] = tuple(matchers)


def _check_model(name: str, case: Case, environment: CaptureEnvironment) -> None:
    """Raise the problems of a model, or of the target if the models are described by targets."""
    try:
        environment.clients.models.check(name)
    except InvalidInput as error:
        if error.problems[0].code != _UNKNOWN_MODEL:
            raise
        from baselinekit.suites.targets import add_discovered_targets  # most projects name no targets

        project = environment.project
        targets = add_discovered_targets(project.targets, project.root, case.source.file)
        raise InvalidInput(*(targets.problems_of(name) or error.problems)) from None


def _right_values(prepared: Prepared, grader: Grader) -> Iterator[Baseline]:
    """What the output is compared with: the baseline of the record, or each right value."""
    case, baseline = prepared.case, prepared.baseline
    if baseline is not None and (baseline.baseline is None or baseline.baseline.output is ABSENT):
        hint = f"baselinekit capture {case.source.file}"
        raise InvalidInput(Problem("BK223", f"{case.id} has no stored output for here", hint))
    if graders.row_of(grader).compares == "baseline":
        if baseline is None:
            raise InvalidInput(Problem("BK705", f"{case.id} has no baseline", "capture one for it"))
        yield baseline
    elif case.expected is None and baseline is not None:
        yield replace(baseline, comparison=grader.method.rules)
    else:
        for value in values_of(case.expected):
            whole = graders.task_of(grader, case).looks_at_whole(keys_of(value))
            recipe, known = case.recipe if whole else _ANY_PART, Known(value)
            rules = grader.method.rules
            yield Baseline(case.id, recipe, baseline=known, comparison=rules, source=case.source)


# Thresholds that no run can meet are refused before the run costs anything.


def check_reachable(suite: Suite, stated: Mapping[str, float], attempts: int | None) -> None:
    """Check the thresholds of a suite, and those `stated` by the operator or a gate, for a run with this
    number of attempts; InvalidInput for those that need more."""
    tries, problems = attempts or suite.config.attempts, []
    for name in {**suite.thresholds, **stated}:
        sign, k = metric_name(name) or ("", 0)
        if sign == "@" and k > tries:
            possible = count_noun(tries, "attempt")
            message = f"pass@{k} cannot be met: it cannot be computed from {possible} per case"
            hint = f"make {k}, by `config: {{attempts: {k}}}` or --attempts {k}, or ask for pass@{tries}"
            place = Place(suite.file) if suite.file and name not in stated else None
            problems.append(Problem("BK723", message, hint, place))
    if problems:
        raise InvalidInput(*problems)


# doctor: everything that a compare or a run would report before its first request.


_ONLY_EVALS = frozenset(("case", "test_cases", "prompt_cases", "evalcases", "suite", "gate"))


def examine_all(project: Project, paths: Sequence[str], clients: Clients, runnable: Runnable) -> Findings:
    """Check the named paths; without any, all baselines and all evals of the project."""
    places = [resolve_path_or_prompt(project, path) for path in paths] or folders(project)
    prompts = folders_below(project.root, places)
    if paths:
        baselines, places, foreign = _sort_files(project, places, prompts)
        notes = tuple(Problem("BK110", note) for note in passed_over_notes(foreign))
        findings = check_baselines(project, baselines, clients) if baselines else Findings(0, (), (), 0)
        findings = replace(findings, notes=(*notes, *findings.notes))
    else:
        findings = check_baselines(project, (), clients)
    if places:
        findings = _with_evals(findings, project, places, clients, runnable)
    if not prompts:
        return findings
    from baselinekit.eva.folders import examine

    broken, shape = examine(project.root, prompts)
    return replace(
        findings,
        problems=tuple(dict.fromkeys((*findings.problems, *broken))),
        notes=(*findings.notes, *shape.warnings),
        prompts=len(prompts),
        shape=shape.problems,
    )


def _sort_files(
    project: Project, places: Sequence[str], prompts: Sequence[str]
) -> tuple[list[str], list[str], list[str]]:
    """Sort the files into baselines, evals (files of cases below the folders of evals, and files with
    anything that only evals have; in prompt folders only files with cases), and JSON of other tools."""
    root = project.root
    baselines, evals, foreign_files = [], [], []
    eval_folders = tuple(f"{os.path.normpath(folder)}{os.sep}" for folder in folders(project))
    own_folders = (os.path.normpath(folder) for folder in project.folders)
    baseline_folders = tuple(f"{folder}/" for folder in own_folders if folder != os.curdir)
    cases = set(eval_files(places, root))
    named = {name_in_project(root, os.path.join(root, place)) for place in places}
    for file in dict.fromkeys((*discover_files(places, root, with_prompts=True).files, *sorted(cases))):
        is_baseline = is_case = False
        if is_below(file, prompts):
            is_baseline = holds_baselines(root, file)
            is_case = not is_baseline and file in cases and holds_cases(root, file)
        elif file.startswith(eval_folders):
            is_case = file in cases and (file in named or not is_foreign(root, file))
        elif file not in named and not file.startswith(baseline_folders) and is_foreign_json(root, file):
            foreign_files.append(file)
        else:
            is_case = not _ONLY_EVALS.isdisjoint(forms_in(root, file))
            is_baseline = not is_case
        if is_case:
            evals.append(file)
        if is_baseline:
            baselines.append(os.path.relpath(os.path.join(root, file), project.cwd))
    return baselines, evals, foreign_files


def _with_evals(
    findings: Findings, project: Project, paths: Sequence[str], clients: Clients, runnable: Runnable
) -> Findings:
    """The findings with those about evals. A baseline that is also one of their cases is reported once."""
    root = project.root
    forms = {file: forms_in(root, file) for file in eval_files(paths, root)}
    gates = [file for file, keys in forms.items() if "gate" in keys]
    places = [path for path in paths if path not in gates]
    suite, loading = load_everything(places, root, fetch_file=project.fetch_file, targets=project.targets)
    problems = loading.all_problems()
    prepared, invalid, refused = checked_cases(CaptureEnvironment(project, clients), suite.cases, runnable)
    faults = [one.fault for one in prepared if not isinstance(one.fault, BaselinekitError | None)]
    invalid += [errors.internal_error(fault).problems[0] for fault in faults]
    checks: list[Callable[[], object]] = [partial(load_gates, file, root) for file in gates]
    checks.append(partial(facts_of, root, suite.cases))
    for check in checks:
        try:
            check()
        except BaselinekitError as error:
            problems += error.problems
    problems += [problem for problem in invalid if problem.code not in ASKED_OF_OPERATOR]
    notes = [*refused, *(problem for problem in invalid if problem.code in ASKED_OF_OPERATOR)]
    first: dict[tuple[str, str], Problem] = {}  # a note is given once a file, however often it applies
    for note in notes:
        first.setdefault((note.place.file if note.place else "", note.message), note)
    return replace(
        findings,
        problems=tuple(dict.fromkeys((*findings.problems, *problems))),
        notes=tuple(dict.fromkeys((*findings.notes, *first.values()))),
        cases=len(suite.cases),
        gates=len(gates),
    )
