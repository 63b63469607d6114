"""What around a baseline is not as it was when it was captured."""

from baselinekit.model.baselines import Baseline
from baselinekit.model.observation import Observation
from baselinekit.model.values import Json
from baselinekit.workflow.here import Here, flat


def drift_of(here: Here, baseline: Baseline, observation: Observation) -> dict[str, tuple[Json, Json]]:
    """Of what is known of both times: around this run, and of where the answer came from (the model that was
    served, the prompt)."""
    before = flat(baseline.baseline.environment if baseline.baseline else {})
    if not before:
        return {}
    learnt = here.project.redactor.mask_value(dict(observation.environment))
    now = {**here.environment(), **flat(learnt)}
    return {
        key: (value, now[key])
        for key, value in before.items()
        if key in now and now[key] != value and key != "git.dirty"
    }
