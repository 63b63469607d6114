"""Everything that can be wrong with eval cases, reported before the first is run, or by `doctor` alone."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from baselinekit.commands.doctor import ASKED_OF_OPERATOR, Findings, check_baselines
from baselinekit.commands.loading import provide_eval_schema
from baselinekit.commands.project import CaptureEnvironment, Project
from baselinekit.errors import (
    WITHOUT_VARIABLE,
    BaselinekitError,
    InvalidInput,
    Place,
    Problem,
    Refused,
    internal_error,
    raise_interrupt,
)
from baselinekit.evals.gating import read_thresholds
from baselinekit.evals.judgeprograms import ReadyJudge, ready_program
from baselinekit.evals.judges import facts_of
from baselinekit.evals.scripts import Script, ready_scripts
from baselinekit.evals.selection import folders, resolve_path_or_prompt
from baselinekit.files.languages import language
from baselinekit.files.text import decode
from baselinekit.graders import graders
from baselinekit.graders.graders import Position
from baselinekit.graders.task import keys_of
from baselinekit.kinds import dispatch as replaying
from baselinekit.kinds.dispatch import digest, granted_timeout
from baselinekit.kinds.settings import Clients, Setting, above
from baselinekit.kinds.skill import SkillExecution
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.model.baselines import Baseline, Known, Source
from baselinekit.model.evals import Case, Suite
from baselinekit.model.grades import FunctionOutput, Grader
from baselinekit.model.recipes import Recipe
from baselinekit.model.values import ABSENT, Json
from baselinekit.schema import move_to_name
from baselinekit.secrets.variables import as_text
from baselinekit.store.discovery import discover_files, holds_baselines, is_foreign_json, passed_over_notes
from baselinekit.store.project import in_repository, name_in_project, read, repository_of
from baselinekit.store.reading import locate, locate_each
from baselinekit.structs import Struct, field, replace
from baselinekit.suites import promptchecks
from baselinekit.suites.dialects.gates import load_gates
from baselinekit.suites.loading import forms_in, is_foreign, load_partly
from baselinekit.suites.promptfolders import eval_files, folders_below, holds_cases, is_below
from baselinekit.suites.settings import named_text, resolve_named
from baselinekit.values.texts import count_noun

_MISSING_VALUE = lazy_pattern(r"\{\{([^{}]+)\}\}(?=, which is not an input)")
_UNKNOWN_MODEL = "BK601"
_ANY_PART = Recipe(None, SkillExecution("skill", "part"))
"""The recipe for comparing a part of an output: any value may be there."""


class Prepared(Struct):
    """A case that can be run: its matchers, schemas and programs by the position of the grader that needs
    them, and the texts that its graders judge with, by path. `files`: 16 hex digits of the hash of the files
    that its verdict depends on; "" if it names none. `fault`: an error while it was prepared.
    `scripts`: the scripts before and after an attempt; `names`: the names of its inputs."""

    case: Case
    matchers: dict[Position, tuple[Matcher, ...]] = field(default_factory=dict)
    schemas: dict[Position, Json] = field(default_factory=dict)
    programs: dict[Position, ReadyJudge] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    baseline: Baseline | None = None
    files: str = ""
    fault: Exception | None = None
    scripts: tuple[Script | None, Script | None] = (None, None)
    names: frozenset[str] = frozenset()
    digests: dict[str, str] = field(default_factory=dict)
    """Digests of what its verdict depends on, filled when they are first needed."""


def setting_of_case(project: Project, file: str, clients: Clients) -> Setting:
    """The setting for a case of an eval file. Its paths may not leave the repository of the file."""
    return project.setting(os.path.dirname(file), clients, repository_of(project.root, file))


def prepare_cases(
    here: CaptureEnvironment,
    cases: Sequence[Case],
    runnable: Callable[[FunctionOutput], None],
    listed: bool = False,
) -> list[Prepared]:
    """Prepare all cases; raise one error with all problems of all of them, each with its place. If nothing is
    wrong but variables without a value, only the cases that need them are errors, when they are run.
    `listed`: the cases will not be run."""
    prepared, problems, refused = checked_cases(here, cases, runnable, listed)
    if any(problem.code not in WITHOUT_VARIABLE for problem in problems) or (problems and refused):
        raise InvalidInput(*problems, *refused)
    if refused:
        raise Refused(*refused)
    return prepared


def checked_cases(
    here: CaptureEnvironment,
    cases: Sequence[Case],
    runnable: Callable[[FunctionOutput], None],
    listed: bool = False,
) -> tuple[list[Prepared], list[Problem], list[Problem]]:
    """Return the prepared cases (those with a problem have it as their fault), the problems, and those about
    missing permissions."""
    prepared: list[Prepared] = []
    problems: list[tuple[Case, Sequence[Problem]]] = []
    refused: list[tuple[Case, Sequence[Problem]]] = []
    for case in cases:
        try:
            prepared.append(_prepared(here, case, runnable, listed))
        except BaselinekitError as error:
            (refused if isinstance(error, Refused) else problems).append((case, error.problems))
            prepared.append(Prepared(case, fault=error))
        except Exception as error:  # reported as the error of this case when it is run
            raise_interrupt(error)
            prepared.append(Prepared(case, fault=error))
    root = here.project.root
    # a problem of a script is reported once, however many cases use it
    reported, not_allowed = dict.fromkeys(_placed(problems, root)), dict.fromkeys(_placed(refused, root))
    return prepared, list(reported), list(not_allowed)


def _placed(groups: Sequence[tuple[Case, Sequence[Problem]]], root: str) -> Iterator[Problem]:
    paths = [(case.source, [problem.at or () for problem in problems]) for case, problems in groups]
    have_files = all(case.source.file for case, _ in groups)
    places = locate_each(paths, root) if have_files else [[Place(case.id)] * len(p) for case, p in groups]
    for (_, problems), where in zip(groups, places, strict=True):
        for problem, place in zip(problems, where, strict=True):
            yield problem.placed(place)


def reword_plain(problem: Problem) -> Problem:
    """Reword a problem about a missing value, for a case, which has no inputs as a baseline has."""
    name = _MISSING_VALUE.search(problem.message) if problem.code == "BK350" else None
    if name is None:
        return problem
    hint = f"--var {name[1]}=…, or `variables:` in the configuration; \\{name[0]} is the literal text"
    return replace(problem, message=f"there is no value for {name[0]}", hint=hint)


def reword_for_folder(problem: Problem, case: Case) -> Problem:
    """Reword a problem about a missing value, for a case of a prompt folder, which has inputs."""
    name = _MISSING_VALUE.search(problem.message) if problem.code == "BK350" else None
    if name is None:
        return problem
    message = f"the case {case.name!r} gives no value for {name[0]}"
    hint = f"give it under `inputs:`, or as --var {name[1]}=…"
    return replace(problem, message=message, hint=hint, place=None, at=("inputs",))


def _prepared(
    here: CaptureEnvironment, case: Case, runnable: Callable[[FunctionOutput], None], listed: bool
) -> Prepared:
    if case.skip is not None:
        return Prepared(case)
    project = here.project
    problems: list[Problem] = []
    setting = setting_of_case(project, case.source.file, here.clients)
    setting = replace(setting, ceilings=setting.ceilings.of_a_case())
    case, recipe, names = with_given(project, case, setting)
    prepared = Prepared(case, baseline=None if case.baseline is None else here.chosen(case.baseline))
    refuse_long(case, setting)
    scripts = ready_scripts(project, case, setting, listed)
    problems += _recipe_problems(case, recipe, setting, listed)
    if not case.graders:
        problems.append(Problem("BK705", f"{case.id} has no grader", "add `grader:` or `expected:`"))
    elif case.pass_rule.by == "mean" and not any(grader.weight for grader in case.graders):
        message = "no grader has any weight, so there is no mean that could pass"
        problems.append(
            Problem("BK705", message, "leave `weight` out, or state one above 0", at=case.graders[0].at)
        )
    for position, grader in graders.graders_with_positions(case.graders):
        try:
            problems += _grader_problems(prepared, position, grader, here, listed)
            program = graders.row_of(grader).program(grader.method)
            if program is not None and not listed:
                runnable(program)
        except Refused as error:
            raise Refused(*(replace(problem, at=grader.at) for problem in error.problems)) from None
        except BaselinekitError as error:
            problems += [replace(problem, at=grader.place_of(problem.at or ())) for problem in error.problems]
    if problems:
        raise InvalidInput(*problems)
    recipe_files = replaying.files_hash(case.recipe, setting)
    schemas = [
        [position[0] if len(position) == 1 else [*position], schema]
        for position, schema in sorted(prepared.schemas.items())
    ]
    files = digest([recipe_files, schemas]) if recipe_files or schemas else ""
    if prepared.programs or prepared.texts:
        programs = [program.content for _, program in sorted(prepared.programs.items())]
        files = digest([files, programs, prepared.texts])
    if any(scripts):
        files = digest([files, [script and script.content for script in scripts]])
    return replace(prepared, files=files, scripts=scripts, names=names)


def _recipe_problems(case: Case, recipe: Recipe, setting: Setting, listed: bool) -> list[Problem]:
    try:
        replaying.check(recipe, setting)
    except BaselinekitError as error:
        problems = [problem for problem in error.problems if not (listed and _is_about_start(problem))]
        if isinstance(error, Refused) and problems:
            raise Refused(*problems) from None
        reworded = [reword_for_folder(p, case) if case.folder else reword_plain(p) for p in problems]
        return problems if case.baseline else reworded
    return []


def _is_about_start(problem: Problem) -> bool:
    """Whether a problem only matters if a program is started: it is not allowed, or not installed."""
    return problem.code == "BK403" or (problem.code == "BK320" and (problem.at or ())[-1:] == ("command",))


def with_given(project: Project, case: Case, setting: Setting) -> tuple[Case, Recipe, frozenset[str]]:
    """Return the case with the inputs that the operator typed, its recipe for the checks (with empty values
    for inputs that only a script will give), and the names of its inputs: the declared ones, else those that
    its template needs. A typed name that is no input stays a variable."""
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


def refuse_long(case: Case, setting: Setting) -> None:
    """Refuse a case with a longer time limit than the configuration gives a file, its model or its skill."""
    ceilings = setting.ceilings
    most = max(ceilings.timeout, granted_timeout(case.recipe, ceilings) or 0)
    problems = []
    if case.timeout is not None and case.timeout > most:
        problems.append(above("timeout_seconds", case.timeout, most, (), "timeout"))
    for _, grader in graders.graders_with_positions(case.graders):
        judge = graders.row_of(grader).starts(grader.method)
        if judge is not None and judge.timeout is not None and judge.timeout > ceilings.timeout:
            problems.append(above("timeout", judge.timeout, ceilings.timeout, grader.at))
        program = graders.row_of(grader).program(grader.method)
        if program is not None and program.timeout_per_case > ceilings.timeout:
            longest = program.timeout_per_case
            problems.append(above("timeout_per_case", longest, ceilings.timeout, grader.at, "timeout"))
    if problems:
        raise Refused(*problems)


def _grader_problems(
    prepared: Prepared, position: Position, grader: Grader, here: CaptureEnvironment, listed: bool
) -> Iterator[Problem]:
    row, method = graders.row_of(grader), grader.method
    problems = [*graders.problems_of(grader, prepared.case)]
    yield from (replace(problem, at=grader.place_of(problem.at or ())) for problem in problems)
    if problems:  # its programs and files are not checked then
        return
    if (question := row.asks(method)) is not None:
        _check_model(question[0], prepared.case, here)
    if (program := row.starts(method)) is not None:
        if program.model_calls is not None:
            _check_model(program.model, prepared.case, here)
        prepared.programs[position] = ready_program(here.project, prepared.case, program, listed)
    for text_path in row.texts(method):
        yield from _text_problems(prepared, grader, text_path, here.project.root)
    if (path := row.document(method)) is not None:
        schema = load_schema(prepared.case, path, here.project.root)
        with_schema = replace(grader, method=row.with_document(method, schema))
        yield from graders.problems_of(with_schema, prepared.case)
        prepared.schemas[position] = schema
    elif row.compares:
        words, baseline = here.project.words, prepared.baseline
        baselines = list(_right_values(prepared, grader))
        if baseline is not None:
            words = here.project.words_of(baseline)
        prepared.matchers[position] = tuple(compile_baseline(right, words) for right in baselines)


def _check_model(name: str, case: Case, here: CaptureEnvironment) -> None:
    """Raise the problems of a model, or of the target if the models are described by targets."""
    try:
        here.clients.models.check(name)
    except InvalidInput as error:
        if error.problems[0].code != _UNKNOWN_MODEL:
            raise
        from baselinekit.suites.targetsfile import add_discovered_targets  # most projects name no targets

        targets = add_discovered_targets(here.project.targets, here.project.root, case.source.file, {})
        raise InvalidInput(*(targets.problems_of(name) or error.problems)) from None


def _text_problems(prepared: Prepared, grader: Grader, text_path: str, root: str) -> Iterator[Problem]:
    """Read a text that a grader judges with, and check it."""
    row, case = graders.row_of(grader), prepared.case
    key = next(key for key, path in row.files(grader.method).items() if path == text_path)
    at = ("config", key)
    try:
        prepared.texts[text_path] = text = named_text(root, case.source.file, text_path)
    except BaselinekitError as error:
        is_refused = isinstance(error, Refused)
        problems = (move_to_name(problem, at) for problem in error.problems)
        raise (Refused if is_refused else InvalidInput)(*problems) from None
    for problem in row.text_problems(graders.task_of(grader, case), text):
        yield replace(problem, message=f"{text_path}: {problem.message}", at=grader.place_of(at))


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
        return
    rules = grader.method.rules
    if case.expected is None and baseline is not None:
        yield replace(baseline, comparison=rules)
    elif case.expected is not None:
        for value in (case.expected.value, *case.expected.alternatives):
            whole = graders.task_of(grader, case).looks_at_whole(keys_of(value))
            recipe = case.recipe if whole else _ANY_PART
            yield Baseline(case.id, recipe, baseline=Known(value), comparison=rules, source=case.source)


def load_schema(case: Case, path: str, root: str) -> Json:
    root, file = in_repository(root, case.source.file)
    name = resolve_named(root, file, path)
    try:
        documents = language(name).load(decode(read(root, name), name).body, name)
    except InvalidInput as error:
        problem = error.problems[0]
        if problem.code != "BK111":
            raise
        raise InvalidInput(replace(problem, place=None, message=f"{name} {problem.message}")) from None
    if len(documents) != 1:
        message = f"{name} holds {len(documents)} documents, and a schema is one"
        raise InvalidInput(Problem("BK703", message, "split it"))
    return documents[0]


# Thresholds that no run can meet are refused before the run costs anything.


def check_reachable(
    suite: Suite, stated: Mapping[str, float], attempts: int | None, root: str, whose: str = ""
) -> None:
    """Check the thresholds of a suite, and those `stated` by the operator or a gate, for a run with so many
    attempts; InvalidInput for those that need more attempts than that."""
    tries = attempts or suite.config.attempts
    problems = []
    read_thresholds({**suite.thresholds, **stated})
    for name, least in {**suite.thresholds, **stated}.items():
        for sign, k in read_thresholds({name: least}):
            if sign != "@" or k <= tries:
                continue
            possible = count_noun(tries, "attempt")
            message = f"pass@{k} cannot be met: it cannot be computed from {possible} per case"
            hint = f"make {k}, by `config: {{attempts: {k}}}` or --attempts {k}, or ask for pass@{tries}"
            problem = Problem("BK724", message, hint)
            is_of_suite = suite.file is not None and name not in stated
            if is_of_suite:
                source = Source(suite.file or "", at=suite.at)
                problem = problem.placed(locate(source, ("thresholds", name), root))
            elif whose:
                problem = Problem("BK724", f"{whose}: {message}", hint)
            problems.append(problem)
    if problems:
        raise InvalidInput(*problems)


# doctor: everything that a compare or a run would report before its first request.


_ONLY_EVALS = frozenset(("case", "test_cases", "prompt_cases", "evalcases", "suite", "gate"))


def examine_all(
    project: Project, paths: Sequence[str], clients: Clients, runnable: Callable[[FunctionOutput], None]
) -> Findings:
    """Check the named paths; without any, all baselines and all evals of the project."""
    places = [resolve_path_or_prompt(project, path) for path in paths] or folders(project)
    prompts = folders_below(project.root, places)
    if paths:
        baselines, evals, foreign = _sort_files(project, places, prompts)
        findings = Findings(0, (), tuple(Problem("BK110", note) for note in passed_over_notes(foreign)), 0)
        if baselines:
            checked = check_baselines(project, baselines, clients)
            findings = replace(checked, notes=(*findings.notes, *checked.notes))
    else:
        findings, evals = check_baselines(project, (), clients), places
    findings = with_evals(findings, project, evals, clients, runnable)
    broken, shape = promptchecks.examine(project.root, prompts)
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
    eval_folders = tuple(f"{os.path.normpath(folder)}{os.sep}" for folder in folders(project))
    baselines, evals, foreign_files = [], [], []
    baseline_folders = tuple(
        f"{name}/" for name in map(os.path.normpath, project.folders) if name != os.curdir
    )
    cases = set(eval_files(places, root))
    named = {name_in_project(root, os.path.join(root, place)) for place in places}
    for file in dict.fromkeys((*discover_files(places, root, with_prompts=True).files, *sorted(cases))):
        if is_below(file, prompts) and holds_baselines(root, file):
            baselines.append(os.path.relpath(os.path.join(root, file), project.cwd))
        elif is_below(file, prompts):
            evals += [file] if file in cases and holds_cases(root, file) else []
        elif file.startswith(eval_folders):
            is_of_other_tool = file not in named and is_foreign(root, file)
            evals += [file] if file in cases and not is_of_other_tool else []
        elif file not in named and not file.startswith(baseline_folders) and is_foreign_json(root, file):
            foreign_files.append(file)
        elif _ONLY_EVALS & forms_in(root, file):
            evals.append(file)
        else:
            baselines.append(os.path.relpath(os.path.join(root, file), project.cwd))
    return baselines, evals, foreign_files


def with_evals(
    findings: Findings,
    project: Project,
    paths: Sequence[str],
    clients: Clients,
    runnable: Callable[[FunctionOutput], None],
) -> Findings:
    """The findings with those about evals. A baseline that is also one of their cases is reported once."""
    if not paths:
        return findings
    forms = {file: forms_in(project.root, file) for file in eval_files(paths, project.root)}
    gates = [file for file, keys in forms.items() if "gate" in keys]
    passed_over = {
        *gates,
        *(file for file, keys in forms.items() if keys == {"report"} and file not in paths),
    }
    provide_eval_schema(project.root, forms)
    suite, problems = load_partly(
        [file for file in forms if file not in passed_over],
        project.root,
        project.fetch_file,
        project.targets,
    )
    prepared, invalid, refused = checked_cases(CaptureEnvironment(project, clients), suite.cases, runnable)
    faults = [case.fault for case in prepared if case.fault is not None]
    invalid += [
        internal_error(fault).problems[0] for fault in faults if not isinstance(fault, BaselinekitError)
    ]
    for file in gates:
        problems += problems_of(partial(load_gates, file, project.root))
    problems += problems_of(partial(facts_of, project.root, suite.cases))
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


def problems_of(check: Callable[[], object]) -> Sequence[Problem]:
    try:
        check()
    except BaselinekitError as error:
        return error.problems
    return ()
