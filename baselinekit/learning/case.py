"""What the learner is given: a baseline with its stored output, and the answers to its recipe."""

from collections.abc import Callable, Mapping, Sequence
from typing import Self

from baselinekit.kinds.kind import RecipeKind
from baselinekit.kinds.table import kind_of
from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.model.baselines import Baseline, Comparison
from baselinekit.model.recipes import Observation
from baselinekit.model.values import ABSENT, Json, Path
from baselinekit.placeholders.table import PlaceholderContext
from baselinekit.structs import Struct, replace
from baselinekit.values.places import value_at


class LearningCase(Struct):
    """A baseline, compiled; the answers, and how each of them compares with it. `compare` compares an answer
    under other rules. `now`: when the answers came, in seconds since 1970."""

    baseline: Baseline
    matcher: Matcher
    observations: Sequence[Observation]
    settled: Sequence[Comparison]
    words: PlaceholderContext
    now: float
    compare: Callable[[Matcher, Observation], Comparison]

    @property
    def kind(self) -> RecipeKind:
        return kind_of(self.baseline.current)

    @property
    def stored(self) -> Json:
        return self.baseline.baseline.output if self.baseline.baseline else None

    @property
    def learnt(self) -> Mapping[str, str]:
        """The evidence for the placeholders that were learnt before."""
        return self.baseline.baseline.learnt if self.baseline.baseline else {}

    @property
    def outputs(self) -> list[Json]:
        return [observation.output for observation in self.observations]

    def under(self, baseline: Baseline) -> Self:
        """Return the same answers, compared with another output or under other rules."""
        matcher = compile_baseline(baseline, self.words)
        settled = [self.compare(matcher, observation) for observation in self.observations]
        return replace(self, baseline=baseline, matcher=matcher, settled=settled)

    def is_definition(self, path: Path) -> bool:
        return self.kind.is_definition(self.baseline.current, path)


def value_or_absent(output: Json, path: Path) -> Json:
    try:
        return value_at(output, path)
    except (LookupError, TypeError):
        return ABSENT
