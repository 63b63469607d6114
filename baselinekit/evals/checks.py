"""Everything that can be wrong with eval cases, reported before the first is run, or by `doctor` alone."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial

from baselinekit.documents.languages import language
from baselinekit.documents.text import decode
from baselinekit.errors import (
    BaselinekitError,
    FirstOfEach,
    InvalidInput,
    Place,
    Problem,
    Refused,
    fault_of_ours,
    raise_interrupt,
)
from baselinekit.evals.gating import read_thresholds
from baselinekit.evals.judgeprograms import ReadyJudge, ready_program
from baselinekit.evals.judges import facts_of
from baselinekit.evals.scripts import Script, ready_scripts
from baselinekit.evals.selection import folders, found_by_operator
from baselinekit.frozen import frozen
from baselinekit.grade import graders
from baselinekit.grade.graders import Position
from baselinekit.grade.task import keys_of
from baselinekit.kinds.skill import SkillExecution
from baselinekit.kinds.table import kind_of
from baselinekit.lazy import lazy_pattern
from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.model.baselines import Baseline, Known, Source
from baselinekit.model.evals import Case, Suite
from baselinekit.model.grades import FunctionOutput, Grader
from baselinekit.model.recipes import Recipe
from baselinekit.model.values import ABSENT, Json
from baselinekit.replaying import dispatch as replaying
from baselinekit.replaying.dispatch import digest
from baselinekit.replaying.settings import Clients, Setting, above
from baselinekit.schema.records import named_at
from baselinekit.store.discovery import discover, holds_baselines, is_foreign_json, passed_over_notes
from baselinekit.store.project import in_repository, name_in_project, read, repository_of
from baselinekit.store.reading import locate, locate_each, without_collector
from baselinekit.suites import promptchecks
from baselinekit.suites.dialects.gates import load_gates
from baselinekit.suites.loading import forms_in, is_foreign, load_partly
from baselinekit.suites.promptfolders import eval_files, folders_below, holds_cases, is_below
from baselinekit.suites.settings import named_text, resolve_named
from baselinekit.texts import many
from baselinekit.variables import as_text
from baselinekit.workflow.doctor import ASKED_OF_OPERATOR, Findings, check_baselines
from baselinekit.workflow.project import CaptureEnvironment, Project

# Everything that can be wrong with eval cases is said before the first of them is run.


_NOT_GIVEN = lazy_pattern(r"\{\{([^{}]+)\}\}(?=, which is not an input)")
_UNKNOWN_MODEL = "BK601"
_ANYTHING = Recipe(None, SkillExecution("skill", "part"))
"""What gives a part of an output, which has no parts of its own."""


@frozen
class Prepared:
    """A case that can be run: its matchers, schemas and programs by the position of the grader that needs
    them, and the texts that its graders judge with by their paths. `files`: 16 hex digits over what stands in
    the files that its verdict hangs on; "" where it names none. `fault`: what nobody expected, met when it
    was made ready. `scripts`: what is run before and after an attempt; `names`: those of the inputs that it
    takes from there."""

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
    digests: dict[str, str] = field(default_factory=dict, compare=False)
    """Of what its verdict hangs on, once somebody has asked for them."""


def setting_of_case(project: Project, file: str, clients: Clients) -> Setting:
    """What surrounds a case of an eval file, out of whose repository none of its paths leads."""
    return project.setting(os.path.dirname(file), clients, repository_of(project.root, file))


@without_collector()
def prepare_cases(
    here: CaptureEnvironment,
    cases: Sequence[Case],
    runnable: Callable[[FunctionOutput], None],
    listed: bool = False,
) -> list[Prepared]:
    """All cases, ready; or one error with all that is wrong with any of them, each with its place. `listed`:
    nothing of them is going to be run."""
    found, wrong, refused = checked_cases(here, cases, runnable, listed)
    if wrong:
        raise InvalidInput(*wrong, *refused)
    if refused:
        raise Refused(*refused)
    return found


def checked_cases(
    here: CaptureEnvironment,
    cases: Sequence[Case],
    runnable: Callable[[FunctionOutput], None],
    listed: bool = False,
) -> tuple[list[Prepared], list[Problem], list[Problem]]:
    """Those that are ready, what is wrong with the others, and what of them nobody has allowed."""
    found: list[Prepared] = []
    wrong: list[tuple[Case, Sequence[Problem]]] = []
    refused: list[tuple[Case, Sequence[Problem]]] = []
    for case in cases:
        try:
            found.append(_prepared(here, case, runnable, listed))
        except BaselinekitError as error:
            (refused if isinstance(error, Refused) else wrong).append((case, error.problems))
        except Exception as error:  # told as the error of this case, where it is examined
            raise_interrupt(error)
            found.append(Prepared(case, fault=error))
    root = here.project.root
    # what is wrong with a script is told once, whatever cases have it
    told, not_allowed = dict.fromkeys(_placed(wrong, root)), dict.fromkeys(_placed(refused, root))
    return found, list(told), list(not_allowed)


def _placed(wrong: Sequence[tuple[Case, Sequence[Problem]]], root: str) -> Iterator[Problem]:
    first = FirstOfEach()
    wrong = [
        (case, [one for one in few if first.takes(case.source.file or case.id, one)]) for case, few in wrong
    ]
    wrong = [(case, few) for case, few in wrong if few]
    listed = [(case.source, [problem.at or () for problem in problems]) for case, problems in wrong]
    known = all(case.source.file for case, _ in wrong)
    places = locate_each(listed, root) if known else [[Place(case.id)] * len(p) for case, p in wrong]
    for (_, problems), where in zip(wrong, places, strict=True):
        for problem, place in zip(problems, where, strict=True):
            yield problem.placed(place)
    yield from first.rest()


def without_inputs(problem: Problem) -> Problem:
    """What is wrong with the question of a case, which has no inputs of its own as a baseline has."""
    name = _NOT_GIVEN.search(problem.message) if problem.code == "BK350" else None
    if name is None:
        return problem
    hint = f"--var {name[1]}=…, or `variables:` in the configuration; \\{name[0]} is the literal text"
    return replace(problem, message=f"there is no value for {name[0]}", hint=hint)


def of_folder(problem: Problem, case: Case) -> Problem:
    """What is wrong with the question of a prompt's case, told where the case stands: it has inputs."""
    name = _NOT_GIVEN.search(problem.message) if problem.code == "BK350" else None
    if name is None:
        return problem
    what = f"the case {case.name!r} gives no value for {name[0]}"
    hint = f"give it under `inputs:`, or as --var {name[1]}=…"
    return replace(problem, message=what, hint=hint, place=None, at=("inputs",))


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
    problems += _wrong_recipe(case, recipe, setting, listed)
    if not case.graders:
        problems.append(Problem("BK705", f"{case.id} has no grader", "add `grader:` or `expected:`"))
    elif case.pass_rule.by == "mean" and not any(grader.weight for grader in case.graders):
        what = "no grader has any weight, so there is no mean that could pass"
        problems.append(
            Problem("BK705", what, "leave `weight` out, or state one above 0", at=case.graders[0].at)
        )
    for position, grader in graders.positions(case.graders):
        try:
            problems += _of_grader(prepared, position, grader, here, listed)
            program = graders.row_of(grader).program(grader.method)
            if program is not None and not listed:
                runnable(program)
        except Refused as error:
            raise Refused(*(replace(one, at=grader.at) for one in error.problems)) from None
        except BaselinekitError as error:
            problems += [replace(one, at=grader.place_of(one.at or ())) for one in error.problems]
    if problems:
        raise InvalidInput(*problems)
    asked = replaying.files_hash(case.recipe, setting)
    schemas = [
        [position[0] if len(position) == 1 else [*position], schema]
        for position, schema in sorted(prepared.schemas.items())
    ]
    files = digest([asked, schemas]) if asked or schemas else ""
    if prepared.programs or prepared.texts:
        programs = [one.content for _, one in sorted(prepared.programs.items())]
        files = digest([files, programs, prepared.texts])
    if any(scripts):
        files = digest([files, [one and one.content for one in scripts]])
    return replace(prepared, files=files, scripts=scripts, names=names)


def _wrong_recipe(case: Case, recipe: Recipe, setting: Setting, listed: bool) -> list[Problem]:
    try:
        replaying.check(recipe, setting)
    except BaselinekitError as error:
        found = [one for one in error.problems if not (listed and _of_a_start(one))]
        if isinstance(error, Refused) and found:
            raise Refused(*found) from None
        told = [of_folder(one, case) if case.folder else without_inputs(one) for one in found]
        return found if case.baseline else told
    return []


def _of_a_start(problem: Problem) -> bool:
    """Whether it only counts where a program is started: nobody allows it, or it is not installed."""
    return problem.code == "BK403" or (problem.code == "BK320" and (problem.at or ())[-1:] == ("command",))


def with_given(project: Project, case: Case, setting: Setting) -> tuple[Case, Recipe, frozenset[str]]:
    """The case with the inputs that the operator typed, its recipe as it can be checked where a script adds
    inputs that nobody knows yet, and the names of its inputs: those that are declared, else those that its
    template asks for. What is no name of an input stays a variable."""
    if case.folder is None and case.scripts.before is None:
        return case, case.recipe, frozenset()
    try:
        values, asked = replaying.inputs_of(case.recipe, setting)
    except BaselinekitError:  # which the check of the recipe tells in its place
        return case, case.recipe, frozenset()
    declared = case.folder.meta.inputs if case.folder is not None else {}
    names = frozenset(declared) or asked | values.keys()
    kind = kind_of(case.recipe)
    typed = {name: project.typed[name] for name in project.typed.keys() & names if case.folder is not None}
    if typed:  # what the template does not ask for is for the scripts
        unused = {f"{case.scripts.prefix}VAR_{name}": as_text(typed[name]) for name in typed.keys() - asked}
        recipe = kind.with_inputs(case.recipe, {name: typed[name] for name in typed.keys() & asked})
        scripts = replace(case.scripts, environment={**case.scripts.environment, **unused})
        case = replace(case, recipe=recipe, scripts=scripts)
    later = asked & names - values.keys() - typed.keys() if case.scripts.before is not None else ()
    return case, kind.with_inputs(case.recipe, dict.fromkeys(later, "")) if later else case.recipe, names


def refuse_long(case: Case, setting: Setting) -> None:
    """A case may take as long as the configuration lets any file take, or gives its model or its skill."""
    granted = setting.ceilings
    most = max(granted.timeout, granted.granted(case.recipe) or 0)
    problems = []
    if case.timeout is not None and case.timeout > most:
        problems.append(above("timeout_seconds", case.timeout, most, (), "timeout"))
    for _, grader in graders.positions(case.graders):
        judge = graders.row_of(grader).starts(grader.method)
        if judge is not None and judge.timeout is not None and judge.timeout > granted.timeout:
            problems.append(above("timeout", judge.timeout, granted.timeout, grader.at))
        program = graders.row_of(grader).program(grader.method)
        if program is not None and program.timeout_per_case > granted.timeout:
            longest = program.timeout_per_case
            problems.append(above("timeout_per_case", longest, granted.timeout, grader.at, "timeout"))
    if problems:
        raise Refused(*problems)


def _of_grader(
    prepared: Prepared, position: Position, grader: Grader, here: CaptureEnvironment, listed: bool
) -> Iterator[Problem]:
    row, method = graders.row_of(grader), grader.method
    wrong = [*graders.problems_of(grader, prepared.case)]
    yield from (replace(problem, at=grader.place_of(problem.at or ())) for problem in wrong)
    if wrong:  # what it starts or reads need not be there
        return
    if (asked := row.asks(method)) is not None:
        _check_model(asked[0], prepared.case, here)
    if (program := row.starts(method)) is not None:
        if program.model_calls is not None:
            _check_model(program.model, prepared.case, here)
        prepared.programs[position] = ready_program(here.project, prepared.case, program, listed)
    for named in row.texts(method):
        yield from _of_text(prepared, grader, named, here.project.root)
    if (path := row.document(method)) is not None:
        schema = load_schema(prepared.case, path, here.project.root)
        stated = replace(grader, method=row.with_document(method, schema))
        yield from graders.problems_of(stated, prepared.case)
        prepared.schemas[position] = schema
    elif row.compares:
        words, baseline = here.project.words, prepared.baseline
        compared = list(_compared(prepared, grader))
        if baseline is not None:
            words = here.project.words_of(baseline)
        prepared.matchers[position] = tuple(compile_baseline(one, words) for one in compared)


def _check_model(name: str, case: Case, here: CaptureEnvironment) -> None:
    """Raise what is wrong with a model; where targets describe it, what is wrong with the target."""
    try:
        here.clients.models.check(name)
    except InvalidInput as error:
        if error.problems[0].code != _UNKNOWN_MODEL:
            raise
        from baselinekit.suites.targetsfile import with_found  # most projects name no targets

        targets = with_found(here.project.targets, here.project.root, case.source.file, {})
        raise InvalidInput(*(targets.no_model(name) or error.problems)) from None


def _of_text(prepared: Prepared, grader: Grader, named: str, root: str) -> Iterator[Problem]:
    """What a grader judges with, read, and what is wrong with it."""
    row, case = graders.row_of(grader), prepared.case
    key = next(key for key, path in row.files(grader.method).items() if path == named)
    at = ("config", key)
    try:
        prepared.texts[named] = text = named_text(root, case.source.file, named)
    except BaselinekitError as error:
        refused = isinstance(error, Refused)
        raise (Refused if refused else InvalidInput)(*(named_at(one, at) for one in error.problems)) from None
    for problem in row.text_problems(graders.task_of(grader, case), text):
        yield replace(problem, message=f"{named}: {problem.message}", at=grader.place_of(at))


def _compared(prepared: Prepared, grader: Grader) -> Iterator[Baseline]:
    """What the output is compared with: the record's baseline, or each value that would be right."""
    case, own = prepared.case, prepared.baseline
    if own is not None and (own.baseline is None or own.baseline.output is ABSENT):
        hint = f"baselinekit capture from {case.source.file}"
        raise InvalidInput(Problem("BK223", f"{case.id} has no stored output for here", hint))
    if graders.row_of(grader).compares == "baseline":
        if own is None:
            raise InvalidInput(Problem("BK705", f"{case.id} has no baseline", "capture one for it"))
        yield own
        return
    rules = grader.method.rules
    if case.expected is None and own is not None:
        yield replace(own, comparison=rules)
    elif case.expected is not None:
        for value in (case.expected.value, *case.expected.alternatives):
            whole = graders.task_of(grader, case).looks_at_whole(keys_of(value))
            recipe = case.recipe if whole else _ANYTHING
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
        what = f"{name} holds {len(documents)} documents, and a schema is one"
        raise InvalidInput(Problem("BK703", what, "split it"))
    return documents[0]


# Thresholds that no run can meet: nobody pays for a run whose end is known.


def check_reachable(
    suite: Suite, stated: Mapping[str, float], attempts: int | None, root: str, whose: str = ""
) -> None:
    """Thresholds of a suite, and those that the operator or a gate has `stated` beside them, for a run that
    makes so many attempts; InvalidInput for those that ask for more attempts than that."""
    made = attempts or suite.config.attempts
    problems = []
    read_thresholds({**suite.thresholds, **stated})
    for name, least in {**suite.thresholds, **stated}.items():
        for sign, k in read_thresholds({name: least}):
            if sign != "@" or k <= made:
                continue
            what = f"pass@{k} cannot be met: it cannot be computed from {many(made, 'attempt')} per case"
            hint = f"make {k}, by `config: {{attempts: {k}}}` or --attempts {k}, or ask for pass@{made}"
            problem = Problem("BK724", what, hint)
            own = suite.file is not None and name not in stated
            if own:
                source = Source(suite.file or "", at=suite.at)
                problem = problem.placed(locate(source, ("thresholds", name), root))
            elif whose:
                problem = Problem("BK724", f"{whose}: {what}", hint)
            problems.append(problem)
    if problems:
        raise InvalidInput(*problems)


# doctor: everything that a compare or a run would say before its first question.


_ONLY_EVALS = frozenset(("case", "test_cases", "prompt_cases", "evalcases", "suite", "gate"))


def examine_all(
    project: Project, paths: Sequence[str], clients: Clients, runnable: Callable[[FunctionOutput], None]
) -> Findings:
    """What is named; else all baselines of the project and all of its evals."""
    named = [found_by_operator(project, path) for path in paths] or folders(project)
    prompts = folders_below(project.root, named)
    if paths:
        baselines, evals, others = _told_apart(project, named, prompts)
        found = Findings(0, (), tuple(Problem("BK110", one) for one in passed_over_notes(others)), 0)
        if baselines or not (evals or prompts or others):
            checked = check_baselines(project, baselines, clients)
            found = replace(checked, notes=(*found.notes, *checked.notes))
    else:
        found, evals = check_baselines(project, (), clients), named
    found = with_evals(found, project, evals, clients, runnable)
    broken, shape = promptchecks.examine(project.root, prompts)
    return replace(
        found,
        problems=tuple(dict.fromkeys((*found.problems, *broken))),
        notes=(*found.notes, *shape.warnings),
        prompts=len(prompts),
        shape=shape.problems,
    )


def _told_apart(
    project: Project, named: Sequence[str], prompts: Sequence[str]
) -> tuple[list[str], list[str], list[str]]:
    """Which of the files are baselines, which are evals (what lies below the folder of evals, but for what
    only goes with them, and what holds anything that only they have; of prompts only what has cases), and
    which are JSON of other tools."""
    root = project.root
    below = tuple(f"{os.path.normpath(folder)}{os.sep}" for folder in folders(project))
    baselines, evals, others = [], [], []
    strict = tuple(f"{one}/" for one in map(os.path.normpath, project.folders) if one != os.curdir)
    cases = set(eval_files(named, root))
    typed = {name_in_project(root, os.path.join(root, one)) for one in named}
    for file in dict.fromkeys((*discover(named, root, with_prompts=True), *sorted(cases))):
        if is_below(file, prompts) and holds_baselines(root, file):
            baselines.append(os.path.relpath(os.path.join(root, file), project.cwd))
        elif is_below(file, prompts):
            evals += [file] if file in cases and holds_cases(root, file) else []
        elif file.startswith(below):
            foreign = file not in typed and is_foreign(root, file)
            evals += [file] if file in cases and not foreign else []
        elif file not in typed and not file.startswith(strict) and is_foreign_json(root, file):
            others.append(file)
        elif _ONLY_EVALS & forms_in(root, file):
            evals.append(file)
        else:
            baselines.append(os.path.relpath(os.path.join(root, file), project.cwd))
    return baselines, evals, others


def with_evals(
    found: Findings,
    project: Project,
    paths: Sequence[str],
    clients: Clients,
    runnable: Callable[[FunctionOutput], None],
) -> Findings:
    """What there is to say of evals as well. A baseline that is one of their cases is told of once."""
    if not paths:
        return found
    forms = {file: forms_in(project.root, file) for file in eval_files(paths, project.root)}
    gates = [file for file, has in forms.items() if "gate" in has]
    passed_over = {*gates, *(file for file, has in forms.items() if has == {"report"} and file not in paths)}
    suite, problems = load_partly(
        [file for file in forms if file not in passed_over],
        project.root,
        project.fetch_file,
        project.targets,
    )
    ready, wrong, refused = checked_cases(CaptureEnvironment(project, clients), suite.cases, runnable)
    wrong += [fault_of_ours(one.fault).problems[0] for one in ready if one.fault is not None]
    for file in gates:
        problems += problems_of(partial(load_gates, file, project.root))
    problems += problems_of(partial(facts_of, project.root, suite.cases))
    problems += [one for one in wrong if one.code not in ASKED_OF_OPERATOR]
    notes = [*refused, *(one for one in wrong if one.code in ASKED_OF_OPERATOR)]
    first: dict[tuple[str, str], Problem] = {}  # a note counts once a file, wherever in it that is needed
    for note in notes:
        first.setdefault((note.place.file if note.place else "", note.message), note)
    return replace(
        found,
        problems=tuple(dict.fromkeys((*found.problems, *problems))),
        notes=tuple(dict.fromkeys((*found.notes, *first.values()))),
        cases=len(suite.cases),
        gates=len(gates),
    )


def problems_of(check: Callable[[], object]) -> Sequence[Problem]:
    try:
        check()
    except BaselinekitError as error:
        return error.problems
    return ()
