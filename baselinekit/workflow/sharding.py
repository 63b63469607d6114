"""One run in parts, each on a machine of its own: which baseline belongs to which part, and where it would
stand in the whole."""

import re
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from baselinekit.errors import InvalidInput, Problem
from baselinekit.model.baselines import Baseline, Metadata, Source
from baselinekit.model.config import Variable
from baselinekit.model.results import Result, Shard
from baselinekit.replay.dispatch import digest
from baselinekit.workflow.project import Project

MOST = 10_000
_FORM = re.compile(r"(\d{1,9})/(\d{1,9})")


def parse(text: str) -> Shard:
    """`2/4`: the second of four."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise InvalidInput(Problem("BK508", f"--shard {text!r} is not NUMBER/OF", "as in --shard 2/4"))
    number, of = int(match[1]), int(match[2])
    if not 1 <= of <= MOST:
        raise InvalidInput(
            Problem("BK508", f"--shard {text}: from 1 to {MOST:,} shards", "as in --shard 2/4")
        )
    if not 1 <= number <= of:
        what = f"--shard {text}: the shards of {of} are {f'1/{of} to {of}/{of}' if of > 1 else '1/1'}"
        raise InvalidInput(Problem("BK508", what, "they are counted from 1"))
    return Shard(number, of)


def home(id: str, of: int) -> int:
    """The shard of a baseline: by its id alone, on every machine and in every version the same."""
    return int.from_bytes(sha256(id.encode("utf-8", "surrogatepass")).digest()[:8], "big") % of + 1


def stamped(shard: Shard, project: Project, chosen: Sequence[Baseline], strict_rules: bool) -> Shard:
    """The shard with what all shards of a run have in common, so that `merge` can tell that they do. What a
    file records of its runs does not count, and neither does a variable that each machine's environment
    sets: that may well be the number of a job."""
    config = project.config
    declared = [*config.variables.items()]
    if project.environment is not None:
        declared += config.environments[project.environment].variables.items()
    from_env = {name for name, stated in declared if isinstance(stated, Variable) and stated.from_env}
    values = {name: value for name, value in project.scope.values.items() if name not in from_env}
    stated = replace(config, variables={}, environments={})
    named = {name: [model, project.models[name]] for name, model in config.models.items()}
    asked = project.override_base_url or project.base_url
    environment = f"environment {project.environment}" if project.environment else ""
    target = ", ".join(filter(None, (project.redactor.mask(str(asked)) if asked else "", environment)))
    contents = [
        replace(one, metadata=Metadata(), source=Source("")) for one in sorted(chosen, key=lambda one: one.id)
    ]
    return replace(
        shard,
        target=target or "as the files say",
        configuration=digest([stated, values, named, strict_rules]),
        content=digest(contents),
    )


class Share:
    """What of all that was selected is to be run here, and its place in the whole. Without a shard: all."""

    def __init__(self, chosen: Sequence[Baseline], shard: Shard | None):
        numbered = list(enumerate(chosen))
        if shard is not None:
            numbered = [(n, one) for n, one in numbered if home(one.id, shard.of) == shard.number]
        self.baselines = [baseline for _, baseline in numbered]
        self.shard = None if shard is None else replace(shard, total=len(chosen))
        self._positions = [number for number, _ in numbered]

    def placed(self, results: Sequence[Result]) -> tuple[Result, ...]:
        """The results, each with its position where this is not the whole."""
        if self.shard is None:
            return tuple(results)
        return tuple(replace(one, position=n) for one, n in zip(results, self._positions, strict=True))
