"""The project as one run sees it: the configuration, what the operator said, where the run takes place."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from baselinekit.errors import InvalidInput, Problem, nearest
from baselinekit.frozen import frozen
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Baseline, Rules, Variant
from baselinekit.model.recipes import (
    Command,
    Config,
    Environment,
    Execution,
    Model,
    Observation,
    Recipe,
    Surroundings,
    Variable,
)
from baselinekit.model.values import Json, Path
from baselinekit.placeholders.table import RegexBudget, Words
from baselinekit.replaying.settings import Ceilings, Clients, Execute, Setting, ceilings_of
from baselinekit.store.project import load_config, nearest_config, project_root, set_limits
from baselinekit.trust import Trust, check_inside, in_ci, origins_in
from baselinekit.variables import Redactor, Scope, Secret, as_text, parse_env_file

if TYPE_CHECKING:  # most runs read no such file
    from baselinekit.programs.gitaddress import FetchedFile
    from baselinekit.suites.targets import Targets


@frozen
class Operator:
    """What the command line and the user's own environment say: the most trusted input."""

    cwd: str
    environ: Mapping[str, str] = field(default_factory=dict)
    config: str | None = None
    environment: str | None = None
    base_url: str | None = None
    variables: Mapping[str, Json] = field(default_factory=dict)
    env_files: Sequence[str] = ()
    secrets: Mapping[str, str | None] = field(default_factory=dict)
    allow_hosts: Sequence[str] = ()
    allow_exec: bool = False
    now: float = 0.0
    work: Callable[[], float] = lambda: 0.0
    config_from: str | None = None
    execute: Execute | None = None
    """What runs git, where the configuration is to be that of another commit."""
    targets: str | None = None
    """A file of targets, before all others; `target`: whom to ask instead of those that eval files name."""
    target: str | None = None
    file_values: Mapping[str, Json] = field(default_factory=dict)
    """What env files say that have been read already: some can be read only once."""


@frozen
class Project:
    root: str
    config: Config
    config_file: str | None
    scope: Scope
    trust: Trust
    redactor: Redactor
    words: Words
    base_url: str | None
    override_base_url: str | None
    commands: Mapping[str, Command]
    models: Mapping[str, Model]
    cwd: str
    ceilings: Ceilings = field(default_factory=Ceilings)
    environment: str | None = None
    config_from: str | None = None
    typed: Mapping[str, Json] = field(default_factory=dict)
    """The variables that the operator typed, which are inputs where a prompt has inputs of their names."""
    named_targets: "Targets | None" = None
    """What the operator or the configuration says of targets; `target`: whom the operator wants asked."""
    target: str | None = None
    executions: Mapping[str, Execution] = field(default_factory=dict)
    """Those of them that the operator or the configuration names."""
    fetch_file: "Callable[[str], FetchedFile] | None" = None
    """Reads a file that an eval file names by an address of a git repository."""
    operator: Operator | None = field(default=None, repr=False)
    """Whose words it was opened by: by the same words another process opens it."""

    @property
    def targets(self) -> "Targets":
        """Whom eval files can ask by a name."""
        from baselinekit.suites.targets import Targets  # a compare reads no eval files

        named = self.named_targets or Targets(declared=self.scope.declared)
        return replace(named, models=frozenset(self.models), chosen=self.target)

    def setting(self, folder: str, clients: Clients, within: str = "") -> Setting:
        """What surrounds a recipe whose file is in `folder`; none of its paths leads out of `within`."""
        surroundings = Surroundings(
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
        scope, ceilings = self.scope, self.ceilings
        return Setting(
            surroundings, scope, self.trust, self.redactor, self.config.http, clients, ceilings=ceilings
        )

    def setting_of(self, baseline: Baseline, clients: Clients) -> Setting:
        return replace(self.setting(os.path.dirname(baseline.source.file), clients), asker=baseline.id)

    def claim(self, recipe: Recipe) -> str | None:
        """What nobody else may use while it is replayed."""
        return kind_of(recipe).claim(recipe, self.config.http.serial)

    def words_of(self, baseline: Baseline) -> Words:
        """What placeholders mean for one baseline: `<<var(base_url)>>` is the address that it asks."""
        words = replace(self.words, regex_budget=RegexBudget(self.words.regex_budget.clock))
        base = kind_of(baseline.current).base_url(baseline.current, self.override_base_url, self.base_url)
        if base is None or "base_url" in self.scope.values:
            return words
        if self.override_base_url is None:
            base = self.scope.expand(base, ("current", "execution", "base_url"))
        return replace(words, scope=self.scope.with_saved({"base_url": str(base).rstrip("/")}))

    def allowing(self, url: str) -> "Project":
        """The project in which the operator has named this origin and wants it asked."""
        return replace(self, trust=self.trust.allowing(url))

    def naming(self, url: str) -> "Project":
        """The project in which the operator has named this origin as well."""
        return replace(self, trust=self.trust.naming(url))

    def granting(self, timeout: float | None) -> "Project":
        """The project in which the operator has typed how long it may take."""
        return replace(self, ceilings=self.ceilings.granting(timeout))

    def trusting_any_certificate(self) -> "Project":
        """The project in which the operator has typed that any certificate will do."""
        http = replace(self.config.http, verify=False)
        config, ceilings = replace(self.config, http=http), replace(self.ceilings, verify=False)
        return replace(self, config=config, ceilings=ceilings)

    def way_back(self, group: str, path: str = "") -> str:
        """The way from the folder of a new baseline to where the operator is, or to what is named there."""
        there = os.path.normpath(os.path.join(os.path.realpath(self.cwd), path))
        return os.path.relpath(there, os.path.join(self.root, self.folders[0], group))

    @property
    def eval_folders(self) -> list[str]:
        """Where evals are looked for when nobody names a place."""
        named = self.config.evals
        return [named] if isinstance(named, str) else list(named)

    @property
    def folders(self) -> list[str]:
        """Where baselines are looked for when nobody names a place."""
        named = self.config.baselines
        return [named] if isinstance(named, str) else list(named)


def open_project(operator: Operator) -> Project:
    """Read the configuration and settle what a run may use: variables, secrets, hosts, programs."""
    path, config = _configuration(operator)
    root = os.path.realpath(project_root(path, operator.cwd))
    set_limits(root, config.limits)
    chosen = _environment(config, operator.environment)
    for key, stated in (("baselines", config.baselines), ("evals", config.evals)):  # inside the project only
        for folder in [stated] if isinstance(stated, str) else stated:
            check_inside(root, os.path.realpath(os.path.join(root, folder)), f"{key}: {folder}")
    operator = replace(operator, env_files=(), file_values=_env_files(operator))
    scope = _scope(config, chosen, operator)
    keys = {model.key for model in config.models.values() if model.key in scope.values}
    secrets = {name: Secret(as_text(scope.values[name])) for name in keys if name is not None}
    values = {name: value for name, value in scope.values.items() if name not in keys}
    scope = replace(scope, values=values, secrets={**secrets, **scope.secrets})  # declared so or not
    targets, scope = _targets(operator, config, path, root, scope)
    asked = [] if targets is None else list(targets.readable())
    described = {one.name: one.model for one in asked if one.model is not None} | config.models
    models = {name: scope.expand(model, ("models", name)) for name, model in described.items()}
    base_url = scope.expand(chosen.base_url or config.base_url, ("base_url",))
    named = (
        *scope.values.values(),
        base_url,
        operator.base_url,
        *(model.base_url for model in models.values()),
        *(_expanded(address, scope) for one in asked for address in one.addresses()),
    )
    names_hosts = config.allow_hosts is not None or operator.allow_hosts
    trust = Trust(
        allow_hosts=(*(config.allow_hosts or ()), *operator.allow_hosts) if names_hosts else None,
        named_origins=origins_in(named),
        allow_exec=operator.allow_exec,
        configured_origins=_configured(config, scope),
        ci=in_ci(operator.environ),
    )
    return Project(
        root=root,
        config=config,
        config_file=os.path.relpath(path, root) if path else None,
        scope=scope,
        trust=trust,
        redactor=Redactor(scope.secrets),
        words=Words(config.placeholders, scope, operator.now, RegexBudget(operator.work)),
        base_url=base_url,
        override_base_url=operator.base_url,
        commands={
            name: spec if isinstance(spec, Command) else Command(argv=spec)
            for name, spec in config.commands.items()
        },
        models=models,
        cwd=operator.cwd,
        ceilings=ceilings_of(config),
        environment=operator.environment,
        config_from=operator.config_from,
        typed=operator.variables,
        named_targets=targets,
        target=operator.target,
        executions={one.name: one.execution for one in asked},
        operator=operator,
    )


def _targets(
    operator: Operator, config: Config, config_file: str | None, root: str, scope: Scope
) -> "tuple[Targets | None, Scope]":
    """What is said of targets, if anything is, and the variables with those that they ask for."""
    if operator.targets is None and not config.targets:
        return None, scope
    from baselinekit.suites.targets import Targets
    from baselinekit.suites.targetsfile import with_named

    targets = Targets(models=frozenset(config.models), declared=scope.declared)
    file = None if operator.targets is None else os.path.join(operator.cwd, operator.targets)
    now = operator.config_from is None
    return with_named(targets, config, config_file, root, scope, operator.environ, file, now)


def _configuration(operator: Operator) -> tuple[str | None, Config]:
    """Where it stands and what it says: now, or with --config-from at a commit, whatever stands there now."""
    if operator.config_from is None or operator.execute is None:
        path = operator.config or nearest_config(operator.cwd)
        return path, load_config(path) if path else Config()
    from baselinekit.programs.git import Git
    from baselinekit.store import at_revision

    git = Git(operator.execute, operator.cwd)
    commit = git.commit(operator.config_from, "--config-from")
    return at_revision.find_config(git, commit, operator.config) or (None, Config())


def _configured(config: Config, scope: Scope) -> frozenset[str]:
    """Every origin that stands anywhere in the configuration, also in an environment that was not chosen, or
    that the operator's own environment gives one of its variables."""
    environments = config.environments.values()
    stated: list[Json] = [config.base_url, *(one.base_url for one in environments)]
    variables = [config.variables, *(one.variables for one in environments)]
    stated += [getattr(value, "value", value) for some in variables for value in some.values()]
    stated += [secret.value for secret in scope.secrets.values()]
    stated += [skill.http.url for skill in config.skills.values() if skill.http is not None]
    return origins_in(_expanded(value, scope) if isinstance(value, str) else None for value in stated)


def _expanded(text: str, scope: Scope) -> Json:
    """With the variables of this run; what needs those of another environment names nothing here."""
    try:
        return scope.expand(text, ()) if "{{" in text else text
    except InvalidInput:
        return None


def _environment(config: Config, name: str | None) -> Environment:
    if name is None:
        return Environment()
    if name not in config.environments:
        known = list(config.environments)
        named = f"there are {', '.join(known)}" if known else "declare `environments:`"
        hint = nearest(name, known) or named
        raise InvalidInput(Problem("BK505", f"there is no environment {name!r}", hint))
    return config.environments[name]


def _scope(config: Config, chosen: Environment, operator: Operator) -> Scope:
    """Command line, then env files, then the chosen environment, then the configuration."""
    values: dict[str, Json] = {}
    secrets: dict[str, Secret] = {}
    unset: dict[str, str] = {}
    for name, stated in {**config.variables, **chosen.variables}.items():
        variable = stated if isinstance(stated, Variable) else Variable(value=stated)
        value = variable.value
        if variable.from_env is not None:
            if variable.from_env not in operator.environ:
                unset[name] = variable.from_env
                continue
            value = operator.environ[variable.from_env]
        if variable.secret:
            secrets[name] = Secret(str(value), tuple(variable.hosts))
        else:
            values[name] = value
    for name, given in {**operator.file_values, **operator.variables}.items():
        if name in secrets:  # declared as a secret, so it stays one wherever its value comes from
            secrets[name] = Secret(as_text(given), secrets[name].hosts)
        else:
            values[name] = given
    for name, given in operator.secrets.items():
        if name in values and name in operator.variables:
            raise InvalidInput(Problem("BK506", f"{name} is both a variable and a secret", "pass it once"))
        values.pop(name, None)
        unset.pop(name, None)
        declared = {**config.variables, **chosen.variables}.get(name)
        hosts = tuple(declared.hosts) if isinstance(declared, Variable) else ()  # it may go where it might
        secrets[name] = Secret(_secret(name, given, operator.environ), hosts)
    return Scope(values, secrets, unset)


def _secret(name: str, given: str | None, environ: Mapping[str, str]) -> str:
    value = environ.get(name) if given is None else given
    if not value:
        what = f"the secret {name} has no value" if given is not None else f"{name} is not in the environment"
        raise InvalidInput(Problem("BK506", what, f"export {name}=…, or pass --secret {name}=…"))
    return value


def _env_files(operator: Operator) -> dict[str, Json]:
    """What they say, those that have been read before among them."""
    values = dict(operator.file_values)
    for path in operator.env_files:
        try:
            with open(path, encoding="utf-8") as file:
                values.update(parse_env_file(file.read(), path))
        except UnicodeDecodeError:
            what = f"the env file {path} is not UTF-8 text"
            raise InvalidInput(Problem("BK502", what, "save it as UTF-8")) from None
        except OSError as error:
            what = f"the env file {path} cannot be read: {(error.strerror or str(error)).lower()}"
            raise InvalidInput(Problem("BK502", what, "check the name")) from None
    return values


# Where a run takes place, and which of a baseline's known-good outputs is meant for such a place.

_CHOSEN = "environment"  # what the operator chose with --environment; everything else is found out


class CaptureEnvironment:
    """Asked once, and only when somebody needs it: git and the programs of the project take their time."""

    def __init__(self, project: Project, clients: Clients):
        self.project = project
        self.clients = clients
        self._lock = threading.Lock()
        self.seen: dict[str, Json] = {}

    def environment(self) -> dict[str, Json]:
        """What a capture would note about this place, flat: `git.commit`, `platform`, what is declared."""
        with self._lock:
            if not self.seen:
                from baselinekit.replaying.environment import capture_environment

                project = self.project
                found = capture_environment(
                    project.root, project.config.environment, self.clients.execute, project.folders
                )
                self.seen = project.redactor.mask_value(found)
            return flatten(self.seen)

    def chosen(self, baseline: Baseline) -> Baseline:
        """The baseline with the output that is meant for here: the first variant that fits, else its own."""
        known = baseline.baseline
        if known is None or not known.variants:
            return baseline
        facts = self._facts()
        problems = [
            problem
            for number, variant in enumerate(known.variants)
            for name, wanted in variant.when.items()
            for problem in self._unknown(name, wanted, facts, ("baseline", "variants", number, "when", name))
        ]
        if problems:
            raise InvalidInput(*problems)
        for number, variant in enumerate(known.variants):
            if _fits(variant, facts):
                return as_variant(baseline, number)
        return baseline

    def describe_for(self, baseline: Baseline) -> str:
        """This place, as far as the variants of a baseline tell places apart."""
        known = baseline.baseline
        names = {name: None for variant in (known.variants if known else ()) for name in variant.when}
        facts = self._facts()
        return ", ".join(
            f"{name}: {'none' if facts.get(name) is None else as_text(facts[name])}" for name in names
        )

    def _facts(self) -> dict[str, Json]:
        return {**self.environment(), _CHOSEN: self.project.environment}

    def _unknown(self, name: str, wanted: Json, facts: Mapping[str, Json], at: Path) -> Iterator[Problem]:
        """What no place has is a slip of the pen; a place without git has none of git's names."""
        if name not in facts and not name.startswith("git."):
            others = f"one of {', '.join(sorted(facts))}; declare others under `environment:`"
            hint = nearest(name, facts) or others
            yield Problem("BK232", f"the {name!r} of a run is not known", hint, at=at)
        known = self.project.config.environments
        for one in map(as_text, _listed(wanted) if name == _CHOSEN else ()):
            if "*" not in one and one not in known:
                hint = nearest(one, known) or "declare it under `environments:` of the configuration"
                yield Problem("BK232", f"there is no environment {one!r}", hint, at=at)


def as_variant(baseline: Baseline, number: int) -> Baseline:
    """The baseline with one of its variants in the place of its own output."""
    known = baseline.baseline
    assert known is not None
    variant = known.variants[number]
    stated = replace(
        known,
        output=variant.output,
        output_file=variant.output_file,
        captured_at=variant.captured_at or known.captured_at,
        environment=variant.environment or known.environment,
    )
    return replace(baseline, baseline=stated, variant=number)


def flatten(values: Mapping[str, Json], prefix: str = "") -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key, value in values.items():
        found |= flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return found


def _fits(variant: Variant, facts: Mapping[str, Json]) -> bool:
    return all(
        facts.get(name) is not None
        and any(fnmatchcase(as_text(facts[name]), as_text(one)) for one in _listed(wanted))
        for name, wanted in variant.when.items()
    )


def _listed(wanted: Json) -> list[Json]:
    return wanted if isinstance(wanted, list) else [wanted]


# What around a baseline is not as it was when it was captured.

_NO_DRIFT = ("git.dirty", "git.branch")
"""What says nothing of a difference. Files of earlier versions name a branch."""


def drift_of(
    here: CaptureEnvironment, baseline: Baseline, observation: Observation
) -> dict[str, tuple[Json, Json]]:
    """Of what is known of both times: around this run, and of where the answer came from (model, prompt)."""
    before = flatten(baseline.baseline.environment if baseline.baseline else {})
    if not before:
        return {}
    learnt = here.project.redactor.mask_value(dict(observation.environment))
    now = {**here.environment(), **flatten(learnt)}
    known = {key: (value, now[key]) for key, value in before.items() if key in now and key not in _NO_DRIFT}
    return {key: both for key, both in known.items() if both[0] != both[1]}


# What is noted beside a known-good output: where it came from, and what it took.


def environment_of(
    project: Project, baseline: Baseline, observation: Observation, around: Mapping[str, Json]
) -> dict[str, Json]:
    """The place of a run, `around` it, with the address that was asked and what only the answer tells."""
    mask = project.redactor.mask_value
    environment = {**around}
    git = environment.get("git")
    if isinstance(git, dict):  # a branch is soon gone, and every other one would name another
        environment["git"] = {key: value for key, value in git.items() if key != "branch"}
    base_url = project.words_of(baseline).scope.values.get("base_url")
    if isinstance(base_url, str) and kind_of(baseline.current).asks_address:
        environment["base_url"] = project.redactor.mask(base_url)
    return {**mask(environment), **mask(dict(observation.environment))}


def observed_for(rules: Rules, observation: Observation) -> dict[str, Json]:
    """What it took, as far as a rule will ask for it."""
    usage = observation.usage
    took: dict[str, Json] = {}
    if rules.latency is not None:
        took["seconds"] = round(observation.seconds, 3)
    if rules.cost is not None:
        cost = None if usage.cost_usd is None else float(usage.cost_usd)
        took |= {"cost_usd": cost, "tokens_in": usage.tokens_in, "tokens_out": usage.tokens_out}
    return {name: value for name, value in took.items() if value is not None}
