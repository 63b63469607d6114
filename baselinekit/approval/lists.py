"""refresh --learn, of lists: rules for those that move by themselves, before their values are looked at."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from baselinekit.frozen import frozen
from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.model.baselines import Baseline, Comparison
from baselinekit.model.changes import Seen
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json, Path
from baselinekit.refresh.learning import evidence_below, evidence_for
from baselinekit.refresh.listing import ListRule, ListView, list_rules
from baselinekit.replaying.settings import Setting
from baselinekit.tree.paths import render
from baselinekit.tree.places import with_values
from baselinekit.workflow.judging import compare_settled
from baselinekit.workflow.project import Project

_MOST_ROUNDS = 3
"""A list in rows is looked at once it is known which row is which."""


@frozen
class Ruled:
    """A baseline with the rules that were found for its lists, and what the replays differ in by them."""

    baseline: Baseline
    matcher: Matcher
    outputs: Sequence[Json]
    settled: Sequence[Comparison]
    rules: tuple[ListRule, ...] = ()

    @property
    def rewritten(self) -> frozenset[Path]:
        """The lists of which other rows are stored now."""
        return frozenset(rule.path for rule in self.rules if rule.rows is not None)

    def is_rewritten(self, path: Path) -> bool:
        return any(path[:end] in self.rewritten for end in range(len(path) + 1))


def with_list_rules(
    project: Project,
    baseline: Baseline,
    matcher: Matcher,
    replays: Sequence[Observation],
    setting: Setting,
    kept: Seen | None,
    is_unchanged: bool,
) -> Ruled:
    """`is_unchanged`: nothing was changed on the service since its capture, so that the output on file, and
    what a compare has `kept`, are answers of the same service."""
    words = project.words_of(baseline)
    outputs = [one.output for one in replays]
    ruled = Ruled(baseline, matcher, outputs, [compare_settled(matcher, one, setting) for one in replays])
    known = baseline.baseline
    if known is None or known.variants or baseline.source.form != "native" or matcher.type != "structural":
        return ruled
    for _ in range(_MOST_ROUNDS):
        arrays = ruled.matcher.arrays
        answers = [
            (one.output, settled.resolved) for one, settled in zip(replays, ruled.settled, strict=True)
        ]
        differences = [spot for settled in ruled.settled for spot in settled.differences]
        assert ruled.baseline.baseline is not None
        output = ruled.baseline.baseline.output
        earlier = [output, *([kept.resolved] if kept and not kept.masked else [])] if is_unchanged else []
        look = ListView(
            earlier, partial(_is_ruled, arrays, known.learnt), partial(_is_learnt, known.learnt), words
        )
        found = list_rules(output, answers, differences, look)
        if not found:
            break
        rows: dict[Path, Json] = {rule.path: [*rule.rows] for rule in found if rule.rows is not None}
        modes = {render(rule.path): rule.mode for rule in found}
        rules = replace(ruled.baseline.comparison, arrays={**ruled.baseline.comparison.arrays, **modes})
        written = replace(
            ruled.baseline,
            baseline=replace(ruled.baseline.baseline, output=with_values(output, rows)),
            comparison=rules,
        )
        compiled = compile_baseline(written, words)
        settled = [compare_settled(compiled, one, setting) for one in replays]
        ruled = Ruled(written, compiled, outputs, settled, (*ruled.rules, *found))
    return ruled


def _is_ruled(arrays: Mapping[Path, str], learnt: Mapping[str, str], path: Path) -> bool:
    """Whether a person has said how a list is compared. That one row stays one row is what a capture writes
    beside the placeholders that it has learnt of it."""
    how = arrays.get(path)
    return how is not None and not (how == "ordered" and evidence_below(path, learnt))


def _is_learnt(learnt: Mapping[str, str], path: Path) -> bool:
    return evidence_for(path, learnt) is not None
