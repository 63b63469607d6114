"""refresh --learn, for lists: rules for those that vary by themselves, found before their values are
compared."""

from collections.abc import Mapping, Sequence
from functools import partial

from baselinekit.commands.judging import compare_settled
from baselinekit.commands.project import Project
from baselinekit.frozen import frozen
from baselinekit.kinds.table import kind_of
from baselinekit.learning.learning import evidence_below, evidence_for
from baselinekit.learning.listing import ListRule, ListView, list_rules
from baselinekit.matching.dispatch import Matcher, compile_baseline
from baselinekit.model.baselines import Baseline, Comparison
from baselinekit.model.changes import KeptOutput
from baselinekit.model.recipes import Observation
from baselinekit.model.values import Json, Path
from baselinekit.replaying.settings import Setting
from baselinekit.structs import replace
from baselinekit.values.paths import render
from baselinekit.values.places import with_values

_MOST_ROUNDS = 3
"""A list in the rows of another one can be compared once it is known which row is which."""


@frozen
class Ruled:
    """A baseline with the rules found for its lists, and how the replays compare with these rules."""

    baseline: Baseline
    matcher: Matcher
    outputs: Sequence[Json]
    settled: Sequence[Comparison]
    rules: tuple[ListRule, ...] = ()

    @property
    def rewritten(self) -> frozenset[Path]:
        """The lists whose stored rows are new."""
        return frozenset(rule.path for rule in self.rules if rule.rows is not None)

    def is_rewritten(self, path: Path) -> bool:
        return any(path[:end] in self.rewritten for end in range(len(path) + 1))


def with_list_rules(
    project: Project,
    baseline: Baseline,
    matcher: Matcher,
    replays: Sequence[Observation],
    setting: Setting,
    kept: KeptOutput | None,
    is_unchanged: bool,
) -> Ruled:
    """Find rules for lists. `is_unchanged`: nothing was changed on the service since its capture, so that the
    stored output, and what a compare has `kept`, are answers of the same service."""
    words = project.words_of(baseline)
    outputs = [replay.output for replay in replays]
    ruled = Ruled(
        baseline, matcher, outputs, [compare_settled(matcher, replay, setting) for replay in replays]
    )
    stored = baseline.baseline
    if stored is None or stored.variants or baseline.source.form != "native" or matcher.type != "structural":
        return ruled
    for _ in range(_MOST_ROUNDS):
        arrays = ruled.matcher.arrays
        answers = [
            (replay.output, settled.resolved) for replay, settled in zip(replays, ruled.settled, strict=True)
        ]
        differences = [spot for settled in ruled.settled for spot in settled.differences]
        assert ruled.baseline.baseline is not None
        output = ruled.baseline.baseline.output
        earlier = [output, *([kept.resolved] if kept and not kept.masked else [])] if is_unchanged else []
        is_ruled = partial(_is_ruled, baseline, arrays, stored.learnt)
        view = ListView(earlier, is_ruled, partial(_is_learnt, stored.learnt), words)
        new_rules = list_rules(output, answers, differences, view)
        if not new_rules:
            break
        rows: dict[Path, Json] = {rule.path: [*rule.rows] for rule in new_rules if rule.rows is not None}
        modes = {render(rule.path): rule.mode for rule in new_rules}
        rules = replace(ruled.baseline.comparison, arrays={**ruled.baseline.comparison.arrays, **modes})
        written = replace(
            ruled.baseline,
            baseline=replace(ruled.baseline.baseline, output=with_values(output, rows)),
            comparison=rules,
        )
        compiled = compile_baseline(written, words)
        settled = [compare_settled(compiled, replay, setting) for replay in replays]
        ruled = Ruled(written, compiled, outputs, settled, (*ruled.rules, *new_rules))
    return ruled


def _is_ruled(baseline: Baseline, arrays: Mapping[Path, str], learnt: Mapping[str, str], path: Path) -> bool:
    """Whether a person, or the form of the answer, has said how a list is compared. `ordered` does not count
    if placeholders were learnt below: then a capture has written it, to keep one row one row."""
    if kind_of(baseline.current).is_definition(baseline.current, path):
        return True
    mode = arrays.get(path)
    return mode is not None and not (mode == "ordered" and evidence_below(path, learnt))


def _is_learnt(learnt: Mapping[str, str], path: Path) -> bool:
    return evidence_for(path, learnt) is not None
