"""What is noted beside a known-good output: where it came from, and what it took."""

from collections.abc import Mapping

from baselinekit.model.baselines import Baseline, Rules
from baselinekit.model.observation import Observation
from baselinekit.model.values import Json
from baselinekit.workflow.project import Project


def environment_of(
    project: Project, baseline: Baseline, observation: Observation, around: Mapping[str, Json]
) -> dict[str, Json]:
    """The place of a run, `around` it, with the address that was asked and what only the answer tells."""
    mask = project.redactor.mask_value
    environment = dict(around)
    base_url = project.words_of(baseline).scope.values.get("base_url")
    if isinstance(base_url, str) and baseline.current.kind == "http":
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
