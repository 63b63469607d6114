"""Where a run takes place, how that differs from the capture, and what is noted beside an output."""

import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from baselinekit.errors import InvalidInput, Problem, nearest
from baselinekit.kinds.table import kind_of
from baselinekit.model.baselines import Baseline, Rules, Variant
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json, Path
from baselinekit.replay.environment import capture_environment
from baselinekit.replay.settings import Clients
from baselinekit.variables import as_text
from baselinekit.workflow.project import Project

# Where a run takes place, and which of a baseline's known-good outputs is meant for such a place.


_CHOSEN = "environment"
"""What the operator chose with --environment; everything else is found out."""


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
            hint = nearest(name, facts)
            hint = hint or f"one of {', '.join(sorted(facts))}; declare others under `environment:`"
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
        if isinstance(value, dict):
            found |= flatten(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = value
    return found


def _fits(variant: Variant, facts: Mapping[str, Json]) -> bool:
    return all(
        any(fnmatchcase(as_text(facts[name]), as_text(one)) for one in _listed(wanted))
        if facts.get(name) is not None
        else False
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
    """Of what is known of both times: around this run, and of where the answer came from (the model that was
    served, the prompt)."""
    before = flatten(baseline.baseline.environment if baseline.baseline else {})
    if not before:
        return {}
    learnt = here.project.redactor.mask_value(dict(observation.environment))
    now = {**here.environment(), **flatten(learnt)}
    return {
        key: (value, now[key])
        for key, value in before.items()
        if key in now and now[key] != value and key not in _NO_DRIFT
    }


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
