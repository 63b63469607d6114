"""How often `words` and `embedding` are wrong, counted on pairs with known answers: the bounds are what was
measured, so that it cannot get worse unseen. benchmarks/README.md shows the same figures."""

from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from factpairs import CHANGED, KEPT, REGRESSIONS, UNSEEN
from ruled import RECIPES

from baselinekit.clients.models.embedding import PACKAGE, Embedding, find_folder
from baselinekit.matching.dispatch import compile_baseline
from baselinekit.model.baselines import DEFAULT_SIMILARITY, Baseline, Comparison, Known, Method, Rules
from baselinekit.model.recipes import Observation
from baselinekit.placeholders.table import PlaceholderContext

Pair = tuple[str, str]
DOCS = Path(__file__).parents[2] / "benchmarks" / "README.md"
PAIRS: dict[str, list[Pair]] = {
    "paraphrases": KEPT,
    "changed facts": [(before, after) for _, before, after in REGRESSIONS],
    "further changed facts": UNSEEN,
}


def compared(pair: Pair, method: Method, scores: dict[Pair, float]) -> Comparison:
    rules = Rules(type="semantic", method=method)
    baseline = Baseline("p", RECIPES["skill"], baseline=Known(pair[0]), comparison=rules)
    matcher, observation = compile_baseline(baseline, PlaceholderContext()), Observation(pair[1], 0.0)
    found = matcher.compare(observation)
    answers = {question: (scores[question.expected, question.actual], "") for question in found.questions}
    return matcher.compare(observation, answers) if answers else found


def passing(name: str, method: Method, scores: dict[Pair, float] | None = None) -> int:
    return sum(compared(pair, method, scores or {}).passed for pair in PAIRS[name])


def test_words_error_rate_is_the_documented_rate() -> None:
    wrong = Counter(kind for kind, *pair in REGRESSIONS if compared((pair[0], pair[1]), "words", {}).passed)
    assert wrong <= Counter(name=2, omitted=2, added=1)
    missed = len(KEPT) - passing("paraphrases", "words")
    further = passing("further changed facts", "words")
    assert (missed <= 23, further <= 15) == (True, True)
    row = f"{wrong.total()} of {len(REGRESSIONS)} | {further} of {len(UNSEEN)} | {missed} of {len(KEPT)}"
    assert f"| `words` | {row} |" in DOCS.read_text("utf-8")


@pytest.mark.skipif(find_spec(PACKAGE) is None, reason="the model itself is not installed")
def test_embedding_error_rate_is_bounded() -> None:
    everything = [pair for pairs in PAIRS.values() for pair in pairs]
    found = Embedding(find_folder(None)).similarities(everything)
    scores = dict(zip(everything, found, strict=True))
    assert passing("changed facts", "embedding", scores) <= 10
    assert passing("further changed facts", "embedding", scores) <= 15
    assert len(KEPT) - passing("paraphrases", "embedding", scores) <= 6


def test_embedding_high_score_with_changed_fact_fails() -> None:
    """A number, a unit or a date that another one replaced is a difference at any score."""
    scores = {pair: 1.0 for pairs in PAIRS.values() for pair in pairs}
    for kind in ("number", "unit", "negation", "date", "scope", "direction"):
        for pair in CHANGED[kind]:
            if Counter(pair[0].lower().strip(".").split()) == Counter(pair[1].lower().strip(".").split()):
                continue  # the same words in another order
            assert not compared(pair, "embedding", scores).passed, pair
    assert DEFAULT_SIMILARITY == 0.8


def test_embedding_pass_advises_that_facts_are_not_compared() -> None:
    pair = KEPT[0]
    found = compared(pair, "embedding", {pair: 0.9})
    assert found.passed
    assert [report.message for report in found.reports if report.kind == "advice"] == [
        "topic alike; facts not compared (method: embedding). Where facts matter: `method: judge`"
    ]
    assert not compared((pair[0], pair[0]), "embedding", {}).reports
