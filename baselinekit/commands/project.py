"""The project as a run sees it: its configuration, the operator's options, and where the run takes place."""

import os
import platform
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from baselinekit import __version__
from baselinekit.clients.trust import Trust, check_inside, in_ci, origins_in
from baselinekit.errors import CannotReplay, InvalidInput, Problem, cannot_replay
from baselinekit.kinds.settings import Ceilings, Clients, Execute, Setting, ceilings_of
from baselinekit.kinds.table import kind_of
from baselinekit.model import recipes
from baselinekit.model.baselines import Baseline, Rules, Variant
from baselinekit.model.values import Json
from baselinekit.placeholders.table import PlaceholderContext, RegexBudget
from baselinekit.secrets.variables import Redactor, Scope, Secret, as_text, parse_env_file
from baselinekit.store.project import load_config, nearest_config, project_root, set_limits
from baselinekit.structs import Struct, field, replace

if TYPE_CHECKING:  # most runs do not need these
    from baselinekit.clients.programs.gitfiles import FetchedFile
    from baselinekit.suites.targets import NamedTarget, Targets


class Operator(Struct):
    """The options of the command line and the user's environment: the most trusted input."""

    cwd: str
    environ: Mapping[str, str] = field(default_factory=dict)
    config: str | None = None
    environment: str | None = None
    base_url: str | None = None
    variables: Mapping[str, Json] = field(default_factory=dict)
    """Also the inputs of a prompt that has inputs of their names."""
    env_files: Sequence[str] = ()
    secrets: Mapping[str, str | None] = field(default_factory=dict)
    allow_hosts: Sequence[str] = ()
    allow_exec: bool = False
    now: float = 0.0
    work: Callable[[], float] = lambda: 0.0
    config_from: str | None = None
    execute: Execute | None = None
    """Runs git, if the configuration of another commit is to be used."""
    targets: str | None = None
    """A file of targets that goes before all others; `target`: whom to ask instead of those in eval files."""
    target: str | None = None
    file_values: Mapping[str, Json] = field(default_factory=dict)
    """The variables of env files that are read already: some files can be read only once."""


class Project(Struct):
    root: str
    config: recipes.Config
    config_file: str | None
    scope: Scope
    trust: Trust
    redactor: Redactor
    words: PlaceholderContext
    base_url: str | None
    override_base_url: str | None
    commands: Mapping[str, recipes.Command]
    models: Mapping[str, recipes.Model]
    cwd: str
    operator: Operator
    """The options that the project was opened with: another process opens it with the same ones."""
    ceilings: Ceilings = field(default_factory=Ceilings)
    named_targets: "Targets | None" = None
    """The targets of the operator and of the configuration."""
    executions: Mapping[str, recipes.Execution] = field(default_factory=dict)
    """The targets that the operator or the configuration names."""
    fetch_file: "Callable[[str], FetchedFile] | None" = None
    """Reads a file that an eval file refers to by the address of a git repository."""

    @property
    def targets(self) -> "Targets":
        """The targets that eval files can refer to by name."""
        from baselinekit.suites.targets import Targets  # a compare reads no eval files

        named_targets = self.named_targets or Targets(declared=self.scope.declared)
        return replace(named_targets, models=frozenset(self.models), chosen=self.operator.target)

    def setting(self, folder: str, clients: Clients, within: str = "") -> Setting:
        """Return the setting of a recipe whose file is in `folder`; its paths may not leave `within`."""
        surroundings = recipes.Surroundings(
            self.root,
            os.path.join(self.root, folder),
            base_url=self.base_url,
            override_base_url=self.override_base_url,
            models=self.models,
            skills=self.config.skills,
            commands=self.commands,
            targets=self.executions,
            within=within,
        )
        used = (self.scope, self.trust, self.redactor, self.config.http)
        return Setting(surroundings, *used, clients, ceilings=self.ceilings, keep=self.keep_image)

    def keep_image(self, body: bytes) -> None:
        """Keep a picture for a review: the output has only its hash."""
        from baselinekit.store.images import keep_image  # few answers are bytes

        keep_image(self.root, body)

    def setting_of(self, baseline: Baseline, clients: Clients) -> Setting:
        return replace(self.setting(os.path.dirname(baseline.source.file), clients), asker=baseline.id)

    def claim(self, recipe: recipes.Recipe) -> str | None:
        """Return what nothing else may use while the recipe is replayed."""
        return kind_of(recipe).claim(recipe, self.config.http.serial)

    def words_of(self, baseline: Baseline) -> PlaceholderContext:
        """Return what placeholders mean for one baseline: `<<var(base_url)>>` is the address that it asks."""
        words = replace(self.words, regex_budget=RegexBudget(self.words.regex_budget.clock))
        base = kind_of(baseline.current).base_url(baseline.current, self.override_base_url, self.base_url)
        if base is None or "base_url" in self.scope.values:
            return words
        if self.override_base_url is None:
            base = self.scope.expand(base, ("current", "execution", "base_url"))
        return replace(words, scope=self.scope.with_saved({"base_url": str(base).rstrip("/")}))

    def trusting_any_certificate(self) -> "Project":
        """Return the project without certificate checks, as the operator typed."""
        http = replace(self.config.http, verify=False)
        config, ceilings = replace(self.config, http=http), replace(self.ceilings, verify=False)
        return replace(self, config=config, ceilings=ceilings)

    def way_back(self, group: str, path: str = "") -> str:
        """Return the path from the folder of a new baseline to the operator's folder, or to `path` in it."""
        target_path = os.path.normpath(os.path.join(os.path.realpath(self.cwd), path))
        return os.path.relpath(target_path, os.path.join(self.root, self.folders[0], group))

    @property
    def eval_folders(self) -> list[str]:
        """The folders that are searched for evals unless paths are given."""
        return _as_list(self.config.evals)

    @property
    def folders(self) -> list[str]:
        """The folders that are searched for baselines unless paths are given."""
        return _as_list(self.config.baselines)


def open_project(operator: Operator) -> Project:
    """Read the configuration and settle what a run may use: variables, secrets, hosts, programs."""
    path, config = _load_configuration(operator)
    root = os.path.realpath(project_root(path, operator.cwd))
    set_limits(root, config.limits)
    chosen = _environment(config, operator.environment)
    for key, setting in (("baselines", config.baselines), ("evals", config.evals)):  # inside the project only
        for folder in _as_list(setting):
            check_inside(root, os.path.realpath(os.path.join(root, folder)), f"{key}: {folder}")
    operator = replace(operator, env_files=(), file_values=_read_env_files(operator))
    scope = _scope(config, chosen, operator)
    targets, readable = None, list["NamedTarget"]()
    if operator.targets is not None or config.targets:
        from baselinekit.suites.targets import add_named_targets

        file = None if operator.targets is None else os.path.join(operator.cwd, operator.targets)
        environ = operator.environ if file is not None or operator.config_from is None else None
        targets, scope = add_named_targets(config, path, root, scope, file, environ)
        readable = list(targets.readable())
    described = {target.name: target.model for target in readable if target.model is not None} | config.models
    models = {name: scope.expand(model, ("models", name)) for name, model in described.items()}
    base_url = scope.expand(chosen.base_url or config.base_url, ("base_url",))
    addresses = [*scope.values.values(), base_url, operator.base_url]
    addresses += [model.base_url for model in models.values()]
    addresses += [_expanded(address, scope) for target in readable for address in target.addresses()]
    hosts = (*(config.allow_hosts or ()), *operator.allow_hosts)
    trust = Trust(
        allow_hosts=hosts if hosts or config.allow_hosts is not None else None,
        named_origins=origins_in(addresses),
        allow_exec=operator.allow_exec,
        configured_origins=_configured_origins(config, scope),
        ci=in_ci(operator.environ),
        config_from=operator.config_from,
    )
    budget, commit = RegexBudget(operator.work), operator.config_from
    return Project(
        root=root,
        config=config,
        config_file=os.path.relpath(path, root) if path else None,
        scope=scope,
        trust=trust,
        redactor=Redactor(scope.secrets),
        words=PlaceholderContext(config.placeholders, scope, operator.now, budget, config_from=commit),
        base_url=base_url,
        override_base_url=operator.base_url,
        commands={
            name: spec if isinstance(spec, recipes.Command) else recipes.Command(argv=spec)
            for name, spec in config.commands.items()
        },
        models=models,
        cwd=operator.cwd,
        ceilings=ceilings_of(config),
        named_targets=targets,
        executions={target.name: target.execution for target in readable},
        operator=operator,
    )


def _load_configuration(operator: Operator) -> tuple[str | None, recipes.Config]:
    """Return the path and content of the configuration, as it is now or at the commit of --config-from."""
    if operator.config_from is None or operator.execute is None:
        path = operator.config or nearest_config(operator.cwd)
        return path, load_config(path) if path else recipes.Config()
    from baselinekit.clients.programs.git import Git
    from baselinekit.store import at_revision

    git = Git(operator.execute, operator.cwd)
    commit = git.commit(operator.config_from, "--config-from")
    return at_revision.find_config(git, commit, operator.config) or (None, recipes.Config())


def _configured_origins(config: recipes.Config, scope: Scope) -> frozenset[str]:
    """Return every origin in the configuration, also in environments that were not chosen, and those that its
    variables get from the operator's environment."""
    environments = config.environments.values()
    values: list[Json] = [config.base_url, *(environment.base_url for environment in environments)]
    variables = [config.variables, *(environment.variables for environment in environments)]
    values += [getattr(value, "value", value) for mapping in variables for value in mapping.values()]
    values += [secret.value for secret in scope.secrets.values()]
    values += [skill.http.url for skill in config.skills.values() if skill.http is not None]
    return origins_in(_expanded(value, scope) if isinstance(value, str) else None for value in values)


def _expanded(text: str, scope: Scope) -> Json:
    """Expand the variables in a text; None if it needs a variable that this run does not have."""
    try:
        return scope.expand(text, ()) if "{{" in text else text
    except InvalidInput:
        return None


def _environment(config: recipes.Config, name: str | None) -> recipes.Environment:
    environments = config.environments
    if name is not None and name not in environments:
        hint = f"there are {', '.join(environments)}" if environments else "declare `environments:`"
        raise InvalidInput(Problem("BK508", f"there is no environment {name!r}", hint))
    return recipes.Environment() if name is None else environments[name]


def _scope(config: recipes.Config, chosen: recipes.Environment, operator: Operator) -> Scope:
    """Collect the variables: command line, then env files, then the environment, then the configuration. A
    variable that is declared as a secret stays one wherever its value comes from, and the key of a model is
    one in any case."""
    values: dict[str, Json] = {}
    secrets: dict[str, Secret] = {}
    unset: dict[str, str] = {}
    declared = {**config.variables, **chosen.variables}
    secret_names = {*operator.secrets, *(model.key for model in config.models.values())}
    given = {**operator.file_values, **operator.variables}
    for name in dict.fromkeys((*declared, *given, *operator.secrets)):
        spec = declared.get(name)
        variable = spec if isinstance(spec, recipes.Variable) else recipes.Variable(value=spec)
        value = operator.environ.get(variable.from_env) if variable.from_env is not None else variable.value
        value = given.get(name, value)
        if name in operator.secrets and name in operator.variables:
            raise InvalidInput(Problem("BK508", f"{name} is both a variable and a secret", "pass it once"))
        if name in operator.secrets:
            value = _secret(name, operator.secrets[name], operator.environ)
        if variable.from_env is not None and value is None:
            unset[name] = variable.from_env
        elif variable.secret or name in secret_names:
            secrets[name] = Secret(as_text(value), tuple(variable.hosts))
        else:
            values[name] = value
    return Scope(values, secrets, unset)


def _secret(name: str, given: str | None, environ: Mapping[str, str]) -> str:
    value = environ.get(name) if given is None else given
    if not value:
        text = f"the secret {name} has no value" if given is not None else f"{name} is not in the environment"
        raise InvalidInput(Problem("BK508", text, f"export {name}=…, or pass --secret {name}=…"))
    return value


def _read_env_files(operator: Operator) -> dict[str, Json]:
    """Return the variables of all env files, also of those that were read before."""
    values = dict(operator.file_values)
    for path in operator.env_files:
        try:
            with open(path, encoding="utf-8") as file:
                values.update(parse_env_file(file.read(), path))
        except (UnicodeDecodeError, OSError) as error:
            reason = (getattr(error, "strerror", None) or "it is not UTF-8 text").lower()
            message = f"the env file {path} cannot be read: {reason}"
            raise InvalidInput(Problem("BK101", message, "check the name")) from None
    return values


# Where a run takes place, and which of a baseline's known-good outputs is the one for that environment.

_CHOSEN_NAME = "environment"  # chosen with --environment; all other facts are detected


class CaptureEnvironment:
    """The environment of the run. It is detected once and only on demand: git and other programs are slow."""

    def __init__(self, project: Project, clients: Clients, known: Mapping[str, Json] | None = None):
        """`known`: what it is, on a machine that has only some of the project's files."""
        self.project = project
        self.clients = clients
        self._known = known
        self._lock = threading.Lock()
        self.seen: dict[str, Json] = {}

    def environment(self) -> dict[str, Json]:
        """Return the environment as a capture records it, flat: `git.commit`, `platform` and so on."""
        with self._lock:
            if self._known is not None:
                self.seen = dict(self._known)
            elif not self.seen:
                root, declared = self.project.root, self.project.config.environment
                environment = capture_environment(root, declared, self.clients.execute, self.project.folders)
                self.seen = self.project.redactor.mask_value(environment)
            return flatten(self.seen)

    def chosen(self, baseline: Baseline) -> Baseline:
        """Return the baseline with the output for this environment: the first fitting variant, or its own."""
        variants = baseline.baseline.variants if baseline.baseline else ()
        if not variants:
            return baseline
        facts = self._facts()
        problems = [
            problem._replace(at=("baseline", "variants", number, "when", name))
            for number, variant in enumerate(variants)
            for name, value in variant.when.items()
            for problem in self._problems(name, value, facts)
        ]
        if problems:
            raise InvalidInput(*problems)
        fitting = (number for number, variant in enumerate(variants) if _is_fitting(variant, facts))
        number = next(fitting, None)
        return baseline if number is None else as_variant(baseline, number)

    def _facts(self) -> dict[str, Json]:
        return {**self.environment(), _CHOSEN_NAME: self.project.operator.environment}

    def _problems(self, name: str, value: Json, facts: Mapping[str, Json]) -> Iterator[Problem]:
        """Yield the problems of a condition: names that do not exist (git's only exist in a repository)."""
        if name not in facts and not name.startswith("git."):
            hint = f"one of {', '.join(sorted(facts))}; declare others under `environment:`"
            yield Problem("BK108", f"the {name!r} of a run is not known", hint)
        environments = self.project.config.environments
        for glob in map(as_text, _as_list(value) if name == _CHOSEN_NAME else ()):
            if "*" not in glob and glob not in environments:
                hint = f"`environments:` of the configuration has {', '.join(environments) or 'none'}"
                yield Problem("BK108", f"there is no environment {glob!r}", hint)


def as_variant(baseline: Baseline, number: int) -> Baseline:
    """Return the baseline with the output of one of its variants in place of its own."""
    stored = baseline.baseline
    assert stored is not None
    variant = stored.variants[number]
    output = replace(stored, output=variant.output, output_file=variant.output_file)
    moment, environment = variant.captured_at or stored.captured_at, variant.environment or stored.environment
    output = replace(output, captured_at=moment, environment=environment)
    return replace(baseline, baseline=output, variant=number)


def flatten(values: Mapping[str, Json], prefix: str = "") -> dict[str, Json]:
    flat: dict[str, Json] = {}
    for key, value in values.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


def _is_fitting(variant: Variant, facts: Mapping[str, Json]) -> bool:
    return all(
        facts.get(name) is not None
        and any(fnmatchcase(as_text(facts[name]), as_text(pattern)) for pattern in _as_list(expected))
        for name, expected in variant.when.items()
    )


def _as_list(value: Json) -> list[Json]:
    return [*value] if isinstance(value, list | tuple) else [value]


# How the environment has changed since a baseline was captured.

_NO_DRIFT = ("git.dirty", "git.branch")
"""These explain no difference. Files of earlier versions contain a branch."""


def drift_of(
    here: CaptureEnvironment, baseline: Baseline, seen: recipes.Observation
) -> dict[str, tuple[Json, Json]]:
    """Return the environment values, also those of the answer, that differ from the ones of the capture."""
    before = flatten(baseline.baseline.environment if baseline.baseline else {})
    if not before:
        return {}
    now = {**here.environment(), **flatten(here.project.redactor.mask_value(dict(seen.environment)))}
    common = [key for key in before if key in now and key not in _NO_DRIFT]
    return {key: (before[key], now[key]) for key in common if before[key] != now[key]}


# What is recorded beside a known-good output: its environment, and its time, cost and tokens.


def environment_of(
    project: Project, baseline: Baseline, observation: recipes.Observation, around: Mapping[str, Json]
) -> dict[str, Json]:
    """Return the environment `around` a run, with the address that was asked and what the answer reports."""
    environment = without_branch(around)
    base_url = project.words_of(baseline).scope.values.get("base_url")
    if isinstance(base_url, str) and kind_of(baseline.current).asks_address:
        environment["base_url"] = base_url
    masked: dict[str, Json] = project.redactor.mask_value({**environment, **observation.environment})
    return masked


def without_branch(environment: Mapping[str, Json]) -> dict[str, Json]:
    """Return an environment as it is stored: a branch is short-lived, and differs on every checkout."""
    git = environment.get("git")
    facts = git.items() if isinstance(git, dict) else ()
    stored = {"git": {key: value for key, value in facts if key != "branch"}} if facts else {}
    return {**environment, **stored}


def observed_for(rules: Rules, observation: recipes.Observation) -> dict[str, Json]:
    """Return the time, cost and tokens of a replay, if a rule limits them."""
    usage = observation.usage
    cost = None if usage.cost_usd is None else float(usage.cost_usd)
    spent = {"cost_usd": cost, "tokens_in": usage.tokens_in, "tokens_out": usage.tokens_out}
    observed: dict[str, Json] = {} if rules.latency is None else {"seconds": round(observation.seconds, 3)}
    observed |= spent if rules.cost is not None else {}
    return {name: value for name, value in observed.items() if value is not None}


# What a capture records of where it takes place: the tool, the platform, the commit, and what is declared.

_STATUS = ("status", "--porcelain=v2", "--branch", "--untracked-files=no", "--ignore-submodules=all")
_TIMEOUT = 20.0


def capture_environment(
    root: str, declared: Mapping[str, Json], execute: Execute, baselines: Iterable[str] = ()
) -> dict[str, Json]:
    """`baselines`: the folders, relative to the root, in which changes do not make the checkout dirty."""
    git = _git_state(root, execute, baselines)
    return {
        "tool": f"baselinekit {__version__}",
        "platform": f"{sys.platform}-{platform.machine()}",
        **({"git": git} if git else {}),
        **{name: _evaluate(name, value, root, execute) for name, value in declared.items()},
    }


def _git_state(root: str, execute: Execute, baselines: Iterable[str]) -> dict[str, Json]:
    from baselinekit.clients.programs.git import Git  # not needed otherwise

    excluded = [f":(exclude){folder}" for folder in baselines]
    try:
        text = Git(execute, root).looked(*_STATUS, "--", ".", *excluded).decode("utf-8", "replace")
    except (CannotReplay, InvalidInput):
        return {}  # no git, or no repository
    lines = text.splitlines()
    facts = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# branch."))
    commit, branch = facts.get("branch.oid", "(initial)"), facts.get("branch.head", "(detached)")
    if commit == "(initial)":
        return {}
    is_dirty = any(not line.startswith("#") for line in lines)
    return {"commit": commit, **({} if branch == "(detached)" else {"branch": branch}), "dirty": is_dirty}


def _evaluate(name: str, value: Json, root: str, execute: Execute) -> Json:
    """Return a value, or the first line that `{command: [argv]}` prints."""
    if not (isinstance(value, dict) and value.keys() == {"command"}):
        return value
    from baselinekit.clients.programs.children import child_environment, configured_argv

    argv = value["command"] if isinstance(value["command"], list) else str(value["command"]).split()
    try:
        words = configured_argv([str(word) for word in argv], root, "")
        spec = recipes.ProcessSpec(tuple(words), env=child_environment(), cwd=root, timeout=_TIMEOUT)
        finished = execute(spec)
        if finished.exit_code:
            raise cannot_replay("BK320", f"{words[0]} ended with exit code {finished.exit_code}")
        return finished.stdout.decode("utf-8", "replace").partition("\n")[0].strip()
    except CannotReplay as error:
        message = f"environment.{name}: {error.problems[0].message}"
        raise cannot_replay("BK320", message, "correct it in baselinekit.yaml") from None
